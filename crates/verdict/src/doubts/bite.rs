//! Whether the trigger did something: at its tier, or to the clients.

use goodput_runlog::{Event, EventKind, Figures, Window};

use super::capacity::fallen;
use super::raise;
use crate::frame::Frame;
use crate::model::{Doubt, DoubtKind};

/// Raises a doubt where a fault was never seen, or where neither its tier nor the clients show that there
/// was a trigger.
pub(super) fn doubts(frame: &Frame<'_>, doubts: &mut Vec<Doubt>) {
    let unseen = &frame.log.integrity.faults_unseen;
    for fault in unseen {
        let text = format!("the fault `{fault}` was never seen in force");
        raise(doubts, DoubtKind::FaultDidNotBite, text);
    }
    let (Some(trigger), Some(baseline)) = (frame.trigger, frame.baseline) else { return };
    if !unseen.is_empty() {
        return;
    }
    let from = trigger.from.floor() as u64;
    let to = (trigger.to.ceil() as u64).max(from + 1) + AFTERMATH;
    let (calm, during) = (frame.calm(), frame.series.slice(from, to));
    let (Some(before), Some(now)) = (Figures::over(calm), Figures::over(during)) else { return };
    // A fault that its server has shown to be in force did something there, however short it was.
    let seen = |event: &Event| matches!(event.kind, EventKind::FaultStarted { .. });
    let bit = frame.log.events.iter().any(seen)
        || fallen(calm, during).is_some()
        || work_fell(&before, &now)
        || waits_grew(calm, during)
        || more_was_sent(frame, from, to);
    if bit {
        return;
    }
    let text = format!(
        "the trigger changed nothing: {:.1} of {:.1} requests a second ended well before it and {:.1} of \
         {:.1} during it, and neither capacity, throughput nor latency moved",
        baseline.goodput, baseline.offered, now.goodput, now.offered
    );
    raise(doubts, DoubtKind::FaultDidNotBite, text);
}

/// Whether a spike of the load shows: more was offered than noise makes of the baseline's load, and by
/// enough to matter.
fn more_was_sent(frame: &Frame<'_>, from: u64, to: u64) -> bool {
    let Some(baseline) = frame.baseline else { return false };
    let expected = baseline.offered * (to.saturating_sub(from)) as f64;
    let offered = frame.series.offered(from, to) as f64;
    offered > SPIKE_LEAST * expected + 3.0 * expected.sqrt()
}

/// Whether goodput or throughput fell by more than a tenth and three deviations of Poisson noise.
fn work_fell(before: &Figures, during: &Figures) -> bool {
    let fell = |before: f64, now: f64| {
        now < 0.9 * before - 3.0 * (before / during.seconds.max(1) as f64).sqrt()
    };
    let throughput = before.throughput.zip(during.throughput);
    // The load itself may have changed, so goodput counts against what was offered.
    let due = before.ratio.unwrap_or_default() * during.offered;
    fell(due, during.goodput)
        || throughput.is_some_and(|(before, now)| fell(before, now) && fell(due, now))
}

/// Whether latency grew clearly: in half of the windows of a trigger of seconds, or in one, well beyond all
/// that the baseline had, of a shorter one.
fn waits_grew(calm: &[Window], during: &[Window]) -> bool {
    let grew = |of: fn(&Window) -> f64, factor: f64| {
        let (before, now) = (median(calm, of), median(during, of));
        now > before * factor && now > 1e-3
    };
    let most =
        |windows: &[Window]| windows.iter().map(|w| w.client.latency.p99).fold(0.0, f64::max);
    grew(|window| window.client.latency.p50, 1.5)
        || grew(|window| window.client.latency.p99, 2.0)
        || (most(during) > 2.0 * most(calm) && most(during) > 1e-3)
}

fn median(windows: &[Window], of: fn(&Window) -> f64) -> f64 {
    let seen = windows.iter().filter(|window| window.client.latency.count > 0);
    let mut values: Vec<f64> = seen.map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Seconds after a fault in which its effect may still show first.
const AFTERMATH: u64 = 2;
/// A spike must raise the load by this much to be one.
const SPIKE_LEAST: f64 = 1.05;
