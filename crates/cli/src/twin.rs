//! In virtual time a run that failed is set beside the same seed without the trigger.

use goodput_runlog::{Cancel, EngineKind, RunLog};
use goodput_scenario::Scenario;
use goodput_simulator::{RunOptions, run};
use goodput_verdict::{Judgement, Verdict, beside_twin, judge};

/// Judges a run, and where it failed in virtual time, says whether it does so without its trigger as well.
pub(crate) fn judge_with_twin(log: &RunLog, scenario: &Scenario) -> Judgement {
    let judgement = judge(log, scenario);
    let failed =
        !matches!(judgement.verdict, Verdict::Steady | Verdict::Recovered | Verdict::Inconclusive);
    if !failed || log.meta.engine != EngineKind::Simulator || scenario.trigger_span().is_none() {
        return judgement;
    }
    let options = RunOptions { seed: log.meta.seed, ..RunOptions::new(scenario.without_trigger()) };
    let twin = run(&options, &mut (), &mut |_| None, &Cancel::new());
    beside_twin(judgement, scenario, &twin)
}
