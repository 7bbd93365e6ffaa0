use std::collections::BTreeMap;
use std::fmt;

use goodput_scenario::ExpectedVerdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a scenario's outcome was.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// There was no trigger, and goodput stayed in its band.
    Steady,
    /// Goodput came back in its band in time and has settled there.
    Recovered,
    /// Goodput was not back in time, but came back and has settled, or converges there.
    SlowRecovery,
    /// Goodput comes and goes.
    Unstable,
    /// The trigger is gone, load and capacity are as before, goodput is down and does not converge, and
    /// what sustains the failure is in sight.
    Metastable,
    /// Goodput is down for a [`Cause`] of its own.
    NotRecovered,
    /// The run cannot be trusted, or is too short to tell.
    #[default]
    Inconclusive,
}

impl Verdict {
    /// All verdicts, from the best to the one that says nothing.
    pub const ALL: [Self; 7] = [
        Self::Steady,
        Self::Recovered,
        Self::SlowRecovery,
        Self::Unstable,
        Self::Metastable,
        Self::NotRecovered,
        Self::Inconclusive,
    ];
}

/// Why goodput is down where it is not a failure that sustains itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The offered load is at or above the capacity in force, and was below it in the baseline.
    Overloaded,
    /// Attempts are refused, reset, or reach nobody.
    Down,
    /// Attempts are answered wrongly, and nothing waits.
    Damaged,
    /// What limits the service is not seen: a failure that sustains itself looks the same.
    Unknown,
}

impl Cause {
    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::Down => "down",
            Self::Damaged => "damaged",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Verdict {
    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Recovered => "recovered",
            Self::SlowRecovery => "slow-recovery",
            Self::Unstable => "unstable",
            Self::Metastable => "metastable",
            Self::NotRecovered => "not-recovered",
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
            ExpectedVerdict::Unstable => Self::Unstable,
            ExpectedVerdict::Metastable => Self::Metastable,
            ExpectedVerdict::NotRecovered => Self::NotRecovered,
        }
    }
}

/// What a run log says about a scenario. All times are seconds of scenario time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Judgement {
    /// The outcome.
    pub verdict: Verdict,
    /// Why goodput is down; only of a run that has not recovered.
    pub cause: Option<Cause>,
    /// The outcome in one sentence.
    pub summary: String,
    /// What is told beside the verdict, a sentence each: dips, who was turned away, a load that is not
    /// as before.
    pub notes: Vec<String>,
    /// By what was judged.
    pub rule: Rule,
    /// The trigger: the first fault's start and the last one's end (or a load spike's); absent where
    /// there was none.
    pub trigger: Option<Span>,
    /// What goodput is compared with; absent where there are no windows for it.
    pub baseline: Option<Baseline>,
    /// From the trigger's end until goodput was back, whatever came later; absent where it never was.
    pub time_to_recover: Option<f64>,
    /// From the trigger's end until goodput was back beyond doubt, at the latest: where the first block
    /// is claimed to be in its band.
    pub time_to_recover_most: Option<f64>,
    /// From the last lever that was pulled before goodput was back until it was.
    pub since_lever: Option<f64>,
    /// How long after the run's end goodput is to be back, where it converges and is not.
    pub time_left: Option<Interval>,
    /// Seconds since the trigger's end at which goodput last left its band after it had been back.
    pub relapsed: Option<f64>,
    /// From the trigger's end until goodput was back for good; absent where it was not in its band at
    /// the end.
    pub settled: Option<f64>,
    /// The share of requests that ended well since goodput was back, or after the trigger where it never
    /// was.
    pub share: Option<Interval>,
    /// Stretches in which goodput was deep below its band after it had been back, in seconds since the
    /// run began.
    pub stretches: Vec<Stretch>,
    /// What keeps goodput down without the trigger, as far as it is in sight.
    pub sustaining: Vec<Sustaining>,
    /// By how many seconds the run is too short to tell; absent where length is not what it lacks.
    pub run_longer: Option<f64>,
    /// How attempts ended after the trigger, or after the baseline where there was none: by status, or
    /// by what the transport said.
    pub outcomes: BTreeMap<String, u64>,
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
    /// The length of the blocks that are judged: `hold`, or as long as a hundred requests take.
    pub block: f64,
    /// The share of requests that must end well, in a block, to be in the band.
    pub needed: f64,
    /// How long a request may live.
    pub life: f64,
}

/// A figure, with the bounds between which it lies with 98 % confidence (99 % on each side).
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Interval {
    /// The figure.
    pub value: f64,
    /// Its lower bound.
    pub low: f64,
    /// Its upper bound; absent where there is none.
    pub high: Option<f64>,
}

/// A stretch of time in which goodput was deep below its band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Stretch {
    /// When it began.
    pub from: f64,
    /// When it ended, or the end of what is judged.
    pub to: f64,
    /// The share of its requests that ended well.
    pub share: f64,
}

/// Something that keeps a failure alive without its trigger.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Sustaining {
    /// Which effect.
    pub effect: Effect,
    /// The figures behind it, in words.
    pub text: String,
}

/// An effect that can keep a failure alive.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Slots work for callers who have gone.
    WastedWork,
    /// Requests make more attempts than before.
    Amplification,
    /// Attempts wait for as long as their callers do.
    QueueDelay,
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
    /// The trigger was withheld before it went in.
    Withheld,
    /// The server received more than the run sent: somebody else loads it.
    ForeignLoad,
    /// What the run sent or got did not pass where the tiers are watched.
    PastTheTier,
    /// Somebody else pulled a lever or put a fault in force.
    ByOthers,
    /// The run is too short to tell.
    TooShort,
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
