use goodput_verdict::{Judgement, Verdict};

use crate::counting::{Class, Course, DEEP};
use crate::draft::Draft;
use crate::measure::Long;

/// How a verdict differs from the counted truth.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Miss {
    /// *Recovered* of what goes down while its twin does not.
    FalseRecovered,
    /// *Metastable* of what comes back, with this seed and another.
    FalseMetastable,
    /// *Steady* of what goes down.
    FalseSteady,
    /// *Unstable* of what returns or stays down.
    FalseUnstable,
    /// *Not recovered* of what returns, or comes and goes.
    FalseNotRecovered,
    /// *Slow recovery* of what stays down, or comes and goes.
    FalseSlow,
}

impl Miss {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::FalseRecovered,
        Self::FalseMetastable,
        Self::FalseSteady,
        Self::FalseUnstable,
        Self::FalseNotRecovered,
        Self::FalseSlow,
    ];

    /// Its name in tables and folders.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FalseRecovered => "false-recovered",
            Self::FalseMetastable => "false-metastable",
            Self::FalseSteady => "false-steady",
            Self::FalseUnstable => "false-unstable",
            Self::FalseNotRecovered => "false-not-recovered",
            Self::FalseSlow => "false-slow-recovery",
        }
    }
}

impl Miss {
    /// Whether this would be a miss of another run too, as far as its course decides that beside its
    /// class.
    pub(crate) fn is_truth_of(self, course: &Course, at: usize) -> bool {
        match self {
            Self::FalseRecovered | Self::FalseSteady => course.goes_down_after(at),
            Self::FalseMetastable => course.comes_back_after(at),
            Self::FalseUnstable | Self::FalseNotRecovered | Self::FalseSlow => true,
        }
    }
}

/// How the verdict on a run that ends at second `at` differs from the truth.
pub(crate) fn miss(
    class: Class,
    course: &Course,
    judgement: &Judgement,
    at: usize,
) -> Option<Miss> {
    if !class.is_told() {
        return None;
    }
    match judgement.verdict {
        Verdict::Recovered => course.goes_down_after(at).then_some(Miss::FalseRecovered),
        Verdict::Steady => course.goes_down_after(at).then_some(Miss::FalseSteady),
        Verdict::Metastable => course.comes_back_after(at).then_some(Miss::FalseMetastable),
        Verdict::Unstable => {
            let fell = course.collapses.iter().any(|(from, _)| *from < at);
            (class != Class::ComesAndGoes && !fell).then_some(Miss::FalseUnstable)
        }
        Verdict::NotRecovered => (class != Class::Down).then_some(Miss::FalseNotRecovered),
        Verdict::SlowRecovery => {
            let open = class == Class::Down && !refuted(course, judgement, at);
            (class != Class::Returns && !open).then_some(Miss::FalseSlow)
        }
        Verdict::Inconclusive => None,
    }
}

/// Whether the run is not back although the time that was left to it has passed.
fn refuted(course: &Course, judgement: &Judgement, at: usize) -> bool {
    let end = (course.from + course.blocks.len() * course.block) as f64;
    judgement.time_left.is_none_or(|left| left.high.is_some_and(|high| at as f64 + high < end))
}

/// What can never be, whatever is near: said of a run that ends at second `at`.
///
/// - *Metastable* where all attempts that requests may make stay below the capacity of the only
///   tier: what waits is served some time (no lever changes either).
/// - *Metastable* where more is offered than the capacity: that is overload.
/// - *Recovered* where each of the last two blocks is deep below the band.
pub(crate) fn physics(draft: &Draft, long: &Long, verdict: Verdict, at: usize) -> Vec<String> {
    let mut broken = Vec::new();
    let (rate, capacity) = (draft.last_rate(), draft.capacity());
    if verdict == Verdict::Metastable && drains(draft) {
        let reach = draft.attempts() as f64 * rate;
        broken.push(format!("metastable at {at} s: {reach:.1}/s at most against {capacity:.1}/s"));
    }
    if verdict == Verdict::Metastable && draft.lever.is_none() && rate >= capacity {
        broken.push(format!("metastable at {at} s: {rate:.1}/s offered, {capacity:.1}/s served"));
    }
    let Course { theta, block, from, .. } = long.course;
    let end = at.min(long.cohorts.decided());
    let deep = |blocks: usize| {
        let to = end.saturating_sub(blocks * block);
        to >= from + block && long.cohorts.share(to - block, to) < theta - DEEP
    };
    if verdict == Verdict::Recovered && deep(0) && deep(1) {
        broken.push(format!("recovered at {at} s: the last two blocks are deep"));
    }
    broken
}

/// Whether all attempts that requests may make stay below the capacity of the only tier, and no
/// lever changes either.
fn drains(draft: &Draft) -> bool {
    let reach = draft.attempts() as f64 * draft.last_rate();
    draft.lever.is_none() && draft.tiers.len() == 1 && reach < draft.capacity()
}
