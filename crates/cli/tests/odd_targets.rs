//! Targets that are dead, damaged, slow, beside the road or loaded by somebody else, acted out on
//! sockets: the exit code, the words and the JUnit file of each.
//!
//! That a second run, and a load which is there already, are refused with exit code 2 is shown in
//! `run_leases.rs`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::fmt;
use std::fs;
use std::thread;

use common::{Ended, Running, goodput_in, wait_until};
use goodput_control::ControlClient;
use goodput_test_support::{PathServer, alone, block_on};
use serde_json::Value;

/// Healthy at 40 % of its capacity, in blocks of 5 s; its baseline lasts from second 5 to 13.
const SCENARIO: &str = r#"
name = "odd-target"
duration = "40s"
[load]
rate = 40
arrivals = "constant"
[client]
[[client.layer]]
timeout = "1s"
[[tier]]
name = "order-status"
slots = 10
capacity = 100
[expect]
hold = "5s"
within = "15s"
verdict = "steady"
"#;

/// The same with a cut that leaves more than is offered, but takes longer for each request.
const CUT: &str = r#"
[[fault]]
name = "cut"
kind = "capacity"
to = 0.5
at = "15s"
for = "5s"
"#;

fn with_a_cut() -> String {
    format!("{SCENARIO}{CUT}").replace("verdict = \"steady\"", "verdict = \"recovered\"")
}

/// Attempts until the middle of a run, well after its baseline.
const MIDDLE: usize = 18 * 40;

/// What a run came to.
struct Outcome {
    ended: Ended,
    junit: String,
    /// The run log.
    log: Value,
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ended, junit, log: _ } = self;
        write!(f, "exit {:?}\n{}{}{junit}", ended.code, ended.stdout, ended.stderr)
    }
}

impl Outcome {
    #[track_caller]
    fn says(&self, code: i32, words: &[&str]) -> &Self {
        self.ended.assert_code(code);
        for word in words {
            assert!(self.ended.stdout.contains(word), "no `{word}` in {self:#?}");
        }
        self
    }

    #[track_caller]
    fn never_says(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(!self.ended.stdout.contains(word), "`{word}` in {self:#?}");
        }
        self
    }

    /// What the JUnit file has between the tags of a test case; nothing where it passed.
    #[track_caller]
    fn case(&self, name: &str) -> &str {
        let start = format!("<testcase name=\"{name}\"");
        let Some((_, rest)) = self.junit.split_once(&start) else {
            panic!("no `{name}` in {self:#?}")
        };
        let (tag, inside) = rest.split_once('>').unwrap();
        if tag.ends_with('/') { "" } else { inside.split_once("</testcase>").unwrap().0.trim() }
    }

    /// Asserts what a test case of the JUnit file is (`skipped`, `failure`, `error`) and says.
    #[track_caller]
    fn junit(&self, name: &str, kind: &str, words: &[&str]) -> &Self {
        let case = self.case(name);
        assert!(case.starts_with(&format!("<{kind}")), "`{name}` is no {kind} in {self:#?}");
        for word in words {
            assert!(case.contains(word), "no `{word}` in `{name}` of {self:#?}");
        }
        self
    }

    /// Asserts what the suite of the JUnit file has as its verdict, and its cause if any.
    #[track_caller]
    fn junit_verdict(&self, verdict: &str, cause: Option<&str>) -> &Self {
        let has = |name, value| {
            self.junit.contains(&format!("<property name=\"{name}\" value=\"{value}\"/>"))
        };
        assert!(has("verdict", verdict), "{self:#?}");
        assert_eq!(self.junit.contains("name=\"cause\""), cause.is_some(), "{self:#?}");
        assert!(cause.is_none_or(|cause| has("cause", cause)), "{self:#?}");
        self
    }
}

/// Runs a scenario of this text, `meanwhile` beside it.
fn run(text: &str, speed: &str, flags: &[&str], meanwhile: impl FnOnce()) -> Outcome {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("scenario.toml"), text).unwrap();
    let run = ["run", "scenario.toml", "--quiet", "--out", "out", "--junit", "junit.xml"];
    let run = Running::start(dir.path(), &[&run[..], &["--speed", speed], flags].concat(), 0);
    meanwhile();
    let ended = run.end();
    let junit = fs::read_to_string(dir.path().join("junit.xml")).unwrap();
    let folders = fs::read_dir(dir.path().join("out")).unwrap();
    let folder = folders.map(|folder| folder.unwrap().path()).next().unwrap();
    let log = serde_json::from_slice(&fs::read(folder.join("runlog.json")).unwrap()).unwrap();
    Outcome { ended, junit, log }
}

/// Acts a case out, slower where the run says of itself that the machine is too busy for it.
fn acted_out(case: impl Fn(&'static str) -> Outcome) -> Outcome {
    let mut tries = ["5", "3"].into_iter().map(case);
    let first = tries.next().unwrap();
    let late = first.ended.stdout.contains("the load generator was late");
    if late { tries.next().unwrap() } else { first }
}

/// Runs against a server that answers to `before` from the start and to `after` from the middle on.
fn turned(text: &str, before: &str, after: &str) -> Outcome {
    acted_out(|speed| {
        let server = PathServer::start();
        server.answer_as(before);
        run(text, speed, &["--target", &server.url()], || {
            wait_until("the middle", || server.seen().len() > MIDDLE);
            server.answer_as(after);
        })
    })
}

/// A server as a process, where it takes requests, and where it is controlled.
fn server(speed: &str) -> (Running, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"];
    let limits = ["--slots", "10", "--capacity", "100", "--speed", speed];
    let server = Running::start(dir.path(), &[&serve[..], &limits].concat(), 2);
    let (target, control) = (server.url("order-status"), server.url("control"));
    (server, target, control)
}

/// How many attempts a server has received.
fn received(control: &str) -> usize {
    let client = ControlClient::new(control, None).unwrap();
    block_on(client.server_state()).unwrap().counters.received as usize
}

#[test]
fn a_target_that_breaks_in_mid_run_is_not_recovered_by_its_cause() {
    let _turn = alone();
    let retrying = SCENARIO.replace("timeout = \"1s\"", "timeout = \"1s\"\nretries = 1");
    thread::scope(|scope| {
        let dead = scope.spawn(|| {
            acted_out(|speed| {
                let (server, target, control) = server(speed);
                run(SCENARIO, speed, &["--target", &target], move || {
                    wait_until("the middle", || received(&control) > MIDDLE);
                    server.signal("KILL");
                    server.end();
                })
            })
        });
        let damaged = scope.spawn(|| turned(SCENARIO, "/", "/half/500"));
        let retried = scope.spawn(|| turned(&retrying, "/", "/half/500"));
        let slow = scope.spawn(|| turned(SCENARIO, "/", "/slow/3000"));
        is_down(&dead.join().unwrap());
        for damaged in [damaged, retried] {
            is_damaged(&damaged.join().unwrap());
        }
        is_unknown(&slow.join().unwrap());
    });
}

fn is_down(dead: &Outcome) {
    dead.says(1, &["NOT-RECOVERED", "down", "goodput went down: nobody answers", "× refused"])
        .never_says(&["trigger", "METASTABLE", "RECOVERED: goodput"])
        .junit_verdict("not-recovered", Some("down"))
        .junit("verdict-as-expected", "failure", &["refused"])
        .junit("server-kept-running", "failure", &["nobody answers", "refused"])
        .junit("load-reconciled", "skipped", &["no view"]);
}

fn is_damaged(damaged: &Outcome) {
    damaged
        .says(1, &["NOT-RECOVERED", "damaged", "answers are wrong", "× 500"])
        .never_says(&["trigger", "METASTABLE"])
        .junit_verdict("not-recovered", Some("damaged"))
        .junit("verdict-as-expected", "failure", &["500"])
        .junit("server-kept-running", "skipped", &["no view"]);
}

fn is_unknown(slow: &Outcome) {
    slow.says(1, &["NOT-RECOVERED", "unknown", "what limits the service is not seen", "timeout"])
        .never_says(&["trigger", "METASTABLE"])
        .junit_verdict("not-recovered", Some("unknown"))
        .junit("verdict-as-expected", "failure", &["timeout"])
        .junit("server-kept-running", "skipped", &["no view"]);
}

#[test]
fn a_target_that_never_was_healthy_is_inconclusive_and_its_status_named() {
    let _turn = alone();
    let cases = [
        ("/status/500", "500", "error"),
        ("/status/302", "302", "error"),
        ("/status/401", "401", "error"),
        ("/status/429", "429", "overloaded"),
        ("/slow/3000", "timeout", "timeout"),
    ];
    thread::scope(|scope| {
        let runs = cases.map(|(path, status, class)| {
            (status, class, scope.spawn(move || turned(SCENARIO, path, path)))
        });
        for (status, class, run) in runs {
            never_was_healthy(&run.join().unwrap(), status, class);
        }
    });
}

/// A class is a member of the run log's `attempts_failed`.
fn never_was_healthy(run: &Outcome, status: &str, class: &str) {
    let why = format!(" × {status}");
    run.says(3, &["INCONCLUSIVE", "the baseline is not healthy: 0.0 %", &why])
        .never_says(&["METASTABLE", "RECOVERED", " by error", " by timeout", "trigger"])
        .junit_verdict("inconclusive", None)
        .junit("baseline-healthy", "error", &["the baseline is not healthy", &why])
        .junit("verdict-as-expected", "skipped", &[]);
    let (before, _) = run.ended.stdout.split_once(&why).unwrap();
    let count: u64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((280..=340).contains(&count), "40 a second over 8 s: {run:#?}");
    let mut classes =
        run.log["windows"].as_array().unwrap().iter().flat_map(|window| {
            window["client"]["attempts_failed"].as_object().into_iter().flatten()
        });
    assert!(classes.all(|(name, _)| name == class), "{class}: {:#}", run.log["windows"][20]);
}

#[test]
fn a_load_that_passes_beside_the_watched_server_never_recovers() {
    let _turn = alone();
    let beside = |text: &str| {
        acted_out(|speed| {
            let (_service, target, _) = server(speed);
            let (_watched, _, control) = server(speed);
            let run = run(text, speed, &["--target", &target, "--control", &control], || {});
            assert_eq!(received(&control), 0);
            run
        })
    };
    thread::scope(|scope| {
        let watched = scope.spawn(|| beside(SCENARIO));
        let cut = scope.spawn(|| beside(&with_a_cut()));
        for (run, why) in [(watched, "its load passes elsewhere"), (cut, "beside the road")] {
            let run = run.join().unwrap();
            run.says(3, &["INCONCLUSIVE", "`order-status`", why])
                .never_says(&["RECOVERED", "STEADY", "was absorbed"])
                .junit_verdict("inconclusive", None)
                .junit("load-reconciled", "error", &["`order-status` received 0"])
                .junit("verdict-as-expected", "skipped", &[]);
        }
    });
}

#[test]
fn a_fault_does_not_go_into_a_target_that_answers_500() {
    let _turn = alone();
    let run = acted_out(|speed| {
        let broken = PathServer::start();
        broken.answer_as("/status/500");
        let (_server, _, control) = server(speed);
        let flags = ["--target", &broken.url(), "--control", &control];
        run(&with_a_cut(), speed, &flags, || {})
    });
    let why = "the baseline is not healthy: 0.0 %";
    run.says(3, &["INCONCLUSIVE", "the trigger was withheld: ", why, " × 500"])
        .never_says(&["RECOVERED", "METASTABLE", "was absorbed"])
        .junit_verdict("inconclusive", None)
        .junit("baseline-healthy", "error", &["0 % of 40/s offered were good", " × 500"])
        .junit("trigger-put-in", "error", &[why])
        .junit("fault-bit", "skipped", &[])
        .junit("verdict-as-expected", "skipped", &[]);
}

#[test]
fn a_load_of_somebody_else_in_mid_run_is_told_from_ones_own() {
    let _turn = alone();
    let run = acted_out(|speed| {
        let (_server, target, control) = server(speed);
        let flags = ["--target", &target, "--control", &control];
        run(SCENARIO, speed, &flags, || {
            wait_until("the middle", || received(&control) > MIDDLE);
            let dir = tempfile::tempdir().unwrap();
            let guest = ["load", "--target", &target, "-r", "100", "-d", "3s", "-q"];
            goodput_in(dir.path(), &guest).assert_code(0);
        })
    });
    run.says(3, &["INCONCLUSIVE", "over the run, and this run sent", "somebody else loads it"])
        .never_says(&["STEADY", "METASTABLE", "RECOVERED"])
        .junit_verdict("inconclusive", None)
        .junit("load-reconciled", "error", &["somebody else loads it"])
        .junit("verdict-as-expected", "skipped", &[]);
}
