//! How fast work goes, and what a change of speed does to work that has begun.
//!
//! A speed is the same for all that is in service, so that a change keeps the order in which services
//! end. What is due is kept as a time and moved when the speed changes, which is seldom; nothing is
//! computed on the way of a request.

use std::cmp::Reverse;
use std::time::Duration;

use goodput_clock::Timestamp;

use super::{Capacity, Limiter};
use crate::fault::Effect;

/// How what was due by the old speed is due by the new one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retiming {
    /// What the clock of the slots showed.
    from: Timestamp,
    /// What it shows now: the same, except where a stall has ended.
    onto: Timestamp,
    /// How much longer everything takes.
    factor: f64,
}

impl Retiming {
    /// When that is due which was due at `at`; what was due already is due now.
    pub(super) fn of(self, at: Timestamp) -> Timestamp {
        let left = at.since(self.from);
        if left.is_zero() {
            return self.onto;
        }
        self.onto + at_least_a_moment(stretched(left, self.factor))
    }

    fn changes_nothing(self) -> bool {
        self.from == self.onto && self.factor.to_bits() == 1.0_f64.to_bits()
    }
}

impl<T> Limiter<T> {
    /// Feels the faults in force from now on. What is left of each service, and of reserved time, is
    /// done at the new speed; a stall freezes it.
    ///
    /// Times are whole nanoseconds, so that each change of speed adds or takes a nanosecond of work at
    /// most.
    pub fn set_effect(&mut self, now: Timestamp, effect: Effect) {
        self.advance(now);
        let from = self.slot_clock();
        let factor = self.effect.speed / effect.speed;
        self.effect = effect;
        self.stalled_since = effect.stalled.then_some(from);
        self.retime(Retiming { from, onto: self.slot_clock(), factor });
        self.settle();
    }

    /// The mean service time at the speed of this moment; zero where unlimited.
    pub fn mean_service(&self) -> Duration {
        match self.config.capacity {
            Capacity::Unlimited => Duration::ZERO,
            Capacity::Limited(rate) => {
                let seconds = f64::from(self.config.slots) / rate.per_second() / self.effect.speed;
                Duration::try_from_secs_f64(seconds)
                    .map_or(LONGEST_SERVICE, |mean| mean.min(LONGEST_SERVICE))
            }
        }
    }

    /// A service takes at least a nanosecond, so that a wake-up lies ahead.
    pub(super) fn draw_service(&mut self) -> Duration {
        let share = self.config.service.draw(&mut self.random);
        at_least_a_moment(stretched(self.mean_service(), share))
    }

    /// What time it is for the slots, whose clocks stand still during a stall.
    pub(super) fn slot_clock(&self) -> Timestamp {
        self.stalled_since.unwrap_or(self.now)
    }

    fn retime(&mut self, retiming: Retiming) {
        if retiming.changes_nothing() {
            return;
        }
        self.retime_reserved(retiming);
        self.serving = std::mem::take(&mut self.serving)
            .into_iter()
            .map(|Reverse((ended, serial, key))| Reverse((retiming.of(ended), serial, key)))
            .collect();
    }
}

/// The duration times `factor`, to the nearest nanosecond, and at most 584 years.
fn stretched(duration: Duration, factor: f64) -> Duration {
    Duration::from_nanos((duration.as_nanos() as f64 * factor).round() as u64)
}

fn at_least_a_moment(duration: Duration) -> Duration {
    duration.max(Duration::from_nanos(1))
}

/// What a mean service time is cut to: far above the hour of the slowest tier in the deepest cut.
const LONGEST_SERVICE: Duration = Duration::from_hours(24 * 365 * 100);
