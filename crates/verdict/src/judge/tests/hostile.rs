//! Logs that nobody would write, and noise that every run has.

use goodput_clock::Seed;

use super::*;

/// Judges a log by several scenarios, and checks that the judgement can be written and read again.
fn judged_by_all(log: &RunLog) -> Vec<Judgement> {
    let scenarios = [
        faulted(),
        quiet(),
        lasting(faulted(), 1_000_000),
        lasting(quiet(), 1_000_000),
        system("0.001", 100, &format!("{FAULT}{WITHIN}")),
    ];
    let judge = |scenario| {
        let judgement = judge(log, scenario);
        let json = serde_json::to_string(&judgement).unwrap();
        // A figure that is none would be written as null and not be read again.
        assert_eq!(serde_json::from_str::<Judgement>(&json).unwrap(), judgement, "{json}");
        judgement
    };
    scenarios.iter().map(judge).collect()
}

#[test]
fn nothing_offered_gives_no_figure_that_is_none_and_no_verdict() {
    let empty = |second| Window { second, ..Window::default() };
    let unused = |second| Window { tiers: calm(second).tiers, ..empty(second) };
    let silent = |second| healthy(second, 0);
    let first = |second| if second == 0 { calm(0) } else { empty(second) };
    for log in [
        log_from(std::iter::empty()),
        log_from((0..240).map(empty)),
        log_from((0..240).map(unused)),
        log_from((0..240).map(silent)),
        log_from((0..240).map(first)),
    ] {
        for judgement in judged_by_all(&log) {
            assert_eq!(judgement.verdict, Verdict::Inconclusive, "{judgement:#?}");
        }
    }
}

#[test]
fn a_baseline_without_requests_is_no_measure() {
    let only_after = |second| if second < 100 { healthy(second, 0) } else { calm(second) };
    for judgement in judged_by_all(&log_from((0..240).map(only_after))) {
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{judgement:#?}");
        assert!(judgement.doubts.iter().any(|doubt| doubt.kind == DoubtKind::TooFewSamples));
    }
}

#[test]
fn nothing_offered_after_the_trigger_is_no_recovery() {
    let judgement = after_cut(|second| if second == 80 { calm(80) } else { healthy(second, 0) });
    assert_eq!(judgement.verdict, Verdict::Inconclusive, "{judgement:#?}");
}

#[test]
fn a_single_window_at_the_end_of_days_is_judged_at_once() {
    for window in [calm(999_999), degraded(999_999, 72, 9), Window::default()] {
        let window = Window { second: 999_999, ..window };
        judged_by_all(&log_from(std::iter::once(window.clone())));
        // After a healthy day, so that there is a baseline for it.
        let before = (0..240).map(cut_then(calm));
        let log = log_from(before.chain([window]));
        for judgement in judged_by_all(&log) {
            assert_ne!(judgement.verdict, Verdict::Metastable, "{judgement:#?}");
        }
    }
}

#[test]
fn the_largest_counts_and_figures_are_judged() {
    let most = RunLog::COUNT_MAX;
    let classes = || (0..RunLog::OUTCOMES_MAX).map(|n| (format!("class {n}"), most)).collect();
    let quantiles = Quantiles { count: most, p50: 1e200, p99: 1e200, max: 1e200 };
    let full = |second| {
        let mut window = degraded(second, 0, most);
        window.client = ClientWindow {
            offered: most,
            good: most,
            late: most,
            failed: classes(),
            unsent: most,
            attempts: most,
            retries: most,
            attempts_failed: classes(),
            suppressed: classes(),
            attempts_in_flight: most,
            outcomes: classes(),
            cohort: Cohort {
                arrived: most,
                good: most / 2,
                failed: most / 2,
                turned_away: most / 2,
            },
            requests_in_flight: most,
            connections: most,
            connects: most,
            latency: quantiles,
            send_lag: quantiles,
        };
        let tier = &mut window.tiers[0];
        (tier.received, tier.served, tier.cancelled, tier.errors) = (most, most, most, most);
        (tier.queued, tier.in_service, tier.slots) = (most, most, u32::MAX);
        (tier.busy_useful, tier.busy_wasted) = (1e200, 1e200);
        tier.refused = classes();
        (tier.queue_delay, tier.capacity) = (quantiles, Some(1e200));
        window
    };
    judged_by_all(&log_from((0..240).map(full)));
    judged_by_all(&log_from((0..240).map(|s| if s < 80 { calm(s) } else { full(s) })));
    judged_by_all(&log_from((0..240).map(|s| if s < 80 { full(s) } else { stuck(s) })));
    judged_by_all(&log_from((0..240).map(|s| if s % 2 == 0 { full(s) } else { healthy(s, 0) })));
}

#[test]
fn a_run_of_days_by_a_hair_below_its_band_is_judged() {
    // No span of the tail claims it to be down, however wide it is.
    let scenario = lasting(faulted(), 200_000);
    let judgement = run(&scenario, |second| {
        if second < 80 {
            return cut_then(calm)(second);
        }
        let mut window = healthy(second, 1_000_000);
        spoil(&mut window, 949_999, ("timeout", "timeout"));
        window
    });
    assert_verdict(&judgement, Verdict::Inconclusive, None);
    assert_eq!((judgement.time_to_recover, judgement.run_longer), (None, Some(199_920.0)));
}

#[test]
fn cohorts_that_contradict_themselves_are_judged() {
    let odd = |second| {
        let mut window = calm(second);
        window.client.cohort = Cohort { arrived: 5, good: 80, failed: 80, turned_away: 90 };
        window.tiers[0].admitted = Some(0.5);
        window
    };
    judged_by_all(&log_from((0..240).map(odd)));
}

#[test]
fn tiers_that_come_and_go_are_judged() {
    let tiers = |second: u64| {
        let mut window = stuck(second);
        let tier = window.tiers[0].clone();
        window.tiers = vec![tier; (second % 3) as usize];
        window
    };
    for judgement in judged_by_all(&log_from((0..240).map(tiers))) {
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{judgement:#?}");
    }
}

/// 80/s Poisson against ten slots of 100 ms, as a queue without faults, over 1,000 seeds.
#[test]
fn poisson_noise_never_fails_a_healthy_run() {
    for seed in 0..1_000 {
        assert_verdict(&judge(&BUSY.log(seed), &quiet()), Verdict::Steady, None);
    }
}

/// The same with a fault that its tier shows and nobody notices.
#[test]
fn poisson_noise_never_fails_a_run_whose_trigger_is_absorbed() {
    for seed in 0..1_000 {
        let mut log = BUSY.log(seed);
        for window in &mut log.windows[60..80] {
            window.tiers[0].capacity = Some(90.0);
        }
        let judgement = judge(&log, &faulted());
        assert_verdict(&judgement, Verdict::Recovered, None);
        assert_eq!(judgement.time_to_recover, Some(0.0), "seed {seed}");
    }
}

/// 7/s Poisson against one slot of 100 ms whose callers give up after 500 ms: now and then some do, for as
/// long as a busy period of the queue lasts.
#[test]
fn a_run_whose_callers_now_and_then_give_up_is_no_failure() {
    let mut scenario = system("7", 0, STEADY);
    scenario.client.layers[0].timeout = Some(Duration::from_millis(500));
    let mut steady = 0;
    for seed in 0..1_000 {
        let judgement = judge(&IMPATIENT.log(seed), &scenario);
        if judgement.verdict == Verdict::Steady {
            steady += 1;
        } else if judgement.verdict != Verdict::Inconclusive {
            assert_verdict(&judgement, Verdict::Unstable, None);
            assert!(!judgement.stretches.is_empty(), "seed {seed}: {judgement:#?}");
        }
    }
    assert!(steady > 600, "{steady} of 1000");
}

/// A queue of Poisson arrivals before slots of equal speed.
struct Queue {
    rate: f64,
    slots: usize,
    service: f64,
    timeout: f64,
}

const BUSY: Queue = Queue { rate: 80.0, slots: 10, service: 0.1, timeout: 5.0 };
const IMPATIENT: Queue = Queue { rate: 7.0, slots: 1, service: 0.1, timeout: 0.5 };

impl Queue {
    /// A run of 240 s. Whoever is under way at its end is followed to his own.
    fn log(&self, seed: u64) -> RunLog {
        let mut random = Seed(seed).stream("healthy run");
        let mut windows: Vec<Window> = (0..240).map(|second| healthy(second, 0)).collect();
        for window in &mut windows {
            window.tiers[0].capacity = Some(self.slots as f64 / self.service);
            window.tiers[0].slots = self.slots as u32;
        }
        let mut slots = vec![0.0_f64; self.slots];
        let mut now = 0.0;
        loop {
            now += random.exponential() / self.rate;
            if now >= 240.0 {
                break;
            }
            let slot = slots.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
            let starts = slot.max(now);
            *slot = starts + self.service;
            let (ends, good) = (*slot, *slot - now < self.timeout);
            let arrival = &mut windows[now as usize];
            arrival.client.offered += 1;
            arrival.client.attempts += 1;
            arrival.client.cohort.arrived += 1;
            arrival.client.cohort.good += u64::from(good);
            arrival.client.cohort.failed += u64::from(!good);
            arrival.tiers[0].received += 1;
            if let Some(start) = windows.get_mut(starts as usize) {
                let tier = &mut start.tiers[0];
                tier.queue_delay.count += 1;
                tier.queue_delay.p50 = tier.queue_delay.p50.max(starts - now);
                *if good { &mut tier.busy_useful } else { &mut tier.busy_wasted } += self.service;
            }
            if let Some(end) = windows.get_mut(ends as usize) {
                end.client.good += u64::from(good);
                end.tiers[0].served += 1;
            }
        }
        log_from(windows.into_iter())
    }
}
