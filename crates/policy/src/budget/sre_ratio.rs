//! The per-client retry budget of the SRE book: retries are a bounded share of requests.
//!
//! A retry goes out only if the retries of the window, this one included, are at most `ratio` ×
//! requests of the window. The load is therefore at most 1 + ratio times the requests, whatever
//! fails. There is no floor: a client that has seen fewer than 1 / ratio requests in the window does
//! not retry at all, which is what keeps a fleet of many small clients safe.
//!
//! # Source
//!
//! "Handling Overload", Site Reliability Engineering (2016), chapter 21. The book names the ratio
//! and no window; the default of 10 s is that of the other budgets. Counting the retry itself is what
//! "less than 10 %" must mean in a fleet: else each small client retries once a window.

use std::time::Duration;

use goodput_clock::{Ratio, Timestamp, text};
use serde::{Deserialize, Serialize};

use super::Permit;
use super::config::{MICRO, TENTH, micros, window_in_range};
use super::window::Window;
use crate::invalid::InvalidConfig;

/// Retry if retries + 1 ≤ ratio × requests in a sliding window.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct SreRatio {
    /// Retries per request, from 0 to 1. Default 0.1.
    pub ratio: Ratio,
    /// The window's length, from 1 ms to 1 h. Default 10 s.
    #[serde(with = "text::duration")]
    pub window: Duration,
}

impl SreRatio {
    pub(super) fn validate(&self) -> Result<(), InvalidConfig> {
        window_in_range(self.window)
    }
}

impl Default for SreRatio {
    fn default() -> Self {
        Self { ratio: TENTH, window: Duration::from_secs(10) }
    }
}

/// Millionths of a retry: the share of each request less one for each retry.
#[derive(Clone, Debug)]
pub(super) struct State {
    credit: i64,
    balance: Window,
}

impl State {
    pub(super) fn new(config: SreRatio) -> Self {
        Self { credit: micros(config.ratio.get()), balance: Window::new(config.window) }
    }

    pub(super) fn on_request(&mut self, now: Timestamp) {
        self.balance.add(now, self.credit);
    }

    pub(super) fn try_retry(&mut self, now: Timestamp) -> Option<Permit> {
        (self.balance.sum(now) >= MICRO).then(|| {
            self.balance.add(now, -MICRO);
            Permit::FREE
        })
    }

    pub(super) fn tokens(&self, now: Timestamp) -> f64 {
        (self.balance.sum(now).max(0) as f64) / MICRO as f64
    }
}
