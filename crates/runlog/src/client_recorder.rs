use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use goodput_clock::Timestamp;

use crate::cohorts::Cohorts;
use crate::histogram::Histogram;
use crate::model::{ClientWindow, Cohort, Totals};
use crate::outcomes::{OutcomeKey, Outcomes};

/// What became of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestEnd {
    /// It ended well and in time.
    Good,
    /// It was answered after its deadline.
    Late,
    /// It failed; the index of its last failure's class.
    Failed(usize),
    /// It found no connection within its time-out because of the generator's own caps.
    Unsent,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RequestEnded {
    /// What became of it.
    pub end: RequestEnd,
    /// When the schedule wanted it sent.
    pub intended: Timestamp,
    /// When its last attempt was sent in fact; read only where it ended well.
    pub sent: Timestamp,
    /// How many attempts it made.
    pub attempts: u32,
    /// Whether its last attempt was turned away by a lever at a server's edge; read only where the
    /// request failed.
    pub turned_away: bool,
}

/// What a recording came to.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The windows that had not been handed out.
    pub windows: Vec<(u64, ClientWindow)>,
    /// The cohorts that had not been handed out, by the second of their arrival.
    pub cohorts: Vec<(u64, Cohort)>,
    /// Figures over the whole run.
    pub totals: Totals,
}

/// Folds what a load generator does into windows of one second, one call a fact.
///
/// Every fact counts in the window in which it happens, an arrival in the window of its intended
/// time, so that arms which share a schedule offer the same number in each window however late
/// their generators were. For this a finished window waits until an arrival of a later one has been
/// issued, or for [`ClientRecorder::GRACE`]. An arrival that is issued later still counts in the oldest
/// window that has not been handed out: it is never lost, and the totals are exact.
///
/// Apart from the windows each second has a [`Cohort`]: what became of the requests that arrived in it. A
/// cohort is handed out once nothing can change it any more, a request's life after its second.
///
/// A run may be watched beyond its end ([`ClientRecorder::ending`]), so that what it left open is seen to
/// end: arrivals after the end count in windows and cohorts of their own seconds, and not in the totals.
///
/// `now` must not decrease; an earlier one counts as the latest that was seen. Between two windows
/// memory is constant, and no call but the first of a second allocates.
#[derive(Debug)]
pub struct ClientRecorder {
    classes: Vec<&'static str>,
    reasons: Vec<&'static str>,
    /// The second that is counted now, and its end in nanoseconds.
    second: u64,
    end: u64,
    now: Counts,
    /// Ended windows that may still gain arrivals.
    waiting: VecDeque<(u64, ClientWindow)>,
    /// The latest intended time of an arrival that was issued.
    issued: Timestamp,
    gauges: Gauges,
    latency: Histogram,
    send_lag: Histogram,
    totals: TotalCounts,
    cohorts: Cohorts,
    outcomes: Outcomes,
    /// What is due from here on is not part of the totals.
    ends: Timestamp,
}

impl ClientRecorder {
    /// How long after its end a window waits for arrivals that it still lacks.
    pub const GRACE: Duration = Duration::from_secs(1);

    /// A recorder at the start of a run. Failure classes and reasons for not retrying are told by
    /// their index in these names; what lies past them, or past the first 16, counts as `other`.
    pub fn new(classes: &[&'static str], reasons: &[&'static str]) -> Self {
        Self {
            classes: classes.iter().copied().take(SLOTS - 1).collect(),
            reasons: reasons.iter().copied().take(SLOTS - 1).collect(),
            second: 0,
            end: SECOND,
            now: Counts::default(),
            waiting: VecDeque::new(),
            issued: Timestamp::ZERO,
            gauges: Gauges::default(),
            latency: Histogram::new(),
            send_lag: Histogram::new(),
            totals: TotalCounts::default(),
            cohorts: Cohorts::new(Self::LIFE),
            outcomes: Outcomes::default(),
            ends: Timestamp::MAX,
        }
    }

    /// How long a request may live, where [`ClientRecorder::with_life`] says nothing else.
    pub const LIFE: Duration = Duration::from_mins(5);

    /// Expects requests that live so long at most.
    #[must_use]
    pub fn with_life(mut self, life: Duration) -> Self {
        self.cohorts = Cohorts::new(life);
        self
    }

    /// Counts in the totals only what was due before `ends`.
    #[must_use]
    pub fn ending(mut self, ends: Timestamp) -> Self {
        self.ends = ends;
        self
    }

    /// A new request of the schedule was issued, which was due at `intended`.
    pub fn offered(&mut self, now: Timestamp, intended: Timestamp) {
        self.roll(now);
        self.issued = self.issued.max(intended);
        self.cohorts.arrived(intended);
        self.totals.offered += u64::from(intended < self.ends);
        self.gauges.requests += 1;
        let second = intended.as_nanos() / SECOND;
        if second >= self.second || self.waiting.is_empty() {
            self.now.offered += 1;
            return;
        }
        // The oldest window that waits is at most a few seconds back.
        let index = self.waiting.partition_point(|(waiting, _)| *waiting < second);
        if let Some((_, window)) = self.waiting.get_mut(index) {
            window.offered += 1;
        }
    }

    /// An attempt began: it looks for a connection.
    pub fn attempt_began(&mut self, now: Timestamp) {
        self.roll(now);
        self.gauges.attempts += 1;
    }

    /// An attempt was written to a connection; `number` counts within its request, from 1.
    pub fn attempt_sent(&mut self, now: Timestamp, number: u32) {
        self.roll(now);
        self.now.attempts += 1;
        self.now.retries += u64::from(number > 1);
    }

    /// An attempt that began has ended with this outcome, well or with a failure of the class of this
    /// index.
    pub fn attempt_ended(&mut self, now: Timestamp, failure: Option<usize>, outcome: OutcomeKey) {
        self.roll(now);
        self.outcomes.count(outcome);
        self.gauges.attempts = self.gauges.attempts.saturating_sub(1);
        if let Some(class) = failure {
            self.now.attempts_failed[slot(class, &self.classes)] += 1;
        }
    }

    /// How long after its intended time a request was sent first.
    pub fn send_lag(&mut self, now: Timestamp, lag: Duration) {
        self.roll(now);
        self.send_lag.record(lag);
    }

    /// A policy refused a retry, for the reason of this index.
    pub fn suppressed(&mut self, now: Timestamp, reason: usize) {
        self.roll(now);
        self.now.suppressed[slot(reason, &self.reasons)] += 1;
    }

    /// A request has ended.
    pub fn request_ended(&mut self, now: Timestamp, request: &RequestEnded) {
        self.roll(now);
        self.gauges.requests = self.gauges.requests.saturating_sub(1);
        let good = request.end == RequestEnd::Good;
        self.cohorts.ended(request.intended, good, request.turned_away);
        let counted = request.intended < self.ends;
        if counted {
            self.totals.request(request.attempts);
        }
        match request.end {
            RequestEnd::Good => {
                self.now.good += 1;
                self.latency.record(now.since(request.intended));
                if counted {
                    self.totals.good += 1;
                    self.totals.latency.record(now.since(request.intended));
                    self.totals.service.record(now.since(request.sent));
                }
            }
            RequestEnd::Late => self.now.late += 1,
            RequestEnd::Failed(class) => self.now.failed[slot(class, &self.classes)] += 1,
            RequestEnd::Unsent => {
                self.now.unsent += 1;
                self.totals.unsent += u64::from(counted);
            }
        }
    }

    /// A connection was opened.
    pub fn connection_opened(&mut self, now: Timestamp) {
        self.roll(now);
        self.now.connects += 1;
        self.gauges.connections += 1;
    }

    /// An open connection was closed.
    pub fn connection_closed(&mut self, now: Timestamp) {
        self.roll(now);
        self.gauges.connections = self.gauges.connections.saturating_sub(1);
    }

    /// Takes the oldest finished window with its second, if one is due at `now`. Best asked after the
    /// arrivals that are due have been issued.
    pub fn next_window(&mut self, now: Timestamp) -> Option<(u64, ClientWindow)> {
        self.roll(now);
        let (second, _) = self.waiting.front()?;
        let end = Timestamp::from_secs(second + 1);
        if self.issued >= end || now >= end + Self::GRACE { self.waiting.pop_front() } else { None }
    }

    /// Takes the oldest cohort that is decided, with its second: all of its requests have ended, or are
    /// older than one may get.
    pub fn next_cohort(&mut self) -> Option<(u64, Cohort)> {
        self.cohorts.next()
    }

    /// What has become so far of the requests that arrived in each second, decided or not, from the
    /// first second whose cohort was not [handed out](Self::next_cohort).
    pub fn cohorts(&self) -> impl Iterator<Item = (u64, Cohort)> {
        self.cohorts.iter()
    }

    /// How many requests that were due before this second have not ended.
    pub fn open_before(&self, second: u64) -> u64 {
        self.cohorts.open_before(second)
    }

    /// The share `quantile` of all requests so far was sent no later than this after its intended
    /// time, in scenario time.
    pub fn send_lag_quantile(&self, quantile: f64) -> Duration {
        let mut all = self.totals.send_lag.clone();
        all.merge(&self.send_lag);
        all.quantile(quantile)
    }

    /// Requests issued so far.
    pub fn offered_total(&self) -> u64 {
        self.totals.offered
    }

    /// Requests that ended well and in time so far.
    pub fn good_total(&self) -> u64 {
        self.totals.good
    }

    /// Requests that found no connection so far, because of the generator's own caps.
    pub fn unsent_total(&self) -> u64 {
        self.totals.unsent
    }

    /// Attempts on the wire or waiting for a connection.
    pub fn attempts_in_flight(&self) -> u64 {
        self.gauges.attempts
    }

    /// Requests that have not ended.
    pub fn requests_in_flight(&self) -> u64 {
        self.gauges.requests
    }

    /// Connections open.
    pub fn connections(&self) -> u64 {
        self.gauges.connections
    }

    /// Ends the recording at `now`: hands out the windows and the cohorts that are left, the last of
    /// which may be cut short, and the totals. A last window in which nothing could happen yet is left
    /// out.
    pub fn finish(mut self, now: Timestamp) -> Recorded {
        self.roll(now);
        let begun = now.as_nanos() > self.second * SECOND;
        if begun || self.now != Counts::default() || !self.outcomes.is_empty() {
            self.close();
        }
        Recorded {
            windows: self.waiting.into(),
            cohorts: self.cohorts.finish(),
            totals: self.totals.into_totals(),
        }
    }

    /// Closes every window that has ended by `now`.
    fn roll(&mut self, now: Timestamp) {
        while now.as_nanos() >= self.end {
            self.close();
        }
    }

    #[cold]
    fn close(&mut self) {
        let counts = std::mem::take(&mut self.now);
        let window = ClientWindow {
            offered: counts.offered,
            good: counts.good,
            late: counts.late,
            failed: named(&counts.failed, &self.classes),
            unsent: counts.unsent,
            attempts: counts.attempts,
            retries: counts.retries,
            attempts_failed: named(&counts.attempts_failed, &self.classes),
            suppressed: named(&counts.suppressed, &self.reasons),
            outcomes: self.outcomes.take(),
            cohort: Cohort::default(),
            attempts_in_flight: self.gauges.attempts,
            requests_in_flight: self.gauges.requests,
            connections: self.gauges.connections,
            connects: counts.connects,
            latency: self.latency.quantiles(),
            send_lag: self.send_lag.quantiles(),
        };
        if self.second * SECOND < self.ends.as_nanos() {
            self.totals.send_lag.merge(&self.send_lag);
        }
        self.latency.clear();
        self.send_lag.clear();
        self.waiting.push_back((self.second, window));
        self.cohorts.roll(Timestamp::from_nanos(self.end));
        self.second += 1;
        self.end = self.end.saturating_add(SECOND);
    }
}

/// What is counted in a window.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Counts {
    offered: u64,
    good: u64,
    late: u64,
    unsent: u64,
    attempts: u64,
    retries: u64,
    connects: u64,
    failed: [u64; SLOTS],
    attempts_failed: [u64; SLOTS],
    suppressed: [u64; SLOTS],
}

#[derive(Debug, Default)]
struct Gauges {
    requests: u64,
    attempts: u64,
    connections: u64,
}

#[derive(Debug)]
struct TotalCounts {
    offered: u64,
    good: u64,
    unsent: u64,
    latency: Histogram,
    service: Histogram,
    send_lag: Histogram,
    /// By number of attempts; more than the last index in `many_attempts`.
    attempts: [u64; FEW_ATTEMPTS],
    many_attempts: BTreeMap<u32, u64>,
}

impl Default for TotalCounts {
    fn default() -> Self {
        Self {
            offered: 0,
            good: 0,
            unsent: 0,
            latency: Histogram::new(),
            service: Histogram::new(),
            send_lag: Histogram::new(),
            attempts: [0; FEW_ATTEMPTS],
            many_attempts: BTreeMap::new(),
        }
    }
}

impl TotalCounts {
    fn request(&mut self, attempts: u32) {
        match self.attempts.get_mut(attempts as usize) {
            Some(count) => *count += 1,
            // Several layers can multiply to any number, so that the rare large ones share a bound.
            None => *self.many_attempts.entry(attempts.min(MANY_ATTEMPTS)).or_default() += 1,
        }
    }

    fn into_totals(self) -> Totals {
        let few = self.attempts.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut attempts_per_request: BTreeMap<u32, u64> =
            few.map(|(attempts, count)| (attempts as u32, *count)).collect();
        attempts_per_request.extend(self.many_attempts);
        Totals {
            latency: self.latency.buckets(),
            service: self.service.buckets(),
            send_lag: self.send_lag.buckets(),
            attempts_per_request,
        }
    }
}

/// Where an index counts: at its name, or as `other` past the names.
fn slot(index: usize, names: &[&'static str]) -> usize {
    index.min(names.len())
}

fn named(counts: &[u64; SLOTS], names: &[&'static str]) -> BTreeMap<String, u64> {
    let names = names.iter().copied().chain(["other"]);
    let counted = names.zip(counts).filter(|(_, count)| **count > 0);
    counted.map(|(name, count)| (name.to_owned(), *count)).collect()
}

const SECOND: u64 = 1_000_000_000;
const SLOTS: usize = 17;
const FEW_ATTEMPTS: usize = 129;
const MANY_ATTEMPTS: u32 = 4_096;

#[cfg(test)]
mod tests;
