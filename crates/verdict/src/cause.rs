//! Why goodput is down where it is not a failure that sustains itself.

use crate::bottleneck::{Bottleneck, least_capacity, smallest_timeout, waiting};
use crate::frame::Frame;
use crate::limits::{DAMAGED, DOWN, MORE_LOAD, MORE_LOAD_UNSEEN};
use crate::model::Cause;

/// A cause of its own, that needs no look at where the run goes: down, overloaded or damaged; none where
/// none of them can be told.
pub(crate) fn plain(frame: &Frame<'_>, bottleneck: Option<&Bottleneck>) -> Option<Cause> {
    if is_down(frame) {
        return Some(Cause::Down);
    }
    if is_overloaded(frame) {
        return Some(Cause::Overloaded);
    }
    if is_damaged(frame, bottleneck) {
        return Some(Cause::Damaged);
    }
    None
}

/// Whether the load is more than it was, and the capacity is not seen.
pub(crate) fn may_be_overload(frame: &Frame<'_>) -> bool {
    least_capacity(frame).is_none() && frame.load.end > MORE_LOAD_UNSEEN * frame.load.before
}

/// Whether nearly every attempt reached nobody. Time-outs never count: somebody may be there.
fn is_down(frame: &Frame<'_>) -> bool {
    let last = frame.last_windows();
    let ended: u64 = last.iter().flat_map(|window| window.client.outcomes.values()).sum();
    let count = |name: &str| last.iter().filter_map(|w| w.client.outcomes.get(name)).sum::<u64>();
    let unreached: u64 = UNREACHED.iter().map(|name| count(name)).sum();
    // A gateway that reaches nobody says so with a status, and the class tells.
    let by_class: u64 =
        last.iter().filter_map(|window| window.client.attempts_failed.get("connect")).sum();
    let own = count("own-limit");
    let unreached = unreached.max(by_class.saturating_sub(own));
    ended > 0 && unreached as f64 >= DOWN * ended as f64
}

/// Whether the schedule asks for what the capacity in force cannot serve, and asked for less before, or a
/// lever of the run's own has left less capacity.
fn is_overloaded(frame: &Frame<'_>) -> bool {
    let Some(capacity) = exceeded(frame) else { return false };
    let calm = frame.calm().last().map_or(&[][..], |window| &window.tiers);
    let before = calm.iter().filter_map(|tier| tier.capacity).fold(f64::INFINITY, f64::min);
    frame.load.end > MORE_LOAD * frame.load.before || capacity < before * LESS_CAPACITY
}

/// The capacity in force, where the schedule asks at the end for as much or more.
pub(crate) fn exceeded(frame: &Frame<'_>) -> Option<f64> {
    least_capacity(frame).filter(|capacity| frame.load.end >= *capacity)
}

/// Whether most failures are answers that are no refusals, and nothing waits.
fn is_damaged(frame: &Frame<'_>, bottleneck: Option<&Bottleneck>) -> bool {
    let last = frame.last_windows();
    let failed: u64 = last.iter().flat_map(|window| window.client.attempts_failed.values()).sum();
    let wrong: u64 = last.iter().filter_map(|w| w.client.attempts_failed.get("error")).sum();
    let delay = bottleneck.map_or(0.0, |bottleneck| bottleneck.delay);
    failed > 0
        && wrong as f64 >= DAMAGED * failed as f64
        && !has_backlog(frame)
        && delay < smallest_timeout(frame.scenario) / 2.0
}

/// Whether clearly more waits in the last blocks than in the baseline.
fn has_backlog(frame: &Frame<'_>) -> bool {
    let series =
        |windows: &[goodput_runlog::Window]| windows.iter().map(waiting).collect::<Vec<_>>();
    let (calm, last) = (series(frame.calm()), series(frame.last_windows()));
    let average = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let most = calm.iter().copied().fold(0.0, f64::max);
    average(&last) > (2.0 * most).max(average(&calm) + BACKLOG_LEAST)
}

/// What a transport says when it reached nobody.
const UNREACHED: [&str; 4] = ["refused", "reset", "unreachable", "closed"];
/// Fewer attempts than this more are no backlog.
const BACKLOG_LEAST: f64 = 5.0;
/// A capacity below the baseline's by this factor is another one.
const LESS_CAPACITY: f64 = 0.99;
