//! Reference numbers B and H: a full stall, with one retry layer and with three.

use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::retry::LayerConfig;
use goodput_runlog::Figures;
use goodput_scenario::builtin;
use goodput_verdict::Verdict;

use crate::support::{headline, judged, log_of, plan, poisson, sticks, with_cut, with_rate};

#[test]
fn at_thirty_a_second_a_stall_sticks_from_fourteen_seconds_on() {
    let scenario = plan(builtin::STALL_AND_PUT_BACK).scenario;
    let share = |seconds: f64| {
        let stalled = with_cut(scenario.clone(), seconds, 100);
        (1..=20).filter(|seed| sticks(&stalled, *seed)).count()
    };
    // The reference has 1, 10, 20 and 20 of other twenty seeds; two of 20 are its standard error.
    let shares = [11.0, 12.0, 13.0, 14.0, 15.0].map(share);
    let [eleven, twelve, thirteen, fourteen, fifteen] = shares;
    assert!(eleven <= 1 && twelve <= 5, "{shares:?}");
    assert!((4..=16).contains(&thirteen), "{shares:?}");
    assert!(fourteen >= 18 && fifteen == 20, "{shares:?}");
}

#[test]
fn at_twenty_a_second_a_stall_of_twenty_seconds_recovers() {
    let scenario = with_rate(plan(builtin::STALL_AND_PUT_BACK).scenario, 20.0);
    for seed in 1..=20 {
        let judgement = judged(&scenario, seed);
        assert_eq!(judgement.verdict, Verdict::Recovered);
        let seconds = judgement.time_to_recover.unwrap();
        assert!((3.0..=21.0).contains(&seconds), "seed {seed}: {seconds}");
    }
}

#[test]
fn three_layers_of_three_stick_with_64_attempts_a_request_where_one_layer_recovers() {
    let plan = plan(builtin::RETRY_LAYERS);
    let (one, three) = (plan.arm("one-layer").unwrap(), plan.arm("three-layers").unwrap());
    for seed in 1..=20 {
        assert_eq!(judged(&one.scenario, seed).verdict, Verdict::Recovered);
        assert!(sticks(&three.scenario, seed));
    }
    let log = log_of(&three.scenario, 1);
    let end = Figures::over(&log.windows[110..]).unwrap();
    assert!((560.0..720.0).contains(&end.attempts), "{}", end.attempts);
    // Requests from before the stall made fewer; no request makes more.
    assert_eq!(log.totals.attempts_per_request.keys().max(), Some(&64));
    let most = log.totals.attempts_per_request.iter().max_by_key(|(_, count)| **count).unwrap();
    assert!(*most.0 == 64 || *most.0 == 1, "{most:?}");
}

/// At 80/s and with a time-out of 5 s a run of 200 s ends before a request has made all of its attempts.
#[test]
fn three_layers_over_the_headline_reach_only_19_attempts_in_200_seconds() {
    let mut scenario = poisson(headline());
    let layer = scenario.client.layers[0].clone();
    scenario.client.layers = ["client", "library", "proxy"]
        .map(|name| LayerConfig { name: name.to_owned(), timeout: None, ..layer.clone() })
        .to_vec();
    scenario.client.layers[2].timeout = layer.timeout;
    scenario.faults[0].at = Timestamp::from_secs(60);
    scenario.duration = Duration::from_secs(200);
    for seed in 1..=5 {
        let log = log_of(&scenario, seed);
        let end = Figures::over(&log.windows[190..]).unwrap();
        let attempts = end.attempts_per_request.unwrap();
        assert!((16.0..23.0).contains(&attempts), "seed {seed}: {attempts}");
    }
}
