use std::time::Duration;

use goodput_clock::{Rate, Seed};
use proptest::prelude::*;

use super::*;

const MILLI: Duration = Duration::from_millis(1);

/// One slot that serves in 10 ms, or ten that serve in 100 ms.
fn config(slots: u32) -> LimiterConfig {
    let capacity = Capacity::Limited(Rate::new(100.0).unwrap());
    LimiterConfig { slots, capacity, ..LimiterConfig::default() }
}

fn limiter(config: LimiterConfig) -> Limiter<u32> {
    Limiter::new(config, Seed(1).stream("service"))
}

fn at(millis: u64) -> Timestamp {
    Timestamp::ZERO + MILLI * u32::try_from(millis).unwrap()
}

fn arrive(limiter: &mut Limiter<u32>, millis: u64, payload: u32) -> Admission<u32> {
    limiter.arrive(at(millis), Timestamp::MAX, payload)
}

fn accepted(admission: Admission<u32>) -> JobId {
    match admission {
        Admission::Accepted(job) => job,
        Admission::Refused(_, refusal) => panic!("refused: {refusal:?}"),
    }
}

fn completions(limiter: &mut Limiter<u32>) -> Vec<Completion<u32>> {
    std::iter::from_fn(|| limiter.poll()).collect()
}

/// What was served, with the times in milliseconds of start and end.
fn served(limiter: &mut Limiter<u32>) -> Vec<(u32, u128, u128)> {
    completions(limiter)
        .into_iter()
        .map(|completion| match completion {
            Completion::Served { payload, started, ended, .. } => {
                (payload, started.elapsed().as_millis(), ended.elapsed().as_millis())
            }
            Completion::Refused { .. } | Completion::Cancelled { .. } => panic!("{completion:?}"),
        })
        .collect()
}

#[test]
fn a_driver_that_is_late_by_any_amount_does_not_lower_capacity() {
    for (slots, charge) in
        [(10, Charge::ServiceStart), (1, Charge::ServiceStart), (10, Charge::Admission)]
    {
        let mut limiter = limiter(LimiterConfig { charge, ..config(slots) });
        let mut random = Seed(2).stream("lateness");
        for payload in 0..20_000 {
            accepted(arrive(&mut limiter, 0, payload));
        }
        let mut count = 0;
        while let Some((due, _)) = limiter.next_wakeup().filter(|(due, _)| *due <= at(100_000)) {
            limiter.advance(due + random.between(Duration::ZERO, 300 * MILLI));
            let in_time = |done: &Completion<u32>| matches!(done, Completion::Served { ended, .. } if *ended <= at(100_000));
            count += completions(&mut limiter).iter().filter(|done| in_time(done)).count();
        }
        assert_eq!(count, 10_000, "{slots} slots, {charge:?}: 100/s for 100 s");
    }
}

#[test]
fn the_mean_of_random_service_times_is_slots_over_capacity() {
    for service in [ServiceTime::Exponential, ServiceTime::Lognormal { sigma: 1.0 }] {
        let mut limiter = limiter(LimiterConfig { service, ..config(10) });
        for payload in 0..40_000 {
            accepted(arrive(&mut limiter, 0, payload));
        }
        limiter.advance(at(300_000));
        let throughput = completions(&mut limiter).len() as f64 / 300.0;
        assert!((throughput / 100.0 - 1.0).abs() < 0.02, "{service:?}: {throughput}");
    }
}

#[test]
fn fifo_serves_the_oldest_first_and_lifo_the_newest() {
    for (queue, order) in [(QueueOrder::Fifo, [0, 1, 2, 3]), (QueueOrder::Lifo, [0, 3, 2, 1])] {
        let mut limiter = limiter(LimiterConfig { queue, ..config(1) });
        for payload in 0..4 {
            accepted(arrive(&mut limiter, u64::from(payload), payload));
        }
        assert_eq!((limiter.in_service(), limiter.queued()), (1, 3));
        assert_eq!(limiter.oldest_arrival(), Some(at(1)));
        limiter.advance(at(1000));
        let payloads: Vec<_> =
            served(&mut limiter).into_iter().map(|(payload, ..)| payload).collect();
        assert_eq!(payloads, order);
    }
}

#[test]
fn a_bounded_queue_refuses_what_does_not_fit_and_the_safety_cap_is_told_apart() {
    let mut bounded = limiter(LimiterConfig { queue_limit: QueueLimit::Bounded(2), ..config(1) });
    for payload in 0..3 {
        accepted(arrive(&mut bounded, 0, payload));
    }
    assert_eq!(arrive(&mut bounded, 9, 3), Admission::Refused(3, Refusal::QueueFull));
    accepted(arrive(&mut bounded, 10, 4));
    let mut none = limiter(LimiterConfig { queue_limit: QueueLimit::Bounded(0), ..config(1) });
    accepted(arrive(&mut none, 0, 0));
    assert_eq!(arrive(&mut none, 9, 1), Admission::Refused(1, Refusal::QueueFull));
    accepted(arrive(&mut none, 10, 2));
    let mut unbounded = limiter(config(1));
    for payload in 0..=QueueLimit::SAFETY_CAP {
        accepted(arrive(&mut unbounded, 0, payload));
    }
    assert_eq!(arrive(&mut unbounded, 0, 7), Admission::Refused(7, Refusal::SafetyCap));
}

/// Two jobs of 10 ms at one slot: the second would be finished 20 ms after its arrival.
#[test]
fn expired_work_is_dropped_with_the_margin_before_and_without_it_at_its_deadline() {
    for (margin, deadline, dropped) in [
        (None, 29, true),
        (None, 30, false),
        (Some(Duration::ZERO), 19, true),
        (Some(Duration::ZERO), 20, false),
        (Some(5 * MILLI), 24, true),
    ] {
        let expiring = LimiterConfig { drop_expired: true, expiry_margin: margin, ..config(1) };
        let mut limiter = limiter(expiring);
        accepted(arrive(&mut limiter, 0, 0));
        accepted(limiter.arrive(at(0), at(deadline), 1));
        limiter.advance(at(100));
        let last = completions(&mut limiter).pop().unwrap();
        let expired = Completion::Refused {
            payload: 1,
            arrived: at(0),
            at: at(10),
            reason: Refusal::Expired,
        };
        assert_eq!(last == expired, dropped, "{margin:?}, {deadline}: {last:?}");
    }
}

#[test]
fn what_cannot_be_finished_in_time_is_refused_on_arrival_at_a_free_slot() {
    let mut limiter = limiter(LimiterConfig { drop_expired: true, ..config(1) });
    assert_eq!(limiter.arrive(at(0), at(19), 0), Admission::Refused(0, Refusal::Expired));
    accepted(limiter.arrive(at(0), at(20), 1));
}

#[test]
fn abandoned_work_goes_on_and_is_wasted_unless_it_is_cancelled() {
    for on_disconnect in [OnDisconnect::Continue, OnDisconnect::Cancel] {
        let mut limiter = limiter(LimiterConfig { on_disconnect, ..config(1) });
        let serving = accepted(arrive(&mut limiter, 0, 0));
        let waiting = accepted(arrive(&mut limiter, 0, 1));
        limiter.disconnect(at(5), serving);
        limiter.disconnect(at(5), waiting);
        limiter.disconnect(at(6), waiting);
        limiter.advance(at(100));
        let wasted = |payload, started, ended| Completion::Served {
            payload,
            arrived: at(0),
            started: at(started),
            ended: at(ended),
            wasted: true,
        };
        let expected = match on_disconnect {
            OnDisconnect::Continue => vec![wasted(0, 0, 10), wasted(1, 10, 20)],
            OnDisconnect::Cancel => {
                let cancelled = Completion::Cancelled { payload: 1, arrived: at(0), at: at(5) };
                vec![cancelled, wasted(0, 0, 10)]
            }
        };
        assert_eq!(completions(&mut limiter), expected);
    }
}

#[test]
fn an_answer_after_its_deadline_is_wasted() {
    let mut limiter = limiter(config(1));
    accepted(limiter.arrive(at(0), at(10), 0));
    accepted(limiter.arrive(at(0), at(19), 1));
    limiter.advance(at(100));
    let wasted = completions(&mut limiter)
        .iter()
        .map(|done| matches!(done, Completion::Served { wasted: true, .. }))
        .collect::<Vec<_>>();
    assert_eq!(wasted, [false, true]);
}

#[test]
fn a_stall_freezes_what_is_in_service_and_starts_nothing() {
    for charge in [Charge::ServiceStart, Charge::Admission] {
        let mut limiter = limiter(LimiterConfig { charge, ..config(1) });
        accepted(arrive(&mut limiter, 0, 0));
        accepted(arrive(&mut limiter, 0, 1));
        let stall = Effect { stalled: true, ..Effect::NONE };
        limiter.set_effect(at(4), stall);
        limiter.set_effect(at(5), stall);
        accepted(arrive(&mut limiter, 500, 2));
        limiter.advance(at(1000));
        assert_eq!((limiter.next_wakeup(), limiter.poll()), (None, None));
        assert_eq!(limiter.capacity().to_bits(), 0.0_f64.to_bits());
        assert_eq!((limiter.in_service(), limiter.queued()), (1, 2));
        assert_eq!(limiter.oldest_arrival(), Some(at(0)));
        limiter.set_effect(at(1004), Effect::NONE);
        limiter.advance(at(2000));
        assert_eq!(
            served(&mut limiter),
            [(0, 0, 1010), (1, 1010, 1020), (2, 1020, 1030)],
            "{charge:?}"
        );
    }
}

#[test]
fn a_slots_fault_takes_slots_away_as_they_become_free_and_gives_them_back_at_once() {
    let mut limiter = limiter(config(10));
    for payload in 0..50 {
        accepted(arrive(&mut limiter, 0, payload));
    }
    limiter.set_effect(at(50), Effect { slots: 0.4, ..Effect::NONE });
    assert_eq!((limiter.slots(), limiter.in_service()), (4, 10));
    limiter.advance(at(150));
    assert_eq!(limiter.in_service(), 4);
    assert!((limiter.capacity() - 40.0).abs() < 1e-9);
    limiter.set_effect(at(150), Effect::NONE);
    assert_eq!(limiter.in_service(), 10);
    limiter.set_effect(at(150), Effect { slots: 0.01, ..Effect::NONE });
    assert_eq!(limiter.slots(), 1, "one slot at least stays");
}

#[test]
fn shedding_refuses_the_queue_and_leaves_what_is_in_service() {
    for charge in [Charge::ServiceStart, Charge::Admission] {
        let mut limiter = limiter(LimiterConfig { charge, ..config(1) });
        for payload in 0..4 {
            accepted(arrive(&mut limiter, 0, payload));
        }
        assert_eq!(limiter.shed_queue(at(5)), 3);
        let shed = completions(&mut limiter);
        assert!(shed.iter().all(|done| matches!(
            done,
            Completion::Refused { reason: Refusal::Shed, at: when, .. } if *when == at(5)
        )));
        assert_eq!((shed.len(), limiter.queued(), limiter.in_service()), (3, 0, 1));
        accepted(arrive(&mut limiter, 6, 9));
        limiter.advance(at(100));
        assert_eq!(served(&mut limiter), [(0, 0, 10), (9, 10, 20)], "its time is given back");
    }
}

#[test]
fn a_restart_drops_everything_and_serves_on_at_once() {
    for charge in [Charge::ServiceStart, Charge::Admission] {
        let mut limiter = limiter(LimiterConfig { charge, ..config(1) });
        for payload in 0..4 {
            accepted(arrive(&mut limiter, 0, payload));
        }
        assert_eq!(limiter.restart(at(5)), 4);
        assert_eq!(completions(&mut limiter).len(), 4);
        assert_eq!((limiter.queued(), limiter.in_service(), limiter.next_wakeup()), (0, 0, None));
        accepted(arrive(&mut limiter, 6, 9));
        limiter.advance(at(100));
        assert_eq!(served(&mut limiter), [(9, 6, 16)]);
    }
}

#[test]
fn a_patch_acts_from_its_moment_and_an_invalid_one_changes_nothing() {
    let mut limiter = limiter(config(1));
    for payload in 0..5 {
        accepted(arrive(&mut limiter, 0, payload));
    }
    let slots = LimiterPatch { slots: Some(0), ..LimiterPatch::default() };
    assert_eq!(limiter.patch(at(1), slots).unwrap_err().key, "slots");
    assert_eq!(limiter.config(), &config(1));
    let patch = LimiterPatch {
        slots: Some(2),
        queue: Some(QueueOrder::Lifo),
        queue_limit: Some(QueueLimit::Bounded(3)),
        ..LimiterPatch::default()
    };
    limiter.patch(at(5), patch).unwrap();
    assert_eq!((limiter.in_service(), limiter.queued()), (2, 3));
    assert_eq!(arrive(&mut limiter, 5, 5), Admission::Refused(5, Refusal::QueueFull));
    let unlimited = LimiterPatch { capacity: Some(Capacity::Unlimited), ..LimiterPatch::default() };
    limiter.patch(at(6), unlimited).unwrap();
    assert_eq!((limiter.in_service(), limiter.queued()), (2, 0));
}

#[test]
fn an_unlimited_tier_serves_at_once_except_in_a_stall() {
    let mut limiter = limiter(LimiterConfig::default());
    accepted(arrive(&mut limiter, 1, 0));
    assert_eq!(served(&mut limiter), [(0, 1, 1)]);
    limiter.set_effect(at(2), Effect { stalled: true, ..Effect::NONE });
    for payload in 1..30 {
        accepted(arrive(&mut limiter, 3, payload));
    }
    assert_eq!((limiter.queued(), limiter.poll()), (29, None));
    limiter.set_effect(at(9), Effect::NONE);
    assert_eq!((limiter.queued(), served(&mut limiter).len()), (0, 29));
}

#[test]
fn a_stale_now_counts_as_the_last_one() {
    let mut limiter = limiter(config(1));
    limiter.advance(at(50));
    accepted(arrive(&mut limiter, 10, 0));
    limiter.advance(at(60));
    assert_eq!(served(&mut limiter), [(0, 50, 60)]);
}

#[test]
fn configurations_that_cannot_be_are_refused_by_their_key() {
    let broken = |change: fn(&mut LimiterConfig)| {
        let mut config = config(10);
        change(&mut config);
        config.validate().unwrap_err().key
    };
    assert_eq!(broken(|config| config.slots = 0), "slots");
    assert_eq!(broken(|config| config.slots = 1_000_001), "slots");
    let slow = Capacity::Limited(Rate::new(1e-300).unwrap());
    assert!(LimiterConfig { capacity: slow, ..config(10) }.validate().is_err());
    assert_eq!(
        broken(|config| config.service = ServiceTime::Lognormal { sigma: f64::NAN }),
        "service"
    );
    assert_eq!(broken(|config| config.expiry_margin = Some(Duration::MAX)), "expiry_margin");
    let lifo = |config: &mut LimiterConfig| {
        (config.charge, config.queue) = (Charge::Admission, QueueOrder::Lifo);
    };
    assert_eq!(broken(lifo), "queue");
}

mod properties;
mod speed;
