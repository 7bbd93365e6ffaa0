use goodput_runlog::{Cancel, Observer, Window};
use goodput_scenario::{Arrivals, Plan, builtin};
use goodput_simulator::{RunOptions, run};

use super::*;

/// Hands the windows of a run to a walk, and its rates back.
struct Watch<'a> {
    walk: &'a mut Walk,
    rates: &'a std::cell::RefCell<Vec<Rate>>,
    cancel: Cancel,
}

impl Observer for Watch<'_> {
    fn on_window(&mut self, window: &Window) {
        self.rates.borrow_mut().extend(self.walk.on_window(window));
        if self.walk.is_done() {
            self.cancel.cancel();
        }
    }
}

fn headline(arm: &str) -> Scenario {
    let file = builtin::DATABASE_FAILOVER;
    let plan = Plan::parse(file.file, file.text).unwrap();
    let mut scenario = plan.arm(arm).unwrap().scenario.clone();
    scenario.load.arrivals = Arrivals::Constant;
    scenario
}

fn ladder(scenario: &Scenario) -> Ladder {
    let (dwell, patience) = (Duration::from_mins(2), Duration::from_hours(12));
    Ladder::of(scenario, None, None, None, dwell, patience).unwrap()
}

fn found(arm: &str) -> Hysteresis {
    let scenario = headline(arm);
    let ladder = ladder(&scenario);
    let mut walk = Walk::new(&scenario, &ladder);
    let rates = std::cell::RefCell::new(Vec::new());
    let cancel = Cancel::new();
    let mut watch = Watch { walk: &mut walk, rates: &rates, cancel: cancel.clone() };
    let options = RunOptions::new(walked(&scenario, &ladder));
    let mut levers = |_| {
        let rate = rates.borrow_mut().pop()?;
        Some(goodput_policy::lever::Lever::Rate { rate })
    };
    run(&options, &mut watch, &mut levers, &cancel);
    Hysteresis::of(&scenario, walk, EngineKind::Simulator)
}

/// It is lost at the capacity of 100 and returns at the safe load of 25: a factor of k = 4.
#[test]
fn the_naive_arm_returns_at_a_load_that_is_lower_by_the_amplification_factor() {
    let found = found("naive");
    assert_eq!((found.capacity, found.factor), (Some(100.0), 4.0));
    let lost = found.lost_between.unwrap();
    assert!((lost.low - 100.0).abs() < 1e-9 && (lost.high - 105.0).abs() < 1e-9, "{found:#?}");
    let back = found.back_between.unwrap();
    assert!(back.low < 25.0 + 1e-9 && back.high > 25.0 - 1e-9, "{found:#?}");
    let ratio = found.ratio.unwrap();
    assert!(ratio.low <= 4.0 + 1e-9 && ratio.high >= 4.0, "{found:#?}");
    assert!(!found.interrupted);
}

#[test]
fn without_retries_it_returns_where_it_was_lost() {
    let found = found("no-retries");
    assert!((found.factor - 1.0).abs() < 1e-12);
    let ratio = found.ratio.unwrap();
    assert!(ratio.low <= 1.0 + 1e-9 && ratio.high < 1.2, "{found:#?}");
}

#[test]
fn a_server_that_drops_expired_work_has_no_hysteresis_and_keeps_its_goodput() {
    let found = found("drop-expired");
    let ratio = found.ratio.unwrap();
    assert!(ratio.high < 1.2, "{found:#?}");
    let lost = found.loads.iter().find(|load| !load.served).unwrap();
    assert!(lost.goodput > 85.0, "it is overloaded, and serves what it can: {lost:?}");
}

/// A budget of 10 % leaves k = 1.1 however many retries the layer may make.
#[test]
fn with_a_retry_budget_k_is_what_the_budget_lets_through() {
    let scenario = headline("retry-budget");
    let walk = Walk::new(&scenario, &ladder(&scenario));
    let found = Hysteresis::of(&scenario, walk, EngineKind::Simulator);
    assert!((found.factor - 1.1).abs() < 1e-9, "{}", found.factor);
}

#[test]
fn a_ladder_that_leads_nowhere_is_refused_with_an_example() {
    let scenario = headline("naive");
    let rate = |rate: f64| Some(Rate::new(rate).unwrap());
    let of = |from, to, step, dwell| {
        let (dwell, patience) = (Duration::from_secs(dwell), Duration::from_mins(1));
        Ladder::of(&scenario, from, to, step, dwell, patience).unwrap_err().to_string()
    };
    for (error, example) in [
        (of(rate(50.0), rate(50.0), None, 60), "--from 5 --to 150"),
        (of(rate(90.0), rate(10.0), None, 60), "--from 5 --to 150"),
        (of(None, None, rate(500.0), 60), "--step 7.25"),
        (of(None, None, rate(1e-6), 60), "--step 7.25"),
        (of(None, None, None, 5), "--dwell 60s"),
    ] {
        assert!(error.contains(example), "{error}");
    }
}

#[test]
fn the_walked_scenario_has_no_trigger_and_room_for_the_highest_load() {
    let scenario = headline("naive");
    let ladder = ladder(&scenario);
    let walked = walked(&scenario, &ladder);
    assert_eq!(walked.trigger_span(), None);
    assert!((walked.load.rate.per_second() - 5.0).abs() < 1e-9);
    assert!(walked.client.max_connections >= 150 * 4 * 5);
    assert_eq!(ladder.loads().len(), 30);
}
