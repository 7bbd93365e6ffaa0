use std::time::Duration;

use goodput_clock::{Ratio, Seed};
use proptest::prelude::*;

use super::config::FIFTH;
use super::window::Window;
use super::*;
use crate::attempt::{AttemptResult, RetryOn};
use crate::backoff::Backoff;
use crate::retry::{BudgetScope, Call, LayerConfig, Layers, Step};

fn parse(text: &str) -> Result<BudgetConfig, String> {
    #[derive(serde::Deserialize)]
    struct Holder {
        budget: BudgetConfig,
    }
    toml::from_str::<Holder>(&format!("budget = {text}"))
        .map(|holder| holder.budget)
        .map_err(|error| error.to_string())
}

#[test]
fn a_name_stands_for_the_defaults_of_its_rule() {
    for name in BudgetConfig::NAMES {
        let named = parse(&format!("\"{name}\"")).unwrap();
        let table = parse(&format!("{{ kind = \"{name}\" }}")).unwrap();
        assert_eq!(named, table);
        assert_eq!(named.name(), name);
        assert_eq!(named.validate(), Ok(()));
    }
}

#[test]
fn absent_keys_take_their_defaults() {
    let budget = parse("{ kind = \"finagle\", credit = \"success\", ratio = \"10%\" }").unwrap();
    let BudgetConfig::Finagle(finagle) = budget else { panic!("{budget:?}") };
    assert_eq!(finagle.credit, Credit::Success);
    assert_eq!(finagle.ratio.get().to_bits(), 0.1_f64.to_bits());
    assert_eq!(Finagle { credit: Credit::Request, ratio: FIFTH, ..finagle }, Finagle::default());
}

#[test]
fn what_is_refused_names_the_key_and_shows_a_valid_example() {
    for (text, key) in [
        ("\"sre\"", "sre"),
        ("7", "7"),
        ("{ ratio = 0.1 }", "kind"),
        ("{ kind = \"sre\" }", "sre"),
        ("{ kind = \"off\", ratio = 0.1 }", "ratio"),
        ("{ kind = \"sre-ratio\", raito = 0.1 }", "raito"),
        ("{ kind = \"sre-ratio\", ratio = 1.5 }", "1.5"),
        ("{ kind = \"sre-ratio\", window = 10 }", "10"),
        ("{ kind = \"sre-ratio\", window = \"2h\" }", "window"),
        ("{ kind = \"finagle\", min_per_second = -1.0 }", "min_per_second"),
        ("{ kind = \"finagle\", min_per_second = nan }", "min_per_second"),
        ("{ kind = \"finagle\", window = \"0s\" }", "window"),
        ("{ kind = \"token-bucket\", max = 0 }", "max"),
        ("{ kind = \"token-bucket\", max = -1 }", "-1"),
        ("{ kind = \"grpc-throttle\", max_tokens = 1001 }", "max_tokens"),
        ("{ kind = \"grpc-throttle\", token_ratio = 0 }", "token_ratio"),
        ("{ kind = \"aws-quota\", capacity = 0 }", "capacity"),
        ("{ kind = \"aws-quota\", cost = 501 }", "cost"),
        ("{ kind = \"aws-quota\", timeout_cost = 0 }", "timeout_cost"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(key), "{text}: {error}");
        assert!(error.contains("{ kind = \"sre-ratio\", ratio = 0.1"), "{text}: {error}");
    }
}

#[test]
fn what_is_written_reads_back() {
    for name in BudgetConfig::NAMES {
        let config: BudgetConfig = name.parse().unwrap();
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<BudgetConfig>(&json).unwrap(), config, "{json}");
    }
}

/// Retries per request by the rule-level model: a thousand requests a second in all, retried at once,
/// each attempt failing with probability `failing`. The first figure is that of the steady state (60 s
/// to 90 s), the second that of the first second.
fn retries_per_request(budget: BudgetConfig, clients: u32, failing: f64) -> (f64, f64) {
    let config = LayerConfig {
        name: "client".to_owned(),
        timeout: Some(Duration::from_secs(1)),
        retries: 3,
        backoff: Backoff { base: Duration::ZERO, ..Backoff::default() },
        retry_on: RetryOn::default(),
        budget,
        budget_scope: BudgetScope::Client,
    };
    let mut layers = Layers::new(vec![config], clients, Seed(7).stream("retry"));
    let mut random = Seed(7).stream("failures");
    let failing = Ratio::new(failing).unwrap();
    let (mut steady, mut first) = (0, 0);
    for request in 0..90_000_u32 {
        let now = Timestamp::ZERO + Duration::from_millis(u64::from(request));
        let client = request % clients;
        let (mut call, mut step) = Call::begin(now, client, Timestamp::MAX, &mut layers);
        while matches!(step, Step::Attempt { .. }) {
            let result = if random.chance(failing) {
                AttemptResult::Failure(FailureClass::Overloaded)
            } else {
                AttemptResult::Success
            };
            step = call.on_result(now, result, &mut layers);
        }
        let retries = call.attempts() - 1;
        steady += if request >= 60_000 { retries } else { 0 };
        first += if request < 1000 { retries } else { 0 };
    }
    (f64::from(steady) / 30_000.0, f64::from(first) / 1000.0)
}

/// Reference numbers G: for one client and for a hundred, the steady state of a total failure, its
/// first second where it is known, and the steady state of a failure of one half.
#[test]
fn budgets_hold_their_retries_in_a_fleet_as_the_reference_numbers_say() {
    let per_success = Finagle { credit: Credit::Success, ..Finagle::default() };
    let new_quota = AwsQuota { cost: 14, ..AwsQuota::default() };
    let named = |name: &str| name.parse::<BudgetConfig>().unwrap();
    let unknown = f64::NAN;
    for (budget, one, hundred) in [
        (BudgetConfig::Off, [3.0, 3.0, 0.875], [3.0, 3.0, 0.875]),
        (named("finagle"), [0.21, 0.30, 0.21], [1.20, 3.0, 0.88]),
        (BudgetConfig::Finagle(per_success), [0.01, 0.10, 0.12], [1.0, 3.0, 0.88]),
        (named("grpc-throttle"), [0.0, 0.0, 0.0], [0.0, 0.3, 0.0]),
        (named("aws-quota"), [0.0, 0.1, 0.20], [0.0, 3.0, 0.20]),
        (BudgetConfig::AwsQuota(new_quota), [0.0, 0.04, 0.07], [0.0, 3.0, 0.07]),
        (named("sre-ratio"), [0.105, 0.105, 0.105], [0.105, unknown, 0.105]),
    ] {
        for (clients, expected) in [(1, one), (100, hundred)] {
            let (total, first) = retries_per_request(budget, clients, 1.0);
            let (half, _) = retries_per_request(budget, clients, 0.5);
            let found = [total, first, half];
            let off = |(found, expected): (&f64, &f64)| (found - expected).abs() > 0.015;
            // A figure that is not known is NaN, and NaN is never off.
            let wrong = found.iter().zip(&expected).any(off);
            assert!(!wrong, "{}, {clients} clients: {found:?} for {expected:?}", budget.name());
        }
    }
}

/// At 10 % failures gRPC's throttle already cuts retries, since 0.1 / 0.9 > 0.1; the others do not.
#[test]
fn only_the_grpc_throttle_cuts_retries_at_ten_percent_failures() {
    let retries = |name: &str| retries_per_request(name.parse().unwrap(), 1, 0.1).0;
    assert!(retries("grpc-throttle") < 0.03);
    for name in ["off", "finagle", "aws-quota"] {
        assert!((retries(name) - 0.11).abs() < 0.01, "{name}");
    }
}

fn tenths(budget: &Budget, now: Timestamp) -> i64 {
    (budget.tokens(now) * 10.0).round() as i64
}

#[test]
fn an_aws_quota_gets_back_what_its_last_retry_cost_and_one_for_a_first_success() {
    let config = AwsQuota { capacity: 30, cost: 5, timeout_cost: Some(10) };
    let mut budget = Budget::new(BudgetConfig::AwsQuota(config));
    let now = Timestamp::ZERO;
    let cheap = budget.try_retry(now, FailureClass::Overloaded).unwrap();
    let dear = budget.try_retry(now, FailureClass::Timeout).unwrap();
    assert_eq!(tenths(&budget, now), 30);
    budget.on_success(now, Some(dear));
    assert_eq!(tenths(&budget, now), 50);
    budget.on_success(now, None);
    assert_eq!(tenths(&budget, now), 52);
    budget.on_success(now, Some(cheap));
    assert_eq!(tenths(&budget, now), 60);
}

#[test]
fn a_grpc_throttle_closes_at_half_and_opens_above_it() {
    let mut budget = Budget::new("grpc-throttle".parse().unwrap());
    let now = Timestamp::ZERO;
    let allowed = |budget: &mut Budget| budget.try_retry(now, FailureClass::Timeout).is_some();
    for _ in 0..4 {
        budget.on_failure();
        assert!(allowed(&mut budget));
    }
    budget.on_failure();
    assert!(!allowed(&mut budget), "5 of 10 tokens are not more than half");
    budget.on_success(now, None);
    assert!(allowed(&mut budget));
}

#[test]
fn a_token_bucket_pays_with_its_successes() {
    let mut budget = Budget::new("token-bucket".parse().unwrap());
    let now = Timestamp::ZERO;
    let mut taken = 0;
    while budget.try_retry(now, FailureClass::Timeout).is_some() {
        taken += 1;
    }
    assert_eq!(taken, 10);
    for _ in 0..9 {
        budget.on_success(now, None);
    }
    assert!(budget.try_retry(now, FailureClass::Timeout).is_none());
    budget.on_success(now, None);
    assert!(budget.try_retry(now, FailureClass::Timeout).is_some());
}

#[test]
fn credit_runs_out_with_its_window_and_stale_times_count_as_the_last() {
    let mut budget = Budget::new("sre-ratio".parse().unwrap());
    for _ in 0..10 {
        budget.on_request(Timestamp::from_secs(5));
    }
    budget.on_request(Timestamp::ZERO);
    assert!((budget.tokens(Timestamp::from_secs(14)) - 1.1).abs() < 1e-9);
    assert_eq!(tenths(&budget, Timestamp::from_secs(15)), 0);
    assert!(budget.try_retry(Timestamp::from_secs(15), FailureClass::Timeout).is_none());
    assert!(budget.try_retry(Timestamp::from_secs(14), FailureClass::Timeout).is_some());
    assert!(budget.try_retry(Timestamp::from_secs(14), FailureClass::Timeout).is_none());
    assert_eq!(tenths(&budget, Timestamp::MAX), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// The window against a list of everything that was ever added.
    #[test]
    fn a_window_sums_exactly_what_its_buckets_hold(
        length in 1_u64..20_000, steps in proptest::collection::vec((0_u64..5000, -50_i64..50), 1..60),
    ) {
        let mut window = Window::new(Duration::from_millis(length));
        let bucket = (length * 1_000_000 / 10).max(1);
        let (mut now, mut added) = (0, Vec::new());
        for (millis, amount) in steps {
            now += millis * 1_000_000;
            window.add(Timestamp::from_nanos(now), amount);
            added.push((now / bucket, amount));
            let later = now + millis * 500_000;
            for at in [now, later] {
                let first = (at / bucket).saturating_sub(9);
                let sum = added.iter().filter(|(bucket, _)| *bucket >= first).map(|(_, amount)| amount);
                prop_assert_eq!(window.sum(Timestamp::from_nanos(at)), sum.sum::<i64>());
            }
        }
    }
}

#[test]
fn what_fails_for_ever_is_retried_no_more_than_the_bound_and_rates_reach_it() {
    for (text, is_reached) in [
        ("\"off\"", true),
        ("\"sre-ratio\"", true),
        ("\"finagle\"", true),
        ("{ kind = \"finagle\", credit = \"success\" }", false),
        ("\"token-bucket\"", false),
        ("\"grpc-throttle\"", false),
        ("\"aws-quota\"", false),
    ] {
        let config = parse(text).unwrap();
        let bound = config.sustained_retries(3, 80.0, 1);
        let (mut budget, mut retries) = (Budget::new(config), 0_u32);
        // Eighty requests a second for 500 s; what a bucket held at first is gone after 100.
        for request in 0..40_000_u64 {
            let now = Timestamp::from_nanos(request * 12_500_000);
            budget.on_request(now);
            budget.on_failure();
            for _ in 0..3 {
                if budget.try_retry(now, FailureClass::Timeout).is_none() {
                    break;
                }
                budget.on_failure();
                retries += u32::from(request >= 8_000);
            }
        }
        let each = f64::from(retries) / 32_000.0;
        assert!(each <= bound * 1.01, "{text}: {each} retries a request, and the bound is {bound}");
        assert!(!is_reached || each >= bound * 0.95, "{text}: {each} of {bound}");
    }
}

#[test]
fn a_budget_reads_as_it_is_written_on_a_command_line() {
    for (budget, text) in [
        (BudgetConfig::Off, "off"),
        (BudgetConfig::SreRatio(SreRatio::default()), "sre-ratio,ratio=0.1,window=10s"),
        (
            BudgetConfig::Finagle(Finagle::default()),
            "finagle,ratio=0.2,min_per_second=10,window=10s,credit=request",
        ),
        (BudgetConfig::TokenBucket(TokenBucket::default()), "token-bucket,ratio=0.1,max=10"),
        (
            BudgetConfig::GrpcThrottle(GrpcThrottle::default()),
            "grpc-throttle,max_tokens=10,token_ratio=0.1",
        ),
        (
            BudgetConfig::AwsQuota(AwsQuota { timeout_cost: Some(10), ..AwsQuota::default() }),
            "aws-quota,capacity=500,cost=5,timeout_cost=10",
        ),
    ] {
        assert_eq!(budget.to_string(), text);
    }
}
