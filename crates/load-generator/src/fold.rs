//! Folds what the client does into windows and metrics.

use std::time::Duration;

use goodput_client::{AttemptEnd, Observer, RequestEnd};
use goodput_clock::{Scale, Timestamp};
use goodput_policy::attempt::{AttemptResult, FailureClass};
use goodput_policy::retry::{Outcome, StopReason};
use goodput_runlog::{ClientRecorder, RequestEnd as End, RequestEnded};

use crate::metrics::Hot;

/// The observer of the load generator's client.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) recorder: ClientRecorder,
    pub(crate) hot: Hot,
    scale: Scale,
}

impl Fold {
    pub(crate) fn new(hot: Hot, scale: Scale) -> Self {
        Self { recorder: recorder(), hot, scale }
    }
}

/// A recorder that knows the names of failure classes and reasons.
pub(crate) fn recorder() -> ClientRecorder {
    let classes = FailureClass::ALL.map(FailureClass::name);
    ClientRecorder::new(&classes, &StopReason::ALL.map(StopReason::name))
}

impl Observer for Fold {
    fn on_request_begin(&mut self, at: Timestamp, intended: Timestamp) {
        self.recorder.offered(at, intended);
        self.hot.started();
    }

    fn on_request_sent(&mut self, at: Timestamp, lag: Duration) {
        self.recorder.send_lag(at, lag);
        self.hot.send_lag(self.scale.to_wall(lag));
    }

    fn on_attempt_begin(&mut self, at: Timestamp, _number: u32) {
        self.recorder.attempt_began(at);
    }

    fn on_attempt_sent(&mut self, at: Timestamp, number: u32) {
        self.recorder.attempt_sent(at, number);
    }

    fn on_attempt_end(&mut self, end: &AttemptEnd) {
        let failure = match end.result {
            AttemptResult::Success => None,
            AttemptResult::Failure(class) => Some(class as usize),
        };
        self.recorder.attempt_ended(end.at, failure);
    }

    fn on_not_retried(&mut self, at: Timestamp, _layer: usize, reason: StopReason) {
        // A layer that has no retries left did what it was told to; nobody refused it one.
        if reason != StopReason::Exhausted {
            self.recorder.suppressed(at, reason as usize);
        }
    }

    fn on_request_end(&mut self, request: &RequestEnd) {
        // A request that met a cap says nothing about the server, however it ended.
        let end = match request.outcome {
            _ if request.unsent > 0 => End::Unsent,
            Outcome::Good => End::Good,
            Outcome::Late => End::Late,
            Outcome::Failed { class, .. } => End::Failed(class as usize),
        };
        self.recorder.request_ended(
            request.at,
            &RequestEnded {
                end,
                intended: request.intended,
                sent: request.sent.unwrap_or(request.at),
                attempts: request.attempts,
            },
        );
        let duration = self.scale.to_wall(request.at.since(request.intended));
        self.hot.request(end, duration, request.attempts);
    }

    fn on_connected(&mut self, at: Timestamp) {
        self.recorder.connection_opened(at);
        self.hot.connected();
    }

    fn on_disconnected(&mut self, at: Timestamp) {
        self.recorder.connection_closed(at);
    }
}
