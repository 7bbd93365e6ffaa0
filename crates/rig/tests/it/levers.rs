//! Levers, pulled by a person and by the timeline.

use goodput_clock::{Rate, Ratio};
use goodput_policy::lever::Lever;
use goodput_rig::Target;
use goodput_runlog::{EventKind, Window};
use goodput_test_support::{CALM, alone};

use crate::support::{Ran, options, run_with, scenario};

/// When the lever of this name was pulled.
fn pulled(ran: &Ran, name: &str) -> f64 {
    let pulled =
        ran.when(|kind| matches!(kind, EventKind::LeverPulled { lever, .. } if lever == name));
    pulled.unwrap_or_else(|| panic!("{name}: {:?}", ran.log.events))
}

/// What the run itself has pulled is not held against it.
fn has_no_doubts(ran: &Ran) {
    let doubt = ran.log.events.iter().find(|event| matches!(event.kind, EventKind::Doubt { .. }));
    assert_eq!(doubt, None);
}

fn sum(windows: &[Window], of: impl Fn(&Window) -> u64) -> u64 {
    windows.iter().map(of).sum()
}

#[test]
fn a_person_pulls_levers_at_both_ends() {
    let _turn = alone();
    let scenario = scenario(&CALM.replace("\"20s\"", "\"60s\""));
    let ran = run_with(options(&scenario, 10.0, Target::Loopback), |second, levers, _| {
        let lever = match second {
            5 => Lever::Rate { rate: Rate::new(10.0).unwrap() },
            25 => Lever::Admit { share: Ratio::ZERO, hold: None, ramp: std::time::Duration::ZERO },
            45 => Lever::Restart,
            _ => return,
        };
        levers.send(lever).unwrap();
    });
    assert!(pulled(&ran, "rate") > 5.0 && pulled(&ran, "admit") > 25.0);
    let windows = &ran.log.windows;
    let calm = &windows[20..24];
    assert_eq!(sum(calm, |w| w.client.offered), 40, "10 a second, evenly");
    assert!(sum(calm, |w| w.client.good) >= 30);
    let closed = &windows[50..];
    assert_eq!(sum(closed, |w| w.client.good), 0);
    assert!(sum(closed, |w| w.tiers[0].refused.values().sum()) >= 90);
    assert_eq!(closed[9].tiers[0].admitted, Some(0.0));
    has_no_doubts(&ran);
}

#[test]
fn the_timeline_pulls_its_levers_when_they_are_due() {
    let _turn = alone();
    let text = CALM.replace("\"20s\"", "\"60s\"").replace("\"2s\"", "\"20s\"\nretries = 1")
        + r#"verdict = "recovered"
[[fault]]
kind = "stall"
at = "15s"
for = "10s"
[[lever]]
name = "shed-queue"
at = "23s"
[[lever]]
name = "retries"
retries = 0
at = "30s"
[[lever]]
name = "rate"
rate = 20
at = "40s"
[[lever]]
name = "restart"
at = "45s"
"#;
    let ran = run_with(options(&scenario(&text), 10.0, Target::Loopback), |_, _, _| {});
    for (name, due) in [("shed-queue", 23.0), ("retries", 30.0), ("rate", 40.0), ("restart", 45.0)]
    {
        let at = pulled(&ran, name);
        assert!((due..due + 5.0).contains(&at), "{name} at {at}");
    }
    let windows = &ran.log.windows;
    let shed = sum(&windows[22..29], |w| w.tiers[0].refused.values().sum());
    assert!(shed >= 200, "8 s of 40 a second wait at 23 s: {shed} were shed");
    assert!(sum(&windows[22..32], |w| w.client.retries) >= 200, "who is shed tries again");
    let late = &windows[50..];
    assert_eq!(sum(late, |w| w.client.retries), 0);
    assert_eq!(sum(late, |w| w.client.offered), 200);
    has_no_doubts(&ran);
}
