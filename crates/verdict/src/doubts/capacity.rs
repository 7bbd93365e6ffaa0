//! Whether the servers are at the end as they were, but for what the run itself has changed.

use goodput_policy::lever::Lever;
use goodput_runlog::{EventKind, TierWindow, Window};

use super::raise;
use crate::frame::Frame;
use crate::model::{Doubt, DoubtKind};

/// Raises a doubt where a tier has less capacity at the end than the baseline and the run's own levers
/// leave it.
pub(super) fn doubts(frame: &Frame<'_>, doubts: &mut Vec<Doubt>) {
    if frame.trigger.is_none() {
        return;
    }
    let calm = frame.baseline.map_or(0, |baseline| baseline.span.to as u64);
    let end = frame.series.seconds;
    let last = frame.series.slice(end.saturating_sub(1), end);
    let Some((before, now)) = fallen(frame.series.slice(0, calm), last) else { return };
    if changed_here(frame, &now.name) {
        return;
    }
    let of = |tier: &TierWindow| match tier.capacity {
        Some(capacity) => format!("{capacity:.1}/s in {} slots", tier.slots),
        None => format!("unlimited in {} slots", tier.slots),
    };
    let text = format!(
        "capacity of `{}` is not as before: {} at the end, {} in the baseline",
        now.name,
        of(now),
        of(before)
    );
    raise(doubts, DoubtKind::CapacityNotRestored, text);
}

/// The first tier that shows less capacity or fewer slots than in its last window before, which comes
/// first, and the window that does.
pub(super) fn fallen<'a>(
    before: &'a [Window],
    now: &'a [Window],
) -> Option<(&'a TierWindow, &'a TierWindow)> {
    let capacity = |tier: &TierWindow| tier.capacity.unwrap_or(f64::INFINITY);
    before.last()?.tiers.iter().find_map(|calm| {
        let less = |tier: &&TierWindow| {
            tier.name == calm.name
                && (capacity(tier) < capacity(calm) * 0.99 || tier.slots < calm.slots)
        };
        Some((calm, super::tiers(now).find(less)?))
    })
}

/// Whether a lever of the run's own has changed the capacity or the slots: one of its timeline at this
/// tier, or one that was pulled by hand.
fn changed_here(frame: &Frame<'_>, tier: &str) -> bool {
    let last = frame.scenario.tiers.last().map(|tier| tier.name.as_str());
    let planned = frame.scenario.levers.iter().any(|planned| {
        let here = planned.tier.as_deref().or(last) == Some(tier);
        let Lever::Limiter(patch) = &planned.lever else { return false };
        here && (patch.capacity.is_some() || patch.slots.is_some())
    });
    let touched = frame.log.events.iter().any(|event| {
        let EventKind::LeverPulled { keys, .. } = &event.kind else { return false };
        keys.iter().any(|key| key == "capacity" || key == "slots")
    });
    planned || touched
}
