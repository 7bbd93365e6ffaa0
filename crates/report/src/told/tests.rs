use std::collections::BTreeMap;

use goodput_verdict::{Rule, Span, Sustaining};

use super::*;

/// A judgement that says everything that one can say.
fn full() -> Judgement {
    let interval = |value, low, high| Some(Interval { value, low, high });
    Judgement {
        verdict: Verdict::SlowRecovery,
        rule: Rule { needed: 0.95, ..Rule::default() },
        trigger: Some(Span { from: 60.0, to: 80.0 }),
        time_to_recover: Some(11.0),
        time_to_recover_most: Some(14.0),
        since_lever: Some(4.0),
        time_left: interval(40.0, 20.0, Some(90.0)),
        share: interval(0.931, 0.9, Some(0.95)),
        stretches: vec![Stretch { from: 100.0, to: 130.0, share: 0.12 }],
        sustaining: vec![Sustaining {
            effect: Effect::WastedWork,
            text: "98 % of busy slot time".to_owned(),
        }],
        run_longer: Some(119.2),
        outcomes: BTreeMap::from([("200".to_owned(), 4_812), ("timeout".to_owned(), 88)]),
        ..Judgement::default()
    }
}

#[test]
fn every_figure_has_its_name_and_its_interval() {
    let told = figures(&full());
    let told: Vec<_> = told.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(
        told,
        [
            ("good since it was back", "93 % (90 % to 95 %); 95 % is needed"),
            ("time to recover", "11 s, by 14 s at the latest"),
            ("since the last lever", "4 s"),
            ("time left to recover", "40 s after the run's end (20 s to 90 s)"),
            ("deep below its band", "1 time: 100 s to 130 s (12 % good)"),
            ("sustained by", "wasted work: 98 % of busy slot time"),
            ("attempts ended", "200 × 4,812 · timeout × 88"),
            ("to tell more", "run 120 s longer"),
        ]
    );
}

#[test]
fn what_is_not_known_is_not_told() {
    assert!(figures(&Judgement::default()).is_empty());
    let open = Judgement {
        time_left: Some(Interval { value: 40.0, low: 20.0, high: None }),
        ..Judgement::default()
    };
    let told = figures(&open);
    assert_eq!(told[0].1, "40 s after the run's end (20 s at least)");
}

#[test]
fn a_run_without_a_trigger_does_not_speak_of_one() {
    let judgement = Judgement { trigger: None, time_to_recover: None, ..full() };
    let told = figures(&judgement);
    assert_eq!(told[0].0, "good after the baseline");
    assert!(
        told.iter().all(|(name, value)| !name.contains("trigger") && !value.contains("trigger"))
    );
}

#[test]
fn the_time_to_recover_says_what_came_after_it() {
    let lost = Judgement { relapsed: Some(40.0), ..full() };
    assert_eq!(time_to_recover(&lost), "11 s, by 14 s at the latest; lost again by 40 s");
    let back = Judgement { settled: Some(52.0), ..lost };
    assert!(time_to_recover(&back).ends_with("lost again by 40 s, and back for good after 52 s"));
    let sure = Judgement { time_to_recover_most: Some(11.0), ..full() };
    assert_eq!(time_to_recover(&sure), "11 s");
}

#[test]
fn a_time_to_recover_is_told_only_where_it_lasted() {
    let short = |verdict, time_to_recover| {
        short_time_to_recover(&Judgement { verdict, time_to_recover, ..Judgement::default() })
    };
    assert_eq!(short(Verdict::Recovered, Some(3.0)), "3 s");
    assert_eq!(short(Verdict::Unstable, Some(3.0)), "comes and goes");
    assert_eq!(short(Verdict::Metastable, Some(3.0)), "lost again");
    assert_eq!(short(Verdict::NotRecovered, None), "never");
    assert_eq!(short(Verdict::SlowRecovery, None), "not in time");
    assert_eq!(short(Verdict::Inconclusive, None), "–");
}

#[test]
fn many_stretches_are_counted_and_the_first_are_told() {
    let stretches: Vec<_> = (0..6)
        .map(|index| Stretch { from: f64::from(index) * 60.0, to: 30.0, share: 0.0 })
        .collect();
    let judgement = Judgement { stretches, ..Judgement::default() };
    let told = figures(&judgement);
    assert!(told[0].1.starts_with("6 times: 0 s to 30 s (0 % good), "), "{told:?}");
    assert!(told[0].1.ends_with(", and 2 more"), "{told:?}");
}
