//! What the command says and ends with where a run cannot be trusted (3) or cannot begin (2). When that
//! is so, the tests of the rig show.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::fs;
use std::path::Path;

use common::{Ended, goodput_in};
use goodput_test_support::{CALM, SHORT_CUT, alone, listen, nobody, reset};

/// Carries out `goodput COMMAND… FLAGS…` on a scenario of this text.
fn run(dir: &Path, command: &str, text: &str, flags: &[&str]) -> Ended {
    fs::write(dir.join("scenario.toml"), text).unwrap();
    goodput_in(dir, &[&[command, "scenario.toml", "-q"], flags].concat())
}

#[test]
fn a_run_that_cannot_be_trusted_is_inconclusive_and_says_why() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    let target = format!("http://{}", listen(reset));
    let ended = run(dir.path(), "run", CALM, &["--speed", "10", "--target", &target]);
    ended.assert_code(3);
    let why = " × reset";
    assert!(ended.stdout.contains("INCONCLUSIVE") && ended.stdout.contains(why), "{ended:#?}");
}

/// The words of a text that was wrapped.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_trigger_into_a_broken_baseline_is_withheld_and_the_reason_is_said_everywhere() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    let broken = SHORT_CUT.replace("capacity = 100", "capacity = 40");
    let files = ["--json", "run.json", "--junit", "junit.xml", "--html", "run.html"];
    let why = "the trigger was withheld: the baseline is not healthy: ";
    for engine in [["--speed", "10"], ["--engine", "simulator"]] {
        let ended = run(dir.path(), "run", &broken, &[&engine[..], &files].concat());
        ended.assert_code(3);
        let said = words(&ended.stdout);
        assert!(said.contains("INCONCLUSIVE") && said.contains(why), "{ended:#?}");
        assert!(said.contains(" timed out; in queues: "), "{ended:#?}");
        let read = |file| fs::read_to_string(dir.path().join(file)).unwrap();
        for file in ["run.json", "junit.xml", "run.html"] {
            assert!(read(file).contains(why), "{file}: {engine:?}");
        }
        let result: serde_json::Value = serde_json::from_str(&read("run.json")).unwrap();
        assert_eq!(result["runs"][0]["status"], "withheld", "{result}");
    }
}

#[test]
fn where_one_arm_is_withheld_the_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let arms = "[[arm]]\nname = \"broken\"\nset.tier.order-status.capacity = 40\n\
                [[arm]]\nname = \"fine\"\n";
    let text = format!("{SHORT_CUT}{arms}");
    let flags = ["--engine", "simulator", "--json", "arms.json"];
    run(dir.path(), "compare", &text, &flags).assert_code(3);
    let read = fs::read_to_string(dir.path().join("arms.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&read).unwrap();
    let verdicts: Vec<_> = [0, 1].map(|row| result["runs"][row]["verdict"].clone()).to_vec();
    assert_eq!(verdicts, ["inconclusive", "recovered"], "{result}");
}

#[test]
fn a_control_that_recovers_makes_a_comparison_void() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    let arm = "[[arm]]\nname = \"naive\"\ncontrol = true\nexpect.verdict = \"metastable\"\n";
    let text = format!("{SHORT_CUT}{arm}");
    let compare = |speed| run(dir.path(), "compare", &text, &["--speed", speed]);
    let late = "the load generator was late";
    // Slower where the run says of itself that the machine is too busy.
    let mut tries = ["5", "2"].into_iter().map(compare);
    let ended = tries.find(|ended| !ended.stdout.contains(late)).unwrap_or_else(|| compare("1"));
    ended.assert_code(3);
    assert!(ended.stdout.contains("recovered") && ended.stdout.contains("control"), "{ended:#?}");
}

#[test]
fn a_run_without_its_target_ends_before_it_begins_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let nobody = nobody();
    run(dir.path(), "run", CALM, &["--target", &format!("http://{nobody}")])
        .assert_code(2)
        .assert_error(&[&nobody.to_string(), "is the server running?"]);
    let left = fs::read_dir(dir.path().join("runs")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "no folder is left behind");
}
