//! What Prometheus would read must be what the run log says, to the request.

#![expect(clippy::float_cmp, reason = "counts are exact in floating point")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use goodput_control::Audit;
use goodput_load_generator::ControlConfig;
use goodput_order_status::{Server, ServerConfig};
use goodput_rig::{LoadControl, RunOptions};
use goodput_runlog::{RunLog, Window};
use goodput_test_support::{alone, any_port};

use crate::support::{ask, config, options, remote, run_with, scenario};

/// Time-outs, retries, refusals of both kinds and a budget that refuses retries; then silence, in which
/// everything ends.
const BUSY_THEN_SILENT: &str = r#"
name = "busy-then-silent"
duration = "40s"
[load]
rate = 80
[[load.change]]
at = "24s"
rate = 0.0001
[client]
clients = 2
[[client.layer]]
name = "outer"
retries = 1
timeout = "2500ms"
backoff = { base = "200ms", jitter = "full" }
[[client.layer]]
name = "inner"
timeout = "1s"
retries = 2
backoff = { base = "300ms", jitter = "full" }
budget = { kind = "sre-ratio", ratio = 0.3 }
[[tier]]
name = "order-status"
slots = 10
capacity = 100
queue_limit = 60
drop_expired = true
[[fault]]
kind = "capacity"
to = 0.3
at = "8s"
for = "8s"
[expect]
hold = "5s"
within = "10s"
"#;

/// Series by their text, such as `rig_server_requests_total{outcome="ok"}`.
type Series = BTreeMap<String, f64>;

fn read(text: &str) -> Series {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        })
        .collect()
}

fn scrape(control: SocketAddr) -> Option<String> {
    ask(control, async |client| client.metrics().await.ok())
}

/// Runs against a server of this process, and returns the last scrapes of both before the run ended.
fn run_scraped() -> (RunLog, Series, Series) {
    let (scenario, speed) = (scenario(BUSY_THEN_SILENT), 5.0);
    let timeouts = scenario.client.layers.iter().filter_map(|layer| layer.timeout).collect();
    let server = Server::start(ServerConfig { timeouts, ..config(&scenario, speed) }).unwrap();
    let (bound, address) = channel();
    let control = ControlConfig { bind: any_port(), audit: Audit::off(), ..Default::default() };
    let target = remote(server.data_addr(), Some(server.control_addr()));
    let options = RunOptions {
        load_control: Some(LoadControl { config: control, bound: Some(bound) }),
        ..options(&scenario, speed, target)
    };
    let scraper = thread::spawn(move || {
        let addr = address.recv().unwrap();
        let mut last = String::new();
        while let Some(text) = scrape(addr) {
            last = text;
            thread::sleep(Duration::from_millis(50));
        }
        last
    });
    let ran = run_with(options, |_, _, _| {});
    let client = read(&scraper.join().unwrap());
    let tier = read(&scrape(server.control_addr()).unwrap());
    (ran.log, client, tier)
}

#[test]
fn every_counter_equals_the_run_log_of_the_same_run() {
    let _turn = alone();
    let (log, client, tier) = run_scraped();
    let last = &log.windows.last().unwrap().client;
    assert_eq!((last.requests_in_flight, last.attempts_in_flight), (0, 0), "all has ended");
    check_requests(&log, &client);
    check_attempts(&log, &client);
    check_server(&log, &tier);
    check_fault(&tier);
}

fn total(log: &RunLog, of: impl Fn(&Window) -> u64) -> f64 {
    log.windows.iter().map(of).sum::<u64>() as f64
}

fn by_name(log: &RunLog, of: impl Fn(&Window) -> &BTreeMap<String, u64>, name: &str) -> f64 {
    total(log, |window| of(window).get(name).copied().unwrap_or(0))
}

fn check_requests(log: &RunLog, client: &Series) {
    let failed = |class| by_name(log, |w| &w.client.failed, class);
    let outcome = |name| client[&format!("rig_client_requests_total{{outcome=\"{name}\"}}")];
    assert_eq!(client["rig_client_requests_started_total"], total(log, |w| w.client.offered));
    assert_eq!(outcome("good"), total(log, |w| w.client.good));
    assert_eq!(outcome("late"), total(log, |w| w.client.late));
    assert_eq!(outcome("timeout"), failed("timeout"));
    assert_eq!(outcome("shed"), failed("overloaded") + failed("expired"));
    assert_eq!(outcome("error"), failed("connect") + failed("error"));
    assert_eq!(outcome("given_up"), total(log, |w| w.client.unsent));
    assert!(outcome("good") > 0.0 && outcome("shed") > 0.0, "{client:?}");
    let started = client["rig_client_requests_started_total"];
    assert_eq!(client["rig_client_request_duration_seconds_count"], started);
    assert_eq!(client["rig_client_send_lag_seconds_count"], started);
    assert_eq!(client["rig_client_requests_in_flight"], 0.0);
    let mut seen = 0.0;
    for attempts in 1..=6 {
        seen += log.totals.attempts_per_request.get(&attempts).map_or(0.0, |count| *count as f64);
        let bucket = format!("rig_client_request_attempts_bucket{{le=\"{attempts}.5\"}}");
        assert_eq!(client[&bucket], seen, "requests of up to {attempts} attempts");
    }
    assert_eq!(seen, started);
}

fn check_attempts(log: &RunLog, client: &Series) {
    let of = |name: &str, label: &str| client[&format!("rig_client_{name}{{{label}}}")];
    let inner = |kind| of("attempts_total", &format!("kind=\"{kind}\",layer=\"inner\""));
    let tries = inner("first") + inner("retry");
    assert_eq!(tries, total(log, |w| w.client.attempts));
    assert!(tries > total(log, |w| w.client.offered), "there were retries");
    let finished = |layer: &str, outcome: &str| {
        of("attempts_finished_total", &format!("layer=\"{layer}\",outcome=\"{outcome}\""))
    };
    let mut ended = finished("inner", "ok") + finished("inner", "cut");
    for class in ["timeout", "connect", "overloaded", "expired", "error"] {
        ended += finished("inner", class);
    }
    assert_eq!(ended, tries, "every try has ended");
    assert_eq!(finished("outer", "ok"), total(log, |w| w.client.good + w.client.late));
    // A try that the outer layer cut off is a time-out to the run log too.
    let failed = |class| by_name(log, |w| &w.client.attempts_failed, class);
    assert_eq!(finished("inner", "overloaded"), failed("overloaded"));
    assert_eq!(finished("inner", "expired"), failed("expired"));
    for reason in ["not-retryable", "deadline", "budget"] {
        let suppressed = |layer| {
            of("retries_suppressed_total", &format!("layer=\"{layer}\",reason=\"{reason}\""))
        };
        let logged = by_name(log, |w| &w.client.suppressed, reason);
        assert_eq!(suppressed("outer") + suppressed("inner"), logged, "{reason}");
    }
    assert!(by_name(log, |w| &w.client.suppressed, "budget") > 0.0);
    assert_eq!(client["rig_client_connects_total"], total(log, |w| w.client.connects));
}

fn check_server(log: &RunLog, tier: &Series) {
    let outcome = |name| tier[&format!("rig_server_requests_total{{outcome=\"{name}\"}}")];
    let shed = |name| tier[&format!("rig_server_requests_shed_total{{reason=\"{name}\"}}")];
    let refused = |reason| by_name(log, |w| &w.tiers[0].refused, reason);
    assert_eq!(tier["rig_server_requests_received_total"], total(log, |w| w.tiers[0].received));
    assert_eq!(outcome("ok"), total(log, |w| w.tiers[0].served));
    assert_eq!(outcome("cancelled"), total(log, |w| w.tiers[0].cancelled));
    assert_eq!(outcome("error"), total(log, |w| w.tiers[0].errors));
    assert_eq!(outcome("deadline_exceeded"), refused("expired"));
    for reason in ["queue-full", "safety-cap", "expired", "shed", "not-admitted", "restart"] {
        assert_eq!(shed(reason), refused(reason), "{reason}");
    }
    assert!(shed("queue-full") > 0.0 && shed("expired") > 0.0, "{tier:?}");
    assert_eq!(outcome("shed"), shed("queue-full"));
    let admitted = tier["rig_server_queue_delay_seconds_count{admitted=\"true\"}"];
    assert_eq!(admitted, outcome("ok"));
    assert_eq!(tier["rig_server_service_duration_seconds_count"], outcome("ok"));
    // The log is in scenario time, five times as long.
    for (result, of) in [
        ("useful", (|w| w.tiers[0].busy_useful) as fn(&Window) -> f64),
        ("wasted", |w| w.tiers[0].busy_wasted),
    ] {
        let logged: f64 = log.windows.iter().map(of).sum();
        let busy = tier[&format!("rig_server_busy_seconds_total{{result=\"{result}\"}}")];
        assert!((busy * 5.0 - logged).abs() < 1e-6, "{result}: {busy} and {logged}");
    }
    for gauge in ["queued", "in_flight"] {
        assert_eq!(tier[&format!("rig_server_requests_{gauge}")], 0.0);
    }
    // Boundaries stand at the callers' time-outs in wall time.
    for timeout in ["0.2", "0.5"] {
        let name = "rig_server_queue_delay_seconds_bucket";
        assert!(tier.contains_key(&format!("{name}{{admitted=\"true\",le=\"{timeout}\"}}")));
    }
}

fn check_fault(tier: &Series) {
    let of = |name| tier[&format!("rig_fault_{name}{{fault=\"capacity\"}}")];
    assert_eq!(of("active"), 0.0);
    let lasted = of("end_timestamp_seconds") - of("start_timestamp_seconds");
    assert!((lasted - 1.6).abs() < 0.5, "8 s of scenario time: {lasted}");
    assert!(of("injections_total") > 100.0);
    assert_eq!(tier["rig_phase{phase=\"after\"}"], 1.0);
    assert_eq!(tier["rig_phase{phase=\"fault\"}"] + tier["rig_phase{phase=\"baseline\"}"], 0.0);
}
