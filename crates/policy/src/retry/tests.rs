use goodput_clock::{Ratio, Seed};
use proptest::prelude::*;

use super::*;
use crate::attempt::RetryOn;
use crate::backoff::{Backoff, Jitter};
use crate::budget::{BudgetConfig, Finagle, SreRatio, TokenBucket};
use crate::lever::{Lever, NOTHING};

const SECOND: Duration = Duration::from_secs(1);
const TIMEOUT: AttemptResult = AttemptResult::Failure(FailureClass::Timeout);
const REFUSED: AttemptResult = AttemptResult::Failure(FailureClass::Overloaded);

fn layer(name: &str, timeout: Option<Duration>, retries: u32, base: Duration) -> LayerConfig {
    LayerConfig {
        name: name.to_owned(),
        timeout,
        retries,
        backoff: Backoff { base, ..Backoff::default() },
        retry_on: RetryOn::default(),
        budget: BudgetConfig::Off,
        budget_scope: BudgetScope::Client,
    }
}

fn layers(configs: Vec<LayerConfig>, clients: u32) -> Layers {
    Layers::new(configs, clients, Seed(1).stream("retry"))
}

fn one_layer(change: impl FnOnce(&mut LayerConfig)) -> Layers {
    let mut config = layer("client", Some(5 * SECOND), 3, Duration::ZERO);
    change(&mut config);
    layers(vec![config], 2)
}

/// What became of one request, and when each attempt was sent.
struct Driven {
    sent: Vec<f64>,
    ended: f64,
    outcome: Outcome,
}

/// Drives a request that begins at `begin`; `answer` says what becomes of each attempt, and after
/// how long.
fn drive(
    layers: &mut Layers,
    begin: u64,
    deadline: Timestamp,
    mut answer: impl FnMut(u32) -> (Duration, AttemptResult),
) -> Driven {
    let mut now = Timestamp::from_secs(begin);
    let (mut call, mut step) = Call::begin(now, 0, deadline, layers);
    let mut sent = Vec::new();
    loop {
        step = match step {
            Step::Attempt { number, until, deadline: useful } => {
                assert!(useful <= until && until > now, "{now} {until} {useful}");
                sent.push(now.as_secs_f64());
                assert_eq!(number as usize, sent.len());
                let (after, result) = answer(number);
                let (at, result) =
                    if now + after < until { (now + after, result) } else { (until, TIMEOUT) };
                now = at;
                call.on_result(now, result, layers)
            }
            Step::Wait { until } => {
                assert!(until > now, "a wait ends later than it begins");
                now = until;
                call.on_wakeup(now, layers)
            }
            Step::Done(outcome) => return Driven { sent, ended: now.as_secs_f64(), outcome },
        };
    }
}

fn failed(class: FailureClass, reason: StopReason) -> Outcome {
    Outcome::Failed { class, reason }
}

#[test]
fn three_layers_of_three_make_exactly_64_attempts() {
    for base in [Duration::ZERO, SECOND / 10] {
        let inner = layer("inner", Some(SECOND), 3, base);
        let configs = vec![layer("outer", None, 3, base), layer("middle", None, 3, base), inner];
        let mut layers = layers(configs, 1);
        assert_eq!(layers.max_attempts(), 64);
        let driven = drive(&mut layers, 0, Timestamp::MAX, |_| (2 * SECOND, TIMEOUT));
        assert_eq!(driven.sent.len(), 64);
        assert_eq!(driven.outcome, failed(FailureClass::Timeout, StopReason::Exhausted));
        let sums: Vec<_> = layers.counters().iter().map(|c| (c.first, c.retries)).collect();
        assert_eq!(sums, [(1, 3), (4, 12), (16, 48)]);
    }
}

#[test]
fn backoff_runs_from_the_failure_and_doubles() {
    let mut layers = one_layer(|config| config.backoff.base = SECOND);
    let driven = drive(&mut layers, 0, Timestamp::MAX, |_| (9 * SECOND, TIMEOUT));
    assert_eq!(driven.sent, [0.0, 6.0, 13.0, 22.0]);
    assert!((driven.ended - 27.0).abs() < 1e-9);
}

#[test]
fn an_outer_time_out_cuts_the_inner_waits_and_attempts() {
    let inner = layer("inner", Some(SECOND), 9, SECOND / 2);
    let outer = layer("outer", Some(3 * SECOND), 1, SECOND / 4);
    let mut layers = layers(vec![outer, inner], 1);
    let driven = drive(&mut layers, 0, Timestamp::MAX, |_| (9 * SECOND, TIMEOUT));
    // The inner layer would send again at 3.5 s; the outer one ends its try at 3 s.
    assert_eq!(driven.sent, [0.0, 1.5, 3.25, 4.75]);
    assert!((driven.ended - 6.25).abs() < 1e-9);
    let counters = layers.counters();
    assert_eq!((counters[0].first, counters[0].retries, counters[0].cut), (1, 1, 0));
    assert_eq!((counters[1].first, counters[1].retries, counters[1].cut), (2, 2, 0));
}

#[test]
fn equal_time_outs_cancel_the_inner_retries() {
    let configs =
        vec![layer("outer", Some(SECOND), 0, SECOND), layer("inner", Some(SECOND), 3, SECOND)];
    let mut layers = layers(configs, 1);
    let driven = drive(&mut layers, 0, Timestamp::MAX, |_| (9 * SECOND, TIMEOUT));
    assert_eq!(driven.sent, [0.0]);
    assert_eq!(layers.counters()[1].cut, 1);
}

#[test]
fn no_attempt_starts_at_or_after_the_deadline_and_an_answer_after_it_is_late() {
    let mut layers = one_layer(|config| config.backoff.base = SECOND);
    let deadline = Timestamp::from_secs(13);
    let driven = drive(&mut layers, 0, deadline, |_| (9 * SECOND, TIMEOUT));
    assert_eq!(driven.sent, [0.0, 6.0]);
    assert_eq!(driven.outcome, failed(FailureClass::Timeout, StopReason::Deadline));
    let on_time =
        drive(&mut layers, 0, Timestamp::from_secs(4), |_| (4 * SECOND, AttemptResult::Success));
    assert_eq!(on_time.outcome, Outcome::Good);
    let late =
        drive(&mut layers, 0, Timestamp::from_secs(3), |_| (4 * SECOND, AttemptResult::Success));
    assert_eq!(late.outcome, Outcome::Late);
}

#[test]
fn an_attempt_carries_the_earlier_of_its_time_out_and_the_deadline() {
    let mut layers = one_layer(|_| {});
    for (deadline, useful) in [(3, 3), (50, 5)] {
        let deadline = Timestamp::from_secs(deadline);
        let (_, step) = Call::begin(Timestamp::ZERO, 0, deadline, &mut layers);
        let until = Timestamp::from_secs(5);
        assert_eq!(
            step,
            Step::Attempt { number: 1, until, deadline: Timestamp::from_secs(useful) }
        );
    }
}

#[test]
fn a_success_that_is_reported_after_its_time_out_is_a_time_out() {
    let mut layers = one_layer(|config| config.retries = 0);
    let (mut call, _) = Call::begin(Timestamp::ZERO, 0, Timestamp::MAX, &mut layers);
    let late = Timestamp::from_secs(5) + Duration::from_nanos(1);
    let step = call.on_result(late, AttemptResult::Success, &mut layers);
    assert_eq!(step, Step::Done(failed(FailureClass::Timeout, StopReason::Exhausted)));
    let (mut call, _) = Call::begin(Timestamp::ZERO, 0, Timestamp::MAX, &mut layers);
    let step = call.on_result(Timestamp::from_secs(5), AttemptResult::Success, &mut layers);
    assert_eq!(step, Step::Done(Outcome::Good));
}

#[test]
fn a_wake_up_too_early_waits_on_and_one_too_late_gives_way_to_the_outer_time_out() {
    let outer = layer("outer", Some(3 * SECOND), 0, SECOND);
    let mut layers = layers(vec![outer, layer("inner", Some(SECOND), 3, SECOND)], 1);
    let (mut call, _) = Call::begin(Timestamp::ZERO, 0, Timestamp::MAX, &mut layers);
    let until = Timestamp::from_secs(2);
    let wait = call.on_result(Timestamp::from_secs(1), TIMEOUT, &mut layers);
    assert_eq!(wait, Step::Wait { until });
    assert_eq!(call.on_wakeup(Timestamp::from_secs(1), &mut layers), Step::Wait { until });
    let step = call.on_wakeup(Timestamp::from_secs(3), &mut layers);
    assert_eq!(step, Step::Done(failed(FailureClass::Timeout, StopReason::Exhausted)));
}

#[test]
fn each_class_is_retried_only_where_retry_on_names_it() {
    for retried in FailureClass::ALL {
        let mut layers = one_layer(|config| config.retry_on = [retried].into_iter().collect());
        for class in FailureClass::ALL {
            let driven =
                drive(&mut layers, 0, Timestamp::MAX, |_| (SECOND, AttemptResult::Failure(class)));
            let reason =
                if class == retried { StopReason::Exhausted } else { StopReason::NotRetryable };
            assert_eq!(driven.outcome, failed(class, reason));
            assert_eq!(driven.sent.len(), if class == retried { 4 } else { 1 });
        }
    }
    let default = RetryOn::default();
    assert!(
        FailureClass::ALL
            .iter()
            .all(|class| default.contains(*class) != (*class == FailureClass::Error))
    );
}

#[test]
fn a_budget_is_each_clients_own_unless_it_is_shared() {
    let budget = BudgetConfig::Finagle(Finagle {
        ratio: Ratio::ZERO,
        min_per_second: 1.0,
        window: 2 * SECOND,
        ..Finagle::default()
    });
    for (scope, left) in [(BudgetScope::Client, [1, 1]), (BudgetScope::Shared, [1, 3])] {
        let mut layers = one_layer(|config| (config.budget, config.budget_scope) = (budget, scope));
        let tokens = if scope == BudgetScope::Client { 4.0 } else { 2.0 };
        assert!((layers.tokens(Timestamp::ZERO, 0) - tokens).abs() < 1e-9);
        let mut retries = |client| {
            let (mut call, mut step) =
                Call::begin(Timestamp::ZERO, client, Timestamp::MAX, &mut layers);
            while matches!(step, Step::Attempt { .. }) {
                step = call.on_result(Timestamp::ZERO, REFUSED, &mut layers);
            }
            3 - (call.attempts() - 1)
        };
        assert_eq!([retries(0), retries(1)], left, "{scope:?}");
    }
}

#[test]
fn levers_act_on_the_layer_that_they_name_and_at_once() {
    let configs = vec![
        layer("outer", None, 1, Duration::ZERO),
        layer("inner", Some(SECOND), 2, Duration::ZERO),
    ];
    let mut layers = layers(configs, 3);
    let count = |layers: &mut Layers| {
        drive(layers, 0, Timestamp::MAX, |_| (Duration::ZERO, REFUSED)).sent.len()
    };
    assert_eq!(count(&mut layers), 6);
    assert!(layers.set_retries(Some("inner"), 1));
    assert_eq!(count(&mut layers), 4);
    assert!(layers.set_budget(Some("outer"), BudgetConfig::SreRatio(SreRatio::default())));
    assert_eq!(count(&mut layers), 2);
    assert!(layers.set_budget(None, BudgetConfig::Off));
    assert_eq!(count(&mut layers), 4);
    assert!(layers.set_retries(None, 0));
    assert_eq!(count(&mut layers), 1);
    assert!(
        !layers.set_retries(Some("middle"), 1) && !layers.set_budget(Some(""), BudgetConfig::Off)
    );
}

#[test]
fn a_call_under_way_feels_a_lever_at_its_next_decision() {
    let mut layers = one_layer(|config| config.retries = 3);
    let (mut call, _) = Call::begin(Timestamp::ZERO, 0, Timestamp::MAX, &mut layers);
    let step = call.on_result(Timestamp::ZERO, REFUSED, &mut layers);
    assert!(matches!(step, Step::Attempt { number: 2, .. }));
    layers.set_retries(None, 0);
    let step = call.on_result(Timestamp::ZERO, REFUSED, &mut layers);
    assert_eq!(step, Step::Done(failed(FailureClass::Overloaded, StopReason::Exhausted)));
}

#[test]
fn configurations_out_of_range_are_refused_by_their_key() {
    let broken = |change: fn(&mut LayerConfig)| {
        let mut config = layer("client", Some(SECOND), 3, SECOND);
        change(&mut config);
        config.validate().map_err(|error| error.key)
    };
    assert_eq!(broken(|_| {}), Ok(()));
    assert_eq!(broken(|config| config.timeout = Some(Duration::ZERO)), Err("timeout"));
    assert_eq!(broken(|config| config.timeout = Some(Duration::MAX)), Err("timeout"));
    assert_eq!(broken(|config| config.retries = 101), Err("retries"));
    assert_eq!(broken(|config| config.backoff.factor = 0.0), Err("backoff.factor"));
    let budget = |config: &mut LayerConfig| {
        config.budget =
            BudgetConfig::Finagle(Finagle { min_per_second: f64::NAN, ..Finagle::default() });
    };
    assert_eq!(broken(budget), Err("min_per_second"));
}

fn any_layer(innermost: bool) -> impl Strategy<Value = LayerConfig> {
    let timeout = (1_u64..4000).prop_map(|millis| Some(Duration::from_millis(millis)));
    let timeout =
        if innermost { timeout.boxed() } else { prop_oneof![Just(None), timeout].boxed() };
    let names = proptest::sample::select(&BudgetConfig::NAMES[..]);
    (timeout, 0_u32..4, 0_u64..1500, 0_usize..4, names).prop_map(
        |(timeout, retries, base, jitter, budget)| {
            let jitter = [Jitter::None, Jitter::Full, Jitter::Equal, Jitter::Decorrelated][jitter];
            let mut config = layer("any", timeout, retries, Duration::from_millis(base));
            config.backoff.jitter = jitter;
            config.budget = budget.parse().unwrap();
            config
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn every_try_is_accounted_for_and_no_request_exceeds_its_attempts(
        mut configs in proptest::collection::vec(any_layer(false), 0..3),
        innermost in any_layer(true),
        deadline in proptest::option::of(1_u64..20),
        answers in proptest::collection::vec((0_u64..5000, 0_usize..6), 1..64),
    ) {
        configs.push(innermost);
        let mut layers = layers(configs, 1);
        let deadline = deadline.map_or(Timestamp::MAX, Timestamp::from_secs);
        for begin in 0..3 {
            let driven = drive(&mut layers, begin, deadline, |number| {
                let (millis, kind) = answers[number as usize % answers.len()];
                let result = FailureClass::ALL.get(kind);
                let result = result.map_or(AttemptResult::Success, |class| AttemptResult::Failure(*class));
                (Duration::from_millis(millis), result)
            });
            prop_assert!(driven.sent.len() as u64 <= layers.max_attempts());
            let after_deadline = |at: &f64| *at >= deadline.as_secs_f64();
            prop_assert!(!driven.sent.iter().skip(1).any(after_deadline));
        }
        for counters in layers.counters() {
            let failed: u64 = counters.failed.iter().sum();
            prop_assert_eq!(counters.first + counters.retries, counters.succeeded + failed + counters.cut);
        }
    }
}

#[test]
fn sustained_attempts_multiply_over_layers_and_a_budget_makes_them_few() {
    let close = |layers: &Layers, expected: f64| {
        let attempts = layers.sustained_attempts(80.0);
        assert!((attempts - expected).abs() < 1e-9, "{attempts}, not {expected}");
    };
    close(&one_layer(|_| {}), 4.0);
    close(&one_layer(|layer| layer.budget = BudgetConfig::SreRatio(SreRatio::default())), 1.1);
    // A floor of ten a second counts for each of two clients: 0.2 + 20 / 80.
    close(&one_layer(|layer| layer.budget = BudgetConfig::Finagle(Finagle::default())), 1.45);
    let mut two =
        layers(vec![layer("outer", None, 3, SECOND), layer("inner", Some(SECOND), 1, SECOND)], 1);
    close(&two, 8.0);
    assert!(two.set_budget(Some("outer"), BudgetConfig::SreRatio(SreRatio::default())));
    close(&two, 2.2);
}

#[test]
fn a_lever_that_finds_every_layer_so_says_so_and_leaves_the_budget_as_spent_as_it_is() {
    let mut two =
        layers(vec![layer("outer", None, 3, SECOND), layer("inner", Some(SECOND), 1, SECOND)], 1);
    let retries =
        |layer: Option<&str>, retries| Lever::Retries { layer: layer.map(str::to_owned), retries };
    let mut said = |lever: &Lever| two.pull(lever).unwrap();
    assert!(said(&retries(Some("inner"), 1)).starts_with(NOTHING));
    assert_eq!(said(&retries(None, 3)), "retries are now 3 at all layers");
    assert!(said(&retries(None, 3)).starts_with(NOTHING));
    let budget = BudgetConfig::TokenBucket(TokenBucket::default());
    let lever = Lever::Budget { layer: Some("inner".to_owned()), budget };
    assert!(said(&lever).starts_with("budget is now"));
    assert!(two.budget(0, 1).try_retry(Timestamp::ZERO, FailureClass::Timeout).is_some());
    let spent = two.tokens(Timestamp::ZERO, 1);
    assert!(two.pull(&lever).unwrap().starts_with(NOTHING));
    assert!((two.tokens(Timestamp::ZERO, 1) - spent).abs() < 1e-9 && spent < 10.0);
    assert!(two.pull(&retries(Some("nope"), 3)).unwrap_err().contains("`inner`"));
}
