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

use std::time::Duration;

use goodput_clock::{Stream, Timestamp, text};
use serde::{Deserialize, Serialize};

use crate::attempt::{AttemptResult, FailureClass, RetryOn};
use crate::backoff::Backoff;
use crate::budget::{Budget, BudgetConfig, Permit};

/// Who shares one retry budget.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetScope {
    /// Each client instance has its own.
    #[default]
    Client,
    /// One for all instances.
    Shared,
}

/// One place that retries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerConfig {
    /// The layer's name, unique among the layers of a client.
    pub name: String,
    /// How long one try may take; only an outer layer can do without.
    #[serde(with = "text::optional_duration")]
    pub timeout: Option<Duration>,
    /// Retries after the first try.
    pub retries: u32,
    /// How long to wait before a retry.
    pub backoff: Backoff,
    /// Which failures are retried.
    pub retry_on: RetryOn,
    /// How many retries the layer may send in all.
    pub budget: BudgetConfig,
    /// Who shares the budget.
    pub budget_scope: BudgetScope,
}

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

/// What a layer has done, cumulated over all requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct LayerCounters {
    /// Tries that were a request's first at this layer (once per call of the layer).
    pub first: u64,
    /// Tries that were retries.
    pub retries: u64,
    /// Tries that succeeded.
    pub succeeded: u64,
    /// Tries that failed, by [`FailureClass`].
    pub failed: [u64; FailureClass::ALL.len()],
    /// Failures after which the layer did not retry, by [`StopReason`].
    pub stopped: [u64; StopReason::ALL.len()],
}

/// What all requests of a client side share: its layers, their budgets and counters.
#[derive(Debug)]
pub struct Layers {
    configs: Vec<LayerConfig>,
    /// By client and layer; a shared budget stands with client 0.
    budgets: Vec<Budget>,
    counters: Vec<LayerCounters>,
    random: Stream,
}

impl Layers {
    /// The layers, outermost first, of `clients` independent instances.
    ///
    /// # Panics
    ///
    /// Where there is no layer, no client, or the innermost layer has no time-out.
    pub fn new(configs: Vec<LayerConfig>, clients: u32, random: Stream) -> Self {
        assert!(clients > 0, "at least one client");
        assert!(
            configs.last().is_some_and(|innermost| innermost.timeout.is_some()),
            "the innermost layer needs a time-out"
        );
        let budgets = (0..clients)
            .flat_map(|_| configs.iter().map(|config| Budget::new(config.budget)))
            .collect();
        let counters = vec![LayerCounters::default(); configs.len()];
        Self { configs, budgets, counters, random }
    }

    /// Sets how often a layer retries, or all of them where `layer` is none; false where no layer has
    /// that name.
    pub fn set_retries(&mut self, layer: Option<&str>, retries: u32) -> bool {
        let mut found = false;
        for config in self.configs.iter_mut().filter(|config| is_named(config, layer)) {
            config.retries = retries;
            found = true;
        }
        found
    }

    /// Puts a fresh budget into a layer, or into all of them where `layer` is none; false where no
    /// layer has that name.
    pub fn set_budget(&mut self, layer: Option<&str>, budget: BudgetConfig) -> bool {
        let count = self.configs.len();
        let mut found = false;
        for (index, config) in self.configs.iter_mut().enumerate() {
            if is_named(config, layer) {
                config.budget = budget;
                self.budgets.iter_mut().skip(index).step_by(count).for_each(|slot| {
                    *slot = Budget::new(budget);
                });
                found = true;
            }
        }
        found
    }

    /// The layers, outermost first.
    pub fn configs(&self) -> &[LayerConfig] {
        &self.configs
    }

    /// What each layer has done, outermost first.
    pub fn counters(&self) -> &[LayerCounters] {
        &self.counters
    }

    /// Retries that all budgets of a layer would allow now; infinite where it has none.
    pub fn tokens(&self, now: Timestamp, layer: usize) -> f64 {
        let step = self.configs.len();
        let all = self.budgets.iter().skip(layer).step_by(step);
        match self.configs[layer].budget_scope {
            BudgetScope::Client => all.map(|budget| budget.tokens(now)).sum(),
            BudgetScope::Shared => self.budgets[layer].tokens(now),
        }
    }

    /// The most attempts that one request can make: Π(R + 1), saturating.
    pub fn max_attempts(&self) -> u64 {
        self.configs
            .iter()
            .fold(1, |product, config| product.saturating_mul(u64::from(config.retries) + 1))
    }

    fn budget(&mut self, client: u32, layer: usize) -> &mut Budget {
        let client = match self.configs[layer].budget_scope {
            BudgetScope::Client => client as usize,
            BudgetScope::Shared => 0,
        };
        &mut self.budgets[client * self.configs.len() + layer]
    }
}

fn is_named(config: &LayerConfig, name: Option<&str>) -> bool {
    name.is_none_or(|name| config.name == name)
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

/// What a waiting call does when it wakes up.
#[derive(Clone, Copy, Debug)]
enum Wakeup {
    /// The layer sends its next try.
    Retry(usize),
    /// The running try of the layer has timed out.
    Timeout(usize),
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
    pub fn begin(
        now: Timestamp,
        client: u32,
        deadline: Timestamp,
        layers: &mut Layers,
    ) -> (Self, Step) {
        let frames = vec![Frame::FRESH; layers.configs.len()];
        let mut call =
            Self { client, deadline, attempts: 0, until: Timestamp::MAX, frames, wakeup: None };
        let step = call.send(now, 0, layers);
        (call, step)
    }

    /// What follows from the result of the running attempt.
    pub fn on_result(
        &mut self,
        now: Timestamp,
        result: AttemptResult,
        layers: &mut Layers,
    ) -> Step {
        match result {
            AttemptResult::Success => {
                for layer in 0..self.frames.len() {
                    layers.counters[layer].succeeded += 1;
                    let permit = self.frames[layer].permit;
                    layers.budget(self.client, layer).on_success(now, permit);
                }
                Step::Done(if now <= self.deadline { Outcome::Good } else { Outcome::Late })
            }
            AttemptResult::Failure(FailureClass::Timeout) => {
                let now = now.max(self.until);
                let layer = self.frames.iter().position(|frame| frame.until <= now);
                self.fail(now, layer.unwrap_or(self.innermost()), FailureClass::Timeout, layers)
            }
            AttemptResult::Failure(class) => self.fail(now, self.innermost(), class, layers),
        }
    }

    /// What follows after a wait.
    pub fn on_wakeup(&mut self, now: Timestamp, layers: &mut Layers) -> Step {
        match self.wakeup.take() {
            Some(Wakeup::Timeout(layer)) => self.fail(now, layer, FailureClass::Timeout, layers),
            Some(Wakeup::Retry(layer)) => self.send(now, layer, layers),
            None => self.send(now, self.innermost(), layers),
        }
    }

    /// How many attempts have been sent.
    pub const fn attempts(&self) -> u32 {
        self.attempts
    }

    fn innermost(&self) -> usize {
        self.frames.len() - 1
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
        mut class: FailureClass,
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
                Decision::Retry { at } => {
                    self.advance(layer);
                    self.wakeup = Some(Wakeup::Retry(layer));
                    return Step::Wait { until: at };
                }
                Decision::OuterTimeout { layer: outer, at } if at <= now => {
                    (layer, class) = (outer, FailureClass::Timeout);
                    continue;
                }
                Decision::OuterTimeout { layer: outer, at } => {
                    self.wakeup = Some(Wakeup::Timeout(outer));
                    return Step::Wait { until: at };
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
        let outer = self.frames[..layer].iter().enumerate().min_by_key(|(_, frame)| frame.until);
        if let Some((outer, frame)) = outer.filter(|(_, frame)| frame.until <= at) {
            return Decision::OuterTimeout { layer: outer, at: frame.until };
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

enum Decision {
    Retry { at: Timestamp },
    OuterTimeout { layer: usize, at: Timestamp },
    Stop(StopReason),
}
