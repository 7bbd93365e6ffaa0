//! What is judged: the spans, the blocks and the band, before anything is said of them.

use goodput_runlog::{Figures, RunLog, Window};
use goodput_scenario::{Arrivals, Scenario};
use goodput_statistics::{Bounds, share, wilson_at};

use crate::limits::{BLOCK_REQUESTS, SETTLED_BLOCKS};
use crate::load::OfferedLoad;
use crate::model::{Baseline, Rule, Span};
use crate::series::Series;
use crate::trigger;

/// A run cut into what is judged.
pub(crate) struct Frame<'a> {
    pub(crate) log: &'a RunLog,
    pub(crate) scenario: &'a Scenario,
    pub(crate) series: Series<'a>,
    pub(crate) trigger: Option<Span>,
    pub(crate) baseline: Option<Baseline>,
    pub(crate) load: OfferedLoad,
    pub(crate) rule: Rule,
    /// The length of a block, in seconds.
    pub(crate) block: u64,
    /// From where on goodput is judged: the trigger's end, or the baseline's where there was none.
    pub(crate) origin: f64,
    /// The first second that is not judged: the end, or where requests begin whose fate is not known.
    pub(crate) end: u64,
    /// Whether a lever still turns users away at the end, so that the share of those who are admitted is
    /// judged.
    pub(crate) admitted_only: bool,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(log: &'a RunLog, scenario: &'a Scenario) -> Self {
        let series = Series::new(log, scenario.duration.as_secs());
        let trigger = trigger::trigger(log, scenario, series.seconds);
        let hold = scenario.expect.hold.as_secs_f64().ceil().max(1.0) as u64;
        let seconds = series.seconds;
        // The length of a block hangs on the rate, and the spans on the length of a block.
        let tail = (seconds.saturating_sub(hold), seconds);
        let rough = baseline_span(&series, trigger, hold);
        let load = OfferedLoad::of(log, scenario, &series, rough, tail);
        let block = block(hold, load, scenario);
        let span = baseline_span(&series, trigger, block);
        let load = OfferedLoad::of(log, scenario, &series, span, tail);
        let baseline = baseline(&series, span);
        let origin = trigger.map_or(span.1 as f64, |trigger| trigger.to);
        let needed = scenario.expect.goodput_ratio.get() * baseline.map_or(1.0, |b| b.ratio);
        let rule = Rule {
            goodput_ratio: scenario.expect.goodput_ratio.get(),
            hold: hold as f64,
            within: scenario.expect.within.as_secs_f64(),
            block: block as f64,
            needed,
            life: scenario.life().as_secs_f64(),
        };
        let end = decided(&series, scenario, rule.life);
        let admitted_only = admits_less(series.slice(seconds.saturating_sub(1), seconds));
        let origin = origin.min(seconds as f64);
        Self {
            log,
            scenario,
            series,
            trigger,
            baseline,
            load,
            rule,
            block,
            origin,
            end,
            admitted_only,
        }
    }

    /// The first whole second after the trigger.
    pub(crate) fn start(&self) -> u64 {
        self.origin.ceil() as u64
    }

    /// Of the requests that arrived in `from..to`, how many count and how many ended well.
    pub(crate) fn counts(&self, from: u64, to: u64) -> (f64, f64) {
        let mut arrived = self.series.arrived(from, to);
        if self.admitted_only {
            arrived = arrived.saturating_sub(self.series.turned_away(from, to));
        }
        (self.series.good(from, to) as f64, arrived as f64)
    }

    /// The share of a span; none where nothing arrived.
    pub(crate) fn ratio(&self, from: u64, to: u64) -> Option<f64> {
        let (good, arrived) = self.counts(from, to);
        (arrived > 0.0).then(|| good / arrived)
    }

    /// The share of the block from a second; none where nothing arrived.
    pub(crate) fn block_ratio(&self, from: u64) -> Option<f64> {
        self.ratio(from, from + self.block)
    }

    /// Whether a block is in the band. One in which nothing arrived says nothing, and is not out of it.
    pub(crate) fn holds(&self, from: u64) -> bool {
        // The margin is for rounding alone: a boundary exactly met is met.
        self.block_ratio(from).is_none_or(|ratio| ratio >= self.rule.needed - 1e-9)
    }

    /// The pooled share of a span with what can be claimed of it; none where nothing arrived.
    pub(crate) fn share(&self, from: u64, to: u64) -> Option<Bounds> {
        let seconds: Vec<(f64, f64)> = (from..to).map(|s| self.counts(s, s + 1)).collect();
        share(&seconds, self.block as usize)
    }

    /// What can be claimed of one block, by its count alone.
    pub(crate) fn block_low(&self, from: u64) -> f64 {
        let (good, arrived) = self.counts(from, from + self.block);
        wilson_at(good, arrived, goodput_statistics::Z).0
    }

    /// The seconds in which goodput must show that it has settled: the last three blocks.
    pub(crate) fn last_blocks(&self) -> (u64, u64) {
        let from = self.end.saturating_sub(SETTLED_BLOCKS * self.block);
        (from.max(self.start().min(self.end)), self.end)
    }

    /// The windows of the last three blocks.
    pub(crate) fn last_windows(&self) -> &'a [Window] {
        let (from, to) = self.last_blocks();
        self.series.slice(from, to)
    }

    /// The windows of the baseline.
    pub(crate) fn calm(&self) -> &'a [Window] {
        let span = self.baseline.map_or(Span::default(), |baseline| baseline.span);
        self.series.slice(span.from as u64, span.to as u64)
    }

    /// The figures of some seconds.
    pub(crate) fn figures(&self, from: u64, to: u64) -> Option<Figures> {
        Figures::over(self.series.slice(from, to))
    }

    /// By how much more attempts requests made in `from..to` than in the baseline; none where nothing was
    /// offered.
    pub(crate) fn amplification(&self, from: u64, to: u64) -> Option<f64> {
        let calm = self.baseline.map_or(Span::default(), |baseline| baseline.span);
        let before = self.series.attempts_per_request(calm.from as u64, calm.to as u64);
        let now = self.series.attempts_per_request(from, to)?;
        Some(now / before.unwrap_or(1.0).max(1.0))
    }

    /// How long goodput was watched after the trigger, in seconds.
    pub(crate) fn tail(&self) -> f64 {
        (self.end as f64 - self.origin).max(0.0)
    }
}

/// The length of a block: `hold`, or as long as it takes for a hundred requests to arrive, or two batches.
pub(crate) fn block(hold: u64, load: OfferedLoad, scenario: &Scenario) -> u64 {
    let rate = load.before.min(load.end).max(f64::MIN_POSITIVE);
    let batch = match scenario.load.arrivals {
        Arrivals::Batch { size } => 2.0 * f64::from(size),
        Arrivals::Constant | Arrivals::Poisson => 0.0,
    };
    let seconds = (BLOCK_REQUESTS.max(batch) / rate).ceil();
    hold.max(if seconds < LONGEST_BLOCK { seconds as u64 } else { LONGEST_BLOCK as u64 })
}

/// Where the baseline lies.
fn baseline_span(series: &Series<'_>, trigger: Option<Span>, block: u64) -> (u64, u64) {
    let Some(trigger) = trigger else {
        let warm_up = WARM_UP.min(series.seconds.saturating_sub(2 * block));
        let length = (series.seconds.saturating_sub(warm_up) / 4).min(QUIET_MOST).max(block);
        return (warm_up, (warm_up + length).min(series.seconds));
    };
    let start = (trigger.from.floor() as u64).min(series.seconds);
    // Who came last before the trigger may have met it.
    let latency = p99(series.slice(WARM_UP.min(start), start)).max(1.0).ceil() as u64;
    let to = start.saturating_sub(latency).max(start / 2);
    (WARM_UP.min(to.saturating_sub(block)), to)
}

/// The 99th percentile of the latency, by the windows' median of it.
fn p99(windows: &[Window]) -> f64 {
    let mut values: Vec<f64> = windows
        .iter()
        .filter(|window| window.client.latency.count > 0)
        .map(|window| window.client.latency.p99)
        .collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn baseline(series: &Series<'_>, (from, to): (u64, u64)) -> Option<Baseline> {
    let (arrived, good) = (series.arrived(from, to), series.good(from, to));
    if arrived == 0 || to <= from {
        return None;
    }
    let seconds = (to - from) as f64;
    Some(Baseline {
        span: Span { from: from as f64, to: to as f64 },
        offered: arrived as f64 / seconds,
        goodput: good as f64 / seconds,
        ratio: good as f64 / arrived as f64,
    })
}

/// The first second whose requests have neither all ended nor all outlived a life, when the watch ended.
fn decided(series: &Series<'_>, scenario: &Scenario, life: f64) -> u64 {
    let watched = scenario.duration.as_secs_f64() + scenario.watch().as_secs_f64();
    let open = |second: &u64| {
        series.cohort(*second).open() > 0 && (*second + 1) as f64 + life > watched + 1e-9
    };
    (0..series.seconds).find(open).unwrap_or(series.seconds)
}

/// Whether a lever still turns traffic away in the last window.
fn admits_less(last: &[Window]) -> bool {
    let shares = last.iter().flat_map(|window| &window.tiers).filter_map(|tier| tier.admitted);
    shares.fold(1.0, f64::min) < 0.99
}

/// Seconds at the start that belong to no baseline: connections are opened, caches filled.
pub(crate) const WARM_UP: u64 = 5;
/// The longest baseline of a run without a trigger, in seconds, unless a block is longer.
const QUIET_MOST: u64 = 60;
/// No block is longer than a day.
const LONGEST_BLOCK: f64 = 86_400.0;
