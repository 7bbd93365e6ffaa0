use goodput_policy::limiter::QueueLimit;
use goodput_runlog::Cancel;
use goodput_scenario::{Plan, builtin};
use goodput_simulator::{RunOptions, run as simulate};

use super::*;

fn naive() -> Scenario {
    let file = builtin::DATABASE_FAILOVER;
    let plan = Plan::parse(file.file, file.text).unwrap();
    plan.arm("naive").unwrap().scenario.clone()
}

fn bounded(limit: u32) -> Scenario {
    let mut scenario = naive();
    scenario.tiers[0].limiter.queue_limit = QueueLimit::Bounded(limit);
    scenario
}

fn terms(within: u64, longest: u64) -> Terms {
    Terms {
        after: Duration::from_mins(1),
        within: Duration::from_secs(within),
        longest: Duration::from_secs(longest),
        seeds: vec![Seed(1)],
        tier: None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of an engine that can fail")]
fn engine(scenario: &Scenario) -> Result<RunLog, String> {
    let options = RunOptions::new(scenario.clone());
    Ok(simulate(&options, &mut (), &mut |_| None, &Cancel::new()))
}

fn row(scenario: &Scenario, action: &str, terms: &Terms) -> DrillRow {
    drill_action(scenario, &action.parse().unwrap(), terms, &engine).unwrap()
}

/// Reference numbers A: some 13,000 wait a minute after a cut of 20 s.
#[test]
fn without_an_action_it_stays_failed_with_a_long_queue() {
    let without = without_action(&naive(), &terms(60, 60), &engine).unwrap();
    assert!((12_000.0..17_000.0).contains(&without.queued), "{without:?}");
    assert!(without.goodput_at_end < 1.0 && without.attempts_per_request > 3.5, "{without:?}");
    assert!((76.0..84.0).contains(&without.goodput_before), "{without:?}");
}

/// Reference numbers A: alone they give some seconds of goodput; with a budget they work in 0 to 9 s.
#[test]
fn a_dropped_backlog_relapses_alone_and_is_the_way_out_together_with_a_budget() {
    let terms = terms(60, 60);
    for drop in ["shed-queue", "restart"] {
        let alone = row(&naive(), drop, &terms);
        assert!(!alone.works && alone.worked == 0, "{alone:?}");
        assert_eq!((alone.time_to_recover, alone.goodput_lost), (None, None));
        assert!((4.0..=8.0).contains(&alone.goodput_seconds.unwrap()), "{alone:?}");
        let both = row(&naive(), &format!("budget+{drop}"), &terms);
        assert!(both.works, "{both:?}");
        assert!(both.time_to_recover.unwrap() <= 12.0, "{both:?}");
        assert!(both.goodput_lost.unwrap() < 80.0 * 12.0, "{both:?}");
    }
}

/// Reference numbers A: with a bound of 600, shedding to 50 % never works, to 30 % takes up to 60 s
/// and to nothing up to 20 s.
#[test]
fn a_load_must_fall_below_the_safe_load_and_the_lower_the_shorter() {
    let terms = terms(60, 60);
    let least = |share: &str| {
        let row = row(&bounded(600), &format!("load={share}:?"), &terms);
        assert_eq!(row.works, row.sought.unwrap().least.is_some());
        row.sought.unwrap().least
    };
    assert_eq!(least("50%"), None);
    let (third, none) = (least("30%").unwrap(), least("0%").unwrap());
    assert!((20.0..=60.0).contains(&third), "{third}");
    assert!((5.0..=20.0).contains(&none), "{none}");
    let shares = row(&bounded(600), "load=?:60s", &terms);
    let share = shares.sought.unwrap().least.unwrap();
    assert!((0.25..0.5).contains(&share), "{shares:?}");
    assert_eq!(shares.tried, format!("load={:.0}%:60s", share * 100.0));
}

#[test]
fn capacity_helps_only_past_the_load_with_all_retries() {
    let row = row(&naive(), "capacity=?", &terms(300, 60));
    let least = row.sought.unwrap().least.unwrap();
    assert!((3.1..4.5).contains(&least), "{row:?}");
    assert_eq!(row.tried, format!("capacity={least:.1}"));
}

#[test]
fn every_action_of_the_list_can_be_put_on_the_timeline() {
    let terms = terms(10, 10);
    for text in Action::ALL {
        let action: Action = text.parse().unwrap();
        let plan = drilled::<String>(&naive(), Some(&action.with(2.0)), &terms).unwrap();
        assert_eq!(plan.pulled.as_secs_f64().to_bits(), 140.0_f64.to_bits());
        assert!(!plan.scenario.levers.is_empty(), "{text}");
        assert!(plan.scenario.levers.iter().all(|lever| lever.at >= plan.pulled), "{text}");
    }
}

#[test]
fn steps_follow_in_their_order_and_what_holds_for_a_while_is_undone() {
    let action: Action = "load=10%:30s+wait=10s+capacity=2:5s".parse().unwrap();
    let plan = drilled::<String>(&naive(), Some(&action), &terms(60, 60)).unwrap();
    let levers = plan.scenario.levers.iter();
    let told: Vec<_> =
        levers.map(|planned| (planned.at.elapsed().as_secs(), planned.lever.name())).collect();
    assert_eq!(told, [(140, "rate"), (151, "limiter"), (156, "limiter"), (170, "rate")]);
    assert_eq!(plan.scenario.duration.as_secs(), 170 + 60 + 10);
}

#[test]
fn a_drill_needs_a_failure_and_a_tier_that_is_there() {
    let mut calm = naive();
    calm.client.layers[0].retries = 0;
    let error = without_action(&calm, &terms(60, 60), &engine).unwrap_err().to_string();
    assert!(error.contains("recovered") && error.contains("--arm naive"), "{error}");
    calm.faults.clear();
    let error = without_action(&calm, &terms(60, 60), &engine).unwrap_err();
    assert_eq!(error, DrillError::NoTrigger);
    let elsewhere = Terms { tier: Some("gateway".to_owned()), ..terms(60, 60) };
    let error = without_action(&naive(), &elsewhere, &engine).unwrap_err().to_string();
    assert!(error.contains("order-status"), "{error}");
}
