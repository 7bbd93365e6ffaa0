//! The JSON of the control plane. Every duration and rate here is **wall time**.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use goodput_clock::text;
use goodput_policy::fault::FaultKind;
use goodput_policy::retry::LayerCounters;
use serde::{Deserialize, Serialize};

use crate::process::json_of;

mod commands;
mod runs;

pub use commands::{CommandView, Commands};
pub use runs::{RunRequest, RunView};

/// Body of `POST /faults`, which [`parse::fault`](crate::parse::fault) reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FaultRequest {
    /// The fault's name, which is unique while it is in force.
    pub name: String,
    /// What it does.
    pub fault: FaultKind,
    /// How long it stays without a renewal, from 100 ms to 1 h; where the body has none, 10 s.
    #[serde(with = "text::duration")]
    pub lease: Duration,
    /// What whoever asks calls this request; [`FaultView::ticket`] shows it, so that a fault whose
    /// request got no answer is found again. At most 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// Who asks, for the audit log.
    pub by: String,
    /// Why, for the audit log.
    pub reason: String,
    /// The run that asks, as [`Cause::run`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl FaultRequest {
    /// Asks for the fault `name` on a lease.
    pub fn new(name: impl Into<String>, fault: FaultKind, lease: Duration, cause: &Cause) -> Self {
        let Cause { by, reason, run } = cause.clone();
        Self { name: name.into(), fault, lease, ticket: None, by, reason, run }
    }

    /// Who asks and why.
    pub fn cause(&self) -> Cause {
        Cause { by: self.by.clone(), reason: self.reason.clone(), run: self.run.clone() }
    }
}

/// The lease of a fault or a run whose request names none.
pub const fn default_lease() -> Duration {
    Duration::from_secs(10)
}

/// The id that stands for whatever fault has a name, whoever put it there.
pub const ANY_FAULT: &str = "any";

/// Body of `PATCH /faults/{name}`, which renews the lease from now; [`parse::renewal`](crate::parse::renewal)
/// reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RenewRequest {
    /// The fault's id, or [`ANY_FAULT`].
    pub id: String,
    /// The lease from now on, as [`FaultRequest::lease`].
    #[serde(with = "text::duration")]
    pub lease: Duration,
    /// Who asks, for the audit log.
    pub by: String,
    /// Why, for the audit log.
    pub reason: String,
    /// The run that asks, as [`Cause::run`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl RenewRequest {
    /// Asks for a lease from now on.
    pub fn new(id: impl Into<String>, lease: Duration, cause: &Cause) -> Self {
        let Cause { by, reason, run } = cause.clone();
        Self { id: id.into(), lease, by, reason, run }
    }

    /// Who asks and why.
    pub fn cause(&self) -> Cause {
        Cause { by: self.by.clone(), reason: self.reason.clone(), run: self.run.clone() }
    }
}

/// Who gives a command and why, for the audit log: the body of commands that need nothing else, and
/// fields of the body of all others.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Cause {
    /// Who asks; at most 100 characters.
    pub by: String,
    /// Why; at most 1,000 characters.
    pub reason: String,
    /// The id of the run that the command belongs to, which holds the lease of the control plane; none
    /// for what people do. At most 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl Cause {
    /// Who and why.
    pub fn new(by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { by: by.into(), reason: reason.into(), run: None }
    }

    /// The same for the run of this id.
    #[must_use]
    pub fn of_run(self, run: impl Into<String>) -> Self {
        Self { run: Some(run.into()), ..self }
    }

    /// Whose it is.
    pub fn owner(&self) -> Owner {
        self.run.clone().map_or_else(|| Owner::By(self.by.clone()), Owner::Run)
    }
}

/// Whose something is: a run's, or that of whoever asked for it.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Owner {
    /// The run of this id.
    Run(String),
    /// Whoever gave this name as [`Cause::by`].
    By(String),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Run(id) => write!(f, "the run {id}"),
            Self::By(name) if name.is_empty() => f.write_str("somebody without a name"),
            Self::By(name) => f.write_str(name),
        }
    }
}

/// What a `POST /reset` puts back.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResetScope {
    /// What whoever asks has put there: the run of [`Cause::run`], else who has the name of
    /// [`Cause::by`].
    #[default]
    Own,
    /// Everything, whoever put it there; the lease of another run ends too.
    All,
}

/// Answer to `DELETE /faults/{name}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Removal {
    /// The fault that was ended; none where no such fault was in force.
    pub removed: Option<FaultView>,
    /// The state read back after it.
    pub state: ServerState,
}

/// Answer to `POST /levers/{name}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Pulled<S> {
    /// The lever's name.
    pub lever: String,
    /// What it did, in words, such as "shed 512 attempts".
    pub did: String,
    /// The state read back after it.
    pub state: S,
}

/// A fault in force, as read back.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FaultView {
    /// What no other fault has, before or after it, here or at another process; whoever renews or ends
    /// the fault gives it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whose it is.
    pub owner: Owner,
    /// What the request that put it there was called; see [`FaultRequest::ticket`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// What it does.
    pub fault: FaultKind,
    /// How long it has been in force, in seconds.
    pub age: f64,
    /// How long it stays without a renewal, in seconds.
    pub lease_left: f64,
}

/// Body of `GET /state` at a server.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ServerState {
    /// `order-status` or `gateway`.
    pub role: String,
    /// The version of goodput.
    pub version: String,
    /// Differs for each process, so that a restart is seen.
    pub instance: String,
    /// How often the `restart` lever has been pulled.
    pub restarts: u64,
    /// Seconds since the process started, on its monotonic clock: when this state was read.
    pub uptime: f64,
    /// Scenario seconds per wall second.
    pub speed: f64,
    /// Memory of the process, resident, in bytes.
    pub memory: u64,
    /// The limiter's configuration, as [`wall::limiter_view`](crate::wall::limiter_view) gives it.
    pub limiter: serde_json::Value,
    /// A gateway's retry layers towards its upstream, outermost first, as
    /// [`wall::layer_views`](crate::wall::layer_views) gives them; none where the server calls nobody.
    #[serde(default)]
    pub layers: Vec<serde_json::Value>,
    /// Slots in force, after faults.
    pub slots: u32,
    /// Requests per second that can be served, after faults; absent where unlimited.
    pub capacity: Option<f64>,
    /// The share of traffic that is admitted.
    pub admitted: f64,
    /// Attempts that wait.
    pub queued: u64,
    /// Attempts that hold a slot.
    pub in_service: u64,
    /// How long the oldest has waited, in seconds.
    pub oldest_age: f64,
    /// Counters since the process started.
    pub counters: ServerCounters,
    /// Cumulated histogram of the queue delay, as
    /// [`QueueDelays`](goodput_policy::limiter::QueueDelays) counts it in scenario time: (upper bound in
    /// seconds of wall time, count in the bucket), without empty buckets.
    pub queue_delay: Vec<(f64, u64)>,
    /// Faults in force.
    pub faults: Vec<FaultView>,
    /// The run that holds the lease of this control plane; none where no run does.
    #[serde(default)]
    pub run: Option<RunView>,
    /// What was asked of it lately.
    #[serde(default)]
    pub commands: Commands,
}

/// What a control plane itself knows of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// Faults in force; none at a load generator.
    pub faults: Vec<FaultView>,
    /// The run that holds the lease.
    pub run: Option<RunView>,
    /// What was asked of it lately.
    pub commands: Commands,
}

/// A server's counters since the process started.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ServerCounters {
    /// Attempts that arrived, before admission.
    pub received: u64,
    /// Attempts that were served (throughput).
    pub served: u64,
    /// Attempts refused or dropped, by reason; see also [`UPSTREAM_UNSENT`].
    pub refused: BTreeMap<String, u64>,
    /// Attempts that left the queue since their caller hung up.
    pub cancelled: u64,
    /// Requests that were malformed or found nothing (4xx), or failed inside (5xx but 503 and 504).
    pub errors: u64,
    /// Slot time for callers who were still there, in seconds.
    pub busy_useful: f64,
    /// Slot time for callers who had gone, in seconds.
    pub busy_wasted: f64,
}

/// The reason for which a gateway refuses what its own caps on connections kept from its upstream: a
/// failure of the measurement, which says nothing about the upstream.
pub const UPSTREAM_UNSENT: &str = "upstream-unsent";

/// Body of `GET /state` at a load generator.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LoadState {
    /// The version of goodput.
    pub version: String,
    /// The scenario's name.
    pub scenario: String,
    /// Where the load goes.
    pub target: String,
    /// Seconds since the load began, in wall time.
    pub elapsed: f64,
    /// Scenario seconds per wall second.
    pub speed: f64,
    /// New requests per second asked for now.
    pub rate: f64,
    /// Whether the load has been halted.
    pub halted: bool,
    /// The retry layers, outermost first, as [`wall::layer_views`](crate::wall::layer_views) gives them.
    pub layers: Vec<serde_json::Value>,
    /// What each layer has done, as [`counter_views`] gives it.
    pub layer_counters: Vec<serde_json::Value>,
    /// Requests issued.
    pub offered: u64,
    /// Requests that ended well and in time.
    pub good: u64,
    /// Requests that have not ended.
    pub in_flight: u64,
    /// Connections open.
    pub connections: u64,
    /// The run that holds the lease of this control plane; none where no run does.
    #[serde(default)]
    pub run: Option<RunView>,
    /// What was asked of it lately.
    #[serde(default)]
    pub commands: Commands,
}

/// What layers have done, as JSON for a state.
pub fn counter_views(counters: &[LayerCounters]) -> Vec<serde_json::Value> {
    counters.iter().map(json_of).collect()
}

/// The body of every error.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ErrorBody {
    /// What is wrong, with a valid example where the request was.
    pub error: String,
    /// The HTTP status.
    pub status: u16,
}
