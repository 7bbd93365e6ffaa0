//! What every process shows on its control plane: its state, which also stands before and after each
//! command in the audit log, and its metrics.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header;
use serde::Serialize;
use serde_json::Value;

use crate::api::Cause;
use crate::audit::{Audit, AuditEntry};
use crate::commands::CommandLog;
use crate::plane::Peer;

/// A process as its control plane shows it.
pub trait Process: Send + Sync + 'static {
    /// Its state, as it is answered.
    type State: Serialize;

    /// The state now.
    fn state(&self) -> Self::State;

    /// What the audit log keeps of a state.
    fn digest(state: &Self::State) -> Value;

    /// The process's own metrics in Prometheus's text format.
    fn metrics(&self) -> String;

    /// Where commands are written down.
    fn audit(&self) -> &Audit;

    /// Where the last commands are kept for the state; none where the state does not show them.
    fn log(&self) -> Option<&CommandLog> {
        None
    }

    /// A command, such as `POST /faults`, that begins now and asks for `what`.
    fn begin(&self, peer: Peer, command: impl Into<String>, what: Value, cause: &Cause) -> Command {
        let entry = AuditEntry {
            what,
            before: Self::digest(&self.state()),
            ..AuditEntry::now(cause.clone(), peer.0.to_string(), command.into())
        };
        Command(entry)
    }

    /// Writes down that a command ended so, and hands the state read back to its answer.
    fn end(&self, command: Command, outcome: &str) -> Self::State {
        self.tell(&command, outcome);
        self.write(command, outcome)
    }

    /// As [`end`](Self::end) for a command that was done and did this, in words.
    fn end_saying(&self, command: Command, did: &str) -> Self::State {
        self.tell(&command, did);
        self.write(command, DONE)
    }

    /// As [`end`](Self::end) for a renewal that was done, which is no news to whoever watches.
    fn end_quietly(&self, command: Command) -> Self::State {
        self.write(command, DONE)
    }

    /// Keeps what a command did for the state.
    fn tell(&self, Command(entry): &Command, did: &str) {
        if let Some(log) = self.log() {
            let AuditEntry { by, reason, run, command, .. } = entry.clone();
            log.push(command, did, &Cause { by, reason, run });
        }
    }

    /// Writes a command down, and reads the state back.
    fn write(&self, Command(entry): Command, outcome: &str) -> Self::State {
        let state = self.state();
        let after = Self::digest(&state);
        self.audit().append(AuditEntry { after, outcome: outcome.to_owned(), ..entry });
        state
    }
}

/// A command on its way into the audit log.
#[derive(Debug)]
#[must_use = "a command that went well is ended with `Process::end`"]
pub struct Command(AuditEntry);

/// The routes that every process has: `GET /state` and `GET /metrics`.
pub fn process_routes<P: Process>() -> Router<Arc<P>> {
    Router::new().route("/state", get(state::<P>)).route("/metrics", get(metrics::<P>))
}

/// `value` as JSON; null where it cannot be.
pub(crate) fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

async fn state<P: Process>(State(process): State<Arc<P>>) -> Response {
    axum::Json(process.state()).into_response()
}

/// The process's own metrics, and those that every process has: the audit log's, and what was built.
async fn metrics<P: Process>(State(process): State<Arc<P>>) -> Response {
    // The `prometheus` crate writes infinity as Rust does; the format's own word is `+Inf`.
    let mut text = process.metrics().replace(" inf\n", " +Inf\n");
    text.push_str(&process.audit().metrics());
    text.push_str(BUILD_INFO);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

/// The outcome of a command whose effect the state itself shows.
pub(crate) const DONE: &str = "done";

const BUILD_INFO: &str = concat!(
    "# HELP rig_build_info What was built, as labels; always 1.\n",
    "# TYPE rig_build_info gauge\n",
    "rig_build_info{version=\"",
    env!("CARGO_PKG_VERSION"),
    "\",revision=\"",
    env!("GOODPUT_REVISION"),
    "\",rustc=\"",
    env!("GOODPUT_RUSTC"),
    "\"} 1\n",
);
