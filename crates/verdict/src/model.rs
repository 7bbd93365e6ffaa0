use std::fmt;

use goodput_scenario::ExpectedVerdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a scenario's outcome was.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No fault was asked for, and goodput stayed in its band.
    Steady,
    /// Goodput came back in its band in time, held, and was still there at the end.
    Recovered,
    /// Goodput was not back in time, but came back, or the backlog falls at a rate that ends it.
    SlowRecovery,
    /// The fault is gone, capacity and offered load are as before, and goodput stays down.
    Metastable,
    /// The run cannot be trusted.
    Inconclusive,
}

impl Verdict {
    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Recovered => "recovered",
            Self::SlowRecovery => "slow-recovery",
            Self::Metastable => "metastable",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<ExpectedVerdict> for Verdict {
    fn from(expected: ExpectedVerdict) -> Self {
        match expected {
            ExpectedVerdict::Steady => Self::Steady,
            ExpectedVerdict::Recovered => Self::Recovered,
            ExpectedVerdict::SlowRecovery => Self::SlowRecovery,
            ExpectedVerdict::Metastable => Self::Metastable,
        }
    }
}

/// What a run log says about a scenario. All times are seconds of scenario time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Judgement {
    /// The outcome.
    pub verdict: Verdict,
    /// The outcome in one sentence.
    pub summary: String,
    /// By what was judged.
    pub rule: Rule,
    /// The trigger: the first fault's start and the last one's end (or a load spike's); absent where
    /// there was none.
    pub trigger: Option<Span>,
    /// What goodput is compared with; absent where there are no windows for it.
    pub baseline: Option<Baseline>,
    /// From the trigger's end until goodput was back, whatever came later; absent where it never was.
    pub time_to_recover: Option<f64>,
    /// Seconds since the trigger's end at which goodput last left its band after it had been back.
    pub relapsed: Option<f64>,
    /// From the trigger's end until goodput was back for good; absent where it was not in its band at
    /// the end.
    pub settled: Option<f64>,
    /// Requests that would have been good at the baseline's ratio since the trigger began, and were
    /// not.
    pub goodput_lost: f64,
    /// Every reason why the run cannot be trusted; the verdict is inconclusive where there is one.
    pub doubts: Vec<Doubt>,
    /// What supports the verdict.
    pub evidence: Vec<Evidence>,
    /// Figures by phase.
    pub phases: PhaseFigures,
}

/// By what was judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Rule {
    /// Good ÷ offered over `hold`, relative to the baseline's, that counts as back.
    pub goodput_ratio: f64,
    /// The length of the sliding window, in whole seconds.
    pub hold: f64,
    /// How long goodput may take to be back.
    pub within: f64,
}

/// A span of scenario time, in seconds since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Span {
    /// Its start.
    pub from: f64,
    /// Its end.
    pub to: f64,
}

/// What goodput is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Baseline {
    /// The windows that it was taken from.
    pub span: Span,
    /// Offered requests per second.
    pub offered: f64,
    /// Good requests per second.
    pub goodput: f64,
    /// Good ÷ offered, or 1 where more were good than offered.
    pub ratio: f64,
}

/// Why a run cannot be trusted.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Doubt {
    /// Which reason.
    pub kind: DoubtKind,
    /// The figures behind it, in words.
    pub text: String,
}

/// Which reason puts a run in doubt.
#[derive(
    Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtKind {
    /// Faults could not be confirmed to have ended (exit 5).
    FaultUnreverted,
    /// The run was interrupted (exit 4).
    Interrupted,
    /// Windows are missing.
    MissingWindows,
    /// Too few requests or seconds to judge.
    TooFewSamples,
    /// Good ÷ offered was not healthy before the trigger.
    BaselineNotHealthy,
    /// Offered requests were off the seeded schedule.
    OfferedOffSchedule,
    /// The load generator was late.
    GeneratorLate,
    /// Requests found no connection because of the load generator's own caps.
    Unsent,
    /// A fault was never seen in force, or changed nothing.
    FaultDidNotBite,
    /// A server started anew without a lever.
    ServerRestarted,
    /// Capacity at the end was below that of the baseline.
    CapacityNotRestored,
    /// Offered load at the end was above that of the baseline, so that goodput may be down for it.
    LoadNotAsBefore,
    /// A lever still held traffic back at the end, so that goodput may be down for it.
    LeverInForce,
    /// The engine itself raised a doubt.
    Engine,
}

/// A figure that supports a verdict.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Evidence {
    /// What it is, such as `attempts per request`.
    pub name: String,
    /// Its value over the run's last `hold`, or over the span that `text` names.
    pub value: f64,
    /// What it is set against: the baseline's value or a limit; absent where there is none.
    pub against: Option<f64>,
    /// The unit of both, such as `/s`, `s`, or empty.
    pub unit: String,
    /// Both in a sentence.
    pub text: String,
}

/// Figures of a run by phase; a phase without a whole second is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct PhaseFigures {
    /// Before the trigger, past the warm-up.
    pub before: Option<goodput_runlog::Figures>,
    /// While the trigger lasted.
    pub during: Option<goodput_runlog::Figures>,
    /// From the trigger's end to the end of the run.
    pub after: Option<goodput_runlog::Figures>,
    /// The run's last `hold`.
    pub end: Option<goodput_runlog::Figures>,
}
