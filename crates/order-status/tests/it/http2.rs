//! The data plane over HTTP/2 with prior knowledge.

use std::time::Duration;

use crate::common::{limited, start, state};
use bytes::Bytes;
use goodput_test_support::wait_for;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

#[tokio::test]
async fn many_requests_share_a_connection_and_a_reset_is_a_disconnect() {
    let server = start(limited(8, 16.0));
    let stream = tokio::net::TcpStream::connect(server.data_addr()).await.unwrap();
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = |path: &str| {
        let uri = format!("http://{}{path}", server.data_addr());
        hyper::Request::get(uri).body(Empty::<Bytes>::new()).unwrap()
    };
    let answers: Vec<_> = (1..=16)
        .map(|id| {
            let mut sender = sender.clone();
            let request = request(&format!("/orders/{id}"));
            tokio::spawn(async move {
                let answer = sender.send_request(request).await.unwrap();
                let status = answer.status();
                let body = answer.into_body().collect().await.unwrap().to_bytes();
                (id, status, serde_json::from_slice::<serde_json::Value>(&body).unwrap())
            })
        })
        .collect();
    for answer in answers {
        let (id, status, order) = answer.await.unwrap();
        assert_eq!((status.as_u16(), order["id"].as_u64()), (200, Some(id)));
    }
    let mut first = sender.clone();
    let abandoned =
        tokio::time::timeout(Duration::from_millis(10), first.send_request(request("/orders/1")));
    assert!(abandoned.await.is_err());
    let waited = tokio::task::spawn_blocking(move || {
        wait_for("it is served", || state(&server).counters.served == 17);
        state(&server).counters
    });
    let counters = waited.await.unwrap();
    assert!((counters.busy_wasted - 0.5).abs() < 1e-6, "{counters:?}");
}
