//! Retry budgets: how many retries a client may send for what it has seen.
use std::time::Duration;

use goodput_clock::{Ratio, Timestamp, text};
use serde::{Deserialize, Serialize};

use crate::attempt::FailureClass;

/// What a Finagle budget is credited for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Credit {
    /// Each request as it begins (`RetryFilter`).
    #[default]
    Request,
    /// Each success (`RequeueFilter`, linkerd, reqwest).
    Success,
}

/// Which budget a layer has. Written as a name, which stands for its defaults, or as a table:
/// `"off"`, `"sre-ratio"`, `{ kind = "finagle", ratio = 0.2 }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BudgetConfig {
    /// No budget: every retry is allowed.
    #[default]
    Off,
    /// Retry if retries + 1 ≤ ratio × requests in a sliding window.
    SreRatio {
        /// Default 0.1.
        ratio: Ratio,
        /// Default 10 s.
        #[serde(with = "text::duration")]
        window: Duration,
    },
    /// Finagle's token bucket whose tokens expire, with a floor.
    Finagle {
        /// Default 0.2.
        ratio: Ratio,
        /// The floor in retries per second. Default 10.
        min_per_second: f64,
        /// How long tokens live. Default 10 s.
        #[serde(with = "text::duration")]
        window: Duration,
        /// Default request.
        credit: Credit,
    },
    /// A bucket that gains a fraction of a token per success and pays one per retry.
    TokenBucket {
        /// Tokens per success. Default 0.1.
        ratio: Ratio,
        /// The most it holds. Default 10.
        max: f64,
    },
    /// gRPC's retryThrottling (A6).
    GrpcThrottle {
        /// Default 10.
        max_tokens: f64,
        /// Default 0.1.
        token_ratio: f64,
    },
    /// The retry quota of the AWS SDKs' standard mode.
    AwsQuota {
        /// Default 500.
        capacity: f64,
        /// Default 5.
        cost: f64,
        /// What a retry after a time-out costs. Default as `cost`.
        timeout_cost: Option<f64>,
    },
}

/// The state of a budget.
#[derive(Clone, Debug)]
pub struct Budget {
    config: BudgetConfig,
}

impl Budget {
    /// A fresh budget.
    pub fn new(config: BudgetConfig) -> Self {
        Self { config }
    }

    /// A request (not an attempt) begins.
    pub fn on_request(&mut self, _now: Timestamp) {}

    /// An attempt succeeded; `retried` where it was not the request's first at this layer.
    pub fn on_success(&mut self, _now: Timestamp, _retried: bool) {}

    /// An attempt failed.
    pub fn on_failure(&mut self, _now: Timestamp, _class: FailureClass) {}

    /// Takes one retry out of the budget, or says that there is none.
    pub fn try_retry(&mut self, _now: Timestamp, _class: FailureClass) -> bool {
        self.config == BudgetConfig::Off
    }

    /// Retries that could be taken now, for a gauge; infinite where off.
    pub fn tokens(&self, _now: Timestamp) -> f64 {
        f64::INFINITY
    }
}
