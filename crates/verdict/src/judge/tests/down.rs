//! Goodput that is down at the end: why, what sustains it, and whether it comes back.

use super::*;
use crate::model::Effect;

fn effects(judgement: &Judgement) -> Vec<Effect> {
    judgement.sustaining.iter().map(|sustaining| sustaining.effect).collect()
}

#[test]
fn goodput_that_stays_down_with_a_standing_queue_is_metastable_by_what_sustains_it() {
    for queue in [600, 13_000] {
        let judgement = after_cut(|second| degraded(second, 0, queue));
        assert_verdict(&judgement, Verdict::Metastable, None);
        assert_eq!((judgement.time_to_recover, judgement.settled), (None, None));
        assert_eq!(
            effects(&judgement),
            [Effect::Amplification, Effect::WastedWork, Effect::QueueDelay]
        );
        for said in ["4.00 attempts", "client × 4.00", "99 %", "320 attempts a second", "20.00 s"]
        {
            assert!(judgement.summary.contains(said), "{said}: {}", judgement.summary);
        }
        let value = |name: &str| {
            judgement.evidence.iter().find(|evidence| evidence.name == name).unwrap().value
        };
        assert_eq!((value("attempts per request"), value("goodput")), (4.0, 0.0));
        let (throughput, balance) = (value("throughput"), value("attempts at the bottleneck"));
        assert_eq!((throughput, balance, value("queue delay")), (100.0, 320.0, 20.0));
        assert!((value("wasted work") - 0.99).abs() < 1e-9);
        assert!((value("utilisation") - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_stuck_system_is_metastable_at_every_length_that_outlasts_a_life() {
    for seconds in 140..240 {
        assert_verdict(
            &run(&lasting(faulted(), seconds), cut_then(stuck)),
            Verdict::Metastable,
            None,
        );
    }
}

#[test]
fn a_gateway_that_retries_is_named_with_its_part() {
    let scenario = read(&format!(
        "name = \"two\"\nduration = \"240s\"\n[load]\nrate = 80\n[[client.layer]]\n\
         timeout = \"25s\"\n[[tier]]\nname = \"gateway\"\n[[tier.layer]]\ntimeout = \"5s\"\n\
         retries = 3\n[[tier]]\nname = \"order-status\"\nslots = 10\ncapacity = 100\n{FAULT}{WITHIN}"
    ));
    let judgement = run(&scenario, |second| {
        let mut window = behind_gateway(cut_then(stuck)(second));
        window.client.attempts = 80;
        window
    });
    assert_verdict(&judgement, Verdict::Metastable, None);
    let said = &judgement.sustaining[0].text;
    assert!(said.contains("client × 1.00, gateway `gateway` × 4.00"), "{said}");
}

/// The same second behind a gateway that makes all the retries.
fn behind_gateway(mut window: Window) -> Window {
    let inner = window.tiers.remove(0);
    let (received, served) = (80, window.client.good);
    let name = "gateway".to_owned();
    window.tiers = vec![TierWindow { name, received, served, ..TierWindow::default() }, inner];
    window
}

#[test]
fn a_growing_or_noisy_queue_is_no_slow_recovery() {
    let mut random = goodput_clock::Seed(2).stream("noisy queue");
    let queues: Vec<u64> = (0..240).map(|_| 560 + random.below(80)).collect();
    let noisy = |second: u64| degraded(second, 0, queues[second as usize]);
    let growing = |second: u64| degraded(second, 0, second * 220);
    assert_verdict(&after_cut(growing), Verdict::Metastable, None);
    assert_verdict(&after_cut(noisy), Verdict::Metastable, None);
    let unknown = Some(Cause::Unknown);
    assert_verdict(&unseen(growing), Verdict::NotRecovered, unknown);
    assert_verdict(&unseen(noisy), Verdict::NotRecovered, unknown);
}

#[test]
fn a_falling_backlog_does_not_outweigh_more_attempts_than_the_capacity() {
    // By its trend it would be empty in time; four times as many attempts come as can be served.
    let falling = |second: u64| degraded(second, 0, 13_000 - (second - 80) * 20);
    assert_verdict(&after_cut(falling), Verdict::Metastable, None);
}

#[test]
fn fewer_attempts_than_the_capacity_are_a_slow_recovery_with_the_time_left() {
    let judgement = after_cut(|second| failing(second, 80, 90, 0, 2_000 - (second - 80) * 10));
    assert_verdict(&judgement, Verdict::SlowRecovery, None);
    // 455 wait on average over the last block, and 10 a second more than come are served.
    let left = judgement.time_left.unwrap();
    assert!((left.value - 45.5).abs() < 1e-9 && left.low <= left.value, "{left:?}");
    assert!(left.high.is_some_and(|high| high >= left.value), "{left:?}");
    let said = "90.0 attempts a second reach `order-status`, which can serve 100.0";
    assert!(judgement.summary.contains(said), "{}", judgement.summary);
    assert!(judgement.summary.contains("gone in about 46 s"), "{}", judgement.summary);
}

#[test]
fn a_load_that_even_with_all_retries_is_below_the_capacity_is_no_metastable() {
    // 24/s make 96 attempts at most; so noisy that the balance claims nothing.
    let scenario = system("24", 3, &format!("{FAULT}{WITHIN}"));
    let judgement = run(
        &scenario,
        cut_then(|second| {
            let attempts = if (second / 10).is_multiple_of(2) { 60 } else { 132 };
            failing(second, 24, attempts, 0, 900)
        }),
    );
    assert_verdict(&judgement, Verdict::SlowRecovery, None);
    assert!(judgement.summary.contains("even if every request made all"), "{}", judgement.summary);
    assert!(judgement.time_left.unwrap().high.is_none(), "{:?}", judgement.time_left);
    // At 26/s it may go either way, and the same noise says nothing.
    let scenario = system("26", 3, &format!("{FAULT}{WITHIN}"));
    let judgement = run(
        &scenario,
        cut_then(|second| {
            let attempts = if (second / 10).is_multiple_of(2) { 60 } else { 132 };
            failing(second, 26, attempts, 0, 900)
        }),
    );
    assert_eq!(only_doubt(&judgement).kind, DoubtKind::TooShort);
    assert_eq!(judgement.run_longer, Some(160.0));
}

#[test]
fn a_backlog_that_falls_is_a_slow_recovery_where_nothing_else_is_seen() {
    let falling = |second: u64| failing(second, 80, 80, 0, 5_000 - (second - 80) * 20);
    let judgement = unseen(falling);
    assert_verdict(&judgement, Verdict::SlowRecovery, None);
    assert!(judgement.summary.contains("-20.0 a second"), "{}", judgement.summary);
    // About 1,900 at the end.
    let left = judgement.time_left.unwrap();
    assert!((left.value - 95.0).abs() < 2.0, "{left:?}");
    // So slowly that it takes more than ten times what was seen.
    let slowly = unseen(|second: u64| failing(second, 80, 80, 0, 500_000 - (second - 80) * 20));
    assert_verdict(&slowly, Verdict::NotRecovered, Some(Cause::Unknown));
}

#[test]
fn without_retries_nothing_is_metastable_whenever_the_backlog_empties() {
    let scenario = |seconds| lasting(system("80", 0, &format!("{FAULT}{WITHIN}")), seconds);
    let mut recovered_before = false;
    for seconds in 140..220 {
        // Worked off 55 s after the cut.
        let judgement = run(
            &scenario(seconds),
            cut_then(|second| {
                if second < 135 {
                    failing(second, 80, 80, 0, (135 - second) * 20)
                } else {
                    calm(second)
                }
            }),
        );
        let recovered = judgement.verdict == Verdict::Recovered;
        let early = matches!(judgement.verdict, Verdict::SlowRecovery | Verdict::Inconclusive);
        assert!(recovered || (early && !recovered_before), "{seconds} s: {judgement:#?}");
        recovered_before = recovered;
    }
    assert!(recovered_before);
}

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
fn a_load_just_below_the_capacity_that_was_so_before_is_no_overload() {
    let narrow = |second| {
        let mut window = cut_then(stuck)(second);
        if !(60..80).contains(&second) {
            window.tiers[0].capacity = Some(81.2);
        }
        window
    };
    let judgement = run(&faulted(), narrow);
    assert_verdict(&judgement, Verdict::Metastable, None);
    assert!(!judgement.notes.iter().any(|note| note.contains("load")), "{:?}", judgement.notes);
}

#[test]
fn a_queue_at_its_bound_that_refuses_is_metastable_by_its_attempts() {
    let mut scenario = faulted();
    let limit = goodput_policy::limiter::QueueLimit::Bounded(100);
    scenario.tiers[0].limiter.queue_limit = limit;
    // 80 to 132 attempts: the balance claims nothing, and a trend says nothing of a full queue.
    let full = |second: u64| {
        let attempts = if (second / 10).is_multiple_of(2) { 80 } else { 132 };
        let mut window = failing(second, 80, attempts, 40, 100 - second % 2);
        window.client.attempts_failed = counts([("overloaded", attempts - 40)]);
        window.client.outcomes = counts([("200", 40), ("503", attempts - 40)]);
        let tier = &mut window.tiers[0];
        tier.refused = counts([("queue-full", attempts.saturating_sub(100).max(1))]);
        (tier.busy_useful, tier.busy_wasted) = (6.0, 4.0);
        tier.queue_delay.p50 = 1.0;
        window
    };
    let judgement = run(&scenario, cut_then(full));
    assert_verdict(&judgement, Verdict::Metastable, None);
    assert_eq!(effects(&judgement), [Effect::Amplification]);
}

#[test]
fn a_budget_that_lets_a_little_too_much_through_is_metastable() {
    let judgement = after_cut(|second| {
        let mut window = failing(second, 80, 106, 0, 900 + second);
        (window.tiers[0].busy_useful, window.tiers[0].busy_wasted) = (0.0, 10.0);
        window
    });
    assert_verdict(&judgement, Verdict::Metastable, None);
    assert!(effects(&judgement).contains(&Effect::WastedWork), "{:?}", judgement.sustaining);
    assert!(judgement.summary.contains("106 attempts a second"), "{}", judgement.summary);
}

#[test]
fn without_a_sustaining_effect_in_sight_nothing_is_metastable() {
    // More attempts than can be served, though no more than in the baseline, and all work is for callers
    // who are there.
    let judgement = after_cut(|second| {
        let mut window = failing(second, 80, 85, 40, 900);
        window.tiers[0].capacity = Some(100.0);
        (window.tiers[0].busy_useful, window.tiers[0].busy_wasted) = (10.0, 0.0);
        window.tiers[0].queue_delay.p50 = 1.0;
        window.tiers[0].refused = counts([("queue-full", 5)]);
        window
    });
    assert_ne!(judgement.verdict, Verdict::Metastable, "{judgement:#?}");
    assert_eq!(judgement.sustaining, []);
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

#[test]
fn every_health_check_is_told_to_have_passed_where_goodput_did_not() {
    let scenario = faulted();
    let mut log = log_of(&scenario, cut_then(stuck));
    log.meta.engine = goodput_runlog::EngineKind::Rig;
    let told =
        |log: &RunLog| judge(log, &scenario).notes.iter().any(|n| n.contains("health check"));
    assert!(told(&log));
    log.windows[100].tiers.clear();
    assert!(!told(&log));
}
