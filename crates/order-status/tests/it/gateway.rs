//! The role `gateway`, before an upstream that does as it is told and before a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Connection, command, limited, series, start, state};
use goodput_client::Target;
use goodput_order_status::{Bounds, GatewayConfig, Role, Server, ServerConfig};
use goodput_policy::backoff::Backoff;
use goodput_policy::limiter::{LimiterConfig, OnDisconnect};
use goodput_policy::retry::LayerConfig;
use goodput_test_support::{any_port, nobody, wait_for};

/// An upstream that gives the n-th request, whichever connection it comes by, the n-th answer; the
/// last answer stands for all that follow, and an empty one for silence.
struct Upstream {
    addr: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind(any_port()).unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let answers: Arc<Vec<String>> =
            Arc::new(answers.iter().map(|&answer| answer.to_owned()).collect());
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (seen, answers) = (Arc::clone(&shared), Arc::clone(&answers));
                thread::spawn(move || converse(stream.unwrap(), &seen, &answers));
            }
        });
        Self { addr, seen }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn converse(stream: TcpStream, seen: &Mutex<Vec<String>>, answers: &[String]) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut request = String::new();
        while !request.ends_with("\r\n\r\n") {
            if reader.read_line(&mut request).unwrap_or(0) == 0 {
                return;
            }
        }
        let length = header(&request, "content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        request.push_str(std::str::from_utf8(&body).unwrap());
        let number = {
            let mut seen = seen.lock().unwrap();
            seen.push(request);
            seen.len()
        };
        let answer = &answers[(number - 1).min(answers.len() - 1)];
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

fn header(request: &str, name: &str) -> Option<String> {
    let prefix = format!("{name}: ");
    let mut lines = request.split("\r\n").map(str::to_owned);
    lines.find(|line| line.to_ascii_lowercase().starts_with(&prefix)).map(|mut line| {
        line.drain(..prefix.len());
        line
    })
}

/// A gateway whose one layer times out after half a second and retries at once.
fn gateway(upstream: SocketAddr, retries: u32, limiter: LimiterConfig) -> Server {
    let mut config = GatewayConfig::new(Target::from(upstream));
    config.layers[0].timeout = Some(Duration::from_millis(500));
    config.layers[0].retries = retries;
    config.layers[0].backoff.base = Duration::ZERO;
    let bounds = Bounds { body_bytes: 1_000, ..Bounds::default() };
    let role = Role::Gateway(config);
    Server::start(ServerConfig { role, limiter, bounds, ..ServerConfig::default() }).unwrap()
}

fn open(upstream: &Upstream, retries: u32) -> Server {
    gateway(upstream.addr, retries, LimiterConfig::default())
}

const OK: &str =
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-kept: 1\r\nkeep-alive: timeout=5\r\n\r\nhi";
const REFUSED: &str =
    "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\nretry-after: 7\r\n\r\nbusy";

#[test]
fn any_method_path_and_body_are_forwarded() {
    let upstream = Upstream::start(&[OK]);
    let server = open(&upstream, 0);
    let mut connection = Connection::open(server.data_addr());
    connection.send("PUT", "/a/b%20c?d=e&f", "x-mine: 1\r\ncookie: a\r\n", "{\"k\":1}");
    let reply = connection.receive().unwrap();
    assert_eq!((reply.status, reply.body.as_str()), (200, "hi"));
    assert_eq!(reply.headers["x-kept"], "1");
    assert!(!reply.headers.contains_key("keep-alive"));
    let seen = upstream.seen().remove(0);
    assert!(seen.starts_with("PUT /a/b%20c?d=e&f HTTP/1.1\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\n{\"k\":1}"), "{seen}");
    assert_eq!(header(&seen, "x-mine").unwrap(), "1");
    assert_eq!(header(&seen, "host").unwrap(), upstream.addr.to_string());
}

#[test]
fn a_failed_attempt_is_retried_and_attempts_are_numbered_anew() {
    let upstream = Upstream::start(&[REFUSED, REFUSED, OK]);
    let server = open(&upstream, 2);
    let mut connection = Connection::open(server.data_addr());
    let reply = connection.get("/x", "x-envoy-attempt-count: 7\r\n");
    assert_eq!(reply.status, 200);
    let numbers: Vec<_> =
        upstream.seen().iter().map(|seen| header(seen, "x-envoy-attempt-count").unwrap()).collect();
    assert_eq!(numbers, ["1", "2", "3"]);
    assert_eq!(series(&server, "rig_server_retries_received_total"), 1.0);
    let attempts = "rig_client_attempts_total{kind=\"retry\",layer=\"gateway\"}";
    assert_eq!(series(&server, attempts), 2.0);
    assert_eq!(state(&server).counters.served, 1);
}

#[test]
fn the_deadline_goes_on_less_the_time_spent() {
    let upstream = Upstream::start(&[OK]);
    // The gateway's own work takes 200 ms.
    let server = gateway(upstream.addr, 0, limited(1, 5.0));
    let mut connection = Connection::open(server.data_addr());
    assert_eq!(connection.get("/x", "grpc-timeout: 600m\r\n").status, 200);
    let seen = upstream.seen().remove(0);
    let left = header(&seen, "grpc-timeout").unwrap();
    let left = goodput_policy::deadline::parse_grpc_timeout(&left).unwrap();
    assert!(left < Duration::from_millis(401), "{left:?}");
    assert!(left > Duration::from_millis(100), "{left:?}");
    assert!(header(&seen, "x-envoy-expected-rq-timeout-ms").is_none());
    // Without a deadline of the caller's the layer's time-out is the deadline.
    assert_eq!(connection.get("/x", "").status, 200);
    let left = header(&upstream.seen()[1], "grpc-timeout").unwrap();
    let left = goodput_policy::deadline::parse_grpc_timeout(&left).unwrap();
    assert!(left > Duration::from_millis(401) && left <= Duration::from_millis(500), "{left:?}");
}

#[test]
fn an_answer_of_the_upstream_is_passed_on_whatever_its_status() {
    let not_found = "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone";
    let moved = "HTTP/1.1 302 Found\r\nlocation: /y\r\ncontent-length: 0\r\n\r\n";
    let upstream = Upstream::start(&[REFUSED, not_found, moved, OK]);
    let server = open(&upstream, 0);
    let mut connection = Connection::open(server.data_addr());
    let reply = connection.get("/x", "");
    assert_eq!((reply.status, reply.body.as_str()), (503, "busy"));
    assert_eq!(reply.headers["retry-after"], "7");
    let reply = connection.get("/x", "");
    assert_eq!((reply.status, reply.body.as_str()), (404, "none"));
    let reply = connection.get("/x", "");
    assert_eq!((reply.status, reply.headers["location"].as_str()), (302, "/y"));
    let counters = state(&server).counters;
    assert_eq!(counters.received, 3);
    assert_eq!(counters.refused["upstream-overloaded"], 1);
    // A redirect is no success, neither to the caller nor to the gateway.
    assert_eq!((counters.errors, counters.served), (2, 0));
}

#[test]
fn a_failure_keeps_its_class() {
    let silent = Upstream::start(&[""]);
    let garbage = Upstream::start(&["SSH-2.0-upstream\r\n\r\n"]);
    for (upstream, status, reason) in [
        (silent.addr, 504, "upstream-timeout"),
        (garbage.addr, 502, "upstream-malformed"),
        (nobody(), 502, "upstream-refused"),
    ] {
        let server = gateway(upstream, 1, LimiterConfig::default());
        let reply = crate::common::get(&server, "/x");
        assert_eq!((reply.status, reply.headers["x-goodput-reason"].as_str()), (status, reason));
        reply.error();
    }
    assert_eq!(silent.seen().len(), 2);
}

#[test]
fn throttling_is_a_refusal_of_the_upstream() {
    let throttled = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\nretry-after: 3\r\n\r\n";
    let upstream = Upstream::start(&[throttled]);
    let server = open(&upstream, 1);
    let reply = crate::common::get(&server, "/x");
    assert_eq!((reply.status, reply.headers["retry-after"].as_str()), (429, "3"));
    assert_eq!(upstream.seen().len(), 2, "it is retried");
    assert_eq!(state(&server).counters.refused["upstream-overloaded"], 1);
}

#[test]
fn an_upstream_that_refuses_is_not_told_as_one_that_gave_no_answer_in_time() {
    let mut config = GatewayConfig::new(Target::from(nobody()));
    // The outer layer's time runs out while the inner one waits to try again.
    let inner = LayerConfig { name: "inner".to_owned(), ..config.layers[0].clone() };
    config.layers.push(inner);
    config.layers[0].timeout = Some(Duration::from_millis(300));
    config.layers[0].retries = 0;
    config.layers[1].retries = 100;
    config.layers[1].backoff =
        Backoff { base: Duration::from_mins(1), cap: Duration::from_mins(1), ..Backoff::default() };
    let role = Role::Gateway(config);
    let server = Server::start(ServerConfig { role, ..ServerConfig::default() }).unwrap();
    let mut connection = Connection::open(server.data_addr());
    let reply = connection.get("/x", "grpc-timeout: 600S\r\n");
    assert_eq!(reply.status, 502);
    assert_eq!(reply.headers["x-goodput-reason"], "upstream-refused");
    assert!(reply.error().contains("nobody listens at the upstream"));
    assert_eq!(state(&server).counters.errors, 1);
}

#[test]
fn what_the_gateways_own_caps_keep_from_the_upstream_has_a_reason_of_its_own() {
    let upstream = Upstream::start(&[""]);
    let mut config = GatewayConfig::new(Target::from(upstream.addr));
    config.layers[0].timeout = Some(Duration::from_millis(500));
    config.connections = 1;
    let role = Role::Gateway(config);
    let server = Server::start(ServerConfig { role, ..ServerConfig::default() }).unwrap();
    let mut connections: Vec<_> = (0..2).map(|_| Connection::open(server.data_addr())).collect();
    for (number, connection) in (1..).zip(&mut connections) {
        connection.send("GET", "/x", "", "");
        wait_for("it has arrived", || state(&server).counters.received == number);
    }
    let reasons: Vec<_> = connections
        .iter_mut()
        .map(|connection| {
            let reply = connection.receive().unwrap();
            assert_eq!(reply.status, 504);
            reply.headers["x-goodput-reason"].clone()
        })
        .collect();
    assert_eq!(reasons, ["upstream-timeout", "upstream-unsent"]);
    let refused = state(&server).counters.refused;
    assert_eq!((refused["upstream-expired"], refused["upstream-unsent"]), (1, 1));
}

#[test]
fn a_body_above_the_limit_is_refused_and_not_forwarded() {
    let upstream = Upstream::start(&[OK]);
    let server = open(&upstream, 0);
    let mut connection = Connection::open(server.data_addr());
    connection.send("POST", "/x", "", &"a".repeat(1_001));
    let reply = connection.receive().unwrap();
    assert_eq!(reply.status, 413);
    assert!(reply.error().contains("1000"));
    let mut connection = Connection::open(server.data_addr());
    let chunk = "a".repeat(1_001);
    connection.write(&format!(
        "POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3e9\r\n{chunk}\r\n0\r\n\r\n"
    ));
    assert_eq!(connection.receive().unwrap().status, 413);
    assert!(upstream.seen().is_empty());
}

fn hang_up_in_the_queue(on_disconnect: OnDisconnect) -> (Upstream, Server) {
    let upstream = Upstream::start(&[OK]);
    let limiter = LimiterConfig { on_disconnect, ..limited(1, 4.0) };
    let server = gateway(upstream.addr, 0, limiter);
    let mut first = Connection::open(server.data_addr());
    first.send("GET", "/first", "", "");
    wait_for("the first is in service", || state(&server).in_service == 1);
    let mut second = Connection::open(server.data_addr());
    second.send("GET", "/second", "", "");
    wait_for("the second waits", || state(&server).queued == 1);
    drop(second);
    assert_eq!(first.receive().unwrap().status, 200);
    (upstream, server)
}

#[test]
fn abandoned_work_goes_on_to_the_upstream() {
    let (upstream, server) = hang_up_in_the_queue(OnDisconnect::Continue);
    wait_for("both have been forwarded", || upstream.seen().len() == 2);
    wait_for("both are counted", || state(&server).counters.served == 2);
    let busy = state(&server).counters;
    assert!((busy.busy_useful - 0.25).abs() < 1e-6, "{busy:?}");
    assert!((busy.busy_wasted - 0.25).abs() < 1e-6, "{busy:?}");
}

#[test]
fn with_cancel_abandoned_work_never_reaches_the_upstream() {
    let (upstream, server) = hang_up_in_the_queue(OnDisconnect::Cancel);
    wait_for("it is cancelled", || state(&server).counters.cancelled == 1);
    assert_eq!(upstream.seen().len(), 1);
    assert_eq!(state(&server).counters.served, 1);
}

#[test]
fn with_cancel_a_call_is_given_up_with_its_caller() {
    let upstream = Upstream::start(&[""]);
    let limiter = LimiterConfig { on_disconnect: OnDisconnect::Cancel, ..LimiterConfig::default() };
    let server = gateway(upstream.addr, 100, limiter);
    let mut connection = Connection::open(server.data_addr());
    connection.send("GET", "/x", "", "");
    wait_for("it has been forwarded", || upstream.seen().len() == 1);
    drop(connection);
    wait_for("it is cancelled", || state(&server).counters.cancelled == 1);
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn a_restart_gives_up_what_is_being_forwarded() {
    let upstream = Upstream::start(&[""]);
    let server = gateway(upstream.addr, 100, LimiterConfig::default());
    let mut connection = Connection::open(server.data_addr());
    connection.send("GET", "/x", "", "");
    wait_for("it has been forwarded", || upstream.seen().len() == 1);
    command(&server, "POST", "/levers/restart", "");
    assert!(connection.receive().is_none());
    wait_for("it is counted", || {
        state(&server).counters.refused.get("restart").is_some_and(|count| *count == 1)
    });
}

#[test]
fn a_gateway_stands_before_a_server_and_counts_agree() {
    let server = start(limited(4, 200.0));
    let gateway = gateway(server.data_addr(), 0, LimiterConfig::default());
    let mut connection = Connection::open(gateway.data_addr());
    for id in 1..=20 {
        let reply = connection.get(&format!("/orders/{id}"), "");
        assert_eq!(reply.json()["id"], id);
    }
    assert_eq!(state(&gateway).role, "gateway");
    assert_eq!(state(&gateway).counters.served, 20);
    assert_eq!(state(&server).counters.served, 20);
}

#[test]
fn a_gateway_whose_layer_is_out_of_range_does_not_start() {
    let mut gateway = GatewayConfig::new(Target::from(SocketAddr::from(([127, 0, 0, 1], 9))));
    gateway.layers[0].retries = 101;
    let config = ServerConfig { role: Role::Gateway(gateway), ..ServerConfig::default() };
    let error = Server::start(config).unwrap_err().to_string();
    assert_eq!(error, "layer `gateway`: `retries` must be from 0 to 100, such as 3");
}
