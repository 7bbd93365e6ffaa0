use goodput_verdict::{Cause, Judgement, Verdict, named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one run of many came to.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Outcome {
    /// The outcome.
    pub verdict: Verdict,
    /// Why goodput is down; only of a run that has not recovered.
    pub cause: Option<Cause>,
    /// Seconds from the trigger's end until goodput was back.
    pub time_to_recover: Option<f64>,
    /// Why the run cannot be trusted; absent where it can.
    pub doubt: Option<String>,
}

/// On which side of a boundary a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Goodput was back in time and stayed, or never left: recovered, steady.
    Recovers,
    /// It was not: slow-recovery, unstable, metastable, not-recovered.
    Fails,
}

impl Outcome {
    /// What a judgement comes to.
    pub fn of(judgement: &Judgement) -> Self {
        let doubts = judgement.doubts.iter().map(|doubt| doubt.text.as_str());
        let doubt = doubts.collect::<Vec<_>>().join("; ");
        Self {
            verdict: judgement.verdict,
            cause: judgement.cause,
            time_to_recover: judgement.time_to_recover,
            doubt: (!doubt.is_empty()).then_some(doubt),
        }
    }

    /// A run that says nothing, and why.
    pub const fn doubted(doubt: String) -> Self {
        Self {
            verdict: Verdict::Inconclusive,
            cause: None,
            time_to_recover: None,
            doubt: Some(doubt),
        }
    }

    /// The verdict with its cause, such as `not-recovered: down`.
    pub fn name(&self) -> String {
        named(self.verdict, self.cause)
    }

    /// The side that it is on; none where it is inconclusive.
    pub const fn side(&self) -> Option<Side> {
        Side::of(self.verdict)
    }
}

impl Side {
    /// The side of a verdict; none where it is inconclusive.
    pub const fn of(verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::Steady | Verdict::Recovered => Some(Self::Recovers),
            Verdict::SlowRecovery
            | Verdict::Unstable
            | Verdict::Metastable
            | Verdict::NotRecovered => Some(Self::Fails),
            Verdict::Inconclusive => None,
        }
    }

    /// The word in a sentence: `recovered` or `failed`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Recovers => "recovered",
            Self::Fails => "failed",
        }
    }
}
