//! Whether a run that is down comes back by itself: first by the balance of work, then by what cannot be
//! otherwise, then by a trend.

use goodput_runlog::EventKind;
use goodput_scenario::Scenario;
use goodput_scenario::closed_form::amplification;
use goodput_statistics::{Bounds, Trend, mean, trend};

use crate::bottleneck::{Bottleneck, backlog, least_capacity, smallest_timeout};
use crate::course::Course;
use crate::frame::Frame;
use crate::limits::{HORIZON_TAILS, SETTLED_BLOCKS};
use crate::model::Interval;

/// Where a run that is down goes.
pub(crate) struct Convergence {
    pub(crate) claim: Claim,
    /// Whether fewer attempts would reach the bottleneck than it can serve even if every request made
    /// all of its own.
    pub(crate) never_more: bool,
    /// What is to be worked off at the end.
    pub(crate) backlog: f64,
    /// Attempts a second that reach the bottleneck, where it is seen.
    pub(crate) attempts: Option<Bounds>,
    /// The backlog's change per second, where a trend can be told.
    pub(crate) slope: Option<f64>,
    /// How long it takes until the backlog is gone, where it goes.
    pub(crate) left: Option<Interval>,
}

/// What can be claimed of where a run goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Claim {
    /// Fewer attempts reach the bottleneck than it can serve.
    LessThanCapacity,
    /// Even if every request made all its attempts, fewer would reach it than it can serve.
    NeverMore,
    /// The backlog falls.
    Falls,
    /// More attempts reach the bottleneck than it can serve, or its queue is full.
    MoreThanCapacity,
    /// Nothing.
    Open,
}

impl Claim {
    /// Whether the run comes back.
    pub(crate) const fn converges(self) -> bool {
        matches!(self, Self::LessThanCapacity | Self::NeverMore | Self::Falls)
    }
}

impl Convergence {
    pub(crate) fn of(frame: &Frame<'_>, course: &Course, bottleneck: Option<&Bottleneck>) -> Self {
        let level = level(frame);
        let span = (since_peak(frame, course), frame.end);
        let fall = falling(frame, span);
        let slope = fall.map(|fall| fall.0);
        let most = frame.load.end * most_attempts(frame.scenario);
        let fewer = |capacity: f64| most < capacity * (1.0 - 1e-9);
        let Some(bottleneck) = bottleneck else {
            let never_more = all_seen(frame) && least_capacity(frame).is_some_and(fewer);
            // Nothing is known of the capacity, so that a trend is all there is.
            let claim = if fall.is_some_and(|fall| fall.1) { Claim::Falls } else { Claim::Open };
            let left = left_by_slope(level, fall.filter(|fall| fall.1));
            return Self { claim, never_more, backlog: level, attempts: None, slope, left };
        };
        let balance = |from: u64| {
            mean(&bottleneck.attempts(frame.series.slice(from, frame.end)), batch(frame))
        };
        let capacity = bottleneck.capacity;
        let recent = balance(span.0);
        let lately_from = lately(frame, course);
        let lately = balance(lately_from);
        let attempts = recent.or(lately);
        let never_more = fewer(capacity);
        let claim = if recent.is_some_and(|attempts| attempts.high < capacity) {
            Claim::LessThanCapacity
        } else if never_more {
            Claim::NeverMore
        } else if bottleneck.at_bound || lately.is_some_and(|attempts| attempts.low > capacity) {
            if frame.load.end * amplification(frame.scenario) < capacity {
                // More than budgets allow in the long run: what they had saved up runs out.
                Claim::Open
            } else if !bottleneck.at_bound
                && fall.is_some_and(|fall| fall.1)
                && bottleneck.takes_less(frame.series.slice(lately_from, frame.end))
            {
                // What waits goes, since what arrives is turned away; whether goodput is back then is not known
                // before.
                Claim::Open
            } else if others_drain(frame, bottleneck, lately_from) {
                Claim::Open
            } else {
                Claim::MoreThanCapacity
            }
        } else if fall.is_some_and(|fall| fall.1) {
            Claim::Falls
        } else {
            Claim::Open
        };
        let left = match claim {
            Claim::LessThanCapacity | Claim::NeverMore => attempts.map(|attempts| {
                let most = attempts.high.min(capacity.mul_add(1.0, -f64::EPSILON));
                Interval {
                    value: over(level, capacity - attempts.value.min(most)),
                    low: over(level, capacity - attempts.low),
                    high: (attempts.high < capacity).then(|| over(level, capacity - attempts.high)),
                }
            }),
            Claim::Falls => left_by_slope(level, fall),
            Claim::MoreThanCapacity | Claim::Open => None,
        };
        Self { claim, never_more, backlog: level, attempts, slope, left }
    }
}

/// How long a batch of attempts is, in seconds: no longer than a block, since there are more attempts than
/// requests, and as long as what links one second's attempts to another's, a time-out and the one after it.
fn batch(frame: &Frame<'_>) -> usize {
    let linked = 2.0 * smallest_timeout(frame.scenario);
    frame.rule.hold.max(linked).min(frame.block as f64).ceil() as usize
}

/// Whether another full tier may be working off what waits there. One that feeds the bottleneck feeds it
/// with all it can serve until then, and no more afterwards; one that the bottleneck feeds gets no more
/// than that serves, and what waits there may be all that keeps goodput down.
fn others_drain(frame: &Frame<'_>, bottleneck: &Bottleneck, from: u64) -> bool {
    let windows = frame.series.slice(from, frame.end);
    let exceeds = |other: &Bottleneck| {
        let attempts = mean(&other.attempts(windows), batch(frame));
        // Budgets that were saved up let more through than they do in the long run.
        if frame.load.end * amplification_at(frame.scenario, other.tier) < other.capacity {
            return false;
        }
        other.at_bound || attempts.is_some_and(|attempts| attempts.low > other.capacity)
    };
    let all = Bottleneck::all(frame);
    all.iter().any(|other| other.tier != bottleneck.tier && !exceeds(other))
}

/// Attempts that a request makes at this tier in the long run.
fn amplification_at(scenario: &Scenario, tier: usize) -> f64 {
    let mut before = scenario.clone();
    before.tiers.truncate(tier);
    amplification(&before)
}

/// Whether every tier of the scenario is seen at the end.
fn all_seen(frame: &Frame<'_>) -> bool {
    let last = frame.series.slice(frame.end.saturating_sub(1), frame.end).last();
    last.is_some_and(|window| window.tiers.len() == frame.scenario.tiers.len())
}

/// The most attempts that a request can make at the last tier: Π(R + 1) over the client's layers and
/// those of every gateway.
fn most_attempts(scenario: &Scenario) -> f64 {
    let gateways = scenario.tiers.iter().flat_map(|tier| &tier.layers);
    let retries = gateways.map(|layer| f64::from(layer.retries) + 1.0).product::<f64>();
    scenario.max_attempts() as f64 * retries * raised(scenario)
}

/// By how much a `retries` lever of the timeline may raise that.
fn raised(scenario: &Scenario) -> f64 {
    use goodput_policy::lever::Lever;
    let most = scenario.levers.iter().filter_map(|planned| {
        let Lever::Retries { retries, .. } = planned.lever else { return None };
        Some(f64::from(retries) + 1.0)
    });
    let least = scenario.client.layers.iter().map(|layer| f64::from(layer.retries) + 1.0);
    let least = least.fold(f64::INFINITY, f64::min);
    most.fold(1.0, |factor, retries| factor.max(retries / least))
}

/// What is to be worked off at the end, over what the baseline had.
fn level(frame: &Frame<'_>) -> f64 {
    let average = |windows: &[goodput_runlog::Window]| {
        windows.iter().map(backlog).sum::<f64>() / windows.len().max(1) as f64
    };
    let last = frame.series.slice(frame.end.saturating_sub(frame.block), frame.end);
    (average(last) - average(frame.calm())).max(0.0)
}

/// The second from which the balance tells where the run goes: the peak of the backlog, the trigger's end
/// or the last lever, whichever is latest, but no later than three blocks before the end.
fn since_peak(frame: &Frame<'_>, course: &Course) -> u64 {
    let start = course.down_since(frame).max(frame.start());
    let windows = frame.series.slice(start, frame.end);
    let peak = windows.iter().max_by(|a, b| backlog(a).total_cmp(&backlog(b)));
    let peak = peak.map_or(start, |window| window.second);
    let lever = last_lever(frame).unwrap_or_default();
    let latest = frame.end.saturating_sub(SETTLED_BLOCKS * frame.block);
    start.max(peak).max(lever).min(latest.max(start))
}

/// The second half of what the run has been down for, at least three blocks.
fn lately(frame: &Frame<'_>, course: &Course) -> u64 {
    let start = course.down_since(frame).max(frame.start());
    let half = start + frame.end.saturating_sub(start) / 2;
    let lever = last_lever(frame).unwrap_or_default();
    let latest = frame.end.saturating_sub(SETTLED_BLOCKS * frame.block);
    half.max(lever).min(latest.max(start))
}

/// When the last lever was pulled, in whole seconds.
fn last_lever(frame: &Frame<'_>) -> Option<u64> {
    let pulled = |kind: &EventKind| matches!(kind, EventKind::LeverPulled { .. });
    let levers = frame.log.events.iter().filter(|event| pulled(&event.kind));
    levers.map(|event| event.at.as_secs_f64().ceil() as u64).max()
}

/// The backlog's slope per second over a span, with whether it is claimed to fall fast enough to end
/// within ten tails; none where there are too few values.
fn falling(frame: &Frame<'_>, (from, to): (u64, u64)) -> Option<(f64, bool)> {
    let windows = frame.series.slice(from, to);
    let size = windows.len().div_ceil(Trend::MOST / 2).max(1);
    let blocks: Vec<f64> = windows
        .rchunks_exact(size)
        .rev()
        .map(|chunk| chunk.iter().map(backlog).sum::<f64>() / size as f64)
        .collect();
    let found = trend(&blocks)?;
    let level = blocks.last().copied().unwrap_or_default();
    let slowest = found.high / size as f64;
    let ends = slowest < 0.0 && level / -slowest <= HORIZON_TAILS * frame.tail().max(1.0);
    Some((found.slope / size as f64, found.falls() && ends))
}

fn left_by_slope(level: f64, fall: Option<(f64, bool)>) -> Option<Interval> {
    let (slope, _) = fall.filter(|(slope, _)| *slope < 0.0)?;
    Some(Interval { value: level / -slope, low: 0.0, high: None })
}

/// How long a backlog takes at this surplus of capacity.
fn over(level: f64, surplus: f64) -> f64 {
    if surplus > 0.0 { (level / surplus).min(LONGEST) } else { LONGEST }
}

/// No figure of time is longer than a year.
const LONGEST: f64 = 365.0 * 86_400.0;
