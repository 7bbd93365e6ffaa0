//! The same cut of 20 s, with and without a defence.

use goodput_scenario::{Plan, Scenario, builtin};
use goodput_test_support::{SHORT_CUT, alone};
use goodput_verdict::Verdict;

use crate::support::{Ran, run_trusted, scenario};

/// An arm of `database-failover`, with less time before and after the cut.
fn arm(name: &str) -> Scenario {
    let file = builtin::by_name("database-failover").unwrap();
    let text = file.text.replace("duration = \"240s\"", "duration = \"110s\"");
    let text = text.replace("at = \"60s\"", "at = \"20s\"");
    let text = text.replace("within = \"120s\"", "within = \"60s\"");
    let plan = Plan::parse(file.file, &text).unwrap();
    plan.arm(name).unwrap().scenario.clone()
}

/// Goodput after the cut against that before it, and throughput then against capacity.
fn shares(ran: &Ran) -> (f64, f64) {
    let (before, end) = (ran.judgement.phases.before.unwrap(), ran.judgement.phases.end.unwrap());
    (end.goodput / before.goodput, end.throughput.unwrap() / end.capacity.unwrap())
}

#[test]
fn with_naive_retries_the_outage_outlives_the_cut() {
    let _turn = alone();
    let ran = run_trusted(&arm("naive"), 10.0);
    let judgement = &ran.judgement;
    assert_eq!(judgement.verdict, Verdict::Metastable, "{}", judgement.summary);
    assert_eq!((ran.exit(), ran.control_exit()), (0, 0));
    let (goodput, throughput) = shares(&ran);
    assert!(goodput < 0.02, "goodput is at {goodput:.3} of the baseline");
    assert!(throughput >= 0.9, "throughput is at {throughput:.3} of the capacity");
}

#[test]
fn a_server_that_drops_expired_work_recovers() {
    let _turn = alone();
    let ran = run_trusted(&arm("drop-expired"), 10.0);
    let judgement = &ran.judgement;
    assert_eq!(judgement.verdict, Verdict::Recovered, "{}", judgement.summary);
    assert_eq!(ran.exit(), 0);
    let (goodput, _) = shares(&ran);
    assert!(goodput > 0.9, "goodput is at {goodput:.3} of the baseline");
}

#[test]
fn a_cut_behind_a_gateway_is_seen_at_both_tiers() {
    let _turn = alone();
    let gateway = "[[tier]]\nname = \"edge\"\n[[tier.layer]]\ntimeout = \"4s\"\n[[tier]]";
    let ran = run_trusted(&scenario(&SHORT_CUT.replace("[[tier]]", gateway)), 10.0);
    assert_eq!(ran.judgement.verdict, Verdict::Recovered, "{}", ran.judgement.summary);
    let windows = &ran.log.windows;
    for (tier, name) in [(0, "edge"), (1, "order-status")] {
        let total = |of: fn(&goodput_runlog::TierWindow) -> u64| -> u64 {
            windows.iter().map(|window| of(&window.tiers[tier])).sum()
        };
        assert!(windows.iter().all(|window| window.tiers[tier].name == name));
        let (received, served) = (total(|tier| tier.received), total(|tier| tier.served));
        assert!(received > 3_100 && served > 3_100, "{name}: {received} {served}");
    }
    let cut = windows[17].tiers[1].capacity.unwrap();
    assert!((cut - 40.0).abs() < 0.5, "{cut}");
}
