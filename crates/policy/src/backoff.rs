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

use crate::invalid::InvalidConfig;

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
#[serde(deny_unknown_fields, expecting = "a table such as { base = \"1s\", factor = 2 }")]
pub struct Backoff {
    /// The first delay; 0 retries at once.
    #[serde(with = "text::duration")]
    pub base: Duration,
    /// By how much each delay is longer than the last, from 1 to 1,000. Default 2.
    #[serde(default = "default_factor")]
    pub factor: f64,
    /// The longest delay, at least `base`. Default 20 s, as in the AWS SDKs.
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

    /// Checks what the types cannot.
    ///
    /// # Errors
    ///
    /// Where the base or the cap is longer than a day, the cap below the base, or the factor outside
    /// 1 to 1,000.
    pub fn validate(&self) -> Result<(), InvalidConfig> {
        let longest = Duration::from_hours(24);
        if self.base > longest {
            let problem = "must be at most 24h, such as \"1s\"";
            return Err(InvalidConfig { key: "backoff.base", problem });
        }
        if self.cap > longest {
            let problem = "must be at most 24h, such as \"20s\"";
            return Err(InvalidConfig { key: "backoff.cap", problem });
        }
        if self.cap < self.base {
            let problem = "is below `base`, the first delay; raise it, such as \"20s\"";
            return Err(InvalidConfig { key: "backoff.cap", problem });
        }
        if !(1.0..=1000.0).contains(&self.factor) {
            let problem = "must be from 1 to 1000, such as 2";
            return Err(InvalidConfig { key: "backoff.factor", problem });
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use goodput_clock::Seed;
    use proptest::prelude::*;

    use super::*;

    fn backoff(jitter: Jitter) -> Backoff {
        Backoff { jitter, ..Backoff::default() }
    }

    /// The shortest and the longest of 20,000 delays before retry number `retry`, in seconds.
    fn range(backoff: &Backoff, retry: u32, previous: Option<Duration>) -> (f64, f64) {
        let mut random = Seed(3).stream("backoff");
        let delays = (0..20_000).map(|_| backoff.delay(retry, previous, &mut random).as_secs_f64());
        delays.fold((f64::MAX, 0.0), |(low, high), delay| (low.min(delay), high.max(delay)))
    }

    fn assert_range(found: (f64, f64), low: f64, high: f64) {
        let slack = (high - low) * 0.01;
        assert!(found.0 >= low && found.0 <= low + slack, "{found:?} against {low}..{high}");
        assert!(found.1 <= high && found.1 >= high - slack, "{found:?} against {low}..{high}");
    }

    #[test]
    fn without_jitter_delays_double_up_to_the_cap() {
        for (retry, seconds) in
            [(0, 1.0), (1, 2.0), (2, 4.0), (4, 16.0), (5, 20.0), (u32::MAX, 20.0)]
        {
            assert_range(range(&backoff(Jitter::None), retry, None), seconds, seconds);
        }
    }

    #[test]
    fn every_jitter_fills_its_range() {
        assert_range(range(&backoff(Jitter::Full), 2, None), 0.0, 4.0);
        assert_range(range(&backoff(Jitter::Full), 9, None), 0.0, 20.0);
        assert_range(range(&backoff(Jitter::Equal), 2, None), 2.0, 4.0);
        let decorrelated = backoff(Jitter::Decorrelated);
        assert_range(range(&decorrelated, 0, None), 1.0, 3.0);
        assert_range(range(&decorrelated, 1, Some(Duration::from_secs(2))), 1.0, 6.0);
        assert_range(range(&decorrelated, 1, Some(Duration::from_secs(20))), 1.0, 20.0);
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_its_key() {
        let broken = |change: fn(&mut Backoff)| {
            let mut backoff = Backoff::default();
            change(&mut backoff);
            backoff.validate().unwrap_err().key
        };
        assert_eq!(Backoff::default().validate(), Ok(()));
        assert_eq!(broken(|backoff| backoff.base = Duration::MAX), "backoff.base");
        assert_eq!(broken(|backoff| backoff.cap = Duration::MAX), "backoff.cap");
        assert_eq!(broken(|backoff| backoff.cap = Duration::from_millis(999)), "backoff.cap");
        assert_eq!(broken(|backoff| backoff.factor = 0.5), "backoff.factor");
        assert_eq!(broken(|backoff| backoff.factor = f64::NAN), "backoff.factor");
        assert_eq!(broken(|backoff| backoff.factor = f64::INFINITY), "backoff.factor");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn no_valid_backoff_exceeds_its_cap(
            base in 0_u64..86_400_000, cap in 0_u64..86_400_000, factor in 1.0_f64..1000.0,
            retry: u32, previous in proptest::option::of(0_u64..86_400_000), kind in 0_usize..4,
        ) {
            let kinds = [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated];
            let (base, cap) = (Duration::from_millis(base.min(cap)), Duration::from_millis(base.max(cap)));
            let backoff = Backoff { base, cap, factor, jitter: kinds[kind] };
            prop_assert_eq!(backoff.validate(), Ok(()));
            let mut random = Seed(4).stream("backoff");
            let previous = previous.map(Duration::from_millis);
            prop_assert!(backoff.delay(retry, previous, &mut random) <= cap);
        }
    }
}
