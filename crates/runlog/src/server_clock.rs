use std::time::Duration;

use goodput_clock::Timestamp;

/// Places a server's own time on the run's, from the times at which it was asked and had answered.
///
/// A server says with each state how long it has been up. That moment lies between the request and the
/// answer, so each answer bounds the distance of the two clocks, and all of them together bound it
/// closely: a single quick answer tells when the slow ones were read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerClock {
    /// The bounds of run time minus uptime, in seconds.
    offset: Option<(f64, f64)>,
}

impl ServerClock {
    /// A clock of which nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// When the server read a state with this `uptime` that was asked for at `sent` and had come by
    /// `received`, all in scenario time. A server that restarted, or whose clock drifts past the bounds,
    /// is placed by its last answer alone.
    pub fn locate(&mut self, sent: Timestamp, received: Timestamp, uptime: Duration) -> Timestamp {
        let up = uptime.as_secs_f64();
        let received = received.max(sent);
        let (low, high) = (sent.as_secs_f64() - up, received.as_secs_f64() - up);
        let (low, high) = match self.offset {
            Some((l, h)) if l.max(low) <= h.min(high) => (l.max(low), h.min(high)),
            _ => (low, high),
        };
        self.offset = Some((low, high));
        Timestamp::from_secs_f64(f64::midpoint(low, high) + up).clamp(sent, received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn one_quick_answer_places_all_that_are_slow() {
        let mut clock = ServerClock::new();
        // The server started 5 s before the run.
        let quick = clock.locate(millis(1_000), millis(1_002), Duration::from_millis(6_001));
        assert_eq!(quick, millis(1_001));
        let slow = clock.locate(millis(2_000), millis(2_900), Duration::from_millis(7_100));
        assert!(slow >= millis(2_099) && slow <= millis(2_101), "{slow}");
    }

    #[test]
    fn a_restarted_server_is_placed_by_its_last_answer() {
        let mut clock = ServerClock::new();
        clock.locate(millis(1_000), millis(1_002), Duration::from_millis(6_001));
        let after = clock.locate(millis(3_000), millis(3_010), Duration::from_millis(500));
        assert_eq!(after, millis(3_005));
    }
}
