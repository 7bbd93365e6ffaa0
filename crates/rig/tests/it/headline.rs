//! The same cut of 20 s, with and without a defence.

use goodput_scenario::{Plan, Scenario, builtin};
use goodput_verdict::Verdict;

use crate::support::{Ran, alone, run_trusted};

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
