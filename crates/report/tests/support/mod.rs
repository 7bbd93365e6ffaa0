//! Run logs for tests and examples, from a small model of the headline in one-second steps.
//!
//! Arrivals enter, then up to the capacity is served in order, then attempts whose age has reached
//! the time-out give up, and retries enter at their due second. It stands for an engine here, so
//! that reports can be looked at without one.
#![allow(
    dead_code,
    unused_imports,
    reason = "each test and example uses its own part of this module"
)]

mod model;
mod scenario;

use goodput_runlog::RunLog;
use goodput_scenario::{Arm, Plan};

pub(crate) use model::run;
pub(crate) use scenario::{SCENARIO, defence, plan};

/// The command that stands in sample comparisons.
pub(crate) const COMPARE: &str =
    "goodput compare scenarios/database-failover.toml --speed 10 --seed 42";

/// A run of every arm, in order.
pub(crate) fn logs(plan: &Plan) -> Vec<RunLog> {
    let run_arm = |arm: &Arm| run(&arm.scenario, Some(&arm.name), defence(&arm.name));
    plan.arms.iter().map(run_arm).collect()
}
