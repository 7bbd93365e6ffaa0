//! Retry budgets: how many retries a layer may send for what it has seen.
//!
//! A retry limit bounds what one request can cost; a budget bounds what all of them cost together.
//! What it is credited for matters more than its percentage: per request, a total failure is
//! amplified by 1 + p for as long as it lasts; per success, retries die out while it lasts. A floor
//! counts per client, so that in a fleet the sum of the floors dominates.
//!
//! Every budget is fixed-point arithmetic on integers, and every window is counted in buckets aligned
//! to bucket edges (`window`). `now` must not decrease; an equal `now` is legal, and a stale one
//! counts as the last.
//!
//! Whoever drives a budget calls, for one request at one layer: [`Budget::on_request`] once, then for
//! each try [`Budget::on_success`] or [`Budget::on_failure`], and after a failure, before anything
//! else about this request, [`Budget::try_retry`] if a retry is wanted.

mod aws_quota;
mod config;
mod finagle;
mod grpc_throttle;
mod sre_ratio;
#[cfg(test)]
mod tests;
mod token_bucket;
mod window;

use goodput_clock::Timestamp;

use crate::attempt::FailureClass;

pub use aws_quota::AwsQuota;
pub use config::{BudgetConfig, UnknownBudget};
pub use finagle::{Credit, Finagle};
pub use grpc_throttle::GrpcThrottle;
pub use sre_ratio::SreRatio;
pub use token_bucket::TokenBucket;

/// What one retry took out of a budget; some rules give it back when that retry succeeds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use = "the permit belongs to the retry, whose success may return it"]
pub struct Permit(u64);

impl Permit {
    /// The permit of a rule that gives nothing back.
    const FREE: Self = Self(0);
}

/// The state of one budget.
#[derive(Clone, Debug)]
pub struct Budget(Rule);

#[derive(Clone, Debug)]
enum Rule {
    Off,
    SreRatio(sre_ratio::State),
    Finagle(finagle::State),
    TokenBucket(token_bucket::State),
    GrpcThrottle(grpc_throttle::State),
    AwsQuota(aws_quota::State),
}

impl Budget {
    /// A fresh budget. Buckets begin full, windows empty.
    ///
    /// ```
    /// use goodput_clock::Timestamp;
    /// use goodput_policy::attempt::FailureClass;
    /// use goodput_policy::budget::{Budget, BudgetConfig, SreRatio};
    ///
    /// let mut budget = Budget::new(BudgetConfig::SreRatio(SreRatio::default()));
    /// let now = Timestamp::from_secs(1);
    /// for _ in 0..10 {
    ///     budget.on_request(now);
    /// }
    /// assert!(budget.try_retry(now, FailureClass::Timeout).is_some());
    /// assert!(budget.try_retry(now, FailureClass::Timeout).is_none());
    /// ```
    pub fn new(config: BudgetConfig) -> Self {
        Self(match config {
            BudgetConfig::Off => Rule::Off,
            BudgetConfig::SreRatio(config) => Rule::SreRatio(sre_ratio::State::new(config)),
            BudgetConfig::Finagle(config) => Rule::Finagle(finagle::State::new(config)),
            BudgetConfig::TokenBucket(config) => {
                Rule::TokenBucket(token_bucket::State::new(config))
            }
            BudgetConfig::GrpcThrottle(config) => {
                Rule::GrpcThrottle(grpc_throttle::State::new(config))
            }
            BudgetConfig::AwsQuota(config) => Rule::AwsQuota(aws_quota::State::new(config)),
        })
    }

    /// A request begins at this layer, before its first try.
    pub fn on_request(&mut self, now: Timestamp) {
        match &mut self.0 {
            Rule::SreRatio(state) => state.on_request(now),
            Rule::Finagle(state) => state.on_request(now),
            Rule::Off | Rule::TokenBucket(_) | Rule::GrpcThrottle(_) | Rule::AwsQuota(_) => {}
        }
    }

    /// A try succeeded: the request's first where `permit` is none, else the retry that took
    /// `permit`.
    pub fn on_success(&mut self, now: Timestamp, permit: Option<Permit>) {
        match &mut self.0 {
            Rule::Finagle(state) => state.on_success(now),
            Rule::TokenBucket(state) => state.on_success(),
            Rule::GrpcThrottle(state) => state.on_success(),
            Rule::AwsQuota(state) => state.on_success(permit),
            Rule::Off | Rule::SreRatio(_) => {}
        }
    }

    /// A try failed in a way that the layer retries, whether or not it has retries left. Failures of
    /// other classes do not count.
    pub fn on_failure(&mut self) {
        match &mut self.0 {
            Rule::GrpcThrottle(state) => state.on_failure(),
            Rule::Off
            | Rule::SreRatio(_)
            | Rule::Finagle(_)
            | Rule::TokenBucket(_)
            | Rule::AwsQuota(_) => {}
        }
    }

    /// Takes one retry after a failure of this class out of the budget, or nothing where there is
    /// not enough.
    pub fn try_retry(&mut self, now: Timestamp, class: FailureClass) -> Option<Permit> {
        match &mut self.0 {
            Rule::Off => Some(Permit::FREE),
            Rule::SreRatio(state) => state.try_retry(now),
            Rule::Finagle(state) => state.try_retry(now),
            Rule::TokenBucket(state) => state.try_retry(),
            Rule::GrpcThrottle(state) => state.try_retry(),
            Rule::AwsQuota(state) => state.try_retry(class),
        }
    }

    /// How many retries could be taken at `now` if nothing else happened, as a real number, for a
    /// gauge; infinite where off.
    pub fn tokens(&self, now: Timestamp) -> f64 {
        match &self.0 {
            Rule::Off => f64::INFINITY,
            Rule::SreRatio(state) => state.tokens(now),
            Rule::Finagle(state) => state.tokens(now),
            Rule::TokenBucket(state) => state.tokens(),
            Rule::GrpcThrottle(state) => state.tokens(),
            Rule::AwsQuota(state) => state.tokens(),
        }
    }
}
