//! Truncated exponential backoff and its jitter.
//!
//! Backoff delays retries; it does not reduce them. Under open-loop arrivals the attempt rate of a
//! lasting failure is (1 + R) × arrivals whatever the backoff. Jitter spreads what would otherwise
//! come back in step.
//!
//! # Source
//!
//! "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015) for the four kinds of jitter.

use std::time::Duration;

use goodput_clock::{Stream, text};
use serde::{Deserialize, Serialize};

/// How a backoff is spread.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jitter {
    /// `d`, the exponential delay itself.
    #[default]
    None,
    /// Uniform from 0 to `d`.
    Full,
    /// Uniform from `d / 2` to `d`.
    Equal,
    /// Uniform from the base to three times the previous delay, at most the cap.
    Decorrelated,
}

/// How long a layer waits before a retry: `min(cap, base × factor^n)`, spread by `jitter`, where `n`
/// counts the retries of this request at this layer from 0.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// The first delay; 0 retries at once.
    #[serde(with = "text::duration")]
    pub base: Duration,
    /// By how much each delay is longer than the last, at least 1. Default 2.
    #[serde(default = "default_factor")]
    pub factor: f64,
    /// The longest delay. Default 20 s, as in the AWS SDKs.
    #[serde(default = "default_cap", with = "text::duration")]
    pub cap: Duration,
    /// How the delay is spread. Default none.
    #[serde(default)]
    pub jitter: Jitter,
}

impl Backoff {
    /// The delay before retry number `retry` (from 0), given the previous delay of this request.
    pub fn delay(&self, retry: u32, previous: Option<Duration>, random: &mut Stream) -> Duration {
        let cap = self.cap.max(self.base);
        if self.jitter == Jitter::Decorrelated {
            let previous = previous.unwrap_or(self.base).max(self.base);
            return random.between(self.base, previous.saturating_mul(3)).min(cap);
        }
        let exponent = i32::try_from(retry).unwrap_or(i32::MAX);
        let seconds = self.base.as_secs_f64() * self.factor.powi(exponent);
        let delay = Duration::try_from_secs_f64(seconds).unwrap_or(cap).min(cap);
        match self.jitter {
            Jitter::Full => random.between(Duration::ZERO, delay),
            Jitter::Equal => delay / 2 + random.between(Duration::ZERO, delay / 2),
            Jitter::None | Jitter::Decorrelated => delay,
        }
    }
}

/// From 1 s, doubled, at most 20 s, without jitter.
impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_secs(1),
            factor: default_factor(),
            cap: default_cap(),
            jitter: Jitter::None,
        }
    }
}

const fn default_factor() -> f64 {
    2.0
}

const fn default_cap() -> Duration {
    Duration::from_secs(20)
}
