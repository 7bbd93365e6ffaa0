//! Reference numbers F: the four rows of OSDI 2022's `MongoDB` experiment, as one station of 16,700/s.
//!
//! The verdicts of all arms are held with those of the other scenarios; here are the figures.

use goodput_clock::Rate;
use goodput_policy::limiter::Capacity;
use goodput_runlog::Figures;
use goodput_scenario::builtin::MONGODB_RETRIES;
use goodput_verdict::{Judgement, Verdict};

use crate::support::{judged, plan};

/// An arm with so much capacity.
fn row(arm: &str, capacity: f64) -> Judgement {
    let mut scenario = plan(MONGODB_RETRIES).arm(arm).unwrap().scenario.clone();
    scenario.tiers[0].limiter.capacity = Capacity::Limited(Rate::new(capacity).unwrap());
    judged(&scenario, 1)
}

#[test]
fn ten_seconds_at_minus_80_percent_stick_at_up_to_31_000_attempts_a_second() {
    let judgement = row("cut-80-percent", 16_700.0);
    assert_eq!(judgement.verdict, Verdict::Metastable);
    let Figures { goodput, attempts, .. } = judgement.phases.end.unwrap();
    assert!(goodput < 0.1 * 6_200.0, "{goodput}");
    assert!((20_000.0..32_000.0).contains(&attempts), "{attempts}");
}

#[test]
fn the_four_verdicts_hold_around_the_fitted_capacity() {
    for capacity in [16_300.0, 16_700.0] {
        let sticks = ["cut-80-percent", "cut-78-percent", "nine-seconds", "less-load"]
            .map(|arm| row(arm, capacity).verdict == Verdict::Metastable);
        assert_eq!(sticks, [true, false, false, false], "{capacity}");
    }
}
