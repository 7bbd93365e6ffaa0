//! Scenarios to vary, and what their runs came to.

use std::time::Duration;

use goodput_clock::{Rate, Seed, Timestamp};
use goodput_policy::budget::BudgetConfig;
use goodput_policy::limiter::QueueLimit;
use goodput_runlog::{Cancel, RunLog};
use goodput_scenario::{Arrivals, Plan, PlannedFault, Scenario, builtin};
use goodput_simulator::{RunOptions, run};
use goodput_verdict::{Judgement, Verdict, judge};

/// The headline without its Poisson noise and with a shorter calm before the cut: 80 requests a second
/// against a capacity of 100.
pub(crate) fn headline() -> Scenario {
    let mut scenario = plan(builtin::DATABASE_FAILOVER).scenario;
    scenario.load.arrivals = Arrivals::Constant;
    scenario.faults[0].at = Timestamp::from_secs(20);
    with_cut(scenario, 20.0, 100)
}

pub(crate) fn plan(builtin: builtin::Builtin) -> Plan {
    Plan::parse(builtin.file, builtin.text).unwrap()
}

/// The scenario with its fault so long, and so many seconds after it.
pub(crate) fn with_cut(mut scenario: Scenario, seconds: f64, after: u64) -> Scenario {
    scenario.faults[0].length = Duration::from_secs_f64(seconds);
    let ends = scenario.faults[0].ends().as_secs_f64().ceil() as u64;
    scenario.duration = Duration::from_secs(ends + after);
    scenario
}

pub(crate) fn poisson(mut scenario: Scenario) -> Scenario {
    scenario.load.arrivals = Arrivals::Poisson;
    scenario
}

pub(crate) fn with_rate(mut scenario: Scenario, rate: f64) -> Scenario {
    scenario.load.rate = per_second(rate);
    scenario
}

pub(crate) fn per_second(rate: f64) -> Rate {
    Rate::new(rate).unwrap()
}

/// The headline with this budget, over Poisson arrivals.
pub(crate) fn budget(budget: BudgetConfig) -> Scenario {
    let mut scenario = poisson(headline());
    scenario.client.layers[0].budget = budget;
    scenario
}

pub(crate) fn named(name: &str) -> BudgetConfig {
    name.parse().unwrap()
}

pub(crate) fn bounded(limit: u32) -> Scenario {
    let mut scenario = poisson(headline());
    scenario.tiers[0].limiter.queue_limit = QueueLimit::Bounded(limit);
    scenario
}

/// Runs a scenario with this seed.
pub(crate) fn log_of(scenario: &Scenario, seed: u64) -> RunLog {
    let options = RunOptions { seed: Seed(seed), ..RunOptions::new(scenario.clone()) };
    run(&options, &mut (), &mut |_| None, &Cancel::new())
}

/// Runs a scenario with this seed and judges it. Where its trigger was lengthened, goodput may take as
/// long to be back as the run is still.
pub(crate) fn judged(scenario: &Scenario, seed: u64) -> Judgement {
    let mut scenario = scenario.clone();
    let left =
        scenario.trigger_span().map(|(_, end)| scenario.duration.saturating_sub(end.elapsed()));
    scenario.expect.within = scenario.expect.within.min(left.unwrap_or(Duration::MAX));
    let judgement = judge(&log_of(&scenario, seed), &scenario);
    assert_ne!(judgement.verdict, Verdict::Inconclusive, "{:?}", judgement.doubts);
    judgement
}

/// Whether the failure outlives its trigger.
pub(crate) fn sticks(scenario: &Scenario, seed: u64) -> bool {
    judged(scenario, seed).verdict == Verdict::Metastable
}

/// Good ÷ offered in the seconds from `from` to `to`.
pub(crate) fn good_share(log: &RunLog, from: u64, to: u64) -> f64 {
    let windows = log.windows.iter().filter(|window| (from..to).contains(&window.second));
    let (good, offered) = windows.fold((0, 0), |(good, offered), window| {
        (good + window.client.good, offered + window.client.offered)
    });
    good as f64 / f64::max(1.0, offered as f64)
}

/// When the only fault of a scenario ends, in whole seconds.
pub(crate) fn fault_ends(scenario: &Scenario) -> u64 {
    scenario.faults.iter().map(PlannedFault::ends).max().unwrap().elapsed().as_secs()
}
