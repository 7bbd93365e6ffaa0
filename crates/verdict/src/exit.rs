use goodput_scenario::Expectations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{DoubtKind, Judgement, Verdict};

/// How a command ends, as its exit code says.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// 0: every expectation held.
    Held,
    /// 1: an expectation did not hold.
    NotHeld,
    /// 2: the command or the scenario is wrong.
    Usage,
    /// 3: a run was inconclusive, or an arm marked `control` did not fail.
    Inconclusive,
    /// 4: interrupted, faults reverted.
    Interrupted,
    /// 5: that the faults are gone could not be confirmed.
    CleanUpUnconfirmed,
}

impl Exit {
    /// The exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::NotHeld => 1,
            Self::Usage => 2,
            Self::Inconclusive => 3,
            Self::Interrupted => 4,
            Self::CleanUpUnconfirmed => 5,
        }
    }

    /// How one run ends. Where it is a `control`, it must have failed: one that recovered or stayed
    /// steady makes the comparison void, whatever it was expected to do.
    pub fn of(judgement: &Judgement, expect: &Expectations, control: bool) -> Self {
        let doubted = |kind| judgement.doubts.iter().any(|doubt| doubt.kind == kind);
        if doubted(DoubtKind::FaultUnreverted) {
            Self::CleanUpUnconfirmed
        } else if doubted(DoubtKind::Interrupted) {
            Self::Interrupted
        } else if judgement.verdict == Verdict::Inconclusive
            || (control && !failed(judgement.verdict))
        {
            Self::Inconclusive
        } else if holds(judgement, expect) {
            Self::Held
        } else {
            Self::NotHeld
        }
    }

    /// How several runs end together: the first of 5, 4, 2, 3, 1 that occurred, else 0.
    pub fn worst(exits: impl IntoIterator<Item = Self>) -> Self {
        exits.into_iter().max_by_key(|exit| exit.precedence()).unwrap_or(Self::Held)
    }

    const fn precedence(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::NotHeld => 1,
            Self::Inconclusive => 2,
            Self::Usage => 3,
            Self::Interrupted => 4,
            Self::CleanUpUnconfirmed => 5,
        }
    }
}

/// Whether a judgement is what was expected. An inconclusive run holds nothing, and none that was not
/// back in time is called `recovered`.
pub fn holds(judgement: &Judgement, expect: &Expectations) -> bool {
    judgement.verdict == Verdict::from(expect.verdict)
}

/// Whether a verdict is what a control must show.
const fn failed(verdict: Verdict) -> bool {
    match verdict {
        Verdict::SlowRecovery | Verdict::Unstable | Verdict::Metastable | Verdict::NotRecovered => {
            true
        }
        Verdict::Steady | Verdict::Recovered | Verdict::Inconclusive => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use goodput_clock::Ratio;
    use goodput_scenario::ExpectedVerdict;

    use super::*;

    fn judgement(verdict: Verdict, time_to_recover: Option<f64>) -> Judgement {
        Judgement { verdict, time_to_recover, ..Judgement::default() }
    }

    fn expect(verdict: ExpectedVerdict) -> Expectations {
        Expectations {
            verdict,
            goodput_ratio: Ratio::ONE,
            hold: Duration::from_secs(10),
            within: Duration::from_mins(1),
        }
    }

    #[test]
    fn an_expectation_holds_its_own_verdict_alone() {
        let expected = expect(ExpectedVerdict::Recovered);
        assert!(holds(&judgement(Verdict::Recovered, Some(60.0)), &expected));
        assert!(!holds(&judgement(Verdict::SlowRecovery, Some(61.0)), &expected));
        assert!(!holds(&judgement(Verdict::Metastable, None), &expected));
        let metastable = expect(ExpectedVerdict::Metastable);
        assert!(holds(&judgement(Verdict::Metastable, None), &metastable));
        assert!(!holds(&judgement(Verdict::Inconclusive, None), &metastable));
    }

    #[test]
    fn a_control_must_fail_whatever_was_expected_of_it() {
        let of = |verdict, expected, control| {
            Exit::of(&judgement(verdict, Some(1.0)), &expect(expected), control).code()
        };
        assert_eq!(of(Verdict::Metastable, ExpectedVerdict::Metastable, true), 0);
        assert_eq!(of(Verdict::SlowRecovery, ExpectedVerdict::Metastable, true), 1);
        assert_eq!(of(Verdict::Recovered, ExpectedVerdict::Metastable, true), 3);
        assert_eq!(of(Verdict::Recovered, ExpectedVerdict::Recovered, true), 3);
        assert_eq!(of(Verdict::Recovered, ExpectedVerdict::Metastable, false), 1);
        assert_eq!(of(Verdict::Inconclusive, ExpectedVerdict::Metastable, false), 3);
    }

    #[test]
    fn the_first_of_5_4_2_3_1_counts() {
        use Exit::{CleanUpUnconfirmed, Held, Inconclusive, Interrupted, NotHeld, Usage};
        let order = [CleanUpUnconfirmed, Interrupted, Usage, Inconclusive, NotHeld, Held];
        for (index, exit) in order.into_iter().enumerate() {
            assert_eq!(Exit::worst(order[index..].iter().rev().copied()), exit);
        }
        assert_eq!(Exit::worst([]), Held);
        assert_eq!(order.map(Exit::code), [5, 4, 2, 3, 1, 0]);
    }
}
