//! From where on a run is not trusted. Reports show these beside what was measured.

/// Good ÷ offered that a baseline must have, over the whole of it.
pub const HEALTHY: f64 = 0.95;
/// The share by which offered requests may be off the schedule.
pub const OFF_SCHEDULE: f64 = 0.005;
/// The share of requests that may find no connection.
pub const UNSENT: f64 = 0.005;
/// The share of the smallest time-out that the 99th percentile of the send lag may reach.
pub const LATE: f64 = 0.1;
