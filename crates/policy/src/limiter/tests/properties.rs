//! What holds after any sequence of calls.

use super::*;

#[derive(Clone, Debug)]
enum Call {
    Advance { micros: u32 },
    Arrive { deadline: Option<u16> },
    Disconnect { job: usize },
    Effect { speed: f64, slots: f64, stalled: bool },
    Patch { slots: Option<u32>, limit: Option<u32>, lifo: Option<bool>, unlimited: Option<bool> },
    Shed,
    Restart,
}

fn any_call() -> impl Strategy<Value = Call> {
    let optional = proptest::option::of::<std::ops::Range<u32>>;
    prop_oneof![
        6 => (0_u32..60_000).prop_map(|micros| Call::Advance { micros }),
        12 => proptest::option::of(0_u16..500).prop_map(|deadline| Call::Arrive { deadline }),
        3 => (0_usize..64).prop_map(|job| Call::Disconnect { job }),
        1 => (0.05_f64..=1.0, 0.05_f64..=1.0, proptest::bool::weighted(0.3))
            .prop_map(|(speed, slots, stalled)| Call::Effect { speed, slots, stalled }),
        1 => (
            optional(1..12), optional(0..20), proptest::option::of(proptest::bool::ANY),
            proptest::option::weighted(0.2, proptest::bool::ANY),
        )
            .prop_map(|(slots, limit, lifo, unlimited)| Call::Patch { slots, limit, lifo, unlimited }),
        1 => Just(Call::Shed),
        1 => Just(Call::Restart),
    ]
}

fn any_config() -> impl Strategy<Value = LimiterConfig> {
    let services =
        [ServiceTime::Constant, ServiceTime::Exponential, ServiceTime::Lognormal { sigma: 1.0 }];
    (1_u32..12, 0_u32..20, 0_usize..3, any::<[bool; 5]>()).prop_map(
        move |(slots, limit, service, flags)| {
            let [lifo, bounded, drop_expired, cancel, admission] = flags;
            LimiterConfig {
                service: services[service],
                queue: if lifo && !admission { QueueOrder::Lifo } else { QueueOrder::Fifo },
                queue_limit: if bounded {
                    QueueLimit::Bounded(limit)
                } else {
                    QueueLimit::Unbounded
                },
                drop_expired,
                on_disconnect: if cancel { OnDisconnect::Cancel } else { OnDisconnect::Continue },
                charge: if admission { Charge::Admission } else { Charge::ServiceStart },
                ..config(slots)
            }
        },
    )
}

/// A limiter under test and what has been seen of it.
struct Watched {
    limiter: Limiter<u32>,
    now: Timestamp,
    jobs: Vec<JobId>,
    arrived: usize,
    ended: usize,
    most_slots: u32,
    longest_queue: u32,
    /// Every service that was finished, by start and end.
    services: Vec<(Timestamp, Timestamp)>,
    /// By payload, whether it has ended.
    finished: Vec<bool>,
}

impl Watched {
    fn new(config: LimiterConfig) -> Self {
        Self {
            now: Timestamp::ZERO,
            jobs: Vec::new(),
            arrived: 0,
            ended: 0,
            most_slots: config.slots,
            longest_queue: config.queue_limit.get(),
            services: Vec::new(),
            finished: Vec::new(),
            limiter: limiter(config),
        }
    }

    fn carry_out(&mut self, call: &Call) {
        let (limiter, now) = (&mut self.limiter, self.now);
        match *call {
            Call::Advance { micros } => {
                self.now = now + Duration::from_micros(u64::from(micros));
                limiter.advance(self.now);
            }
            Call::Arrive { deadline } => {
                let payload = u32::try_from(self.arrived).unwrap();
                let deadline = deadline.map(|millis| now + MILLI * u32::from(millis));
                self.arrived += 1;
                self.finished.push(false);
                match limiter.arrive(now, deadline.unwrap_or(Timestamp::MAX), payload) {
                    Admission::Accepted(job) => self.jobs.push(job),
                    Admission::Refused(payload, _) => self.end(payload),
                }
            }
            Call::Disconnect { job } => {
                if let Some(job) = self.jobs.iter().rev().nth(job) {
                    limiter.disconnect(now, *job);
                }
            }
            Call::Effect { speed, slots, stalled } => {
                limiter.set_effect(now, Effect { speed, slots, stalled });
            }
            Call::Patch { slots, limit, lifo, unlimited } => {
                let capacity = |unlimited| {
                    if unlimited { Capacity::Unlimited } else { config(1).capacity }
                };
                let patch = LimiterPatch {
                    slots,
                    queue_limit: limit.map(QueueLimit::Bounded),
                    queue: lifo.map(|lifo| if lifo { QueueOrder::Lifo } else { QueueOrder::Fifo }),
                    capacity: unlimited.map(capacity),
                    ..LimiterPatch::default()
                };
                let admission = limiter.config().charge == Charge::Admission;
                let valid = !(admission && lifo == Some(true));
                assert_eq!(limiter.patch(now, patch).is_ok(), valid);
                self.most_slots = self.most_slots.max(limiter.config().slots);
                self.longest_queue = self.longest_queue.max(limiter.config().queue_limit.get());
            }
            Call::Shed => {
                limiter.shed_queue(now);
            }
            Call::Restart => {
                limiter.restart(now);
            }
        }
        self.take_completions();
    }

    fn take_completions(&mut self) {
        while let Some(completion) = self.limiter.poll() {
            match completion {
                Completion::Served { payload, arrived, started, ended, .. } => {
                    assert!(arrived <= started && started <= ended && ended <= self.now);
                    self.services.push((started, ended));
                    self.end(payload);
                }
                Completion::Refused { payload, arrived, at, .. }
                | Completion::Cancelled { payload, arrived, at } => {
                    assert!(arrived <= at && at <= self.now);
                    self.end(payload);
                }
            }
        }
    }

    fn end(&mut self, payload: u32) {
        assert!(!std::mem::replace(&mut self.finished[payload as usize], true), "ended twice");
        self.ended += 1;
    }

    fn check(&self) {
        let limiter = &self.limiter;
        assert_eq!(self.arrived, self.ended + limiter.queued() + limiter.in_service());
        assert!(limiter.queued() <= self.longest_queue as usize);
        assert!(limiter.in_service() <= self.most_slots as usize);
        assert_eq!(limiter.oldest_arrival().is_some(), limiter.queued() > 0);
        assert!(limiter.oldest_arrival().is_none_or(|oldest| oldest <= self.now));
        if let Some((due, _)) = limiter.next_wakeup() {
            assert!(due > self.now, "a wake-up lies ahead");
        }
    }

    /// No more services overlap than there were ever slots, so that busy time ≤ slots × elapsed too.
    fn check_overlap(&self) {
        let starts = self.services.iter().map(|(started, _)| (*started, 1));
        let ends = self.services.iter().map(|(_, ended)| (*ended, -1));
        let mut steps: Vec<_> = starts.chain(ends).collect();
        steps.sort_unstable();
        let mut overlap = 0_i64;
        for (_, step) in steps {
            overlap += step;
            assert!(overlap <= i64::from(self.most_slots));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn requests_are_conserved_and_slots_never_do_two_things(
        config in any_config(), calls in proptest::collection::vec(any_call(), 1..120),
    ) {
        let mut watched = Watched::new(config);
        for call in &calls {
            watched.carry_out(call);
            watched.check();
        }
        watched.limiter.set_effect(watched.now, Effect::NONE);
        watched.now = Timestamp::from_secs(3600 * 24);
        watched.limiter.advance(watched.now);
        watched.take_completions();
        prop_assert_eq!(watched.arrived, watched.ended, "everything ends");
        watched.check_overlap();
    }
}
