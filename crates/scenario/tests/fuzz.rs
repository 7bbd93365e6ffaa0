//! No text makes the parser panic, and what it accepts can be run.
//!
//! 100,000 texts: arbitrary ones, ones built of what scenarios are built of, and valid scenarios with
//! lines removed, repeated, swapped or with other values.

use std::time::Duration;

use goodput_clock::{Ratio, Timestamp};
use goodput_policy::fault::FaultKind;
use goodput_policy::lever::LeverTarget;
use goodput_scenario::schedule::Schedule;
use goodput_scenario::{Plan, Scenario, ScenarioError};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A scenario with something of everything, in lines that mean something alone.
const EVERYTHING: &str = r#"name = "everything"
duration = "100s"
seed = 3
[load]
rate = 20
arrivals = { kind = "batch", size = 5 }
[[load.change]]
at = "20s"
rate = 40
over = "2s"
for = "5s"
[request]
path = "/orders/{order}"
headers = { x-tenant = "blue" }
[client]
clients = 2
deadline = "8s"
pool = "fifo"
[[client.layer]]
name = "outer"
retries = 1
[[client.layer]]
name = "inner"
timeout = "2s"
retries = 3
backoff = { base = "100ms", jitter = "full" }
budget = { kind = "finagle", ratio = 0.2 }
[[tier]]
name = "gate"
[[tier.layer]]
timeout = "3s"
[[tier]]
name = "db"
slots = 10
capacity = 100
queue_limit = 150
service = { kind = "lognormal", sigma = 0.5 }
[[fault]]
name = "cut"
kind = "capacity"
to = 0.4
mode = "slots"
at = "40s"
for = "10s"
[[lever]]
name = "admit"
share = 0.2
for = "10s"
at = "60s"
[[lever]]
name = "retries"
layer = "inner"
retries = 0
at = "61s"
[expect]
verdict = "recovered"
hold = "5s"
within = "30s"
[[arm]]
name = "naive"
control = true
expect.verdict = "metastable"
[[arm]]
name = "other"
set.tier.db.drop_expired = true
set.client.layer.inner.budget = "off"
set.fault.cut.for = "8s"
set.lever = []
"#;

/// Values that are right somewhere and wrong elsewhere.
const VALUES: [&str; 34] = [
    "0",
    "1",
    "-1",
    "3",
    "0.4",
    "1.5",
    "1e300",
    "nan",
    "-inf",
    "9223372036854775807",
    "true",
    "\"\"",
    "\"5s\"",
    "\"90s\"",
    "\"0s\"",
    "\"100y\"",
    "\"9999999999y\"",
    "\"40%\"",
    "\"80/s\"",
    "\"off\"",
    "\"unlimited\"",
    "\"fifo\"",
    "\"db\"",
    "\"gate\"",
    "\"steady\"",
    "\"poisson\"",
    "\"stall\"",
    "[]",
    "[1]",
    "[\"timeout\"]",
    "{}",
    "{ kind = \"batch\", size = 0 }",
    "{ base = \"1s\" }",
    "1979-05-27",
];

fn cases(count: u32) -> TestRunner {
    TestRunner::new(Config { cases: count, failure_persistence: None, ..Config::default() })
}

fn run(count: u32, texts: impl Strategy<Value = String>) {
    cases(count).run(&texts, |text| check(&text)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn arbitrary_text_never_panics() {
    run(30_000, "(?s).{0,200}");
}

#[test]
fn text_of_the_characters_of_toml_never_panics() {
    run(30_000, r#"[\[\]{}.,="'#\\\n a-z0-9_\-é]{0,120}"#);
}

#[test]
fn lines_of_scenarios_in_any_order_never_panic() {
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let line = proptest::sample::select(lines);
    run(30_000, proptest::collection::vec(line, 0..40).prop_map(|lines| lines.join("\n")));
}

#[test]
fn mutated_scenarios_never_panic_and_what_is_accepted_can_be_run() {
    let lines = EVERYTHING.lines().count();
    let change = (0..lines, 0..lines, 0..6_u8, proptest::sample::select(VALUES.to_vec()));
    let texts = proptest::collection::vec(change, 1..4).prop_map(|changes| {
        let mut lines: Vec<String> = EVERYTHING.lines().map(str::to_owned).collect();
        for (from, to, how, value) in changes {
            mutate(&mut lines, from, to, how, value);
        }
        lines.join("\n")
    });
    run(10_000, texts);
}

/// Changes a line: removes, repeats, swaps or cuts it, or gives it another value.
fn mutate(lines: &mut Vec<String>, from: usize, to: usize, how: u8, value: &str) {
    let (from, to) = (from % lines.len(), to % lines.len());
    match how {
        0 => drop(lines.remove(from)),
        1 => lines.insert(to, lines[from].clone()),
        2 => lines.swap(from, to),
        3 => {
            let half = lines[from].chars().count() / 2;
            lines[from] = lines[from].chars().take(half).collect();
        }
        _ => {
            if let Some((key, _)) = lines[from].split_once('=') {
                lines[from] = format!("{key}= {value}");
            }
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
}

/// What holds for every text.
fn check(text: &str) -> Result<(), TestCaseError> {
    match Plan::parse("fuzz.toml", text) {
        Ok(plan) => check_plan(&plan),
        Err(error) => check_error(text, &error),
    }
}

fn check_error(text: &str, error: &ScenarioError) -> Result<(), TestCaseError> {
    prop_assert!(!error.problems.is_empty());
    prop_assert!(error.problems.len() <= ScenarioError::MOST);
    for problem in &error.problems {
        prop_assert!((1..=text.matches('\n').count() + 1).contains(&problem.line));
        prop_assert!(problem.column >= 1);
        prop_assert!(!problem.message.is_empty() && !problem.example.is_empty());
        prop_assert!(!problem.to_string().chars().any(|c| c.is_control() && c != '\n'));
    }
    Ok(())
}

fn check_plan(plan: &Plan) -> Result<(), TestCaseError> {
    check_scenario(&plan.scenario)?;
    for arm in &plan.arms {
        check_scenario(&arm.scenario)?;
        prop_assert_eq!(arm.scenario.seed, plan.scenario.seed);
        prop_assert_eq!(&plan.arm(&arm.name).expect("an arm is found by its name").name, &arm.name);
    }
    Ok(())
}

/// What an engine may rely on.
fn check_scenario(scenario: &Scenario) -> Result<(), TestCaseError> {
    let run = scenario.duration;
    let end = Timestamp::ZERO + run;
    prop_assert!(run >= Duration::from_secs(1));
    let layers = &scenario.client.layers;
    prop_assert!((1..=8).contains(&layers.len()));
    prop_assert!(layers.last().expect("a layer").timeout.is_some());
    for layer in layers.iter().chain(scenario.tiers.iter().flat_map(|tier| &tier.layers)) {
        prop_assert!(layer.timeout.is_none_or(|timeout| timeout <= run && !timeout.is_zero()));
        prop_assert!(layer.backoff.factor >= 1.0 && layer.backoff.factor.is_finite());
        prop_assert!(layer.budget.validate().is_ok());
    }
    prop_assert!(scenario.max_attempts() <= 100_000);
    prop_assert!(scenario.client.clients > 0 && scenario.client.max_connections > 0);
    let (last, gateways) = scenario.tiers.split_last().expect("a tier");
    prop_assert!(last.layers.is_empty() && last.orders > 0);
    prop_assert!(gateways.iter().all(|tier| !tier.layers.is_empty()));
    for tier in &scenario.tiers {
        prop_assert!(tier.limiter.validate().is_ok());
    }
    let is_tier = |name: &str| scenario.tiers.iter().any(|tier| tier.name == name);
    for (index, fault) in scenario.faults.iter().enumerate() {
        prop_assert!(is_tier(&fault.tier) && !fault.length.is_zero() && fault.ends() <= end);
        let later = &scenario.faults[index + 1..];
        let same = |other: &&_| {
            let other: &goodput_scenario::PlannedFault = other;
            other.name == fault.name && other.tier == fault.tier
        };
        prop_assert!(later.iter().filter(same).all(|other| other.at >= fault.ends()));
        if let FaultKind::Capacity { to, .. } = fault.kind {
            prop_assert!(to > Ratio::ZERO);
        }
    }
    for planned in &scenario.levers {
        prop_assert!(planned.at < end);
        let at_server = planned.lever.target() == LeverTarget::Server;
        prop_assert_eq!(planned.tier.as_deref().is_some_and(is_tier), at_server);
    }
    prop_assert!(scenario.expect.goodput_ratio > Ratio::ZERO);
    prop_assert!(scenario.expect.hold <= run && scenario.expect.within <= run);
    check_arrivals(scenario, end)
}

fn check_arrivals(scenario: &Scenario, end: Timestamp) -> Result<(), TestCaseError> {
    let mut last = Timestamp::ZERO;
    for at in Schedule::new(&scenario.load, scenario.duration, scenario.seed).take(50) {
        prop_assert!(at >= last && at < end);
        last = at;
    }
    Ok(())
}

#[test]
fn the_scenario_that_is_mutated_is_itself_accepted() {
    match Plan::parse("everything.toml", EVERYTHING) {
        Ok(plan) => check_plan(&plan).unwrap(),
        Err(error) => panic!("{error}"),
    }
}
