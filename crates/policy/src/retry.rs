//! Nested retry layers: what one request does after each answer, time-out and wait.
//!
//! Layers nest, outermost first. A try of the innermost layer is an attempt on the wire; a try of
//! any other layer is a whole call of the layer inside it. So three layers that retry three times
//! make up to 4 × 4 × 4 = 64 attempts. A layer's time-out bounds each of its tries: the innermost
//! layer's is the attempt's, an outer layer's bounds the whole inner call, waits included.
//!
//! [`Layers`] is what the requests of one load generator (or one gateway) share: configuration,
//! budgets and counters. [`Call`] is one request. Whoever drives a call does what its [`Step`] says and
//! reports back:
//!
//! 1. [`Call::begin`] gives the first step, always an attempt.
//! 2. After [`Step::Attempt`] comes [`Call::on_result`], at the latest at the attempt's `until` with a
//!    [`FailureClass::Timeout`].
//! 3. After [`Step::Wait`] comes [`Call::on_wakeup`], at its `until`.
//! 4. [`Step::Done`] ends the call.
//!
//! A result that is reported after its attempt's `until` counts as a time-out, whatever it was: so a
//! late driver cannot turn a time-out into a success. Where an outer layer's time-out comes before a
//! wait is over, the call waits for that time-out instead, and the retry takes nothing out of the
//! budget. Each layer's budget sees each call of the layer as a request, since a layer does not know
//! of those outside it.

mod layers;
#[cfg(test)]
mod tests;

use std::time::Duration;

use goodput_clock::Timestamp;
use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptResult, FailureClass};
use crate::budget::Permit;

pub use layers::{BudgetScope, LayerConfig, LayerCounters, Layers, MAX_RETRIES, validate_retries};

/// Why a layer did not retry.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// It has no retries left, or never had any.
    Exhausted,
    /// The failure is of a class that it does not retry.
    NotRetryable,
    /// The retry would have started at or after the request's deadline.
    Deadline,
    /// The retry budget is spent.
    Budget,
}

impl StopReason {
    /// All reasons, in the order of their declaration.
    pub const ALL: [Self; 4] = [Self::Exhausted, Self::NotRetryable, Self::Deadline, Self::Budget];

    /// The name in files and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::NotRetryable => "not-retryable",
            Self::Deadline => "deadline",
            Self::Budget => "budget",
        }
    }
}

/// How a request ended, as its user saw it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// An attempt was answered successfully inside its time-out and inside the request's deadline.
    Good,
    /// An attempt was answered successfully, but after the request's deadline.
    Late,
    /// No attempt succeeded.
    Failed {
        /// The class of the last failure.
        class: FailureClass,
        /// Why the outermost layer did not go on.
        reason: StopReason,
    },
}

/// What to do next for a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Send an attempt.
    Attempt {
        /// The number of the attempt within its request, from 1.
        number: u32,
        /// When to give it up: the first of all time-outs that bound it.
        until: Timestamp,
        /// By when an answer is of use: `until`, or the request's deadline if that comes first.
        deadline: Timestamp,
    },
    /// Send nothing before this time.
    Wait {
        /// When to call [`Call::on_wakeup`].
        until: Timestamp,
    },
    /// The request has ended.
    Done(Outcome),
}

/// What a layer is doing for one request.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Which try of this layer runs, from 0.
    tries: u32,
    /// When the running try times out.
    until: Timestamp,
    /// The layer's last backoff for this request.
    backoff: Option<Duration>,
    /// What the running try took out of the budget, where it is a retry.
    permit: Option<Permit>,
}

impl Frame {
    const FRESH: Self = Self { tries: 0, until: Timestamp::MAX, backoff: None, permit: None };
}

/// A call that waits.
#[derive(Clone, Copy, Debug)]
struct Wakeup {
    /// The layer that retries, unless a layer outside it has timed out by then.
    layer: usize,
    /// When the wait ends.
    until: Timestamp,
}

/// One request on its way through the layers.
#[derive(Debug)]
pub struct Call {
    client: u32,
    deadline: Timestamp,
    attempts: u32,
    /// When the running attempt is given up.
    until: Timestamp,
    frames: Vec<Frame>,
    wakeup: Option<Wakeup>,
}

impl Call {
    /// Begins a request of client instance `client` with a deadline over all its attempts
    /// ([`Timestamp::MAX`] for none).
    ///
    /// # Panics
    ///
    /// Where `layers` has no client of that number, counted from 0.
    pub fn begin(
        now: Timestamp,
        client: u32,
        deadline: Timestamp,
        layers: &mut Layers,
    ) -> (Self, Step) {
        let frames = Vec::with_capacity(layers.configs.len());
        let mut call =
            Self { client, deadline, attempts: 0, until: Timestamp::MAX, frames, wakeup: None };
        let step = call.begin_again(now, client, deadline, layers);
        (call, step)
    }

    /// Begins another request in the memory of this one, which has ended; otherwise as
    /// [`Call::begin`].
    ///
    /// # Panics
    ///
    /// Where `layers` has no client of that number, counted from 0.
    pub fn begin_again(
        &mut self,
        now: Timestamp,
        client: u32,
        deadline: Timestamp,
        layers: &mut Layers,
    ) -> Step {
        (self.client, self.deadline, self.attempts, self.wakeup) = (client, deadline, 0, None);
        self.frames.clear();
        self.frames.resize(layers.configs.len(), Frame::FRESH);
        self.send(now, 0, layers)
    }

    /// What follows from the result of the running attempt.
    pub fn on_result(
        &mut self,
        now: Timestamp,
        result: AttemptResult,
        layers: &mut Layers,
    ) -> Step {
        match result {
            AttemptResult::Success if now <= self.until => {
                for layer in 0..self.frames.len() {
                    layers.counters[layer].succeeded += 1;
                    let permit = self.frames[layer].permit;
                    layers.budget(self.client, layer).on_success(now, permit);
                }
                Step::Done(if now <= self.deadline { Outcome::Good } else { Outcome::Late })
            }
            AttemptResult::Failure(class)
                if class != FailureClass::Timeout && now <= self.until =>
            {
                self.fail(now, self.innermost(), class, layers)
            }
            AttemptResult::Success | AttemptResult::Failure(_) => {
                let now = now.max(self.until);
                let layer = self.timed_out(now).unwrap_or(self.innermost());
                cut_off(layer, self.frames.len(), layers);
                self.fail(now, layer, FailureClass::Timeout, layers)
            }
        }
    }

    /// What follows after a wait; where the wait is not over, the rest of it.
    pub fn on_wakeup(&mut self, now: Timestamp, layers: &mut Layers) -> Step {
        let Some(Wakeup { layer, until }) = self.wakeup else {
            return self.send(now, self.innermost(), layers);
        };
        if now < until {
            return Step::Wait { until };
        }
        self.wakeup = None;
        // The waiting layer and those inside it have no running try.
        if let Some(outer) = self.timed_out(now).filter(|outer| *outer < layer) {
            cut_off(outer, layer, layers);
            return self.fail(now, outer, FailureClass::Timeout, layers);
        }
        self.advance(layer);
        self.send(now, layer, layers)
    }

    /// How many attempts have been sent.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    fn innermost(&self) -> usize {
        self.frames.len() - 1
    }

    /// The outermost layer whose running try has timed out by `now`.
    fn timed_out(&self, now: Timestamp) -> Option<usize> {
        self.frames.iter().position(|frame| frame.until <= now)
    }

    /// Sends the next attempt: a new try of `layer` and a first try of every layer inside it.
    fn send(&mut self, now: Timestamp, layer: usize, layers: &mut Layers) -> Step {
        for index in layer..self.frames.len() {
            let timeout = layers.configs[index].timeout;
            self.frames[index].until = timeout.map_or(Timestamp::MAX, |timeout| now + timeout);
            if self.frames[index].tries == 0 {
                layers.counters[index].first += 1;
                layers.budget(self.client, index).on_request(now);
            } else {
                layers.counters[index].retries += 1;
            }
        }
        self.attempts += 1;
        self.until = self.frames.iter().map(|frame| frame.until).min().unwrap_or(Timestamp::MAX);
        Step::Attempt {
            number: self.attempts,
            until: self.until,
            deadline: self.until.min(self.deadline),
        }
    }

    /// Takes a failed try of `layer` outwards until a layer retries it or none does.
    fn fail(
        &mut self,
        now: Timestamp,
        mut layer: usize,
        class: FailureClass,
        layers: &mut Layers,
    ) -> Step {
        loop {
            layers.counters[layer].failed[class as usize] += 1;
            if layers.configs[layer].retry_on.contains(class) {
                layers.budget(self.client, layer).on_failure();
            }
            let reason = match self.decide(now, layer, class, layers) {
                Decision::Retry { at } if at <= now => {
                    self.advance(layer);
                    return self.send(now, layer, layers);
                }
                Decision::Retry { at: until } | Decision::OuterTimeout { at: until } => {
                    self.wakeup = Some(Wakeup { layer, until });
                    return Step::Wait { until };
                }
                Decision::Stop(reason) => reason,
            };
            layers.counters[layer].stopped[reason as usize] += 1;
            if layer == 0 {
                return Step::Done(Outcome::Failed { class, reason });
            }
            layer -= 1;
        }
    }

    /// Whether and when `layer` retries after a failure of this class.
    fn decide(
        &mut self,
        now: Timestamp,
        layer: usize,
        class: FailureClass,
        layers: &mut Layers,
    ) -> Decision {
        let config = &layers.configs[layer];
        let frame = &mut self.frames[layer];
        if !config.retry_on.contains(class) {
            return Decision::Stop(StopReason::NotRetryable);
        }
        if frame.tries >= config.retries {
            return Decision::Stop(StopReason::Exhausted);
        }
        let delay = config.backoff.delay(frame.tries, frame.backoff, &mut layers.random);
        frame.backoff = Some(delay);
        let at = now + delay;
        if at >= self.deadline {
            return Decision::Stop(StopReason::Deadline);
        }
        let outer = self.frames[..layer].iter().map(|frame| frame.until).min();
        if let Some(until) = outer.filter(|until| *until <= at) {
            return Decision::OuterTimeout { at: until };
        }
        let permit = layers.budget(self.client, layer).try_retry(now, class);
        self.frames[layer].permit = permit;
        if permit.is_some() { Decision::Retry { at } } else { Decision::Stop(StopReason::Budget) }
    }

    /// Counts a retry of `layer`; the layers inside it begin anew.
    fn advance(&mut self, layer: usize) {
        self.frames[layer].tries += 1;
        self.frames[layer + 1..].fill(Frame::FRESH);
    }
}

/// Counts the running tries of the layers inside `outer`, up to `end`, that its time-out ends.
fn cut_off(outer: usize, end: usize, layers: &mut Layers) {
    for counters in &mut layers.counters[outer + 1..end] {
        counters.cut += 1;
    }
}

enum Decision {
    Retry { at: Timestamp },
    OuterTimeout { at: Timestamp },
    Stop(StopReason),
}
