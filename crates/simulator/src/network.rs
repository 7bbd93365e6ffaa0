use std::time::Duration;

use goodput_clock::Stream;

/// How long a message takes between a caller and a tier, one way.
///
/// A new connection costs a round trip before its first request leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Network {
    /// Always the same.
    Constant(Duration),
    /// Log-normally distributed, so that messages may overtake each other.
    Lognormal {
        /// The mean.
        mean: Duration,
        /// The standard deviation of the logarithm, 0 or above.
        sigma: f64,
    },
}

impl Network {
    /// The loopback device of one machine: 50 µs, which is what it and the two HTTP stacks at its
    /// ends take together.
    pub const LOOPBACK: Self = Self::Constant(Duration::from_micros(50));

    /// The delay of the next message; at most a day.
    pub(crate) fn delay(self, random: &mut Stream) -> Duration {
        match self {
            Self::Constant(delay) => delay,
            Self::Lognormal { mean, sigma } => {
                let seconds = mean.as_secs_f64() * random.log_normal(sigma);
                Duration::try_from_secs_f64(seconds).map_or(LONGEST, |delay| delay.min(LONGEST))
            }
        }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::LOOPBACK
    }
}

const LONGEST: Duration = Duration::from_hours(24);
