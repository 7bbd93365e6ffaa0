//! What keeps a failure alive without its trigger, as far as it is in sight.

use std::fmt::Write;

use crate::bottleneck::{Bottleneck, smallest_timeout};
use crate::frame::Frame;
use crate::limits::{AMPLIFICATION, WASTED};
use crate::model::{Effect, Sustaining};

/// The effects that are seen in the last blocks.
pub(crate) fn effects(frame: &Frame<'_>, bottleneck: Option<&Bottleneck>) -> Vec<Sustaining> {
    let mut found = Vec::new();
    if let Some(amplification) = amplification(frame) {
        found.push(amplification);
    }
    let Some(bottleneck) = bottleneck else { return found };
    if bottleneck.wasted >= WASTED {
        let text = format!(
            "{:.0} % of the time that `{}` is busy goes to callers who have gone",
            bottleneck.wasted * 100.0,
            bottleneck.name
        );
        found.push(Sustaining { effect: Effect::WastedWork, text });
    }
    let patience = smallest_timeout(frame.scenario);
    if bottleneck.delay >= patience {
        let text = format!(
            "the median attempt waits {:.2} s in `{}`, and the smallest time-out is {patience:.2} s",
            bottleneck.delay, bottleneck.name
        );
        found.push(Sustaining { effect: Effect::QueueDelay, text });
    }
    found
}

/// Attempts per request clearly above the baseline's, with time-outs or refusals for a reason; and where
/// they are made.
fn amplification(frame: &Frame<'_>) -> Option<Sustaining> {
    let (from, to) = frame.last_blocks();
    let calm = frame.baseline?.span;
    let now = frame.series.attempts_per_request(from, to)?;
    let before = frame.series.attempts_per_request(calm.from as u64, calm.to as u64)?.max(1.0);
    let last = frame.last_windows();
    let failed = last.iter().map(|window| &window.client.attempts_failed);
    let pressed: u64 =
        failed.flat_map(|classes| PRESSED.iter().filter_map(|class| classes.get(*class))).sum();
    let (now, gateways) = (now, gateways(frame));
    let factor = gateways.iter().map(|(_, factor)| factor).product::<f64>() * now;
    if factor < AMPLIFICATION * before || pressed == 0 {
        return None;
    }
    let mut text = format!(
        "a request makes {factor:.2} attempts, and made {before:.2} before: client × {now:.2}"
    );
    for (name, factor) in &gateways {
        // Writing to a text does not fail.
        let _ = write!(text, ", gateway `{name}` × {factor:.2}");
    }
    Some(Sustaining { effect: Effect::Amplification, text })
}

/// By how much each gateway multiplies what it receives on its way to the next tier.
fn gateways(frame: &Frame<'_>) -> Vec<(String, f64)> {
    let last = frame.last_windows();
    let tiers = last.iter().map(|window| window.tiers.len()).min().unwrap_or_default();
    let received = |tier: usize| last.iter().map(|w| w.tiers[tier].received).sum::<u64>() as f64;
    (1..tiers)
        .filter(|tier| received(tier - 1) > 0.0)
        .map(|tier| (last[0].tiers[tier - 1].name.clone(), received(tier) / received(tier - 1)))
        .filter(|(_, factor)| *factor > 1.01)
        .collect()
}

/// Classes of failures that speak of a service under pressure.
const PRESSED: [&str; 4] = ["timeout", "overloaded", "expired", "connect"];
