//! Shares of failures by value, and where they pass a given one.

use goodput_verdict::Verdict;

use super::Point;
use crate::outcome::{Outcome, Side};
use goodput_statistics::wilson;

/// What was run at one value.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) value: f64,
    /// In the order of the seeds.
    pub(super) outcomes: Vec<Outcome>,
}

impl Tally {
    /// Failed ÷ conclusive runs.
    pub(super) fn share(&self) -> Option<f64> {
        let (failed, runs) = self.counts();
        (runs > 0).then(|| f64::from(failed) / f64::from(runs))
    }

    /// The side of the greater half; failing where they are equal.
    pub(super) fn side(&self) -> Option<Side> {
        self.share().map(|share| if share < 0.5 { Side::Recovers } else { Side::Fails })
    }

    pub(super) fn point(&self) -> Point {
        let count = |verdict| self.outcomes.iter().filter(|o| o.verdict == verdict).count() as u32;
        let (failed, runs) = self.counts();
        let (low, high) = wilson(failed, runs);
        Point {
            value: self.value,
            runs,
            recovered: runs - failed,
            metastable: count(Verdict::Metastable),
            slow_recovery: count(Verdict::SlowRecovery),
            unstable: count(Verdict::Unstable),
            not_recovered: count(Verdict::NotRecovered),
            inconclusive: count(Verdict::Inconclusive),
            share: self.share(),
            low,
            high,
            time_to_recover: self.median_time_to_recover(),
            doubt: self.outcomes.iter().find_map(|outcome| outcome.doubt.clone()),
        }
    }

    /// How many failed, of how many that can be trusted.
    fn counts(&self) -> (u32, u32) {
        let sides = self.outcomes.iter().filter_map(Outcome::side);
        sides.fold((0, 0), |(failed, runs), side| {
            (failed + u32::from(side == Side::Fails), runs + 1)
        })
    }

    fn median_time_to_recover(&self) -> Option<f64> {
        let recovered = self.outcomes.iter().filter(|o| o.side() == Some(Side::Recovers));
        let mut seconds: Vec<f64> = recovered.filter_map(|o| o.time_to_recover).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied()
    }
}

/// A value with its share, made monotone.
pub(super) type Shares = Vec<(f64, f64)>;

/// The shares of those values at which all seeds ran, from the recovering to the failing side, made
/// monotone: neighbours that go down are put together (pool adjacent violators).
pub(super) fn smooth(tallies: &[Tally], seeds: usize, fails_above: bool) -> Shares {
    let whole = tallies.iter().filter(|tally| tally.outcomes.len() >= seeds);
    let mut known: Vec<_> = whole.filter_map(|tally| Some((tally.value, tally.share()?))).collect();
    if !fails_above {
        known.reverse();
    }
    // Blocks of a share and how many values it stands for.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (_, share) in &known {
        blocks.push((*share, 1));
        while let [.., (before, n), (last, m)] = blocks[..]
            && before > last
        {
            let (n, m) = (n as f64, m as f64);
            let pooled = (before * n + last * m) / (n + m);
            blocks.truncate(blocks.len() - 2);
            blocks.push((pooled, (n + m) as usize));
        }
    }
    let smooth = blocks.iter().flat_map(|(share, count)| std::iter::repeat_n(*share, *count));
    known.iter().zip(smooth).map(|((value, _), share)| (*value, share)).collect()
}

/// The neighbours between which the share passes `share`, the recovering one first.
pub(super) fn around(curve: &Shares, share: f64) -> Option<(f64, f64)> {
    let place = curve.iter().position(|(_, found)| *found >= share)?;
    let before = place.checked_sub(1)?;
    Some((curve[before].0, curve[place].0))
}

/// Where the share passes `share`, in a straight line between neighbours.
pub(super) fn crossing(curve: &Shares, share: f64) -> Option<f64> {
    let place = curve.iter().position(|(_, found)| *found >= share)?;
    let ((a, low), (b, high)) = (curve[place.checked_sub(1)?], curve[place]);
    let part = if high > low { (share - low) / (high - low) } else { 0.5 };
    Some(a + (b - a) * part)
}
