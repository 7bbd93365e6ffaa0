//! The scenarios in `/scenarios` parse, are embedded, and say what the project's numbers say.

use std::time::Duration;

use goodput_clock::Rate;
use goodput_policy::fault::FaultKind;
use goodput_policy::limiter::Capacity;
use goodput_scenario::builtin::{self, Builtin};
use goodput_scenario::{ExpectedVerdict, Plan, Scenario};

fn plan(builtin: Builtin) -> Plan {
    Plan::parse(builtin.file, builtin.text).unwrap_or_else(|error| panic!("{error}"))
}

/// The arms that are expected to stay down, and the others.
fn arms(plan: &Plan) -> (Vec<&str>, Vec<&str>) {
    let down =
        |arm: &&goodput_scenario::Arm| arm.scenario.expect.verdict == ExpectedVerdict::Metastable;
    let (down, up): (Vec<_>, Vec<_>) = plan.arms.iter().partition(down);
    (down.iter().map(|arm| &*arm.name).collect(), up.iter().map(|arm| &*arm.name).collect())
}

/// Capacity ÷ the attempts that one request can make: below it nothing sticks.
fn safe_load(scenario: &Scenario) -> f64 {
    let Some(Capacity::Limited(capacity)) = scenario.tiers.last().map(|tier| tier.limiter.capacity)
    else {
        panic!("{} has no capacity", scenario.name)
    };
    capacity.per_second() / scenario.max_attempts() as f64
}

#[test]
fn every_file_of_the_folder_is_embedded_and_parses() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
        .collect();
    files.sort();
    let mut embedded: Vec<_> = builtin::ALL.iter().map(|builtin| builtin.name.to_owned()).collect();
    embedded.sort();
    assert_eq!(files, embedded);
    for builtin in builtin::ALL {
        assert_eq!(plan(builtin).scenario.name, builtin.name);
        assert_eq!(builtin::by_name(builtin.name), Some(builtin));
    }
}

#[test]
fn each_scenario_and_arm_has_one_sentence_that_a_report_can_print() {
    for builtin in builtin::ALL {
        let plan = plan(builtin);
        let arms = plan.arms.iter().map(|arm| &arm.description);
        for description in arms.chain([&plan.scenario.description]) {
            assert!(description.ends_with('.'), "{}: {description}", builtin.name);
            assert!(description.len() <= 100, "{}: {description}", builtin.name);
        }
    }
}

#[test]
fn the_headline_has_the_seed_models_numbers_and_the_arms_that_stick_and_that_do_not() {
    let plan = plan(builtin::DATABASE_FAILOVER);
    let scenario = &plan.scenario;
    assert_eq!(scenario.load.rate, Rate::new(80.0).unwrap());
    assert_eq!(scenario.max_attempts(), 4);
    assert_eq!(scenario.smallest_timeout(), Duration::from_secs(5));
    let fault = &scenario.faults[0];
    assert!(matches!(fault.kind, FaultKind::Capacity { to, .. } if (to.get() - 0.4).abs() < 1e-12));
    assert_eq!(fault.length, Duration::from_secs(20));
    let (down, up) = arms(&plan);
    assert_eq!(down, ["naive", "backoff-only", "loose-budget"]);
    assert_eq!(up, ["no-retries", "drop-expired", "retry-budget", "bounded-queue"]);
    let controls: Vec<_> = plan.arms.iter().filter(|arm| arm.control).collect();
    assert_eq!(controls.len(), 1);
    // The control is the scenario as written, apart from what it expects.
    assert_eq!(Scenario { expect: scenario.expect, ..controls[0].scenario.clone() }, *scenario);
}

#[test]
fn the_stalls_lie_on_either_side_of_the_safe_load() {
    let plan = plan(builtin::STALL_AND_PUT_BACK);
    let of = |name| &plan.arm(name).unwrap().scenario;
    let (above, below) = (of("above-safe-load"), of("below-safe-load"));
    assert!((safe_load(above) - 25.0).abs() < 1e-9);
    assert!(above.load.rate.per_second() > 25.0 && below.load.rate.per_second() < 25.0);
    assert_eq!(arms(&plan).0, ["above-safe-load"]);
    assert_eq!(arms(&plan).1, ["below-safe-load", "retry-budget", "shed-queue"]);
}

#[test]
fn three_layers_make_64_attempts_and_one_layer_four() {
    let plan = plan(builtin::RETRY_LAYERS);
    assert_eq!(plan.arm("three-layers").unwrap().scenario.max_attempts(), 64);
    assert_eq!(plan.arm("one-layer").unwrap().scenario.max_attempts(), 4);
    assert_eq!(plan.scenario.load.rate, Rate::new(10.0).unwrap());
}

#[test]
fn the_published_experiment_has_its_four_rows_of_which_one_sticks() {
    let plan = plan(builtin::MONGODB_RETRIES);
    assert_eq!(plan.scenario.load.rate, Rate::new(6_200.0).unwrap());
    assert_eq!(plan.scenario.max_attempts(), 5);
    assert_eq!(plan.scenario.smallest_timeout(), Duration::from_secs(3));
    assert!((safe_load(&plan.scenario) - 16_700.0 / 5.0).abs() < 1e-9);
    let (down, up) = arms(&plan);
    assert_eq!(down, ["cut-80-percent"]);
    assert_eq!(up, ["cut-78-percent", "nine-seconds", "less-load"]);
}

#[test]
fn a_dip_has_a_short_cut_and_the_steady_scenario_none() {
    assert_eq!(plan(builtin::SHORT_DIP).scenario.faults[0].length, Duration::from_secs(8));
    let steady = plan(builtin::STEADY).scenario;
    assert_eq!(steady.trigger_span(), None);
    assert_eq!(steady.expect.verdict, ExpectedVerdict::Steady);
}
