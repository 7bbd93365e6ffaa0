use std::collections::BTreeMap;

use goodput_clock::{Seed, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one run saw.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct RunLog {
    /// The version of this shape.
    pub schema: u32,
    /// What was run.
    pub meta: Meta,
    /// One entry a second of scenario time, from the start.
    pub windows: Vec<Window>,
    /// What happened when, in order of time.
    pub events: Vec<Event>,
    /// Figures over the whole run.
    pub totals: Totals,
    /// Whether the measurement can be trusted.
    pub integrity: Integrity,
    /// How the run ended.
    pub ending: Ending,
}

/// The log of a run in virtual time that saw nothing and ran to its end.
impl Default for RunLog {
    fn default() -> Self {
        Self {
            schema: Self::SCHEMA,
            meta: Meta::default(),
            windows: Vec::new(),
            events: Vec::new(),
            totals: Totals::default(),
            integrity: Integrity::default(),
            ending: Ending::Completed,
        }
    }
}

/// What was run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Meta {
    /// The scenario's name.
    pub scenario: String,
    /// The arm, where one was chosen.
    pub arm: Option<String>,
    /// What carried it out.
    pub engine: EngineKind,
    /// The seed.
    #[schemars(with = "u64")]
    pub seed: Seed,
    /// Scenario seconds per wall second.
    pub speed: f64,
    /// When the run began, UTC, RFC 3339; empty for the simulator.
    pub started: String,
    /// The command that repeats it.
    pub command: String,
    /// The version of goodput.
    pub version: String,
    /// Every parameter of the resolved scenario, for the reports.
    pub parameters: serde_json::Value,
}

/// Nothing that has a name, in virtual time, with seed 1.
impl Default for Meta {
    fn default() -> Self {
        Self {
            scenario: String::new(),
            arm: None,
            engine: EngineKind::Simulator,
            seed: Seed(1),
            speed: 1.0,
            started: String::new(),
            command: String::new(),
            version: String::new(),
            parameters: serde_json::Value::Null,
        }
    }
}

/// What carries a scenario out.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// Real sockets, real time.
    Rig,
    /// Virtual time.
    Simulator,
}

/// One second of scenario time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Window {
    /// Its start in whole seconds since the run began.
    pub second: u64,
    /// What the load generator saw.
    pub client: ClientWindow,
    /// What each tier saw, outermost first; empty where there is no view of the server.
    pub tiers: Vec<TierWindow>,
}

/// What the load generator saw in a window. Requests and attempts count when they end.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ClientWindow {
    /// New requests that the schedule issued (offered load).
    pub offered: u64,
    /// Requests that ended well and in time (goodput).
    pub good: u64,
    /// Requests that were answered after their deadline.
    pub late: u64,
    /// Requests that failed, by the class of the last failure. Unsent ones are not among them.
    pub failed: BTreeMap<String, u64>,
    /// Requests that found no connection within their time-out because of the generator's own caps: a
    /// failure of the measurement.
    pub unsent: u64,
    /// Attempts sent on the wire.
    pub attempts: u64,
    /// Of these, attempts that were not their request's first.
    pub retries: u64,
    /// Attempts that failed, by class.
    pub attempts_failed: BTreeMap<String, u64>,
    /// Retries that a policy refused, by reason.
    pub suppressed: BTreeMap<String, u64>,
    /// Attempts on the wire or waiting for a connection, at the end of the window.
    pub attempts_in_flight: u64,
    /// Attempts that ended, by the status of their answer (`200`, `503`) or, where none came, by what the
    /// transport said (`timeout`, `refused`); what is beyond [`RunLog::OUTCOMES_MAX`] kinds is `other`.
    #[serde(default)]
    pub outcomes: BTreeMap<String, u64>,
    /// What became of the requests that arrived in this window, whenever they ended. Known only when
    /// they have: empty in a window that is handed out while the run goes on.
    #[serde(default)]
    pub cohort: Cohort,
    /// Requests that have not ended, at the end of the window.
    pub requests_in_flight: u64,
    /// Connections open at the end of the window.
    pub connections: u64,
    /// Connections opened in the window.
    pub connects: u64,
    /// From the intended send time to the end of the request, of requests that ended well.
    pub latency: Quantiles,
    /// Actual minus intended send time.
    pub send_lag: Quantiles,
}

/// What became of the requests that arrived in a window. What neither ended well nor failed was still
/// open when the run stopped watching.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Cohort {
    /// Requests that arrived.
    pub arrived: u64,
    /// Of these, requests that ended well and in time.
    pub good: u64,
    /// Of these, requests that ended otherwise.
    pub failed: u64,
    /// Of those that failed, requests whose last attempt a lever turned away at a server's edge.
    pub turned_away: u64,
}

impl Cohort {
    /// Requests that had not ended.
    pub const fn open(&self) -> u64 {
        self.arrived.saturating_sub(self.good).saturating_sub(self.failed)
    }
}

/// What a tier saw in a window.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct TierWindow {
    /// The tier's name.
    pub name: String,
    /// Attempts that arrived.
    pub received: u64,
    /// Attempts that were served (throughput).
    pub served: u64,
    /// Attempts that were refused or dropped, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Attempts that left the queue since their caller hung up.
    pub cancelled: u64,
    /// Attempts that were malformed or found nothing, or failed inside.
    pub errors: u64,
    /// Slot time spent for callers who were still there, in seconds of scenario time.
    pub busy_useful: f64,
    /// Slot time spent for callers who had gone.
    pub busy_wasted: f64,
    /// Attempts that wait, at the end of the window.
    pub queued: u64,
    /// Attempts that hold a slot, at the end of the window.
    pub in_service: u64,
    /// Slots in force at the end of the window.
    pub slots: u32,
    /// Requests per second of scenario time that can be served, at the end of the window; absent
    /// where unlimited.
    pub capacity: Option<f64>,
    /// The share of traffic that is admitted, at the end of the window; absent where unknown.
    pub admitted: Option<f64>,
    /// From arrival to the start of service, or to a refusal after waiting; a refusal at the door has none.
    /// Counted when the attempt ends, in buckets of a sixteenth of a doubling.
    pub queue_delay: Quantiles,
    /// The age of the oldest attempt in the queue at the end of the window, in seconds.
    pub oldest_age: f64,
    /// How far apart the samples were that the window was interpolated from, in seconds of scenario
    /// time; 0 where it was counted exactly.
    pub sample_gap: f64,
}

/// Quantiles of a duration over a window, in seconds of scenario time; zero where nothing was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Quantiles {
    /// How many were seen.
    pub count: u64,
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// Figures over the whole run. Histograms are pairs of (upper bound in seconds, count).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Totals {
    /// From the intended send time to the end, of requests that ended well.
    pub latency: Vec<(f64, u64)>,
    /// From the actual send time of the successful attempt to its answer.
    pub service: Vec<(f64, u64)>,
    /// Actual minus intended send time.
    pub send_lag: Vec<(f64, u64)>,
    /// Requests by the number of attempts that they made.
    pub attempts_per_request: BTreeMap<u32, u64>,
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Event {
    /// When, in nanoseconds of scenario time.
    #[schemars(with = "u64")]
    pub at: Timestamp,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// A fault came into force, as read back from the server.
    FaultStarted {
        /// Its name.
        name: String,
        /// The tier that it hits.
        tier: String,
        /// What it does, in words.
        what: String,
    },
    /// A fault ended, as read back from the server.
    FaultEnded {
        /// Its name.
        name: String,
        /// The tier.
        tier: String,
    },
    /// The trigger was withheld, and the run ended there: it would have shown nothing.
    TriggerWithheld {
        /// Why, in words.
        reason: String,
    },
    /// A lever was pulled, by the timeline or by a person.
    LeverPulled {
        /// Its name.
        lever: String,
        /// What exactly, in words.
        what: String,
        /// What it turned and left so: the keys of a limiter, `admitted`, `budget`, `retries` or `rate`;
        /// none where it acts once and is over.
        #[serde(default)]
        keys: Vec<String>,
        /// Who pulled it: `timeline`, or whoever did so through the run.
        #[serde(default)]
        by: String,
    },
    /// Somebody outside of the run gave a command to a control plane that it uses.
    ByOthers {
        /// The tier, or `load generator`.
        tier: String,
        /// What it did, in words; rates and durations in wall time.
        what: String,
        /// Who, as they say themselves; empty where they do not.
        by: String,
    },
    /// A server was seen to have started anew without a lever.
    ServerRestarted {
        /// The tier.
        tier: String,
    },
    /// Something that puts the run in doubt.
    Doubt {
        /// What, in words.
        what: String,
    },
}

/// Whether the measurement can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Integrity {
    /// Requests that the seeded schedule asks for within the run.
    pub scheduled: u64,
    /// Requests that were issued.
    pub offered: u64,
    /// Requests that found no connection within their time-out because of the generator's own caps.
    pub unsent: u64,
    /// The 99th percentile of the send lag, in seconds of **wall** time.
    pub send_lag_p99_wall: f64,
    /// The smallest time-out, in seconds of **wall** time.
    pub smallest_timeout_wall: f64,
    /// Faults that were asked for and were never seen in force.
    pub faults_unseen: Vec<String>,
    /// Faults that could not be confirmed to have ended.
    pub faults_unreverted: Vec<String>,
    /// Resident memory at its largest, in bytes, by process or role.
    pub memory_peak: BTreeMap<String, u64>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// It ran to its end.
    Completed,
    /// It was interrupted, and its faults reverted.
    Interrupted,
    /// It ended before its trigger, which was withheld; the event says why.
    Withheld,
}
