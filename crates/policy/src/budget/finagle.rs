//! Finagle's retry budget: a token bucket whose tokens expire, with a floor.
//!
//! Each request (or each success) deposits `ratio` of a retry, each retry withdraws one, and both
//! count for `window`. On top stands a reserve of `min_per_second` × window retries. In the steady
//! state of a total failure the retries per second are ratio × requests + `min_per_second` where
//! requests are credited, and `min_per_second` alone where successes are.
//!
//! The floor counts per client: a hundred clients of ten requests a second have a floor as large as
//! their load, and a burst of 100 retries each.
//!
//! # Source
//!
//! `com.twitter.finagle.service.RetryBudget`: a deposit of 1,000 and a withdrawal of 1,000 / ratio,
//! ten buckets over the time to live; the same with a withdrawal of 1,000,000 here. `RetryFilter`
//! deposits for each request, `RequeueFilter` for each success. The defaults of tower's `TpsBudget`,
//! linkerd's service profiles, reqwest and the Gateway API (GEP-3388) are the same numbers.

use std::time::Duration;

use goodput_clock::{Ratio, Timestamp, text};
use serde::{Deserialize, Serialize};

use super::Permit;
use super::config::{FIFTH, MICRO, micros, window_in_range};
use super::window::Window;
use crate::invalid::InvalidConfig;

/// What a [`Finagle`] budget is credited for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Credit {
    /// Each request as it begins, as Finagle's `RetryFilter` does.
    #[default]
    Request,
    /// Each success, as Finagle's `RequeueFilter`, linkerd and reqwest do.
    Success,
}

impl Credit {
    /// The name in files and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Success => "success",
        }
    }
}

/// A token bucket whose tokens expire, with a floor.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Finagle {
    /// Retries per request (or per success), from 0 to 1. Default 0.2.
    pub ratio: Ratio,
    /// The floor in retries per second, from 0 to 1,000,000. Default 10.
    pub min_per_second: f64,
    /// How long deposits and withdrawals count, from 1 ms to 1 h. Default 10 s.
    #[serde(with = "text::duration")]
    pub window: Duration,
    /// What is credited. Default request.
    pub credit: Credit,
}

impl Finagle {
    pub(super) fn validate(&self) -> Result<(), InvalidConfig> {
        window_in_range(self.window)?;
        if (0.0..=1e6).contains(&self.min_per_second) {
            return Ok(());
        }
        Err(InvalidConfig {
            key: "min_per_second",
            problem: "must be from 0 to 1000000 retries per second",
        })
    }
}

impl Default for Finagle {
    fn default() -> Self {
        Self {
            ratio: FIFTH,
            min_per_second: 10.0,
            window: Duration::from_secs(10),
            credit: Credit::Request,
        }
    }
}

/// Millionths of a retry.
#[derive(Clone, Debug)]
pub(super) struct State {
    credit: Credit,
    deposit: i64,
    reserve: i64,
    balance: Window,
}

impl State {
    pub(super) fn new(config: Finagle) -> Self {
        Self {
            credit: config.credit,
            deposit: micros(config.ratio.get()),
            reserve: micros(config.min_per_second * config.window.as_secs_f64()),
            balance: Window::new(config.window),
        }
    }

    pub(super) fn on_request(&mut self, now: Timestamp) {
        if self.credit == Credit::Request {
            self.balance.add(now, self.deposit);
        }
    }

    pub(super) fn on_success(&mut self, now: Timestamp) {
        if self.credit == Credit::Success {
            self.balance.add(now, self.deposit);
        }
    }

    pub(super) fn try_retry(&mut self, now: Timestamp) -> Option<Permit> {
        (self.balance.sum(now) + self.reserve >= MICRO).then(|| {
            self.balance.add(now, -MICRO);
            Permit::FREE
        })
    }

    pub(super) fn tokens(&self, now: Timestamp) -> f64 {
        ((self.balance.sum(now) + self.reserve).max(0) as f64) / MICRO as f64
    }
}
