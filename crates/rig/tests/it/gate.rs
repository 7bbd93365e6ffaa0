//! The gate before a trigger, on sockets.

use goodput_policy::limiter::Capacity;
use goodput_runlog::{Ending, EventKind};
use goodput_test_support::{SHORT_CUT, Wire, alone};
use goodput_verdict::{DoubtKind, Verdict};

use crate::support::{Ran, at_gate, gate, options, remote, run_with, scenario, server, state};

/// The reason for which the trigger of a run was withheld; checks that nothing went in.
fn withheld(ran: &Ran) -> &str {
    assert_eq!(ran.log.ending, Ending::Withheld, "{}", ran.judgement.summary);
    let of = |kind: &EventKind| matches!(kind, EventKind::TriggerWithheld { .. });
    let started = |kind: &EventKind| matches!(kind, EventKind::FaultStarted { .. });
    assert_eq!(ran.when(started), None);
    // Asked 200 ms before the trigger, which is 2 s of scenario time.
    assert!(ran.when(of).is_some_and(|at| at < ran.judgement.trigger.unwrap().from), "{ran:?}");
    assert_eq!(ran.judgement.verdict, Verdict::Inconclusive);
    ran.doubt(DoubtKind::Withheld).unwrap()
}

#[test]
fn a_gateway_whose_upstream_is_down_is_not_cut_on_top() {
    let _turn = alone();
    let tiers = "[[tier]]\nname = \"gate\"\nslots = 10\ncapacity = 200\n\
                 [[tier.layer]]\ntimeout = \"1s\"\n[[tier]]";
    let text =
        SHORT_CUT.replace("[[tier]]", tiers).replace("to = 0.4", "to = 0.4\ntier = \"gate\"");
    let (scenario, speed) = (scenario(&text), 10.0);
    let last = server(&scenario, speed);
    let gate = gate(&scenario, speed, &last, |_| {});
    drop(last);
    let ran = run_with(options(&scenario, speed, at_gate(&gate)), |_, _, _| {});
    let said = withheld(&ran);
    assert!(said.contains("the baseline is not healthy: ") && said.contains(" × 502"), "{said}");
    assert_eq!(ran.exit(), 3);
    assert!(state(gate.control_addr()).faults.is_empty());
}

#[test]
fn a_fault_beside_the_road_does_not_go_in() {
    let _turn = alone();
    let (scenario, speed) = (scenario(SHORT_CUT), 10.0);
    let (loaded, idle) = (server(&scenario, speed), server(&scenario, speed));
    let target = remote(loaded.data_addr(), Some(idle.control_addr()));
    let ran = run_with(options(&scenario, speed, target), |_, _, _| {});
    let said = withheld(&ran);
    let why = "the fault `cut` would be beside the road: tier `order-status` has received none of ";
    assert!(said.contains(why), "{said}");
    assert_eq!(ran.exit(), 3);
}

#[test]
fn a_cut_of_an_unlimited_tier_does_not_go_in() {
    let _turn = alone();
    let mut scenario = scenario(SHORT_CUT);
    scenario.tiers[0].limiter.capacity = Capacity::Unlimited;
    let target = goodput_rig::Target::Loopback;
    let ran = run_with(options(&scenario, 10.0, target), |_, _, _| {});
    let said = withheld(&ran);
    assert!(
        said.contains("at tier `order-status` would change nothing: the capacity is unlimited"),
        "{said}"
    );
    assert_eq!(ran.exit(), 3);
}

#[test]
fn a_fault_whose_control_plane_is_silent_does_not_go_in() {
    let _turn = alone();
    let text = SHORT_CUT.replace("at = \"15s\"", "at = \"60s\"").replace("\"40s\"", "\"90s\"");
    let (scenario, speed) = (scenario(&text), 10.0);
    let server = server(&scenario, speed);
    let wire = Wire::to(server.control_addr());
    let target = remote(server.data_addr(), Some(wire.addr));
    let ran = run_with(options(&scenario, speed, target), |second, _, _| {
        if second == 10 {
            wire.cut();
        }
    });
    let said = withheld(&ran);
    assert!(said.contains("control plane of tier `order-status` does not answer"), "{said}");
    // What the run set there could not be put back either.
    assert_eq!(ran.exit(), 5);
}
