//! The headline, carried out in virtual time once, for reports to be made of.
#![allow(dead_code, reason = "each test uses its own part of this module")]

use std::sync::LazyLock;

use goodput_experiment::{Comparison, FinishedArm, compare_finished};
use goodput_report::Report;
use goodput_runlog::{Cancel, RunLog};
use goodput_scenario::{Plan, Scenario, builtin};
use goodput_simulator::RunOptions;

/// A comparison of the arms of a scenario.
#[derive(Debug)]
pub(crate) struct Compared {
    /// The scenario with its arms.
    pub(crate) plan: &'static Plan,
    /// A run of each, in their order.
    pub(crate) finished: Vec<FinishedArm<'static>>,
    /// What they come to.
    pub(crate) comparison: Comparison,
}

/// The scenario file.
pub(crate) const SCENARIO: &str = builtin::DATABASE_FAILOVER.text;
/// The command that stands in the comparison.
pub(crate) const COMPARE: &str = "goodput compare database-failover --engine simulator --seed 42";

static HEADLINE: LazyLock<(Plan, Vec<RunLog>)> = LazyLock::new(|| {
    let plan = Plan::parse(builtin::DATABASE_FAILOVER.file, SCENARIO).expect("it is valid");
    let logs = plan.arms.iter().map(|arm| simulate(&arm.scenario, &arm.name)).collect();
    (plan, logs)
});

/// All arms of the headline.
pub(crate) fn compared() -> Compared {
    let (plan, logs) = &*HEADLINE;
    let finished: Vec<_> =
        plan.arms.iter().zip(logs).map(|(arm, log)| FinishedArm { arm, log }).collect();
    let comparison = compare_finished(&finished);
    Compared { plan, finished, comparison }
}

impl Compared {
    /// Their report.
    pub(crate) fn report(&self) -> Report<'_> {
        Report::comparison(&self.comparison, &self.finished, COMPARE)
    }
}

/// The headline without a defence.
pub(crate) fn naive() -> (Scenario, RunLog) {
    let (plan, logs) = &*HEADLINE;
    (plan.arms[0].scenario.clone(), logs[0].clone())
}

fn simulate(scenario: &Scenario, arm: &str) -> RunLog {
    let options = RunOptions {
        arm: Some(arm.to_owned()),
        command: format!("goodput run database-failover --arm {arm} --engine simulator"),
        ..RunOptions::new(scenario.clone())
    };
    let mut log = goodput_simulator::run(&options, &mut (), &mut |_| None, &Cancel::new());
    "2026-11-30T09:15:02Z".clone_into(&mut log.meta.started);
    log
}
