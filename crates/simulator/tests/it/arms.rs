//! Reference numbers A: the 20 s cut and its arms, and the ways out of it. The built-in scenarios.

use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::budget::{BudgetConfig, Credit, Finagle};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::QueueLimit;
use goodput_scenario::{PlannedLever, Scenario, builtin};
use goodput_verdict::{Verdict, holds};

use crate::support::{
    fault_ends, good_share, headline, judged, log_of, per_second, plan, poisson, with_cut,
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

/// The headline with this budget, over Poisson arrivals.
fn budget(budget: BudgetConfig) -> Scenario {
    let mut scenario = poisson(headline());
    scenario.client.layers[0].budget = budget;
    scenario
}

fn named(name: &str) -> BudgetConfig {
    name.parse().unwrap()
}

fn bounded(limit: u32) -> Scenario {
    let mut scenario = poisson(headline());
    scenario.tiers[0].limiter.queue_limit = QueueLimit::Bounded(limit);
    scenario
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
    let arms = [
        ("no retries", without_retries(), Some((11.0, 25.0))),
        ("gRPC throttle", budget(named("grpc-throttle")), Some((12.0, 25.0))),
        ("AWS quota", budget(named("aws-quota")), Some((16.0, 30.0))),
        ("token bucket", budget(named("token-bucket")), Some((12.0, 25.0))),
        ("SRE 10 %", budget(named("sre-ratio")), Some((28.0, 70.0))),
        ("Finagle per success", budget(BudgetConfig::Finagle(per_success)), Some((39.0, 180.0))),
        ("Finagle per request", budget(named("finagle")), None),
        ("queue bound 150", bounded(150), Some((0.0, 2.0))),
        ("queue bound 500", bounded(500), None),
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

/// What is pulled, and how many seconds after the fault.
type Pulls<'a> = &'a [(u64, Lever)];

/// The share of requests that are good at the end, `after` seconds after the fault, of a headline in
/// which these levers are pulled.
fn share_at_the_end(scenario: Scenario, pulls: Pulls<'_>, after: u64) -> f64 {
    let mut scenario = with_cut(scenario, 20.0, after);
    let ends = fault_ends(&scenario);
    let planned = pulls.iter().map(|(seconds, lever)| PlannedLever {
        lever: lever.clone(),
        tier: None,
        at: Timestamp::from_secs(ends + seconds),
    });
    scenario.levers = planned.collect();
    let end = scenario.duration.as_secs();
    good_share(&log_of(&scenario, 1), end - 20, end)
}

/// Users are turned away before they ask: the load is `share` of the usual for so many seconds.
fn block(share: f64, seconds: u64) -> Vec<(u64, Lever)> {
    let rate = |rate: f64| Lever::Rate { rate: per_second(rate) };
    vec![(60, rate(f64::max(80.0 * share, 1e-6))), (60 + seconds, rate(80.0))]
}

fn with(mut pulls: Vec<(u64, Lever)>, lever: Lever) -> Vec<(u64, Lever)> {
    pulls.insert(0, (60, lever));
    pulls
}

#[test]
fn with_a_bounded_queue_load_must_fall_below_the_safe_load_for_long_enough() {
    for (share, seconds, works) in [
        (0.8, 60, false),
        (0.5, 60, false),
        (0.3, 60, true),
        (0.3, 20, false),
        (0.2, 30, true),
        (0.1, 20, true),
        (0.0, 20, true),
    ] {
        let found = share_at_the_end(bounded(600), &block(share, seconds), 60 + seconds + 60);
        let right = if works { found > 0.95 } else { found < 0.5 };
        assert!(right, "to {share} for {seconds} s: {found}");
    }
}

#[test]
fn with_an_unbounded_queue_only_a_long_block_or_a_cleared_queue_and_a_block_help() {
    let naive = || poisson(headline());
    for (name, pulls, after, works) in [
        ("block 60 s", block(0.0, 60), 180, false),
        ("block 120 s", block(0.0, 120), 240, false),
        ("block 300 s", block(0.0, 300), 420, true),
        ("clear", vec![(60, Lever::ShedQueue)], 160, false),
        ("clear and block 20 s", with(block(0.0, 20), Lever::ShedQueue), 140, true),
        ("restart", vec![(60, Lever::Restart)], 160, false),
    ] {
        let found = share_at_the_end(naive(), &pulls, after);
        let right = if works { found > 0.95 } else { found < 0.5 };
        assert!(right, "{name}: {found}");
    }
}

#[test]
fn a_cleared_queue_together_with_a_budget_is_the_way_out() {
    let budget = Lever::Budget { layer: None, budget: named("sre-ratio") };
    for clear in [Lever::ShedQueue, Lever::Restart] {
        let pulls = [(60, budget.clone()), (60, clear)];
        let found = share_at_the_end(poisson(headline()), &pulls, 100);
        assert!(found > 0.95, "{found}");
    }
    let off = Lever::Retries { layer: None, retries: 0 };
    let alone = share_at_the_end(poisson(headline()), &[(60, off)], 160);
    assert!(alone < 0.5, "without the queue cleared it takes 700 s: {alone}");
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
