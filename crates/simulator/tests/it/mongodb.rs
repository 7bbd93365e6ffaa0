//! Reference numbers F: the four rows of OSDI 2022's `MongoDB` experiment, as one station of 16,700/s.

use std::time::Duration;

use goodput_clock::Ratio;
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::limiter::Capacity;
use goodput_runlog::Figures;
use goodput_scenario::Scenario;
use goodput_verdict::{Judgement, Verdict};

use crate::support::{headline, judged, per_second, poisson, with_cut, with_rate};

/// A cut to `to` of capacity for so many seconds under so many requests a second.
fn row(to: f64, seconds: f64, rate: f64) -> Judgement {
    let mut scenario: Scenario = with_rate(poisson(headline()), rate);
    let limiter = &mut scenario.tiers[0].limiter;
    (limiter.slots, limiter.capacity) = (1, Capacity::Limited(per_second(16_700.0)));
    let layer = &mut scenario.client.layers[0];
    (layer.timeout, layer.retries) = (Some(Duration::from_secs(3)), 4);
    layer.backoff.base = Duration::ZERO;
    let to = Ratio::new(to).unwrap();
    scenario.faults[0].kind = FaultKind::Capacity { to, mode: CapacityMode::Slow };
    judged(&with_cut(scenario, seconds, 50), 1)
}

#[test]
fn ten_seconds_at_minus_78_percent_recover() {
    assert_eq!(row(0.22, 10.0, 6_200.0).verdict, Verdict::Recovered);
}

#[test]
fn ten_seconds_at_minus_80_percent_stick_at_up_to_31_000_attempts_a_second() {
    let judgement = row(0.2, 10.0, 6_200.0);
    assert_eq!(judgement.verdict, Verdict::Metastable);
    let Figures { goodput, attempts, .. } = judgement.phases.end.unwrap();
    assert!(goodput < 0.1 * 6_200.0, "{goodput}");
    assert!((20_000.0..32_000.0).contains(&attempts), "{attempts}");
}

#[test]
fn nine_seconds_at_minus_80_percent_recover() {
    assert_eq!(row(0.2, 9.0, 6_200.0).verdict, Verdict::Recovered);
}

#[test]
fn with_less_load_ten_seconds_at_minus_80_percent_recover() {
    assert_eq!(row(0.2, 10.0, 0.7 * 6_200.0).verdict, Verdict::Recovered);
}
