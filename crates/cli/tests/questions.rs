//! Questions over many runs, and the lessons, as a person asks them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::path::Path;

use common::{goodput, goodput_in};
use serde_json::Value;

#[test]
fn lessons_are_listed_and_printed_and_no_other_is_there() {
    let list = goodput(&["lesson"]);
    assert_eq!(list.assert_code(0).stdout.lines().count(), 5);
    let first = goodput(&["lesson", "1"]);
    assert!(first.assert_code(0).stdout.starts_with("1. A short cut"), "{first:#?}");
    for number in ["0", "6", "-1", "one"] {
        goodput(&["lesson", number]).assert_code(2).assert_error(&["from 1 to 5, such as 1"]);
    }
}

const DRILL: [&str; 8] =
    ["drill", "database-failover", "--seeds", "1", "--within", "60s", "--longest", "60s"];

fn drill(more: &[&str]) -> common::Ended {
    goodput(&[&DRILL[..], more].concat())
}

#[test]
fn a_drill_tells_what_works_and_repeats_itself() {
    let actions = ["--action", "restart", "--action", "budget+shed-queue"];
    let text = drill(&actions);
    let stdout = &text.assert_code(0).stdout;
    assert!(stdout.contains("arm naive, in virtual time, seeds 1"), "{text:#?}");
    assert!(stdout.contains("restart            ✗ 0 of 1"), "{text:#?}");
    assert!(stdout.contains("budget+shed-queue  ✓ 1 of 1"), "{text:#?}");
    let command = stdout.lines().find_map(|line| line.strip_prefix("repeat it: goodput ")).unwrap();
    let again = goodput(&command.split(' ').collect::<Vec<_>>());
    assert_eq!(again.assert_code(0).stdout, *stdout);
}

#[test]
fn a_sought_number_is_in_the_json_and_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let args = [&DRILL[..], &["--action", "shed-queue + load=0%:?", "--json", "drill.json", "-q"]];
    let ended = goodput_in(dir.path(), &[&args.concat()[..], &["--format", "json"]].concat());
    ended.assert_code(0);
    assert_eq!(ended.stderr, "");
    let written = std::fs::read_to_string(dir.path().join("drill.json")).unwrap();
    assert_eq!(written, ended.stdout);
    let drill: Value = serde_json::from_str(&written).unwrap();
    assert_meets("drill", &drill);
    let row = &drill["rows"][0];
    let least = row["sought"]["least"].as_f64().unwrap();
    assert!((5.0..=25.0).contains(&least), "{row:#}");
    assert_eq!(row["tried"], format!("shed-queue+load=0%:{least:.0}s"));
    assert!(row["time_to_recover"].as_f64().unwrap() >= least - 10.0, "{row:#}");
}

#[test]
fn a_drill_in_which_nothing_works_ends_with_1() {
    let ended = drill(&["--action", "restart"]);
    assert!(ended.assert_code(1).stdout.contains("no action works"), "{ended:#?}");
}

#[test]
fn a_drill_needs_a_failure_that_stays() {
    goodput(&["drill", "steady"]).assert_code(2).assert_error(&["[[fault]]", "database-failover"]);
    let error = ["seed 1", "recovered", "--arm naive"];
    drill(&["--arm", "no-retries"]).assert_code(3).assert_error(&error);
    goodput(&["drill", "database-failover", "--arm", "navie"])
        .assert_code(2)
        .assert_error(&["naive"]);
}

#[test]
fn a_drill_that_is_asked_wrongly_shows_how_it_is_asked() {
    for (flags, example) in [
        (&["--action", "blok=60s"][..], "block=?"),
        (&["--action", "admit=?:?"], "admit=20%:?"),
        (&["--action", "capacity=0"], "such as 2"),
        (&["--after", "60"], "5s"),
        (&["--within", "0s"], "20s"),
        (&["--longest", "1s"], "10m"),
        (&["--seeds", "0"], "from 1 to 1000; write such as 3"),
        (&["--tier", "gateway"], "order-status"),
        (&["--engine", "rig"], "--action budget+shed-queue"),
        (&["--engine", "rig", "--action", "block=?"], "--action block=300s"),
        (&["--engine", "both"], "simulator"),
        (&["--json", "missing/drill.json"], "--json result.json"),
    ] {
        let given: Vec<_> = flags.iter().filter(|flag| flag.starts_with("--")).collect();
        let base: Vec<&str> =
            DRILL.chunks(2).filter(|pair| !given.contains(&&pair[0])).flatten().copied().collect();
        goodput(&[&base[..], flags].concat()).assert_code(2).assert_error(&[example]);
    }
}

#[test]
fn hysteresis_tells_where_goodput_is_lost_and_where_it_returns() {
    let args = ["hysteresis", "database-failover", "--step", "25", "--from", "10", "-q"];
    let ended = goodput(&[&args[..], &["--format", "json"]].concat());
    let found: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    assert_meets("hysteresis", &found);
    assert_eq!((found["arm"].as_str(), found["factor"].as_f64()), (Some("naive"), Some(4.0)));
    assert_eq!(found["back_between"]["low"].as_f64(), Some(10.0), "{found:#}");
    assert!(found["lost_between"]["high"].as_f64().unwrap() >= 85.0, "{found:#}");
    let text = goodput(&args);
    assert!(text.assert_code(0).stdout.contains("apart, where k is 4"), "{text:#?}");
}

#[test]
fn hysteresis_that_is_asked_wrongly_shows_how_it_is_asked() {
    for (flags, example) in [
        (&["--from", "50", "--to", "20"][..], "--from 5 --to 150"),
        (&["--step", "500"], "--step 7.25"),
        (&["--step", "0"], "above 0"),
        (&["--dwell", "5s"], "--dwell 60s"),
        (&["--patience", "0s"], "20s"),
        (&["--speed", "1000"], "such as 10"),
        (&["--speed", "10"], "give --engine rig"),
    ] {
        let args = [&["hysteresis", "database-failover"], flags].concat();
        goodput(&args).assert_code(2).assert_error(&[example]);
    }
}

#[track_caller]
fn assert_meets(schema: &str, value: &Value) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let text = std::fs::read_to_string(folder.join(format!("{schema}.schema.json"))).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap();
    let errors: Vec<_> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
