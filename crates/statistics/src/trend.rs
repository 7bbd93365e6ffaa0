//! Whether a series falls, whatever its noise is like and although its values hang together.
//!
//! # Source
//!
//! The test is Mann and Kendall's (H. B. Mann, Econometrica 13, 1945; M. G. Kendall, *Rank Correlation
//! Methods*, 1975), with the variance that K. H. Hamed and A. R. Rao correct for autocorrelation (Journal
//! of Hydrology 204, 1998). The slope is the median of all pairs' slopes, with its bounds (P. K. Sen,
//! Journal of the American Statistical Association 63, 1968). In short series Hamed and Rao's correction
//! falls short where neighbours hang together closely; there the effective number of samples of a process
//! of first order is taken (S. Yue and C. Wang, Water Resources Management 18, 2004).

use crate::Z;

/// What a series of equally spaced values does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The standardised test statistic: below −[`Z`] the series is claimed to fall.
    pub z: f64,
    /// The median slope, from one value to the next.
    pub slope: f64,
    /// The bounds of the slope.
    pub low: f64,
    /// The upper bound of the slope.
    pub high: f64,
}

impl Trend {
    /// Fewer values than this show no trend.
    pub const LEAST: usize = 20;
    /// More values than this are not compared with each other; average them first.
    pub const MOST: usize = 200;

    /// Whether the series is claimed to fall.
    pub fn falls(&self) -> bool {
        self.z < -Z
    }
}

/// The trend of a series; none where it has fewer than [`Trend::LEAST`] values. Of a longer one than
/// [`Trend::MOST`] the last values count.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let values = &values[values.len().saturating_sub(Trend::MOST)..];
    let count = values.len();
    if count < Trend::LEAST {
        return None;
    }
    let mut slopes = Vec::with_capacity(count * (count - 1) / 2);
    let mut sum = 0.0;
    for (from, first) in values.iter().enumerate() {
        for (distance, second) in values[from + 1..].iter().enumerate() {
            let rise = second - first;
            sum += if rise > 0.0 { 1.0 } else { f64::from(-i32::from(rise < 0.0)) };
            slopes.push(rise / (distance + 1) as f64);
        }
    }
    slopes.sort_by(f64::total_cmp);
    let slope = median(&slopes);
    let n = count as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * correction(values, slope);
    let deviation = variance.sqrt();
    let z = if deviation > 0.0 && sum != 0.0 { (sum - f64::signum(sum)) / deviation } else { 0.0 };
    let pairs = slopes.len() as f64;
    let at = |rank: f64| slopes[rank.clamp(0.0, pairs - 1.0) as usize];
    let half = Z * deviation / 2.0;
    Some(Trend {
        z,
        slope,
        low: at((pairs / 2.0 - half).floor()),
        high: at((pairs / 2.0 + half).ceil()),
    })
}

/// By how much autocorrelation widens the variance of the sum: from the ranks of the series without its
/// slope, by those lags alone that stand out. It never narrows it.
fn correction(values: &[f64], slope: f64) -> f64 {
    let count = values.len();
    let n = count as f64;
    let rest: Vec<f64> =
        values.iter().enumerate().map(|(index, value)| value - slope * index as f64).collect();
    let ranks = ranks(&rest);
    let mean = ranks.iter().sum::<f64>() / n;
    let power: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    if power <= 0.0 {
        return 1.0;
    }
    let bound = STANDS_OUT / n.sqrt();
    let widened: f64 = (1..count / 3)
        .filter_map(|lag| {
            let pairs = ranks.iter().zip(&ranks[lag..]);
            let rho = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / power;
            let left = n - lag as f64;
            (rho.abs() > bound).then_some(left * (left - 1.0) * (left - 2.0) * rho)
        })
        .sum();
    let first =
        ranks.iter().zip(&ranks[1..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / power;
    // An estimate from so few values is too low by about (1 + 4 ρ) ÷ n.
    let first = (first + (1.0 + 4.0 * first) / n).clamp(0.0, CLOSEST);
    let by_lags = 1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * widened;
    let by_neighbours = if first > bound { (1.0 + first) / (1.0 - first) } else { 1.0 };
    by_lags.max(by_neighbours)
}

/// Ranks from 0; equal values share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let value = values[order[start]];
        let tied = order[start..].iter().take_while(|index| values[**index] <= value).count();
        let rank = start as f64 + (tied - 1) as f64 / 2.0;
        order[start..start + tied].iter().for_each(|index| ranks[*index] = rank);
        start += tied;
    }
    ranks
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// The 97.5 % quantile of the normal distribution: an autocorrelation beyond that over √n stands out.
const STANDS_OUT: f64 = 1.96;
/// Neighbours are taken to hang together no closer than this.
const CLOSEST: f64 = 0.97;

#[cfg(test)]
mod tests {
    use goodput_clock::Seed;

    use super::*;

    #[test]
    fn a_straight_line_falls_by_its_slope() {
        let line: Vec<f64> = (0..40).map(|index| 100.0 - 2.0 * f64::from(index)).collect();
        let found = trend(&line).unwrap();
        assert!(found.falls());
        assert!((found.slope + 2.0).abs() < 1e-9 && (found.high + 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!(trend(&line[..19]), None);
    }

    #[test]
    fn neither_a_constant_nor_a_rise_falls() {
        assert!(!trend(&[7.0; 30]).unwrap().falls());
        let rise: Vec<f64> = (0..30).map(f64::from).collect();
        assert!(!trend(&rise).unwrap().falls());
    }

    #[test]
    fn a_stationary_series_is_seldom_claimed_to_fall_however_it_hangs_together() {
        let mut random = Seed(7).stream("trend");
        for memory in [0.0, 0.5, 0.8] {
            let mut falls = 0;
            for _ in 0..1_000 {
                let mut value = 0.0;
                let series: Vec<f64> = (0..60)
                    .map(|_| {
                        let noise: f64 = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
                        value = memory * value + noise;
                        value
                    })
                    .collect();
                falls += i32::from(trend(&series).unwrap().falls());
            }
            assert!(falls < 80, "memory {memory}: {falls} of 1000");
        }
    }

    #[test]
    fn a_slow_fall_under_noise_is_found() {
        let mut random = Seed(9).stream("trend");
        let mut falls = 0;
        for _ in 0..200 {
            let series: Vec<f64> = (0..60)
                .map(|index| 500.0 - 3.0 * f64::from(index) + 60.0 * random.uniform())
                .collect();
            falls += i32::from(trend(&series).unwrap().falls());
        }
        assert_eq!(falls, 200);
    }
}
