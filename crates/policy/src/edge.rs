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

    /// Whether it is as [`admit`](Self::admit) would have it, now and later.
    pub fn is_at(&self, now: Timestamp, share: Ratio, hold: Option<Duration>) -> bool {
        let stays = self.hold.is_none() && hold.is_none();
        self.share(now) == share && (share == Ratio::ONE || stays)
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

#[cfg(test)]
mod tests {
    use goodput_clock::Seed;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// The share of 20,000 attempts at one moment that is admitted.
    fn admitted(edge: &mut Edge, seconds: u64) -> f64 {
        let now = Timestamp::from_secs(seconds);
        (0..20_000).filter(|_| edge.on_arrival(now)).count() as f64 / 20_000.0
    }

    #[test]
    fn the_share_holds_then_climbs_in_a_straight_line_to_all_traffic() {
        let mut edge = Edge::new(Seed(1).stream("edge"));
        assert!((admitted(&mut edge, 0) - 1.0).abs() < 1e-9);
        let share = Ratio::new(0.2).unwrap();
        edge.admit(Timestamp::from_secs(10), share, Some(20 * SECOND), 10 * SECOND);
        for (seconds, expected) in
            [(10, 0.2), (29, 0.2), (30, 0.2), (35, 0.6), (40, 1.0), (99, 1.0)]
        {
            assert!((admitted(&mut edge, seconds) - expected).abs() < 0.015, "{seconds} s");
        }
    }

    #[test]
    fn without_an_end_the_share_holds_until_the_lever_is_pulled_again() {
        let mut edge = Edge::new(Seed(1).stream("edge"));
        edge.admit(Timestamp::ZERO, Ratio::ZERO, None, Duration::ZERO);
        assert!(admitted(&mut edge, 100_000).abs() < 1e-9);
        edge.admit(Timestamp::from_secs(100_000), Ratio::ONE, None, Duration::ZERO);
        assert!((admitted(&mut edge, 100_000) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn it_is_at_a_share_that_holds_as_long() {
        let mut edge = Edge::new(Seed(1).stream("edge"));
        let (now, half) = (Timestamp::from_secs(10), Ratio::new(0.5).unwrap());
        assert!(edge.is_at(now, Ratio::ONE, None) && edge.is_at(now, Ratio::ONE, Some(SECOND)));
        assert!(!edge.is_at(now, half, None));
        edge.admit(now, half, Some(SECOND), SECOND);
        // It is at a half, but not for good; nor is it back for good before the ramp has ended.
        assert!(!edge.is_at(now, half, None) && !edge.is_at(now, half, Some(SECOND)));
        assert!(!edge.is_at(Timestamp::from_secs(11), Ratio::ONE, None));
        assert!(edge.is_at(Timestamp::from_secs(12), Ratio::ONE, None));
        edge.admit(now, half, None, Duration::ZERO);
        assert!(edge.is_at(now, half, None) && !edge.is_at(now, half, Some(SECOND)));
    }

    #[test]
    fn without_a_ramp_all_traffic_is_back_at_the_end_of_the_hold() {
        let mut edge = Edge::new(Seed(1).stream("edge"));
        edge.admit(Timestamp::ZERO, Ratio::ZERO, Some(SECOND), Duration::ZERO);
        assert_eq!(edge.share(Timestamp::from_nanos(999_999_999)), Ratio::ZERO);
        assert_eq!(edge.share(Timestamp::from_secs(1)), Ratio::ONE);
    }
}
