//! Reference numbers A: the 20 s cut and its arms. The built-in scenarios.

use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::budget::{BudgetConfig, Credit, Finagle, SreRatio};
use goodput_scenario::{Scenario, builtin};
use goodput_verdict::{Verdict, holds};

use crate::support::{
    bounded, budget, good_share, headline, judged, log_of, named, plan, poisson, with_cut,
};

#[test]
fn every_arm_of_every_scenario_that_comes_with_goodput_gets_the_verdict_that_it_expects() {
    let mut wrong = Vec::new();
    for builtin in builtin::ALL {
        let plan = plan(builtin);
        let alone = [("(none)".to_owned(), plan.scenario.clone())];
        let arms = plan.arms.iter().map(|arm| (arm.name.clone(), arm.scenario.clone()));
        let runs: Vec<_> =
            if plan.arms.is_empty() { alone.into_iter().collect() } else { arms.collect() };
        for (arm, scenario) in runs {
            for seed in [scenario.seed.0, 2, 3] {
                let judgement = judged(&scenario, seed);
                if !holds(&judgement, &scenario.expect) {
                    wrong.push((builtin.name, arm.clone(), seed, judgement.verdict));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn backoff_from(seconds: u64) -> Scenario {
    let mut scenario = poisson(headline());
    scenario.client.layers[0].backoff.base = Duration::from_secs(seconds);
    scenario
}

fn without_retries() -> Scenario {
    let mut scenario = poisson(headline());
    scenario.client.layers[0].retries = 0;
    scenario
}

/// Seconds to recover, by arm, least and most of the reference's hundred seeds. Five seeds here, so
/// that the found ones are to lie within it, give or take 3 s.
///
/// One row differs: the reference gives 22–55 s to the token bucket, whose model also credits answers
/// that come after the time-out. A client cannot see those.
#[test]
fn after_a_cut_of_twenty_seconds_each_arm_recovers_in_its_time_or_never() {
    let per_success = Finagle { credit: Credit::Success, ..Finagle::default() };
    // The window of two minutes is full when the cut comes.
    let long = SreRatio { window: Duration::from_mins(2), ..SreRatio::default() };
    let mut long_budget = budget(BudgetConfig::SreRatio(long));
    long_budget.faults[0].at = Timestamp::from_secs(130);
    let arms = [
        ("no retries", without_retries(), Some((11.0, 25.0))),
        ("gRPC throttle", budget(named("grpc-throttle")), Some((12.0, 25.0))),
        ("AWS quota", budget(named("aws-quota")), Some((16.0, 30.0))),
        ("token bucket", budget(named("token-bucket")), Some((12.0, 25.0))),
        ("SRE 10 %", budget(named("sre-ratio")), Some((28.0, 70.0))),
        ("SRE 10 %, 120 s", long_budget, Some((64.0, 87.0))),
        ("Finagle per success", budget(BudgetConfig::Finagle(per_success)), Some((39.0, 180.0))),
        ("Finagle per request", budget(named("finagle")), None),
        ("queue bound 150", bounded(150), Some((0.0, 2.0))),
        ("queue bound 500", bounded(500), None),
        ("queue bound 600", bounded(600), None),
        ("backoff from 2 s", backoff_from(2), None),
        ("backoff from 5 s", backoff_from(5), None),
        ("backoff from 10 s", backoff_from(10), None),
        ("backoff from 20 s", backoff_from(20), None),
    ];
    let mut wrong = Vec::new();
    for (name, scenario, expected) in arms {
        let scenario = with_cut(scenario, 20.0, 200);
        let seconds: Vec<_> = (1..=5).map(|seed| judged(&scenario, seed).time_to_recover).collect();
        let fits = |found: &Option<f64>| match (found, expected) {
            (Some(found), Some((least, most))) => *found >= least - 3.0 && *found <= most + 3.0,
            (found, None) => found.is_none(),
            (None, Some(_)) => false,
        };
        if !seconds.iter().all(fits) {
            wrong.push((name, seconds));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_bounded_queue_keeps_goodput_at_the_cut_capacity_during_the_cut() {
    for (limit, expected) in [(150, 39.9), (300, 19.7)] {
        let log = log_of(&bounded(limit), 1);
        let goodput = good_share(&log, 20, 40) * 80.0;
        assert!((goodput - expected).abs() < 4.0, "bound {limit}: {goodput}");
    }
}

/// In a metastable failure the servers are as busy as ever, and nobody is served.
#[test]
fn the_naive_arm_loses_all_goodput_at_full_throughput() {
    let plan = plan(builtin::DATABASE_FAILOVER);
    let judgement = judged(&plan.arm("naive").unwrap().scenario, 1);
    let (before, end) = (judgement.phases.before.unwrap(), judgement.phases.end.unwrap());
    assert!(end.goodput < 0.02 * before.goodput, "{}", end.goodput);
    assert!(end.throughput.unwrap() > 98.0, "{:?}", end.throughput);
    assert!(end.attempts > 250.0 && end.attempts < 390.0, "{}", end.attempts);
    assert!(end.wasted_share.unwrap() > 0.98, "{:?}", end.wasted_share);
}

#[test]
fn the_lever_is_in_the_log_with_what_it_did() {
    let plan = plan(builtin::STALL_AND_PUT_BACK);
    let scenario = &plan.arm("shed-queue").unwrap().scenario;
    let log = log_of(scenario, 1);
    let text = log.to_json().unwrap();
    assert!(text.contains("\"event\":\"lever-pulled\",\"lever\":\"shed-queue\""), "{text}");
    assert_eq!(judged(scenario, 1).verdict, Verdict::Recovered);
}
