//! A holder in another process that is killed, paused or cut off: capacity comes back within the
//! lease and a second, since the server keeps the lease.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use goodput_control::api::{Cause, FaultRequest};
use goodput_fault_injector::{HoldRequest, Stop, hold};
use goodput_policy::fault::FaultKind;
use goodput_test_support::{ToldServer, Wire, block_on, client, wait_for};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{cause, short_terms};

/// Where the other process finds the server; without it, the process is the test itself.
const HOLD_AT: &str = "GOODPUT_TEST_HOLD_AT";

/// What the other process runs: it holds a fault for five minutes unless something happens to it.
#[test]
#[ignore = "what the tests of this module start as a process of its own"]
fn the_holder() {
    let Ok(addr) = std::env::var(HOLD_AT) else { return };
    let request = HoldRequest {
        name: "held-elsewhere".to_owned(),
        kind: FaultKind::Stall,
        ends: Instant::now() + Duration::from_mins(5),
        terms: short_terms(),
        cause: cause(),
    };
    let client = client(addr.parse().unwrap());
    // Its end is looked at from the other side.
    let _ = block_on(hold(&client, &request, &Stop::new(), |_| {}));
}

struct Holder(Child);

impl Holder {
    fn start(addr: std::net::SocketAddr) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::the_holder", "--ignored"])
            .env(HOLD_AT, addr.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Does `harm` to a holder, three times, once it has held longer than its first lease.
fn capacity_is_back_after(harm: impl Fn(&Holder, &Wire)) {
    let lease = short_terms().lease();
    for round in 0..3 {
        let server = ToldServer::start();
        let wire = Wire::to(server.addr());
        let holder = Holder::start(wire.addr);
        wait_for("the fault", || server.is_hurt());
        std::thread::sleep(lease + lease / 2);
        assert!(server.is_hurt(), "it is renewed past its first lease");
        harm(&holder, &wire);
        let took = wait_for("capacity", || !server.is_hurt());
        assert!(took < lease + Duration::from_secs(1), "round {round}: {took:?}");
        assert!(took > lease / 4, "round {round}: the lease ended it, not the holder: {took:?}");
    }
}

#[test]
fn capacity_is_back_after_a_kill() {
    capacity_is_back_after(|holder, _| holder.signal(Signal::KILL));
}

#[test]
fn capacity_is_back_after_a_pause_and_a_resumed_holder_leaves_it_alone() {
    capacity_is_back_after(|holder, _| holder.signal(Signal::STOP));
    let server = ToldServer::start();
    let mut holder = Holder::start(server.addr());
    wait_for("the fault", || server.is_hurt());
    holder.signal(Signal::STOP);
    wait_for("capacity", || !server.is_hurt());
    holder.signal(Signal::CONT);
    holder.0.wait().unwrap();
    assert_eq!(server.told(|told| told.effects.len()), 2, "in force once, and over");
}

#[test]
fn a_resumed_holder_leaves_anothers_fault_of_the_same_name_alone() {
    let server = ToldServer::start();
    let mut holder = Holder::start(server.addr());
    wait_for("the fault", || server.is_hurt());
    holder.signal(Signal::STOP);
    wait_for("capacity", || !server.is_hurt());
    let minute = Duration::from_mins(1);
    let cause = Cause::new("somebody else", "a drill of their own");
    let request = FaultRequest::new("held-elsewhere", FaultKind::Stall, minute, &cause);
    let theirs = block_on(server.client().install(&request)).unwrap();
    holder.signal(Signal::CONT);
    holder.0.wait().unwrap();
    let left = block_on(server.client().faults()).unwrap();
    assert_eq!((left.len(), &left[0].id), (1, &theirs.id));
    let whole = left[0].age + left[0].lease_left;
    assert!((whole - minute.as_secs_f64()).abs() < 0.1, "nobody has renewed it: {whole}");
}

#[test]
fn capacity_is_back_after_a_cut_connection() {
    capacity_is_back_after(|_, wire| wire.cut());
}
