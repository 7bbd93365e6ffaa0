//! How long a request may live, and how long a run watches on for it.

use std::time::Duration;

use goodput_policy::backoff::{Backoff, Jitter};
use goodput_policy::lever::Lever;
use goodput_policy::retry::LayerConfig;

use crate::model::Scenario;

impl Scenario {
    /// The longest time between a request's arrival and its end that matters to its user: what the
    /// client's layers allow (time-outs and the largest backoffs; nested layers multiply, and an outer
    /// time-out cuts what is inside it short), or its deadline where that comes first. A `retries` lever
    /// on the timeline counts where it raises the number.
    pub fn life(&self) -> Duration {
        let layers = self.client.layers.iter().rev();
        let life = layers.fold(Duration::ZERO, |inner, layer| self.life_at(layer, inner));
        self.client.deadline.map_or(life, |deadline| life.min(deadline))
    }

    /// How long a run watches on after its end for what it left open: a life, at most
    /// [`WATCH_MOST`](Self::WATCH_MOST). The load goes on meanwhile, uncounted, since a load that stops
    /// heals the system.
    pub fn watch(&self) -> Duration {
        self.life().min(Self::WATCH_MOST)
    }

    /// The longest watch after a run's end.
    pub const WATCH_MOST: Duration = Duration::from_mins(1);

    /// How long a call of this layer may take whose tries take `inner`.
    fn life_at(&self, layer: &LayerConfig, inner: Duration) -> Duration {
        let one = match layer.timeout {
            // The innermost layer's tries are attempts, which live until their time-out.
            Some(timeout) if inner.is_zero() => timeout,
            Some(timeout) => timeout.min(inner),
            None => inner,
        };
        let raised = self.levers.iter().filter_map(|planned| {
            let Lever::Retries { layer: name, retries } = &planned.lever else { return None };
            name.as_ref().is_none_or(|name| *name == layer.name).then_some(*retries)
        });
        let retries = raised.fold(layer.retries, u32::max);
        let tries = one.saturating_mul(retries.saturating_add(1));
        (0..retries).fold(tries, |sum, retry| sum.saturating_add(longest(&layer.backoff, retry)))
    }
}

/// The longest that this backoff can be before retry number `retry`, from 0.
fn longest(backoff: &Backoff, retry: u32) -> Duration {
    let cap = backoff.cap.max(backoff.base);
    let factor = if backoff.jitter == Jitter::Decorrelated { 3.0 } else { backoff.factor };
    let steps = if backoff.jitter == Jitter::Decorrelated { retry + 1 } else { retry };
    let seconds =
        backoff.base.as_secs_f64() * factor.powi(i32::try_from(steps).unwrap_or(i32::MAX));
    Duration::try_from_secs_f64(seconds).unwrap_or(cap).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::model::Plan;

    fn life(client: &str) -> f64 {
        let text = format!(
            "name = \"life\"\nduration = \"600s\"\nload.rate = 10\n{client}\n\
             [[tier]]\nname = \"a\"\nslots = 1\ncapacity = 20\n"
        );
        Plan::parse("life.toml", &text).unwrap().scenario.life().as_secs_f64()
    }

    #[test]
    fn the_headline_lives_four_time_outs_and_three_backoffs() {
        let plan = Plan::parse("test.toml", builtin::DATABASE_FAILOVER.text).unwrap();
        let naive = &plan.arm("naive").unwrap().scenario;
        assert_eq!(
            (naive.life(), naive.watch()),
            (Duration::from_secs(27), Duration::from_secs(27))
        );
    }

    #[test]
    fn nested_layers_multiply_and_an_outer_time_out_or_a_deadline_cuts_them_short() {
        let layer = |extra: &str| {
            format!("[[client.layer]]\nretries = 3\nbackoff = {{ base = \"0s\" }}\n{extra}\n")
        };
        let inner = layer("timeout = \"5s\"");
        let outer = layer("");
        assert!((life(&inner) - 20.0).abs() < 1e-9);
        assert!((life(&format!("{outer}{outer}{inner}")) - 320.0).abs() < 1e-9);
        let bounded = layer("timeout = \"12s\"");
        assert!((life(&format!("{outer}{bounded}{inner}")) - 192.0).abs() < 1e-9);
        let deadline = format!("client.deadline = \"7s\"\n{outer}{inner}");
        assert!((life(&deadline) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn jitter_counts_with_its_longest_wait() {
        let of = |jitter: &str| {
            life(&format!(
                "[[client.layer]]\ntimeout = \"1s\"\nretries = 2\n\
                 backoff = {{ base = \"1s\", factor = 2, cap = \"20s\", jitter = \"{jitter}\" }}\n"
            ))
        };
        assert!((of("none") - 6.0).abs() < 1e-9);
        assert!((of("full") - 6.0).abs() < 1e-9);
        // Three times the base, then three times that.
        assert!((of("decorrelated") - 15.0).abs() < 1e-9);
    }
}
