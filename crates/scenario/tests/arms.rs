//! What is left out takes its default, and an arm lays its keys over the scenario.

use std::time::Duration;

use goodput_clock::{Rate, Ratio, Seed, Timestamp};
use goodput_policy::attempt::{FailureClass, RetryOn};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::{Capacity, LimiterConfig, QueueLimit};
use goodput_policy::pool::PoolOrder;
use goodput_scenario::{Arrivals, ExpectedVerdict, Plan, Protocol, Scenario};

const SMALL: &str = r#"name = "small"
duration = "120s"
load.rate = 80
[[client.layer]]
timeout = "5s"
retries = 3
[[tier]]
name = "order-status"
capacity = 100
[[fault]]
kind = "capacity"
to = "40%"
at = "30s"
for = "8s"
"#;

fn plan(text: &str) -> Plan {
    Plan::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// The small scenario with one arm of these lines.
fn arm(lines: &str) -> Scenario {
    let mut plan = plan(&format!("{SMALL}[[arm]]\nname = \"arm\"\n{lines}\n"));
    plan.arms.remove(0).scenario
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn what_is_left_out_takes_its_default() {
    let scenario = plan(SMALL).scenario;
    assert_eq!(scenario.seed, Seed(1));
    assert_eq!(scenario.load.arrivals, Arrivals::Poisson);
    assert_eq!(scenario.load.request.path, "/orders/{order}");
    assert_eq!(scenario.load.request.orders, 10_000);
    let client = &scenario.client;
    assert_eq!((client.clients, client.protocol, client.deadline), (1, Protocol::Http1, None));
    assert_eq!(client.pool, PoolOrder::Lifo);
    // 1.5 x 80/s x 4 attempts x 5 s, and without the time-out.
    assert_eq!(client.max_connections, 2400);
    assert_eq!(client.connect_rate, Rate::new(480.0).unwrap());
    let layer = &client.layers[0];
    assert_eq!((layer.name.as_str(), layer.backoff), ("client", Backoff::default()));
    assert_eq!((layer.retry_on, layer.budget), (RetryOn::default(), BudgetConfig::Off));
    let capacity = Capacity::Limited(Rate::new(100.0).unwrap());
    assert_eq!(scenario.tiers[0].limiter, LimiterConfig { capacity, ..LimiterConfig::default() });
    let fault = &scenario.faults[0];
    assert_eq!((fault.name.as_str(), fault.tier.as_str()), ("capacity", "order-status"));
    let to = Ratio::new(0.4).unwrap();
    assert_eq!(fault.kind, FaultKind::Capacity { to, mode: CapacityMode::Slow });
    let expect = scenario.expect;
    assert_eq!(expect.verdict, ExpectedVerdict::Recovered);
    // 120 s at most, and the run ends 82 s after the fault.
    assert_eq!((expect.hold, expect.within), (secs(10), secs(82)));
}

#[test]
fn the_limits_of_connections_leave_room_for_the_worst_that_the_scenario_can_ask() {
    let scenario = arm("set.load.change = [{ at = \"50s\", rate = 160, for = \"5s\" }]");
    assert_eq!(scenario.client.max_connections, 4800);
    let scenario = arm("set.lever = [{ name = \"retries\", retries = 7, at = \"50s\" }]");
    assert_eq!(scenario.client.max_connections, 4800);
    let scenario = arm("set.client.max_connections = 9\nset.client.connect_rate = 8");
    assert_eq!(scenario.client.max_connections, 9);
    assert_eq!(scenario.client.connect_rate, Rate::new(8.0).unwrap());
}

#[test]
fn an_arm_differs_by_what_it_sets_and_by_nothing_else() {
    let base = plan(SMALL).scenario;
    assert_eq!(arm("description = \"as it is\""), base);
    let mut dropping = base.clone();
    dropping.tiers[0].limiter.drop_expired = true;
    assert_eq!(arm("set.tier.order-status.drop_expired = true"), dropping);
    let mut bounded = base.clone();
    bounded.tiers[0].limiter.queue_limit = QueueLimit::Bounded(150);
    assert_eq!(arm("[arm.set.tier.order-status]\nqueue_limit = 150"), bounded);
    let mut judged = base;
    judged.expect.verdict = ExpectedVerdict::Metastable;
    assert_eq!(arm("expect.verdict = \"metastable\""), judged);
}

#[test]
fn elements_of_lists_are_addressed_by_their_written_or_default_names() {
    let scenario = arm("set.fault.capacity.for = \"9s\"\nset.client.layer.client.retries = 0");
    assert_eq!(scenario.faults[0].length, secs(9));
    assert_eq!(scenario.client.layers[0].retries, 0);
    let layers = "[[client.layer]]\nretries = 1\n[[client.layer]]";
    let text = SMALL.replace("[[client.layer]]", layers)
        + "[[arm]]\nname = \"arm\"\nset.client.layer.layer-1.retries = 5";
    let layers = &plan(&text).arms[0].scenario.client.layers;
    assert_eq!(layers.iter().map(|layer| layer.retries).collect::<Vec<_>>(), [5, 3]);
    assert_eq!(layers[1].name, "layer-2");
}

#[test]
fn a_table_is_laid_over_key_by_key_and_one_with_a_kind_replaces() {
    let backoff = "set.client.layer.client.backoff = { jitter = \"full\" }";
    let text = SMALL.replace("retries = 3", "retries = 3\nbackoff = { base = \"2s\", factor = 3 }")
        + "[[arm]]\nname = \"arm\"\n"
        + backoff;
    let backoff = plan(&text).arms[0].scenario.client.layers[0].backoff;
    assert_eq!((backoff.base, backoff.factor.to_bits()), (secs(2), 3.0_f64.to_bits()));
    let text = SMALL
        .replace("retries = 3", "retries = 3\nbudget = { kind = \"finagle\", min_per_second = 5 }")
        + "[[arm]]\nname = \"arm\"\nset.client.layer.client.budget = { kind = \"sre-ratio\" }";
    let budget = plan(&text).arms[0].scenario.client.layers[0].budget;
    assert_eq!(budget, "sre-ratio".parse().unwrap());
}

#[test]
fn a_list_replaces_the_list() {
    let scenario = arm("set.fault = []\nexpect.verdict = \"steady\"");
    assert!(scenario.faults.is_empty());
    let scenario = arm("set.client.layer.client.retry_on = [\"timeout\"]");
    assert_eq!(scenario.client.layers[0].retry_on, RetryOn::from_iter([FailureClass::Timeout]));
}

#[test]
fn levers_are_told_apart_by_name_and_sorted_by_time() {
    let scenario = arm(concat!(
        "set.lever = [{ name = \"rate\", rate = 20, at = \"60s\" },",
        "{ name = \"admit\", share = \"20%\", for = \"10s\", at = \"50s\" }]"
    ));
    let [admit, rate] = scenario.levers.as_slice() else { panic!("{:?}", scenario.levers) };
    assert_eq!((admit.at, admit.tier.as_deref()), (Timestamp::from_secs(50), Some("order-status")));
    assert_eq!((rate.at, rate.tier.as_deref()), (Timestamp::from_secs(60), None));
    let share = Ratio::new(0.2).unwrap();
    assert_eq!(admit.lever, Lever::Admit { share, hold: Some(secs(10)), ramp: Duration::ZERO });
}

#[test]
fn a_spike_is_a_trigger_as_a_fault_is() {
    let text = SMALL.split("[[fault]]").next().unwrap().to_owned()
        + "[[load.change]]\nat = \"40s\"\nrate = 160\nover = \"2s\"\nfor = \"10s\"\n";
    let scenario = plan(&text).scenario;
    assert_eq!(scenario.expect.verdict, ExpectedVerdict::Recovered);
    assert_eq!(scenario.fault_span(), None);
    let span = (Timestamp::from_secs(40), Timestamp::from_secs(52));
    assert_eq!(scenario.trigger_span(), Some(span));
}

#[test]
fn steps_up_and_back_are_a_trigger_and_a_load_that_stays_up_is_none() {
    let calm = SMALL.split("[[fault]]").next().unwrap().to_owned();
    let up = calm + "[[load.change]]\nat = \"40s\"\nrate = 160\n";
    let back = format!("{up}[[load.change]]\nat = \"50s\"\nrate = 80\n");
    let span = (Timestamp::from_secs(40), Timestamp::from_secs(50));
    assert_eq!(plan(&back).scenario.trigger_span(), Some(span));
    assert_eq!(plan(&back).scenario.expect.verdict, ExpectedVerdict::Recovered);
    assert_eq!(plan(&up).scenario.trigger_span(), None);
    assert_eq!(plan(&up).scenario.expect.verdict, ExpectedVerdict::Steady);
}

#[test]
fn a_plan_serialises_with_durations_as_they_are_written() {
    let json = toml::Value::try_from(plan(SMALL).scenario.expect).unwrap();
    assert_eq!(json["hold"].as_str(), Some("10s"));
}

#[test]
fn every_verdict_can_be_expected_and_a_near_miss_is_told_what_there_is() {
    for (written, verdict) in [
        ("recovered", ExpectedVerdict::Recovered),
        ("slow-recovery", ExpectedVerdict::SlowRecovery),
        ("unstable", ExpectedVerdict::Unstable),
        ("metastable", ExpectedVerdict::Metastable),
        ("not-recovered", ExpectedVerdict::NotRecovered),
    ] {
        let scenario = arm(&format!("expect.verdict = \"{written}\""));
        assert_eq!(scenario.expect.verdict, verdict);
    }
    for written in ["unstable", "not-recovered"] {
        let scenario = arm(&format!("set.fault = []\nexpect.verdict = \"{written}\""));
        assert!(scenario.trigger_span().is_none(), "what comes and goes needs no trigger");
    }
    for (wrong, right) in [("notrecovered", "not-recovered"), ("unstabel", "unstable")] {
        let text = format!("{SMALL}[expect]\nverdict = \"{wrong}\"\n");
        let error = Plan::parse("test.toml", &text).unwrap_err().to_string();
        for part in ["expect.verdict", "test.toml:16", right] {
            assert!(error.contains(part), "no `{part}` in {error}");
        }
    }
}
