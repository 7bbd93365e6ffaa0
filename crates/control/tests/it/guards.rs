//! Who may speak to a control plane: each guard on its own.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use goodput_control::{Audit, Guard, Listener, Plane, StartError, Token};
use goodput_test_support::{ToldServer, any_port};

use crate::support::{ask, ask_json, json, raw};

const TOKEN: &str = "a-token-of-some-length";

fn start(bind: SocketAddr, guard: Guard) -> Result<Listener, StartError> {
    Listener::start(bind, guard, Plane::new(axum::Router::new(), Audit::off()))
}

#[test]
fn nothing_binds_beyond_loopback_without_a_token() {
    for beyond in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        let error = start(beyond.parse().unwrap(), Guard::loopback()).unwrap_err();
        assert!(matches!(error, StartError::NeedsToken(_)), "{beyond}: {error}");
        assert!(error.to_string().contains("--token TOKEN"), "{error}");
    }
    let token = Token::new(TOKEN).unwrap();
    let open = start("0.0.0.0:0".parse().unwrap(), Guard::loopback().with_token(token)).unwrap();
    assert_ne!(open.addr().port(), 0);
}

#[test]
fn a_port_in_use_is_named() {
    let first = start(any_port(), Guard::loopback()).unwrap();
    let error = start(first.addr(), Guard::loopback()).unwrap_err();
    assert!(matches!(error, StartError::PortInUse(addr) if addr == first.addr()));
    assert!(error.to_string().contains(&first.addr().port().to_string()), "{error}");
    let elsewhere = start("192.0.2.1:0".parse().unwrap(), {
        Guard::loopback().with_token(Token::new(TOKEN).unwrap())
    });
    assert!(matches!(elsewhere, Err(StartError::Bind { .. })));
}

#[test]
fn a_port_is_free_again_after_shutdown() {
    let first = start(any_port(), Guard::loopback()).unwrap();
    let addr = first.addr();
    let began = Instant::now();
    first.shutdown();
    assert!(began.elapsed() < Duration::from_secs(2));
    start(addr, Guard::loopback()).unwrap();
}

#[test]
fn peers_that_say_nothing_keep_no_command_out() {
    let server = ToldServer::start_with(Guard::loopback());
    let silent = || std::net::TcpStream::connect(server.addr()).unwrap();
    let _open: Vec<_> = std::iter::repeat_with(silent).take(300).collect();
    let began = Instant::now();
    let (status, _) = ask(server.addr(), "GET", "/healthz", &["Host: localhost"], "");
    assert_eq!(status, 200);
    // A silent peer is given up after 30 s.
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn only_loopback_hosts_and_allowed_ones_are_served() {
    let server = ToldServer::start_with(Guard::loopback().with_host("order-status"));
    let addr = server.addr();
    for host in ["127.0.0.1", "localhost:9901", "[::1]:9901", "order-status:9901", "LOCALHOST"] {
        assert_eq!(ask(addr, "GET", "/state", &[&format!("Host: {host}")], "").0, 200, "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:9901", "order-status.evil"] {
        let (status, answer) = ask(addr, "GET", "/state", &[&format!("Host: {host}")], "");
        assert_eq!(status, 403, "{host}");
        assert!(answer.contains("--control-host"), "{answer}");
    }
    for host in ["Host:", "Host: a b", "Host: 127.0.0.1\r\nHost: 127.0.0.1"] {
        assert_eq!(ask(addr, "GET", "/state", &[host], "").0, 400, "{host}");
    }
    assert_eq!(raw(addr, "GET /state HTTP/1.0\r\n\r\n").0, 400);
}

#[test]
fn requests_of_a_browser_are_refused() {
    let server = ToldServer::start();
    let addr = server.addr();
    for origin in ["http://evil.example", "null", "http://127.0.0.1:9901"] {
        let origin = format!("Origin: {origin}");
        let json = "Content-Type: application/json";
        let (status, _) = ask(addr, "POST", "/reset", &[&origin, json], "{}");
        assert_eq!(status, 403);
        assert_eq!(ask(addr, "GET", "/state", &[&origin], "").0, 403);
    }
    let entries = server.audit.entries();
    assert_eq!(entries.len(), 6, "each refusal is in the audit log");
    assert!(entries.iter().all(|entry| entry.outcome.starts_with("refused with 403")));
    assert!(entries[0].source.starts_with("127.0.0.1:"), "{}", entries[0].source);
}

#[test]
fn bodies_are_json_only() {
    let server = ToldServer::start();
    let addr = server.addr();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
        let kind = format!("Content-Type: {kind}");
        let (status, answer) = ask(addr, "POST", "/reset", &[&kind], "{}");
        assert_eq!((status, json(&answer)["status"].clone()), (415, 415.into()), "{kind}");
    }
    assert_eq!(ask(addr, "POST", "/reset", &[], "{}").0, 415);
    let charset = "content-type: Application/JSON; charset=utf-8";
    assert_eq!(ask(addr, "POST", "/reset", &[charset], "{}").0, 200);
    assert_eq!(ask(addr, "POST", "/reset", &[], "").0, 200);
}

#[test]
fn a_large_body_is_refused_whether_its_length_is_told_or_not() {
    let server = ToldServer::start();
    let addr = server.addr();
    let large = format!("{{\"reason\":\"{}\"}}", "x".repeat(70_000));
    let (status, answer) = ask_json(addr, "POST", "/reset", &large);
    assert_eq!((status, json(&answer)["status"].clone()), (413, 413.into()));
    let head = format!("POST /reset HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n");
    let json = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}{json}{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    assert_eq!(raw(addr, &chunked).0, 413);
    let fits = format!("{{\"reason\":\"{}\"}}", "x".repeat(1_000));
    assert_eq!(ask_json(addr, "POST", "/reset", &fits).0, 200);
}

#[test]
fn an_oversized_head_is_refused() {
    let server = ToldServer::start();
    let long = format!("X-Long: {}", "x".repeat(1_000_000));
    let (status, _) = ask(server.addr(), "GET", "/state", &[&long], "");
    assert_eq!(status, 431);
}

#[test]
fn where_a_token_is_set_only_its_bearer_is_served() {
    let server = ToldServer::start_with(Guard::loopback().with_token(Token::new(TOKEN).unwrap()));
    let addr = server.addr();
    for (header, expected) in [
        (String::from("X-Nothing: 1"), 401),
        (String::from("Authorization: Bearer"), 401),
        (String::from("Authorization: Basic YTpi"), 401),
        (format!("Authorization: Bearer {TOKEN}x"), 401),
        (format!("Authorization: Bearer {}", &TOKEN[1..]), 401),
        (format!("Authorization: {TOKEN}"), 401),
        (format!("Authorization: Bearer {TOKEN}"), 200),
        (format!("authorization: bearer {TOKEN}"), 200),
    ] {
        for (method, path) in [("GET", "/state"), ("GET", "/metrics"), ("POST", "/reset")] {
            assert_eq!(ask(addr, method, path, &[&header], "").0, expected, "{header} {path}");
        }
    }
    assert_eq!(ask(addr, "GET", "/healthz", &[], "").0, 200, "health needs no token");
    let refused = server.audit.entries();
    assert_eq!(refused.iter().filter(|entry| entry.outcome.contains("401")).count(), 18);
    assert!(refused.iter().all(|entry| !entry.outcome.contains(TOKEN)), "tokens are not written");
}

#[test]
fn commands_from_elsewhere_than_loopback_need_a_token() {
    let Some(own) = own_address() else { return };
    let token = Token::new(TOKEN).unwrap();
    let guard = Guard::loopback().with_token(token).with_host(own.ip().to_string());
    let open = start(SocketAddr::new(own.ip(), 0), guard).unwrap();
    let authorized = format!("Authorization: Bearer {TOKEN}");
    let (status, answer) = ask(open.addr(), "GET", "/nothing", &[], "");
    assert_eq!((status, answer.contains("--token @FILE")), (401, true), "{answer}");
    assert_eq!(ask(open.addr(), "GET", "/nothing", &[&authorized], "").0, 404);
    let closed = start(SocketAddr::new(own.ip(), 0), Guard::loopback());
    assert!(matches!(closed, Err(StartError::NeedsToken(_))));
}

/// An address of this machine that is not loopback, where it has one. Nothing is sent.
fn own_address() -> Option<SocketAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().filter(|own| !own.ip().is_loopback() && !own.ip().is_unspecified())
}

#[test]
fn noise_on_the_port_does_not_stop_it() {
    let server = ToldServer::start();
    let addr = server.addr();
    for noise in ["\r\n\r\n", "\u{16}\u{3}\u{1}", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET\r\n\r\n"]
    {
        let mut stream = std::net::TcpStream::connect(addr).unwrap();
        std::io::Write::write_all(&mut stream, noise.as_bytes()).unwrap();
    }
    assert_eq!(ask(addr, "GET", "/healthz", &[], "").0, 200);
}

#[test]
fn it_answers_within_50_ms_while_other_threads_burn_the_cpu() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let server = ToldServer::start();
    let addr = server.addr();
    let stop = AtomicBool::new(false);
    let mut took: Vec<Duration> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let took = (0..100)
            .map(|_| {
                let began = Instant::now();
                assert_eq!(ask(addr, "GET", "/state", &[], "").0, 200);
                began.elapsed()
            })
            .collect();
        stop.store(true, Ordering::Relaxed);
        took
    });
    took.sort();
    assert!(took[90] < Duration::from_millis(50), "p90 of 100 answers: {:?}", took[90]);
}
