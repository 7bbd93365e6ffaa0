//! What a change of speed does to work that has begun.

use super::*;

const CHARGES: [Charge; 2] = [Charge::ServiceStart, Charge::Admission];

fn speed(speed: f64) -> Effect {
    Effect { speed, ..Effect::NONE }
}

fn stalled(speed: f64) -> Effect {
    Effect { speed, stalled: true, ..Effect::NONE }
}

/// One slot that serves in 10 ms, with so many requests at the start.
fn with_requests(charge: Charge, requests: u32) -> Limiter<u32> {
    let mut limiter = limiter(LimiterConfig { charge, ..config(1) });
    for payload in 0..requests {
        accepted(arrive(&mut limiter, 0, payload));
    }
    limiter
}

#[test]
fn what_is_left_of_a_service_goes_on_at_the_speed_in_force() {
    for charge in CHARGES {
        let mut limiter = with_requests(charge, 4);
        limiter.set_effect(at(5), speed(0.5));
        assert_eq!(limiter.next_wakeup(), Some((at(15), WakeReason::ServiceEnds)));
        limiter.set_effect(at(25), Effect::NONE);
        assert_eq!(limiter.next_wakeup(), Some((at(30), WakeReason::ServiceEnds)));
        limiter.advance(at(1000));
        let expected = [(0, 0, 15), (1, 15, 30), (2, 30, 40), (3, 40, 50)];
        assert_eq!(served(&mut limiter), expected, "{charge:?}");
    }
}

/// What began in the cut would take 10 s at its speed.
#[test]
fn a_deep_cut_does_not_outlive_its_fault() {
    for charge in CHARGES {
        let mut limiter = with_requests(charge, 0);
        limiter.set_effect(at(0), speed(0.001));
        for payload in 0..3 {
            accepted(arrive(&mut limiter, 0, payload));
        }
        limiter.set_effect(at(5_000), Effect::NONE);
        limiter.advance(at(9_000));
        let expected = [(0, 0, 5_005), (1, 5_005, 5_015), (2, 5_015, 5_025)];
        assert_eq!(served(&mut limiter), expected, "{charge:?}");
    }
}

#[test]
fn a_driver_that_comes_late_to_a_change_of_speed_has_done_what_was_due_before_it() {
    for charge in CHARGES {
        let mut limiter = with_requests(charge, 4);
        limiter.set_effect(at(25), speed(0.5));
        limiter.advance(at(1000));
        let expected = [(0, 0, 10), (1, 10, 20), (2, 20, 35), (3, 35, 55)];
        assert_eq!(served(&mut limiter), expected, "{charge:?}");
    }
}

#[test]
fn a_cut_that_changes_during_a_stall_is_felt_when_the_stall_ends() {
    for charge in CHARGES {
        let mut limiter = with_requests(charge, 2);
        limiter.set_effect(at(4), speed(0.5));
        limiter.set_effect(at(6), stalled(0.5));
        limiter.set_effect(at(100), stalled(0.25));
        accepted(arrive(&mut limiter, 150, 2));
        assert_eq!((limiter.next_wakeup(), limiter.in_service()), (None, 1));
        limiter.set_effect(at(206), speed(0.25));
        limiter.set_effect(at(210), Effect::NONE);
        limiter.advance(at(1000));
        // 4 ms, 2 ms at a half and 4 ms at a quarter are 6 of the 10 ms.
        assert_eq!(served(&mut limiter), [(0, 0, 214), (1, 214, 224), (2, 224, 234)], "{charge:?}");
    }
}

#[test]
fn a_stall_and_a_cut_that_end_together_leave_the_work_that_was_left() {
    for charge in CHARGES {
        let mut limiter = with_requests(charge, 2);
        limiter.set_effect(at(4), stalled(0.1));
        limiter.set_effect(at(1_004), Effect::NONE);
        limiter.advance(at(2000));
        assert_eq!(served(&mut limiter), [(0, 0, 1_010), (1, 1_010, 1_020)], "{charge:?}");
    }
}

/// The second slot has been taken away while it owed 30 ms; it owes as much work when it is back.
#[test]
fn reserved_time_of_a_slot_that_is_away_is_moved_too() {
    let mut limiter = limiter(LimiterConfig { charge: Charge::Admission, ..config(2) });
    for payload in 0..4 {
        accepted(arrive(&mut limiter, 0, payload));
    }
    limiter.set_effect(at(10), Effect { speed: 0.5, slots: 0.5, stalled: false });
    limiter.set_effect(at(30), Effect { slots: 0.5, ..Effect::NONE });
    limiter.set_effect(at(30), Effect::NONE);
    accepted(arrive(&mut limiter, 30, 4));
    limiter.advance(at(1000));
    let expected = [(0, 0, 30), (1, 0, 30), (2, 30, 50), (3, 30, 50), (4, 50, 70)];
    assert_eq!(served(&mut limiter), expected);
}

#[test]
fn cost_charged_at_admission_reserves_work_and_not_time() {
    let mut limiter = with_requests(Charge::Admission, 1);
    limiter.set_effect(at(0), speed(0.5));
    accepted(arrive(&mut limiter, 0, 1));
    limiter.set_effect(at(1), Effect::NONE);
    accepted(arrive(&mut limiter, 1, 2));
    assert_eq!((limiter.in_service(), limiter.queued()), (1, 2));
    assert_eq!(limiter.oldest_arrival(), Some(at(0)));
    limiter.advance(at(1000));
    let starts = completions(&mut limiter).into_iter().map(|done| match done {
        Completion::Served { started, ended, .. } => (started.elapsed(), ended.elapsed()),
        Completion::Refused { .. } | Completion::Cancelled { .. } => panic!("{done:?}"),
    });
    let micros = Duration::from_micros;
    let expected = [(0, 10_500), (10_500, 20_500), (20_500, 30_500)];
    assert!(starts.eq(expected.map(|(start, end)| (micros(start), micros(end)))));
}

#[test]
fn what_was_in_service_keeps_its_work_when_the_capacity_is_changed() {
    for charge in CHARGES {
        let mut limiter = with_requests(charge, 2);
        let capacity = Some(Capacity::Limited(Rate::new(1000.0).unwrap()));
        limiter.patch(at(5), LimiterPatch { capacity, ..LimiterPatch::default() }).unwrap();
        limiter.set_effect(at(5), speed(0.5));
        accepted(arrive(&mut limiter, 5, 2));
        limiter.advance(at(1000));
        let reserved = charge == Charge::Admission;
        let (second, third) = if reserved { (35, 37) } else { (17, 19) };
        assert_eq!(served(&mut limiter), [(0, 0, 15), (1, 15, second), (2, second, third)]);
    }
}

#[test]
fn no_speed_is_so_low_that_anything_overflows() {
    for charge in CHARGES {
        let slow = Capacity::Limited(Rate::new(1.0 / 3600.0).unwrap());
        let service = ServiceTime::Lognormal { sigma: 4.0 };
        let mut limiter = limiter(LimiterConfig { charge, capacity: slow, service, ..config(1) });
        for (payload, speeds) in (0..).zip([1e-5, 1e-10, 1e-300, f64::MIN_POSITIVE, 1e-300, 1.0]) {
            accepted(arrive(&mut limiter, u64::from(payload), payload));
            limiter.set_effect(at(u64::from(payload)), speed(speeds));
            assert!(limiter.next_wakeup().is_some_and(|(due, _)| due > at(u64::from(payload))));
        }
        assert_eq!(limiter.in_service(), 1);
    }
}

/// What happens to the tier, after so long.
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrival,
    Speed(Effect),
}

fn any_event() -> impl Strategy<Value = (Duration, Event)> {
    // Speeds spread evenly over the decades of a cut.
    let effect = (-5.0_f64..=0.0, 0.05_f64..=1.0, proptest::bool::weighted(0.2)).prop_map(
        |(exponent, slots, stalled)| Effect { speed: 10_f64.powf(exponent), slots, stalled },
    );
    let event = prop_oneof![
        3 => Just(Event::Arrival),
        1 => Just(Event::Speed(Effect::NONE)),
        2 => effect.prop_map(Event::Speed),
    ];
    (0_u64..30_000_000, event).prop_map(|(nanos, event)| (Duration::from_nanos(nanos), event))
}

/// The work that a tier does for each service that is under way between two times.
fn work_done(speeds: &[(Timestamp, f64)], started: Timestamp, ended: Timestamp) -> f64 {
    let next = speeds.iter().skip(1).map(|(from, _)| *from).chain([Timestamp::MAX]);
    speeds
        .iter()
        .zip(next)
        .map(|((from, speed), to)| {
            to.min(ended).since(started.max(*from)).as_nanos() as f64 * speed
        })
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// Whatever the faults, the speed summed up over the life of a service is the work that was drawn
    /// for it; the draws are made in the order of the payloads.
    #[test]
    fn a_service_lasts_until_its_work_is_done(
        slots in 1_u32..6, kind in 0_usize..3, admission: bool,
        events in proptest::collection::vec(any_event(), 1..80),
    ) {
        let kinds =
            [ServiceTime::Constant, ServiceTime::Exponential, ServiceTime::Lognormal { sigma: 1.0 }];
        let charge = if admission { Charge::Admission } else { Charge::ServiceStart };
        let config = LimiterConfig { charge, service: kinds[kind], ..config(slots) };
        let mean = Duration::from_millis(10 * u64::from(slots)).as_nanos() as f64;
        let mut limiter = limiter(config);
        let (mut now, mut payload) = (Timestamp::ZERO, 0);
        let mut speeds = vec![(now, 1.0)];
        for (after, event) in &events {
            now += *after;
            match event {
                Event::Arrival => {
                    accepted(limiter.arrive(now, Timestamp::MAX, payload));
                    payload += 1;
                }
                Event::Speed(effect) => {
                    limiter.set_effect(now, *effect);
                    speeds.push((now, if effect.stalled { 0.0 } else { effect.speed }));
                    if let Some((due, _)) = limiter.next_wakeup() {
                        prop_assert!(due > now, "a wake-up lies ahead");
                    }
                }
            }
        }
        limiter.set_effect(now, Effect::NONE);
        speeds.push((now, 1.0));
        limiter.advance(now + Duration::from_hours(24));

        let mut random = Seed(1).stream("service");
        let works: Vec<f64> = (0..payload).map(|_| kinds[kind].draw(&mut random) * mean).collect();
        let done = completions(&mut limiter);
        prop_assert_eq!(done.len(), works.len());
        for completion in done {
            let Completion::Served { payload, started, ended, .. } = completion else {
                panic!("{completion:?}");
            };
            let (drawn, done) = (works[payload as usize], work_done(&speeds, started, ended));
            let rounding = 2.0 * speeds.len() as f64 + drawn * 1e-9;
            prop_assert!((done - drawn).abs() <= rounding, "{done} ns of {drawn}");
        }
    }
}
