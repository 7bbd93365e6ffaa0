//! What a client tells about the requests that it carries.

use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::attempt::{AttemptResult, Reply};
use goodput_policy::retry::{Outcome, StopReason};

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttemptEnd {
    /// The client instance.
    pub client: u32,
    /// Its number within its request, from 1.
    pub number: u32,
    /// When it ended.
    pub at: Timestamp,
    /// From when it was handed to a connection until it ended; none where it never was.
    pub service: Option<Duration>,
    /// The result that the layers were told.
    pub result: AttemptResult,
    /// What it was answered with.
    pub reply: Reply,
    /// Whether the caps on connections kept it from having one for the larger part of its time-out,
    /// or a limit of this process did: a failure of the measurement.
    pub unsent: bool,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestEnd {
    /// The client instance.
    pub client: u32,
    /// When it should have been sent.
    pub intended: Timestamp,
    /// When it ended.
    pub at: Timestamp,
    /// How.
    pub outcome: Outcome,
    /// Attempts that it made, those that are `unsent` included.
    pub attempts: u32,
    /// Of these, attempts that failed as [`AttemptEnd::unsent`] says.
    pub unsent: u32,
    /// When its last attempt was handed to a connection; none where it never was.
    pub sent: Option<Timestamp>,
    /// Whether its last attempt was turned away by a lever at a server's edge.
    pub turned_away: bool,
}

/// Is told facts as they happen, in order of time, under the client's lock: it must not block.
pub trait Observer: Send + 'static {
    /// A request was begun, which was due at `intended`.
    fn on_request_begin(&mut self, at: Timestamp, intended: Timestamp) {
        let _ = (at, intended);
    }

    /// A request's first attempt was acted on; `lag` is how much later than intended that was:
    /// written to a connection, begun to connect, or put in line where the caps allow no connection.
    fn on_request_sent(&mut self, at: Timestamp, lag: Duration) {
        let _ = (at, lag);
    }

    /// An attempt began: it looks for a connection.
    fn on_attempt_begin(&mut self, at: Timestamp, number: u32) {
        let _ = (at, number);
    }

    /// An attempt was handed to a connection.
    fn on_attempt_sent(&mut self, at: Timestamp, number: u32) {
        let _ = (at, number);
    }

    /// An attempt ended.
    fn on_attempt_end(&mut self, end: &AttemptEnd) {
        let _ = end;
    }

    /// A request ended.
    fn on_request_end(&mut self, end: &RequestEnd) {
        let _ = end;
    }

    /// A layer (by its place, outermost first) did not retry a failure, for this reason.
    fn on_not_retried(&mut self, at: Timestamp, layer: usize, reason: StopReason) {
        let _ = (at, layer, reason);
    }

    /// A connection was established.
    fn on_connected(&mut self, at: Timestamp) {
        let _ = at;
    }

    /// A connection that had been established was closed, by whomever.
    fn on_disconnected(&mut self, at: Timestamp) {
        let _ = at;
    }
}

/// Takes no note of anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
