//! The gate before a trigger.

use goodput_clock::{Ratio, Seed, Timestamp};
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::limiter::Capacity;
use goodput_runlog::{Cancel, Ending, EventKind, Observer, RunLog, Window};
use goodput_scenario::{Plan, Scenario, builtin};
use goodput_simulator::{RunOptions, run};
use goodput_verdict::{DoubtKind, Exit, Verdict, judge};

use crate::support::{log_of, plan};

/// One tier of one slot, a time-out of 5 s without retries, and what else `more` says.
fn scenario(rate: f64, capacity: f64, more: &str) -> Scenario {
    let text = format!(
        "name = \"gate\"\nduration = \"42s\"\n[load]\nrate = {rate}\narrivals = \"poisson\"\n\
         [[client.layer]]\ntimeout = \"5s\"\n\
         [[tier]]\nname = \"db\"\nslots = 1\ncapacity = {capacity}\nservice = \"exponential\"\n{more}"
    );
    Plan::parse("gate.toml", &text).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn cut(at: &str, more: &str) -> String {
    let fault = "[[fault]]\nname = \"cut\"\nkind = \"capacity\"\nto = 0.5\nfor = \"500ms\"\nat = ";
    format!("{fault}\"{at}\"\n{more}")
}

/// Ends a run with its first window of the time after the trigger's start.
struct UntilTheTrigger {
    second: u64,
    cancel: Cancel,
}

impl Observer for UntilTheTrigger {
    fn on_window(&mut self, window: &Window) {
        if window.second >= self.second {
            self.cancel.cancel();
        }
    }
}

fn until_the_trigger(scenario: &Scenario, seed: u64) -> RunLog {
    let options = RunOptions { seed: Seed(seed), ..RunOptions::new(scenario.clone()) };
    let second = scenario.trigger_span().map_or(0, |(start, _)| start.elapsed().as_secs());
    let cancel = Cancel::new();
    let mut until = UntilTheTrigger { second, cancel: cancel.clone() };
    run(&options, &mut until, &mut |_| None, &cancel)
}

fn reason(log: &RunLog) -> Option<(Timestamp, &str)> {
    log.events.iter().find_map(|event| {
        let EventKind::TriggerWithheld { reason } = &event.kind else { return None };
        Some((event.at, reason.as_str()))
    })
}

fn fault_started(log: &RunLog) -> bool {
    log.events.iter().any(|event| matches!(event.kind, EventKind::FaultStarted { .. }))
}

/// The reason for which the trigger of this scenario is withheld at `at`; checks all that follows from
/// it.
fn withheld(scenario: &Scenario, at: f64) -> String {
    let log = log_of(scenario, 1);
    let (when, reason) = reason(&log).unwrap_or_else(|| panic!("not withheld"));
    assert_eq!((log.ending, when.as_secs_f64()), (Ending::Withheld, at));
    assert!(!fault_started(&log));
    assert_eq!(log.windows.len(), at as usize, "the seconds before the trigger");
    assert_eq!(log.events.last().map(|event| event.at), Some(when), "nothing comes after it");
    let judgement = judge(&log, scenario);
    let doubts: Vec<_> = judgement.doubts.iter().map(|doubt| doubt.kind).collect();
    assert_eq!((judgement.verdict, doubts), (Verdict::Inconclusive, vec![DoubtKind::Withheld]));
    assert_eq!(judgement.summary, format!("the trigger was withheld: {reason}"));
    assert_eq!(Exit::of(&judgement, &scenario.expect, false).code(), 3);
    reason.to_owned()
}

#[test]
fn a_system_that_fails_before_its_trigger_is_told_what_failed() {
    let overloaded = scenario(20.0, 10.0, &cut("30s", ""));
    let said = withheld(&overloaded, 30.0);
    assert!(said.starts_with("the baseline is not healthy: "), "{said}");
    assert!(said.contains(" timed out; in queues: ") && said.ends_with(" at `db`"), "{said}");
    let lever = "[[lever]]\nname = \"admit\"\nshare = 0.0\nat = \"0s\"\n";
    let said = withheld(&scenario(20.0, 30.0, &cut("30s", lever)), 30.0);
    assert!(said.contains("0.0 % of ") && said.contains(" × 503"), "{said}");
    let stalls = "[[fault]]\nname = \"stall\"\nkind = \"stall\"\nat = \"30s\"\nfor = \"500ms\"\n";
    withheld(&scenario(20.0, 10.0, stalls), 30.0);
}

#[test]
fn a_trigger_between_two_seconds_or_of_the_load_is_withheld_at_its_start() {
    withheld(&scenario(20.0, 10.0, &cut("30500ms", "")), 30.5);
    let spike = "[[load.change]]\nat = \"29700ms\"\nrate = 40\nfor = \"1s\"\n";
    withheld(&scenario(20.0, 10.0, spike), 29.7);
}

#[test]
fn a_fault_that_cannot_act_does_not_go_in() {
    let mut unlimited = scenario(20.0, 30.0, &cut("30s", ""));
    unlimited.tiers[0].limiter.capacity = Capacity::Unlimited;
    let said = withheld(&unlimited, 30.0);
    assert!(
        said.contains("the fault `cut` at tier `db` would change nothing: the capacity"),
        "{said}"
    );
    // A file that asks for this is refused; what a lever has left is seen only here.
    let mut rounded = scenario(20.0, 30.0, &cut("30s", ""));
    let half = Ratio::new(0.5).unwrap();
    rounded.faults[0].kind = FaultKind::capacity(half, CapacityMode::Slots).unwrap();
    let said = withheld(&rounded, 30.0);
    assert!(said.contains("would take no slot away: 50% of the 1 at work"), "{said}");
    // 80 % of one slot's time is offered, and a cut to 90 % leaves more than that.
    let felt = scenario(16.0, 20.0, &cut("30s", "").replace("0.5", "0.9"));
    assert!(fault_started(&log_of(&felt, 1)));
}

#[test]
fn until_its_gate_a_withheld_run_is_the_run_without_the_trigger() {
    let with = scenario(20.0, 10.0, &cut("30s", ""));
    let without = Scenario { faults: Vec::new(), ..with.clone() };
    let (with, without) = (log_of(&with, 7), log_of(&without, 7));
    assert_eq!(with.ending, Ending::Withheld);
    for (a, b) in with.windows.iter().zip(&without.windows) {
        let mut a = a.clone();
        // What was open at the gate ended later.
        a.client.cohort = b.client.cohort;
        assert_eq!(a, *b);
    }
}

/// At 18/s of 20/s a request takes half a second, and one in 20,000 longer than its time-out; waits hang
/// together over ten seconds and more.
#[test]
fn noise_withholds_no_trigger() {
    let cut = cut("30s", "");
    let scenarios = [12.0, 14.0, 16.0, 18.0].map(|rate| scenario(rate, 20.0, &cut));
    let mut withheld = Vec::new();
    for seed in 1..=1_000 {
        let scenario = &scenarios[seed as usize % scenarios.len()];
        let log = until_the_trigger(scenario, seed);
        match reason(&log) {
            Some((_, reason)) => withheld.push((seed, reason.to_owned())),
            None => assert!(fault_started(&log), "seed {seed}"),
        }
    }
    assert!(withheld.is_empty(), "{withheld:?}");
}

#[test]
fn every_scenario_that_comes_with_goodput_runs_its_trigger_in_every_arm() {
    let mut faults = 0;
    for builtin in builtin::ALL {
        let plan = plan(builtin);
        let arms = plan.arms.iter().map(|arm| &arm.scenario);
        for scenario in std::iter::once(&plan.scenario).chain(arms) {
            for seed in 1..=3 {
                let log = until_the_trigger(scenario, seed);
                assert_eq!(reason(&log), None, "{}", builtin.name);
                assert_eq!(fault_started(&log), !scenario.faults.is_empty(), "{}", builtin.name);
                faults += scenario.faults.len();
            }
        }
    }
    assert!(faults > 0);
}
