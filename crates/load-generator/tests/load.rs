//! The load generator against a server that counts.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]
#![expect(clippy::float_cmp, reason = "rates and speeds are exact in floating point")]

mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use common::{config, layer, scenario};
use goodput_clock::Rate;
use goodput_control::ControlClient;
use goodput_control::api::{LoadState, Pulled};
use goodput_load_generator::{
    ControlConfig, FinishedWindow, Generator, GeneratorConfig, GeneratorReport,
};
use goodput_policy::lever::Lever;
use goodput_test_support::{PathServer, any_port, block_on, client, wait_for};
use http::Method;
use serde_json::{Value, json};

fn sum(report: &GeneratorReport, figure: impl Fn(&FinishedWindow) -> u64) -> u64 {
    report.windows.iter().map(figure).sum()
}

fn by_class(
    report: &GeneratorReport,
    figure: impl Fn(&FinishedWindow) -> &BTreeMap<String, u64>,
) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for window in &report.windows {
        for (class, count) in figure(window) {
            *all.entry(class.clone()).or_default() += count;
        }
    }
    all
}

#[test]
fn cohorts_are_seen_while_the_load_goes_on_and_none_is_lost_by_that() {
    let server = PathServer::start();
    let mut scenario = scenario(100.0, 12.0, "/orders/{order}");
    // A life of one second, so that cohorts are decided while the load goes on.
    scenario.client.layers = vec![layer("client", Some(Duration::from_secs(1)), 0)];
    let mut generator = Generator::start(config(scenario, &server, 10.0)).unwrap();
    let mut most = 0;
    wait_for("the ninth second", || {
        let cohorts = generator.cohorts();
        assert!(cohorts.iter().map(|(second, _)| *second).eq(0..cohorts.len() as u64));
        let arrived: u64 = cohorts.iter().map(|(_, cohort)| cohort.arrived).sum();
        assert!(arrived >= most, "what was seen is not forgotten");
        most = arrived;
        cohorts.len() >= 9
    });
    let report = generator.finish();
    assert!(report.cohorts.iter().map(|(second, _)| *second).eq(0..report.cohorts.len() as u64));
    let arrived: u64 = report.cohorts.iter().map(|(_, cohort)| cohort.arrived).sum();
    assert_eq!(arrived, report.offered);
}

#[test]
fn windows_and_totals_equal_what_the_server_counted_to_the_request() {
    let server = PathServer::start();
    let mut scenario = scenario(300.0, 8.0, "/every/5");
    scenario.client.layers =
        vec![layer("gateway", None, 1), layer("client", Some(Duration::from_secs(10)), 1)];
    scenario.client.clients = 3;
    let report = Generator::start(config(scenario, &server, 10.0)).unwrap().finish();
    let seen = server.seen();
    let refused = (seen.len() / 5) as u64;

    assert!(report.drained);
    assert_eq!((report.unsent, report.offered), (0, report.scheduled));
    assert_eq!(sum(&report, |window| window.window.offered), report.offered);
    assert_eq!(sum(&report, |window| window.window.attempts), seen.len() as u64);
    let retries = seen.iter().filter(|seen| seen.attempt != "1").count() as u64;
    assert_eq!(sum(&report, |window| window.window.retries), retries);
    let failed = by_class(&report, |window| &window.window.attempts_failed);
    assert_eq!(failed, BTreeMap::from([("overloaded".to_owned(), refused)]));
    let good = sum(&report, |window| window.window.good);
    let lost: u64 = by_class(&report, |window| &window.window.failed).values().sum();
    assert_eq!((good, good + lost), (report.good, report.offered));
    assert_eq!(good, seen.len() as u64 - refused);
    assert_eq!(sum(&report, |window| window.window.connects), server.accepted() as u64);
    let end = &report.windows.last().unwrap().window;
    assert_eq!((end.attempts_in_flight, end.requests_in_flight), (0, 0));
    let counters = &report.layers["client"];
    assert_eq!(counters.first + counters.retries, seen.len() as u64);
    let attempts: u64 = report
        .totals
        .attempts_per_request
        .iter()
        .map(|(attempts, requests)| u64::from(*attempts) * requests)
        .sum();
    assert_eq!(attempts, seen.len() as u64);
    assert_eq!(report.totals.latency.iter().map(|(_, count)| count).sum::<u64>(), good);
}

#[test]
fn a_server_that_never_answers_is_offered_the_whole_schedule_and_connections_stay_capped() {
    let server = PathServer::start();
    let mut scenario = scenario(100.0, 10.0, "/silent");
    scenario.client.layers = vec![layer("client", Some(Duration::from_secs(2)), 0)];
    scenario.client.max_connections = 50;
    let report = Generator::start(config(scenario, &server, 10.0)).unwrap().finish();
    assert!(report.drained);
    assert_eq!((report.offered, report.good), (report.scheduled, 0));
    assert!(report.windows.iter().all(|window| window.window.connections <= 50));
    // The server may see that one was closed after it has seen the next one opened.
    assert!(server.most_open() <= 100, "{}", server.most_open());
    let failed = by_class(&report, |window| &window.window.failed);
    let timeouts = failed.get("timeout").copied().unwrap_or_default();
    assert_eq!(failed.len(), 1);
    // 100/s for 2 s would need 200 connections; what finds none says nothing about the server.
    assert!(report.unsent > report.offered / 2, "{report:?}");
    assert_eq!(timeouts + report.unsent, report.offered);
    assert_eq!(sum(&report, |window| window.window.unsent), report.unsent);
}

#[test]
fn levers_act_while_the_load_runs() {
    let server = PathServer::start();
    let mut config = config(scenario(200.0, 60.0, "/status/503"), &server, 10.0);
    config.scenario.client.layers = vec![layer("client", Some(Duration::from_secs(5)), 3)];
    let generator = Generator::start(config).unwrap();
    // Two seconds of 200 requests with three retries each.
    wait_for("the retries", || server.seen().len() > 1_700);
    let retries = Lever::Retries { layer: None, retries: 0 };
    assert_eq!(generator.pull(&retries).unwrap(), "retries are now 0 at all layers");
    let pulled = generator.clock().now().as_secs_f64();
    let unknown = Lever::Retries { layer: Some("nope".to_owned()), retries: 0 };
    assert!(generator.pull(&unknown).unwrap_err().contains("`client`"));
    assert!(generator.pull(&Lever::ShedQueue).is_err());
    wait_for("three more seconds", || generator.clock().now().as_secs_f64() > pulled.ceil() + 3.0);
    generator.halt();
    wait_for("a standstill", || {
        let seen = server.seen().len();
        std::thread::sleep(Duration::from_millis(200));
        server.seen().len() == seen
    });
    let halted = server.seen().len();
    generator.pull(&Lever::Rate { rate: Rate::new(20.0).unwrap() }).unwrap();
    let resumed = generator.clock().now().as_secs_f64();
    generator.resume();
    wait_for("a hundred requests", || server.seen().len() >= halted + 100);
    // 20/s for 5 s of scenario time; at 200/s it were half a second.
    let took = generator.clock().now().as_secs_f64() - resumed;
    assert!(took > 3.0, "{took}");
    generator.stop();
    let report = generator.finish();
    // What falls due while the load is being stopped is asked for and not issued: at 200/s, few.
    assert!((0..=20).contains(&(report.scheduled - report.offered)), "{report:?}");
    let first = report.windows.iter().find(|window| window.second == 1).unwrap();
    assert!(first.window.retries > first.window.offered, "{first:?}");
    let calm = pulled.ceil() as u64 + 1;
    let later = report.windows.iter().find(|window| window.second == calm).unwrap();
    assert_eq!(later.window.retries, 0, "{later:?}");
}

#[test]
fn the_control_plane_shows_state_and_metrics_in_wall_time() {
    let server = PathServer::start();
    let (_generator, control) = controlled(&server);
    let metrics = || block_on(control.metrics()).unwrap();
    wait_for("a hundred requests", || {
        let metrics = metrics();
        let line = metrics.lines().find(|l| l.starts_with("rig_client_requests_started_total"));
        line.unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap() > 100.0
    });
    let state = state(&control);
    assert_eq!((state.scenario.as_str(), state.speed), ("test", 10.0));
    assert_eq!((state.rate, &state.layers[0]["timeout"]), (1_000.0, &"1s".into()));
    assert!(state.offered > 100 && !state.halted, "{state:?}");
    let metrics = metrics();
    assert!(metrics.contains("rig_client_requests_total{outcome=\"good\"} "), "{metrics}");
    assert!(metrics.contains("rig_client_request_duration_seconds_bucket{le=\"1\"}"), "{metrics}");
    assert!(metrics.contains("rig_client_attempt_timeout_seconds{layer=\"client\"} 1"));
    block_on(control.healthz()).unwrap();
}

#[test]
fn what_a_command_has_changed_is_read_back_at_once() {
    let server = PathServer::start();
    let (_generator, control) = controlled(&server);
    for _ in 0..50 {
        assert!(post(&control, &["halt"], json!({})).halted);
        assert!(!post(&control, &["resume"], json!({})).halted);
        let body = json!({ "rate": 500 });
        let pulled: Pulled<LoadState> =
            block_on(control.ask(Method::POST, &["levers", "rate"], Some(body))).unwrap();
        assert_eq!(pulled.state.rate, 500.0);
        assert_eq!(post(&control, &["reset"], json!({})).rate, 1_000.0);
    }
}

/// A load of 1,000 requests per second of wall time, and a client of its control plane.
fn controlled(server: &PathServer) -> (Generator, ControlClient) {
    let mut config = config(scenario(100.0, 600.0, "/"), server, 10.0);
    config.control = Some(ControlConfig { bind: any_port(), ..ControlConfig::default() });
    let generator = Generator::start(config).unwrap();
    let control = client(generator.control_addr().unwrap());
    (generator, control)
}

fn state(control: &ControlClient) -> LoadState {
    block_on(control.ask(Method::GET, &["state"], None)).unwrap()
}

fn post(control: &ControlClient, path: &[&str], body: Value) -> LoadState {
    block_on(control.ask(Method::POST, path, Some(body))).unwrap()
}

#[test]
fn a_load_that_is_dropped_ends_at_once() {
    let server = PathServer::start();
    let mut config = config(scenario(100.0, 1000.0, "/silent"), &server, 1.0);
    config.scenario.client.layers = vec![layer("client", Some(Duration::from_secs(200)), 0)];
    config.drain = Duration::from_secs(200);
    let generator = Generator::start(config).unwrap();
    wait_for("a request in flight", || !server.seen().is_empty());
    let start = Instant::now();
    drop(generator);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn what_cannot_be_sent_is_refused_before_anything_runs() {
    let server = PathServer::start();
    let error = Generator::start(config(scenario(1.0, 1.0, "no-slash"), &server, 1.0)).unwrap_err();
    assert!(error.to_string().starts_with("load.request.path: `no-slash`"), "{error}");
    let config = GeneratorConfig::new(scenario(1.0, 1.0, "/"), "https://127.0.0.1:1");
    assert!(Generator::start(config).unwrap_err().to_string().contains("TLS"));
    assert_eq!(server.accepted(), 0);
}
