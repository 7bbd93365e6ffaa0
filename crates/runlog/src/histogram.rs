use std::time::Duration;

use crate::model::Quantiles;

/// Counts durations of scenario time in buckets no wider than 1 % of their value.
///
/// It holds what lies between a microsecond and [`Histogram::LONGEST`]; what is longer is counted at
/// that length and in [`Histogram::clamped`]. The largest value is kept exactly.
#[derive(Clone, Debug)]
pub struct Histogram {
    micros: hdrhistogram::Histogram<u64>,
    max: Duration,
    clamped: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// The longest duration that is told apart: ten hours.
    pub const LONGEST: Duration = Duration::from_hours(10);

    /// An empty histogram, of about 30 kB.
    ///
    /// # Panics
    ///
    /// Never: its bounds are constants inside the range that can be asked for.
    pub fn new() -> Self {
        let micros = hdrhistogram::Histogram::new_with_bounds(1, LONGEST_MICROS, DIGITS)
            .expect("constant bounds are in range");
        Self { micros, max: Duration::ZERO, clamped: 0 }
    }

    /// Counts a duration once.
    pub fn record(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        if micros > LONGEST_MICROS {
            self.clamped += 1;
        }
        self.micros.saturating_record(micros.min(LONGEST_MICROS));
        self.max = self.max.max(duration);
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so that adding cannot fail.
        if self.micros.add(&other.micros).is_ok() {
            self.max = self.max.max(other.max);
            self.clamped += other.clamped;
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if !self.micros.is_empty() {
            self.micros.reset();
        }
        self.max = Duration::ZERO;
        self.clamped = 0;
    }

    /// How many durations were counted.
    pub fn count(&self) -> u64 {
        self.micros.len()
    }

    /// How many durations were longer than [`Histogram::LONGEST`].
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The duration that the share `quantile` of all does not exceed, within 1 % and never above the
    /// largest; zero where nothing was counted.
    pub fn quantile(&self, quantile: f64) -> Duration {
        if self.micros.is_empty() {
            return Duration::ZERO;
        }
        Duration::from_micros(self.micros.value_at_quantile(quantile)).min(self.max)
    }

    /// The quantiles that a window keeps.
    pub fn quantiles(&self) -> Quantiles {
        Quantiles {
            count: self.count(),
            p50: self.quantile(0.5).as_secs_f64(),
            p99: self.quantile(0.99).as_secs_f64(),
            max: self.max.as_secs_f64(),
        }
    }

    /// The coarse form that a run log keeps: (upper bound in seconds, count), without empty buckets,
    /// by bound. Bounds are log-linear, sixteen to a doubling, so that a bucket is no wider than
    /// 6.25 % of its value, and histograms of different runs share them.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for value in self.micros.iter_recorded() {
            let bound = coarse_bound(value.value_iterated_to());
            let count = value.count_at_value();
            match buckets.last_mut() {
                Some((last, sum)) if *last == bound => *sum += count,
                _ => buckets.push((bound, count)),
            }
        }
        buckets.into_iter().map(|(micros, count)| (micros as f64 / 1e6, count)).collect()
    }
}

/// The upper bound of the bucket in which the share `quantile` of the counts is reached, in seconds;
/// none where nothing was counted. Buckets must come by bound.
pub fn bucket_quantile(buckets: &[(f64, u64)], quantile: f64) -> Option<f64> {
    let total: u64 = buckets.iter().map(|(_, count)| count).sum();
    let rank = (quantile.clamp(0.0, 1.0) * total as f64).ceil().max(1.0);
    let mut seen = 0;
    buckets.iter().find_map(|(bound, count)| {
        seen += count;
        (*count > 0 && seen as f64 >= rank).then_some(*bound)
    })
}

/// The quantiles of (upper bound in seconds, count in the bucket), by bound: each is the upper bound of
/// the bucket in which it is reached. Counts may be fractions, as a bucket that grows between two
/// samples has them at a moment between.
pub fn bucket_quantiles(buckets: impl Iterator<Item = (f64, f64)>) -> Quantiles {
    let filled: Vec<(f64, f64)> = buckets.filter(|(_, count)| *count > ROUNDING).collect();
    let total: f64 = filled.iter().map(|(_, count)| count).sum();
    let Some((max, _)) = filled.last() else { return Quantiles::default() };
    let quantile = |share: f64| {
        let mut seen = 0.0;
        let reached = filled.iter().find(|(_, count)| {
            seen += count;
            seen >= share * total - ROUNDING
        });
        reached.map_or(*max, |(bound, _)| *bound)
    };
    Quantiles {
        count: (total + ROUNDING).floor() as u64,
        p50: quantile(0.5),
        p99: quantile(0.99),
        max: *max,
    }
}

/// The smallest coarse bound that is not below `micros`.
fn coarse_bound(micros: u64) -> u64 {
    let value = micros.max(1);
    let exponent = value.ilog2();
    let width = 1_u64 << exponent.saturating_sub(PER_DOUBLING.ilog2());
    value.div_ceil(width) * width
}

const DIGITS: u8 = 2;
const LONGEST_MICROS: u64 = 36_000_000_000;
const PER_DOUBLING: u64 = 16;
/// What sums of fractions may be off by.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_one_percent_and_the_largest_is_exact() {
        let mut histogram = Histogram::new();
        for millis in 1..=10_000 {
            histogram.record(Duration::from_millis(millis));
        }
        let quantiles = histogram.quantiles();
        assert_eq!(quantiles.count, 10_000);
        assert!((quantiles.p50 / 5.0 - 1.0).abs() < 0.01, "{quantiles:?}");
        assert!((quantiles.p99 / 9.9 - 1.0).abs() < 0.01, "{quantiles:?}");
        assert!((quantiles.max - 10.0).abs() < 1e-9, "{quantiles:?}");
    }

    #[test]
    fn nothing_counted_is_zero_and_not_nan() {
        assert_eq!(Histogram::new().quantiles(), Quantiles::default());
        assert_eq!(Histogram::new().buckets(), vec![]);
        assert_eq!(bucket_quantile(&[], 0.5), None);
        assert_eq!(bucket_quantile(&[(1.0, 0)], 0.5), None);
    }

    #[test]
    fn what_is_too_long_is_counted_and_reported() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::MAX);
        histogram.record(Duration::ZERO);
        assert_eq!((histogram.count(), histogram.clamped()), (2, 1));
        histogram.clear();
        assert_eq!((histogram.count(), histogram.clamped()), (0, 0));
    }

    #[test]
    fn coarse_buckets_keep_every_count_and_bound_their_values_within_a_sixteenth() {
        let mut histogram = Histogram::new();
        let mut random = goodput_clock::Seed(3).stream("coarse buckets");
        let mut values: Vec<f64> = (0..5_000).map(|_| random.exponential() * 0.2).collect();
        for seconds in &values {
            histogram.record(Duration::from_secs_f64(*seconds));
        }
        values.sort_by(f64::total_cmp);
        let buckets = histogram.buckets();
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 5_000);
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0));
        for quantile in [0.1, 0.5, 0.9, 0.99] {
            let exact = values[(quantile * 5_000.0) as usize];
            let read = bucket_quantile(&buckets, quantile).unwrap();
            assert!(read / exact > 0.99 && read / exact < 1.09, "{quantile}: {read} for {exact}");
        }
    }

    #[test]
    fn merging_is_as_counting_both_in_one() {
        let (mut one, mut other, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for micros in 1..3_000 {
            let duration = Duration::from_micros(micros * micros);
            let part = if micros % 3 == 0 { &mut one } else { &mut other };
            part.record(duration);
            both.record(duration);
        }
        one.merge(&other);
        assert_eq!(one.buckets(), both.buckets());
        assert_eq!(one.quantiles(), both.quantiles());
    }
}
