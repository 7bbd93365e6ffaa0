//! A sum over a sliding window, counted exactly in fixed buckets aligned to bucket edges.
//!
//! The window is the running bucket and the nine before it, so that it reaches back between 9/10 of
//! its length and all of it. Its edges are those of scenario time and not of the first event: two
//! budgets of one length turn over together, and a run repeats.

use std::time::Duration;

use goodput_clock::Timestamp;

/// A sum of what was added within a window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    bucket_nanos: u64,
    /// The number of the running bucket since the start of scenario time.
    current: u64,
    buckets: [i64; BUCKETS],
    sum: i64,
}

impl Window {
    /// An empty window of this length.
    pub(super) fn new(length: Duration) -> Self {
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        Self {
            bucket_nanos: (nanos / BUCKETS as u64).max(1),
            current: 0,
            buckets: [0; BUCKETS],
            sum: 0,
        }
    }

    /// Adds `amount` at `now`.
    pub(super) fn add(&mut self, now: Timestamp, amount: i64) {
        self.turn(now);
        let bucket = &mut self.buckets[position(self.current)];
        *bucket = bucket.saturating_add(amount);
        self.sum = self.sum.saturating_add(amount);
    }

    /// The sum of what the window holds at `now`, without what has run out since the last addition.
    pub(super) fn sum(&self, now: Timestamp) -> i64 {
        self.expired(now).fold(self.sum, |sum, bucket| sum - self.buckets[position(bucket)])
    }

    /// Forgets what has run out by `now`.
    fn turn(&mut self, now: Timestamp) {
        for bucket in self.expired(now) {
            self.sum -= std::mem::take(&mut self.buckets[position(bucket)]);
        }
        self.current = self.current.max(self.bucket_of(now));
    }

    /// The numbers of the buckets that begin by `now`, in whose places the expired ones stand.
    fn expired(&self, now: Timestamp) -> std::ops::Range<u64> {
        let steps = self.bucket_of(now).saturating_sub(self.current).min(BUCKETS as u64);
        self.current + 1..self.current + 1 + steps
    }

    fn bucket_of(&self, now: Timestamp) -> u64 {
        now.as_nanos() / self.bucket_nanos
    }
}

const fn position(bucket: u64) -> usize {
    (bucket % BUCKETS as u64) as usize
}

/// As in Finagle's and tower's budgets.
const BUCKETS: usize = 10;
