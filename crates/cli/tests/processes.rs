//! Servers, faults, levers and loads as processes that speak to each other.

mod common;

use std::fs;

use common::{Running, goodput_in, wait_until};

#[test]
fn a_server_runs_until_a_signal_and_ends_cleanly() {
    let dir = tempfile::tempdir().unwrap();
    for signal in ["INT", "TERM"] {
        let server = Running::server(dir.path());
        let control = server.url("control");
        let alive = goodput_in(dir.path(), &["healthcheck", "--control", &control]);
        assert_eq!(alive.assert_code(0).stdout, "alive\n");
        server.signal(signal);
        server.end().assert_code(0);
        goodput_in(dir.path(), &["healthcheck", "--control", &control]).assert_code(1);
    }
}

#[test]
fn a_fault_stays_until_its_time_is_over_and_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let control = server.url("control");
    let cut = ["fault", "cut", "--to", "40%", "--for", "1s", "--control", &control];
    let cut = goodput_in(dir.path(), &cut);
    cut.assert_code(0).assert_error(&[
        "in force for 1.0 s: cut",
        "read back: 40.0/s",
        "ended: cut",
    ]);
    assert!(cut.stdout.contains("capacity     100.0/s in 10 slots"), "{cut:#?}");
    assert!(cut.stdout.contains("none in force"), "{cut:#?}");
}

#[test]
fn an_interrupt_reverts_a_fault_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let control = server.url("control");
    let list = || goodput_in(dir.path(), &["fault", "list", "--control", &control]).stdout;
    let stall = ["fault", "stall", "--for", "60s", "--name", "freeze", "--control", &control];
    let stall = Running::start(dir.path(), &stall, 0);
    wait_until("the stall is in force", || list().contains("freeze: stall"));
    stall.signal("INT");
    stall.signal("INT");
    stall.end().assert_code(4).assert_error(&["ended: freeze"]);
    assert!(list().contains("none in force"));
}

#[test]
fn a_detached_fault_is_listed_and_cleared_and_reset() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let control = server.url("control");
    let run =
        |words: &[&str]| goodput_in(dir.path(), &[words, &["--control", &control][..]].concat());
    let detached = ["fault", "cut", "--to", "40%", "--mode", "slots", "--for", "60s", "--detach"];
    assert!(run(&detached).assert_code(0).stdout.contains("cut to 40% (fewer slots)"));
    run(&detached).assert_code(2).assert_error(&["409"]);
    let rounded =
        ["fault", "cut", "--to", "90%", "--mode", "slots", "--for", "60s", "--name", "more"];
    run(&rounded).assert_code(2).assert_error(&["no slot away", "90% of the 4 at work"]);
    assert!(run(&["fault", "list"]).stdout.contains("lease ends in"));
    assert!(run(&["fault", "clear", "cut"]).assert_code(0).stdout.contains("none in force"));
    run(&["fault", "clear", "cut"]).assert_code(0).assert_error(&["no fault named `cut`"]);
    run(&["fault", "stall", "--for", "60s", "--detach"]).assert_code(0);
    let reset = run(&["fault", "reset", "--format", "json"]);
    let state: serde_json::Value = serde_json::from_str(&reset.assert_code(0).stdout).unwrap();
    assert_eq!(state["faults"], serde_json::json!([]));
    assert_eq!(state["slots"], 10);
}

#[test]
fn a_fault_that_cannot_act_is_refused_with_what_to_do_first() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let control = server.url("control");
    let run =
        |words: &[&str]| goodput_in(dir.path(), &[words, &["--control", &control][..]].concat());
    let cut = |to: &'static str| ["fault", "cut", "--to", to, "--for", "60s"];
    run(&cut("100%")).assert_code(2).assert_error(&["change nothing", "such as 40%"]);
    run(&["lever", "limiter", "--capacity", "unlimited"]).assert_code(0);
    let first = "goodput lever limiter --capacity 100";
    run(&cut("40%")).assert_code(2).assert_error(&["unlimited", first]);
    run(&[&cut("40%")[..], &["--detach"]].concat()).assert_code(2).assert_error(&[first]);
    assert!(run(&["fault", "list"]).stdout.contains("none in force"));
    run(&["fault", "stall", "--for", "60s", "--detach"]).assert_code(0);
    run(&["fault", "clear", "stall"]).assert_code(0);
    run(&["lever", "limiter", "--capacity", "100", "--slots", "1"]).assert_code(0);
    let slots = [&cut("40%")[..], &["--mode", "slots"]].concat();
    run(&slots).assert_code(2).assert_error(&["no slot away", "slow"]);
}

#[test]
fn levers_of_a_server_are_pulled_and_the_state_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let control = server.url("control");
    let run = |words: &[&str]| {
        goodput_in(dir.path(), &[&["lever"], words, &["--control", &control][..]].concat())
    };
    let found_nothing = |words: &[&str]| {
        let pulled = run(words);
        let stdout = &pulled.assert_code(0).stdout;
        assert!(stdout.starts_with("nothing to change: "), "{words:?}: {stdout}");
    };
    found_nothing(&["shed-queue"]);
    found_nothing(&["admit", "100%"]);
    found_nothing(&["limiter", "--slots", "10"]);
    assert!(run(&["admit", "20%"]).assert_code(0).stdout.contains("admitted     20 %"));
    assert!(run(&["restart"]).assert_code(0).stdout.contains("server"));
    let limiter = ["limiter", "--queue-limit", "150", "--capacity", "50", "--drop-expired", "true"];
    let limiter = run(&[&limiter[..], &["--format", "json"]].concat());
    let pulled: serde_json::Value = serde_json::from_str(&limiter.assert_code(0).stdout).unwrap();
    assert_eq!(pulled["state"]["limiter"]["queue_limit"], 150);
    assert_eq!(pulled["state"]["limiter"]["drop_expired"], true);
    run(&["rate", "50"]).assert_code(2).assert_error(&["load generator", "9902"]);
}

#[test]
fn a_load_is_sent_as_asked_and_summed_up() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let target = server.url("order-status");
    let load = ["load", "--target", &target, "-r", "50", "-d", "2s", "--arrivals", "constant"];
    let more = ["--format", "json", "--windows", "windows.jsonl"];
    let load = goodput_in(dir.path(), &[&load[..], &more].concat());
    let summary: serde_json::Value = serde_json::from_str(&load.assert_code(0).stdout).unwrap();
    let windows = fs::read_to_string(dir.path().join("windows.jsonl")).unwrap();
    let window = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let offered = windows.lines().filter_map(|line| window(line)["offered"].as_u64());
    assert_eq!(offered.sum::<u64>(), 100, "{windows}");
    assert_eq!(summary["scheduled"], 100, "{summary:#}");
    assert_eq!(summary["offered"], 100, "{summary:#}");
    assert_eq!(summary["good"], 100, "{summary:#}");
    assert!(summary["service"]["p50"].as_f64().unwrap() > 0.09, "{summary:#}");
    load.assert_error(&["offered  goodput"]);

    let path = format!("{target}/orders/not-a-number");
    let load = ["load", "--target", &path, "-r", "20", "-d", "1s", "--retries", "1", "-q"];
    let load = goodput_in(dir.path(), &load);
    assert!(load.assert_code(0).stdout.contains("failed (error"), "{load:#?}");
    assert_eq!(load.stderr, "");
}

#[test]
fn a_load_takes_levers_and_stops_at_a_signal() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let target = server.url("order-status");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let load = ["load", "--target", &target, "-r", "20", "-d", "60s", "--control", &address];
    let load = Running::start(dir.path(), &[&load[..], &["--retries", "3"]].concat(), 0);
    let control = format!("http://{address}");
    let alive = || goodput_in(dir.path(), &["healthcheck", "--control", &control]).code == Some(0);
    wait_until("the load's control plane answers", alive);
    let run = |words: &[&str]| {
        goodput_in(dir.path(), &[&["lever"], words, &["--control", &control][..]].concat())
    };
    assert!(run(&["rate", "40"]).assert_code(0).stdout.contains("rate         40.0/s"));
    let mut by_variable = common::command(dir.path(), &["lever", "rate", "30"]);
    by_variable.env("GOODPUT_CONTROL", "http://127.0.0.1:1").env("GOODPUT_LOAD_CONTROL", &control);
    let by_variable = String::from_utf8(by_variable.output().unwrap().stdout).unwrap();
    assert!(by_variable.contains("rate         30.0/s"), "{by_variable}");
    assert!(run(&["budget", "sre-ratio"]).assert_code(0).stdout.contains("budget sre-ratio"));
    assert!(run(&["retries", "0"]).assert_code(0).stdout.contains("0 retries"));
    for words in [["retries", "0"], ["budget", "sre-ratio"]] {
        let pulled = run(&words);
        assert!(pulled.assert_code(0).stdout.starts_with("nothing to change: "), "{pulled:#?}");
    }
    run(&["shed-queue"]).assert_code(2).assert_error(&["server"]);
    load.signal("TERM");
    let ended = load.end();
    assert!(ended.assert_code(4).stdout.contains("send lag"), "{ended:#?}");
}

#[test]
fn tokens_are_asked_for_and_given_by_file_or_variable() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("token"), "0123456789abcdefghij\n").unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"];
    let serve = [&serve[..], &["--token", "@token"]].concat();
    let server = Running::start(dir.path(), &serve, 2);
    let control = server.url("control");
    let list = ["fault", "list", "--control", &control];
    goodput_in(dir.path(), &list).assert_code(2).assert_error(&["401"]);
    goodput_in(dir.path(), &[&list[..], &["--token", "@token"]].concat()).assert_code(0);
    let mut by_variable = common::command(dir.path(), &list);
    by_variable.env("GOODPUT_TOKEN", "0123456789abcdefghij");
    assert!(by_variable.output().unwrap().status.success());
    goodput_in(dir.path(), &[&list[..], &["--token", "@none"]].concat())
        .assert_code(2)
        .assert_error(&["@none"]);
    let help = goodput_in(dir.path(), &["serve", "--help"]);
    assert!(!help.stdout.contains("0123456789"));
}

#[test]
fn the_injector_runs_as_a_process_and_ends_its_faults() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let control = server.url("control");
    let injector = ["fault", "serve", "--listen", "127.0.0.1:0", "--control", &control];
    let injector = Running::start(dir.path(), &injector, 1);
    let url = injector.url("fault injector");
    goodput_in(dir.path(), &["healthcheck", "--control", &url]).assert_code(0);
    injector.signal("TERM");
    injector.end().assert_code(0);
}

#[test]
fn a_gateway_forwards_to_the_server_behind_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let upstream = server.url("order-status");
    let gateway = ["serve", "--role", "gateway", "--upstream", &upstream, "--retries", "2"];
    let ports = ["--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"];
    let gateway = Running::start(dir.path(), &[&gateway[..], &ports].concat(), 2);
    let target = gateway.url("gateway");
    let load = ["load", "--target", &target, "-r", "30", "-d", "1s", "--format", "json", "-q"];
    let load = goodput_in(dir.path(), &load);
    let summary: serde_json::Value = serde_json::from_str(&load.assert_code(0).stdout).unwrap();
    assert_eq!(summary["good"], summary["offered"], "{summary:#}");
    for process in [&server, &gateway] {
        let control = process.url("control");
        let state = ["fault", "reset", "--format", "json", "--control", &control];
        let state = goodput_in(dir.path(), &state);
        let state: serde_json::Value = serde_json::from_str(&state.assert_code(0).stdout).unwrap();
        assert_eq!(state["counters"]["served"], summary["good"], "{state:#}");
    }
}
