use std::collections::BTreeMap;

use goodput_clock::{Seed, Timestamp};

use super::{TierSample, TierSampler};
use crate::model::{Quantiles, TierWindow};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn sample(millis: u64, served: u64) -> TierSample {
    TierSample {
        at: at(millis),
        instance: "one".to_owned(),
        received: served,
        served,
        slots: 10,
        capacity: Some(100.0),
        ..TierSample::default()
    }
}

fn drain(sampler: &mut TierSampler) -> Vec<(u64, TierWindow)> {
    std::iter::from_fn(|| sampler.next_window()).collect()
}

#[test]
fn samples_on_the_boundaries_give_their_differences() {
    let mut sampler = TierSampler::new("order-status");
    for (second, served) in [(0, 1_000), (1, 1_080), (2, 1_155), (3, 1_240)] {
        assert_eq!(sampler.push(&sample(second * 1_000, served)), None);
    }
    let served: Vec<_> = drain(&mut sampler).iter().map(|(s, w)| (*s, w.served)).collect();
    assert_eq!(served, [(0, 80), (1, 75), (2, 85)]);
}

#[test]
fn irregular_samples_are_interpolated_and_the_totals_stay_exact() {
    let mut random = Seed(5).stream("irregular samples");
    let mut sampler = TierSampler::new("order-status");
    let (mut time, mut served, mut busy, mut shed) = (0, 7, 1.5, 0);
    let mut sample_at = |time: u64, served: u64, busy: f64, shed: u64| {
        let refused = BTreeMap::from([("queue-full".to_owned(), shed)]);
        let busy = TierSample { busy_useful: busy, refused, ..sample(time, served) };
        assert_eq!(sampler.push(&busy), None);
    };
    sample_at(time, served, busy, shed);
    while time < 60_000 {
        time += 200 + random.below(2_500);
        served += random.below(300);
        busy += random.uniform() * 10.0;
        shed += random.below(4);
        sample_at(time, served, busy, shed);
    }
    let windows = sampler.finish(time / 1_000 + 1);
    assert!(windows.iter().map(|(second, _)| *second).eq(0..=time / 1_000));
    let total: u64 = windows.iter().map(|(_, window)| window.served).sum();
    assert_eq!(total, served - 7);
    let refused: u64 = windows.iter().flat_map(|(_, window)| window.refused.values()).sum();
    assert_eq!(refused, shed);
    let total: f64 = windows.iter().map(|(_, window)| window.busy_useful).sum();
    assert!((total - (busy - 1.5)).abs() < 1e-6);
}

#[test]
fn a_sample_between_two_boundaries_is_shared_by_time() {
    let mut sampler = TierSampler::new("order-status");
    sampler.push(&sample(500, 0));
    sampler.push(&sample(2_500, 200));
    let windows = drain(&mut sampler);
    // 0.5 s of the first window are covered, and all of the second.
    assert_eq!(windows.iter().map(|(_, w)| w.served).collect::<Vec<_>>(), [50, 100]);
    assert!((windows[0].1.sample_gap - 2.0).abs() < 1e-9);
}

#[test]
fn a_changed_instance_and_a_counter_that_goes_back_are_restarts() {
    let mut sampler = TierSampler::new("order-status");
    sampler.push(&sample(0, 500));
    sampler.push(&sample(1_000, 600));
    let other = TierSample { instance: "two".to_owned(), ..sample(2_000, 30) };
    let restarted = sampler.push(&other).expect("a restart");
    assert_eq!((restarted.tier.as_str(), restarted.seen), ("order-status", at(2_000)));
    let back = TierSample { instance: "two".to_owned(), ..sample(3_000, 20) };
    assert!(sampler.push(&back).is_some());
    let on = TierSample { instance: "two".to_owned(), ..sample(4_000, 60) };
    assert_eq!(sampler.push(&on), None);
    let served: Vec<_> = drain(&mut sampler).iter().map(|(_, w)| w.served).collect();
    assert_eq!(served, [100, 30, 20, 40]);
}

#[test]
fn what_was_counted_before_the_run_is_left_out() {
    let mut sampler = TierSampler::new("order-status");
    sampler.push(&sample(0, 100));
    sampler.push(&sample(0, 150));
    sampler.push(&sample(1_000, 230));
    assert_eq!(drain(&mut sampler)[0].1.served, 80);
}

#[test]
fn a_stale_sample_changes_nothing() {
    let mut sampler = TierSampler::new("order-status");
    sampler.push(&sample(0, 0));
    sampler.push(&sample(1_500, 150));
    assert_eq!(sampler.push(&sample(1_400, 150)), None);
    sampler.push(&sample(2_000, 200));
    let served: Vec<_> = drain(&mut sampler).iter().map(|(_, w)| w.served).collect();
    assert_eq!(served, [100, 100]);
}

#[test]
fn quantiles_come_from_what_the_window_added() {
    let mut sampler = TierSampler::new("order-status");
    let with = |millis, served, queue_delay: &[(f64, u64)]| TierSample {
        queue_delay: queue_delay.to_vec(),
        ..sample(millis, served)
    };
    sampler.push(&with(0, 100, &[(0.001, 100)]));
    sampler.push(&with(1_000, 200, &[(0.001, 140), (0.5, 58), (2.0, 2)]));
    sampler.push(&with(2_000, 200, &[(0.001, 140), (0.5, 58), (2.0, 2)]));
    let windows = drain(&mut sampler);
    let expected = Quantiles { count: 100, p50: 0.5, p99: 2.0, max: 2.0 };
    assert_eq!(windows[0].1.queue_delay, expected);
    assert_eq!(windows[1].1.queue_delay, Quantiles::default());
}

#[test]
fn delays_are_counted_once_over_irregular_samples() {
    let mut random = Seed(6).stream("irregular delays");
    let mut sampler = TierSampler::new("order-status");
    let mut counts = [0_u64; 5];
    let mut time = 0;
    while time < 40_000 {
        let queue_delay = counts.iter().enumerate().map(|(i, n)| (i as f64 * 0.1, *n)).collect();
        sampler.push(&TierSample { queue_delay, ..sample(time, counts.iter().sum()) });
        time += 100 + random.below(1_900);
        for count in &mut counts {
            *count += random.below(50);
        }
    }
    let served: u64 = counts.iter().sum();
    let queue_delay = counts.iter().enumerate().map(|(i, n)| (i as f64 * 0.1, *n)).collect();
    sampler.push(&TierSample { queue_delay, ..sample(time, served) });
    let windows = sampler.finish(time / 1_000 + 1);
    assert_eq!(windows.iter().map(|(_, w)| w.queue_delay.count).sum::<u64>(), served);
    assert_eq!(windows.iter().map(|(_, w)| w.served).sum::<u64>(), served);
}

#[test]
fn gauges_move_in_between_and_capacity_jumps() {
    let mut sampler = TierSampler::new("order-status");
    let before = TierSample { queued: 100, oldest_age: 1.0, ..sample(750, 0) };
    let after =
        TierSample { queued: 200, oldest_age: 2.0, capacity: Some(40.0), ..sample(1_750, 0) };
    sampler.push(&before);
    sampler.push(&after);
    let (_, window) = sampler.next_window().expect("a window");
    assert_eq!((window.queued, window.capacity), (125, Some(100.0)));
    assert!((window.oldest_age - 1.25).abs() < 1e-9);
}

#[test]
fn without_a_sample_there_are_no_windows_and_garbage_stays_finite() {
    assert_eq!(TierSampler::new("order-status").finish(10), vec![]);
    let mut sampler = TierSampler::new("order-status");
    let garbage = TierSample {
        busy_useful: f64::NAN,
        busy_wasted: -1.0,
        oldest_age: f64::INFINITY,
        queue_delay: vec![(f64::NAN, 3), (-2.0, 1)],
        capacity: Some(f64::NAN),
        received: u64::MAX,
        ..sample(0, u64::MAX)
    };
    sampler.push(&garbage);
    sampler.push(&TierSample { at: at(3_000), ..garbage });
    for (_, window) in sampler.finish(5) {
        let sum = window.busy_useful + window.busy_wasted + window.oldest_age;
        assert!(sum.is_finite() && window.capacity.is_some_and(f64::is_finite));
    }
}
