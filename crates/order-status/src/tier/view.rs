//! What a tier looks like from outside.

use std::collections::BTreeMap;
use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_control::api::ServerCounters;
use goodput_control::wall;
use goodput_policy::limiter::{LimiterConfig, QueueLimit};

use super::{Core, Tier};
use crate::metrics::{Outcome, Reading};

/// What a tier looks like at one moment, in wall time.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) config: LimiterConfig,
    pub(crate) reading: Reading,
    pub(crate) counters: ServerCounters,
    /// (Upper bound in seconds, count in the bucket), by bound.
    pub(crate) queue_delay: Vec<(f64, u64)>,
    pub(crate) restarts: u64,
    /// Since the start, in wall time.
    pub(crate) uptime: Duration,
}

impl Tier {
    /// What the tier looks like, all of it read at one moment.
    pub(crate) fn view(&self) -> View {
        self.with_core(|core, now| {
            let mut delays = core.delays.clone();
            delays.record_immediate(self.metrics.immediate());
            let scale = self.clock.scale();
            View {
                config: core.limiter.config().clone(),
                reading: self.reading(core, now),
                counters: self.counters(),
                queue_delay: wall::delays_view(&delays, scale),
                restarts: core.restarts,
                uptime: scale.to_wall(now.elapsed()),
            }
        })
    }

    /// What the gauges show.
    pub(crate) fn gauges(&self) -> Reading {
        self.with_core(|core, now| self.reading(core, now))
    }

    fn reading(&self, core: &Core, now: Timestamp) -> Reading {
        let scale = self.clock.scale();
        let limiter = &core.limiter;
        Reading {
            slots: limiter.slots(),
            capacity: scale.rate_to_wall(limiter.capacity()),
            in_service: limiter.in_service(),
            queued: limiter.queued(),
            queue_capacity: match limiter.config().queue_limit {
                QueueLimit::Unbounded => f64::INFINITY,
                QueueLimit::Bounded(limit) => f64::from(limit),
            },
            oldest_age: limiter
                .oldest_arrival()
                .map_or(Duration::ZERO, |arrived| scale.to_wall(now.since(arrived))),
            admitted: core.edge.share(now).get(),
        }
    }

    fn counters(&self) -> ServerCounters {
        let metrics = &self.metrics;
        let (busy_useful, busy_wasted) = metrics.busy();
        let refused: BTreeMap<_, _> = metrics
            .refused()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        ServerCounters {
            received: metrics.received.get(),
            served: metrics.finished(Outcome::Ok),
            refused,
            cancelled: metrics.finished(Outcome::Cancelled),
            errors: metrics.finished(Outcome::Error),
            busy_useful,
            busy_wasted,
        }
    }
}
