//! The edge of a tier: which share of its traffic is admitted at all.
//!
//! It acts on attempts before the queue. The `admit` lever sets a share, and a ramp that brings it
//! back to all traffic; who is not admitted gets a refusal, and behaves by its own `retry_on`.

use std::time::Duration;

use goodput_clock::{Ratio, Stream, Timestamp};

/// Which share of a tier's attempts is admitted: all of them, until a lever says otherwise.
#[derive(Debug)]
pub struct Edge {
    share: Ratio,
    /// Until when `share` holds, and how long the ramp back to all traffic takes from there.
    hold: Option<(Timestamp, Duration)>,
    random: Stream,
}

impl Edge {
    /// An edge that admits everything; `random` decides who is refused later.
    pub const fn new(random: Stream) -> Self {
        Self { share: Ratio::ONE, hold: None, random }
    }

    /// Admits `share` of the attempts from now on: for ever where `hold` is none, else for `hold`,
    /// after which the share climbs to 1 in a straight line over `ramp`.
    pub fn admit(&mut self, now: Timestamp, share: Ratio, hold: Option<Duration>, ramp: Duration) {
        self.share = share;
        self.hold = hold.map(|hold| (now + hold, ramp));
    }

    /// Whether the attempt that arrives now is admitted.
    pub fn on_arrival(&mut self, now: Timestamp) -> bool {
        let share = self.share(now);
        share == Ratio::ONE || self.random.chance(share)
    }

    /// The share that is admitted at `now`.
    pub fn share(&self, now: Timestamp) -> Ratio {
        let Some((until, ramp)) = self.hold else { return self.share };
        if now < until {
            return self.share;
        }
        let climbed = if ramp.is_zero() {
            1.0
        } else {
            (now.since(until).as_secs_f64() / ramp.as_secs_f64()).min(1.0)
        };
        Ratio::new(self.share.get() + (1.0 - self.share.get()) * climbed).unwrap_or(Ratio::ONE)
    }
}
