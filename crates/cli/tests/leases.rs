//! `goodput fault cut` that is killed, paused or cut off: the server gives the capacity back within
//! the lease and a second.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::time::{Duration, Instant};

use common::{Running, wait_until};
use goodput_control::ControlClient;
use goodput_control::api::ServerState;
use goodput_test_support::Wire;

/// The lease of faults that the command line holds.
const LEASE: Duration = Duration::from_secs(10);

/// A server, and a command that holds a cut of it.
struct Held {
    server: Running,
    cut: Running,
    wire: Wire,
}

impl Held {
    /// Starts both, and waits until the fault's lease has been renewed once.
    fn start(dir: &std::path::Path) -> Self {
        let server = Running::server(dir);
        let control = server.url("control");
        let wire = Wire::to(control.trim_start_matches("http://").parse().unwrap());
        let near = format!("http://{}", wire.addr);
        let cut = ["fault", "cut", "--to", "40%", "--for", "5m", "--control", &near];
        let held = Self { cut: Running::start(dir, &cut, 0), server, wire };
        wait_until("the lease has been renewed", || {
            let state = held.state();
            let fault = state.faults.first();
            let whole = fault.map_or(0.0, |fault| fault.age + fault.lease_left);
            whole > LEASE.as_secs_f64() + 1.0
        });
        assert!((held.state().capacity.unwrap() - 40.0).abs() < 0.1);
        held
    }

    fn state(&self) -> ServerState {
        let client = ControlClient::new(&self.server.url("control"), None).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(client.server_state()).unwrap()
    }

    fn is_whole(&self) -> bool {
        let state = self.state();
        state.faults.is_empty() && (state.capacity.unwrap() - 100.0).abs() < 0.1
    }

    /// How long it takes until the capacity is back.
    fn until_whole(&self) -> Duration {
        let began = Instant::now();
        while !self.is_whole() {
            assert!(began.elapsed() < 3 * LEASE, "the capacity never comes back");
            std::thread::sleep(Duration::from_millis(20));
        }
        began.elapsed()
    }
}

/// Does `harm` to three holders side by side, and then looks `after` at each.
fn capacity_is_back_after(harm: fn(&Held), after: fn(Held)) {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let held = Held::start(dir.path());
                harm(&held);
                let took = held.until_whole();
                assert!(took < LEASE + Duration::from_secs(1), "{took:?}");
                assert!(took > LEASE / 4, "it was the lease that ended it: {took:?}");
                after(held);
            });
        }
    });
}

#[test]
fn capacity_is_back_after_a_kill() {
    capacity_is_back_after(|held| held.cut.signal("KILL"), |_| {});
}

#[test]
fn capacity_is_back_after_a_pause_and_stays_when_the_pause_is_over() {
    capacity_is_back_after(
        |held| held.cut.signal("STOP"),
        |held| {
            held.cut.signal("CONT");
            let Held { cut, server, wire } = held;
            let ended = cut.end();
            ended.assert_code(1).assert_error(&["the fault cut ended before its time"]);
            assert!(ended.stdout.contains("capacity     100.0/s in 10 slots"), "{ended:#?}");
            drop((server, wire));
        },
    );
}

#[test]
fn capacity_is_back_after_a_cut_connection() {
    capacity_is_back_after(|held| held.wire.cut(), |_| {});
}

#[test]
fn a_server_that_is_killed_takes_the_fault_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::server(dir.path());
    let control = server.url("control");
    let cut = ["fault", "cut", "--to", "40%", "--for", "4s", "--control", &control];
    let cut = Running::start(dir.path(), &cut, 0);
    let client = ControlClient::new(&control, None).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    wait_until("the cut is in force", || {
        !runtime.block_on(client.server_state()).unwrap().faults.is_empty()
    });
    drop(server);
    cut.end().assert_code(1).assert_error(&["ended before its time", "nobody listens"]);
}
