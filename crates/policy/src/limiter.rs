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
//! A fault changes the speed of all work at once: what is left of each service takes as much longer or
//! shorter as the tier has become slower or faster, and no service outlives the fault that slows it.
//!
//! Work whose caller has gone goes on unless the limiter is told to cancel it: that is what keeps a
//! metastable failure alive.

mod config;
mod delays;
mod outcome;
mod patch;
mod queue;
mod reservation;
mod speed;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use goodput_clock::{Stream, Timestamp};
use slab::Slab;

use crate::fault::Effect;
use crate::invalid::InvalidConfig;
pub use config::{
    Capacity, Charge, LimiterConfig, LimiterPatch, OnDisconnect, QueueLimit, QueueOrder,
    ServiceTime,
};
pub use delays::QueueDelays;
pub use outcome::{Admission, Completion, JobId, Refusal, WakeReason};
use queue::Queue;
use reservation::Reservations;

#[derive(Debug)]
struct Job<T> {
    payload: T,
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
    queue: Queue,
    /// Jobs in service by the end of their service; with [`Charge::Admission`] reserved ones too.
    serving: BinaryHeap<Reverse<(Timestamp, u64, usize)>>,
    /// With [`Charge::Admission`]: the reserved time of the slots.
    reservations: Reservations,
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
            queue: Queue::default(),
            serving: BinaryHeap::new(),
            reservations: Reservations::default(),
            done: VecDeque::new(),
            random,
        }
    }

    /// A request arrives, with the deadline by when its answer is of use ([`Timestamp::MAX`] for
    /// none).
    pub fn arrive(&mut self, now: Timestamp, deadline: Timestamp, payload: T) -> Admission<T> {
        self.advance(now);
        let now = self.now;
        if self.config.capacity == Capacity::Unlimited && self.stalled_since.is_none() {
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
        self.queue.push(job);
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
            let Job { payload, arrived, .. } = self.jobs.remove(job.key);
            self.done.push_back(Completion::Cancelled { payload, arrived, at: self.now });
            self.queue.forget(|waiting| is_live(&self.jobs, waiting));
        }
    }

    /// Carries out everything that is due by `now`, each at its own time.
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
        self.reservations.start_due(self.now);
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

    /// Changes the configuration from now on. What is in service, or has reserved its time, has as much
    /// work before it as it began with, whatever the new capacity; only faults change its speed.
    ///
    /// # Errors
    ///
    /// Where the result would not [`validate`](LimiterConfig::validate); then nothing changes.
    pub fn patch(&mut self, now: Timestamp, patch: LimiterPatch) -> Result<(), InvalidConfig> {
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
            self.refuse(key, self.now, Refusal::Restart);
        }
        self.reservations.clear();
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
            Charge::ServiceStart => self.queue.len(),
            Charge::Admission => self.reservations.pending(),
        }
    }

    /// How many requests hold a slot.
    pub fn in_service(&self) -> usize {
        self.serving.len() - self.reservations.pending()
    }

    /// When the request arrived that has waited longest.
    pub fn oldest_arrival(&self) -> Option<Timestamp> {
        match self.config.charge {
            Charge::ServiceStart => self.queue.oldest().map(|job| self.jobs[job.key].arrived),
            Charge::Admission => self.oldest_unstarted(),
        }
    }

    /// The slots in force, after faults.
    pub fn slots(&self) -> u32 {
        self.effect.slots_left(self.config.slots)
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

    fn has_free_slot(&self) -> bool {
        self.stalled_since.is_none()
            && (self.config.capacity == Capacity::Unlimited
                || self.serving.len() < self.slots() as usize)
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
            payload,
            serial,
            arrived: now,
            deadline,
            started: Timestamp::MAX,
            abandoned: false,
        });
        JobId { key, serial }
    }

    fn start(&mut self, key: usize, at: Timestamp) {
        let service = self.draw_service();
        self.jobs[key].started = at;
        self.serving.push(Reverse((at + service, self.jobs[key].serial, key)));
    }

    fn finish(&mut self, key: usize, ended: Timestamp) {
        let job = self.jobs.remove(key);
        self.done.push_back(Completion::Served {
            payload: job.payload,
            arrived: job.arrived,
            started: job.started.min(ended),
            ended,
            wasted: job.abandoned || job.deadline < ended,
        });
    }

    fn refuse(&mut self, key: usize, at: Timestamp, reason: Refusal) {
        let Job { payload, arrived, .. } = self.jobs.remove(key);
        self.done.push_back(Completion::Refused { payload, arrived, at, reason });
    }

    /// Starts what waits while slots are free, as of `at`.
    fn fill_slots(&mut self, at: Timestamp) {
        while self.has_free_slot() {
            let next = self.queue.pop(self.config.queue, |job| is_live(&self.jobs, job));
            let Some(JobId { key, .. }) = next else { return };
            if self.would_expire(at, self.jobs[key].deadline) {
                self.refuse(key, at, Refusal::Expired);
            } else if self.config.capacity == Capacity::Unlimited {
                self.finish(key, at);
            } else {
                self.start(key, at);
            }
        }
    }

    /// Takes up what a change of configuration or faults made room for.
    fn settle(&mut self) {
        if self.config.charge == Charge::Admission {
            self.resize_reserved();
            if self.stalled_since.is_none() {
                self.reservations.start_due(self.now);
            }
        } else {
            self.fill_slots(self.now);
        }
    }

    fn refuse_queue(&mut self, reason: Refusal) -> usize {
        let waiting = match self.config.charge {
            Charge::ServiceStart => self.queue.take_all(|job| is_live(&self.jobs, job)),
            Charge::Admission => self.take_unstarted(),
        };
        for job in &waiting {
            self.refuse(job.key, self.now, reason);
        }
        waiting.len()
    }
}

fn is_live<T>(jobs: &Slab<Job<T>>, job: JobId) -> bool {
    jobs.get(job.key).is_some_and(|found| found.serial == job.serial)
}
