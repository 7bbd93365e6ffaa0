//! An event loop over one client side and one tier: no network, and every caller punctual.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use goodput_clock::{Rate, Ratio, Seed, Stream, Timestamp};
use goodput_policy::attempt::{AttemptResult, FailureClass, RetryOn};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::fault::{CapacityMode, Effect, FaultKind, FaultTable};
use goodput_policy::limiter::{
    Admission, Capacity, Completion, JobId, Limiter, LimiterConfig, QueueLimit, QueueOrder, Refusal,
};
use goodput_policy::retry::{BudgetScope, Call, LayerConfig, Layers, Outcome, Step};

/// How arrivals are spread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    Constant,
    Poisson,
}

/// What is run: 80 requests a second against a capacity of 100, unless a field says otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) seed: u64,
    pub(crate) rate: f64,
    pub(crate) arrivals: Spread,
    pub(crate) slots: u32,
    pub(crate) timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) layers: usize,
    pub(crate) backoff: Duration,
    pub(crate) budget: BudgetConfig,
    pub(crate) queue: QueueOrder,
    pub(crate) queue_limit: QueueLimit,
    pub(crate) drop_expired: bool,
    pub(crate) fault: FaultKind,
    pub(crate) fault_length: f64,
    /// How many seconds after the fault a run may be called settled.
    pub(crate) patience: usize,
}

impl Model {
    pub(crate) fn headline() -> Self {
        let to = Ratio::new(0.4).unwrap();
        Self {
            seed: 0,
            rate: 80.0,
            arrivals: Spread::Constant,
            slots: 10,
            timeout: Duration::from_secs(5),
            retries: 3,
            layers: 1,
            backoff: Duration::from_secs(1),
            budget: BudgetConfig::Off,
            queue: QueueOrder::Fifo,
            queue_limit: QueueLimit::Unbounded,
            drop_expired: false,
            fault: FaultKind::Capacity { to, mode: CapacityMode::Slow },
            fault_length: 0.0,
            patience: 60,
        }
    }

    pub(crate) fn with_cut(self, seconds: f64) -> Self {
        Self { fault_length: seconds, ..self }
    }

    pub(crate) fn with_fault(self, fault: FaultKind, seconds: f64) -> Self {
        Self { fault, fault_length: seconds, ..self }
    }

    pub(crate) fn run(&self) -> Seen {
        let mut engine = Engine::new(self);
        engine.run();
        engine.seen
    }

    fn layers(&self) -> Layers {
        let layer = |index| LayerConfig {
            name: format!("layer-{index}"),
            timeout: (index + 1 == self.layers).then_some(self.timeout),
            retries: self.retries,
            backoff: Backoff { base: self.backoff, ..Backoff::default() },
            retry_on: RetryOn::default(),
            budget: self.budget,
            budget_scope: BudgetScope::Client,
        };
        Layers::new((0..self.layers).map(layer).collect(), 1, Seed(self.seed).stream("retry"))
    }

    fn limiter(&self) -> Limiter<Sent> {
        let config = LimiterConfig {
            slots: self.slots,
            capacity: Capacity::Limited(Rate::new(100.0).unwrap()),
            queue: self.queue,
            queue_limit: self.queue_limit,
            drop_expired: self.drop_expired,
            ..LimiterConfig::default()
        };
        Limiter::new(config, Seed(self.seed).stream("service"))
    }
}

/// What came of a run, by second.
#[derive(Debug)]
pub(crate) struct Seen {
    fault_ends: usize,
    patience: usize,
    offered: [f64; HORIZON + 1],
    good: [f64; HORIZON + 1],
    /// The second in which each failed request ended, and how many attempts it had made.
    failed: Vec<(usize, u32)>,
    end: usize,
}

impl Seen {
    /// Whether goodput is below half the load in the last 20 s.
    pub(crate) fn is_metastable(&self) -> bool {
        self.ratio(self.end - 20, 20) < 0.5
    }

    /// Seconds from the end of the fault to the first 10 s window with 95 % of what was good before.
    pub(crate) fn seconds_to_recover(&self) -> Option<f64> {
        let baseline = self.ratio(20, 40);
        (self.fault_ends..self.end - 10)
            .find(|start| self.ratio(*start, 10) >= 0.95 * baseline)
            .map(|start| (start - self.fault_ends) as f64)
    }

    /// Good requests per second between two times.
    pub(crate) fn goodput(&self, from: f64, to: f64) -> f64 {
        self.good[from as usize..to as usize].iter().sum::<f64>() / (to - from)
    }

    /// The fewest and the most attempts of a request that failed in the last 20 s.
    pub(crate) fn attempts_of_failed(&self) -> (u32, u32) {
        let last = self.failed.iter().filter(|(second, _)| *second + 20 >= self.end);
        last.fold((u32::MAX, 0), |(fewest, most), (_, attempts)| {
            (fewest.min(*attempts), most.max(*attempts))
        })
    }

    fn ratio(&self, start: usize, length: usize) -> f64 {
        let sum = |series: &[f64]| series[start..start + length].iter().sum::<f64>();
        sum(&self.good) / sum(&self.offered).max(1.0)
    }

    /// Whether nothing can change any more: the time is over, or, after some patience, nothing has been
    /// good for half a minute or nearly all for a minute.
    fn is_settled(&self, second: usize) -> bool {
        second >= HORIZON || {
            let lasting = || self.ratio(second - 30, 30);
            second >= self.fault_ends + self.patience
                && (lasting() < 0.001 || self.ratio(second - 60, 60) > 0.98)
        }
    }
}

/// One attempt on its way: the request, and which of its attempts it is.
type Sent = (usize, u32);

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    Arrive,
    FaultStarts,
    FaultEnds,
    Timeout { request: usize, attempt: u32 },
    Wake { request: usize },
}

struct Request {
    call: Call,
    /// The running attempt, and its job.
    attempt: Option<(u32, Option<JobId>)>,
}

struct Engine<'a> {
    model: &'a Model,
    now: Timestamp,
    events: BinaryHeap<Reverse<(Timestamp, u64, Event)>>,
    count: u64,
    arrived: u64,
    arrivals: Stream,
    requests: Vec<Option<Request>>,
    layers: Layers,
    limiter: Limiter<Sent>,
    faults: FaultTable,
    seen: Seen,
}

impl<'a> Engine<'a> {
    fn new(model: &'a Model) -> Self {
        let zeros = [0.0; HORIZON + 1];
        let fault_ends = (FAULT_STARTS as f64 + model.fault_length).ceil() as usize;
        let mut engine = Self {
            model,
            now: Timestamp::ZERO,
            events: BinaryHeap::new(),
            count: 0,
            arrived: 0,
            arrivals: Seed(model.seed).stream("arrivals"),
            requests: Vec::new(),
            layers: model.layers(),
            limiter: model.limiter(),
            faults: FaultTable::default(),
            seen: Seen {
                fault_ends,
                patience: model.patience,
                offered: zeros,
                good: zeros,
                failed: Vec::new(),
                end: HORIZON,
            },
        };
        let starts = Timestamp::from_secs(FAULT_STARTS);
        engine.at(Timestamp::ZERO, Event::Arrive);
        engine.at(starts, Event::FaultStarts);
        engine.at(starts + Duration::from_secs_f64(model.fault_length), Event::FaultEnds);
        engine
    }

    fn run(&mut self) {
        let mut second = 0;
        loop {
            let event = self.events.peek().map_or(Timestamp::MAX, |Reverse((at, ..))| *at);
            let server = self.limiter.next_wakeup().map_or(Timestamp::MAX, |(at, _)| at);
            self.now = event.min(server);
            while second < self.now.elapsed().as_secs() as usize {
                second += 1;
                if self.seen.is_settled(second) {
                    self.seen.end = second;
                    return;
                }
            }
            // At one instant a time-out comes before the answer, as in the reference's model.
            if server < event {
                self.limiter.advance(self.now);
            } else if let Some(Reverse((_, _, event))) = self.events.pop() {
                self.carry_out(event);
            }
            while let Some(completion) = self.limiter.poll() {
                self.complete(completion);
            }
        }
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Arrive => self.arrive(),
            Event::FaultStarts => {
                let lease = Duration::from_hours(1);
                self.faults.install(self.now, "fault", self.model.fault, lease).unwrap();
                self.limiter.set_effect(self.now, self.faults.effect());
            }
            Event::FaultEnds => {
                self.faults.remove("fault");
                assert_eq!(self.faults.effect(), Effect::NONE);
                self.limiter.set_effect(self.now, self.faults.effect());
            }
            Event::Timeout { request, attempt } => {
                let running = self.requests[request].as_ref().and_then(|request| request.attempt);
                if let Some((running, job)) = running
                    && running == attempt
                {
                    if let Some(job) = job {
                        self.limiter.disconnect(self.now, job);
                    }
                    self.answer(request, AttemptResult::Failure(FailureClass::Timeout));
                }
            }
            Event::Wake { request } => {
                if let Some(waiting) = &mut self.requests[request] {
                    let step = waiting.call.on_wakeup(self.now, &mut self.layers);
                    self.follow(request, step);
                }
            }
        }
    }

    fn arrive(&mut self) {
        self.arrived += 1;
        let next = match self.model.arrivals {
            Spread::Constant => Timestamp::from_secs_f64(self.arrived as f64 / self.model.rate),
            Spread::Poisson => {
                self.now + Duration::from_secs_f64(self.arrivals.exponential() / self.model.rate)
            }
        };
        self.at(next, Event::Arrive);
        *self.second(|seen| &mut seen.offered) += 1.0;
        let (call, step) = Call::begin(self.now, 0, Timestamp::MAX, &mut self.layers);
        self.requests.push(Some(Request { call, attempt: None }));
        self.follow(self.requests.len() - 1, step);
    }

    fn follow(&mut self, request: usize, step: Step) {
        match step {
            Step::Attempt { number, until, deadline } => {
                self.set_attempt(request, Some((number, None)));
                self.at(until, Event::Timeout { request, attempt: number });
                match self.limiter.arrive(self.now, deadline, (request, number)) {
                    Admission::Accepted(job) => {
                        self.set_attempt(request, Some((number, Some(job))));
                    }
                    Admission::Refused(_, refusal) => self.answer(request, refused(refusal)),
                }
            }
            Step::Wait { until } => self.at(until, Event::Wake { request }),
            Step::Done(outcome) => {
                let attempts = self.requests[request].take().map_or(0, |done| done.call.attempts());
                if outcome == Outcome::Good {
                    *self.second(|seen| &mut seen.good) += 1.0;
                } else {
                    self.seen.failed.push((self.now.elapsed().as_secs() as usize, attempts));
                }
            }
        }
    }

    fn complete(&mut self, completion: Completion<Sent>) {
        let ((request, attempt), result) = match completion {
            Completion::Served { payload, .. } => (payload, AttemptResult::Success),
            Completion::Refused { payload, reason, .. } => (payload, refused(reason)),
            Completion::Cancelled { .. } => return,
        };
        let running = self.requests[request].as_ref().and_then(|request| request.attempt);
        if running.is_some_and(|(running, _)| running == attempt) {
            self.answer(request, result);
        }
    }

    fn answer(&mut self, request: usize, result: AttemptResult) {
        if let Some(running) = &mut self.requests[request] {
            running.attempt = None;
            let step = running.call.on_result(self.now, result, &mut self.layers);
            self.follow(request, step);
        }
    }

    fn set_attempt(&mut self, request: usize, attempt: Option<(u32, Option<JobId>)>) {
        if let Some(request) = &mut self.requests[request] {
            request.attempt = attempt;
        }
    }

    fn second(&mut self, series: impl Fn(&mut Seen) -> &mut [f64; HORIZON + 1]) -> &mut f64 {
        let second = (self.now.elapsed().as_secs() as usize).min(HORIZON);
        &mut series(&mut self.seen)[second]
    }

    fn at(&mut self, at: Timestamp, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, event)));
    }
}

fn refused(refusal: Refusal) -> AttemptResult {
    AttemptResult::Failure(match refusal {
        Refusal::Expired => FailureClass::Expired,
        Refusal::Restart => FailureClass::Connect,
        Refusal::QueueFull | Refusal::SafetyCap | Refusal::Shed | Refusal::NotAdmitted => {
            FailureClass::Overloaded
        }
    })
}

/// As long as the reference's runs, in seconds.
const HORIZON: usize = 360;
const FAULT_STARTS: u64 = 60;
