//! Leases over the wire: whoever holds a fault may die or be paused at any moment.

use std::time::Duration;

use goodput_control::api::{Cause, FaultRequest};
use goodput_policy::fault::FaultKind;
use goodput_test_support::{ToldServer, block_on, eventually, wait_for};

const LEASE: Duration = Duration::from_millis(500);

fn stall(name: &str) -> FaultRequest {
    FaultRequest::new(name, FaultKind::Stall, LEASE, &Cause::new("test", ""))
}

#[test]
fn capacity_is_back_within_the_lease_and_a_second_when_the_renewer_is_gone() {
    let server = ToldServer::start();
    for _ in 0..3 {
        block_on(async {
            let client = server.client();
            let id = client.install(&stall("failover")).await.unwrap().id;
            for _ in 0..5 {
                tokio::time::sleep(LEASE / 5).await;
                client.renew("failover", &id, LEASE, &Cause::default()).await.unwrap();
            }
        });
        assert!(server.effect().stalled);
        let took = wait_for("capacity", || !server.is_hurt());
        assert!(took < LEASE + Duration::from_secs(1), "{took:?}");
    }
}

#[test]
fn a_renewer_that_was_paused_is_told_that_its_fault_is_gone() {
    let server = ToldServer::start();
    block_on(async {
        let client = server.client();
        let id = client.install(&stall("failover")).await.unwrap().id;
        eventually("capacity", || !server.is_hurt()).await;
        let late = client.renew("failover", &id, LEASE, &Cause::default()).await.unwrap_err();
        assert_eq!(late.status().map(|status| status.as_u16()), Some(404), "{late}");
        assert!(client.faults().await.unwrap().is_empty());
    });
}
