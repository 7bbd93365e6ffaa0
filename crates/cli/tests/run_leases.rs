//! Runs against a server that others use too: a second one is refused, and one that is killed leaves
//! nothing behind.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Running, goodput_in, wait_until};
use goodput_control::ControlClient;
use goodput_control::api::ServerState;
use goodput_test_support::{CALM, block_on};

/// The lease of a run.
const LEASE: Duration = Duration::from_secs(10);

/// Ten minutes of an overload, with a fault from the first second on.
fn long_run() -> String {
    let text = CALM.replace("\"20s\"", "\"600s\"").replace("capacity = 100", "capacity = 50");
    let text = text.replace("hold = \"5s\"", "hold = \"2s\"");
    let fault =
        "[[fault]]\nname = \"cut\"\nkind = \"capacity\"\nto = 0.5\nat = \"3s\"\nfor = \"500s\"\n";
    let lever = "[[lever]]\nname = \"admit\"\nshare = 0.9\nat = \"4s\"\n";
    format!("{text}{fault}{lever}")
}

fn state(control: &str) -> ServerState {
    let client = ControlClient::new(control, None).unwrap();
    block_on(client.server_state()).unwrap()
}

/// A server on which somebody has set a queue limit, and a run that uses it.
fn server_and_run(dir: &Path) -> (Running, Running, String, ServerState) {
    fs::write(dir.join("long.toml"), long_run()).unwrap();
    let serve =
        ["serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--audit", "audit"];
    let server =
        Running::start(dir, &[&serve[..], &["--slots", "10", "--capacity", "100"]].concat(), 2);
    let (target, control) = (server.url("order-status"), server.url("control"));
    let limiter = ["lever", "limiter", "--queue-limit", "500", "--control", &control];
    goodput_in(dir, &limiter).assert_code(0);
    let before = state(&control);
    let run = ["run", "long.toml", "-q", "--target", &target, "--control", &control];
    let run = Running::start(dir, &run, 0);
    wait_until("the run has cut, blocked and queued", || {
        let state = state(&control);
        !state.faults.is_empty() && state.admitted < 0.95 && state.queued > 5
    });
    (server, run, control, before)
}

/// Nothing of a run is left, and what people have set is.
fn is_as_before(state: &ServerState, before: &ServerState) -> bool {
    let whole = state.limiter == before.limiter && state.capacity == before.capacity;
    whole && state.faults.is_empty() && state.admitted >= 1.0 && state.run.is_none()
}

#[test]
fn a_run_that_is_killed_leaves_the_limiter_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, run, control, before) = server_and_run(dir.path());
    assert_eq!(state(&control).limiter["capacity"], 50.0);
    run.signal("KILL");
    let killed = Instant::now();
    while !is_as_before(&state(&control), &before) {
        assert!(killed.elapsed() < 3 * LEASE, "{:#?}", state(&control));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(killed.elapsed() < LEASE + Duration::from_secs(1), "{:?}", killed.elapsed());
    assert!(killed.elapsed() > LEASE / 4, "it was the lease that ended it");
    assert_eq!(state(&control).queued, 0);
    let audit = fs::read_to_string(dir.path().join("audit")).unwrap();
    let end = audit.lines().find(|line| line.contains("\"end run ")).unwrap();
    assert!(end.contains("the lease of the run ran out: put back"), "{end}");
}

#[test]
fn a_second_run_is_refused_with_exit_code_2_and_people_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let (server, run, control, before) = server_and_run(dir.path());
    let target = server.url("order-status");
    let second = ["run", "steady", "-q", "--target", &target, "--control", &control];
    let second = goodput_in(dir.path(), &second);
    second.assert_code(2).assert_error(&["the run `calm`", "has held the lease", "since 20"]);
    let person =
        |words: &[&str]| goodput_in(dir.path(), &[words, &["--control", &control][..]].concat());
    person(&["fault", "stall", "--for", "60s", "--detach"]).assert_code(0);
    let own = person(&["fault", "reset"]);
    own.assert_code(0).assert_error(&["--all"]);
    assert!(own.stdout.contains("cut: capacity cut to 50%"), "{own:#?}");
    assert!(!own.stdout.contains("stall: stall"), "{own:#?}");
    assert_eq!(state(&control).limiter["queue_limit"], "unbounded", "the run has its own");
    run.signal("INT");
    let ended = run.end();
    assert!(ended.code == Some(4), "{ended:#?}");
    let after = state(&control);
    assert_eq!(after.limiter["queue_limit"], "unbounded", "the person has reset theirs");
    assert_eq!((after.capacity, after.faults.len(), after.queued), (before.capacity, 0, 0));
}

#[test]
fn a_load_that_is_there_already_is_refused_with_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let (target, control) = (server.url("order-status"), server.url("control"));
    let load = ["load", "--target", &target, "-r", "20", "-d", "60s", "-q"];
    let load = Running::start(dir.path(), &load, 0);
    wait_until("the load", || state(&control).counters.received > 0);
    let run = ["run", "steady", "-q", "--target", &target, "--control", &control];
    let refused = goodput_in(dir.path(), &run);
    refused.assert_code(2).assert_error(&["requests a second before", "docker compose stop"]);
    load.signal("TERM");
    load.end();
    assert_eq!(state(&control).run, None);
}

#[test]
fn a_reset_of_everything_ends_the_lease_of_a_run_too() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, run, control, _) = server_and_run(dir.path());
    let all = goodput_in(dir.path(), &["fault", "reset", "--all", "--control", &control]);
    all.assert_code(0);
    assert!(all.stdout.contains("none in force") && all.stdout.contains("100.0/s"), "{all:#?}");
    run.signal("INT");
    run.end();
}
