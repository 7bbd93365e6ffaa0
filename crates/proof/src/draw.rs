use goodput_clock::{Ratio, Seed, Stream};

/// Random choices from a named stream of a seed.
#[derive(Clone, Debug)]
pub(crate) struct Draw(Stream);

impl Draw {
    /// The choices of the consumer `name`.
    pub(crate) fn new(seed: Seed, name: &str) -> Self {
        Self(seed.stream(name))
    }

    /// Uniform from `low` to `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// From `low` to `high` (both above 0), each ratio equally likely.
    pub(crate) fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.uniform())
    }

    /// Whether something of this probability happens.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.0.chance(Ratio::new(probability).unwrap_or(Ratio::ZERO))
    }

    /// A whole number from `low` to `high`, both included.
    pub(crate) fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high.saturating_sub(low) + 1)
    }

    /// One of `choices`, each as likely as it is listed often.
    ///
    /// # Panics
    ///
    /// Where there is none.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u64) as usize]
    }
}
