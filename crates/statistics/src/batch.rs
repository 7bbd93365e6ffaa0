//! Intervals by batch means: the series is cut into batches that are long against what hangs together in
//! it, and the batches count as independent.
//!
//! # Source
//!
//! B. Schmeiser, "Batch size effects in the analysis of simulation output", Operations Research 30 (1982):
//! more than some 30 batches add nothing, and fewer than ten widen the interval slowly.

use crate::student::t99;
use crate::wilson::wilson_at;
use crate::{Bounds, Z};

/// Fewer batches than this bound nothing.
pub const BATCHES_LEAST: usize = 3;
/// More batches than this are not made: they are longer instead.
pub const BATCHES_MOST: usize = 20;

/// The share of hits in a series of (hits, all) a second, in batches of at least `shortest` seconds.
///
/// The bounds are those of a ratio estimator over the batches with Student's t, never narrower than
/// Wilson's: where every batch shows the same, it is not known for sure. Where there are fewer batches than
/// [`BATCHES_LEAST`] they are Wilson's of half the count. None where nothing was counted.
pub fn share(series: &[(f64, f64)], shortest: usize) -> Option<Bounds> {
    let (hits, all) = sum(series);
    if all <= 0.0 {
        return None;
    }
    let value = (hits / all).clamp(0.0, 1.0);
    let (low, high) = wilson_at(hits, all, Z);
    let batches: Vec<(f64, f64)> = cut(series.len(), shortest)
        .map(|(from, to)| sum(&series[from..to]))
        .filter(|(_, all)| *all > 0.0)
        .collect();
    let count = batches.len();
    if count < BATCHES_LEAST {
        // What hangs together is not known from so few: a count tells a part of what it seems to.
        let (low, high) = wilson_at(hits * FEW, all * FEW, Z);
        return Some(Bounds { value, low, high });
    }
    let squares: f64 = batches.iter().map(|(hits, all)| (hits - value * all).powi(2)).sum();
    let deviation = (squares * count as f64 / (count - 1) as f64).sqrt() / all;
    let spread = t99(count - 1) * deviation;
    Some(Bounds {
        value,
        low: low.min(value - spread).max(0.0),
        high: high.max(value + spread).min(1.0),
    })
}

/// The mean of a series of values a second, in batches of at least `shortest` seconds; none where there
/// are too few batches.
pub fn mean(series: &[f64], shortest: usize) -> Option<Bounds> {
    let batches: Vec<f64> = cut(series.len(), shortest)
        .map(|(from, to)| series[from..to].iter().sum::<f64>() / (to - from) as f64)
        .collect();
    let count = batches.len();
    if count < BATCHES_LEAST {
        return None;
    }
    let value = batches.iter().sum::<f64>() / count as f64;
    let squares: f64 = batches.iter().map(|batch| (batch - value).powi(2)).sum();
    let spread = t99(count - 1) * (squares / (count - 1) as f64 / count as f64).sqrt();
    Some(Bounds { value, low: value - spread, high: value + spread })
}

/// The part of a count that is believed where there are too few batches.
const FEW: f64 = 0.5;

fn sum(series: &[(f64, f64)]) -> (f64, f64) {
    series.iter().fold((0.0, 0.0), |(hits, all), (more, of)| (hits + more, all + of))
}

/// Cuts a series of this length into batches of equal length, of at least `shortest`; what is left over
/// at the start belongs to none.
fn cut(length: usize, shortest: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = (length / shortest.max(1)).min(BATCHES_MOST);
    let size = length.checked_div(count).unwrap_or_default();
    let rest = length - size * count;
    (0..count).map(move |index| (rest + index * size, rest + (index + 1) * size))
}

#[cfg(test)]
mod tests {
    use goodput_clock::Seed;

    use super::*;

    #[test]
    fn batches_are_of_equal_length_and_none_is_too_short() {
        assert_eq!(cut(35, 10).collect::<Vec<_>>(), [(2, 13), (13, 24), (24, 35)]);
        assert_eq!(cut(9, 10).count(), 0);
        assert_eq!(cut(1_000, 10).count(), 20);
        assert!(cut(1_000, 10).all(|(from, to)| to - from == 50));
    }

    #[test]
    fn a_share_that_never_varies_is_bounded_by_its_count_alone() {
        let all_good = vec![(10.0, 10.0); 30];
        let bounds = share(&all_good, 10).unwrap();
        assert!(bounds.high >= 1.0 && (0.97..0.99).contains(&bounds.low), "{bounds:?}");
        assert_eq!(share(&[(0.0, 0.0); 30], 10), None);
        let short = share(&all_good[..20], 10).unwrap();
        assert!(short.low < 0.95 && short.low > 0.85, "{short:?}");
    }

    #[test]
    fn what_comes_and_goes_is_bounded_wider_than_its_count_would() {
        let series: Vec<_> = (0..300)
            .map(|second| if second / 30 % 2 == 0 { (100.0, 100.0) } else { (0.0, 100.0) })
            .collect();
        let bounds = share(&series, 10).unwrap();
        assert!(bounds.low < 0.3 && bounds.high > 0.7, "{bounds:?}");
    }

    #[test]
    fn the_mean_lies_in_its_bounds_as_often_as_is_claimed() {
        let mut random = Seed(5).stream("batch means");
        let (mut above, mut below) = (0, 0);
        for _ in 0..2_000 {
            // Values that hang together over some five seconds.
            let mut value = 0.0;
            let series: Vec<f64> = (0..400)
                .map(|_| {
                    let normal: f64 = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
                    value = 0.8 * value + normal;
                    value
                })
                .collect();
            let bounds = mean(&series, 20).unwrap();
            above += i32::from(bounds.low > 0.0);
            below += i32::from(bounds.high < 0.0);
        }
        // One in a hundred each; what is left of the correlation doubles that at most.
        assert!(above < 50 && below < 50, "{above} and {below} of 2000");
        assert_eq!(mean(&[1.0; 50], 20), None);
    }
}
