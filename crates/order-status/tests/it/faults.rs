//! Faults, and a control plane that no load delays.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Connection, command, get, limited, series, start, state};
use goodput_clock::Scale;
use goodput_order_status::{Server, ServerConfig};
use goodput_policy::limiter::LimiterConfig;
use goodput_test_support::wait_for;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

const CUT: &str = r#"{"name": "cut", "fault": {"kind": "capacity", "to": 0.4}, "lease": "300ms"}"#;

#[test]
fn a_lease_that_nobody_renews_gives_capacity_back() {
    let server = start(limited(10, 100.0));
    command(&server, "POST", "/faults", CUT);
    let during = state(&server);
    assert_eq!(during.capacity, Some(40.0));
    assert_eq!(during.faults[0].name, "cut");
    assert_eq!(series(&server, "rig_fault_active{fault=\"capacity\"}"), 1.0);
    assert_eq!(get(&server, "/orders/1").status, 200);
    wait_for("capacity is back", || state(&server).capacity == Some(100.0));
    assert!(state(&server).faults.is_empty());
    assert_eq!(series(&server, "rig_fault_active{fault=\"capacity\"}"), 0.0);
    assert_eq!(series(&server, "rig_fault_injections_total{fault=\"capacity\"}"), 1.0);
    let start = series(&server, "rig_fault_start_timestamp_seconds{fault=\"capacity\"}");
    let end = series(&server, "rig_fault_end_timestamp_seconds{fault=\"capacity\"}");
    assert!(start > 1.7e9 && end - start > 0.25, "{start} {end}");
}

#[test]
fn a_stall_freezes_the_server_and_its_end_serves_what_waits() {
    for limiter in [limited(2, 50.0), LimiterConfig::default()] {
        let server = start(limiter);
        command(&server, "POST", "/faults", r#"{"name": "stop", "fault": {"kind": "stall"}}"#);
        let mut waiting: Vec<_> = (0..4)
            .map(|_| {
                let mut connection = Connection::open(server.data_addr());
                connection.send("GET", "/orders/1", "", "");
                connection
            })
            .collect();
        wait_for("all wait", || {
            let state = state(&server);
            state.queued + state.in_service == 4
        });
        std::thread::sleep(Duration::from_millis(100));
        let stalled = state(&server);
        assert_eq!((stalled.counters.served, stalled.capacity), (0, Some(0.0)));
        assert!(stalled.oldest_age >= 0.1, "{}", stalled.oldest_age);
        command(&server, "DELETE", "/faults/stop", r#"{"id": "any"}"#);
        for connection in &mut waiting {
            assert_eq!(connection.receive().unwrap().status, 200);
        }
    }
}

/// At its speed in the cut the service would take 1,000 s.
#[test]
fn a_service_that_began_in_a_deep_cut_ends_soon_after_it() {
    let server = start(limited(1, 100.0));
    let cut = r#"{"name": "cut", "fault": {"kind": "capacity", "to": 0.00001}}"#;
    command(&server, "POST", "/faults", cut);
    let mut connection = Connection::open(server.data_addr());
    connection.send("GET", "/orders/1", "", "");
    wait_for("it is in service", || state(&server).in_service == 1);
    command(&server, "DELETE", "/faults/cut", r#"{"id": "any"}"#);
    assert_eq!(connection.receive().unwrap().status, 200);
}

#[test]
fn commands_speak_wall_time_and_reset_puts_everything_back() {
    let scale = Scale::new(10.0).unwrap();
    let config = ServerConfig { limiter: limited(10, 100.0), scale, ..ServerConfig::default() };
    let server = Server::start(config).unwrap();
    let capacity = || state(&server).capacity.unwrap();
    assert!((capacity() - 1_000.0).abs() < 1e-6);
    assert_eq!(state(&server).speed, 10.0);
    command(&server, "PATCH", "/limiter", r#"{"capacity": 500, "queue_limit": 7}"#);
    assert!((capacity() - 500.0).abs() < 1e-6);
    assert_eq!(state(&server).limiter["queue_limit"], 7);
    command(&server, "POST", "/levers/admit", r#"{"share": "10%"}"#);
    assert_eq!(state(&server).admitted, 0.1);
    command(&server, "POST", "/reset", "");
    assert!((capacity() - 1_000.0).abs() < 1e-6);
    let after = state(&server);
    assert_eq!((after.admitted, &after.limiter["queue_limit"]), (1.0, &"unbounded".into()));
}

#[test]
fn twenty_thousand_connections_do_not_delay_the_control_plane() {
    let server = start(limited(1, 1.0));
    let mut crowd = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "faults::crowd", "--ignored", "--nocapture"])
        .env("GOODPUT_TEST_CROWD", server.data_addr().to_string())
        .stdout(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(crowd.stdout.take().unwrap()).lines();
    let opened = lines.find_map(|line| line.unwrap().strip_prefix("opened ").map(str::to_owned));
    let opened: u64 = opened.unwrap().parse().unwrap();
    assert!(opened >= 15_000, "only {opened} connections could be opened");
    let mut connection = Connection::open(server.control_addr());
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let begun = Instant::now();
        assert_eq!(connection.get("/state", "").status, 200);
        slowest = slowest.max(begun.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    }
    // What an idle machine does in a millisecond; a loaded one must not fail for that.
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    assert!(state(&server).counters.received > 0);
    command(&server, "POST", "/levers/restart", "");
    assert_eq!(state(&server).restarts, 1);
    drop(crowd.stdin.take());
    crowd.wait().unwrap();
    // Also what the crowd left behind does not keep the server from answering.
    command(&server, "PATCH", "/limiter", r#"{"capacity": "unlimited"}"#);
    assert_eq!(get(&server, "/orders/1").status, 200);
}

/// Not a test of its own: the crowd of the test above, in a process whose files are its own. Every
/// tenth connection has a request on it; all stay open until the parent is done.
#[tokio::test]
#[ignore = "run by twenty_thousand_connections_do_not_delay_the_control_plane"]
async fn crowd() {
    let Ok(addr) = std::env::var("GOODPUT_TEST_CROWD") else { return };
    let addr: SocketAddr = addr.parse().unwrap();
    let mut connections = Vec::new();
    while let Ok(mut stream) = connect(connections.len(), addr).await {
        if connections.len() % 10 == 0 {
            stream.write_all(b"GET /orders/1 HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        }
        connections.push(stream);
        if connections.len() == 20_000 {
            break;
        }
    }
    println!("\nopened {}", connections.len());
    // Ends with the parent's end of the pipe.
    let _ = std::io::stdin().lines().next();
}

/// Connects from one of ten addresses: the kernel is slow to find a free port among few.
async fn connect(number: usize, addr: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    let source = Ipv4Addr::new(127, 0, 1, 1 + (number % 10) as u8);
    socket.bind(SocketAddr::from((source, 0)))?;
    let connecting = socket.connect(addr);
    tokio::time::timeout(Duration::from_secs(5), connecting).await?
}
