//! What the command line does with a running server.

use std::time::Duration;

use goodput_control::api::ResetScope;
use goodput_fault_injector::{CommandError, clear, detach, list, reset};
use goodput_policy::fault::FaultKind;
use goodput_test_support::{ToldServer, any_port, block_on, client, wait_for};

use crate::support::cause;

#[test]
fn a_detached_fault_ends_by_itself_after_its_length() {
    let server = ToldServer::start();
    let length = Duration::from_millis(700);
    let view = block_on(detach(&server.client(), "f", FaultKind::Stall, length, &cause()));
    assert_eq!(view.unwrap().name, "f");
    let lasted = wait_for("the end", || !server.is_hurt());
    assert!(lasted < length + Duration::from_secs(1), "{lasted:?}");
}

#[test]
fn a_length_that_no_lease_has_is_refused() {
    let server = ToldServer::start();
    for length in [Duration::ZERO, Duration::from_hours(2)] {
        let error = block_on(detach(&server.client(), "f", FaultKind::Stall, length, &cause()));
        assert!(matches!(error, Err(CommandError::LeaseRange)), "{error:?}");
    }
    assert!(!server.is_hurt());
}

#[test]
fn faults_are_listed_cleared_and_reset() {
    let server = ToldServer::start();
    block_on(async {
        let (client, minute) = (server.client(), Duration::from_mins(1));
        for name in ["a", "b", "c"] {
            detach(&client, name, FaultKind::Stall, minute, &cause()).await.unwrap();
        }
        assert_eq!(list(&client).await.unwrap().len(), 3);
        let removal = clear(&client, "b", &cause()).await.unwrap();
        assert_eq!(removal.removed.unwrap().name, "b");
        assert!(clear(&client, "b", &cause()).await.unwrap().removed.is_none());
        assert!(reset(&client, ResetScope::Own, &cause()).await.unwrap().faults.is_empty());
        assert!(list(&client).await.unwrap().is_empty());
    });
    assert!(!server.is_hurt());
}

#[test]
fn a_reset_without_an_answer_is_unconfirmed() {
    let silent = std::net::TcpListener::bind(any_port()).unwrap();
    let client = client(silent.local_addr().unwrap()).with_timeout(Duration::from_millis(200));
    let error = block_on(reset(&client, ResetScope::Own, &cause())).unwrap_err();
    assert!(error.is_unconfirmed(), "{error}");
}
