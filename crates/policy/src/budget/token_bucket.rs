//! A token bucket that successes fill and retries drain.
//!
//! A success adds `ratio` of a token, a retry takes one, and the bucket holds at most `max`. While
//! everything fails, nothing comes in: after `max` retries they stop. Many small, short-lived clients
//! each begin with a full bucket, which is what it costs in a fleet.
//!
//! # Source
//!
//! Marc Brooker, "Fixing retries with token buckets and circuit breakers" (2022).

use goodput_clock::Ratio;
use serde::{Deserialize, Serialize};

use super::Permit;
use super::config::{MICRO, TENTH, micros};

use crate::invalid::InvalidConfig;

/// A bucket that gains a fraction of a token per success and pays one per retry.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TokenBucket {
    /// Tokens per success, from 0 to 1. Default 0.1.
    pub ratio: Ratio,
    /// The most tokens that it holds, from 1 to 1,000,000; it begins full. Default 10.
    pub max: u32,
}

impl TokenBucket {
    pub(super) fn validate(&self) -> Result<(), InvalidConfig> {
        if (1..=1_000_000).contains(&self.max) {
            return Ok(());
        }
        Err(InvalidConfig { key: "max", problem: "must be from 1 to 1000000 tokens" })
    }
}

impl Default for TokenBucket {
    fn default() -> Self {
        Self { ratio: TENTH, max: 10 }
    }
}

/// Millionths of a token.
#[derive(Clone, Debug)]
pub(super) struct State {
    credit: i64,
    max: i64,
    tokens: i64,
}

impl State {
    pub(super) fn new(config: TokenBucket) -> Self {
        let max = i64::from(config.max) * MICRO;
        Self { credit: micros(config.ratio.get()), max, tokens: max }
    }

    pub(super) fn on_success(&mut self) {
        self.tokens = (self.tokens + self.credit).min(self.max);
    }

    pub(super) fn try_retry(&mut self) -> Option<Permit> {
        (self.tokens >= MICRO).then(|| {
            self.tokens -= MICRO;
            Permit::FREE
        })
    }

    pub(super) fn tokens(&self) -> f64 {
        self.tokens as f64 / MICRO as f64
    }
}
