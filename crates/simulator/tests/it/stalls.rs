//! Reference numbers B and H: a full stall, with one retry layer and with three.

use goodput_runlog::Figures;
use goodput_scenario::builtin;
use goodput_verdict::Verdict;

use crate::support::{judged, log_of, plan, sticks, with_cut, with_rate};

#[test]
fn at_thirty_a_second_a_stall_sticks_from_fourteen_seconds_on() {
    let scenario = plan(builtin::STALL_AND_PUT_BACK).scenario;
    let share = |seconds: f64| {
        let stalled = with_cut(scenario.clone(), seconds, 100);
        (1..=20).filter(|seed| sticks(&stalled, *seed)).count()
    };
    let (eleven, thirteen, fifteen) = (share(11.0), share(13.0), share(15.0));
    assert!(eleven <= 1, "{eleven}");
    assert!((4..=16).contains(&thirteen), "{thirteen}");
    assert_eq!(fifteen, 20);
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
    for seed in 1..=5 {
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
