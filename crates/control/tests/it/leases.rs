//! Leases over the wire: whoever holds a fault may die or be paused at any moment.

use std::time::{Duration, Instant};

use goodput_control::api::{Cause, FaultRequest};
use goodput_policy::fault::{Effect, FaultKind};

use crate::support::{Rig, block_on, client, server};

const LEASE: Duration = Duration::from_millis(500);

fn stall(name: &str) -> FaultRequest {
    FaultRequest {
        name: name.to_owned(),
        fault: FaultKind::Stall,
        lease: LEASE,
        by: "test".to_owned(),
        reason: String::new(),
    }
}

/// How long until the limiter is healthy again, without asking the control plane.
fn back_after(rig: &Rig) -> Duration {
    let began = Instant::now();
    while rig.server.inner.lock().unwrap().1 != Effect::NONE {
        assert!(began.elapsed() < Duration::from_secs(10), "capacity never came back");
        std::thread::sleep(Duration::from_millis(2));
    }
    began.elapsed()
}

#[test]
fn capacity_is_back_within_the_lease_and_a_second_when_the_renewer_is_gone() {
    let rig = server();
    for _ in 0..3 {
        block_on(async {
            let client = client(rig.listener.addr());
            client.install(&stall("failover")).await.unwrap();
            for _ in 0..5 {
                tokio::time::sleep(LEASE / 5).await;
                client.renew("failover", LEASE, &Cause::default()).await.unwrap();
            }
        });
        assert!(rig.server.inner.lock().unwrap().1.stalled);
        let took = back_after(&rig);
        assert!(took < LEASE + Duration::from_secs(1), "{took:?}");
    }
}

#[test]
fn a_renewer_that_was_paused_is_told_that_its_fault_is_gone() {
    let rig = server();
    block_on(async {
        let client = client(rig.listener.addr());
        client.install(&stall("failover")).await.unwrap();
        back_after(&rig);
        let late = client.renew("failover", LEASE, &Cause::default()).await.unwrap_err();
        assert_eq!(late.status().map(|status| status.as_u16()), Some(404), "{late}");
        assert!(client.faults().await.unwrap().is_empty());
    });
}
