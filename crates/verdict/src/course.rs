//! How goodput went after the trigger: when it was back, and where it was deep below its band since.

use goodput_statistics::Bounds;

use crate::frame::Frame;
use crate::limits::{
    BACK_BLOCKS, DEEP, DEEP_BLOCKS, INDIFFERENCE, RELAPSE_AMPLIFICATION, RELAPSES, SETTLED_BLOCKS,
    TELLING,
};
use crate::model::Stretch;

/// How goodput went after the trigger.
pub(crate) struct Course {
    /// The first second from which a block is in the band, and its answers came then too.
    pub(crate) back: Option<u64>,
    /// The first second from which a block is claimed to be in the band.
    pub(crate) back_surely: Option<u64>,
    /// From where on the share since goodput was back is pooled.
    since: u64,
    /// Stretches deep below the band since goodput was back, in order of time.
    pub(crate) deep: Vec<Stretch>,
    /// Shallower or shorter stretches: how many, and the seconds that they cover.
    pub(crate) dips: Dips,
    /// The share since goodput was back, or since the trigger where it never was.
    pub(crate) share: Option<Bounds>,
    /// Whether the last deep stretch lasts until the end.
    ends_deep: bool,
    /// Whether there is no deep stretch where goodput must have settled.
    pub(crate) settled: bool,
    /// The share of the last blocks, over as long as it takes to claim something of it.
    pub(crate) last: Option<Bounds>,
    /// Whether goodput is claimed to be down at the end.
    pub(crate) down: bool,
}

/// Dips that are told and not judged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dips {
    pub(crate) count: usize,
    pub(crate) seconds: u64,
    /// The lowest share of one.
    pub(crate) lowest: f64,
}

impl Course {
    pub(crate) fn of(frame: &Frame<'_>) -> Self {
        let (start, end, block) = (frame.start(), frame.end, frame.block);
        let last = end.saturating_sub(block);
        let fits = start + block <= end;
        let blocks = || (start..=last).filter(|_| fits);
        let back = blocks().find(|s| tells(frame, *s) && frame.holds(*s) && answered(frame, *s));
        let sure = |s: &u64| frame.block_low(*s) >= frame.rule.needed - INDIFFERENCE;
        let back_surely = back.and_then(|back| (back..=last).find(|s| frame.holds(*s) && sure(s)));
        let stretches = back.map_or_else(Vec::new, |back| stretches(frame, back));
        let (deep, shallow): (Vec<_>, Vec<_>) =
            stretches.into_iter().partition(|stretch| is_deep(frame, stretch));
        let ends_deep = deep.last().is_some_and(|stretch| stretch.to as u64 >= end);
        let since = match (back, deep.as_slice()) {
            (_, [only]) if !ends_deep => only.to as u64,
            (Some(back), _) => back,
            (None, _) => start,
        };
        let (down, last_share) = claim_down(frame, back, &deep);
        let settled = back.is_some() && is_settled(frame, since, &deep);
        Self {
            back,
            back_surely,
            since,
            settled,
            dips: Dips::of(&shallow),
            share: frame.share(since, end),
            deep,
            ends_deep,
            last: last_share,
            down,
        }
    }

    /// Whether goodput is in its band since it was back, beyond doubt, and has settled there.
    pub(crate) fn holds(&self, frame: &Frame<'_>) -> bool {
        let needed = frame.rule.needed;
        self.back.is_some()
            && self.settled
            && self.share.is_some_and(|share| share.value >= needed - 1e-9)
            && self.claims_back(frame)
    }

    /// Whether goodput is claimed to be in its band since it was back. The first blocks may still show how
    /// it came back, so that the claim may leave two of them out.
    fn claims_back(&self, frame: &Frame<'_>) -> bool {
        let least = BACK_BLOCKS * frame.block;
        (0..=2)
            .map(|blocks| self.since + blocks * frame.block)
            .filter(|from| *from == self.since || from + least <= frame.end)
            .filter_map(|from| frame.share(from, frame.end))
            .any(|share| share.low >= frame.rule.needed - INDIFFERENCE)
    }

    /// Whether goodput comes and goes. A single collapse that still lasts does not, until a second one
    /// has ended before it.
    pub(crate) fn comes_and_goes(&self, frame: &Frame<'_>) -> bool {
        let Some(share) = self.share.filter(|_| self.back.is_some()) else { return false };
        let ended = self.deep.len() - usize::from(self.ends_deep);
        if self.ends_deep && ended < 2 {
            return false;
        }
        let amplified = |stretch: &&Stretch| amplified(frame, stretch);
        let below = share.value < frame.rule.needed;
        // What hangs together for a moment claims nothing of how it goes.
        let long = frame.end.saturating_sub(self.since) >= SETTLED_BLOCKS * frame.block;
        (long && share.high < frame.rule.needed)
            || (below && self.deep.len() >= 2)
            || self.deep.iter().filter(amplified).count() >= RELAPSES
    }

    /// When goodput was back for good: the end of the last deep stretch, or when it was back first.
    pub(crate) fn back_for_good(&self) -> Option<u64> {
        match self.deep.last() {
            Some(_) if self.ends_deep => None,
            Some(last) => Some(last.to as u64),
            None => self.back,
        }
    }

    /// From where on goodput is down at the end: the start of the stretch that lasts, or the trigger's
    /// end.
    pub(crate) fn down_since(&self, frame: &Frame<'_>) -> u64 {
        match self.deep.last() {
            Some(last) if self.ends_deep => last.from as u64,
            _ if self.back.is_none() => frame.start(),
            _ => self.since,
        }
    }
}

/// Whether enough requests arrived in the block from `second` to tell that goodput is back: half of what the
/// load before or at the end brings, whichever is less. While a lever keeps the load away nothing is back.
fn tells(frame: &Frame<'_>, second: u64) -> bool {
    let rate = frame.load.before.min(frame.load.end);
    let arrived = frame.series.arrived(second, second + frame.block) as f64;
    arrived > 0.0 && arrived >= TELLING * rate * frame.block as f64
}

/// Whether as many good answers came within the block from `second` as its band asks for: answers to
/// requests that came long before are none of them, and neither are those that come long after. Noise of
/// the count is allowed for.
fn answered(frame: &Frame<'_>, second: u64) -> bool {
    let due = frame.rule.needed * frame.counts(second, second + frame.block).1;
    let ended = frame.series.ended_good(second, second + frame.block) as f64;
    ended >= due - 2.0 * due.sqrt()
}

/// The stretches of seconds that are covered by blocks out of the band, from `from` on.
fn stretches(frame: &Frame<'_>, from: u64) -> Vec<Stretch> {
    let last = frame.end.saturating_sub(frame.block);
    let mut stretches = Vec::new();
    let mut began = None;
    for second in from..=last {
        if !frame.holds(second) {
            began.get_or_insert(second);
        } else if let Some(began) = began.take() {
            stretches.push(stretch(frame, began, second - 1 + frame.block));
        }
    }
    if let Some(began) = began {
        stretches.push(stretch(frame, began, frame.end));
    }
    stretches
}

fn stretch(frame: &Frame<'_>, from: u64, to: u64) -> Stretch {
    let share = frame.ratio(from, to).unwrap_or(1.0);
    Stretch { from: from as f64, to: to as f64, share }
}

fn is_deep(frame: &Frame<'_>, stretch: &Stretch) -> bool {
    let covered = stretch.to - stretch.from;
    covered >= (DEEP_BLOCKS * frame.block) as f64 && stretch.share < frame.rule.needed - DEEP
}

/// Whether the requests of a stretch made clearly more attempts than those of the baseline.
fn amplified(frame: &Frame<'_>, stretch: &Stretch) -> bool {
    let factor = frame.amplification(stretch.from as u64, stretch.to as u64);
    factor.is_some_and(|factor| factor >= RELAPSE_AMPLIFICATION)
}

/// Whether the end is free of deep stretches for as long as it takes: two blocks, and three after a stretch
/// and at least a request's life, since whoever failed in it may come back until then; and after two as long as the
/// longest of them and the longest pause between two of them together. The pause that runs now does not
/// count, or nothing would ever settle.
fn is_settled(frame: &Frame<'_>, since: u64, deep: &[Stretch]) -> bool {
    let end = frame.end as f64;
    // A block that is deep below the band may be the beginning of a stretch that is.
    let last = frame.block_ratio(frame.end.saturating_sub(frame.block));
    if last.is_some_and(|last| last < frame.rule.needed - DEEP) {
        return false;
    }
    let mut quiet = (BACK_BLOCKS * frame.block) as f64;
    if !deep.is_empty() {
        quiet = ((SETTLED_BLOCKS * frame.block) as f64).max(frame.rule.life);
    }
    if deep.len() >= 2 {
        let longest = deep.iter().map(|stretch| stretch.to - stretch.from).fold(0.0, f64::max);
        let pauses = deep.windows(2).map(|pair| pair[1].from - pair[0].to);
        quiet = quiet.max(longest + pauses.fold(0.0, f64::max));
    }
    let last = deep.last().map_or(since as f64, |stretch| stretch.to).max(since as f64);
    end - last >= quiet - 1e-9
}

/// Whether goodput is claimed to be down at the end, over the last blocks, or over more of the tail where
/// these say too little.
fn claim_down(frame: &Frame<'_>, back: Option<u64>, deep: &[Stretch]) -> (bool, Option<Bounds>) {
    let (from, end) = frame.last_blocks();
    let needed = frame.rule.needed;
    let last = frame.share(from, end);
    if last.is_none_or(|last| last.value >= needed) || end - from < SETTLED_BLOCKS * frame.block {
        return (false, last);
    }
    // No more than what it has been down for at a stretch.
    let earliest = match (back, deep.last()) {
        (None, _) => frame.start(),
        (Some(_), Some(stretch)) if stretch.to as u64 >= end => stretch.from as u64,
        (Some(_), _) => from,
    };
    let step = frame.block.max(end.saturating_sub(earliest) / WIDENED_MOST);
    let mut from = from;
    loop {
        let share = frame.share(from, end);
        if share.is_some_and(|share| share.high < needed) {
            return (true, share);
        }
        if from <= earliest {
            return (false, last);
        }
        from = from.saturating_sub(step).max(earliest);
    }
}

impl Dips {
    fn of(stretches: &[Stretch]) -> Self {
        Self {
            count: stretches.len(),
            seconds: stretches.iter().map(|stretch| (stretch.to - stretch.from) as u64).sum(),
            lowest: stretches.iter().map(|stretch| stretch.share).fold(1.0, f64::min),
        }
    }
}

/// The span in which goodput is claimed to be down is widened so many times at most: by a block, or by more
/// in a run that is longer than as many blocks.
const WIDENED_MOST: u64 = 100;
