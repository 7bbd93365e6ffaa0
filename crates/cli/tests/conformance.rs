//! Both engines over the scenarios that come with goodput: the same verdict, the same goodput and the
//! same attempts per request, within tolerances.
//!
//! The rig needs real time, so that the tests that run by default take a part of the scenarios;
//! `scripts/checks/60-conformance` runs all of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::goodput;
use serde_json::Value;

/// Scenarios with the arms that are compared; none for a scenario that is run as it is written.
const ALL: [(&str, &str); 5] = [
    ("database-failover", "all"),
    ("stall-and-put-back", "all"),
    ("retry-layers", "all"),
    ("short-dip", ""),
    ("steady", ""),
];

/// Goodput may differ by this share of the capacity, in each phase.
const GOODPUT_OFF: f64 = 0.05;
/// Attempts per request may differ by this share of themselves, in each phase.
const ATTEMPTS_OFF: f64 = 0.10;

#[test]
fn a_short_cut_conforms() {
    assert_conforms(&[("short-dip", "")]);
}

#[test]
fn a_failure_and_two_defences_conform() {
    assert_conforms(&[("database-failover", "naive,drop-expired,bounded-queue")]);
}

#[test]
#[ignore = "four minutes of real time: scripts/checks/60-conformance runs it"]
fn every_scenario_and_arm_conforms() {
    assert_conforms(&ALL);
}

fn assert_conforms(scenarios: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    let mut worst = [0.0, 0.0];
    for (scenario, arms) in scenarios {
        let (rig, simulator) = (runs("rig", scenario, arms), runs("simulator", scenario, arms));
        assert_eq!(rig.len(), simulator.len());
        for (measured, predicted) in rig.iter().zip(&simulator) {
            let name = format!("{scenario} {}", measured["arm"].as_str().unwrap_or_default());
            wrong.extend(differences(&name, measured, predicted, &mut worst));
        }
    }
    println!("at most {:.1} % of capacity and {:.1} % of attempts", worst[0] * 1e2, worst[1] * 1e2);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What the two runs of an arm differ in by more than they may; `worst` keeps the largest shares seen.
fn differences(name: &str, rig: &Value, simulator: &Value, worst: &mut [f64; 2]) -> Vec<String> {
    let mut wrong = Vec::new();
    if rig["verdict"] != simulator["verdict"] {
        let (rig, simulator) = (&rig["verdict"], &simulator["verdict"]);
        wrong.push(format!("{name}: {rig} on the rig, {simulator} in the simulator"));
    }
    for phase in ["before", "during", "after", "end"] {
        let of = |run: &Value, figure: &str| run["phases"][phase][figure].as_f64();
        if simulator["phases"][phase].is_null() && rig["phases"][phase].is_null() {
            continue;
        }
        let mut compare = |figure: &str, by: f64, most: f64, slot: usize| {
            let (Some(a), Some(b)) = (of(rig, figure), of(simulator, figure)) else {
                return wrong.push(format!("{name}, {phase}: no {figure} in one of the engines"));
            };
            let off = (a - b).abs() / if by > 0.0 { by } else { b };
            worst[slot] = worst[slot].max(off);
            if off > most {
                wrong
                    .push(format!("{name}, {phase}: {figure} {a:.2} on the rig, {b:.2} simulated"));
            }
        };
        compare("goodput", CAPACITY, GOODPUT_OFF, 0);
        compare("attempts_per_request", 0.0, ATTEMPTS_OFF, 1);
    }
    wrong
}

/// The runs of a scenario's arms on an engine, in the order of the file.
fn runs(engine: &str, scenario: &str, arms: &str) -> Vec<Value> {
    let mut args = match arms {
        "" => vec!["run", scenario],
        _ => vec!["compare", scenario],
    };
    if !["", "all"].contains(&arms) {
        args.extend(["--arms", arms]);
    }
    args.extend(["--engine", engine, "--speed", "10", "--format", "json", "--quiet"]);
    let ended = goodput(&args);
    assert!(matches!(ended.code, Some(0 | 1)), "{ended:#?}");
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    result["runs"].as_array().unwrap().clone()
}

/// Requests a second of each of these scenarios' servers.
const CAPACITY: f64 = 100.0;
