//! Questions over many runs: the same answer whoever carries the runs out, and what is wrong with a
//! question said with one that is right.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::fs;
use std::path::Path;

use common::{Ended, Running, goodput_in};
use serde_json::Value;

/// Half of the headline, so that a run takes a moment, with the cut after half a minute.
const SMALL: &str = "name = \"small\"\nduration = \"120s\"\nload.rate = 40\n\
    [[client.layer]]\ntimeout = \"5s\"\nretries = 3\nbackoff = { base = \"1s\" }\n\
    [[tier]]\nname = \"order-status\"\nslots = 5\ncapacity = 50\n\
    [[fault]]\nname = \"cut\"\nkind = \"capacity\"\nto = 0.4\nat = \"30s\"\nfor = \"20s\"\n\
    [[arm]]\nname = \"drop-expired\"\nset.tier.order-status.drop_expired = true\n";

fn ask(dir: &Path, args: &str) -> Ended {
    fs::write(dir.join("small.toml"), SMALL).unwrap();
    goodput_in(dir, &args.split(' ').collect::<Vec<_>>())
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

#[test]
fn one_thread_and_two_and_the_same_again_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    for question in [
        "boundary small.toml --vary fault.for=2s..40s --seeds 40 --format json --quiet",
        "map small.toml --x load.rate=10..55:6 --y fault.for=2s..30s:5 --format json --quiet",
    ] {
        let answers = ["1", "2", "2"].map(|threads| {
            let args =
                format!("{question} --threads {threads} --csv {threads}.csv --svg {threads}.svg");
            let ended = ask(dir.path(), &args);
            ended.assert_code(0);
            ended.stdout
        });
        assert!(answers[0] == answers[1] && answers[1] == answers[2], "{question}");
        for form in ["csv", "svg"] {
            let read = |threads| fs::read(dir.path().join(format!("{threads}.{form}"))).unwrap();
            assert_eq!(read(1), read(2), "{question} {form}");
        }
    }
}

#[test]
fn a_run_whose_trigger_was_withheld_counts_as_inconclusive_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let map = "map small.toml --x load.rate=30..70:2 --y fault.for=2s..3s:2 --format json --quiet";
    let answer = json(ask(dir.path(), map).assert_code(0));
    for row in answer["cells"].as_array().unwrap() {
        assert_eq!(row[0]["verdict"], "recovered", "{answer}");
        assert_eq!(row[1]["verdict"], "inconclusive", "{answer}");
        let doubt = row[1]["doubt"].as_str().unwrap();
        assert!(doubt.contains("the trigger was withheld: the baseline is not healthy"), "{doubt}");
    }
}

#[test]
fn a_boundary_has_a_band_with_intervals_and_stands_beside_the_closed_forms() {
    let dir = tempfile::tempdir().unwrap();
    let question = "boundary small.toml --vary fault.for=2s..40s --seeds 40 --quiet";
    let answer = json(ask(dir.path(), &format!("{question} --format json")).assert_code(0));
    let flip = &answer["prediction"]["flip"];
    let (boundary, forms) = (flip["boundary"].as_f64().unwrap(), &answer["closed_forms"]);
    assert!((8.0..16.0).contains(&boundary), "{flip}");
    assert!(flip["band"]["five"].as_f64().unwrap() < boundary, "{flip}");
    assert!(flip["band"]["ninety_five"].as_f64().unwrap() > boundary, "{flip}");
    assert_eq!(forms["stable_load"], 12.5);
    for point in answer["prediction"]["points"].as_array().unwrap() {
        let of = |key: &str| point[key].as_f64().unwrap();
        assert!(of("low") <= of("share") && of("share") <= of("high"), "{point}");
    }
    let text = ask(dir.path(), question).stdout;
    for part in
        ["half of the runs fail at", "C / k = 50/s / 4 = 12.5/s", "side by side", "repeat it"]
    {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    let folders: Vec<_> = fs::read_dir(dir.path().join("runs")).unwrap().flatten().collect();
    assert_eq!(folders.len(), 2);
    for file in ["scenario.toml", "boundary.json", "boundary.csv", "boundary.svg", "report.html"] {
        assert!(folders[0].path().join(file).exists(), "{file}");
    }
}

#[test]
fn one_seed_is_bisected_and_another_number_can_be_varied() {
    let dir = tempfile::tempdir().unwrap();
    for (vary, low, high) in [
        ("fault.for=2s..40s", 8.0, 20.0),
        ("load.rate=10..47", 12.5, 47.0),
        ("client.layer.retries=0..6", 0.0, 1.0),
        ("tier.order-status.capacity=43..300", 43.0, 300.0),
        ("fault.to=5%..95%", 0.05, 0.95),
    ] {
        let question = format!("boundary small.toml --vary {vary} --seeds 1 --format json --quiet");
        let answer = json(ask(dir.path(), &question).assert_code(0));
        let boundary = answer["prediction"]["flip"]["boundary"].as_f64().unwrap();
        assert!(low <= boundary && boundary <= high, "{vary}: {boundary}");
        assert_eq!(answer["prediction"]["flip"]["band"], Value::Null, "{vary}");
    }
}

#[test]
fn a_map_has_a_verdict_a_cell_and_the_lines_of_arithmetic() {
    let dir = tempfile::tempdir().unwrap();
    let question = "map small.toml --x load.rate=10..45:8 --y fault.for=2s..32s:4";
    let ended = ask(dir.path(), &format!("{question} --format json"));
    ended.assert_code(0).assert_error(&["32 cells: about"]);
    let answer = json(&ended);
    let cells = answer["cells"].as_array().unwrap();
    assert_eq!((cells.len(), cells[0].as_array().unwrap().len()), (4, 8));
    assert_eq!(cells[0][0]["verdict"], "recovered");
    assert_eq!(cells[3][7]["verdict"], "metastable");
    let names: Vec<_> = answer["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["C / k", "safe trigger", "sure trigger"]);
    let text = ask(dir.path(), &format!("{question} --quiet"));
    text.assert_code(0);
    assert!(text.stderr.is_empty(), "{text:#?}");
    assert!(text.stdout.contains("load.rate = 12.5/s"), "{}", text.stdout);
}

#[test]
fn a_question_that_cannot_be_asked_is_answered_with_one_that_can() {
    let dir = tempfile::tempdir().unwrap();
    let boundary = "boundary small.toml --quiet --seeds 2 --vary";
    let map = "map small.toml --quiet --y fault.for=2s..30s --x";
    for (question, parts) in [
        (format!("{boundary} fault.fro"), &["did you mean `fault.for`", "load.rate (40/s)"][..]),
        (format!("{boundary} fault.for=5s..5s"), &["the range is empty", "fault.for=1s..60s"]),
        (format!("{boundary} fault.for=9s..5s"), &["the range is reversed", "fault.for=1s..60s"]),
        (format!("{boundary} fault.for=5..9"), &["`5` is not a duration"]),
        (format!("{boundary} tier.queue_limit"), &["give a range, such as tier.queue_limit=0..10"]),
        (
            format!("{boundary} fault.for=1s..4s"),
            &["no boundary of fault.for between 1s and 4s: recovered throughout"],
        ),
        (
            format!("{boundary} fault.for=25s..40s"),
            &["no boundary of fault.for between 25s and 40s: failed throughout"],
        ),
        (
            format!("{boundary} fault.for=1s..20s --arm drop-expired"),
            &["recovered throughout", "or there is none to find"],
        ),
        (format!("{boundary} fault.for=1s..20s --arm nave"), &["no arm `nave`", "drop-expired"]),
        (
            format!("{boundary} expect.within=1s..1000s"),
            &["with expect.within = 1000s", "cannot be seen"],
        ),
        (format!("{map} load.rate=10..45:1"), &["2 to 1000 values", "load.rate=10..95:50"]),
        (format!("{map} fault.for=2s..30s"), &["it is on the other axis too"]),
        (
            format!("{map} load.rate=10..45:1000 --threads 1"),
            &["--force", "load.rate=10/s..45/s:20"],
        ),
        (format!("{map} load.rate=10..45 --speed 10"), &["--speed is for the rig", "--confirm 6"]),
        (format!("{boundary} fault.for --time 1m"), &["--time is for the rig", "--engine both"]),
        (
            format!("{boundary} fault.for --engine rig"),
            &["--seeds is for the simulator", "--engine both"],
        ),
    ] {
        let large = question.ends_with("--threads 1");
        let question = if large { question.replace("30s --x", "30s:1000 --x") } else { question };
        ask(dir.path(), &question).assert_code(2).assert_error(parts);
    }
    // Above the capacity there is no healthy baseline to fall from.
    let overloaded = format!("{boundary} load.rate=80..150");
    ask(dir.path(), &overloaded).assert_code(3).assert_error(&["inconclusive throughout"]);
}

#[test]
fn an_interrupted_map_keeps_the_cells_that_are_done() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("small.toml"), SMALL).unwrap();
    let args = "map small.toml --x load.rate=10..45:120 --y fault.for=2s..40s:120 --threads 1 \
                --force --csv map.csv --out maps";
    let mut running = Running::start(dir.path(), &args.split_whitespace().collect::<Vec<_>>(), 0);
    running.wait_for_note(" of 14400 cells");
    running.signal("INT");
    running.end().assert_code(4).assert_error(&["what is done is kept"]);
    let csv = fs::read_to_string(dir.path().join("map.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 120 * 120);
    assert!(csv.lines().any(|row| row.ends_with(",,,")), "every cell was done");
}

/// A line each on stderr, by key and engine; neither the exit code nor the JSON changes.
#[test]
fn keys_that_the_simulator_does_not_carry_out_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let text = SMALL.replace("[[client.layer]]", "[client]\npool = \"fifo\"\n[[client.layer]]")
        + "set.client.connect_rate = 5000\n";
    fs::write(dir.path().join("ignored.toml"), text).unwrap();
    let pool = "warning: ignored.toml:5: `client.pool` has no effect in the simulator: ";
    let rate = "`client.connect_rate` has no effect in the simulator: ";
    for (question, of_the_arm) in [
        ("run ignored.toml --engine simulator", false),
        ("run ignored.toml --arm drop-expired --engine simulator", true),
        ("compare ignored.toml --engine simulator", true),
        ("boundary ignored.toml --vary fault.for=2s..40s --seeds 1 --engine simulator", false),
        ("map ignored.toml --x load.rate=10..55:2 --y fault.for=2s..30s:2", false),
        ("map ignored.toml --x client.connect_rate=9..55:2 --y fault.for=2s..30s:2", true),
        ("drill ignored.toml --action restart --seeds 1", false),
        ("hysteresis ignored.toml --dwell 20s --patience 1m --arm drop-expired", true),
    ] {
        let quiet = format!("{question} --format json --quiet");
        let told = ask(dir.path(), &quiet);
        let lines: Vec<_> = told.stderr.lines().collect();
        assert!(lines.first().is_some_and(|line| line.starts_with(pool)), "{question}: {told:#?}");
        assert_eq!(lines.iter().any(|line| line.contains(rate)), of_the_arm, "{told:#?}");
        assert_eq!(lines.len(), 1 + usize::from(of_the_arm), "{question}: {told:#?}");
        let plain = ask(dir.path(), &quiet.replace("ignored.toml", "small.toml"));
        assert_eq!(told.code, plain.code, "{question}: {told:#?}");
        let warned = plain.stderr.contains("warning");
        assert_eq!(warned, question.contains("--x client.connect_rate"), "{plain:#?}");
        json(&told);
    }
    let valid = ask(dir.path(), "validate ignored.toml small.toml");
    assert_eq!(valid.assert_code(0).stderr.matches("has no effect in the simulator").count(), 2);
    assert_eq!(valid.stdout.lines().count(), 2, "{valid:#?}");
}
