//! The client against a server that behaves as each request asks it to.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use goodput_client::{
    Alarm, CallEnd, Client, ClientConfig, Observer, Protocol, Request, Target, Unobserved,
    WallClock,
};
use goodput_clock::{Rate, Scale, Seed, Timestamp};
use goodput_policy::attempt::{FailureClass, Reply, RetryOn, Transport};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::pool::PoolOrder;
use goodput_policy::retry::{BudgetScope, LayerConfig, Outcome};
use goodput_test_support::{PathServer, eventually};

fn layer(timeout: Duration, retries: u32) -> LayerConfig {
    LayerConfig {
        name: "client".to_owned(),
        timeout: Some(timeout),
        retries,
        backoff: Backoff { base: Duration::from_millis(5), ..Backoff::default() },
        retry_on: RetryOn::default(),
        budget: BudgetConfig::Off,
        budget_scope: BudgetScope::Client,
    }
}

fn config(target: Target) -> ClientConfig {
    ClientConfig {
        target,
        protocol: Protocol::Http1,
        clients: 1,
        layers: vec![layer(LONG, 0)],
        pool: PoolOrder::Lifo,
        max_connections: 1000,
        connect_rate: Rate::new(1e5).unwrap(),
        seed: Seed(1),
        keep_answers: Some(1000),
    }
}

fn start<O: Observer>(config: ClientConfig, observer: O) -> Arc<Client<O>> {
    let clock = WallClock::new(Instant::now(), Scale::REAL);
    let client = Arc::new(Client::new(config, clock, observer));
    let driven = Arc::downgrade(&client);
    let alarm = Alarm::new().unwrap();
    tokio::spawn(async move {
        if let Some(client) = driven.upgrade() {
            client.drive(alarm).await;
        }
    });
    client
}

fn client(server: &PathServer, change: impl FnOnce(&mut ClientConfig)) -> Arc<Client<Unobserved>> {
    let mut config = config(Target::from(server.addr));
    change(&mut config);
    start(config, Unobserved)
}

async fn get(client: &Arc<Client<Unobserved>>, path: &str) -> CallEnd {
    client.call(0, Timestamp::MAX, Request::get(path.try_into().unwrap())).await
}

fn begin(client: &Arc<Client<Unobserved>>, path: &str) -> tokio::task::JoinHandle<CallEnd> {
    let (client, path) = (Arc::clone(client), path.to_owned());
    tokio::spawn(async move { get(&client, &path).await })
}

fn class(end: &CallEnd) -> Option<FailureClass> {
    match end.outcome {
        Outcome::Failed { class, .. } => Some(class),
        Outcome::Good | Outcome::Late => None,
    }
}

fn connection(end: &CallEnd) -> usize {
    std::str::from_utf8(&end.answer.as_ref().unwrap().body).unwrap().parse().unwrap()
}

#[tokio::test]
async fn each_answer_and_each_silence_has_its_class() {
    let server = PathServer::start();
    let client = client(&server, |config| config.layers = vec![layer(SHORT, 0)]);
    for (path, expected) in [
        ("/status/200", None),
        ("/status/204", None),
        ("/status/429", Some(FailureClass::Overloaded)),
        ("/status/503", Some(FailureClass::Overloaded)),
        ("/status/504", Some(FailureClass::Expired)),
        ("/status/404", Some(FailureClass::Error)),
        ("/status/500", Some(FailureClass::Error)),
        ("/status/302", Some(FailureClass::Error)),
        ("/garbage", Some(FailureClass::Error)),
        ("/truncated", Some(FailureClass::Connect)),
        ("/reset", Some(FailureClass::Connect)),
        ("/silent", Some(FailureClass::Timeout)),
        ("/body/1001", Some(FailureClass::Error)),
    ] {
        let end = get(&client, path).await;
        assert_eq!(class(&end), expected, "{path}");
        assert_eq!((end.attempts, end.unsent), (1, 0), "{path}");
    }
    assert_eq!(client.status().requests_in_flight, 0);
    assert_eq!(client.status().attempts_in_flight, 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_refuses_and_nothing_is_left() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = gone.local_addr().unwrap();
    drop(gone);
    let client = start(config(Target::from(addr)), Unobserved);
    let end = get(&client, "/").await;
    assert_eq!(class(&end), Some(FailureClass::Connect));
    assert_eq!(end.last.1, Reply::None(Transport::Refused));
    assert_eq!(client.status().connections, 0);
}

#[tokio::test]
async fn who_asks_too_much_is_retried_as_who_meets_an_overloaded_server() {
    let server = PathServer::start();
    let client = client(&server, |config| {
        config.layers = vec![layer(LONG, 2)];
        config.layers[0].retry_on = [FailureClass::Overloaded].into_iter().collect();
    });
    for path in ["/status/429", "/status/503"] {
        let end = get(&client, path).await;
        assert_eq!((class(&end), end.attempts), (Some(FailureClass::Overloaded), 3), "{path}");
    }
    assert_eq!(get(&client, "/status/500").await.attempts, 1);
}

#[tokio::test]
async fn the_answer_is_handed_back_whole() {
    let server = PathServer::start();
    let client = client(&server, |_| {});
    let answer = get(&client, "/body/1000").await.answer.unwrap();
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 1000));
    assert_eq!(answer.headers["content-length"], "1000");
    assert_eq!(get(&client, "/status/503").await.answer.unwrap().status.as_u16(), 503);
}

#[tokio::test]
async fn a_timeout_closes_the_connection() {
    let server = PathServer::start();
    let client = client(&server, |config| config.layers = vec![layer(SHORT, 0)]);
    let start = Instant::now();
    let end = get(&client, "/silent").await;
    assert_eq!(class(&end), Some(FailureClass::Timeout));
    assert!(start.elapsed() >= SHORT && start.elapsed() < LONG);
    eventually("the server sees the connection closed", || server.open() == 0).await;
    assert_eq!(get(&client, "/").await.outcome, Outcome::Good);
    assert_eq!(server.accepted(), 2);
}

#[tokio::test]
async fn connections_are_kept_and_a_call_that_is_dropped_closes_its_own() {
    let server = PathServer::start();
    let client = client(&server, |_| {});
    for _ in 0..20 {
        assert_eq!(get(&client, "/").await.outcome, Outcome::Good);
    }
    assert_eq!(server.accepted(), 1);
    let call = begin(&client, "/silent");
    eventually("the request has arrived", || server.seen().len() == 21).await;
    call.abort();
    eventually("the connection is closed", || server.open() == 0).await;
    assert_eq!(client.status().requests_in_flight, 0);
    assert_eq!(client.status().attempts_in_flight, 0);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_while_idle_is_noticed_before_use() {
    let server = PathServer::start();
    let client = client(&server, |_| {});
    for round in 0..5 {
        let path = if round % 2 == 0 { "/close" } else { "/last" };
        let end = get(&client, path).await;
        assert_eq!((end.outcome, end.attempts), (Outcome::Good, 1));
        eventually("the close has been seen", || client.status().connections == 0).await;
    }
    assert_eq!(server.accepted(), 5);
}

#[tokio::test]
async fn attempts_are_numbered_and_say_how_much_time_is_left() {
    let server = PathServer::start();
    let client = client(&server, |config| {
        config.layers = vec![layer(Duration::from_secs(2), 2)];
    });
    let end = get(&client, "/status/503").await;
    assert_eq!((class(&end), end.attempts), (Some(FailureClass::Overloaded), 3));
    let seen = server.seen();
    let numbers: Vec<_> = seen.iter().map(|seen| seen.attempt.as_str()).collect();
    assert_eq!(numbers, ["1", "2", "3"]);
    for seen in seen {
        let left = goodput_policy::deadline::parse_grpc_timeout(&seen.timeout).unwrap();
        assert!(left > Duration::from_secs(1) && left <= Duration::from_secs(2), "{seen:?}");
    }
}

/// Opens three connections whose answers come back in the order 2, 3, 1, then asks which ones serve
/// three requests one after another.
async fn order_of_use(order: PoolOrder) -> Vec<usize> {
    let server = PathServer::start();
    let client = client(&server, |config| config.pool = order);
    let mut calls = Vec::new();
    for (count, millis) in [(1, 400), (2, 100), (3, 250)] {
        calls.push(begin(&client, &format!("/slow/{millis}")));
        eventually("it has arrived", || server.seen().len() == count).await;
    }
    for call in calls {
        assert_eq!(call.await.unwrap().outcome, Outcome::Good);
    }
    let mut used = Vec::new();
    for _ in 0..3 {
        used.push(connection(&get(&client, "/").await));
    }
    used
}

#[tokio::test]
async fn idle_connections_are_used_in_the_order_of_the_pool() {
    assert_eq!(order_of_use(PoolOrder::Lifo).await, [1, 1, 1]);
    assert_eq!(order_of_use(PoolOrder::Fifo).await, [2, 3, 1]);
    assert_eq!(order_of_use(PoolOrder::LeastLoaded).await, [2, 3, 1]);
}

#[tokio::test]
async fn no_more_connections_are_open_than_the_cap_allows_and_requests_wait_in_line() {
    let server = PathServer::start();
    let client = client(&server, |config| config.max_connections = 2);
    let calls: Vec<_> = (0..9).map(|_| begin(&client, "/slow/20")).collect();
    for call in calls {
        let end = call.await.unwrap();
        assert_eq!((end.outcome, end.unsent), (Outcome::Good, 0));
    }
    assert_eq!((server.accepted(), server.most_open()), (2, 2));
}

#[tokio::test]
async fn new_connections_keep_to_their_rate() {
    let server = PathServer::start();
    let client = client(&server, |config| config.connect_rate = Rate::new(10.0).unwrap());
    let start = Instant::now();
    // Ten may connect at once; no connection comes back before the others have theirs.
    let calls: Vec<_> = (0..15).map(|_| begin(&client, "/slow/2000")).collect();
    eventually("all have a connection", || server.accepted() == 15).await;
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(480), "{took:?}");
    for call in calls {
        assert_eq!(call.await.unwrap().outcome, Outcome::Good);
    }
}

#[tokio::test]
async fn an_attempt_that_a_cap_keeps_from_a_connection_is_unsent() {
    let server = PathServer::start();
    let client = client(&server, |config| {
        config.max_connections = 1;
        config.layers = vec![layer(Duration::from_secs(1), 0)];
    });
    let held = begin(&client, "/slow/100");
    eventually("it is held", || server.seen().len() == 1).await;
    let waited = get(&client, "/").await;
    assert_eq!((waited.outcome, waited.unsent), (Outcome::Good, 0));
    assert_eq!(held.await.unwrap().outcome, Outcome::Good);

    let held = begin(&client, "/slow/700");
    eventually("it is held", || server.seen().len() == 3).await;
    let in_line: Vec<_> = (0..3).map(|_| begin(&client, "/slow/700")).collect();
    assert_eq!(held.await.unwrap().outcome, Outcome::Good);
    for call in in_line {
        // One of the three has the connection at last, but for less than half of its time.
        let end = call.await.unwrap();
        assert_eq!((class(&end), end.unsent), (Some(FailureClass::Timeout), 1));
    }
    assert_eq!(server.accepted(), 1);
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_its_place_to_the_next_in_line() {
    let server = PathServer::start();
    let client = client(&server, |config| config.max_connections = 1);
    let held = begin(&client, "/silent");
    eventually("it is held", || server.seen().len() == 1).await;
    let next = begin(&client, "/");
    eventually("it stands in line", || client.status().attempts_in_flight == 2).await;
    held.abort();
    let end = next.await.unwrap();
    assert_eq!((end.outcome, end.unsent), (Outcome::Good, 0));
}

#[derive(Clone, Default)]
struct Open(Arc<AtomicUsize>, Arc<AtomicUsize>);

impl Observer for Open {
    fn on_connected(&mut self, _at: Timestamp) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn on_disconnected(&mut self, _at: Timestamp) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn every_connection_that_is_told_open_is_told_closed() {
    let server = PathServer::start();
    let told = Open::default();
    let mut config = config(Target::from(server.addr));
    config.layers = vec![layer(SHORT, 1)];
    let client = start(config, told.clone());
    for path in ["/", "/silent", "/reset", "/garbage", "/truncated", "/last", "/close"] {
        client.call(0, Timestamp::MAX, Request::get(path.try_into().unwrap())).await;
    }
    eventually("all are closed", || client.status().connections == 0).await;
    assert_eq!(told.0.load(Ordering::SeqCst), server.accepted());
    assert_eq!(told.1.load(Ordering::SeqCst), server.accepted());
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);
