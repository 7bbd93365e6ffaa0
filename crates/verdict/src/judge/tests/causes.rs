//! Goodput that is down for a cause of its own: down, overloaded, damaged, unknown.

use super::*;

#[test]
fn a_load_raised_to_the_capacity_is_overload() {
    let step = |from: &str, to: u64| {
        let change = format!("[[load.change]]\nat = \"100s\"\nrate = {to}\n");
        system(from, 3, &format!("{change}{STEADY}"))
    };
    let then = |from, to: u64| {
        move |second| {
            if second < 100 { healthy(second, from) } else { failing(second, to, 4 * to, 0, 900) }
        }
    };
    for to in [100, 120] {
        let judgement = run(&step("80", to), then(80, to));
        assert_verdict(&judgement, Verdict::NotRecovered, Some(Cause::Overloaded));
        let said = format!("{to}.0 requests a second are offered (80.0 in the baseline)");
        assert!(judgement.summary.contains(&said), "{}", judgement.summary);
        // Where the capacity is not seen it may be that.
        let unseen = run(&step("80", to), blind(then(80, to)));
        assert_verdict(&unseen, Verdict::NotRecovered, Some(Cause::Unknown));
        assert!(unseen.summary.contains("overload or metastable"), "{}", unseen.summary);
    }
    // Between the safe load and the capacity it is no overload, and the load is told.
    let judgement = run(&step("20", 80), then(20, 80));
    assert_verdict(&judgement, Verdict::Metastable, None);
    assert!(judgement.notes[0].contains("load is not as before: 80.0"), "{:?}", judgement.notes);
}

#[test]
fn a_load_near_the_capacity_that_was_so_before_is_overload_where_it_is_above() {
    for (capacity, said) in [(81.2, None), (79.5, Some(Cause::Overloaded))] {
        let narrow = |second| {
            let mut window = cut_then(stuck)(second);
            if !(60..80).contains(&second) {
                window.tiers[0].capacity = Some(capacity);
            }
            window
        };
        let judgement = run(&faulted(), narrow);
        let verdict = if said.is_some() { Verdict::NotRecovered } else { Verdict::Metastable };
        assert_verdict(&judgement, verdict, said);
        let load = judgement.notes.iter().any(|note| note.contains("load"));
        assert!(!load, "{:?}", judgement.notes);
    }
}

#[test]
fn a_lever_that_leaves_less_capacity_than_is_offered_makes_overload() {
    for (capacity, said) in [(60, Some(Cause::Overloaded)), (81, None)] {
        let scenario = faulted_with(&format!(
            "[[lever]]\nname = \"limiter\"\nat = \"90s\"\ncapacity = {capacity}\n"
        ));
        let mut log = log_of(&scenario, cut_then(stuck));
        log.events = vec![pulled(90, "limiter", &["capacity"])];
        for window in &mut log.windows[90..] {
            window.tiers[0].capacity = Some(f64::from(capacity));
        }
        let verdict = if said.is_some() { Verdict::NotRecovered } else { Verdict::Metastable };
        assert_verdict(&judge(&log, &scenario), verdict, said);
    }
}

#[test]
fn a_target_that_reaches_nobody_is_down() {
    for (how, class) in [("refused", "connect"), ("reset", "connect"), ("unreachable", "connect")] {
        let gone = move |second| {
            let mut window = calm(second);
            spoil(&mut window, 0, (how, class));
            window
        };
        let judgement = unseen(gone);
        assert_verdict(&judgement, Verdict::NotRecovered, Some(Cause::Down));
        assert!(judgement.summary.contains(&format!("2400 × {how}")), "{}", judgement.summary);
        // Retried, it is down as well.
        let retried = unseen(move |second| {
            let mut window = gone(second);
            window.client.attempts = 320;
            window.client.attempts_failed = counts([(class, 320)]);
            window.client.outcomes = counts([(how, 320)]);
            window
        });
        assert_verdict(&retried, Verdict::NotRecovered, Some(Cause::Down));
        // It went by itself, without a fault.
        let alone = run(&quiet(), blind(|s| if s < 120 { calm(s) } else { gone(s) }));
        assert_verdict(&alone, Verdict::NotRecovered, Some(Cause::Down));
        assert!(alone.summary.contains("went down: nobody answers"), "{}", alone.summary);
    }
    // Nobody knows whether there is somebody who does not answer in time.
    let silent = unseen(|second| partly(second, 0));
    assert_verdict(&silent, Verdict::NotRecovered, Some(Cause::Unknown));
}

#[test]
fn nine_of_ten_must_reach_nobody_to_be_down_and_half_be_answered_wrongly_to_be_damaged() {
    // Nobody is answered well; the others are out of time.
    let cause = |count: u64, (outcome, class): (&str, &str)| {
        let judgement = unseen(|second| {
            let mut window = partly(second, 0);
            window.client.attempts_failed = counts([(class, count), ("timeout", 80 - count)]);
            window.client.outcomes = counts([(outcome, count), ("timeout", 80 - count)]);
            window
        });
        assert_eq!(judgement.verdict, Verdict::NotRecovered, "{judgement:#?}");
        judgement.cause.unwrap()
    };
    let (refused, wrong) = (("refused", "connect"), ("500", "error"));
    assert_eq!((cause(72, refused), cause(71, refused)), (Cause::Down, Cause::Unknown));
    assert_eq!((cause(40, wrong), cause(39, wrong)), (Cause::Damaged, Cause::Unknown));
}

#[test]
fn a_target_behind_a_gateway_that_reaches_nobody_is_down() {
    let judgement = unseen(|second| {
        let mut window = calm(second);
        spoil(&mut window, 0, ("502", "connect"));
        window
    });
    assert_verdict(&judgement, Verdict::NotRecovered, Some(Cause::Down));
    // Not by the generator's own caps.
    let own = unseen(|second| {
        let mut window = calm(second);
        spoil(&mut window, 0, ("own-limit", "connect"));
        window
    });
    assert_ne!(own.cause, Some(Cause::Down), "{own:#?}");
}

#[test]
fn wrong_answers_without_a_backlog_are_damage_retried_or_not() {
    let half = |second| {
        let mut window = calm(second);
        spoil(&mut window, 40, ("500", "error"));
        (window.tiers[0].served, window.tiers[0].errors) = (40, 40);
        window
    };
    let retried = |second| {
        let mut window = half(second);
        let (client, tier) = (&mut window.client, &mut window.tiers[0]);
        (client.attempts, tier.received, tier.errors) = (200, 200, 160);
        client.attempts_failed = counts([("error", 160)]);
        client.outcomes = counts([("200", 40), ("500", 160)]);
        window
    };
    for judgement in [after_cut(half), unseen(half), after_cut(retried), unseen(retried)] {
        assert_verdict(&judgement, Verdict::NotRecovered, Some(Cause::Damaged));
        assert!(judgement.summary.contains("× 500"), "{}", judgement.summary);
    }
    let alone = run(&quiet(), |second| if second < 120 { calm(second) } else { half(second) });
    assert_verdict(&alone, Verdict::NotRecovered, Some(Cause::Damaged));
    // Behind a queue that waits for longer than its callers do it is something else.
    let queued = after_cut(|second| {
        let mut window = degraded(second, 0, 2_000);
        window.client.attempts_failed = counts([("error", 320)]);
        window.client.outcomes = counts([("500", 320)]);
        window
    });
    assert_ne!(queued.cause, Some(Cause::Damaged), "{queued:#?}");
}

#[test]
fn where_the_capacity_is_not_seen_the_cause_is_unknown() {
    // Slow for good: nobody is answered in time, and all give up at their first try.
    let slow = unseen(|second| partly(second, 0));
    assert_verdict(&slow, Verdict::NotRecovered, Some(Cause::Unknown));
    assert!(!slow.summary.contains("metastable"), "{}", slow.summary);
    let stuck = unseen(stuck);
    assert_verdict(&stuck, Verdict::NotRecovered, Some(Cause::Unknown));
    assert!(
        stuck.summary.contains("it looks metastable: a request makes 4.00"),
        "{}",
        stuck.summary
    );
    // A gateway in front of a slow service is not what limits it.
    let behind = after_cut(|second| {
        let mut window = degraded(second, 0, 0);
        let tier = &mut window.tiers[0];
        (tier.busy_useful, tier.busy_wasted, tier.served) = (4.0, 0.0, 0);
        tier.queue_delay.p50 = 0.0;
        window
    });
    assert_verdict(&behind, Verdict::NotRecovered, Some(Cause::Unknown));
}

#[test]
fn a_tier_without_a_capacity_is_not_what_limits() {
    // Its slots are held for as long as it waits for the next one, which nobody sees.
    let judgement = after_cut(|second| {
        let mut window = degraded(second, 0, 13_000);
        window.tiers[0].capacity = None;
        window
    });
    assert_ne!(judgement.verdict, Verdict::SlowRecovery, "{judgement:#?}");
    assert!(!judgement.summary.contains("inf"), "{}", judgement.summary);
}
