//! The retry quota of the AWS SDKs' standard mode.
//!
//! A retry takes its cost out of a bucket, and gives up at once where there is not enough. When a
//! retried request succeeds, the cost of its last retry comes back; a success at the first try adds
//! one. So capacity / cost retries are free in each process before the quota bites, and a bucket that
//! is empty fills only as fast as first tries succeed.
//!
//! # Source
//!
//! AWS SDKs and Tools Reference Guide, "Retry behavior", and smithy-rs `TokenBucket`: capacity 500,
//! cost 5. Before version 2.1 of that behaviour a retry after a time-out costs 10; from 2.1 on every
//! retry costs 14, and 5 after throttling.

use serde::{Deserialize, Serialize};

use super::Permit;
use crate::attempt::FailureClass;
use crate::invalid::InvalidConfig;

/// A quota that retries use up and successes restore.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct AwsQuota {
    /// The most that it holds, from 1 to 1,000,000; it begins full. Default 500.
    pub capacity: u32,
    /// What a retry costs, from 1 to the capacity. Default 5.
    pub cost: u32,
    /// What a retry after a time-out costs, from 1 to the capacity. Default: as `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_cost: Option<u32>,
}

impl AwsQuota {
    pub(super) fn validate(&self) -> Result<(), InvalidConfig> {
        if !(1..=1_000_000).contains(&self.capacity) {
            return Err(InvalidConfig { key: "capacity", problem: "must be from 1 to 1000000" });
        }
        if !(1..=self.capacity).contains(&self.cost) {
            return Err(InvalidConfig { key: "cost", problem: "must be from 1 to `capacity`" });
        }
        if self.timeout_cost.is_some_and(|cost| !(1..=self.capacity).contains(&cost)) {
            return Err(InvalidConfig {
                key: "timeout_cost",
                problem: "must be from 1 to `capacity`",
            });
        }
        Ok(())
    }
}

impl Default for AwsQuota {
    fn default() -> Self {
        Self { capacity: 500, cost: 5, timeout_cost: None }
    }
}

#[derive(Clone, Debug)]
pub(super) struct State {
    capacity: u64,
    cost: u64,
    timeout_cost: u64,
    left: u64,
}

impl State {
    pub(super) fn new(config: AwsQuota) -> Self {
        let capacity = u64::from(config.capacity);
        Self {
            capacity,
            cost: u64::from(config.cost),
            timeout_cost: u64::from(config.timeout_cost.unwrap_or(config.cost)),
            left: capacity,
        }
    }

    pub(super) fn on_success(&mut self, permit: Option<Permit>) {
        let gained = permit.map_or(1, |Permit(cost)| cost);
        self.left = (self.left + gained).min(self.capacity);
    }

    pub(super) fn try_retry(&mut self, class: FailureClass) -> Option<Permit> {
        let cost = if class == FailureClass::Timeout { self.timeout_cost } else { self.cost };
        self.left = self.left.checked_sub(cost)?;
        Some(Permit(cost))
    }

    /// Retries at the ordinary cost.
    pub(super) fn tokens(&self) -> f64 {
        self.left as f64 / self.cost as f64
    }
}
