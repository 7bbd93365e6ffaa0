//! The data plane over real sockets.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Connection, command, get, limited, metrics, series, start, state};
use goodput_order_status::{Bounds, Server, ServerConfig};
use goodput_policy::limiter::{LimiterConfig, OnDisconnect, QueueLimit, QueueOrder};
use goodput_test_support::wait_for;

#[test]
fn an_order_is_answered_from_the_book_and_again_the_same() {
    let server = start(LimiterConfig::default());
    let first = get(&server, "/orders/1042");
    assert_eq!(first.status, 200);
    assert_eq!(first.headers["content-type"], "application/json");
    let order = first.json();
    assert_eq!(order["id"], 1042);
    let items = order["items"].as_array().unwrap();
    let cost = |item: &serde_json::Value| {
        item["quantity"].as_u64().unwrap() * item["price_cents"].as_u64().unwrap()
    };
    assert_eq!(order["total_cents"].as_u64().unwrap(), items.iter().map(cost).sum::<u64>());
    assert_eq!(get(&server, "/orders/1042").body, first.body);
}

#[test]
fn a_list_is_bounded() {
    let server = start(LimiterConfig::default());
    let count = |path| get(&server, path).json()["orders"].as_array().unwrap().len();
    assert_eq!(count("/orders"), 20);
    assert_eq!(count("/orders?limit=3"), 3);
    assert_eq!(count("/orders?limit=1000"), 1000);
}

#[test]
fn each_bad_request_gets_its_status_the_shape_and_an_example() {
    let server = start(LimiterConfig::default());
    let mut connection = Connection::open(server.data_addr());
    for (path, headers, status, said) in [
        ("/orders/abc", "", 400, "/orders/1042"),
        ("/orders/-1", "", 400, "/orders/1042"),
        ("/orders/99999999999999999999", "", 400, "/orders/1042"),
        ("/orders/0", "", 404, "from 1 to 100000"),
        ("/orders/100001", "", 404, "from 1 to 100000"),
        ("/orders?limit=1001", "", 400, "limit=20"),
        ("/orders?limit=x", "", 400, "limit=20"),
        ("/orders?page=2", "", 400, "limit=20"),
        ("/nothing", "", 404, "/orders/1042"),
        ("/metrics", "", 404, "/orders/1042"),
        ("/orders/1", "grpc-timeout: soon\r\n", 400, "grpc-timeout"),
        ("/orders/1", "grpc-timeout: 123456789m\r\n", 400, "grpc-timeout"),
        ("/orders/1", "x-envoy-expected-rq-timeout-ms: 1.5\r\n", 400, "x-envoy-expected"),
        ("/orders/1", "x-envoy-attempt-count: 0\r\n", 400, "x-envoy-attempt-count"),
    ] {
        let reply = connection.get(path, headers);
        assert_eq!(reply.status, status, "{path} {headers}: {}", reply.body);
        assert!(reply.error().contains(said), "{path} {headers}: {}", reply.body);
    }
    connection.send("POST", "/orders/1", "", "{}");
    let reply = connection.receive().unwrap();
    assert_eq!(reply.status, 405);
    assert!(reply.headers["allow"].contains("GET"), "{:?}", reply.headers);
    assert!(reply.error().contains("POST"));
    let counters = state(&server).counters;
    assert_eq!((counters.received, counters.errors, counters.served), (15, 15, 0));
}

#[test]
fn what_is_too_large_is_refused_in_the_common_shape() {
    let server = start(LimiterConfig::default());
    let header = format!("x-large: {}\r\n", "a".repeat(20_000));
    let reply = Connection::open(server.data_addr()).get("/orders/1", &header);
    assert_eq!(reply.status, 431);
    assert!(reply.error().contains("16384"), "{}", reply.body);

    let mut connection = Connection::open(server.data_addr());
    connection.write("GET /orders/1 HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\n");
    let reply = connection.receive().unwrap();
    assert_eq!(reply.status, 413);
    assert!(reply.error().contains("1048576"), "{}", reply.body);
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let bounds = Bounds { body_timeout: Duration::from_millis(50), ..Bounds::default() };
    let server = Server::start(ServerConfig { bounds, ..ServerConfig::default() }).unwrap();
    let mut connection = Connection::open(server.data_addr());
    connection.write("GET /orders/1 HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{");
    let reply = connection.receive().unwrap();
    assert_eq!(reply.status, 408);
    assert!(reply.error().contains("50 ms"), "{}", reply.body);
    assert!(connection.is_closed(), "what comes late is no request");
    assert_eq!(state(&server).counters.errors, 1);
}

#[test]
fn the_counters_equal_what_clients_saw_to_the_request() {
    for workers in [1, 2] {
        let limiter = LimiterConfig { queue_limit: QueueLimit::Bounded(3), ..limited(2, 400.0) };
        let workers = workers.try_into().unwrap();
        let config = ServerConfig { limiter, workers, ..ServerConfig::default() };
        compare_counters(&Server::start(config).unwrap());
    }
}

fn compare_counters(server: &Server) {
    let clients: Vec<_> = (0..12)
        .map(|client| {
            let addr = server.data_addr();
            thread::spawn(move || {
                let mut connection = Connection::open(addr);
                let mut seen = [0_u64; 4];
                for request in 0..50 {
                    let id = if request % 10 == 9 { 200_000 } else { client * 50 + request + 1 };
                    let reply = connection.get(&format!("/orders/{id}"), "");
                    let kind = match reply.status {
                        200 => 0,
                        503 => 1,
                        404 => 2,
                        _ => 3,
                    };
                    if kind == 1 {
                        assert_eq!(reply.headers["x-goodput-reason"], "queue-full");
                        let seconds: u64 = reply.headers["retry-after"].parse().unwrap();
                        assert!((1..=60).contains(&seconds));
                        reply.error();
                    }
                    seen[kind] += 1;
                }
                seen
            })
        })
        .collect();
    let mut seen = [0; 4];
    for client in clients {
        client.join().unwrap().iter().zip(&mut seen).for_each(|(count, sum)| *sum += count);
    }
    let state = state(server);
    let counters = &state.counters;
    assert_eq!(seen.iter().sum::<u64>(), 600);
    assert!(seen[0] > 0 && seen[1] > 0 && seen[2] > 0 && seen[3] == 0, "{seen:?}");
    assert_eq!(counters.received, 600);
    assert_eq!(counters.served, seen[0]);
    assert_eq!(counters.refused["queue-full"], seen[1]);
    assert_eq!(counters.errors, seen[2]);
    assert_eq!(series(server, "rig_server_requests_total{outcome=\"ok\"}"), seen[0] as f64);
    assert_eq!(series(server, "rig_server_requests_total{outcome=\"shed\"}"), seen[1] as f64);
    // Both the found and the missing held a slot for 5 ms.
    let busy = counters.busy_useful + counters.busy_wasted;
    assert!((busy - (seen[0] + seen[2]) as f64 * 0.005).abs() < 1e-6, "{busy}");
    let delays: u64 = state.queue_delay.iter().map(|(_, count)| count).sum();
    assert_eq!(delays, seen[0] + seen[2]);
}

/// Sends `count` requests and hangs up before any is answered.
fn abandon(server: &Server, count: usize) {
    let connections: Vec<_> = (0..count)
        .map(|id| {
            let mut connection = Connection::open(server.data_addr());
            connection.send("GET", &format!("/orders/{}", id + 1), "", "");
            connection
        })
        .collect();
    wait_for("all have arrived", || state(server).counters.received == count as u64);
    drop(connections);
}

#[test]
fn an_abandoned_request_is_still_served_and_counts_as_wasted() {
    let server = start(limited(1, 10.0));
    abandon(&server, 4);
    wait_for("all are served", || state(&server).counters.served == 4);
    let counters = state(&server).counters;
    assert_eq!(counters.cancelled, 0);
    assert!((counters.busy_wasted - 0.4).abs() < 1e-6, "{counters:?}");
    assert_eq!(counters.busy_useful, 0.0);
    check_nothing_is_left(&server);
}

/// Handlers that were dropped leave no gauge behind.
fn check_nothing_is_left(server: &Server) {
    for gauge in ["requests_in_flight", "requests_queued", "queue_oldest_age_seconds"] {
        assert_eq!(series(server, &format!("rig_server_{gauge}")), 0.0, "{gauge}");
    }
}

#[test]
fn with_cancel_an_abandoned_request_leaves_the_queue() {
    let server = start(LimiterConfig { on_disconnect: OnDisconnect::Cancel, ..limited(1, 4.0) });
    abandon(&server, 4);
    wait_for("three have left", || state(&server).counters.cancelled == 3);
    assert_eq!(state(&server).queued, 0);
    wait_for("the first is served", || state(&server).counters.served == 1);
    assert_eq!(series(&server, "rig_server_requests_total{outcome=\"cancelled\"}"), 3.0);
    check_nothing_is_left(&server);
}

#[test]
fn work_that_cannot_meet_its_deadline_is_dropped_with_504() {
    let server = start(LimiterConfig { drop_expired: true, ..limited(1, 10.0) });
    let mut patient = Connection::open(server.data_addr());
    patient.send("GET", "/orders/1", "", "");
    wait_for("it is in service", || state(&server).in_service == 1);
    // Service takes 100 ms and the margin is another: it cannot be done in 150 ms.
    let mut hasty = Connection::open(server.data_addr());
    let reply = hasty.get("/orders/2", "grpc-timeout: 150m\r\n");
    assert_eq!(reply.status, 504);
    assert_eq!(reply.headers["x-goodput-reason"], "expired");
    reply.error();
    let reply = hasty.get("/orders/2", "x-envoy-expected-rq-timeout-ms: 5000\r\n");
    assert_eq!(reply.status, 200);
    assert_eq!(patient.receive().unwrap().status, 200);
    assert_eq!(state(&server).counters.refused["expired"], 1);
}

#[test]
fn a_deadline_counts_from_the_arrival_and_not_from_the_end_of_the_body() {
    let server = start(LimiterConfig { drop_expired: true, ..limited(1, 1_000.0) });
    let mut connection = Connection::open(server.data_addr());
    connection.write(
        "GET /orders/1 HTTP/1.1\r\nhost: x\r\ngrpc-timeout: 100m\r\ncontent-length: 2\r\n\r\n{",
    );
    wait_for("the head has arrived", || state(&server).counters.received == 1);
    thread::sleep(Duration::from_millis(200));
    connection.write("}");
    let reply = connection.receive().unwrap();
    assert_eq!((reply.status, reply.headers["x-goodput-reason"].as_str()), (504, "expired"));
}

#[test]
fn lifo_serves_the_last_first() {
    let server = start(LimiterConfig { queue: QueueOrder::Lifo, ..limited(1, 5.0) });
    let addr = server.data_addr();
    let mut ends = Vec::new();
    let mut waiting = Vec::new();
    for id in 1..=4_u64 {
        let mut connection = Connection::open(addr);
        connection.send("GET", &format!("/orders/{id}"), "", "");
        wait_for("it has arrived", || state(&server).counters.received == id);
        waiting.push(thread::spawn(move || {
            assert_eq!(connection.receive().unwrap().status, 200);
            (Instant::now(), id)
        }));
    }
    for thread in waiting {
        ends.push(thread.join().unwrap());
    }
    ends.sort();
    let order: Vec<u64> = ends.into_iter().map(|(_, id)| id).collect();
    assert_eq!(order, [1, 4, 3, 2]);
}

#[test]
fn a_shed_queue_answers_503_with_the_reason() {
    let server = start(limited(1, 1.0));
    let mut connections: Vec<_> = (0..3)
        .map(|_| {
            let mut connection = Connection::open(server.data_addr());
            connection.send("GET", "/orders/1", "", "");
            connection
        })
        .collect();
    wait_for("two wait", || state(&server).queued == 2);
    command(&server, "POST", "/levers/shed-queue", "");
    let statuses: Vec<_> = connections.iter_mut().map(|c| c.receive().unwrap()).collect();
    let shed: Vec<_> = statuses.iter().filter(|reply| reply.status == 503).collect();
    assert_eq!(shed.len(), 2);
    for reply in shed {
        assert_eq!(reply.headers["x-goodput-reason"], "shed");
        assert!(reply.headers.contains_key("retry-after"));
    }
}

#[test]
fn admit_lets_a_share_in_and_ramps_back() {
    let server = start(LimiterConfig::default());
    let share = |count: usize| {
        let mut connection = Connection::open(server.data_addr());
        let admitted = (0..count).filter(|_| connection.get("/orders/1", "").status == 200).count();
        admitted as f64 / count as f64
    };
    command(&server, "POST", "/levers/admit", r#"{"share": "25%"}"#);
    let admitted = share(600);
    assert!((0.15..0.35).contains(&admitted), "{admitted}");
    assert_eq!(state(&server).admitted, 0.25);
    assert!(state(&server).counters.refused["not-admitted"] > 0);
    command(&server, "POST", "/levers/admit", r#"{"share": 0, "for": "50ms", "ramp": "100ms"}"#);
    wait_for("all traffic is back", || state(&server).admitted >= 1.0);
    assert_eq!(share(50), 1.0);
}

#[test]
fn a_restart_drops_queue_service_and_connections_and_serves_on() {
    let server = start(limited(1, 1.0));
    let mut idle = Connection::open(server.data_addr());
    idle.send("POST", "/orders/1", "", "{}");
    assert_eq!(idle.receive().unwrap().status, 405);
    let mut waiting: Vec<_> = (0..3)
        .map(|_| {
            let mut connection = Connection::open(server.data_addr());
            connection.send("GET", "/orders/1", "", "");
            connection
        })
        .collect();
    wait_for("they have arrived", || state(&server).queued == 2);
    let before = state(&server);
    command(&server, "POST", "/levers/restart", "");
    for connection in &mut waiting {
        assert!(connection.receive().is_none(), "an answer after a restart");
    }
    assert!(idle.is_closed());
    let after = state(&server);
    assert_eq!((after.queued, after.in_service, after.restarts), (0, 0, 1));
    assert_eq!(after.instance, before.instance);
    assert_eq!(after.counters.refused["restart"], 3);
    let begun = Instant::now();
    assert_eq!(get(&server, "/orders/1").status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn metrics_have_every_series_from_the_start() {
    let server = start(limited(3, 100.0));
    let text = metrics(&server);
    for series in [
        "rig_server_requests_received_total 0",
        "rig_server_requests_total{outcome=\"deadline_exceeded\"} 0",
        "rig_server_requests_shed_total{reason=\"queue-full\"} 0",
        "rig_server_busy_seconds_total{result=\"wasted\"} 0",
        "rig_server_capacity_slots 3",
        "rig_server_queue_capacity_requests +Inf",
        "rig_server_requests_queued 0",
        "rig_server_queue_oldest_age_seconds 0",
        "rig_server_queue_delay_seconds_count{admitted=\"false\"} 0",
        "rig_server_service_duration_seconds_count 0",
        "rig_fault_active{fault=\"stall\"} 0",
        "rig_fault_injections_total{fault=\"capacity\"} 0",
        "rig_phase{phase=\"baseline\"} 1",
        "rig_phase{phase=\"after\"} 0",
    ] {
        assert!(text.lines().any(|line| line == series), "no {series} in {text}");
    }
    assert!(text.contains("rig_build_info{"));
    assert!(text.contains("process_resident_memory_bytes"));
}

#[test]
fn what_is_not_http_is_refused_in_the_common_shape() {
    let server = start(LimiterConfig::default());
    let many = "x-many: 1\r\n".repeat(200);
    for (text, status) in [
        ("garbage\r\n\r\n".to_owned(), 400),
        (format!("GET /orders/1 HTTP/1.1\r\nhost: x\r\n{many}\r\n"), 431),
        (format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(70_000)), 414),
    ] {
        let mut connection = Connection::open(server.data_addr());
        connection.write(&text);
        let reply = connection.receive().unwrap();
        assert_eq!(reply.status, status);
        reply.error();
        assert!(connection.is_closed());
    }
    assert_eq!(get(&server, "/orders/1").status, 200);
}
