use std::collections::BTreeMap;

use goodput_clock::Timestamp;

use crate::model::TierWindow;

/// A server's state at a moment: what it has counted since it started, and its gauges. All times
/// and rates are scenario time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TierSample {
    /// When the server read it, since the run began.
    pub at: Timestamp,
    /// Differs for each process, so that a restart is seen.
    pub instance: String,
    /// See [`TierWindow::received`], cumulated.
    pub received: u64,
    /// See [`TierWindow::served`], cumulated.
    pub served: u64,
    /// See [`TierWindow::refused`], cumulated.
    pub refused: BTreeMap<String, u64>,
    /// See [`TierWindow::cancelled`], cumulated.
    pub cancelled: u64,
    /// See [`TierWindow::errors`], cumulated.
    pub errors: u64,
    /// See [`TierWindow::busy_useful`], cumulated, in seconds.
    pub busy_useful: f64,
    /// See [`TierWindow::busy_wasted`], cumulated, in seconds.
    pub busy_wasted: f64,
    /// The queue delay, cumulated: (upper bound in seconds, count in the bucket), by bound.
    pub queue_delay: Vec<(f64, u64)>,
    /// Attempts that wait.
    pub queued: u64,
    /// Attempts that hold a slot.
    pub in_service: u64,
    /// Slots in force.
    pub slots: u32,
    /// Requests per second that can be served; absent where unlimited.
    pub capacity: Option<f64>,
    /// The share of traffic that is admitted.
    pub admitted: Option<f64>,
    /// How long the oldest has waited, in seconds.
    pub oldest_age: f64,
}

/// A server whose counters began anew.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Restarted {
    /// The tier.
    pub tier: String,
    /// When it was noticed: the restart lies between the sample before and this one.
    pub seen: Timestamp,
}

/// Turns a server's cumulated counters, read at irregular times, into windows of one second.
#[derive(Debug)]
pub struct TierSampler {
    name: String,
}

impl TierSampler {
    /// A sampler of the tier of this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// Takes the next sample, and says whether the server restarted before it.
    pub fn push(&mut self, sample: &TierSample) -> Option<Restarted> {
        let _ = (sample, &self.name);
        None
    }

    /// Takes the oldest window, with its second, that the samples so far cover wholly.
    pub fn next_window(&mut self) -> Option<(u64, TierWindow)> {
        None
    }

    /// Ends the sampling after `seconds` whole seconds: hands out the windows that are left. What no
    /// sample covers shows no change.
    pub fn finish(self, seconds: u64) -> Vec<(u64, TierWindow)> {
        let _ = seconds;
        Vec::new()
    }
}
