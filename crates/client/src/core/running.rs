//! One request in flight.

use std::time::Duration;

use bytes::Bytes;
use goodput_clock::Timestamp;
use goodput_policy::attempt::{AttemptResult, FailureClass, Reply, Transport};
use goodput_policy::retry::Call;
use http_body_util::Full;
use slab::Slab;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::observer::Observer;
use crate::pool::ConnectionId;
use crate::request::{Answer, CallEnd, Request};
use crate::timers::Ticket;

/// What the last attempt of a request came to before it made any.
pub(super) const NO_ATTEMPT: (AttemptResult, Reply) =
    (AttemptResult::Failure(FailureClass::Timeout), Reply::None(Transport::Timeout));

/// A request that has not ended.
#[derive(Debug)]
pub(super) struct Running {
    /// Tells it from the requests that had its slot before.
    pub(super) id: u64,
    pub(super) call: Call,
    pub(super) request: Request,
    pub(super) client: u32,
    pub(super) intended: Timestamp,
    pub(super) lag_known: bool,
    /// The attempt or backoff that runs; other tickets for this slot are void.
    pub(super) serial: u64,
    pub(super) phase: Phase,
    pub(super) until: Timestamp,
    pub(super) attempt_deadline: Timestamp,
    pub(super) number: u32,
    pub(super) sent: Option<Timestamp>,
    /// When the attempt began, and how long it stood in line before it had a connection.
    pub(super) began: Timestamp,
    pub(super) in_line: Duration,
    pub(super) unsent: u32,
    pub(super) answer: Option<Answer>,
    /// What its last attempt came to, and what it was answered with.
    pub(super) last: (AttemptResult, Reply),
    /// Whether a lever turned its last attempt away.
    pub(super) turned_away: bool,
    pub(super) reply: Option<oneshot::Sender<CallEnd>>,
}

/// What a request waits for.
#[derive(Debug)]
pub(super) enum Phase {
    /// The end of a backoff.
    Backoff,
    /// Permission to connect, or a connection of its instance.
    InLine,
    /// An answer over this connection, or that it is established.
    Connection(ConnectionId),
    /// An answer on a stream of this connection.
    Stream(ConnectionId, AbortHandle),
}

impl Running {
    pub(super) fn leave_line(&mut self, now: Timestamp) {
        self.in_line = now.since(self.began);
    }

    /// Whether an attempt that times out never had a fair chance because of the caps: it still
    /// stands in line, or stood there for the larger part of its time.
    pub(super) fn is_unsent(&self, now: Timestamp, phase: &Phase) -> bool {
        matches!(phase, Phase::InLine) || self.in_line > now.since(self.began) / 2
    }
}

/// An attempt that a connection's task has taken.
pub(crate) struct Job {
    pub(crate) ticket: Ticket,
    pub(crate) request: http::Request<Full<Bytes>>,
}

/// How an attempt ended on its connection.
pub(crate) struct Ended {
    pub(crate) result: AttemptResult,
    pub(crate) reply: Reply,
    /// Whether a lever turned the attempt away at a server's edge.
    pub(crate) turned_away: bool,
    pub(crate) answer: Option<Answer>,
    /// Whether the generator's own limits are to blame.
    pub(crate) unsent: bool,
}

impl Ended {
    /// An attempt that got no answer.
    pub(crate) const fn without_answer(why: Transport) -> Self {
        Self {
            result: AttemptResult::Failure(why.class()),
            reply: Reply::None(why),
            turned_away: false,
            answer: None,
            unsent: matches!(why, Transport::OwnLimit),
        }
    }
}

/// A request to begin.
pub(crate) struct Begin {
    pub(crate) client: u32,
    pub(crate) intended: Timestamp,
    pub(crate) deadline: Timestamp,
    pub(crate) request: Request,
    pub(crate) reply: Option<oneshot::Sender<CallEnd>>,
}

pub(super) fn is_current(calls: &Slab<Running>, ticket: Ticket) -> bool {
    calls.get(ticket.slot as usize).is_some_and(|running| running.serial == ticket.serial)
}

pub(super) fn note_lag<O: Observer>(observer: &mut O, running: &mut Running, now: Timestamp) {
    if !running.lag_known {
        running.lag_known = true;
        observer.on_request_sent(now, now.since(running.intended));
    }
}
