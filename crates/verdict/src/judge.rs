use std::collections::BTreeMap;

use goodput_runlog::{Ending, RunLog, Window};
use goodput_scenario::Scenario;
use goodput_statistics::Bounds;

use crate::bottleneck::Bottleneck;
use crate::cause;
use crate::convergence::{Claim, Convergence};
use crate::course::Course;
use crate::doubts;
use crate::evidence;
use crate::frame::Frame;
use crate::limits::{BACK_BLOCKS, INDIFFERENCE, SETTLED_BLOCKS};
use crate::model::{
    Cause, Doubt, DoubtKind, Interval, Judgement, PhaseFigures, Sustaining, Verdict,
};
use crate::sustaining;
use crate::words;

/// Judges what a run saw against its scenario.
///
/// What is judged is the share of the requests that *arrived* in a span of time and ended well, over spans
/// of the requests whose fate is known. Blocks are as long as `hold`, or as a hundred requests take; the
/// band is `goodput_ratio` of the baseline's share. Goodput is *back* with the first block in the band
/// whose answers came then too, and has *settled* where three blocks pass without a stretch deep below
/// it. *Down* and *back* are claims with an interval at 99 %; what cannot be claimed over the last blocks
/// is looked for over more of the tail, and is inconclusive where it is not found there either.
///
/// A run that is down is told apart in this order: nobody is reached (*down*), the load is more than the
/// capacity (*overloaded*), answers are wrong and nothing waits (*damaged*), it converges
/// (*slow-recovery*), what limits it is not seen (*unknown*), it does not converge and what sustains it is
/// in sight (*metastable*).
///
/// The rule in full, with its sources, is `docs/verdicts.md`. A run with any [`Doubt`] is inconclusive,
/// whatever else it shows; the figures are given all the same.
pub fn judge(log: &RunLog, scenario: &Scenario) -> Judgement {
    let frame = Frame::new(log, scenario);
    let course = Course::of(&frame);
    let bottleneck = Bottleneck::of(&frame);
    let convergence = Convergence::of(&frame, &course, bottleneck.as_ref());
    let sustaining = sustaining::effects(&frame, bottleneck.as_ref());
    let seen = Seen { frame, course, bottleneck, convergence, sustaining };
    let mut doubts = doubts::all(&seen);
    let (verdict, cause) =
        if doubts.is_empty() { seen.verdict() } else { (Verdict::Inconclusive, None) };
    let mut run_longer =
        doubts.iter().find(|doubt| doubt.kind == DoubtKind::TooShort).and(seen.lacking());
    if verdict == Verdict::Inconclusive && doubts.is_empty() {
        run_longer = Some(seen.longer());
        doubts.push(words::undecided(&seen, run_longer));
    }
    seen.judgement(verdict, cause, doubts, run_longer)
}

/// All that was seen of a run, before it is judged.
pub(crate) struct Seen<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) course: Course,
    pub(crate) bottleneck: Option<Bottleneck>,
    pub(crate) convergence: Convergence,
    pub(crate) sustaining: Vec<Sustaining>,
}

impl Seen<'_> {
    /// The outcome of a run that can be trusted.
    fn verdict(&self) -> (Verdict, Option<Cause>) {
        let Self { frame, course, .. } = self;
        if course.holds(frame) {
            return (if frame.trigger.is_some() { self.in_time() } else { self.quiet() }, None);
        }
        if course.comes_and_goes(frame) {
            return (Verdict::Unstable, None);
        }
        if course.down {
            return self.down();
        }
        (self.on_its_way().unwrap_or(Verdict::Inconclusive), None)
    }

    /// The outcome of a run that is neither claimed to be in its band nor out of it, where what it comes to is
    /// certain all the same: it was never lost again, and
    /// - even if every request made all its attempts, they could be served: it is back, or comes back;
    /// - or it was back too late, so that how long it stays there tells nothing but how slow it was.
    fn on_its_way(&self) -> Option<Verdict> {
        let Self { frame, course, convergence, .. } = self;
        frame.trigger?;
        if !course.deep.is_empty() {
            return None;
        }
        let in_band = frame.holds(frame.end.saturating_sub(frame.block));
        let certain = convergence.never_more;
        match course.back {
            Some(_) if !in_band => None,
            Some(_) if certain => Some(self.in_time()),
            Some(_) if convergence.claim != Claim::MoreThanCapacity => {
                Some(self.in_time()).filter(|verdict| *verdict == Verdict::SlowRecovery)
            }
            None if certain => Some(Verdict::SlowRecovery),
            Some(_) | None => None,
        }
    }

    /// The outcome of a run without a trigger that is in its band and has settled there.
    fn quiet(&self) -> Verdict {
        // A single stretch out of the band is neither steady nor enough to say that it comes and goes.
        match self.course.deep.len() {
            0 => Verdict::Steady,
            _ if self.course.comes_and_goes(&self.frame) => Verdict::Unstable,
            _ => Verdict::Inconclusive,
        }
    }

    /// The outcome of a run that is back and has settled.
    fn in_time(&self) -> Verdict {
        let within = self.frame.origin + self.frame.rule.within;
        let back = self.course.back.map(|second| second as f64);
        let settled = self.course.back_for_good().map(|second| second as f64);
        let in_time = |second: Option<f64>| second.is_some_and(|second| second <= within + 1e-9);
        if in_time(back) && in_time(settled) { Verdict::Recovered } else { Verdict::SlowRecovery }
    }

    /// The outcome of a run that is claimed to be down at its end.
    fn down(&self) -> (Verdict, Option<Cause>) {
        let Self { frame, convergence, bottleneck, sustaining, .. } = self;
        let of = |cause| (Verdict::NotRecovered, Some(cause));
        if let Some(cause) = cause::plain(frame, bottleneck.as_ref()) {
            return of(cause);
        }
        if convergence.claim.converges() {
            return (Verdict::SlowRecovery, None);
        }
        if bottleneck.is_none() {
            return of(Cause::Unknown);
        }
        match convergence.claim {
            // What arrives is more than can be served even before anybody retries.
            Claim::MoreThanCapacity if cause::exceeded(frame).is_some() => of(Cause::Overloaded),
            Claim::MoreThanCapacity if !self.lasts() => (Verdict::Inconclusive, None),
            Claim::MoreThanCapacity if sustaining.is_empty() => of(Cause::Unknown),
            Claim::MoreThanCapacity => (Verdict::Metastable, None),
            Claim::LessThanCapacity | Claim::NeverMore | Claim::Falls | Claim::Open => {
                (Verdict::Inconclusive, None)
            }
        }
    }

    /// Whether a run that is down has been so for longer than those who failed at its beginning live: until
    /// then their retries may be all that keeps it down.
    fn lasts(&self) -> bool {
        let Self { frame, course, .. } = self;
        let lasted = frame.end.saturating_sub(course.down_since(frame)) as f64;
        let block = frame.block as f64;
        lasted + 1e-9 >= (frame.rule.life + block).max(SETTLED_BLOCKS as f64 * block)
    }

    /// By how many seconds the time after the trigger is too short for any verdict; none where it is not.
    pub(crate) fn lacking(&self) -> Option<f64> {
        let frame = &self.frame;
        let needed = if frame.trigger.is_some() {
            let blocks = (SETTLED_BLOCKS * frame.block) as f64;
            frame.rule.within.max(blocks).max(frame.rule.life)
        } else {
            (BACK_BLOCKS * frame.block) as f64
        };
        // Spans are whole seconds, and a trigger may end between two.
        let lacking = needed - frame.tail();
        (lacking > 1.0).then(|| lacking.ceil())
    }

    /// By how many seconds to run longer, where the run is long enough for some verdict and says none.
    fn longer(&self) -> f64 {
        let Self { frame, convergence, .. } = self;
        let blocks = (SETTLED_BLOCKS * frame.block) as f64;
        let left = convergence.left.map_or(0.0, |left| left.value);
        frame.tail().max(blocks).max(left.min(10.0 * frame.tail())).ceil()
    }

    fn judgement(
        self,
        verdict: Verdict,
        cause: Option<Cause>,
        doubts: Vec<Doubt>,
        run_longer: Option<f64>,
    ) -> Judgement {
        let summary = words::summary(&self, verdict, cause, &doubts);
        let notes = words::notes(&self, verdict);
        let phases = self.phases();
        let evidence = evidence::all(&self, &phases);
        let Self { frame, course, convergence, sustaining, .. } = self;
        let since = |second: u64| (second as f64 - frame.origin).max(0.0);
        let relapsed = course.deep.last().map(|stretch| stretch.from - frame.origin);
        let down = course.down && verdict != Verdict::Inconclusive;
        Judgement {
            verdict,
            cause,
            summary,
            notes,
            rule: frame.rule,
            trigger: frame.trigger,
            baseline: frame.baseline,
            time_to_recover: course.back.filter(|_| frame.trigger.is_some()).map(since),
            time_to_recover_most: course.back_surely.filter(|_| frame.trigger.is_some()).map(since),
            since_lever: words::since_lever(&frame, &course),
            time_left: convergence.left.filter(|_| down && verdict == Verdict::SlowRecovery),
            relapsed,
            settled: course.back_for_good().filter(|_| !course.down).map(since),
            share: course.share.map(interval),
            stretches: course.deep,
            sustaining: if course.down { sustaining } else { Vec::new() },
            run_longer,
            outcomes: outcomes(frame.series.slice(frame.start(), frame.series.seconds)),
            goodput_lost: goodput_lost(&frame),
            doubts,
            evidence,
            phases,
        }
    }

    fn phases(&self) -> PhaseFigures {
        let frame = &self.frame;
        let over = |from: u64, to: u64| frame.figures(from, to);
        let end = frame.series.seconds;
        let during = frame.trigger.and_then(|trigger| {
            over(trigger.from.floor() as u64, (trigger.to.ceil() as u64).min(end))
        });
        PhaseFigures {
            before: frame.baseline.and_then(|b| over(b.span.from as u64, b.span.to as u64)),
            during,
            after: over(frame.start(), end),
            end: over(end.saturating_sub(frame.block), end),
        }
    }
}

fn interval(bounds: Bounds) -> Interval {
    Interval { value: bounds.value, low: bounds.low, high: Some(bounds.high) }
}

/// How the attempts of these windows ended.
fn outcomes(windows: &[Window]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, count) in windows.iter().flat_map(|window| &window.client.outcomes) {
        *sums.entry(name.clone()).or_insert(0_u64) += count;
    }
    sums
}

/// Requests that arrived since the trigger began and would have been good at the baseline's share.
fn goodput_lost(frame: &Frame<'_>) -> f64 {
    let Some(baseline) = frame.baseline else { return 0.0 };
    let from = frame.trigger.map_or(baseline.span.to, |trigger| trigger.from).floor() as u64;
    let due = frame.series.arrived(from, frame.end) as f64 * baseline.ratio;
    (due - frame.series.good(from, frame.end) as f64).max(0.0)
}

/// Whether a run ended as it was meant to, so that its length is what was asked for.
pub(crate) fn is_whole(log: &RunLog) -> bool {
    log.ending == Ending::Completed
}

/// Whether a share is neither claimed to be in the band nor out of it.
pub(crate) fn is_open(share: Bounds, needed: f64) -> bool {
    share.low < needed - INDIFFERENCE && share.high >= needed
}

#[cfg(test)]
mod tests;
