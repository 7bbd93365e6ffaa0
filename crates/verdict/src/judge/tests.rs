use std::collections::BTreeMap;

use goodput_clock::{Seed, Timestamp};
use goodput_runlog::{
    ClientWindow, Ending, Event, EventKind, Integrity, Quantiles, RunLog, TierWindow, Window,
};
use goodput_scenario::{Plan, Scenario};

use super::judge;
use crate::model::{DoubtKind, Judgement, Verdict};

const FAULT: &str = "[[fault]]\nkind = \"capacity\"\nto = 0.4\nat = \"60s\"\nfor = \"20s\"\n";
const WITHIN: &str = "[expect]\nverdict = \"recovered\"\nhold = \"10s\"\nwithin = \"60s\"\n";

/// 80/s against 100/s over 240 s, with what is added.
fn scenario(more: &str) -> Scenario {
    let text = format!(
        "name = \"test\"\nduration = \"240s\"\n[load]\nrate = 80\n[[client.layer]]\n\
         timeout = \"5s\"\nretries = 3\n[[tier]]\nname = \"order-status\"\nslots = 10\n\
         capacity = 100\n{more}"
    );
    Plan::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}")).scenario
}

fn faulted() -> Scenario {
    scenario(&format!("{FAULT}{WITHIN}"))
}

fn steady() -> Scenario {
    scenario("[expect]\nverdict = \"steady\"\nhold = \"10s\"\n")
}

/// A healthy second at 80/s.
fn calm(second: u64) -> Window {
    let quantiles = |p50: f64| Quantiles { count: 80, p50, p99: 2.0 * p50, max: 3.0 * p50 };
    Window {
        second,
        client: ClientWindow {
            offered: 80,
            good: 80,
            attempts: 80,
            attempts_in_flight: 8,
            requests_in_flight: 8,
            latency: quantiles(0.1),
            ..ClientWindow::default()
        },
        tiers: vec![TierWindow {
            name: "order-status".to_owned(),
            received: 80,
            served: 80,
            busy_useful: 8.0,
            slots: 10,
            capacity: Some(100.0),
            admitted: Some(1.0),
            queue_delay: quantiles(0.01),
            ..TierWindow::default()
        }],
    }
}

/// A second with so much goodput, and a queue of so many.
fn degraded(second: u64, good: u64, queued: u64) -> Window {
    let mut window = calm(second);
    window.client.good = good;
    window.client.attempts = 320;
    window.client.attempts_in_flight = queued;
    window.client.failed = BTreeMap::from([("timeout".to_owned(), 80 - good.min(80))]);
    let tier = &mut window.tiers[0];
    (tier.received, tier.served, tier.queued) = (320, 100, queued);
    (tier.busy_useful, tier.busy_wasted) = (0.1, 9.9);
    tier.queue_delay = Quantiles { count: 100, p50: 20.0, p99: 21.0, max: 22.0 };
    window
}

/// The headline up to the fault's end, then what is said of each second.
fn log(after: impl Fn(u64) -> Window) -> RunLog {
    log_of((0..240).map(|second| match second {
        0..60 => calm(second),
        60..80 => {
            let mut window = degraded(second, 20, (second - 59) * 40);
            window.tiers[0].capacity = Some(40.0);
            window
        }
        _ => after(second),
    }))
}

fn log_of(windows: impl Iterator<Item = Window>) -> RunLog {
    let windows: Vec<_> = windows.collect();
    let offered = windows.iter().map(|window| window.client.offered).sum();
    RunLog {
        windows,
        integrity: Integrity {
            scheduled: offered,
            offered,
            send_lag_p99_wall: 0.001,
            smallest_timeout_wall: 5.0,
            ..Integrity::default()
        },
        ..RunLog::default()
    }
}

/// Back from 15 s after the fault's end.
fn recovering(second: u64) -> Window {
    if second < 95 { degraded(second, 0, 800 - (second - 80) * 20) } else { calm(second) }
}

fn event(second: u64, kind: EventKind) -> Event {
    Event { at: Timestamp::from_secs(second), kind }
}

/// The only doubt that a run raises.
fn only_doubt(judgement: &Judgement) -> DoubtKind {
    assert_eq!(judgement.verdict, Verdict::Inconclusive, "{judgement:#?}");
    let [doubt] = judgement.doubts.as_slice() else { panic!("{:#?}", judgement.doubts) };
    assert!(judgement.summary.contains(&doubt.text));
    doubt.kind
}

/// The only doubt of a recovering run after a change to it.
fn doubt_of(change: impl FnOnce(&mut RunLog)) -> DoubtKind {
    let mut log = log(recovering);
    change(&mut log);
    only_doubt(&judge(&log, &faulted()))
}

#[test]
fn goodput_that_comes_back_and_stays_has_recovered() {
    let judgement = judge(&log(recovering), &faulted());
    assert_eq!(judgement.verdict, Verdict::Recovered, "{judgement:#?}");
    // The span from 95 s is whole; one that starts half a second earlier would have lacked 5 %.
    assert_eq!(judgement.time_to_recover, Some(15.0));
    assert_eq!((judgement.relapsed, judgement.settled), (None, Some(15.0)));
    assert!((judgement.goodput_lost - (20.0 * 60.0 + 15.0 * 80.0)).abs() < 1e-6);
    let baseline = judgement.baseline.unwrap();
    assert_eq!((baseline.span.from, baseline.span.to, baseline.ratio), (5.0, 60.0, 1.0));
}

#[test]
fn goodput_that_stays_down_with_a_standing_queue_is_metastable() {
    for queue in [600, 13_000] {
        let judgement = judge(&log(|second| degraded(second, 0, queue)), &faulted());
        assert_eq!(judgement.verdict, Verdict::Metastable, "{judgement:#?}");
        assert_eq!(judgement.time_to_recover, None);
        let value = |name: &str| {
            judgement.evidence.iter().find(|evidence| evidence.name == name).unwrap().value
        };
        assert_eq!((value("attempts per request"), value("goodput")), (4.0, 0.0));
        assert_eq!((value("throughput"), value("queue delay")), (100.0, 20.0));
        assert!((value("wasted work") - 0.99).abs() < 1e-9);
        assert!((value("utilisation") - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_growing_or_noisy_queue_does_not_make_a_slow_recovery() {
    let growing = judge(&log(|second| degraded(second, 0, second * 220)), &faulted());
    assert_eq!(growing.verdict, Verdict::Metastable);
    let mut random = Seed(2).stream("noisy queue");
    let queues: Vec<u64> = (0..240).map(|_| 560 + random.below(80)).collect();
    let noisy = judge(&log(|second| degraded(second, 0, queues[second as usize])), &faulted());
    assert_eq!(noisy.verdict, Verdict::Metastable);
}

#[test]
fn a_backlog_that_falls_to_its_end_is_a_slow_recovery() {
    let falling = |second: u64| degraded(second, 0, 13_000 - (second - 80) * 20);
    let judgement = judge(&log(falling), &faulted());
    assert_eq!(judgement.verdict, Verdict::SlowRecovery, "{judgement:#?}");
    assert!(judgement.summary.contains("20.0 a second"), "{}", judgement.summary);
}

#[test]
fn goodput_that_is_back_too_late_is_a_slow_recovery_with_its_time() {
    let late = |second| if second < 170 { degraded(second, 0, 900) } else { calm(second) };
    let judgement = judge(&log(late), &faulted());
    assert_eq!(judgement.verdict, Verdict::SlowRecovery);
    assert_eq!(judgement.time_to_recover, Some(90.0));
}

#[test]
fn within_is_met_exactly_and_missed_by_a_second() {
    let back_at =
        |at| move |second| if second < at { degraded(second, 0, 900) } else { calm(second) };
    assert_eq!(judge(&log(back_at(140)), &faulted()).verdict, Verdict::Recovered);
    assert_eq!(judge(&log(back_at(141)), &faulted()).verdict, Verdict::SlowRecovery);
}

#[test]
fn the_band_is_met_exactly_and_missed_by_a_request() {
    let at = |good: u64, odd: u64| {
        let window = move |second: u64| {
            let mut window = calm(second);
            // 760 of 800 in ten seconds are 95 %; the odd one falls into the last two spans alone.
            window.client.good = if second == 238 { good - odd } else { good };
            window
        };
        judge(&log(window), &faulted()).verdict
    };
    assert_eq!(at(76, 0), Verdict::Recovered);
    assert_eq!(at(76, 1), Verdict::Metastable);
}

#[test]
fn a_span_alone_that_misses_the_band_is_not_out_of_it() {
    // Requests that are under way when the second ends are answered in the next one.
    let late = |at: u64| {
        move |second: u64| {
            let mut window = calm(second);
            window.client.good = if second == at { 39 } else { 80 };
            window.client.good += if second == at + 1 { 41 } else { 0 };
            window
        }
    };
    // Only the span that ends with this second lacks them: in the middle of a run, and at its end.
    for at in [150, 239] {
        let judgement = judge(&log(late(at)), &faulted());
        assert_eq!(judgement.verdict, Verdict::Recovered, "{judgement:#?}");
        assert_eq!((judgement.relapsed, judgement.settled), (None, Some(0.0)));
        let judgement = judge(&log_of((0..240).map(late(at))), &steady());
        assert_eq!(judgement.verdict, Verdict::Steady, "{judgement:#?}");
    }
}

#[test]
fn a_relapse_that_lasts_to_the_end_is_metastable_and_told() {
    let relapse = |second| match second {
        80..110 => calm(second),
        _ => degraded(second, 0, 700),
    };
    let judgement = judge(&log(relapse), &faulted());
    assert_eq!(judgement.verdict, Verdict::Metastable);
    assert_eq!(judgement.time_to_recover, Some(0.0));
    assert_eq!((judgement.relapsed, judgement.settled), (Some(21.0), None));
}

#[test]
fn goodput_that_relapses_once_more_settles_only_then() {
    let relapse = |second| match second {
        110..150 => degraded(second, 0, 700),
        _ => calm(second),
    };
    let judgement = judge(&log(relapse), &faulted());
    assert_eq!(judgement.verdict, Verdict::Recovered);
    assert_eq!(judgement.time_to_recover, Some(0.0));
    assert_eq!((judgement.relapsed, judgement.settled), (Some(21.0), Some(70.0)));
}

#[test]
fn a_healthy_run_without_a_fault_is_steady() {
    let judgement = judge(&log_of((0..240).map(calm)), &steady());
    assert_eq!(judgement.verdict, Verdict::Steady, "{judgement:#?}");
    assert_eq!((judgement.trigger, judgement.time_to_recover), (None, None));
}

#[test]
fn a_run_of_less_than_two_windows_without_a_trigger_is_told_to_last_longer() {
    for (seconds, enough) in [(10, false), (19, false), (20, true)] {
        let mut scenario = steady();
        scenario.duration = std::time::Duration::from_secs(seconds);
        let judgement = judge(&log_of((0..seconds).map(calm)), &scenario);
        let told = judgement.doubts.iter().find(|doubt| doubt.text.contains("twice `hold` (20 s)"));
        assert_eq!(told.is_none(), enough, "{seconds} s: {}", judgement.summary);
        assert!(!judgement.summary.contains("after the trigger"), "{}", judgement.summary);
        assert_eq!(judgement.verdict == Verdict::Steady, enough);
    }
}

#[test]
fn a_collapse_without_a_fault_is_not_steady() {
    let stays = |second| if second < 120 { calm(second) } else { degraded(second, 0, 500) };
    assert_eq!(judge(&log_of((0..240).map(stays)), &steady()).verdict, Verdict::Metastable);
    let dips =
        |second| if (120..130).contains(&second) { degraded(second, 0, 500) } else { calm(second) };
    let judgement = judge(&log_of((0..240).map(dips)), &steady());
    assert_eq!(judgement.verdict, Verdict::Recovered, "{judgement:#?}");
}

#[test]
fn a_load_spike_is_a_trigger() {
    let mut scenario = steady();
    let rate = |per_second| goodput_clock::Rate::new(per_second).unwrap();
    let change = |at, per_second| goodput_scenario::RateChange {
        at: Timestamp::from_secs(at),
        rate: rate(per_second),
        over: std::time::Duration::ZERO,
        length: None,
    };
    scenario.load.changes = vec![change(60, 200.0), change(80, 80.0)];
    let judgement = judge(&log(|second| degraded(second, 0, 600)), &scenario);
    let trigger = judgement.trigger.unwrap();
    assert_eq!((trigger.from, trigger.to), (60.0, 80.0));
    scenario.load.changes.pop();
    assert_eq!(judge(&log(calm), &scenario).trigger, None);
}

#[test]
fn the_client_alone_can_be_judged() {
    let blind = |mut log: RunLog| {
        log.windows.iter_mut().for_each(|window| window.tiers.clear());
        judge(&log, &faulted())
    };
    assert_eq!(blind(log(recovering)).verdict, Verdict::Recovered);
    assert_eq!(blind(log(|second| degraded(second, 0, 1_600))).verdict, Verdict::Metastable);
    let falling = blind(log(|second| degraded(second, 0, 5_000 - (second - 80) * 20)));
    assert_eq!(falling.verdict, Verdict::SlowRecovery, "{falling:#?}");
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
}

#[test]
fn figures_at_their_limits_raise_no_doubt() {
    let mut log = log(recovering);
    log.integrity.scheduled = log.integrity.offered + 96;
    log.integrity.send_lag_p99_wall = 0.5;
    log.integrity.unsent = 96;
    assert_eq!(judge(&log, &faulted()).doubts, vec![]);
}

#[test]
fn a_fault_that_changes_nothing_did_not_bite() {
    let judgement = judge(&log_of((0..240).map(calm)), &faulted());
    assert_eq!(only_doubt(&judgement), DoubtKind::FaultDidNotBite);
    // A cut that is absorbed shows in the gauge, or without a server's view in the latency.
    let absorbed = |gauge: bool| {
        judge(
            &log_of((0..240).map(|second| {
                let mut window = calm(second);
                if (60..80).contains(&second) && gauge {
                    window.tiers[0].capacity = Some(90.0);
                } else if (60..80).contains(&second) {
                    window.client.latency.p50 = 0.3;
                }
                window.tiers.truncate(usize::from(gauge));
                window
            })),
            &faulted(),
        )
    };
    assert_eq!(absorbed(true).verdict, Verdict::Recovered);
    assert_eq!(absorbed(false).verdict, Verdict::Recovered);
}

#[test]
fn an_unhealthy_baseline_is_inconclusive() {
    let mut log = log(recovering);
    log.windows[..60].iter_mut().for_each(|window| window.client.good = 70);
    assert_eq!(only_doubt(&judge(&log, &faulted())), DoubtKind::BaselineNotHealthy);
    log.windows[..48].iter_mut().for_each(|window| window.client.good = 80);
    assert_eq!(only_doubt(&judge(&log, &faulted())), DoubtKind::BaselineNotHealthy);
    // The warm-up does not count.
    log.windows[..60].iter_mut().for_each(|window| window.client.good = 80);
    log.windows[..5].iter_mut().for_each(|window| window.client.good = 0);
    assert_eq!(judge(&log, &faulted()).verdict, Verdict::Recovered);
}

#[test]
fn too_few_requests_or_seconds_are_inconclusive() {
    let few = |second: u64| {
        let mut window = if second < 80 { degraded(second, 0, 5) } else { calm(second) };
        (window.client.offered, window.client.good) = (1, u64::from(!(60..80).contains(&second)));
        if (60..80).contains(&second) {
            window.tiers[0].capacity = Some(40.0);
        }
        window
    };
    let judgement = judge(&log_of((0..240).map(few)), &faulted());
    assert_eq!(only_doubt(&judgement), DoubtKind::TooFewSamples);
    let mut short = faulted();
    short.duration = std::time::Duration::from_secs(85);
    let judgement = judge(&log(recovering), &short);
    assert_eq!(only_doubt(&judgement), DoubtKind::TooFewSamples);
    short.duration = std::time::Duration::from_secs(95);
    let judgement = judge(&log(|second| degraded(second, 0, 600)), &short);
    assert_eq!(only_doubt(&judgement), DoubtKind::TooFewSamples);
}

#[test]
fn other_causes_than_the_system_itself_are_inconclusive() {
    let down = |change: fn(&mut Window)| {
        let window = move |second| {
            let mut window = degraded(second, 10, 600);
            change(&mut window);
            window
        };
        only_doubt(&judge(&log(window), &faulted()))
    };
    let share = |window: &mut Window| window.tiers[0].admitted = Some(0.2);
    assert_eq!(down(share), DoubtKind::LeverInForce);
    assert_eq!(down(|window| window.client.offered = 120), DoubtKind::LoadNotAsBefore);
    assert_eq!(down(|w| w.tiers[0].capacity = Some(40.0)), DoubtKind::CapacityNotRestored);
    assert_eq!(down(|window| window.tiers[0].slots = 4), DoubtKind::CapacityNotRestored);
}

#[test]
fn a_rate_that_a_lever_lowered_is_judged_by_its_own_offered_load() {
    let lowered = |second: u64| {
        let mut window = calm(second);
        (window.client.offered, window.client.good) = (20, 20);
        window
    };
    let judgement = judge(&log(lowered), &faulted());
    assert_eq!(judgement.verdict, Verdict::Recovered, "{judgement:#?}");
}

#[test]
fn a_fault_that_was_seen_to_end_late_counts_from_there() {
    let mut log = log(|second| if second < 100 { degraded(second, 0, 900) } else { calm(second) });
    let ended = |second| {
        let (name, tier) = (faulted().faults[0].name.clone(), "order-status".to_owned());
        event(second, EventKind::FaultEnded { name, tier })
    };
    log.events = vec![ended(82)];
    assert_eq!(judge(&log, &faulted()).time_to_recover, Some(20.0));
    log.events = vec![ended(95)];
    assert_eq!(judge(&log, &faulted()).time_to_recover, Some(5.0));
}

#[test]
fn nothing_offered_gives_no_nan_and_no_verdict() {
    let empty = |second| Window { second, ..Window::default() };
    for log in [log_of((0..240).map(empty)), log_of(std::iter::empty())] {
        for scenario in [faulted(), steady()] {
            let judgement = judge(&log, &scenario);
            assert_eq!(judgement.verdict, Verdict::Inconclusive);
            let json = serde_json::to_string(&judgement).unwrap();
            assert_eq!(serde_json::from_str::<Judgement>(&json).unwrap(), judgement);
        }
    }
}

/// 80/s Poisson against ten slots of 100 ms, as a queue without faults, over 1,000 seeds.
#[test]
fn poisson_noise_never_fails_a_healthy_run() {
    let scenario = steady();
    for seed in 0..1_000 {
        let mut random = Seed(seed).stream("healthy run");
        let mut windows: Vec<Window> =
            (0..240).map(|second| Window { second, ..Window::default() }).collect();
        let mut slots = [0.0_f64; 10];
        let mut now = 0.0;
        loop {
            now += random.exponential() / 80.0;
            let Some(window) = windows.get_mut(now as usize) else { break };
            window.client.offered += 1;
            let slot = slots.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
            *slot = slot.max(now) + 0.1;
            let wait = *slot - now;
            if let Some(window) = windows.get_mut(*slot as usize) {
                window.client.good += u64::from(wait < 5.0);
            }
        }
        let judgement = judge(&log_of(windows.into_iter()), &scenario);
        assert_eq!(judgement.verdict, Verdict::Steady, "seed {seed}: {judgement:#?}");
    }
}
