//! The client against a control plane, and against what is none.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use goodput_clock::{Rate, Ratio};
use goodput_control::api::{Cause, FaultRequest, LoadState, ResetScope};
use goodput_control::{ClientError, ControlClient, Guard, Token};
use goodput_policy::fault::FaultKind;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::LimiterPatch;
use goodput_test_support::{ToldServer, any_port, block_on, client, nobody};
use http::Method;

use crate::support::load;

#[test]
fn it_speaks_every_route_of_a_server() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        let cause = Cause::new("test", "every route");
        client.healthz().await.unwrap();
        let minute = Duration::from_mins(1);
        let request = FaultRequest::new("a/b c", FaultKind::Stall, minute, &cause);
        let installed = client.install(&request).await.unwrap();
        assert_eq!((installed.name.as_str(), installed.owner), ("a/b c", cause.owner()));
        let conflict = client.install(&request).await.unwrap_err();
        assert_eq!(conflict.status().unwrap().as_u16(), 409);
        assert!(conflict.to_string().contains("is in force already"), "{conflict}");
        client.renew("a/b c", &installed.id, Duration::from_mins(2), &cause).await.unwrap();
        assert_eq!(client.faults().await.unwrap().len(), 1);
        let removal = client.remove("a/b c", &installed.id, &cause).await.unwrap();
        assert_eq!(
            (removal.removed.unwrap().name.as_str(), removal.state.capacity),
            ("a/b c", Some(100.0))
        );
        let patch = LimiterPatch { slots: Some(4), ..LimiterPatch::default() };
        assert_eq!(client.patch_limiter(&patch, &cause).await.unwrap().slots, 4);
        for lever in [
            Lever::ShedQueue,
            Lever::Restart,
            Lever::Limiter(patch),
            Lever::Admit { share: Ratio::ONE, hold: None, ramp: Duration::ZERO },
        ] {
            let pulled = client.pull_at_server(&lever, &cause).await.unwrap();
            let did = if matches!(lever, Lever::Limiter(_)) {
                "the limiter now has slots = 4".to_owned()
            } else {
                format!("pulled {}", lever.name())
            };
            assert_eq!(pulled.did, did);
        }
        let of_the_load = Lever::Retries { layer: None, retries: 0 };
        let error = client.pull_at_server(&of_the_load, &cause).await.unwrap_err();
        assert!(error.to_string().contains("acts on a load generator"), "{error}");
        assert_eq!(client.reset_server(ResetScope::Own, &cause).await.unwrap().slots, 10);
        assert_eq!(client.server_state().await.unwrap().role, "order-status");
        assert!(client.metrics().await.unwrap().contains("rig_stalled 0"));
    });
    assert!(server.audit.entries().iter().all(|entry| entry.by == "test"));
}

#[test]
fn it_speaks_every_route_of_a_load_generator() {
    let (listener, _) = load();
    block_on(async {
        let client = client(listener.addr());
        let cause = Cause::default();
        let rate = Lever::Rate { rate: Rate::new(20.0).unwrap() };
        let state = client.pull_at_load(&rate, &cause).await.unwrap().state;
        assert!((state.rate - 20.0).abs() < 1e-9);
        let ask =
            async |method, path| client.ask::<LoadState>(method, &[path], None).await.unwrap();
        assert!(ask(Method::POST, "halt").await.halted);
        assert!(!ask(Method::POST, "resume").await.halted);
        assert!((ask(Method::POST, "reset").await.rate - 80.0).abs() < 1e-9);
        assert_eq!(ask(Method::GET, "state").await.scenario, "test");
    });
}

#[test]
fn it_presents_its_token() {
    let token = || Token::new("a-token-of-some-length").unwrap();
    let server = ToldServer::start_with(Guard::loopback().with_token(token()));
    let address = server.addr().to_string();
    block_on(async {
        let stranger = ControlClient::new(&address, None).unwrap();
        let refused = stranger.server_state().await.unwrap_err();
        assert_eq!(refused.status().unwrap().as_u16(), 401);
        ControlClient::new(&address, Some(token())).unwrap().server_state().await.unwrap();
    });
}

#[test]
fn a_port_where_nobody_listens_refuses() {
    let addr = nobody();
    let error = block_on(async { client(addr).server_state().await.unwrap_err() });
    assert!(matches!(error, ClientError::Refused(_)), "{error:?}");
    assert!(error.to_string().contains(&addr.to_string()), "{error}");
}

#[test]
fn silence_is_given_up_after_the_time_out() {
    let silent = TcpListener::bind(any_port()).unwrap();
    let addr = silent.local_addr().unwrap();
    let began = Instant::now();
    let error = block_on(async {
        client(addr).with_timeout(Duration::from_millis(200)).server_state().await.unwrap_err()
    });
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(2));
}

/// What a foreign process answers, and what the client is to make of it.
type Case = (&'static [u8], fn(&ClientError) -> bool);

#[test]
fn garbage_a_reset_and_foreign_answers_are_told_apart() {
    let cases: [Case; 5] = [
        (b"I am no server of HTTP\r\n\r\n", |e| matches!(e, ClientError::Garbage { .. })),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", |e| {
            matches!(e, ClientError::Garbage { .. })
        }),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno", |e| {
            matches!(e, ClientError::Garbage { .. })
        }),
        (b"", |e| matches!(e, ClientError::Unreachable { .. })),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            |e| matches!(e, ClientError::Garbage { .. }),
        ),
    ];
    for (answer, expected) in cases {
        let foreign = TcpListener::bind(any_port()).unwrap();
        let addr = foreign.local_addr().unwrap();
        let asked = std::thread::spawn(move || {
            let (mut stream, _) = foreign.accept().unwrap();
            let mut head = [0; 1024];
            let _ = stream.read(&mut head).unwrap();
            stream.write_all(answer).unwrap();
            // A command is sent once: no second connection comes.
            drop(stream);
            foreign.set_nonblocking(true).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            foreign.accept().is_err()
        });
        let error = block_on(async { client(addr).server_state().await.unwrap_err() });
        assert!(expected(&error), "{error:?}");
        assert!(asked.join().unwrap(), "it asked twice");
    }
}
