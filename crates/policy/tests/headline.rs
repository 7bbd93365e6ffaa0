//! The headline of the project over the real policy values, in virtual time.
//!
//! A small event loop stands in for an engine: it drives [`Limiter`] and [`Call`] as an engine does,
//! without a network between them. The figures are those of the project's reference numbers, which
//! come from independent simulations.

#![expect(clippy::unwrap_used, reason = "what a test fails to set up it fails")]

mod engine;

use std::time::Duration;

use engine::{Model, Spread};
use goodput_policy::budget::{BudgetConfig, Credit, Finagle};
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::limiter::{QueueLimit, QueueOrder};

const MAX_CUT: f64 = 120.0;

/// The shortest cut that is permanent, in seconds, to 0.02 s; none up to 120 s.
fn shortest_permanent_cut(model: &Model) -> Option<f64> {
    let sticks = |seconds: f64| model.clone().with_cut(seconds).run().is_metastable();
    if !sticks(MAX_CUT) {
        return None;
    }
    let (mut absorbed, mut permanent) = (0.0, MAX_CUT);
    while permanent - absorbed > 0.02 {
        let middle = f64::midpoint(absorbed, permanent);
        if sticks(middle) { permanent = middle } else { absorbed = middle }
    }
    Some(permanent)
}

fn assert_boundary(name: &str, model: &Model, expected: f64) {
    let found = shortest_permanent_cut(model);
    assert!(found.is_some_and(|found| (found - expected).abs() <= 0.15), "{name}: {found:?}");
}

#[test]
fn ten_slots_stick_after_a_cut_of_10_27_seconds() {
    assert_boundary("10 slots", &Model::headline(), 10.27);
}

#[test]
fn one_slot_sticks_after_a_cut_of_10_55_seconds() {
    assert_boundary("1 slot", &Model { slots: 1, ..Model::headline() }, 10.55);
}

#[test]
fn without_backoff_it_sticks_after_10_10_seconds() {
    let model = Model { backoff: Duration::ZERO, ..Model::headline() };
    assert_boundary("no backoff", &model, 10.10);
}

#[test]
fn with_a_time_out_of_two_seconds_it_sticks_after_four() {
    let model = Model { timeout: Duration::from_secs(2), ..Model::headline() };
    assert_boundary("time-out 2 s", &model, 4.00);
}

#[test]
fn no_cut_up_to_two_minutes_sticks_with_a_defence_at_the_server() {
    let bounded = Model { queue_limit: QueueLimit::Bounded(300), ..Model::headline() };
    let dropping = Model { drop_expired: true, ..Model::headline() };
    let lifo = Model { queue: QueueOrder::Lifo, ..Model::headline() };
    for (name, model) in [("bounded", bounded), ("drop expired", dropping), ("lifo", lifo)] {
        assert_eq!(shortest_permanent_cut(&model), None, "{name}");
    }
}

/// The share of `seeds` runs with Poisson arrivals that stick.
fn share_metastable(cut: f64, seeds: u64) -> f64 {
    let sticks = |seed: &u64| {
        Model { seed: *seed, arrivals: Spread::Poisson, ..Model::headline() }
            .with_cut(cut)
            .run()
            .is_metastable()
    };
    (0..seeds).filter(sticks).count() as f64 / seeds as f64
}

/// With 80 seeds two standard errors are 0.10 and 0.08 on top of the tolerance of 0.06.
#[test]
fn with_poisson_arrivals_the_share_that_sticks_rises_from_ten_to_eleven_seconds() {
    let (ten, eleven) = (share_metastable(10.0, 80), share_metastable(11.0, 80));
    assert!((ten - 0.275).abs() < 0.16, "10 s: {ten}");
    assert!((eleven - 0.848).abs() < 0.14, "11 s: {eleven}");
}

#[test]
#[ignore = "the full size takes minutes"]
fn a_thousand_seeds_give_the_shares_of_the_reference() {
    for (cut, expected) in [(9.0, 0.004), (10.0, 0.275), (11.0, 0.848), (12.0, 0.998)] {
        let found = share_metastable(cut, 1000);
        println!("{cut} s: {found}, expected {expected}");
        assert!((found - expected).abs() <= 0.06, "{cut} s: {found}");
    }
}

/// The 20 s cut with Poisson arrivals: seconds to recover, by arm, least and most of the reference.
/// Nine seeds here against its hundred, so the found range is to lie within it, give or take 3 s.
///
/// One row differs: the reference gives 22–55 s to the token bucket, whose model also credits answers
/// that come after the time-out (with that, this model gives 28–50 s). A client cannot see those, and
/// [`TokenBucket`](goodput_policy::budget::TokenBucket) credits the successes of the client.
#[test]
fn after_a_cut_of_twenty_seconds_each_arm_recovers_in_its_time_or_never() {
    let named = |name: &str| name.parse::<BudgetConfig>().unwrap();
    let budget = |budget| Model { budget, ..Model::headline() };
    let per_success =
        BudgetConfig::Finagle(Finagle { credit: Credit::Success, ..Finagle::default() });
    let bounded = |limit| Model { queue_limit: QueueLimit::Bounded(limit), ..Model::headline() };
    let arms = [
        ("no retries", Model { retries: 0, ..Model::headline() }, Some((11.0, 25.0))),
        ("gRPC throttle", budget(named("grpc-throttle")), Some((12.0, 25.0))),
        ("AWS quota", budget(named("aws-quota")), Some((16.0, 30.0))),
        ("token bucket", budget(named("token-bucket")), Some((12.0, 25.0))),
        ("SRE 10 %", budget(named("sre-ratio")), Some((28.0, 70.0))),
        ("Finagle per success", budget(per_success), Some((39.0, 180.0))),
        ("Finagle per request", budget(named("finagle")), None),
        ("queue bound 150", bounded(150), Some((0.0, 2.0))),
        ("queue bound 500", bounded(500), None),
        ("backoff from 5 s", Model { backoff: Duration::from_secs(5), ..Model::headline() }, None),
        ("no defence", Model::headline(), None),
    ];
    let mut wrong = Vec::new();
    for (name, model, expected) in arms {
        let model = Model { arrivals: Spread::Poisson, patience: 200, ..model }.with_cut(20.0);
        let seconds: Vec<_> =
            (0..9).map(|seed| Model { seed, ..model.clone() }.run().seconds_to_recover()).collect();
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
    for (limit, least, most) in [(150, 38.5, 41.0), (300, 17.0, 23.0)] {
        let model = Model { queue_limit: QueueLimit::Bounded(limit), ..Model::headline() };
        let model = Model { arrivals: Spread::Poisson, ..model }.with_cut(20.0);
        let goodput = model.run().goodput(60.0, 80.0);
        assert!((least..=most).contains(&goodput), "bound {limit}: {goodput}");
    }
}

/// Reference numbers B: a full stall of 20 s at 30 % utilisation sticks, at 20 % it recovers.
#[test]
fn a_stall_of_twenty_seconds_sticks_at_thirty_a_second_and_not_at_twenty() {
    for seed in 0..6 {
        let stall = Model { seed, arrivals: Spread::Poisson, ..Model::headline() }
            .with_fault(FaultKind::Stall, 20.0);
        assert!(Model { rate: 30.0, ..stall.clone() }.run().is_metastable());
        let seconds = Model { rate: 20.0, ..stall }.run().seconds_to_recover();
        assert!(seconds.is_some_and(|seconds| (2.0..=22.0).contains(&seconds)), "{seconds:?}");
    }
}

/// Reference numbers H: one layer of three retries recovers, three layers stick with 64 attempts a
/// request.
#[test]
fn three_layers_of_three_stick_where_one_layer_recovers() {
    for seed in 0..3 {
        let model = Model {
            seed,
            rate: 10.0,
            timeout: Duration::from_secs(1),
            backoff: Duration::from_millis(100),
            arrivals: Spread::Poisson,
            patience: 250,
            ..Model::headline()
        }
        .with_fault(FaultKind::Stall, 10.0);
        let one = model.clone().run();
        assert!(one.seconds_to_recover().is_some());
        let three = Model { layers: 3, ..model }.run();
        assert!(three.is_metastable());
        assert_eq!(three.attempts_of_failed(), (64, 64));
    }
}

/// Lost replicas and a slow database cost the same capacity, and stick alike.
#[test]
fn a_cut_of_slots_sticks_as_a_slow_one_does() {
    let to = goodput_clock::Ratio::new(0.4).unwrap();
    let slots = FaultKind::capacity(to, CapacityMode::Slots).unwrap();
    let sticks = |seconds| Model::headline().with_fault(slots, seconds).run().is_metastable();
    assert!(!sticks(9.0));
    assert!(sticks(11.5));
}
