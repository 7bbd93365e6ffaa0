//! gRPC's retry throttling: failures close it, successes open it.
//!
//! Each failed try takes a token, each success adds `token_ratio`, and a retry is allowed only while
//! more than half of `max_tokens` is there; the retry itself costs nothing. Above a failure share of
//! about ratio / (1 + ratio), 9.1 % with the defaults, retries end. With 10 tokens five failures in a
//! row close it, so that it is noisy for clients of a low rate.
//!
//! # Source
//!
//! gRPC proposal A6, "Throttling Retry Attempts and Hedged RPCs". It has no defaults; those here are
//! its example. `maxTokens` is at most 1,000, and of `tokenRatio` three decimals count.

use goodput_clock::Ratio;
use serde::{Deserialize, Serialize};

use super::Permit;
use super::config::TENTH;

use crate::invalid::InvalidConfig;

/// gRPC's `retryThrottling`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct GrpcThrottle {
    /// The most tokens, from 1 to 1,000; it begins with all of them. Default 10.
    pub max_tokens: u32,
    /// Tokens per success, from 0.001 to 1, of which three decimals count. Default 0.1.
    pub token_ratio: Ratio,
}

impl GrpcThrottle {
    pub(super) fn validate(&self) -> Result<(), InvalidConfig> {
        if !(1..=1000).contains(&self.max_tokens) {
            return Err(InvalidConfig { key: "max_tokens", problem: "must be from 1 to 1000" });
        }
        if self.token_ratio.get() < 0.001 {
            return Err(InvalidConfig { key: "token_ratio", problem: "must be from 0.001 to 1" });
        }
        Ok(())
    }
}

impl Default for GrpcThrottle {
    fn default() -> Self {
        Self { max_tokens: 10, token_ratio: TENTH }
    }
}

/// Thousandths of a token.
#[derive(Clone, Debug)]
pub(super) struct State {
    credit: u32,
    max: u32,
    tokens: u32,
}

impl State {
    pub(super) fn new(config: GrpcThrottle) -> Self {
        let max = config.max_tokens * MILLI;
        // Rounded down, but not below a number of thousandths that only its binary form misses.
        let credit = (config.token_ratio.get() * f64::from(MILLI) + 1e-9) as u32;
        Self { credit, max, tokens: max }
    }

    pub(super) fn on_success(&mut self) {
        self.tokens = (self.tokens + self.credit).min(self.max);
    }

    pub(super) fn on_failure(&mut self) {
        self.tokens = self.tokens.saturating_sub(MILLI);
    }

    pub(super) fn try_retry(&self) -> Option<Permit> {
        (self.tokens > self.max / 2).then_some(Permit::FREE)
    }

    /// By how many tokens it is open: so many failures would close it.
    pub(super) fn tokens(&self) -> f64 {
        f64::from(self.tokens.saturating_sub(self.max / 2)) / f64::from(MILLI)
    }
}

const MILLI: u32 = 1000;
