//! Tiers behind tiers: what a gateway forwards, retries, refuses and cancels.

use goodput_policy::limiter::{OnDisconnect, QueueLimit};
use goodput_runlog::{RunLog, TierWindow};
use goodput_scenario::{Plan, Scenario};

use crate::support::log_of;

/// A client that tries once more, a gateway that tries three times more, and a server behind it that
/// stands still from 20 s to 30 s.
fn two_tiers() -> Scenario {
    let text = r#"
        name = "two-tiers"
        duration = "120s"
        [load]
        rate = 10
        arrivals = "poisson"
        [[client.layer]]
        timeout = "8s"
        retries = 1
        backoff = { base = "100ms", jitter = "none" }
        [[tier]]
        name = "gateway"
        slots = 10
        capacity = 1000
        [[tier.layer]]
        timeout = "1s"
        retries = 3
        backoff = { base = "100ms", factor = 2, jitter = "none" }
        [[tier]]
        name = "order-status"
        slots = 10
        capacity = 100
        [[fault]]
        name = "stall"
        kind = "stall"
        at = "20s"
        for = "10s"
        [expect]
        verdict = "recovered"
        hold = "5s"
    "#;
    Plan::parse("two-tiers.toml", text).unwrap().scenario
}

/// The sum over all windows of a figure of this tier.
fn sum(log: &RunLog, tier: usize, of: fn(&TierWindow) -> u64) -> u64 {
    log.windows.iter().map(|window| of(&window.tiers[tier])).sum()
}

#[test]
fn without_a_fault_every_request_passes_each_tier_once() {
    let log = log_of(&Scenario { faults: Vec::new(), ..two_tiers() }, 1);
    let offered = log.integrity.offered;
    let still = log.windows.last().unwrap().client.requests_in_flight;
    for tier in 0..2 {
        let served = sum(&log, tier, |tier| tier.served);
        assert!(served <= offered && served + still >= offered, "{served} of {offered}");
    }
    let latency = log.windows[30].client.latency.p50;
    assert!((0.11..0.12).contains(&latency), "10 ms at the gateway, 100 ms behind it: {latency}");
}

#[test]
fn a_gateway_retries_for_its_callers_and_answers_for_its_upstream() {
    let log = log_of(&two_tiers(), 1);
    let at = |second: usize| &log.windows[second];
    assert_eq!(
        (at(10).tiers[0].name.as_str(), at(10).tiers[1].name.as_str()),
        ("gateway", "order-status")
    );
    let (front, behind) = (sum(&log, 0, |tier| tier.received), sum(&log, 1, |tier| tier.received));
    assert!(behind > front + 200, "the gateway's retries reach the server alone: {front} {behind}");
    let refused: u64 = log
        .windows
        .iter()
        .map(|w| w.tiers[0].refused.get("upstream-expired").copied().unwrap_or(0))
        .sum();
    assert!(refused > 20, "after four tries of a second it gives up: {refused}");
    let expired: u64 = log
        .windows
        .iter()
        .map(|w| w.client.attempts_failed.get("expired").copied().unwrap_or(0))
        .sum();
    assert_eq!(expired, refused, "and says so with 504");
    assert!(at(115).client.good >= 5, "{:?}", at(115).client);
}

#[test]
fn a_refusal_of_the_last_tier_reaches_the_client_as_overload() {
    let mut scenario = two_tiers();
    scenario.tiers[1].limiter.queue_limit = QueueLimit::Bounded(0);
    scenario.tiers[0].layers[0].retries = 0;
    let log = log_of(&scenario, 1);
    let overloaded = log.windows[25].client.attempts_failed["overloaded"];
    assert!(overloaded > 5, "{:?}", log.windows[25].client);
    assert_eq!(
        log.windows[25].tiers[0].refused["upstream-overloaded"],
        log.windows[25].tiers[1].refused["queue-full"]
    );
}

#[test]
fn a_gateway_that_cancels_takes_its_attempts_back_when_its_caller_has_gone() {
    let mut scenario = two_tiers();
    scenario.client.layers[0].timeout = Some(std::time::Duration::from_millis(500));
    let received = |on_disconnect: OnDisconnect| {
        let mut scenario = scenario.clone();
        scenario.tiers.iter_mut().for_each(|tier| tier.limiter.on_disconnect = on_disconnect);
        let log = log_of(&scenario, 1);
        (sum(&log, 1, |tier| tier.received), sum(&log, 1, |tier| tier.cancelled))
    };
    let (goes_on, none) = received(OnDisconnect::Continue);
    let (cancels, some) = received(OnDisconnect::Cancel);
    assert_eq!(none, 0);
    assert!(some > 100, "what waits behind the gateway is cancelled too: {some}");
    // A caller's deadline ends the gateway's retries in both cases; its one attempt has gone out.
    assert!(cancels <= goes_on, "{cancels} {goes_on}");
}
