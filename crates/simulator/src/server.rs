//! One tier: its edge, limiter and faults, and what it has counted in the running window.

use std::collections::BTreeMap;
use std::time::Duration;

use goodput_clock::{Seed, Timestamp};
use goodput_policy::attempt::{AttemptResult, FailureClass};
use goodput_policy::edge::Edge;
use goodput_policy::fault::FaultTable;
use goodput_policy::limiter::{Admission, Completion, JobId, Limiter, QueueDelays, Refusal};
use goodput_runlog::{TierWindow, bucket_quantiles};
use goodput_scenario as scenario;

use crate::call::Key;
use crate::simulation::{Answer, Message, Simulation};

/// A tier.
#[derive(Debug)]
pub(crate) struct Tier {
    pub(crate) name: String,
    pub(crate) limiter: Limiter<Sent>,
    pub(crate) edge: Edge,
    pub(crate) faults: FaultTable,
    pub(crate) counts: Counts,
    /// For a gateway: its own requests to the next tier, by the attempt that each is for.
    pub(crate) forwarded: BTreeMap<Key, u32>,
    delays: QueueDelays,
}

/// What an attempt carries through the limiter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) key: Key,
    /// By when its answer is of use.
    pub(crate) deadline: Timestamp,
}

/// What a tier has counted in the running window.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) received: u64,
    pub(crate) served: u64,
    pub(crate) refused: [u64; Refusal::ALL.len()],
    /// Refusals of the next tier that a gateway passed on.
    pub(crate) upstream_overloaded: u64,
    pub(crate) upstream_expired: u64,
    pub(crate) cancelled: u64,
    pub(crate) errors: u64,
    busy_useful: Duration,
    busy_wasted: Duration,
}

impl Tier {
    pub(crate) fn new(tier: &scenario::Tier, seed: Seed) -> Self {
        let stream = |what: &str| seed.stream(&format!("{}-{what}", tier.name));
        Self {
            name: tier.name.clone(),
            limiter: Limiter::new(tier.limiter.clone(), stream("service")),
            edge: Edge::new(stream("edge")),
            faults: FaultTable::default(),
            counts: Counts::default(),
            forwarded: BTreeMap::new(),
            delays: QueueDelays::default(),
        }
    }

    /// When its next service ends.
    fn wakeup(&self) -> Timestamp {
        self.limiter.next_wakeup().map_or(Timestamp::MAX, |(at, _)| at)
    }

    /// The window that ends now.
    fn window(&mut self, now: Timestamp) -> TierWindow {
        let counts = std::mem::take(&mut self.counts);
        let upstream = [
            ("upstream-overloaded", counts.upstream_overloaded),
            ("upstream-expired", counts.upstream_expired),
        ];
        let refused = Refusal::ALL.into_iter().map(Refusal::name).zip(counts.refused);
        let oldest = self.limiter.oldest_arrival();
        let delays = self.delays.buckets();
        let delays = delays.map(|(bound, count)| (bound.as_secs_f64(), count as f64));
        let window = TierWindow {
            name: self.name.clone(),
            received: counts.received,
            served: counts.served,
            refused: refused
                .chain(upstream)
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
            cancelled: counts.cancelled,
            errors: counts.errors,
            busy_useful: counts.busy_useful.as_secs_f64(),
            busy_wasted: counts.busy_wasted.as_secs_f64(),
            queued: self.limiter.queued() as u64,
            in_service: self.limiter.in_service() as u64,
            slots: self.limiter.slots(),
            capacity: Some(self.limiter.capacity()).filter(|capacity| capacity.is_finite()),
            admitted: Some(self.edge.share(now).get()),
            queue_delay: bucket_quantiles(delays),
            oldest_age: oldest.map_or(0.0, |arrived| now.since(arrived).as_secs_f64()),
            sample_gap: 0.0,
        };
        self.delays.clear();
        window
    }
}

impl Simulation<'_> {
    /// An attempt reaches a tier.
    pub(crate) fn on_request(&mut self, level: usize, key: Key, remaining: u64) {
        let now = self.now;
        let tier = &mut self.tiers[level];
        tier.counts.received += 1;
        if !tier.edge.on_arrival(now) {
            tier.counts.refused[Refusal::NotAdmitted as usize] += 1;
            return self.answer(level, key, refused(Refusal::NotAdmitted));
        }
        let deadline = now + Duration::from_nanos(remaining);
        match tier.limiter.arrive(now, deadline, Sent { key, deadline }) {
            Admission::Accepted(job) => match self.callers[level].calls.current(key) {
                Some(running) => running.phase = crate::call::Phase::Accepted(job),
                // The caller hung up while its attempt was on its way.
                None => tier.limiter.disconnect(now, job),
            },
            Admission::Refused(_, reason) => {
                tier.counts.refused[reason as usize] += 1;
                self.answer(level, key, refused(reason));
            }
        }
        self.settle(level);
    }

    /// A tier learns that the caller of a job has gone.
    pub(crate) fn on_hung_up(&mut self, level: usize, job: JobId) {
        self.tiers[level].limiter.disconnect(self.now, job);
        self.settle(level);
    }

    /// A service ends somewhere.
    pub(crate) fn on_service_ends(&mut self) {
        for level in 0..self.tiers.len() {
            if self.tiers[level].wakeup() <= self.now {
                self.tiers[level].limiter.advance(self.now);
                self.settle(level);
            }
        }
    }

    /// Takes what a limiter has completed, and when it is due next.
    pub(crate) fn settle(&mut self, level: usize) {
        while let Some(completion) = self.tiers[level].limiter.poll() {
            self.count_event();
            self.complete(level, completion);
        }
        self.service = self.tiers.iter().map(Tier::wakeup).min().unwrap_or(Timestamp::MAX);
    }

    /// Sends the answer to an attempt, if anybody waits for it.
    pub(crate) fn answer(&mut self, level: usize, key: Key, answer: Answer) {
        if self.callers[level].calls.is_current(key) {
            let at = self.now + self.network_delay();
            self.wire.push(at, Message::Answer { level: level as u8, key, answer });
        }
    }

    /// Hands the finished windows of all tiers over.
    pub(crate) fn close_tier_windows(&mut self) {
        let now = self.now;
        let windows = self.tiers.iter_mut().map(|tier| tier.window(now)).collect();
        self.ledger.tier_windows.push_back(windows);
    }

    fn complete(&mut self, level: usize, completion: Completion<Sent>) {
        let is_last = level + 1 == self.tiers.len();
        let Tier { counts, delays, .. } = &mut self.tiers[level];
        delays.record(&completion);
        match completion {
            Completion::Served { payload, started, ended, wasted, .. } => {
                let busy = if wasted { &mut counts.busy_wasted } else { &mut counts.busy_useful };
                *busy += ended.since(started);
                if is_last {
                    counts.served += 1;
                    self.answer(level, payload.key, Answer::of(AttemptResult::Success));
                } else {
                    self.forward(level, payload);
                }
            }
            Completion::Refused { payload, reason, .. } => {
                counts.refused[reason as usize] += 1;
                self.answer(level, payload.key, refused(reason));
            }
            Completion::Cancelled { .. } => counts.cancelled += 1,
        }
    }
}

/// What a caller sees of a refusal.
pub(crate) const fn refused(reason: Refusal) -> Answer {
    let class = match reason {
        Refusal::Expired => FailureClass::Expired,
        // The connection is gone with the process.
        Refusal::Restart => FailureClass::Connect,
        Refusal::QueueFull | Refusal::SafetyCap | Refusal::Shed | Refusal::NotAdmitted => {
            FailureClass::Overloaded
        }
    };
    let turned_away = matches!(reason, Refusal::NotAdmitted);
    Answer { turned_away, ..Answer::of(AttemptResult::Failure(class)) }
}
