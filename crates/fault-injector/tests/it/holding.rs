//! One fault that is held.

use std::time::{Duration, Instant};

use goodput_control::api::ResetScope;
use goodput_fault_injector::{HoldEnd, HoldError, HoldRequest, LeaseTerms, Stop, hold};
use goodput_test_support::{ToldServer, Wire, block_on, client, nobody, wait_for};
use tokio::sync::Notify;

use crate::support::{cause, short_terms, stall};

#[test]
fn it_is_held_past_its_lease_and_ends_on_time_as_read_back() {
    let server = ToldServer::start();
    let length = Duration::from_millis(2_500);
    let mut seen = None;
    let end = block_on(hold(&server.client(), &stall("f", length), &Stop::new(), |s| {
        seen = Some(s.clone());
    }));
    let seen = seen.unwrap();
    assert_eq!((seen.fault.name.as_str(), seen.capacity), ("f", Some(0.0)));
    let Ok(HoldEnd::Ended { interrupted: false, state }) = end else { panic!("{end:?}") };
    assert_eq!((state.capacity, state.faults.len()), (Some(100.0), 0));
    let (_, lasted) = server.first_fault();
    let off = lasted.abs_diff(length);
    assert!(off < Duration::from_millis(250), "it lasted {lasted:?}");
    let outcomes: Vec<_> = server.audit.entries().iter().map(|e| e.outcome.clone()).collect();
    assert!(outcomes.iter().all(|outcome| outcome == "done"), "{outcomes:?}");
}

#[test]
fn a_short_fault_needs_no_renewal() {
    let server = ToldServer::start();
    let end = block_on(hold(
        &server.client(),
        &stall("f", Duration::from_millis(150)),
        &Stop::new(),
        |_| {},
    ));
    assert!(matches!(end, Ok(HoldEnd::Ended { interrupted: false, .. })), "{end:?}");
    assert!(server.audit.entries().iter().all(|entry| !entry.command.starts_with("PATCH")));
}

#[test]
fn a_stop_ends_it_at_once_and_a_second_one_skips_nothing() {
    let server = ToldServer::start();
    let stop = Stop::new();
    let end = block_on(async {
        let (client, request) = (server.client(), stall("f", Duration::from_mins(5)));
        let held = hold(&client, &request, &stop, |_| {
            stop.pull();
            stop.pull();
        });
        tokio::time::timeout(Duration::from_secs(5), held).await.unwrap()
    });
    assert!(matches!(end, Ok(HoldEnd::Ended { interrupted: true, .. })), "{end:?}");
    assert!(!server.is_hurt());
}

#[test]
fn a_fault_of_that_name_in_force_is_left_alone() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        let (first, stop) = (stall("f", Duration::from_mins(1)), Stop::new());
        let seen = Notify::new();
        let held = hold(&client, &first, &stop, |_| seen.notify_one());
        let second = async {
            seen.notified().await;
            let request = stall("f", Duration::from_mins(1));
            let error = hold(&client, &request, &Stop::new(), |_| {}).await.unwrap_err();
            assert!(matches!(error, HoldError::NotInForce(_)), "{error:?}");
            assert!(error.to_string().contains("is in force already"), "{error}");
            assert!(server.is_hurt(), "the first one is still in force");
            stop.pull();
        };
        assert!(tokio::join!(held, second).0.is_ok());
    });
}

/// Holds a fault, which somebody else ends once it is in force.
fn held_and_reset(server: &ToldServer, request: &HoldRequest) -> Result<HoldEnd, HoldError> {
    block_on(async {
        let (client, stop, seen) = (server.client(), Stop::new(), Notify::new());
        let held = hold(&client, request, &stop, |_| seen.notify_one());
        let other = async {
            seen.notified().await;
            client.reset_server(ResetScope::All, &cause()).await.unwrap();
        };
        tokio::join!(held, other).0
    })
}

#[test]
fn a_fault_that_somebody_else_ends_is_lost_and_not_put_back() {
    let server = ToldServer::start();
    let end = held_and_reset(&server, &stall("f", Duration::from_secs(3)));
    assert!(matches!(end, Ok(HoldEnd::Lost { .. })), "{end:?}");
    assert_eq!(server.told(|told| told.effects.len()), 2, "in force once, and over");
}

#[test]
fn a_fault_that_needs_no_renewal_and_is_reset_is_told_long_before_its_end() {
    let server = ToldServer::start();
    let began = Instant::now();
    let terms = LeaseTerms::new(Duration::from_mins(2), Duration::from_mins(1)).unwrap();
    let request = HoldRequest { terms, ..stall("f", Duration::from_mins(1)) };
    let end = held_and_reset(&server, &request);
    assert!(matches!(end, Ok(HoldEnd::Lost { .. })), "{end:?}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[test]
fn nobody_there_is_told_at_once() {
    let client = client(nobody());
    let began = Instant::now();
    let end = block_on(hold(&client, &stall("f", Duration::from_secs(9)), &Stop::new(), |_| {}));
    assert!(matches!(end, Err(HoldError::NotInForce(_))), "{end:?}");
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_cut_wire_leaves_it_to_the_lease_and_is_reported_as_unconfirmed() {
    let server = ToldServer::start();
    let wire = Wire::to(server.addr());
    let client = client(wire.addr).with_timeout(Duration::from_millis(300));
    let request = stall("f", Duration::from_secs(3));
    let end = std::thread::scope(|scope| {
        let held = scope.spawn(|| block_on(hold(&client, &request, &Stop::new(), |_| wire.cut())));
        wait_for("the fault", || server.is_hurt());
        let back = wait_for("capacity", || !server.is_hurt());
        assert!(back < short_terms().lease() + Duration::from_secs(1), "{back:?}");
        held.join().unwrap()
    });
    assert!(matches!(end, Ok(HoldEnd::Unconfirmed { .. })), "{end:?}");
}

#[test]
fn a_wire_that_is_mended_during_the_revert_confirms_it() {
    let server = ToldServer::start();
    let wire = Wire::to(server.addr());
    let client = client(wire.addr).with_timeout(Duration::from_millis(300));
    let request = stall("f", Duration::from_millis(500));
    let end = std::thread::scope(|scope| {
        let held = scope.spawn(|| block_on(hold(&client, &request, &Stop::new(), |_| wire.cut())));
        wait_for("the fault", || server.is_hurt());
        std::thread::sleep(Duration::from_millis(1_200));
        wire.mend();
        held.join().unwrap()
    });
    assert!(matches!(end, Ok(HoldEnd::Ended { .. } | HoldEnd::Lost { .. })), "{end:?}");
    assert!(!server.is_hurt());
}
