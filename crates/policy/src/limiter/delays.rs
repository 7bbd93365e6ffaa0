//! What queue delay is, and the ruler that it is counted by.

use std::time::Duration;

use super::Completion;

impl<T> Completion<T> {
    /// How long the request waited: from its arrival to the start of its service, or to its refusal
    /// where it had waited for one.
    ///
    /// None where its caller hung up, since nothing ended its wait. A request that is refused at the
    /// door (by the edge, at a full queue, or since it could not be finished in time) has no completion
    /// and no queue delay: it never waited, and a flood of refusals would hide how long the others do.
    pub fn queue_delay(&self) -> Option<Duration> {
        match self {
            Self::Served { arrived, started, .. } => Some(started.since(*arrived)),
            Self::Refused { arrived, at, .. } => Some(at.since(*arrived)),
            Self::Cancelled { .. } => None,
        }
    }
}

/// Counts queue delays, cheap to record and to read out while it grows.
///
/// Bounds are those of a run log's histograms: log-linear, sixteen to a doubling, from a microsecond
/// on, so that a bucket is no wider than 6.25 % of its value; no delay at all has a bucket of its own.
/// Both engines count by it, so that the same delays give the same quantiles. It takes 4.6 kB.
#[derive(Clone, Debug)]
pub struct QueueDelays {
    counts: Box<[u64; BUCKETS]>,
}

impl Default for QueueDelays {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]) }
    }
}

impl QueueDelays {
    /// The longest delay that is told apart, about 38 hours; what is longer is counted as that.
    pub const LONGEST: Duration = Duration::from_micros(1 << 37);

    /// Counts the [`queue_delay`](Completion::queue_delay) of a completion, if it has one.
    pub fn record<T>(&mut self, completion: &Completion<T>) {
        if let Some(delay) = completion.queue_delay() {
            self.counts[bucket(delay)] += 1;
        }
    }

    /// Counts so many requests more that did not wait.
    pub fn record_immediate(&mut self, requests: u64) {
        self.counts[0] += requests;
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Non-empty buckets by bound: the longest delay that a bucket holds, and how many it has.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(index, count)| (upper_bound(index), *count))
    }
}

/// Bucket 0 holds no delay, the next ones a microsecond each up to the first octave that has sixteen.
fn bucket(delay: Duration) -> usize {
    let micros = delay.min(QueueDelays::LONGEST).as_nanos().div_ceil(1_000) as u64;
    if micros <= PER_OCTAVE {
        return micros as usize;
    }
    // A bound belongs to the bucket below it.
    let below = micros - 1;
    let octave = below.ilog2() - PER_OCTAVE.ilog2();
    (u64::from(octave) * PER_OCTAVE + (below >> octave) + 1) as usize
}

fn upper_bound(index: usize) -> Duration {
    let index = index as u64;
    if index <= PER_OCTAVE {
        return Duration::from_micros(index);
    }
    let octave = (index - 1) / PER_OCTAVE - 1;
    let part = (index - 1) % PER_OCTAVE + PER_OCTAVE + 1;
    Duration::from_micros(part << octave)
}

const PER_OCTAVE: u64 = 16;
/// No delay, sixteen of a microsecond, and 33 octaves.
const BUCKETS: usize = 1 + 16 + 33 * 16;

#[cfg(test)]
mod tests {
    use goodput_clock::Timestamp;

    use super::*;
    use crate::limiter::Refusal;

    const AT: fn(u64) -> Timestamp = Timestamp::from_secs;

    fn served(delay: Duration) -> Completion<()> {
        let started = Timestamp::ZERO + delay;
        let arrived = Timestamp::ZERO;
        Completion::Served { payload: (), arrived, started, ended: started, wasted: false }
    }

    #[test]
    fn a_delay_ends_with_the_start_of_service_or_a_refusal_and_not_with_a_caller_who_leaves() {
        let (payload, arrived, at) = ((), AT(2), AT(9));
        let served =
            Completion::Served { payload, arrived, started: AT(5), ended: AT(9), wasted: true };
        assert_eq!(served.queue_delay(), Some(Duration::from_secs(3)));
        for reason in Refusal::ALL {
            let refused = Completion::Refused { payload, arrived, at, reason };
            assert_eq!(refused.queue_delay(), Some(Duration::from_secs(7)));
        }
        let cancelled = Completion::Cancelled { payload, arrived, at };
        assert_eq!(cancelled.queue_delay(), None);
        let mut delays = QueueDelays::default();
        delays.record(&cancelled);
        assert_eq!(delays.buckets().count(), 0);
        delays.record(&served);
        delays.record_immediate(4);
        let bound = Duration::from_micros(23 << 17);
        assert_eq!(delays.buckets().collect::<Vec<_>>(), [(Duration::ZERO, 4), (bound, 1)]);
        delays.clear();
        assert_eq!(delays.buckets().count(), 0);
    }

    #[test]
    fn every_delay_has_the_least_bound_that_is_not_below_it() {
        let micros = (0..5_000).chain((1..2_000).map(|i| i * i * 7_919)).chain(
            (4..36).flat_map(|octave| [(1_u64 << octave) - 1, 1 << octave, (1 << octave) + 1]),
        );
        for micros in micros {
            let delay = Duration::from_micros(micros);
            let index = bucket(delay);
            assert!(upper_bound(index) >= delay, "{delay:?}");
            assert!(index == 0 || upper_bound(index - 1) < delay, "{delay:?}");
            let width = (micros as f64 / 16.0).max(1.0);
            assert!(upper_bound(index).as_micros() as f64 <= micros as f64 + width, "{delay:?}");
            assert_eq!(
                bucket(delay + Duration::from_nanos(1)),
                bucket(upper_bound(index)) + usize::from(upper_bound(index) == delay),
                "{delay:?}"
            );
        }
    }

    #[test]
    fn bounds_rise_and_the_longest_delay_has_the_last_bucket() {
        assert!((1..BUCKETS).all(|index| upper_bound(index) > upper_bound(index - 1)));
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
        assert_eq!(upper_bound(BUCKETS - 1), QueueDelays::LONGEST);
        let mut delays = QueueDelays::default();
        delays.record(&served(Duration::from_hours(50)));
        assert_eq!(delays.buckets().collect::<Vec<_>>(), [(QueueDelays::LONGEST, 1)]);
    }
}
