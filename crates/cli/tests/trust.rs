//! Runs that cannot be trusted end with 3 and say why; what cannot begin ends with 2.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use common::{Ended, Running, goodput_in, wait_until};
use goodput_test_support::{CALM, Peer, SHORT_CUT, alone, garbage, listen, nobody, reset, silence};

/// Carries out `goodput COMMAND… FLAGS…` on a scenario of this text.
fn run(dir: &Path, command: &str, text: &str, flags: &[&str]) -> Ended {
    fs::write(dir.join("scenario.toml"), text).unwrap();
    goodput_in(dir, &[&[command, "scenario.toml", "-q"], flags].concat())
}

/// The same at speed 5, or at less where the run says of itself that the machine is too busy for it.
fn run_unhurried(dir: &Path, command: &str, text: &str) -> Ended {
    for speed in ["5", "2"] {
        let ended = run(dir, command, text, &["--speed", speed]);
        if !ended.stdout.contains("the load generator was late") {
            return ended;
        }
    }
    run(dir, command, text, &["--speed", "1"])
}

#[track_caller]
fn is_inconclusive(ended: &Ended, why: &str) {
    ended.assert_code(3);
    assert!(ended.stdout.contains("INCONCLUSIVE") && ended.stdout.contains(why), "{ended:#?}");
}

#[test]
fn an_unhealthy_baseline_is_inconclusive() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    let text = SHORT_CUT.replace("capacity = 100", "capacity = 40");
    is_inconclusive(&run(dir.path(), "run", &text, &["--speed", "10"]), "baseline is not healthy");
}

#[test]
fn a_fault_that_changes_nothing_is_inconclusive() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    // Long service, so that the noise of a busy machine is no change either.
    let text = SHORT_CUT.replace("to = 0.4", "to = 1.0").replace("rate = 80", "rate = 16");
    let text = text.replace("capacity = 100", "capacity = 20");
    is_inconclusive(&run_unhurried(dir.path(), "run", &text), "changed nothing");
}

#[test]
fn a_control_that_recovers_makes_a_comparison_void() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    let arm = "[[arm]]\nname = \"naive\"\ncontrol = true\nexpect.verdict = \"metastable\"\n";
    let text = format!("{SHORT_CUT}{arm}");
    let ended = run_unhurried(dir.path(), "compare", &text);
    ended.assert_code(3);
    assert!(ended.stdout.contains("recovered") && ended.stdout.contains("control"), "{ended:#?}");
}

#[test]
fn a_server_that_is_killed_and_restarted_makes_a_run_inconclusive() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    let [data, control] = free_addresses();
    let serve = ["serve", "--listen", &data, "--control", &control, "--speed", "5"];
    let serve = [&serve[..], &["--slots", "10", "--capacity", "100"]].concat();
    let server = Running::start(dir.path(), &serve, 2);
    let (target, control) = (server.url("order-status"), server.url("control"));
    let list = || goodput_in(dir.path(), &["fault", "list", "--control", &control]).stdout;
    let text = SHORT_CUT.replace("for = \"5s\"", "for = \"10s\"");
    fs::write(dir.path().join("scenario.toml"), text).unwrap();
    let run = ["run", "scenario.toml", "-q", "--speed", "5", "--target", &target];
    let run = Running::start(dir.path(), &[&run[..], &["--control", &control]].concat(), 0);
    wait_until("the cut is in force", || list().contains("cut to 40%"));
    // Dropped, it is killed.
    drop(server);
    let again = Running::start(dir.path(), &serve, 2);
    is_inconclusive(&run.end(), "`order-status` started anew by itself");
    assert!(list().contains("none in force"));
    drop(again);
}

/// Two addresses that nobody has, with ports below those that the system gives to outgoing connections:
/// a client that finds no server there cannot take the port itself.
fn free_addresses() -> [String; 2] {
    let first = 30_000 + u16::try_from(std::process::id() % 1_000).unwrap();
    let addresses = (first..first + 1_000).map(|port| format!("127.0.0.1:{port}"));
    let mut free = addresses.filter(|address| TcpListener::bind(address).is_ok());
    [free.next().unwrap(), free.next().unwrap()]
}

#[test]
fn a_target_that_resets_or_talks_garbage_or_is_silent_makes_a_run_inconclusive() {
    let (_turn, dir) = (alone(), tempfile::tempdir().unwrap());
    let cases: [(Peer, &str); 3] = [
        (reset, "connect (no connection, or it broke"),
        (garbage, "error (an answer that is no success or makes no sense)"),
        (silence, "timeout (no answer in time)"),
    ];
    for (peer, why) in cases {
        let target = format!("http://{}", listen(peer));
        let flags = ["--speed", "10", "--target", &target];
        is_inconclusive(&run(dir.path(), "run", CALM, &flags), why);
    }
}

#[test]
fn what_a_run_needs_and_does_not_find_ends_it_with_2_before_it_begins() {
    let dir = tempfile::tempdir().unwrap();
    let nobody = nobody();
    let target = format!("http://{nobody}");
    run(dir.path(), "run", CALM, &["--target", &target])
        .assert_code(2)
        .assert_error(&[&nobody.to_string(), "is the server running?"]);
    let server = Running::server(dir.path());
    let (target, control) = (server.url("order-status"), server.url("control"));
    run(dir.path(), "run", SHORT_CUT, &["--target", &target])
        .assert_code(2)
        .assert_error(&["order-status", "--control"]);
    run(dir.path(), "run", CALM, &["--target", &target, "--control", &target])
        .assert_code(2)
        .assert_error(&["control"]);
    let both = ["--target", &target, "--control", &control];
    run(dir.path(), "run", CALM, &[&both[..], &["--speed", "10"]].concat())
        .assert_code(2)
        .assert_error(&["start it with `--speed 10`"]);
    let left = fs::read_dir(dir.path().join("runs")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "no folder is left behind");
}
