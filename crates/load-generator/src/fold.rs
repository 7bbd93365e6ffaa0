//! Folds what the client does into windows and metrics.

use std::time::Duration;

use goodput_client::{AttemptEnd, Observer, RequestEnd};
use goodput_clock::{Scale, Timestamp};
use goodput_policy::attempt::{AttemptResult, FailureClass, Reply};
use goodput_policy::retry::{Outcome, StopReason};
use goodput_runlog::{ClientRecorder, OutcomeKey, RequestEnd as End, RequestEnded};
use goodput_scenario::Scenario;

use crate::metrics::Hot;

/// The observer of the load generator's client.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) recorder: ClientRecorder,
    pub(crate) hot: Hot,
    scale: Scale,
}

impl Fold {
    pub(crate) fn new(recorder: ClientRecorder, hot: Hot, scale: Scale) -> Self {
        Self { recorder, hot, scale }
    }
}

/// A recorder of a scenario's run that knows the names of failure classes and reasons.
pub(crate) fn recorder(scenario: &Scenario) -> ClientRecorder {
    let classes = FailureClass::ALL.map(FailureClass::name);
    ClientRecorder::new(&classes, &StopReason::ALL.map(StopReason::name))
        .with_life(scenario.life())
        .ending(Timestamp::ZERO + scenario.duration)
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
        let outcome = match end.reply {
            Reply::Status(status) => OutcomeKey::Status(status),
            Reply::Upstream(transport) => OutcomeKey::Transport(transport.name_at_upstream()),
            Reply::None(transport) => OutcomeKey::Transport(transport.name()),
        };
        self.recorder.attempt_ended(end.at, failure, outcome);
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
                turned_away: request.turned_away,
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
