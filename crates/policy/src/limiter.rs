//! The capacity limiter: slots that work in parallel, and the queue before them.
//!
//! With capacity C and `slots` slots a request holds a slot for slots / C on average. Each slot keeps
//! a virtual clock: a job that waited starts when the slot's last job ended, not when the shell got
//! round to it. Late timers therefore never lower the capacity, and the measured capacity equals the
//! configured one.
//!
//! Whoever drives a limiter calls [`Limiter::arrive`] for each request, sleeps until
//! [`Limiter::next_wakeup`], calls [`Limiter::advance`], and after each call takes the completions out
//! with [`Limiter::poll`]. `now` must not decrease; a stale `now` counts as the last one.
//!
//! Work whose caller has gone goes on unless the limiter is told to cancel it: that is what keeps a
//! metastable failure alive.

mod config;
mod reservation;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use goodput_clock::{Stream, Timestamp};
use slab::Slab;

use crate::fault::Effect;
pub use config::{
    Capacity, Charge, InvalidLimiter, LimiterConfig, LimiterPatch, OnDisconnect, QueueLimit,
    QueueOrder, ServiceTime,
};

/// Names a job of a limiter for [`Limiter::disconnect`]; never used twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct JobId {
    key: usize,
    serial: u64,
}

/// Why a request was refused, or dropped after it had waited.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Refusal {
    /// The queue was at its limit.
    QueueFull,
    /// The queue was at the cap that guards memory.
    SafetyCap,
    /// It could not have been finished within its deadline.
    Expired,
    /// A lever shed the queue.
    Shed,
    /// The edge did not admit it.
    NotAdmitted,
    /// The server was restarted.
    Restart,
}

impl Refusal {
    /// All refusals, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::QueueFull,
        Self::SafetyCap,
        Self::Expired,
        Self::Shed,
        Self::NotAdmitted,
        Self::Restart,
    ];

    /// The name on the wire and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::SafetyCap => "safety-cap",
            Self::Expired => "expired",
            Self::Shed => "shed",
            Self::NotAdmitted => "not-admitted",
            Self::Restart => "restart",
        }
    }
}

/// What became of a request that the limiter had taken in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Completion<T> {
    /// It was served.
    Served {
        /// What the request carried.
        payload: T,
        /// When it arrived.
        arrived: Timestamp,
        /// When its service started.
        started: Timestamp,
        /// When its service ended.
        ended: Timestamp,
        /// Whether the work was wasted: the caller had hung up, or its deadline had passed.
        wasted: bool,
    },
    /// It was refused after it had waited.
    Refused {
        /// What the request carried.
        payload: T,
        /// When it arrived.
        arrived: Timestamp,
        /// When it was refused.
        at: Timestamp,
        /// Why.
        reason: Refusal,
    },
    /// Its caller hung up and it left the queue.
    Cancelled {
        /// What the request carried.
        payload: T,
        /// When it arrived.
        arrived: Timestamp,
        /// When it left.
        at: Timestamp,
    },
}

/// What the limiter says to an arrival.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Admission<T> {
    /// It is served or waits; a [`Completion`] follows.
    Accepted(JobId),
    /// It is refused at once.
    Refused(T, Refusal),
}

/// Why the limiter wants to be woken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WakeReason {
    /// A job's service ends.
    ServiceEnds,
}

#[derive(Debug)]
struct Job<T> {
    payload: Option<T>,
    serial: u64,
    arrived: Timestamp,
    deadline: Timestamp,
    started: Timestamp,
    abandoned: bool,
}

/// The capacity limiter of one tier; `T` is what each request carries through it.
#[derive(Debug)]
pub struct Limiter<T> {
    config: LimiterConfig,
    effect: Effect,
    stalled_since: Option<Timestamp>,
    now: Timestamp,
    jobs: Slab<Job<T>>,
    next_serial: u64,
    /// Waiting jobs by key, oldest first. A key whose job has been cancelled stays as a tombstone.
    queue: VecDeque<(usize, u64)>,
    tombstones: usize,
    /// Jobs in service by the end of their service; with [`Charge::Admission`] reserved ones too.
    serving: BinaryHeap<Reverse<(Timestamp, u64, usize)>>,
    /// With [`Charge::Admission`]: when each slot's reserved time ends.
    reserved: BinaryHeap<Reverse<Timestamp>>,
    done: VecDeque<Completion<T>>,
    random: Stream,
}

impl<T> Limiter<T> {
    /// A limiter with nothing in it. `random` draws the service times.
    ///
    /// # Panics
    ///
    /// Where `config` does not [`validate`](LimiterConfig::validate).
    pub fn new(config: LimiterConfig, random: Stream) -> Self {
        assert!(config.validate().is_ok(), "the limiter's configuration is valid");
        Self {
            config,
            effect: Effect::NONE,
            stalled_since: None,
            now: Timestamp::ZERO,
            jobs: Slab::new(),
            next_serial: 0,
            queue: VecDeque::new(),
            tombstones: 0,
            serving: BinaryHeap::new(),
            reserved: BinaryHeap::new(),
            done: VecDeque::new(),
            random,
        }
    }

    /// A request arrives, with the deadline by when its answer is of use ([`Timestamp::MAX`] for
    /// none).
    pub fn arrive(&mut self, now: Timestamp, deadline: Timestamp, payload: T) -> Admission<T> {
        self.advance(now);
        let now = self.now;
        if self.config.capacity == Capacity::Unlimited {
            let job = self.insert(now, deadline, payload);
            self.finish(job.key, now);
            return Admission::Accepted(job);
        }
        if self.config.charge == Charge::Admission {
            return self.reserve(now, deadline, payload);
        }
        if self.has_free_slot() {
            if self.would_expire(now, deadline) {
                return Admission::Refused(payload, Refusal::Expired);
            }
            let job = self.insert(now, deadline, payload);
            self.start(job.key, now);
            return Admission::Accepted(job);
        }
        if let Some(refusal) = self.queue_refusal() {
            return Admission::Refused(payload, refusal);
        }
        let job = self.insert(now, deadline, payload);
        self.queue.push_back((job.key, job.serial));
        Admission::Accepted(job)
    }

    /// The caller of a job hangs up. Nothing happens where the job is done already.
    pub fn disconnect(&mut self, now: Timestamp, job: JobId) {
        self.advance(now);
        let Some(found) = self.jobs.get_mut(job.key).filter(|found| found.serial == job.serial)
        else {
            return;
        };
        found.abandoned = true;
        let waits = found.started == Timestamp::MAX;
        if waits && self.config.on_disconnect == OnDisconnect::Cancel {
            let at = self.now;
            self.tombstones += 1;
            if let (Some(payload), arrived) = self.take(job.key) {
                self.done.push_back(Completion::Cancelled { payload, arrived, at });
            }
            self.bury_tombstones();
        }
    }

    /// Carries out everything that is due by `now`.
    pub fn advance(&mut self, now: Timestamp) {
        self.now = self.now.max(now);
        if self.stalled_since.is_some() {
            return;
        }
        while let Some(&Reverse((ended, _, key))) = self.serving.peek() {
            if ended > self.now {
                break;
            }
            self.serving.pop();
            self.finish(key, ended);
            self.fill_slots(ended);
        }
    }

    /// When to call [`advance`](Self::advance) next, and why; none where nothing is in service or the
    /// tier is stalled.
    pub fn next_wakeup(&self) -> Option<(Timestamp, WakeReason)> {
        if self.stalled_since.is_some() {
            return None;
        }
        self.serving.peek().map(|Reverse((ended, _, _))| (*ended, WakeReason::ServiceEnds))
    }

    /// The next completion that has not been taken out yet.
    pub fn poll(&mut self) -> Option<Completion<T>> {
        self.done.pop_front()
    }

    /// Feels the faults in force from now on. What is in service goes on at its old speed, except
    /// that a stall freezes it.
    pub fn set_effect(&mut self, now: Timestamp, effect: Effect) {
        self.advance(now);
        self.effect = effect;
        match self.stalled_since {
            None if effect.stalled => self.stalled_since = Some(self.now),
            Some(since) if !effect.stalled => self.thaw(since),
            _ => {}
        }
        self.settle();
    }

    /// Changes the configuration from now on; what is in service is finished as it began.
    ///
    /// # Errors
    ///
    /// Where the result would not [`validate`](LimiterConfig::validate); then nothing changes.
    pub fn patch(&mut self, now: Timestamp, patch: LimiterPatch) -> Result<(), InvalidLimiter> {
        self.advance(now);
        self.config = self.config.patched(patch)?;
        self.settle();
        Ok(())
    }

    /// Refuses everything that waits and says how many there were.
    pub fn shed_queue(&mut self, now: Timestamp) -> usize {
        self.advance(now);
        self.refuse_queue(Refusal::Shed)
    }

    /// Drops everything, in service too, as the restart of a process does; says how many there were.
    pub fn restart(&mut self, now: Timestamp) -> usize {
        self.advance(now);
        let waiting = self.refuse_queue(Refusal::Restart);
        let serving = std::mem::take(&mut self.serving).into_sorted_vec();
        let dropped = waiting + serving.len();
        for Reverse((_, _, key)) in serving.into_iter().rev() {
            self.refuse(key, Refusal::Restart);
        }
        self.reserved.clear();
        self.settle();
        dropped
    }

    /// The configuration in force.
    pub const fn config(&self) -> &LimiterConfig {
        &self.config
    }

    /// The effect of all faults in force.
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// How many requests wait.
    pub fn queued(&self) -> usize {
        match self.config.charge {
            Charge::ServiceStart => self.queue.len() - self.tombstones,
            Charge::Admission => self.serving.len().saturating_sub(self.slots() as usize),
        }
    }

    /// How many requests hold a slot.
    pub fn in_service(&self) -> usize {
        match self.config.charge {
            Charge::ServiceStart => self.serving.len(),
            Charge::Admission => self.serving.len().min(self.slots() as usize),
        }
    }

    /// When the request arrived that has waited longest.
    pub fn oldest_arrival(&self) -> Option<Timestamp> {
        self.queue.iter().find_map(|(key, serial)| self.live(*key, *serial)).map(|job| job.arrived)
    }

    /// The slots in force, after faults.
    pub fn slots(&self) -> u32 {
        ((f64::from(self.config.slots) * self.effect.slots).round() as u32).max(1)
    }

    /// Requests per second that can be served now, after faults; infinite where unlimited.
    pub fn capacity(&self) -> f64 {
        if self.effect.stalled {
            return 0.0;
        }
        match self.config.capacity {
            Capacity::Unlimited => f64::INFINITY,
            Capacity::Limited(rate) => {
                let slots = f64::from(self.slots()) / f64::from(self.config.slots);
                rate.per_second() * slots * self.effect.speed
            }
        }
    }

    /// The mean service time at the speed of this moment; zero where unlimited.
    pub fn mean_service(&self) -> Duration {
        match self.config.capacity {
            Capacity::Unlimited => Duration::ZERO,
            Capacity::Limited(rate) => Duration::from_secs_f64(
                f64::from(self.config.slots) / rate.per_second() / self.effect.speed,
            ),
        }
    }

    fn live(&self, key: usize, serial: u64) -> Option<&Job<T>> {
        self.jobs.get(key).filter(|job| job.serial == serial)
    }

    fn has_free_slot(&self) -> bool {
        self.stalled_since.is_none() && self.serving.len() < self.slots() as usize
    }

    fn queue_refusal(&self) -> Option<Refusal> {
        if self.queued() < self.config.queue_limit.get() as usize {
            return None;
        }
        Some(match self.config.queue_limit {
            QueueLimit::Unbounded => Refusal::SafetyCap,
            QueueLimit::Bounded(_) => Refusal::QueueFull,
        })
    }

    /// Whether a service that starts at `start` is not worth starting.
    fn would_expire(&self, start: Timestamp, deadline: Timestamp) -> bool {
        if !self.config.drop_expired || deadline == Timestamp::MAX {
            return false;
        }
        let service = self.mean_service();
        let margin = self.config.expiry_margin.unwrap_or(service);
        start + service + margin > deadline
    }

    fn insert(&mut self, now: Timestamp, deadline: Timestamp, payload: T) -> JobId {
        self.next_serial += 1;
        let serial = self.next_serial;
        let key = self.jobs.insert(Job {
            payload: Some(payload),
            serial,
            arrived: now,
            deadline,
            started: Timestamp::MAX,
            abandoned: false,
        });
        JobId { key, serial }
    }

    fn take(&mut self, key: usize) -> (Option<T>, Timestamp) {
        let job = self.jobs.remove(key);
        (job.payload, job.arrived)
    }

    fn start(&mut self, key: usize, at: Timestamp) {
        let service = self.draw_service();
        self.jobs[key].started = at;
        self.serving.push(Reverse((at + service, self.jobs[key].serial, key)));
    }

    fn draw_service(&mut self) -> Duration {
        self.mean_service().mul_f64(self.config.service.draw(&mut self.random))
    }

    fn finish(&mut self, key: usize, ended: Timestamp) {
        let job = self.jobs.remove(key);
        if let Some(payload) = job.payload {
            self.done.push_back(Completion::Served {
                payload,
                arrived: job.arrived,
                started: job.started.min(ended),
                ended,
                wasted: job.abandoned || job.deadline < ended,
            });
        }
    }

    fn refuse(&mut self, key: usize, reason: Refusal) {
        let at = self.now;
        if let (Some(payload), arrived) = self.take(key) {
            self.done.push_back(Completion::Refused { payload, arrived, at, reason });
        }
    }

    /// Starts what waits while slots are free, as of `at`.
    fn fill_slots(&mut self, at: Timestamp) {
        while self.has_free_slot() {
            let next = match self.config.queue {
                QueueOrder::Fifo => self.queue.pop_front(),
                QueueOrder::Lifo => self.queue.pop_back(),
            };
            let Some((key, serial)) = next else { return };
            let Some(job) = self.live(key, serial) else {
                self.tombstones -= 1;
                continue;
            };
            let (arrived, deadline) = (job.arrived, job.deadline);
            if self.would_expire(at, deadline) {
                if let (Some(payload), _) = self.take(key) {
                    let reason = Refusal::Expired;
                    self.done.push_back(Completion::Refused { payload, arrived, at, reason });
                }
                continue;
            }
            self.start(key, at);
        }
    }

    /// Takes up what a change of configuration or faults made room for.
    fn settle(&mut self) {
        if self.config.charge == Charge::Admission {
            self.resize_reserved();
        } else {
            self.fill_slots(self.now);
        }
    }

    fn refuse_queue(&mut self, reason: Refusal) -> usize {
        let waiting = match self.config.charge {
            Charge::ServiceStart => {
                let queue = std::mem::take(&mut self.queue);
                self.tombstones = 0;
                queue
                    .into_iter()
                    .filter(|(key, serial)| self.live(*key, *serial).is_some())
                    .collect()
            }
            Charge::Admission => self.take_unstarted(),
        };
        for (key, _) in &waiting {
            self.refuse(*key, reason);
        }
        waiting.len()
    }

    /// Forgets tombstones once they are the larger part of the queue.
    fn bury_tombstones(&mut self) {
        if self.tombstones > 64 && self.tombstones * 2 > self.queue.len() {
            let jobs = &self.jobs;
            self.queue
                .retain(|(key, serial)| jobs.get(*key).is_some_and(|job| job.serial == *serial));
            self.tombstones = 0;
        }
    }

    /// Ends a stall: everything in service ends as much later as the stall was long.
    fn thaw(&mut self, since: Timestamp) {
        self.stalled_since = None;
        let length = self.now.since(since);
        let late = |at: Timestamp| at + length;
        self.serving = std::mem::take(&mut self.serving)
            .into_iter()
            .map(|Reverse((ended, serial, key))| Reverse((late(ended), serial, key)))
            .collect();
        self.reserved = std::mem::take(&mut self.reserved)
            .into_iter()
            .map(|Reverse(free)| Reverse(late(free)))
            .collect();
    }
}
