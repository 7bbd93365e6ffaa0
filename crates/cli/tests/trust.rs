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
    let why = "connect (no connection, or it broke";
    assert!(ended.stdout.contains("INCONCLUSIVE") && ended.stdout.contains(why), "{ended:#?}");
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
