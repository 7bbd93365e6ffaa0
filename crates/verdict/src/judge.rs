use goodput_runlog::RunLog;
use goodput_scenario::Scenario;

use crate::model::{Doubt, DoubtKind, Judgement, PhaseFigures, Rule, Verdict};

/// Judges what a run saw against its scenario.
pub fn judge(log: &RunLog, scenario: &Scenario) -> Judgement {
    let _ = log;
    let expect = &scenario.expect;
    let text = "the windows have not been judged".to_owned();
    Judgement {
        verdict: Verdict::Inconclusive,
        summary: text.clone(),
        rule: Rule {
            goodput_ratio: expect.goodput_ratio.get(),
            hold: expect.hold.as_secs_f64().ceil(),
            within: expect.within.as_secs_f64(),
        },
        trigger: None,
        baseline: None,
        time_to_recover: None,
        relapsed: None,
        goodput_lost: 0.0,
        doubts: vec![Doubt { kind: DoubtKind::Engine, text }],
        evidence: vec![],
        phases: PhaseFigures::default(),
    }
}
