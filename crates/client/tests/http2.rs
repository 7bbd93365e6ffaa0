//! The client over HTTP/2.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use goodput_client::{
    Alarm, Client, ClientConfig, Protocol, Request, Target, Unobserved, WallClock,
};
use goodput_clock::{Rate, Scale, Seed, Timestamp};
use goodput_policy::attempt::{FailureClass, RetryOn};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::pool::PoolOrder;
use goodput_policy::retry::{BudgetScope, LayerConfig, Outcome};
use http::Response;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicUsize,
    running: AtomicUsize,
    reset: AtomicUsize,
}

/// Counts a handler that is dropped before its answer: its stream was reset.
struct Running {
    counts: Arc<Counts>,
    answered: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::SeqCst);
        if !self.answered {
            self.counts.reset.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn handle(
    request: http::Request<Incoming>,
    counts: Arc<Counts>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    counts.running.fetch_add(1, Ordering::SeqCst);
    let mut running = Running { counts, answered: false };
    match request.uri().path() {
        "/silent" => std::future::pending().await,
        "/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
        _ => {}
    }
    running.answered = true;
    Ok(Response::new(Full::from("ok")))
}

async fn server() -> (SocketAddr, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let shared = Arc::clone(&counts);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            shared.accepted.fetch_add(1, Ordering::SeqCst);
            let counts = Arc::clone(&shared);
            let service = service_fn(move |request| handle(request, Arc::clone(&counts)));
            tokio::spawn(
                hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    (addr, counts)
}

fn client(addr: SocketAddr, timeout: Duration, streams: u32) -> Arc<Client<Unobserved>> {
    let config = ClientConfig {
        target: Target::from(addr),
        protocol: Protocol::Http2 { streams },
        clients: 1,
        layers: vec![LayerConfig {
            name: "client".to_owned(),
            timeout: Some(timeout),
            retries: 0,
            backoff: Backoff::default(),
            retry_on: RetryOn::default(),
            budget: BudgetConfig::Off,
            budget_scope: BudgetScope::Client,
        }],
        pool: PoolOrder::LeastLoaded,
        max_connections: 10,
        connect_rate: Rate::new(1000.0).unwrap(),
        seed: Seed(1),
        keep_answers: Some(100),
    };
    let client =
        Arc::new(Client::new(config, WallClock::new(Instant::now(), Scale::REAL), Unobserved));
    let driven = Arc::clone(&client);
    let alarm = Alarm::new().unwrap();
    tokio::spawn(async move { driven.drive(alarm).await });
    client
}

async fn get(client: &Client<Unobserved>, path: &'static str) -> Outcome {
    let request = Request::get(path.try_into().unwrap());
    client.call(0, Timestamp::MAX, request).await.outcome
}

#[tokio::test]
async fn a_timeout_resets_the_stream_and_the_connection_lives_on() {
    let (addr, counts) = server().await;
    let client = client(addr, Duration::from_millis(200), 100);
    assert_eq!(get(&client, "/").await, Outcome::Good);
    let outcome = get(&client, "/silent").await;
    assert!(matches!(outcome, Outcome::Failed { class: FailureClass::Timeout, .. }), "{outcome:?}");
    let give_up = Instant::now() + Duration::from_secs(10);
    while counts.reset.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < give_up, "the server never saw the stream reset");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(get(&client, "/").await, Outcome::Good);
    assert_eq!(counts.accepted.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn requests_share_connections_up_to_their_streams() {
    let (addr, counts) = server().await;
    let client = client(addr, Duration::from_secs(20), 4);
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let client = Arc::clone(&client);
            tokio::spawn(async move { get(&client, "/slow").await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), Outcome::Good);
    }
    assert_eq!(counts.accepted.load(Ordering::SeqCst), 3);
    assert_eq!(client.status().attempts_in_flight, 0);
}
