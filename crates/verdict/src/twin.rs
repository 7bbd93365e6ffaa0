//! The same run without its trigger, beside it.

use goodput_runlog::RunLog;
use goodput_scenario::Scenario;

use crate::course::Course;
use crate::frame::Frame;
use crate::model::{Judgement, Verdict};

/// Says of a judged run what the same seed does without the trigger ([`Scenario::without_trigger`]): where
/// that is not up after the trigger's time either, the verdict speaks of the system and not of the fault, and
/// the words say so. Nothing changes where the run is back or cannot be trusted.
#[must_use]
pub fn beside_twin(mut judgement: Judgement, scenario: &Scenario, twin: &RunLog) -> Judgement {
    let failed = match judgement.verdict {
        Verdict::SlowRecovery | Verdict::Unstable | Verdict::Metastable | Verdict::NotRecovered => {
            true
        }
        Verdict::Steady | Verdict::Recovered | Verdict::Inconclusive => false,
    };
    if !failed {
        return judgement;
    }
    let frame = Frame::new(twin, scenario);
    let course = Course::of(&frame);
    let below = frame.share(frame.start(), frame.end).is_some_and(|s| s.value < frame.rule.needed);
    if course.down || course.comes_and_goes(&frame) || below {
        judgement.summary.push_str("; without the trigger as well");
        let share = frame.ratio(frame.start(), frame.end).unwrap_or_default();
        judgement.notes.push(format!(
            "the same seed without the trigger is not up either: {:.1} % of its requests ended well in the \
             same time, so that this speaks of the system, and not of the trigger",
            share * 100.0
        ));
    }
    judgement
}
