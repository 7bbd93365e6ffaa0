//! What limits the service, where it is seen: its capacity, what reaches it, and what waits for it.

use goodput_policy::limiter::{QueueLimit, Refusal};
use goodput_runlog::{TierWindow, Window};
use goodput_scenario::Scenario;

use crate::frame::Frame;
use crate::limits::BUSY;

/// The tier that limits the service, as it was in the tail.
pub(crate) struct Bottleneck {
    /// Its place in the windows, outermost first.
    pub(crate) tier: usize,
    /// Its name.
    pub(crate) name: String,
    /// Requests per second that it can serve at the end.
    pub(crate) capacity: f64,
    /// The median queue delay in the last blocks, in seconds.
    pub(crate) delay: f64,
    /// Whether its queue is at its bound in the last blocks, and refuses what comes.
    pub(crate) at_bound: bool,
    /// The share of busy time spent for callers who had gone, in the last blocks.
    pub(crate) wasted: f64,
}

impl Bottleneck {
    /// The tier that is full, or whose queue its callers do not outwait; none where no such tier is seen. One
    /// without a capacity of its own waits for the next, which is what limits.
    pub(crate) fn of(frame: &Frame<'_>) -> Option<Self> {
        // Of several full tiers the narrowest.
        Self::all(frame).into_iter().min_by(|a, b| a.capacity.total_cmp(&b.capacity))
    }

    /// All tiers that are, outermost first.
    pub(crate) fn all(frame: &Frame<'_>) -> Vec<Self> {
        let last = frame.last_windows();
        let count = last.iter().map(|window| window.tiers.len()).min().unwrap_or_default();
        let patience = smallest_timeout(frame.scenario);
        let full = |tier: &usize| {
            capacity(last, *tier).is_some()
                && (utilisation(last, *tier) >= BUSY || median_delay(last, *tier) >= patience / 2.0)
        };
        let of = |tier| Self {
            tier,
            name: last[0].tiers[tier].name.clone(),
            capacity: capacity(last, tier).unwrap_or(f64::INFINITY),
            delay: median_delay(last, tier),
            at_bound: at_bound(frame.scenario, last, tier),
            wasted: wasted(last, tier),
        };
        (0..count).filter(full).map(of).collect()
    }

    /// Attempts a second that reach the tier, refused and cancelled ones included, but for those that a
    /// lever turns away before they cost anything.
    pub(crate) fn attempts(&self, windows: &[Window]) -> Vec<f64> {
        let of = |tier: &TierWindow| {
            let turned_away = tier.refused.get(Refusal::NotAdmitted.name()).copied();
            tier.received.saturating_sub(turned_away.unwrap_or_default()) as f64
        };
        windows.iter().filter_map(|window| window.tiers.get(self.tier)).map(of).collect()
    }

    /// Whether fewer attempts reach the tier than it can serve, but for those that it refuses or drops.
    pub(crate) fn takes_less(&self, windows: &[Window]) -> bool {
        let of = |tier: &TierWindow| {
            let refused = tier.refused.values().map(|count| *count as f64).sum::<f64>();
            tier.received as f64 - refused
        };
        let taken: f64 = of_tier(windows, self.tier).map(of).sum();
        taken < self.capacity * windows.len() as f64
    }
}

/// The least capacity of a tier that is seen, at the end; none where none is seen or all are unlimited.
pub(crate) fn least_capacity(frame: &Frame<'_>) -> Option<f64> {
    let last = frame.series.slice(frame.end.saturating_sub(1), frame.end).last()?;
    last.tiers.iter().filter_map(|tier| tier.capacity).min_by(f64::total_cmp)
}

/// The smallest time-out of anybody who calls a tier, in seconds.
pub(crate) fn smallest_timeout(scenario: &Scenario) -> f64 {
    let gateways = scenario.tiers.iter().flat_map(|tier| &tier.layers);
    let timeouts = gateways.filter_map(|layer| layer.timeout);
    timeouts.fold(scenario.smallest_timeout(), std::time::Duration::min).as_secs_f64()
}

/// What waits: in the tiers' queues where they are seen, else the client's attempts in flight.
pub(crate) fn waiting(window: &Window) -> f64 {
    if window.tiers.is_empty() {
        return window.client.attempts_in_flight as f64;
    }
    window.tiers.iter().map(|tier| tier.queued).sum::<u64>() as f64
}

/// What is still to be worked off: what waits, and requests that wait to be tried again.
pub(crate) fn backlog(window: &Window) -> f64 {
    let outside = window.client.requests_in_flight.saturating_sub(window.client.attempts_in_flight);
    waiting(window) + outside as f64
}

fn of_tier(windows: &[Window], tier: usize) -> impl Iterator<Item = &TierWindow> {
    windows.iter().filter_map(move |window| window.tiers.get(tier))
}

fn utilisation(windows: &[Window], tier: usize) -> f64 {
    let busy: f64 = of_tier(windows, tier).map(|t| t.busy_useful + t.busy_wasted).sum();
    let slots: f64 = of_tier(windows, tier).map(|t| f64::from(t.slots)).sum();
    let limited = of_tier(windows, tier).any(|t| t.capacity.is_some());
    if slots > 0.0 && limited { busy / slots } else { 0.0 }
}

fn wasted(windows: &[Window], tier: usize) -> f64 {
    let useful: f64 = of_tier(windows, tier).map(|t| t.busy_useful).sum();
    let wasted: f64 = of_tier(windows, tier).map(|t| t.busy_wasted).sum();
    if useful + wasted > 0.0 { wasted / (useful + wasted) } else { 0.0 }
}

/// The median of the windows' medians, each as often as it has delays: seconds in which much was served
/// say more than those in which little was.
fn median_delay(windows: &[Window], tier: usize) -> f64 {
    let mut delays: Vec<(f64, u64)> = of_tier(windows, tier)
        .filter(|t| t.queue_delay.count > 0)
        .map(|t| (t.queue_delay.p50, t.queue_delay.count))
        .collect();
    delays.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = delays.iter().map(|(_, count)| count).sum::<u64>().div_ceil(2);
    let mut seen = 0;
    let median = delays.iter().find(|(_, count)| {
        seen += count;
        seen >= half
    });
    median.map_or(0.0, |(delay, _)| *delay)
}

fn capacity(windows: &[Window], tier: usize) -> Option<f64> {
    of_tier(windows, tier).last()?.capacity
}

fn at_bound(scenario: &Scenario, windows: &[Window], tier: usize) -> bool {
    let bounded = scenario.tiers.get(tier).map(|tier| tier.limiter.queue_limit);
    let refused = |t: &TierWindow| {
        t.refused.contains_key(Refusal::QueueFull.name())
            || t.refused.contains_key(Refusal::SafetyCap.name())
    };
    let seconds = of_tier(windows, tier).filter(|t| refused(t)).count();
    bounded.is_some_and(|limit| match limit {
        QueueLimit::Bounded(_) => seconds * 2 >= windows.len().max(1),
        QueueLimit::Unbounded => false,
    })
}
