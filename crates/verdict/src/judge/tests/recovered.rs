//! Goodput that came back: when, how surely, and what is told beside it.

use super::*;

#[test]
fn goodput_that_comes_back_and_stays_has_recovered() {
    let judgement = after_cut(recovering);
    assert_verdict(&judgement, Verdict::Recovered, None);
    // The block from 95 s is whole; one that starts a second earlier lacks a tenth.
    assert_eq!(judgement.time_to_recover, Some(15.0));
    assert_eq!(judgement.time_to_recover_most, Some(15.0));
    assert_eq!((judgement.relapsed, judgement.settled), (None, Some(15.0)));
    assert_eq!((judgement.since_lever, judgement.run_longer), (None, None));
    assert!((judgement.goodput_lost - (20.0 * 60.0 + 15.0 * 80.0)).abs() < 1e-6);
    let baseline = judgement.baseline.unwrap();
    // It ends a second, or the p99 of the latency, before the fault.
    assert_eq!((baseline.span.from, baseline.span.to, baseline.ratio), (5.0, 59.0, 1.0));
    assert_eq!((judgement.rule.block, judgement.rule.life), (10.0, 27.0));
    assert!(judgement.summary.contains("back 15 s after"), "{}", judgement.summary);
    assert_eq!(judgement.outcomes["timeout"], 15 * 320);
}

#[test]
fn the_baseline_ends_a_p99_latency_before_the_trigger() {
    let slow = |second| {
        let mut window = calm(second);
        window.client.latency.p99 = 3.2;
        window
    };
    let judgement =
        run(
            &faulted(),
            |second| if second < 60 { slow(second) } else { cut_then(recovering)(second) },
        );
    assert_eq!(judgement.baseline.map(|baseline| baseline.span.to), Some(56.0));
}

#[test]
fn the_time_to_recover_has_a_bound_where_back_is_no_claim_at_first() {
    // In the band by a hair from the fault's end on, whole from 130 s on. That 190 of 200 are good may come
    // of a share below 92 %; that 193 are does not.
    let scenario = system("20", 0, &format!("{FAULT}{WITHIN}"));
    let judgement = run(
        &scenario,
        cut_then(|second| {
            let mut window = healthy(second, 20);
            if second < 130 {
                spoil(&mut window, 19, ("timeout", "timeout"));
            }
            window
        }),
    );
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert_eq!(judgement.time_to_recover, Some(0.0));
    assert_eq!(judgement.time_to_recover_most, Some(43.0));
}

#[test]
fn within_is_met_exactly_and_missed_by_a_second() {
    let back_at = |at| {
        after_cut(move |second| if second < at { degraded(second, 0, 900) } else { calm(second) })
    };
    assert_verdict(&back_at(140), Verdict::Recovered, None);
    let late = back_at(141);
    assert_verdict(&late, Verdict::SlowRecovery, None);
    assert_eq!((late.time_to_recover, late.time_left), (Some(61.0), None));
    assert!(late.summary.contains("back only 61 s after"), "{}", late.summary);
}

#[test]
fn the_band_is_met_exactly_and_missed_by_a_request() {
    let with_one_odd = |odd: u64| {
        after_cut(move |second| partly(second, if second == 239 { 76 - odd } else { 76 }))
    };
    assert_verdict(&with_one_odd(0), Verdict::Recovered, None);
    // What lies by so little below the band is neither: nobody can tell it from what is in it.
    let missed = with_one_odd(1);
    assert_eq!(only_doubt(&missed).kind, DoubtKind::TooShort);
    assert_eq!(missed.run_longer, Some(160.0));
}

#[test]
fn a_share_below_the_band_for_ever_is_never_recovered() {
    for good in [70, 72, 74, 75] {
        let judgement = after_cut(|second| partly(second, good));
        assert_verdict(&judgement, Verdict::NotRecovered, Some(Cause::Unknown));
    }
}

#[test]
fn answers_to_old_requests_are_no_recovery() {
    // From 80 to 120 s the server answers those who came long before: as many good answers as are
    // offered, and none to those who arrive.
    let stale = |second| {
        let mut window = calm(second);
        if second < 120 {
            window.client.cohort = Cohort { good: 0, failed: 80, ..window.client.cohort };
        }
        window
    };
    assert_eq!(after_cut(stale).time_to_recover, Some(40.0));
    // And those who arrive and are answered much later are none yet: their seconds hold when they do.
    let late = |second| {
        let mut window = calm(second);
        window.client.good = if second < 120 { 0 } else { 80 };
        window
    };
    // Where the last of a block are in time they are as many as its noise allows to lack.
    let back = after_cut(late).time_to_recover.unwrap();
    assert!((39.0..=40.0).contains(&back), "{back}");
}

#[test]
fn dips_that_are_short_or_shallow_are_told_and_not_judged() {
    let scenario = lasting(faulted(), 630);
    // Nothing for 2 s of each minute: 96.7 % are good.
    let short = run(
        &scenario,
        cut_then(|second| if second % 60 >= 58 { degraded(second, 0, 500) } else { calm(second) }),
    );
    assert_verdict(&short, Verdict::Recovered, None);
    assert_eq!((short.stretches.as_slice(), short.relapsed), ([].as_slice(), None));
    let told = short.notes.iter().find(|note| note.contains("below the band")).unwrap();
    assert!(told.starts_with("9 dips"), "{told}");
    // 86 % for 40 s are shallow.
    let shallow = run(
        &scenario,
        cut_then(
            |second| {
                if (300..340).contains(&second) { partly(second, 69) } else { calm(second) }
            },
        ),
    );
    assert_verdict(&shallow, Verdict::Recovered, None);
    assert!(shallow.notes[0].starts_with("1 dip below the band"), "{:?}", shallow.notes);
    // 93 % for 4 s leave no block out of the band.
    let slight = run(
        &scenario,
        cut_then(
            |second| {
                if (300..304).contains(&second) { partly(second, 74) } else { calm(second) }
            },
        ),
    );
    assert_verdict(&slight, Verdict::Recovered, None);
    assert_eq!(slight.notes, [""; 0]);
}

#[test]
fn goodput_that_is_lost_once_more_is_back_with_the_end_of_that() {
    let lost_until =
        |to| {
            after_cut(move |second| {
                if (100..to).contains(&second) { degraded(second, 0, 700) } else { calm(second) }
            })
        };
    let once = lost_until(120);
    assert_verdict(&once, Verdict::Recovered, None);
    assert_eq!((once.time_to_recover, once.relapsed), (Some(0.0), Some(11.0)));
    // The stretch covers every block that is out of the band.
    assert_eq!(once.settled, Some(49.0));
    assert_eq!(once.share.map(|share| share.value), Some(1.0));
    assert!(once.summary.contains("lost once more"), "{}", once.summary);
    assert_verdict(&lost_until(150), Verdict::SlowRecovery, None);
}

#[test]
fn goodput_must_have_settled_after_a_stretch() {
    // Of a stretch at the end nothing is known yet.
    for (to, settled) in [(200, true), (205, false), (230, false)] {
        let scenario = faulted();
        let judgement = run(
            &scenario,
            cut_then(|second| {
                if (180..to).contains(&second) { degraded(second, 0, 700) } else { calm(second) }
            }),
        );
        let verdict = if settled { Verdict::SlowRecovery } else { Verdict::Inconclusive };
        assert_verdict(&judgement, verdict, None);
    }
}

#[test]
fn what_is_still_queued_is_no_matter_where_the_share_is_back() {
    // Last in, first out: the old ones wait for ever, and nobody waits for them.
    let judgement = after_cut(|second| {
        let mut window = calm(second);
        window.tiers[0].queued = 5_000;
        window
    });
    assert_verdict(&judgement, Verdict::Recovered, None);
}

#[test]
fn a_trigger_that_no_client_notices_is_absorbed() {
    let absorbed = |second| {
        let mut window = calm(second);
        if (60..80).contains(&second) {
            window.tiers[0].capacity = Some(90.0);
        }
        window
    };
    let judgement = run(&faulted(), absorbed);
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert_eq!((judgement.time_to_recover, judgement.goodput_lost), (Some(0.0), 0.0));
    assert!(judgement.summary.contains("absorbed"), "{}", judgement.summary);
}

#[test]
fn a_cut_that_leaves_more_than_is_offered_may_bite_all_the_same() {
    // Slower services outlast the time-out of their callers.
    let judgement = run(&faulted(), |second| {
        let mut window = calm(second);
        if (60..80).contains(&second) {
            window = partly(second, 12);
            window.tiers[0].capacity = Some(90.0);
        }
        window
    });
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert!(!judgement.summary.contains("absorbed"), "{}", judgement.summary);
}

#[test]
fn a_run_that_a_lever_cures_has_two_times() {
    let scenario = faulted_with("[[lever]]\nname = \"shed-queue\"\nat = \"120s\"\n");
    let cured = |second| if second < 125 { degraded(second, 0, 900) } else { calm(second) };
    let mut log = log_of(&scenario, cut_then(cured));
    log.events = vec![pulled(120, "shed-queue", &[])];
    let judgement = judge(&log, &scenario);
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert_eq!((judgement.time_to_recover, judgement.since_lever), (Some(45.0), Some(5.0)));
    // One that comes long after has cured nothing.
    log.events = vec![pulled(200, "shed-queue", &[])];
    assert_eq!(judge(&log, &scenario).since_lever, None);
}

#[test]
fn while_a_lever_turns_users_away_those_who_are_admitted_are_judged() {
    let shed = |second| {
        let mut window = calm(second);
        spoil(&mut window, 64, ("503", "overloaded"));
        window.client.cohort.turned_away = 16;
        let tier = &mut window.tiers[0];
        (tier.served, tier.admitted) = (64, Some(0.8));
        tier.refused = counts([("not-admitted", 16)]);
        window
    };
    let judgement = after_cut(shed);
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert!(judgement.summary.contains("of what is admitted"), "{}", judgement.summary);
    let told = judgement.notes.iter().find(|note| note.contains("turns users away")).unwrap();
    assert!(told.contains(&format!("{}", 160 * 16)), "{told}");
    // Where the lever has let go they count as everybody else.
    let over = |second| {
        let mut window = shed(second);
        window.tiers[0].admitted = Some(1.0);
        window
    };
    assert_ne!(after_cut(over).verdict, Verdict::Recovered);
}

#[test]
fn what_is_still_open_is_neither_good_nor_bad() {
    // A run is watched on for a life of 27 s, so that whoever came is known of, unless it is 60 s and more.
    let mut scenario = system("80", 3, &format!("{FAULT}{WITHIN}"));
    scenario.client.layers[0].timeout = Some(Duration::from_secs(20));
    assert_eq!(scenario.life(), Duration::from_secs(87));
    let open = |second| {
        let mut window = calm(second);
        if second >= 215 {
            window.client.cohort.good = 0;
            window.client.good = 0;
        }
        window
    };
    let judgement = run(&scenario, cut_then(open));
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert_eq!(judgement.share.map(|share| share.value), Some(1.0));
}

#[test]
fn a_fault_that_was_seen_to_end_late_counts_from_there() {
    let scenario = faulted();
    let late = |second| if second < 100 { degraded(second, 0, 900) } else { calm(second) };
    let mut log = log_of(&scenario, cut_then(late));
    let name = scenario.faults[0].name.clone();
    let ended = |second| {
        let (name, tier) = (name.clone(), "order-status".to_owned());
        event(second, EventKind::FaultEnded { name, tier })
    };
    log.events = vec![ended(82)];
    assert_eq!(judge(&log, &scenario).time_to_recover, Some(20.0));
    log.events = vec![ended(95)];
    assert_eq!(judge(&log, &scenario).time_to_recover, Some(5.0));
}

#[test]
fn the_trigger_is_all_that_was_done_to_the_system() {
    // Two faults, between which goodput was back.
    let second = "[[fault]]\nname = \"again\"\nkind = \"capacity\"\nto = 0.4\nat = \"110s\"\nfor = \"10s\"\n";
    let judgement = run(&system("80", 3, &format!("{FAULT}{second}{WITHIN}")), |at| {
        if (110..125).contains(&at) { degraded(at, 0, 900) } else { cut_then(recovering)(at) }
    });
    let span = judgement.trigger.map(|trigger| (trigger.from, trigger.to));
    assert_eq!((span, judgement.time_to_recover), (Some((60.0, 120.0)), Some(5.0)));
    // A fault that a person put in while it ran.
    let mut scenario = quiet();
    scenario.expect.within = Duration::from_mins(1);
    let mut log = log_of(&scenario, cut_then(recovering));
    let (name, tier) = ("by hand".to_owned(), "order-status".to_owned());
    let ended = EventKind::FaultEnded { name: name.clone(), tier: tier.clone() };
    let started = EventKind::FaultStarted { name, tier, what: String::new() };
    log.events = vec![event(60, started), event(80, ended)];
    let judgement = judge(&log, &scenario);
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert_eq!(judgement.time_to_recover, Some(15.0));
}

#[test]
fn a_load_spike_is_a_trigger_and_a_step_is_none() {
    let spike = "[[load.change]]\nat = \"60s\"\nrate = 200\nfor = \"20s\"\n";
    let trigger = run(&system("80", 3, &format!("{spike}{WITHIN}")), calm).trigger.unwrap();
    assert_eq!((trigger.from, trigger.to), (60.0, 80.0));
    let step = "[[load.change]]\nat = \"60s\"\nrate = 85\n";
    assert_eq!(run(&system("80", 3, &format!("{step}{STEADY}")), calm).trigger, None);
}

#[test]
fn a_rate_that_a_lever_lowered_is_judged_by_its_own_offered_load() {
    let lower = "[[lever]]\nname = \"rate\"\nrate = 20\nat = \"80s\"\n";
    let scenario = faulted_with(lower);
    let mut log = log_of(&scenario, |second| match second {
        0..80 => cut_then(calm)(second),
        _ => healthy(second, 20),
    });
    log.events = vec![pulled(80, "rate", &["rate"])];
    let judgement = judge(&log, &scenario);
    assert_verdict(&judgement, Verdict::Recovered, None);
    assert!(judgement.notes[0].contains("load is not as before: 20.0"), "{:?}", judgement.notes);
}

#[test]
fn the_client_alone_can_be_judged() {
    assert_verdict(&unseen(recovering), Verdict::Recovered, None);
}

#[test]
fn what_all_retries_cannot_overload_is_back_before_it_has_settled() {
    // Back 54 s after the cut, in time, and 61 s after it, too late; the run ends 16 s later.
    for (back, verdict) in [(134, Verdict::Recovered), (141, Verdict::SlowRecovery)] {
        let judged = |retries: u32| {
            let rate = if retries > 0 { "80" } else { "24" };
            let scenario = lasting(system(rate, retries, &format!("{FAULT}{WITHIN}")), back + 16);
            let rate = if retries > 0 { 80 } else { 24 };
            let seen = |second: u64| {
                if (62..back).contains(&second) {
                    failing(second, rate, rate, 0, (back - second) * 20)
                } else {
                    healthy(second, rate)
                }
            };
            run(&scenario, seen)
        };
        assert_verdict(&judged(0), verdict, None);
        // With retries that could, whether it stays is not known so soon; that it was slow is.
        let early = judged(3);
        if verdict == Verdict::SlowRecovery {
            assert_verdict(&early, verdict, None);
        } else {
            assert_eq!(early.verdict, Verdict::Inconclusive, "{early:?}");
        }
    }
}
