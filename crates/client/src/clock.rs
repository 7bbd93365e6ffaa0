//! Scenario time from the monotonic clock.

use std::time::{Duration, Instant};

use goodput_clock::{Scale, Timestamp};

/// The clock of one run: scenario time counts from `epoch`, at `scale` times the speed of wall time.
///
/// Every part of a rig that shares a run shares the epoch, so that their timestamps compare.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    epoch: Instant,
    scale: Scale,
}

impl WallClock {
    /// A clock that reads zero at `epoch`, and until then.
    pub const fn new(epoch: Instant, scale: Scale) -> Self {
        Self { epoch, scale }
    }

    /// When scenario time began.
    pub const fn epoch(&self) -> Instant {
        self.epoch
    }

    /// How fast scenario time passes.
    pub const fn scale(&self) -> Scale {
        self.scale
    }

    /// The scenario time now.
    pub fn now(&self) -> Timestamp {
        self.timestamp_of(Instant::now())
    }

    /// The scenario time at `instant`.
    pub fn timestamp_of(&self, instant: Instant) -> Timestamp {
        let elapsed = instant.saturating_duration_since(self.epoch);
        Timestamp::from(self.scale.to_scenario(elapsed))
    }

    /// The instant of `timestamp`; a year from the epoch where it lies beyond.
    pub fn instant_of(&self, timestamp: Timestamp) -> Instant {
        let wall = self.scale.to_wall(timestamp.elapsed()).min(FAR);
        self.epoch + wall
    }
}

/// Far enough to mean "never", and near enough for every platform's `Instant`.
const FAR: Duration = Duration::from_hours(365 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_becomes_the_instant_that_reads_it() {
        let epoch = Instant::now();
        let clock = WallClock::new(epoch, Scale::new(10.0).unwrap());
        let at = Timestamp::from_secs(25);
        assert_eq!(clock.instant_of(at), epoch + Duration::from_millis(2500));
        assert_eq!(clock.timestamp_of(clock.instant_of(at)), at);
        assert!(clock.instant_of(Timestamp::MAX) > epoch + Duration::from_hours(24));
    }

    #[test]
    fn the_clock_reads_zero_before_its_epoch() {
        let epoch = Instant::now() + Duration::from_mins(1);
        assert_eq!(WallClock::new(epoch, Scale::REAL).now(), Timestamp::ZERO);
    }
}
