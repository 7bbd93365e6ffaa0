//! The numbers that a verdict rests on, each with its reason. Reports show them beside what was measured.

pub use goodput_gate::{BLOCK_REQUESTS, HEALTHY, HEALTHY_LAST};

/// The share by which offered requests may be off the schedule.
pub const OFF_SCHEDULE: f64 = 0.005;
/// The share of requests that may find no connection.
pub const UNSENT: f64 = 0.005;
/// The share of the smallest time-out that the 99th percentile of the send lag may reach.
pub const LATE: f64 = 0.1;
/// The share of the usual requests of a block that must arrive for it to tell that goodput is back.
pub const TELLING: f64 = 0.5;
/// Fewer requests than this in a baseline do not tell 95 % from 100 %.
pub const REQUESTS_MIN: f64 = 50.0;
/// What lies so far below the band's edge may get either verdict: no run of minutes tells the two apart.
pub const INDIFFERENCE: f64 = 0.03;
/// How far below the band a stretch must be, over two blocks, to be deep: a healthy system at 90 % of its
/// capacity has shallower dips.
pub const DEEP: f64 = 0.10;
/// How many blocks a deep stretch covers at least.
pub const DEEP_BLOCKS: u64 = 2;
/// How many blocks goodput must have been back for, where it was not lost again.
pub const BACK_BLOCKS: u64 = 2;
/// How many blocks must be without a deep stretch for goodput to have settled after one, and how many are
/// pooled to claim that it is down.
pub const SETTLED_BLOCKS: u64 = 3;
/// So many deep stretches with a sustaining effect are unstable, whatever the share is.
pub const RELAPSES: usize = 3;
/// Attempts per request against the baseline's that speak for a sustaining effect in each of these.
pub const RELAPSE_AMPLIFICATION: f64 = 1.5;
/// The same at the end of a run that is down.
pub const AMPLIFICATION: f64 = 1.2;
/// The share of busy time spent for callers who had gone that sustains a failure.
pub const WASTED: f64 = 0.5;
/// A tier this busy is the bottleneck.
pub const BUSY: f64 = 0.95;
/// The share of attempts that must be refused, reset or reach nobody for a service to be down.
pub const DOWN: f64 = 0.9;
/// The share of failed attempts that must have been answered, and wrongly, for a service to be damaged.
pub const DAMAGED: f64 = 0.5;
/// An offered load above the baseline's by this factor is another load.
pub const MORE_LOAD: f64 = 1.02;
/// The same where the capacity is not seen, so that the load is all there is to go by.
pub const MORE_LOAD_UNSEEN: f64 = 1.05;
/// A trend must empty the backlog within so many tails to count.
pub const HORIZON_TAILS: f64 = 10.0;
/// By how much two counts of one thing may differ, as a share and in requests: rounding, and a request
/// that was counted on one side of a poll and not on the other.
pub const RECONCILED: f64 = 0.01;
/// The same in requests.
pub const RECONCILED_LEAST: f64 = 5.0;
