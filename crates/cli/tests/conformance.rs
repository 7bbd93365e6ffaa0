//! Both engines over the scenarios that come with goodput: the same verdict, the same goodput and the
//! same attempts per request, within tolerances.
//!
//! The rig needs real time, and a failure without a defence a machine of its own, so that the tests
//! that run by default take a light part of the scenarios; `scripts/measure-conformance` runs all.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::ops::Range;
use std::path::Path;

use common::goodput_in;
use goodput_policy::limiter::Capacity;
use goodput_scenario::Plan;
use goodput_scenario::builtin;
use serde_json::Value;

/// Goodput may differ by this share of the capacity, in each phase.
const GOODPUT_OFF: f64 = 0.05;
/// Attempts per request may differ by this share of themselves, in each phase.
const ATTEMPTS_OFF: f64 = 0.10;
/// How many waits end may differ by this share, over the length of the fault.
const WAITS_OFF: f64 = 0.05;
/// How long they were may differ by a bucket of the ruler, a sixteenth, over the same.
const DELAY_OFF: f64 = 1.0 / 16.0;

#[test]
fn a_short_cut_conforms() {
    assert_conforms(&[("short-dip", "")]);
}

#[test]
fn a_defence_conforms() {
    let dir = tempfile::tempdir().unwrap();
    assert_conforms_in(dir.path(), &[("database-failover", "drop-expired")]);
    // In this arm more requests are dropped from the queue than are served late: both have waited.
    let [rig, simulator] = ["rig", "simulator"].map(|engine| {
        let mut folders = std::fs::read_dir(dir.path().join(engine)).unwrap();
        let log = folders.next().unwrap().unwrap().path().join("runlog-drop-expired.json");
        waits(&serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap(), 60..80)
    });
    let off = |a: f64, b: f64| (a - b).abs() / b;
    let close = off(rig.0, simulator.0) <= WAITS_OFF && off(rig.1, simulator.1) <= DELAY_OFF;
    assert!(close, "{rig:?} on the rig, {simulator:?} simulated");
}

/// How many waits ended in these seconds, and the mean of the seconds' median queue delays.
fn waits(log: &Value, seconds: Range<u64>) -> (f64, f64) {
    let windows = log["windows"].as_array().unwrap();
    let within = windows.iter().filter(|w| seconds.contains(&w["second"].as_u64().unwrap()));
    let delays: Vec<_> = within.map(|window| &window["tiers"][0]["queue_delay"]).collect();
    assert_eq!(delays.len(), 20);
    let sum =
        |figure: &str| delays.iter().map(|delay| delay[figure].as_f64().unwrap()).sum::<f64>();
    (sum("count"), sum("p50") / delays.len() as f64)
}

#[test]
#[ignore = "minutes of real time: scripts/measure-conformance runs it"]
fn every_arm_of_the_headline_conforms() {
    assert_conforms(&[("database-failover", "all")]);
}

#[test]
#[ignore = "minutes of real time: scripts/measure-conformance runs it"]
fn every_other_scenario_and_arm_conforms() {
    let others = builtin::ALL.iter().filter(|builtin| builtin.name != "database-failover");
    let others = others.filter(|builtin| fits_on_the_rig(&plan(builtin.name)));
    let others: Vec<_> = others
        .map(|builtin| (builtin.name, if plan(builtin.name).arms.is_empty() { "" } else { "all" }))
        .collect();
    assert!(others.len() >= 4, "{others:?}");
    assert_conforms(&others);
}

fn plan(name: &str) -> Plan {
    let builtin = builtin::by_name(name).unwrap();
    Plan::parse(builtin.file, builtin.text).unwrap()
}

/// Whether two cores carry what the scenario can ask for, at the speed of these tests.
fn fits_on_the_rig(plan: &Plan) -> bool {
    let arms = plan.arms.iter().map(|arm| &arm.scenario).chain([&plan.scenario]);
    let most = arms.map(|s| s.peak_rate().per_second() * s.max_attempts() as f64);
    most.fold(0.0, f64::max) <= 1_000.0
}

/// Requests a second that the last tier can serve.
fn capacity(plan: &Plan) -> f64 {
    match plan.scenario.tiers.last().unwrap().limiter.capacity {
        Capacity::Limited(rate) => rate.per_second(),
        Capacity::Unlimited => f64::INFINITY,
    }
}

fn assert_conforms(scenarios: &[(&str, &str)]) {
    let dir = tempfile::tempdir().unwrap();
    assert_conforms_in(dir.path(), scenarios);
}

/// As [`assert_conforms`]; leaves the first scenario's runs in a folder for each engine.
fn assert_conforms_in(dir: &Path, scenarios: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    let mut worst = [0.0, 0.0];
    for (scenario, arms) in scenarios {
        let [rig, simulator] = ["rig", "simulator"].map(|engine| runs(dir, engine, scenario, arms));
        assert_eq!(rig.len(), simulator.len());
        for (measured, predicted) in rig.iter().zip(&simulator) {
            let name = format!("{scenario} {}", measured["arm"].as_str().unwrap_or_default());
            let capacity = capacity(&plan(scenario));
            wrong.extend(differences(&name, [measured, predicted], capacity, &mut worst));
        }
    }
    let [goodput, attempts] = worst.map(|share| share * 1e2);
    let measured = format!("at most {goodput:.1} % of capacity and {attempts:.1} % of attempts");
    assert!(wrong.is_empty(), "{measured}: {wrong:#?}");
}

/// What the two runs of an arm differ in by more than they may; `worst` keeps the largest shares seen.
fn differences(
    name: &str,
    [rig, simulator]: [&Value; 2],
    capacity: f64,
    worst: &mut [f64; 2],
) -> Vec<String> {
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
        compare("goodput", capacity, GOODPUT_OFF, 0);
        compare("attempts_per_request", 0.0, ATTEMPTS_OFF, 1);
    }
    wrong
}

/// The runs of a scenario's arms on an engine, in the order of the file.
fn runs(dir: &Path, engine: &str, scenario: &str, arms: &str) -> Vec<Value> {
    let mut args = match arms {
        "" => vec!["run", scenario],
        _ => vec!["compare", scenario],
    };
    if !["", "all"].contains(&arms) {
        args.extend(["--arms", arms]);
    }
    if !arms.is_empty() {
        // One after the other: a failure without a defence takes most of a core at both of its ends.
        args.extend(["--jobs", "1"]);
    }
    args.extend(["--engine", engine, "--format", "json", "--quiet"]);
    if engine == "rig" {
        args.extend(["--speed", "10"]);
    }
    if !std::fs::exists(dir.join(engine)).unwrap() {
        args.extend(["--out", engine]);
    }
    let ended = goodput_in(dir, &args);
    let Ok(result) = serde_json::from_str::<Value>(&ended.stdout) else { panic!("{ended:#?}") };
    let runs = result["runs"].as_array().unwrap();
    let inconclusive = runs.iter().find(|run| run["verdict"] == "inconclusive");
    if let Some(run) = inconclusive {
        panic!("{scenario} {} on the {engine}: {}", run["arm"], run["summary"]);
    }
    runs.clone()
}
