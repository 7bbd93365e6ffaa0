//! Goodput that is down at the end: what sustains it, and whether it comes back.

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
fn where_the_balance_claims_nothing_a_falling_backlog_does() {
    let scenario = system("26", 3, &format!("{FAULT}{WITHIN}"));
    let noisy = |second: u64, queued: u64| {
        failing(second, 26, if (second / 10).is_multiple_of(2) { 60 } else { 132 }, 0, queued)
    };
    let falling = |second: u64| noisy(second, 5_000 - (second - 80) * 20);
    let judgement = run(&scenario, cut_then(falling));
    assert_verdict(&judgement, Verdict::SlowRecovery, None);
    assert!(judgement.summary.contains("changes by -20.0 a second"), "{}", judgement.summary);
    // It never claims that one does not fall.
    let rising = run(&scenario, cut_then(|second| noisy(second, 20 * second)));
    assert_eq!(only_doubt(&rising).kind, DoubtKind::TooShort);
    // Nor does it say anything of a queue at its bound.
    let mut bounded = scenario;
    bounded.tiers[0].limiter.queue_limit = goodput_policy::limiter::QueueLimit::Bounded(5_000);
    let full = run(
        &bounded,
        cut_then(|second| {
            let mut window = falling(second);
            window.tiers[0].refused = counts([("queue-full", 1)]);
            window
        }),
    );
    assert_verdict(&full, Verdict::Metastable, None);
}

#[test]
fn a_collapse_is_metastable_when_it_has_lasted_for_longer_than_a_request_lives() {
    let aged = |age: u64| {
        run(&faulted(), cut_then(|s| if s < 240 - age { calm(s) } else { stuck(s) })).verdict
    };
    let verdicts: Vec<Verdict> = (0..60).map(aged).collect();
    // Two seconds of ten may be a dip; from 27 s and a block on there is nobody left whose retries the
    // beginning of the collapse alone would explain. A stretch covers all blocks that are out of the band.
    let began = verdicts.iter().position(|v| *v == Verdict::Inconclusive).unwrap();
    let lasts = verdicts.iter().position(|v| *v == Verdict::Metastable).unwrap();
    assert_eq!((began, lasts), (2, 28));
    for (age, verdict) in verdicts.iter().enumerate() {
        let due = match age {
            _ if age < began => Verdict::Recovered,
            _ if age < lasts => Verdict::Inconclusive,
            _ => Verdict::Metastable,
        };
        assert_eq!(*verdict, due, "{age} s");
    }
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
    let with_budget = |ratio: &str| {
        let budget =
            format!("[[client.layer]]\nbudget = {{ kind = \"sre-ratio\", ratio = {ratio} }}");
        let text = format!("{FAULT}{WITHIN}");
        let scenario = system_of(&budget, "80", 3, &text);
        run(
            &scenario,
            cut_then(|second| {
                let mut window = failing(second, 80, 106, 0, 900 + second);
                (window.tiers[0].busy_useful, window.tiers[0].busy_wasted) = (0.0, 10.0);
                window
            }),
        )
    };
    // A tenth cannot keep up what it saved: 88 a second are served.
    let passing = with_budget("0.1");
    assert_eq!(only_doubt(&passing).kind, DoubtKind::TooShort);
    let judgement = with_budget("0.33");
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

#[test]
fn what_waits_before_or_behind_the_bottleneck_may_be_all_that_keeps_goodput_down() {
    let scenario = read(&format!(
        "name = \"two\"\nduration = \"240s\"\n[load]\nrate = 80\n[[client.layer]]\n\
             timeout = \"5s\"\nretries = 3\n[[tier]]\nname = \"gateway\"\ncapacity = 100\n\
             queue_limit = 500\n[[tier.layer]]\ntimeout = \"4s\"\n[[tier]]\n\
             name = \"order-status\"\nslots = 10\ncapacity = 101\n{FAULT}{WITHIN}"
    ));
    // The gateway is full and refuses most of 320 attempts; what it lets through is served in vain.
    let second = |reaches: u64| {
        move |second: u64| {
            let mut window = cut_then(stuck)(second);
            let mut inner = window.tiers.remove(0);
            let mut gateway = inner.clone();
            gateway.name = "gateway".to_owned();
            inner.capacity = inner.capacity.map(|capacity| capacity + 1.0);
            if second >= 80 {
                gateway.refused = counts([("queue-full", 220)]);
                inner.received = reaches;
            }
            window.tiers = vec![gateway, inner];
            window
        }
    };
    // A little less reaches the server than it can serve: what waits there drains.
    let judgement = run(&scenario, second(100));
    assert_eq!(only_doubt(&judgement).kind, DoubtKind::TooShort);
    // A little more: it does not.
    let judgement = run(&scenario, second(104));
    assert_verdict(&judgement, Verdict::Metastable, None);
}

#[test]
fn what_is_turned_away_at_the_door_does_not_keep_a_backlog_up() {
    // 320 attempts a second arrive, and what waits falls: most are refused by a limit that came since.
    let falling = |refused: u64| {
        move |second: u64| {
            let left = 17_000_u64.saturating_sub(second * 70);
            let mut window = cut_then(stuck)(second);
            if second >= 80 {
                window.tiers[0].queued = left;
                window.tiers[0].refused = counts([("queue-full", refused)]);
            }
            window
        }
    };
    let judgement = run(&faulted(), falling(250));
    assert_eq!(only_doubt(&judgement).kind, DoubtKind::TooShort);
    // Where more than the capacity is taken in all the same, the balance outweighs the trend.
    let judgement = run(&faulted(), falling(200));
    assert_verdict(&judgement, Verdict::Metastable, None);
}
