//! What the command line does with a running server.

use std::time::Duration;

use goodput_fault_injector::{CommandError, clear, detach, list, pull, reset};
use goodput_policy::fault::FaultKind;
use goodput_policy::lever::Lever;
use goodput_test_support::wait_for;

use crate::support::{Server, block_on, cause, client};

#[test]
fn a_detached_fault_ends_by_itself_after_its_length() {
    let server = Server::start();
    let length = Duration::from_millis(700);
    let view = block_on(detach(&server.client(), "f", FaultKind::Stall, length, &cause()));
    assert_eq!(view.unwrap().name, "f");
    let lasted = wait_for("the end", || !server.is_hurt());
    assert!(lasted < length + Duration::from_secs(1), "{lasted:?}");
}

#[test]
fn a_length_that_no_lease_has_is_refused() {
    let server = Server::start();
    for length in [Duration::ZERO, Duration::from_hours(2)] {
        let error = block_on(detach(&server.client(), "f", FaultKind::Stall, length, &cause()));
        assert!(matches!(error, Err(CommandError::LeaseRange)), "{error:?}");
    }
    assert!(!server.is_hurt());
}

#[test]
fn faults_are_listed_cleared_and_reset() {
    let server = Server::start();
    block_on(async {
        let (client, minute) = (server.client(), Duration::from_mins(1));
        for name in ["a", "b", "c"] {
            detach(&client, name, FaultKind::Stall, minute, &cause()).await.unwrap();
        }
        assert_eq!(list(&client).await.unwrap().len(), 3);
        let removal = clear(&client, "b", &cause()).await.unwrap();
        assert_eq!(removal.removed.unwrap().name, "b");
        assert!(clear(&client, "b", &cause()).await.unwrap().removed.is_none());
        assert!(reset(&client, &cause()).await.unwrap().faults.is_empty());
        assert!(list(&client).await.unwrap().is_empty());
    });
    assert!(!server.is_hurt());
}

#[test]
fn a_lever_is_pulled_and_says_what_it_did() {
    let server = Server::start();
    let did = block_on(pull(&server.client(), &Lever::ShedQueue, &cause())).unwrap();
    assert_eq!(did, "pulled shed-queue");
    let wrong = Lever::Retries { layer: None, retries: 0 };
    let error = block_on(pull(&server.client(), &wrong, &cause())).unwrap_err();
    assert!(error.to_string().contains("acts on a load generator"), "{error}");
    assert!(!error.is_unconfirmed());
}

#[test]
fn a_reset_without_an_answer_is_unconfirmed() {
    let silent = std::net::TcpListener::bind(goodput_test_support::any_port()).unwrap();
    let client = client(silent.local_addr().unwrap()).with_timeout(Duration::from_millis(200));
    let error = block_on(reset(&client, &cause())).unwrap_err();
    assert!(error.is_unconfirmed(), "{error}");
}
