use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::Window;

/// Figures over a run of windows. Rates are per second of scenario time; tiers count as their last
/// one, the order-status server, where no other is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Figures {
    /// How many windows there are.
    pub seconds: u64,
    /// New requests per second (offered load).
    pub offered: f64,
    /// Good requests per second (goodput).
    pub goodput: f64,
    /// Good ÷ offered; absent where nothing was offered. Above 1 while a backlog drains.
    pub ratio: Option<f64>,
    /// Attempts per second on the wire.
    pub attempts: f64,
    /// Attempts ÷ offered; absent where nothing was offered.
    pub attempts_per_request: Option<f64>,
    /// The largest attempts ÷ offered of a single window.
    pub attempts_per_request_peak: Option<f64>,
    /// Answers per second that the last tier completed; absent where there is no view of it.
    pub throughput: Option<f64>,
    /// Busy slot time ÷ slot time of the last tier, from 0 to 1.
    pub utilisation: Option<f64>,
    /// Slot time for callers who had gone ÷ busy slot time, from 0 to 1; absent where nothing was busy.
    pub wasted_share: Option<f64>,
    /// The largest median queue delay of a window, in seconds.
    pub queue_delay_peak: Option<f64>,
    /// The most attempts that waited at the end of a window.
    pub queue_peak: Option<u64>,
    /// Requests per second that the last tier could serve, on average; absent where unlimited.
    pub capacity: Option<f64>,
}

impl Figures {
    /// The figures of these windows; none where there are none.
    pub fn over(windows: &[Window]) -> Option<Self> {
        if windows.is_empty() {
            return None;
        }
        let seconds = windows.len() as f64;
        let sum = |of: fn(&Window) -> u64| windows.iter().map(of).sum::<u64>() as f64;
        let offered = sum(|w| w.client.offered);
        let good = sum(|w| w.client.good);
        let attempts = sum(|w| w.client.attempts);
        let peak = windows
            .iter()
            .filter_map(|w| over(w.client.attempts as f64, w.client.offered as f64))
            .max_by(f64::total_cmp);
        let figures = Self {
            seconds: windows.len() as u64,
            offered: offered / seconds,
            goodput: good / seconds,
            ratio: over(good, offered),
            attempts: attempts / seconds,
            attempts_per_request: over(attempts, offered),
            attempts_per_request_peak: peak,
            ..Self::default()
        };
        Some(figures.with_tier(windows))
    }

    fn with_tier(mut self, windows: &[Window]) -> Self {
        let tiers: Vec<_> = windows.iter().filter_map(|window| window.tiers.last()).collect();
        if tiers.is_empty() {
            return self;
        }
        let seconds = tiers.len() as f64;
        let useful: f64 = tiers.iter().map(|tier| tier.busy_useful).sum();
        let wasted: f64 = tiers.iter().map(|tier| tier.busy_wasted).sum();
        let slots: f64 = tiers.iter().map(|tier| f64::from(tier.slots)).sum();
        let capacity: Option<f64> = tiers.iter().map(|tier| tier.capacity).sum();
        let seen = tiers.iter().filter(|tier| tier.queue_delay.count > 0);
        self.throughput = Some(tiers.iter().map(|tier| tier.served).sum::<u64>() as f64 / seconds);
        self.utilisation = over(useful + wasted, slots).map(|share| share.min(1.0));
        self.wasted_share = over(wasted, useful + wasted);
        self.queue_delay_peak = seen.map(|tier| tier.queue_delay.p50).max_by(f64::total_cmp);
        self.queue_peak = tiers.iter().map(|tier| tier.queued).max();
        self.capacity = capacity.map(|sum| sum / seconds);
        self
    }
}

/// A quotient, or none where there is nothing to divide by.
fn over(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
