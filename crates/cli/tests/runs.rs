//! Runs on loopback: how they end, and what they leave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Running, goodput_in};

/// Little load, much capacity and long time-outs, so that a busy machine changes nothing.
const CALM: &str = r#"
name = "calm"
duration = "50s"
[load]
rate = 20
arrivals = "constant"
[[client.layer]]
timeout = "10s"
[[tier]]
name = "order-status"
capacity = 100
[expect]
verdict = "steady"
hold = "10s"
[[arm]]
name = "as-it-is"
[[arm]]
name = "no-queue"
set.tier.order-status.queue_limit = 0
"#;

const SPEED: [&str; 2] = ["--speed", "10"];

fn folder_with_calm() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("calm.toml"), CALM).unwrap();
    dir
}

/// The only folder in `runs`.
fn run_folder(dir: &Path) -> PathBuf {
    let mut folders: Vec<_> =
        fs::read_dir(dir.join("runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_run_ends_with_its_verdict_and_leaves_the_whole_folder() {
    let dir = folder_with_calm();
    let run = ["run", "calm.toml", "--seed", "7", "--junit", "junit.xml", "--html", "report.html"];
    let run = goodput_in(dir.path(), &[&run[..], &SPEED].concat());
    run.assert_code(0).assert_error(&["offered  goodput", "report: ", "report.html"]);
    assert!(run.stdout.contains("steady"), "{run:#?}");

    let folder = run_folder(dir.path());
    assert!(folder.file_name().unwrap().to_string_lossy().ends_with("-calm"), "{folder:?}");
    for file in
        ["scenario.toml", "result.json", "junit.xml", "report.html", "timeline.csv", "runlog.json"]
    {
        assert!(folder.join(file).is_file(), "{file}");
    }
    // The lease that the run takes on its own server is a command too.
    assert!(folder.join("audit.jsonl").is_file());
    assert_eq!(fs::read_to_string(folder.join("scenario.toml")).unwrap(), CALM);
    let result = json(&fs::read_to_string(folder.join("result.json")).unwrap());
    assert_eq!(result["command"], "goodput run calm.toml --speed 10 --seed 7");
    assert_eq!(result["runs"][0]["verdict"], "steady");
    assert_eq!(result["runs"][0]["seed"], 7);
    for copy in ["junit.xml", "report.html"] {
        let text = fs::read_to_string(dir.path().join(copy)).unwrap();
        assert_eq!(text, fs::read_to_string(folder.join(copy)).unwrap(), "{copy}");
    }

    let again = goodput_in(dir.path(), &["report", folder.to_str().unwrap(), "--format", "json"]);
    let again = json(&again.assert_code(0).stdout);
    assert_eq!(again["runs"], result["runs"]);
}

#[test]
fn a_run_that_is_not_as_expected_ends_with_1_and_says_so_in_json() {
    let dir = tempfile::tempdir().unwrap();
    let text = CALM.replace("verdict = \"steady\"", "verdict = \"metastable\"").replace(
        "[expect]",
        "[[fault]]\nname = \"cut\"\nkind = \"capacity\"\nto = 0.1\nat = \"12s\"\nfor = \"6s\"\n\
         [expect]\nwithin = \"20s\"",
    );
    fs::write(dir.path().join("calm.toml"), text).unwrap();
    let run = ["run", "calm.toml", "--format", "json", "-q"];
    let run = goodput_in(dir.path(), &[&run[..], &SPEED].concat());
    let result = json(&run.assert_code(1).stdout);
    assert_eq!(result["runs"][0]["held"], false, "{result:#}");
    assert_eq!(run.stderr, "");
    let audit = fs::read_to_string(run_folder(dir.path()).join("audit.jsonl")).unwrap();
    assert!(audit.contains("POST /faults") && audit.contains("DELETE /faults/cut"), "{audit}");
}

#[test]
fn all_arms_are_compared_in_one_folder() {
    let dir = folder_with_calm();
    let compare = ["compare", "calm.toml", "--jobs", "2", "--json", "result.json"];
    let compare = goodput_in(dir.path(), &[&compare[..], &SPEED].concat());
    compare.assert_code(0);
    for arm in ["as-it-is", "no-queue"] {
        assert!(compare.stdout.contains(arm), "{compare:#?}");
    }
    let result = json(&fs::read_to_string(dir.path().join("result.json")).unwrap());
    assert_eq!(result["runs"].as_array().unwrap().len(), 2);
    assert_eq!(result["command"], "goodput compare calm.toml --speed 10 --seed 1");
    let folder = run_folder(dir.path());
    assert!(folder.join("runlog-as-it-is.json").is_file());
    let again = goodput_in(dir.path(), &["report", folder.to_str().unwrap()]);
    assert_eq!(again.assert_code(0).stdout, compare.stdout);
}

#[test]
fn in_virtual_time_the_same_command_gives_the_same_result() {
    let dir = tempfile::tempdir().unwrap();
    let run = || {
        let run = ["run", "database-failover", "--arm", "naive", "--engine", "simulator", "-q"];
        let run = goodput_in(dir.path(), &[&run[..], &["--seed", "3"]].concat());
        run.assert_code(0).stdout.clone()
    };
    let first = run();
    assert!(first.starts_with("✗ METASTABLE"), "{first}");
    assert!(first.contains("goodput run database-failover --arm naive --engine simulator"));
    assert_eq!(run(), first);
    assert_eq!(fs::read_dir(dir.path().join("runs")).unwrap().count(), 2);
}

#[test]
fn a_signal_ends_a_run_early_and_reports_what_there_is() {
    let dir = folder_with_calm();
    let began = Instant::now();
    let mut run = Running::start(dir.path(), &["run", "calm.toml", "--speed", "0.5"], 0);
    run.wait_for_note("2 s  baseline");
    run.signal("INT");
    run.signal("INT");
    let ended = run.end();
    ended.assert_code(4).assert_error(&["stopping: faults are being reverted"]);
    assert!(began.elapsed() < Duration::from_secs(30), "{ended:#?}");
    let result = fs::read_to_string(run_folder(dir.path()).join("result.json")).unwrap();
    assert_eq!(json(&result)["runs"][0]["status"], "interrupted");
}

#[test]
fn several_scenarios_end_with_the_worst_code_and_leave_a_folder_each() {
    let dir = folder_with_calm();
    let other =
        CALM.replace("name = \"calm\"", "name = \"other\"").replace("rate = 20", "rate = 12");
    fs::write(dir.path().join("other.toml"), other).unwrap();
    let run = ["run", "calm.toml", "other.toml", "--out", "left/here", "-q"];
    goodput_in(dir.path(), &[&run[..], &SPEED].concat()).assert_code(0);
    assert_eq!(fs::read_dir(dir.path().join("left/here")).unwrap().count(), 2);
}

#[test]
fn a_run_against_a_server_that_runs_already_cuts_and_reverts_it() {
    let dir = tempfile::tempdir().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--speed", "10"];
    let serve = [&serve[..], &["--capacity", "100"]].concat();
    let server = Running::start(dir.path(), &serve, 2);
    let (target, control) = (server.url("order-status"), server.url("control"));
    let text = CALM.replace(
        "[expect]\nverdict = \"steady\"",
        "[[fault]]\nname = \"cut\"\nkind = \"capacity\"\nto = 0.1\nat = \"12s\"\nfor = \"6s\"\n\
         [expect]\nwithin = \"20s\"",
    );
    fs::write(dir.path().join("calm.toml"), text).unwrap();
    let run = ["run", "calm.toml", "--target", &target, "--control", &control];
    let run = goodput_in(dir.path(), &[&run[..], &SPEED].concat());
    run.assert_code(0).assert_error(&["# calm: 1"]);
    assert!(run.stdout.contains("recovered"), "{run:#?}");
    let audit = run_folder(dir.path()).join("audit.jsonl");
    assert!(!audit.exists(), "the server that runs elsewhere keeps its own");
    let faults = goodput_in(dir.path(), &["fault", "list", "--control", &control]);
    assert!(faults.stdout.contains("none in force"));
}
