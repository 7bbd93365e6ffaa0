use std::time::Duration;

use serde::Serialize;

use crate::quantity::RangeError;

/// How many seconds of scenario time pass in a second of wall time.
///
/// It stands at the I/O edge only: policies and scenarios know scenario time alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Scale(f64);

impl Scale {
    /// Scenario time is wall time.
    pub const REAL: Self = Self(1.0);
    /// The fastest that can be asked for.
    pub const MAX: f64 = 100.0;
    /// The slowest that can be asked for.
    pub const MIN: f64 = 0.1;

    /// A scale of `speed` scenario seconds in a wall second.
    ///
    /// # Errors
    ///
    /// Where `speed` is not finite or outside [`Scale::MIN`] to [`Scale::MAX`].
    pub fn new(speed: f64) -> Result<Self, RangeError> {
        if (Self::MIN..=Self::MAX).contains(&speed) {
            Ok(Self(speed))
        } else {
            Err(RangeError { value: speed, range: "a speed from 0.1 to 100" })
        }
    }

    /// Scenario seconds per wall second.
    pub const fn speed(self) -> f64 {
        self.0
    }

    /// Scenario time as wall time.
    pub fn to_wall(self, scenario: Duration) -> Duration {
        scale_duration(scenario, 1.0 / self.0)
    }

    /// Wall time as scenario time.
    pub fn to_scenario(self, wall: Duration) -> Duration {
        scale_duration(wall, self.0)
    }

    /// A rate per scenario second as a rate per wall second.
    pub fn rate_to_wall(self, per_second: f64) -> f64 {
        per_second * self.0
    }

    /// A rate per wall second as a rate per scenario second.
    pub fn rate_to_scenario(self, per_second: f64) -> f64 {
        per_second / self.0
    }
}

fn scale_duration(duration: Duration, factor: f64) -> Duration {
    if factor.to_bits() == 1.0_f64.to_bits() {
        return duration;
    }
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_times_speed_shortens_wall_time_tenfold() {
        let scale = Scale::new(10.0).unwrap();
        assert_eq!(scale.to_wall(Duration::from_mins(4)), Duration::from_secs(24));
        assert_eq!(scale.to_scenario(Duration::from_secs(24)), Duration::from_mins(4));
        assert_eq!(Scale::REAL.to_wall(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn absurd_speeds_are_refused() {
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e4] {
            assert!(Scale::new(speed).is_err(), "{speed}");
        }
    }
}
