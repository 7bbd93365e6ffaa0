//! Two counts of one thing are always reconciled: a difference says whose load it is, and where it passes.

use goodput_runlog::Window;

use super::raise;
use crate::frame::Frame;
use crate::limits::{RECONCILED, RECONCILED_LEAST};
use crate::model::{Doubt, DoubtKind};

/// Raises a doubt where the outermost tier received more than the run sent, at any time; where it received
/// less in the baseline; and where more requests ended well than it served. Later a server that receives
/// less is evidence: attempts may wait before it, in its accept queue.
pub(super) fn doubts(frame: &Frame<'_>, doubts: &mut Vec<Doubt>) {
    let seconds = frame.series.seconds;
    let all = frame.series.slice(0, seconds);
    if all.iter().any(|window| window.tiers.is_empty()) {
        return;
    }
    let calm = frame.baseline.map_or(0, |baseline| baseline.span.to as u64);
    let before = frame.series.slice(0, calm);
    for (windows, when) in [(before, "until the end of the baseline"), (all, "over the run")] {
        let counts = Counts::of(windows);
        if counts.received > counts.sent + counts.room(counts.sent) {
            let text = format!(
                "`{}` received {:.0} attempts {when}, and this run sent {:.0}: somebody else loads it",
                counts.name, counts.received, counts.sent
            );
            return raise(doubts, DoubtKind::ForeignLoad, text);
        }
    }
    let counts = Counts::of(before);
    if counts.received + counts.lost + counts.room(counts.sent) < counts.sent {
        let text = format!(
            "this run sent {:.0} attempts until the end of the baseline, and `{}` received {:.0}: its load \
             passes elsewhere",
            counts.sent, counts.name, counts.received
        );
        return raise(doubts, DoubtKind::PastTheTier, text);
    }
    let counts = Counts::of(all);
    if counts.good > counts.served + counts.room(counts.good) {
        let text = format!(
            "{:.0} requests ended well, and `{}` served {:.0}: somebody else answers them",
            counts.good, counts.name, counts.served
        );
        raise(doubts, DoubtKind::PastTheTier, text);
    }
}

/// What was counted on both sides of the way to the outermost tier.
struct Counts<'a> {
    name: &'a str,
    sent: f64,
    good: f64,
    /// Attempts that found no connection, or lost it.
    lost: f64,
    received: f64,
    served: f64,
    /// What may be counted on one side only: what is under way, and what passes during one poll at each
    /// end.
    under_way: f64,
}

impl<'a> Counts<'a> {
    fn of(windows: &'a [Window]) -> Self {
        let sum = |of: &dyn Fn(&Window) -> u64| windows.iter().map(of).sum::<u64>() as f64;
        let tier = |of: fn(&goodput_runlog::TierWindow) -> u64| {
            windows.iter().filter_map(|window| window.tiers.first()).map(of).sum::<u64>() as f64
        };
        let under_way = windows.last().map_or(0, |window| window.client.attempts_in_flight);
        let gap = windows.iter().filter_map(|w| w.tiers.first()).map(|tier| tier.sample_gap);
        let polls = 2.0 * gap.fold(0.0, f64::max);
        let busiest = windows.iter().map(|window| window.client.attempts).max().unwrap_or_default();
        Self {
            name: windows
                .iter()
                .find_map(|w| w.tiers.first())
                .map_or("", |tier| tier.name.as_str()),
            sent: sum(&|window| window.client.attempts),
            good: sum(&|window| window.client.good),
            lost: sum(&|w| w.client.attempts_failed.get("connect").copied().unwrap_or_default()),
            received: tier(|tier| tier.received),
            served: tier(|tier| tier.served),
            under_way: under_way as f64 + polls * busiest as f64,
        }
    }

    /// By how much the two sides may differ.
    fn room(&self, count: f64) -> f64 {
        self.under_way + RECONCILED * count + RECONCILED_LEAST
    }
}
