//! Whether a baseline is healthy, as far as that can be claimed.

use std::ops::Range;

use goodput_clock::Timestamp;
use goodput_policy::limiter::Capacity;
use goodput_runlog::{ClientWindow, Cohort};
use goodput_scenario::Scenario;
use goodput_statistics::{Bounds, share};

use crate::Seen;

/// Seconds at the start that belong to no baseline: connections are opened, caches filled.
pub const WARM_UP: u64 = 5;

/// The share of requests that must end well over the whole of a baseline: a system that fails one
/// request of twenty without a fault is not the one to test.
pub const HEALTHY: f64 = 0.95;

/// The share that must end well over the last block of a baseline: what fails at the end of it fails
/// without the trigger. Lower than [`HEALTHY`], since a short span shows more noise.
pub const HEALTHY_LAST: f64 = 0.90;

/// Requests in a block: ten of them are a tenth, so that a block tells 95 % from 85 %.
pub const BLOCK_REQUESTS: f64 = 100.0;

/// The whole seconds of the baseline before a trigger: from the warm-up on, or from earlier where less
/// than `hold` seconds would be left.
pub fn span(trigger: Timestamp, hold: u64) -> Range<u64> {
    let to = trigger.elapsed().as_secs();
    WARM_UP.min(to.saturating_sub(hold))..to
}

/// How many seconds of these cohorts are judged at a time: `hold`, or as long as [`BLOCK_REQUESTS`]
/// take. At most as many as there are.
pub fn block(cohorts: &[Cohort], hold: u64) -> usize {
    let seconds = cohorts.len();
    let requests = arrived(cohorts);
    let filled = (BLOCK_REQUESTS * seconds as f64 / requests.max(1) as f64).ceil() as usize;
    filled.max(hold as usize).min(seconds)
}

/// A baseline that is claimed not to be healthy.
#[derive(Clone, Debug, PartialEq)]
pub struct Unhealthy {
    /// Which part of it.
    pub part: Part,
    /// Where that part lies in the cohorts.
    pub seconds: Range<usize>,
    /// The requests in it.
    pub requests: u64,
    /// The share of them that ended well, or had not ended.
    pub share: Bounds,
    /// The share that is needed.
    pub needed: f64,
}

/// A part of a baseline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Its last [`block`].
    Last,
}

/// Whether these cohorts of a baseline are claimed not to be healthy, which needs a share whose *upper*
/// bound is below [`HEALTHY`] over the whole or below [`HEALTHY_LAST`] over the last block. Requests
/// that have not ended count as good.
///
/// Bounds are those of [`share`] at 99 %, in batches of a block, and in at least five: with three of
/// them Student's t is so wide that a baseline without a single good answer could pass.
pub fn unhealthy(cohorts: &[Cohort], hold: u64) -> Option<Unhealthy> {
    let block = block(cohorts, hold);
    let whole = 0..cohorts.len();
    let found = |part, seconds: Range<usize>, share: Bounds, needed| Unhealthy {
        part,
        requests: arrived(&cohorts[seconds.clone()]),
        seconds,
        share,
        needed,
    };
    if let Some(share) = whole_share(cohorts, block)
        && share.high < HEALTHY
    {
        return Some(found(Part::Whole, whole, share, HEALTHY));
    }
    let last = cohorts.len() - block..cohorts.len();
    let share = at_most(&cohorts[last.clone()], block)?;
    (share.high < HEALTHY_LAST).then(|| found(Part::Last, last, share, HEALTHY_LAST))
}

/// The share of all of these that is good or open. What is open ends the series with a stretch that
/// seems perfect and is only unknown, which no interval of a steady series stands for: the bound is
/// also that of the decided seconds at the start with all that came later as good, where that is lower.
fn whole_share(cohorts: &[Cohort], block: usize) -> Option<Bounds> {
    let mut whole = at_most(cohorts, block)?;
    let decided = cohorts.iter().position(|cohort| cohort.open() > 0).unwrap_or(cohorts.len());
    let (first, rest) = cohorts.split_at(decided);
    if let Some(first_share) = at_most(first, block) {
        let (first, rest) = (arrived(first) as f64, arrived(rest) as f64);
        let high = (first_share.high * first + rest) / (first + rest);
        whole.high = whole.high.min(high.max(whole.value));
    }
    Some(whole)
}

/// The share of these that is good or open, with its bounds.
fn at_most(cohorts: &[Cohort], block: usize) -> Option<Bounds> {
    let of = |cohort: &Cohort| (hopeful(cohort) as f64, cohort.arrived as f64);
    let series: Vec<_> = cohorts.iter().map(of).collect();
    share(&series, block.min(series.len() / BATCHES).max(1))
}

/// A time in which nothing ended well.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Silent {
    /// How long it lasts, in seconds up to now.
    pub(crate) seconds: usize,
    /// The requests from before that have not ended.
    pub(crate) open: u64,
}

/// Whether nothing comes back: for a block, and for as long as answers may take, no request has ended
/// well, while some that came before that time have not ended either. Requests that live long could
/// otherwise pass for good until the trigger, though not one of them is answered.
pub(crate) fn silent(seen: &Seen<'_>, block: usize, patience: usize) -> Option<Silent> {
    let seconds = block.max(patience);
    let from = seen.windows.len().checked_sub(seconds)?;
    let good: u64 = seen.windows[..from].iter().map(|window| window.good).sum();
    // Cohorts are seen to this moment, while the latest windows may be missing.
    let good_now: u64 = seen.cohorts.iter().map(|cohort| cohort.good).sum();
    let quiet = seen.windows[from..].iter().all(|window| window.good == 0) && good_now <= good;
    let open = seen.cohorts.iter().take(from).map(Cohort::open).sum();
    (quiet && open >= REQUESTS_LEAST).then_some(Silent { seconds, open })
}

/// How many seconds an answer may take: as long as one took, or some times the mean service.
pub(crate) fn patience(scenario: &Scenario, windows: &[&ClientWindow]) -> usize {
    let seen = windows.iter().map(|window| window.latency.max).fold(0.0, f64::max);
    let service = scenario.tiers.iter().map(|tier| match tier.limiter.capacity {
        Capacity::Limited(rate) => f64::from(tier.limiter.slots) / rate.per_second(),
        Capacity::Unlimited => 0.0,
    });
    (SERVICES * service.sum::<f64>()).max(seen).ceil() as usize
}

fn arrived(cohorts: &[Cohort]) -> u64 {
    cohorts.iter().map(|cohort| cohort.arrived).sum()
}

/// Requests that ended well, or still may.
const fn hopeful(cohort: &Cohort) -> u64 {
    cohort.good + cohort.open()
}

/// A span is cut into at least so many batches.
const BATCHES: usize = 5;
/// Fewer open requests than this are no claim.
const REQUESTS_LEAST: u64 = 20;
/// An answer may take so many mean services: an exponential one takes longer in one of 400 cases.
const SERVICES: f64 = 6.0;
