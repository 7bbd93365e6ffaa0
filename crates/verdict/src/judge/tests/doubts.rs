//! Every reason not to trust a run, and what is none.

use goodput_runlog::Ending;

use super::*;

/// The only doubt of a recovering run after a change to its log.
#[track_caller]
fn doubt_of(change: impl FnOnce(&mut RunLog)) -> DoubtKind {
    doubt_text(change).kind
}

#[track_caller]
fn doubt_text(change: impl FnOnce(&mut RunLog)) -> Doubt {
    let scenario = faulted();
    let mut log = log_of(&scenario, cut_then(recovering));
    change(&mut log);
    only_doubt(&judge(&log, &scenario)).clone()
}

/// The kinds of doubt of a recovering run after a change to its log.
fn doubts_of(change: impl FnOnce(&mut RunLog)) -> Vec<DoubtKind> {
    let scenario = faulted();
    let mut log = log_of(&scenario, cut_then(recovering));
    change(&mut log);
    judge(&log, &scenario).doubts.iter().map(|doubt| doubt.kind).collect()
}

#[test]
fn what_puts_the_measurement_in_doubt_is_named() {
    use DoubtKind as Kind;
    assert_eq!(doubt_of(|log| log.ending = Ending::Interrupted), Kind::Interrupted);
    let name = || vec!["cut".to_owned()];
    assert_eq!(doubt_of(|log| log.integrity.faults_unreverted = name()), Kind::FaultUnreverted);
    assert_eq!(doubt_of(|log| log.integrity.faults_unseen = name()), Kind::FaultDidNotBite);
    assert_eq!(doubt_of(|log| log.integrity.scheduled += 110), Kind::OfferedOffSchedule);
    assert_eq!(doubt_of(|log| log.integrity.scheduled -= 110), Kind::OfferedOffSchedule);
    assert_eq!(doubt_of(|log| log.integrity.send_lag_p99_wall = 0.51), Kind::GeneratorLate);
    assert_eq!(doubt_of(|log| log.integrity.unsent = 110), Kind::Unsent);
    let restart = EventKind::ServerRestarted { tier: "order-status".to_owned() };
    assert_eq!(doubt_of(|log| log.events.push(event(100, restart))), Kind::ServerRestarted);
    let doubt = EventKind::Doubt { what: "the clock jumped".to_owned() };
    assert_eq!(doubt_of(|log| log.events.push(event(100, doubt))), Kind::Engine);
    assert_eq!(doubt_of(|log| drop(log.windows.remove(100))), Kind::MissingWindows);
    assert_eq!(doubt_of(|log| log.windows[100].tiers.clear()), Kind::MissingWindows);
    assert_eq!(doubt_of(|log| log.windows[100].tiers[0].sample_gap = 11.0), Kind::MissingWindows);
    assert_eq!(doubt_of(|log| log.windows.truncate(239)), Kind::MissingWindows);
}

#[test]
fn figures_at_their_limits_raise_no_doubt() {
    let doubts = doubts_of(|log| {
        log.integrity.scheduled = log.integrity.offered + 96;
        log.integrity.send_lag_p99_wall = 0.5;
        log.integrity.unsent = 96;
        log.windows[100].tiers[0].sample_gap = 10.0;
    });
    assert_eq!(doubts, []);
}

#[test]
fn all_doubts_are_told_and_none_hides_another() {
    let kinds = doubts_of(|log| {
        log.integrity.unsent = 110;
        log.integrity.send_lag_p99_wall = 1.0;
        log.windows[100].tiers[0].sample_gap = 11.0;
    });
    let told = [DoubtKind::MissingWindows, DoubtKind::GeneratorLate, DoubtKind::Unsent];
    assert_eq!(kinds, told);
}

#[test]
fn a_withheld_trigger_is_told_with_its_reason_alone() {
    let doubt = doubt_text(|log| {
        log.ending = Ending::Withheld;
        log.windows.truncate(60);
        let reason = "half of the requests fail already".to_owned();
        log.events.push(event(60, EventKind::TriggerWithheld { reason }));
    });
    assert_eq!(doubt.kind, DoubtKind::Withheld);
    assert!(doubt.text.contains("half of the requests fail already"), "{}", doubt.text);
}

#[test]
fn a_foreign_load_is_told_where_the_trigger_was_withheld_too() {
    let kinds = doubts_of(|log| {
        log.ending = Ending::Withheld;
        log.windows.truncate(60);
        log.windows[30].tiers[0].received += 100;
    });
    assert_eq!(kinds, [DoubtKind::Withheld, DoubtKind::ForeignLoad]);
}

#[test]
fn too_few_seconds_or_requests_before_the_trigger_are_too_few() {
    let early = |second: u64| {
        let mut scenario = faulted();
        scenario.faults[0].at = Timestamp::from_secs(second);
        run(&scenario, |s| {
            let shifted = if s < second { calm(s) } else { cut_then(calm)(s - second + 60) };
            Window { second: s, ..shifted }
        })
    };
    // A block of 10 s, and the last second before the trigger is none of the baseline.
    let doubt = only_doubt(&early(8)).clone();
    assert_eq!(doubt.kind, DoubtKind::TooFewSamples);
    assert!(doubt.text.contains("7 s for a baseline"), "{}", doubt.text);
    assert_verdict(&early(10), Verdict::Recovered, None);
    // One request every other second.
    let doubt = doubt_text(|log| {
        for window in &mut log.windows[..60] {
            *window = healthy(window.second, window.second % 2);
        }
        log.integrity.offered -= 60 * 80 - 30;
        log.integrity.scheduled = log.integrity.offered;
    });
    assert_eq!(doubt.kind, DoubtKind::TooFewSamples);
    assert!(doubt.text.contains("27 requests; 50 are needed"), "{}", doubt.text);
}

#[test]
fn a_baseline_is_in_doubt_where_it_is_claimed_to_be_unhealthy() {
    let good = |seconds: std::ops::Range<usize>, good: u64| {
        doubts_of(|log| {
            for window in &mut log.windows[seconds] {
                spoil(window, good, ("503", "overloaded"));
            }
        })
    };
    assert_eq!(good(0..60, 70), [DoubtKind::BaselineNotHealthy]);
    assert_eq!(good(0..60, 74), [DoubtKind::BaselineNotHealthy]);
    // Its last block alone, at 85 %.
    assert_eq!(good(49..59, 68), [DoubtKind::BaselineNotHealthy]);
    // What the noise of a count makes is no claim: 94 % or so over it, 88 % in its last block.
    assert_eq!(good(49..59, 71), []);
    let alternating = doubts_of(|log| {
        for window in &mut log.windows[..60] {
            // 94.7 % of 4,320.
            spoil(window, 75 + (window.second % 4 + 1) / 4 * 3, ("503", "overloaded"));
        }
    });
    assert_eq!(alternating, []);
    // The warm-up and the second before the trigger do not count.
    assert_eq!(good(0..5, 0), []);
    assert_eq!(good(59..60, 0), []);
    let told = doubt_text(|log| {
        log.windows[..60].iter_mut().for_each(|window| spoil(window, 40, ("503", "overloaded")));
    });
    assert!(told.text.contains("50.0 %") && told.text.contains("2160 × 503"), "{}", told.text);
}

#[test]
fn a_fault_that_changes_nothing_did_not_bite() {
    let scenario = faulted();
    let doubt = only_doubt(&run(&scenario, calm)).clone();
    assert_eq!(doubt.kind, DoubtKind::FaultDidNotBite);
    assert_eq!(only_doubt(&run(&scenario, blind(calm))).kind, DoubtKind::FaultDidNotBite);
    // It did where the tier shows it, or the clients.
    let during = |change: fn(&mut Window)| {
        run(&scenario, move |second| {
            let mut window = calm(second);
            if (60..80).contains(&second) {
                change(&mut window);
            }
            window
        })
    };
    for change in [
        (|window| window.tiers[0].capacity = Some(90.0)) as fn(&mut Window),
        |window| window.tiers[0].slots = 9,
        |window| window.client.latency.p50 = 0.16,
        |window| window.client.latency.p99 = 0.41,
        |window| spoil(window, 50, ("timeout", "timeout")),
    ] {
        assert_verdict(&during(change), Verdict::Recovered, None);
    }
    // One that its server has shown to be in force did, however short it was.
    let mut log = log_of(&scenario, calm);
    let (name, tier) = ("cut".to_owned(), "order-status".to_owned());
    log.events = vec![event(60, EventKind::FaultStarted { name, tier, what: String::new() })];
    let started = judge(&log, &scenario);
    assert!(!started.doubts.iter().any(|doubt| doubt.kind == DoubtKind::FaultDidNotBite));
}

#[test]
fn a_spike_of_one_percent_did_not_bite() {
    let spike = |rate: u64| {
        let change = format!("[[load.change]]\nat = \"60s\"\nrate = {rate}\nfor = \"20s\"\n");
        let scenario = system("80", 3, &format!("{change}{WITHIN}"));
        run(&scenario, |s| healthy(s, if (60..80).contains(&s) { rate } else { 80 }))
    };
    assert_eq!(only_doubt(&spike(81)).kind, DoubtKind::FaultDidNotBite);
    assert_verdict(&spike(95), Verdict::Recovered, None);
}

#[test]
fn capacity_that_is_not_restored_is_a_doubt_unless_the_run_itself_has_changed_it() {
    let less = |window: &mut Window| {
        if window.second >= 80 {
            window.tiers[0].capacity = Some(60.0);
        }
    };
    let lower = |log: &mut RunLog| log.windows.iter_mut().for_each(less);
    let doubt = doubt_text(lower);
    assert_eq!(doubt.kind, DoubtKind::CapacityNotRestored);
    assert!(doubt.text.contains("60.0/s") && doubt.text.contains("100.0/s"), "{}", doubt.text);
    assert_eq!(doubt_of(|log| log.windows[239].tiers[0].slots = 4), DoubtKind::CapacityNotRestored);
    // By hand.
    let kinds = doubts_of(|log| {
        lower(log);
        log.events = vec![pulled(90, "limiter", &["capacity"])];
    });
    assert_eq!(kinds, []);
    // By the timeline; a lever for another key is none.
    let planned = |key: &str| {
        let lever = format!("[[lever]]\nname = \"limiter\"\nat = \"90s\"\n{key}\n");
        let scenario = faulted_with(&lever);
        let mut log = log_of(&scenario, cut_then(recovering));
        lower(&mut log);
        log.events = vec![pulled(90, "limiter", &[key.split(' ').next().unwrap()])];
        let doubts = judge(&log, &scenario).doubts;
        doubts.iter().map(|doubt| doubt.kind).collect::<Vec<_>>()
    };
    assert_eq!(planned("capacity = 60"), []);
    assert_eq!(planned("drop_expired = true"), [DoubtKind::CapacityNotRestored]);
}

#[test]
fn more_received_than_sent_is_somebody_elses_load() {
    let more = |second: usize, more: u64| {
        doubts_of(|log| {
            log.windows[second].tiers[0].received += more;
            log.windows[second].tiers[0].served += more;
        })
    };
    // Of 4,720 until the end of the baseline 1 % and 5 may differ, and the 8 that are under way.
    assert_eq!(more(30, 60), []);
    assert_eq!(more(30, 61), [DoubtKind::ForeignLoad]);
    // Over the run: 59 · 80 + 21 · 320 − … sent; later it needs more to stand out, and does.
    let sent = 60 * 80 + 35 * 320 + 145 * 80;
    let room = 8 + sent / 100 + 5;
    assert_eq!(more(200, room), []);
    assert_eq!(more(200, room + 1), [DoubtKind::ForeignLoad]);
    let doubt = doubt_text(|log| {
        log.windows.iter_mut().for_each(|window| window.tiers[0].received *= 2);
    });
    for said in ["`order-status` received 9440", "sent 4720", "somebody else loads it"] {
        assert!(doubt.text.contains(said), "{}", doubt.text);
    }
}

#[test]
fn fewer_received_than_sent_is_a_load_that_passes_elsewhere() {
    let fewer = |second: usize, fewer: u64| {
        doubts_of(|log| log.windows[second].tiers[0].received -= fewer.min(80))
    };
    assert_eq!(fewer(30, 60), []);
    assert_eq!(fewer(30, 61), [DoubtKind::PastTheTier]);
    // Later it is evidence: attempts may wait before the server.
    assert_eq!(fewer(200, 80), []);
    // Attempts that found no connection are none that it could receive.
    let lost = doubts_of(|log| {
        let window = &mut log.windows[30];
        window.client.attempts_failed = counts([("connect", 70)]);
        window.tiers[0].received = 10;
    });
    assert_eq!(lost, []);
    let past = doubt_text(|log| {
        for window in &mut log.windows {
            (window.tiers[0].received, window.tiers[0].served) = (0, 0);
        }
    });
    assert_eq!(past.kind, DoubtKind::PastTheTier);
    assert!(past.text.contains("received 0: its load passes elsewhere"), "{}", past.text);
}

#[test]
fn more_good_than_served_is_answered_by_somebody_else() {
    let doubt = doubt_text(|log| {
        for window in &mut log.windows[95..] {
            window.tiers[0].served = 40;
        }
    });
    assert_eq!(doubt.kind, DoubtKind::PastTheTier);
    assert!(doubt.text.contains("somebody else answers them"), "{}", doubt.text);
}

#[test]
fn polls_that_are_apart_leave_room_for_what_passes_between_two() {
    let received = |more: u64| {
        doubts_of(|log| {
            log.windows.iter_mut().for_each(|window| window.tiers[0].sample_gap = 1.0);
            log.windows[30].tiers[0].received += more;
        })
    };
    // Twice a second at 80/s.
    assert_eq!(received(60 + 160), []);
    assert_eq!(received(61 + 160), [DoubtKind::ForeignLoad]);
}

#[test]
fn what_others_did_is_named_with_who_and_what() {
    let by = |name: &str| {
        let (tier, by) = ("order-status".to_owned(), name.to_owned());
        let what = "turned `capacity` to 1000".to_owned();
        doubt_text(|log| log.events.push(event(100, EventKind::ByOthers { tier, what, by })))
    };
    let doubt = by("ana@laptop");
    assert_eq!(doubt.kind, DoubtKind::ByOthers);
    for said in ["ana@laptop", "`order-status`", "turned `capacity` to 1000", "100"] {
        assert!(doubt.text.contains(said), "{}", doubt.text);
    }
    assert!(by("").text.contains("somebody else"));
}
