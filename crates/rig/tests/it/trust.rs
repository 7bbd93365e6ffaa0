//! Runs that cannot be trusted say so, and why.

use std::time::Duration;

use goodput_clock::Ratio;
use goodput_control::ControlClient;
use goodput_control::api::{ANY_FAULT, Cause, FaultRequest};
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::lever::Lever;
use goodput_test_support::{CALM, SHORT_CUT, Wire, alone};
use goodput_verdict::{DoubtKind, Verdict};

use crate::support::{
    Ran, ask, at_gate, gate, gated, options, remote, run_trusted, run_with, scenario, server,
};

fn is_inconclusive(ran: &Ran, kind: DoubtKind, why: &str) {
    assert_eq!(ran.judgement.verdict, Verdict::Inconclusive);
    let doubt = ran.doubt(kind).unwrap_or_default();
    assert!(doubt.contains(why), "{}", ran.judgement.summary);
    assert_eq!(ran.exit(), 3, "{}", ran.judgement.summary);
}

#[test]
fn an_unhealthy_baseline() {
    let _turn = alone();
    let scenario = scenario(&SHORT_CUT.replace("capacity = 100", "capacity = 40"));
    let ran = run_trusted(&scenario, 10.0);
    is_inconclusive(&ran, DoubtKind::Withheld, " timed out; in queues: ");
}

#[test]
fn a_fault_that_changes_nothing() {
    let _turn = alone();
    let ran = run_trusted(&scenario(&SHORT_CUT.replace("to = 0.4", "to = 1.0")), 10.0);
    is_inconclusive(&ran, DoubtKind::Withheld, "a cut to 100% takes nothing away");
}

#[test]
fn a_fault_that_somebody_else_clears() {
    let _turn = alone();
    let text = SHORT_CUT.replace("for = \"5s\"", "for = \"10s\"");
    let (scenario, speed) = (scenario(&text), 10.0);
    let server = server(&scenario, speed);
    let (data, control) = (server.data_addr(), server.control_addr());
    let ran = run_with(options(&scenario, speed, remote(data, Some(control))), |second, _, _| {
        if second == 18 {
            let cause = Cause::new("somebody", "enough");
            let removal =
                ask(control, async |client| client.remove("cut", ANY_FAULT, &cause).await.unwrap());
            assert!(removal.removed.is_some());
        }
    });
    is_inconclusive(&ran, DoubtKind::ByOthers, "and not this run: fault `cut` of the run");
    let lost = "the fault `cut` ended before its time";
    assert!(ran.judgement.doubts.iter().any(|doubt| doubt.text.contains(lost)));
}

/// Runs a calm minute against a server elsewhere, where somebody does `what` at 20 s.
fn disturbed(what: impl AsyncFn(&ControlClient, &Cause) + Send + Sync) -> Ran {
    let (scenario, speed) = (scenario(&CALM.replace("\"20s\"", "\"60s\"")), 10.0);
    let server = server(&scenario, speed);
    let (data, control) = (server.data_addr(), server.control_addr());
    run_with(options(&scenario, speed, remote(data, Some(control))), |second, _, _| {
        if second == 20 {
            let cause = Cause::new("somebody", "a drill of their own");
            ask(control, async |client| what(client, &cause).await);
        }
    })
}

#[test]
fn a_fault_of_somebody_else() {
    let _turn = alone();
    let ran = disturbed(async |client, cause| {
        let cut = FaultKind::capacity(Ratio::new(0.95).unwrap(), CapacityMode::Slow).unwrap();
        let request = FaultRequest::new("theirs", cut, Duration::from_secs(1), cause);
        client.install(&request).await.unwrap();
    });
    let why = "somebody acted on `order-status`, and not this run: fault `theirs` in force: capacity cut to 95%";
    is_inconclusive(&ran, DoubtKind::ByOthers, why);
}

#[test]
fn a_restart_by_somebody_else() {
    let _turn = alone();
    let ran = disturbed(async |client, cause| {
        client.pull_at_server(&Lever::Restart, cause).await.unwrap();
    });
    is_inconclusive(
        &ran,
        DoubtKind::ByOthers,
        "somebody acted on `order-status`, and not this run: lever restart",
    );
}

#[test]
fn a_gateway_whose_own_caps_keep_requests_back() {
    let _turn = alone();
    let (scenario, speed) = (gated(), 10.0);
    let last = server(&scenario, speed);
    let gate = gate(&scenario, speed, &last, |gateway| gateway.connections = 1);
    let ran = run_with(options(&scenario, speed, at_gate(&gate)), |_, _, _| {});
    is_inconclusive(&ran, DoubtKind::Engine, "tier `gate` could not forward");
}

#[test]
fn a_server_that_may_still_hold_a_fault_is_worse_than_inconclusive() {
    let _turn = alone();
    let (scenario, speed) = (scenario(SHORT_CUT), 10.0);
    let server = server(&scenario, speed);
    let wire = Wire::to(server.control_addr());
    let target = remote(server.data_addr(), Some(wire.addr));
    let ran = run_with(options(&scenario, speed, target), |second, _, _| {
        if second == 17 {
            wire.cut();
        }
    });
    assert_eq!(ran.judgement.verdict, Verdict::Inconclusive);
    assert!(ran.doubt(DoubtKind::FaultUnreverted).is_some(), "{}", ran.judgement.summary);
    assert_eq!(ran.exit(), 5);
}
