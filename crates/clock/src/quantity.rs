use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// A value outside its range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{value} is not {range}")]
pub struct RangeError {
    /// What was given.
    pub value: f64,
    /// What the range is, in words.
    pub range: &'static str,
}

/// Events per second of scenario time: finite, above 0 and at most [`Rate::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Rate(f64);

impl Rate {
    /// The largest rate that can be asked for: ten million a second.
    pub const MAX: f64 = 1e7;

    /// A rate of `per_second` events a second.
    ///
    /// # Errors
    ///
    /// Where `per_second` is not finite, not above 0, or above [`Rate::MAX`].
    pub fn new(per_second: f64) -> Result<Self, RangeError> {
        if per_second.is_finite() && per_second > 0.0 && per_second <= Self::MAX {
            Ok(Self(per_second))
        } else {
            Err(RangeError { value: per_second, range: "a rate above 0 and at most 10000000/s" })
        }
    }

    /// Events per second.
    pub const fn per_second(self) -> f64 {
        self.0
    }

    /// The time between two events of a constant stream.
    pub fn period(self) -> Duration {
        Duration::from_secs_f64(1.0 / self.0)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}

/// A share between 0 and 1, both included.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Ratio(f64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0.0);
    /// All of it.
    pub const ONE: Self = Self(1.0);

    /// The share `value`.
    ///
    /// # Errors
    ///
    /// Where `value` is NaN or outside 0 to 1.
    pub const fn new(value: f64) -> Result<Self, RangeError> {
        if value >= 0.0 && value <= 1.0 {
            Ok(Self(value))
        } else {
            Err(RangeError { value, range: "a ratio from 0 to 1" })
        }
    }

    /// The share as a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.0 * 1e8).round() / 1e6)
    }
}
