//! When the attempts of a request follow that keeps failing by time-out.

use goodput_policy::attempt::FailureClass;
use goodput_policy::backoff::{Backoff, Jitter};
use goodput_policy::budget::{BudgetConfig, Credit};
use goodput_policy::retry::{BudgetScope, LayerConfig};

/// An attempt of a request that keeps failing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Attempt {
    /// Seconds after the request's first attempt, at the latest.
    pub(super) after: f64,
    /// How many of these there are for each request, from 0 to 1: what the budgets let through.
    pub(super) share: f64,
}

/// The attempts of a request through these layers, outermost first, the first attempt included, in
/// the order of their time; at most [`MOST`], the first of them.
///
/// Every backoff is as long as its jitter can make it: so no attempt comes later. An outer layer's
/// time-out cuts what the inner layers had planned for later. `calls` is how many requests a second
/// share the floors of the budgets, over so many `instances`.
pub(super) fn attempts(layers: &[LayerConfig], calls: f64, instances: u32) -> Vec<Attempt> {
    let mut shares = Vec::with_capacity(layers.len());
    let mut rate = calls;
    for layer in layers {
        let retries = retries_of(layer, rate, instances);
        rate *= 1.0 + retries;
        shares.push(retries);
    }
    let mut call = (vec![Attempt { after: 0.0, share: 1.0 }], f64::INFINITY);
    for (layer, allowed) in layers.iter().zip(shares).rev() {
        call = through(layer, allowed, call);
    }
    call.0.sort_by(|a, b| a.after.total_cmp(&b.after));
    call.0.truncate(MOST);
    call.0
}

/// Retries for each of so many calls per second that all time out.
pub(super) fn retries_of(layer: &LayerConfig, calls: f64, instances: u32) -> f64 {
    if !layer.retry_on.contains(FailureClass::Timeout) {
        return 0.0;
    }
    let retries = f64::from(layer.retries);
    let allowed = match layer.budget {
        BudgetConfig::Off => retries,
        BudgetConfig::SreRatio(budget) => budget.ratio.get(),
        BudgetConfig::Finagle(budget) => {
            let budgets = match layer.budget_scope {
                BudgetScope::Client => f64::from(instances),
                BudgetScope::Shared => 1.0,
            };
            let earned = if budget.credit == Credit::Request { budget.ratio.get() } else { 0.0 };
            earned + budget.min_per_second * budgets / calls
        }
        // Only successes fill them, and there are none.
        BudgetConfig::TokenBucket(_)
        | BudgetConfig::GrpcThrottle(_)
        | BudgetConfig::AwsQuota(_) => 0.0,
    };
    retries.min(allowed)
}

/// The attempts of a call through `layer` and how long it lasts at most, from the same of one try.
fn through(
    layer: &LayerConfig,
    allowed: f64,
    (mut inner, mut lasts): (Vec<Attempt>, f64),
) -> (Vec<Attempt>, f64) {
    if let Some(timeout) = layer.timeout {
        lasts = lasts.min(timeout.as_secs_f64());
        inner.retain(|attempt| attempt.after < lasts);
    }
    let (mut attempts, mut starts) = (inner.clone(), 0.0);
    for retry in 1..=layer.retries {
        let share = (allowed - f64::from(retry - 1)).clamp(0.0, 1.0);
        if share == 0.0 || attempts.len() >= MOST {
            break;
        }
        starts += lasts + longest_delay(&layer.backoff, retry);
        attempts.extend(inner.iter().map(|attempt| Attempt {
            after: starts + attempt.after,
            share: share * attempt.share,
        }));
    }
    (attempts, starts + lasts)
}

/// How long the wait before retry number `retry`, from 1, can be.
fn longest_delay(backoff: &Backoff, retry: u32) -> f64 {
    let (exponent, factor) = match backoff.jitter {
        Jitter::None | Jitter::Full | Jitter::Equal => (retry.saturating_sub(1), backoff.factor),
        Jitter::Decorrelated => (retry, 3.0),
    };
    let exponent = i32::try_from(exponent).unwrap_or(i32::MAX);
    let delay = backoff.base.as_secs_f64() * factor.powi(exponent);
    delay.min(backoff.cap.as_secs_f64())
}

/// How many attempts of a request are looked at. Those after them only make a failure stick sooner.
const MOST: usize = 128;

#[cfg(test)]
mod tests {
    use goodput_policy::budget::Finagle;

    use super::*;
    use crate::builtin;
    use crate::model::Plan;

    fn layer(change: impl FnOnce(&mut LayerConfig)) -> LayerConfig {
        let plan = Plan::parse("test.toml", builtin::DATABASE_FAILOVER.text).unwrap();
        let mut layer = plan.arm("naive").unwrap().scenario.client.layers[0].clone();
        change(&mut layer);
        layer
    }

    fn times(layers: &[LayerConfig]) -> Vec<(f64, f64)> {
        let round = |value: f64| (value * 1e9).round() / 1e9;
        let attempts = attempts(layers, 80.0, 1);
        attempts.iter().map(|attempt| (round(attempt.after), round(attempt.share))).collect()
    }

    #[test]
    fn each_retry_waits_for_the_time_out_and_its_backoff() {
        let expected = [(0.0, 1.0), (6.0, 1.0), (13.0, 1.0), (22.0, 1.0)];
        assert_eq!(times(&[layer(|_| {})]), expected);
        let full = layer(|layer| layer.backoff.jitter = Jitter::Full);
        assert_eq!(times(&[full]), expected);
        let decorrelated = layer(|layer| layer.backoff.jitter = Jitter::Decorrelated);
        assert_eq!(times(&[decorrelated])[1..], [(8.0, 1.0), (22.0, 1.0), (47.0, 1.0)]);
    }

    #[test]
    fn a_budget_lets_a_share_of_the_retries_through() {
        let floor = Finagle { min_per_second: 100.0, ..Finagle::default() };
        let loose = layer(|layer| layer.budget = BudgetConfig::Finagle(floor));
        assert_eq!(times(&[loose]), [(0.0, 1.0), (6.0, 1.0), (13.0, 0.45)]);
        let strict = layer(|layer| layer.budget = "grpc-throttle".parse().unwrap());
        assert_eq!(times(&[strict]), [(0.0, 1.0)]);
    }

    #[test]
    fn an_outer_time_out_cuts_what_the_inner_layer_had_planned() {
        let outer = layer(|layer| {
            (layer.timeout, layer.retries) = (Some(std::time::Duration::from_secs(10)), 1);
        });
        let nested = times(&[outer, layer(|_| {})]);
        assert_eq!(nested, [(0.0, 1.0), (6.0, 1.0), (11.0, 1.0), (17.0, 1.0)]);
        let many = layer(|layer| layer.retries = 100);
        let outer = LayerConfig { timeout: None, ..many.clone() };
        assert_eq!(attempts(&[outer, many], 80.0, 1).len(), MOST);
    }
}
