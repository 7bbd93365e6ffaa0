//! Goodput that comes and goes, and runs without a trigger.

use super::*;

/// Nothing for so many of each so many seconds since the fault's end.
fn now_and_then(down: u64, every: u64, attempts: u64) -> impl Fn(u64) -> Window {
    cut_then(move |second| {
        if (second - 80) % every >= every - down {
            failing(second, 80, attempts, 0, 500)
        } else {
            calm(second)
        }
    })
}

#[test]
fn two_deep_stretches_below_the_band_are_unstable() {
    for (down, seconds) in [(30, 240), (30, 600), (30, 630), (6, 240), (6, 600), (6, 1_000)] {
        let scenario = lasting(faulted(), seconds);
        let judgement = run(&scenario, now_and_then(down, 60, 320));
        assert_verdict(&judgement, Verdict::Unstable, None);
        assert!(judgement.stretches.len() >= 2, "{:?}", judgement.stretches);
        assert!(judgement.share.unwrap().value < judgement.rule.needed);
        assert!(judgement.summary.contains("comes and goes"), "{}", judgement.summary);
        assert!(!judgement.summary.contains("near its capacity"), "{}", judgement.summary);
    }
}

#[test]
fn where_nothing_amplifies_the_words_speak_of_the_capacity() {
    let judgement = run(&faulted(), now_and_then(30, 60, 80));
    assert_verdict(&judgement, Verdict::Unstable, None);
    assert!(judgement.summary.contains("near its capacity"), "{}", judgement.summary);
}

#[test]
fn three_deep_stretches_with_more_attempts_are_unstable_whatever_the_share_is() {
    // 6 of 200 s leave 97 %, which is in the band.
    let scenario = lasting(faulted(), 700);
    let judgement = run(&scenario, now_and_then(6, 200, 320));
    assert_verdict(&judgement, Verdict::Unstable, None);
    assert_eq!(judgement.stretches.len(), 3);
    assert!(judgement.share.unwrap().value >= judgement.rule.needed);
    // Two of them, or three without more attempts, are none; they have not settled either.
    let twice = run(&lasting(faulted(), 500), now_and_then(6, 200, 320));
    assert_verdict(&twice, Verdict::Inconclusive, None);
    assert!(twice.summary.contains("has not settled"), "{}", twice.summary);
    assert_verdict(&run(&scenario, now_and_then(6, 200, 80)), Verdict::Inconclusive, None);
}

#[test]
fn after_two_stretches_it_settles_when_the_longest_pause_and_stretch_have_passed_again() {
    let until = |seconds| {
        let scenario = lasting(faulted(), seconds);
        run(
            &scenario,
            cut_then(|second| match second {
                100..115 | 200..215 => failing(second, 80, 80, 0, 500),
                _ => calm(second),
            }),
        )
    };
    // The stretches cover 91 to 124 and 191 to 224 s: 33 s and a pause of 67 s, from 224 s on.
    let early = until(323);
    assert_verdict(&early, Verdict::Unstable, None);
    let spans: Vec<_> = early.stretches.iter().map(|s| (s.from, s.to)).collect();
    assert_eq!(spans, [(91.0, 124.0), (191.0, 224.0)]);
    // Long after the share since goodput was back is in the band, and they count as what was.
    assert_verdict(&until(1_500), Verdict::SlowRecovery, None);
}

#[test]
fn a_share_that_is_claimed_to_be_below_the_band_is_unstable_without_deep_stretches() {
    let scenario = lasting(faulted(), 900);
    let judgement = run(
        &scenario,
        cut_then(|second| partly(second, if (second - 80) % 60 < 30 { 80 } else { 68 })),
    );
    assert_verdict(&judgement, Verdict::Unstable, None);
    assert_eq!(judgement.stretches, []);
    let share = judgement.share.unwrap();
    assert!(share.high.unwrap() < judgement.rule.needed && share.low < share.value, "{share:?}");
}

#[test]
fn a_moment_after_a_stretch_claims_nothing() {
    // Back for 11 s, and away again for the last 9: too short to tell whether that comes and goes.
    let judgement = after_cut(|second| match second {
        190..210 | 231.. => failing(second, 80, 80, 0, 500),
        _ => calm(second),
    });
    assert_verdict(&judgement, Verdict::Inconclusive, None);
    assert_eq!(judgement.stretches.len(), 1);
}

#[test]
fn a_single_collapse_that_still_lasts_does_not_come_and_go() {
    let judgement = after_cut(|second| if second < 110 { calm(second) } else { stuck(second) });
    assert_verdict(&judgement, Verdict::Metastable, None);
    assert_eq!((judgement.time_to_recover, judgement.relapsed), (Some(0.0), Some(21.0)));
    assert_eq!(judgement.settled, None);
}

#[test]
fn what_is_fine_and_collapses_later_is_judged_by_what_was_seen() {
    let verdict = |seconds| {
        let scenario = lasting(faulted(), seconds);
        run(&scenario, cut_then(|second| if second < 320 { calm(second) } else { stuck(second) }))
            .verdict
    };
    assert_eq!((verdict(320), verdict(600)), (Verdict::Recovered, Verdict::Metastable));
}

#[test]
fn a_healthy_run_without_a_fault_is_steady() {
    let judgement = run(&quiet(), calm);
    assert_verdict(&judgement, Verdict::Steady, None);
    assert_eq!((judgement.trigger, judgement.time_to_recover), (None, None));
    assert_eq!(judgement.notes, [""; 0]);
}

#[test]
fn a_run_without_a_fault_at_93_percent_is_inconclusive() {
    let judgement = run(&quiet(), |second| partly(second, 74));
    assert_eq!(only_doubt(&judgement).kind, DoubtKind::BaselineNotHealthy);
}

#[test]
fn a_collapse_without_a_fault_is_not_steady() {
    let stays = run(&quiet(), |second| if second < 120 { calm(second) } else { stuck(second) });
    assert_verdict(&stays, Verdict::Metastable, None);
    assert!(stays.summary.contains("went down by itself"), "{}", stays.summary);
    let scenario = lasting(quiet(), 600);
    let comes = run(&scenario, |second| {
        if second % 60 >= 54 && second > 80 { degraded(second, 0, 500) } else { calm(second) }
    });
    assert_verdict(&comes, Verdict::Unstable, None);
}

#[test]
fn a_run_without_a_trigger_never_speaks_of_one() {
    let step = "[[load.change]]\nat = \"100s\"\nrate = 120\n";
    let raised = system("80", 3, &format!("{step}{STEADY}"));
    let from_120 = |bad: fn(u64) -> Window| move |s| if s < 120 { calm(s) } else { bad(s) };
    let turned_away = |second| {
        let mut window = calm(second);
        spoil(&mut window, 64, ("503", "overloaded"));
        window.client.cohort.turned_away = 16;
        window.tiers[0].served = 64;
        window.tiers[0].admitted = Some(0.8);
        window
    };
    let dips = |second| if second % 60 >= 58 { degraded(second, 0, 500) } else { calm(second) };
    let judged = [
        run(&quiet(), calm),
        run(&quiet(), from_120(stuck)),
        run(&quiet(), from_120(turned_away)),
        run(&quiet(), from_120(|second| partly(second, 40))),
        run(&quiet(), blind(from_120(|second| refused(second, "refused")))),
        run(&quiet(), blind(from_120(stuck))),
        run(&quiet(), from_120(|second| failing(second, 80, 90, 0, 3_000 - 10 * second))),
        run(&raised, |s| if s < 100 { calm(s) } else { failing(s, 120, 400, 0, 900) }),
        run(&lasting(quiet(), 600), dips),
        run(&lasting(quiet(), 600), |s| if s % 60 < 30 || s < 70 { calm(s) } else { stuck(s) }),
        run(&quiet(), |second| partly(second, if second < 238 { 80 } else { 0 })),
        run(&lasting(quiet(), 30), calm),
        run(&quiet(), |second| partly(second, 60)),
    ];
    let verdicts: Vec<_> = judged.iter().map(|judgement| judgement.verdict).collect();
    // Recovered is the only one that there is none of.
    for verdict in Verdict::ALL {
        assert_eq!(verdicts.contains(&verdict), verdict != Verdict::Recovered, "{verdicts:?}");
    }
    for judgement in &judged {
        let doubts = judgement.doubts.iter().map(|doubt| &doubt.text);
        for said in judgement.notes.iter().chain([&judgement.summary]).chain(doubts) {
            assert!(!said.contains("trigger") && !said.contains("fault"), "{said}");
        }
    }
}

/// A second in which every attempt ends so without an answer.
fn refused(second: u64, how: &str) -> Window {
    let mut window = calm(second);
    spoil(&mut window, 0, (how, "connect"));
    window
}

#[test]
fn a_pile_of_retries_that_grows_while_goodput_holds_is_told() {
    let piling = |second: u64| {
        let mut window = calm(second);
        if second >= 70 {
            let more = second - 70;
            window.client.attempts = 80 + more;
            window.client.attempts_failed = counts([("timeout", more)]);
            window.client.requests_in_flight = 8 + 4 * more;
            window.tiers[0].received = 80 + more;
        }
        window
    };
    let judgement = run(&quiet(), piling);
    assert_verdict(&judgement, Verdict::Steady, None);
    assert!(judgement.notes[0].contains("retries pile up"), "{:?}", judgement.notes);
}

#[test]
fn a_run_is_told_by_how_much_it_is_too_short() {
    // Without a trigger: two blocks after the baseline.
    for (seconds, lacks) in [(30, Some(5.0)), (35, None), (60, None)] {
        let judgement = run(&lasting(quiet(), seconds), calm);
        match lacks {
            Some(by) => assert_too_short(&judgement, by, "two blocks of 10 s"),
            None => assert_verdict(&judgement, Verdict::Steady, None),
        }
    }
    // `within` is longer than what was seen.
    let mut patient = faulted();
    patient.expect.within = Duration::from_secs(200);
    assert_too_short(&run(&patient, cut_then(calm)), 40.0, "`within` is 200 s");
    // A request may live longer: four times 60 s, and the backoffs of 7 s between them.
    let mut lives = faulted();
    lives.client.layers[0].timeout = Some(Duration::from_mins(1));
    assert_too_short(&run(&lives, cut_then(calm)), 87.0, "a request may live 247 s");
    // At 2/s a hundred requests take 50 s.
    let slow = lasting(system("2", 3, &format!("{FAULT}{WITHIN}")), 200);
    let judgement = run(&slow, cut_then(|second| healthy(second, 2)));
    assert_too_short(&judgement, 30.0, "three blocks of 50 s are needed (2.0 requests a second");
    let longer = lasting(slow, 230);
    assert_verdict(&run(&longer, cut_then(|s| healthy(s, 2))), Verdict::Recovered, None);
}

#[test]
fn faults_that_end_between_two_seconds_lack_nothing_by_rounding() {
    let mut scenario = lasting(faulted(), 140);
    scenario.faults[0].length = Duration::from_millis(20_600);
    assert_eq!(run(&scenario, cut_then(calm)).verdict, Verdict::Recovered);
}
