//! The jobs that wait, oldest first.
//!
//! A job that leaves from the middle stays as a tombstone, which costs nothing to leave behind; the
//! oldest entry is never one, and tombstones are swept once they are the larger part.

use std::collections::VecDeque;

use super::{JobId, QueueOrder};

#[derive(Debug, Default)]
pub(super) struct Queue {
    entries: VecDeque<JobId>,
    tombstones: usize,
}

impl Queue {
    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.tombstones
    }

    /// The one that has waited longest.
    pub(super) fn oldest(&self) -> Option<JobId> {
        self.entries.front().copied()
    }

    pub(super) fn push(&mut self, job: JobId) {
        self.entries.push_back(job);
    }

    /// Takes out the next one in this order.
    pub(super) fn pop(
        &mut self,
        order: QueueOrder,
        is_live: impl Fn(JobId) -> bool,
    ) -> Option<JobId> {
        loop {
            let next = match order {
                QueueOrder::Fifo => self.entries.pop_front(),
                QueueOrder::Lifo => self.entries.pop_back(),
            }?;
            if is_live(next) {
                self.trim(&is_live);
                return Some(next);
            }
            self.tombstones -= 1;
        }
    }

    /// Notes that one of the entries is not live any more.
    pub(super) fn forget(&mut self, is_live: impl Fn(JobId) -> bool) {
        self.tombstones += 1;
        self.trim(&is_live);
        if self.tombstones > 64 && self.tombstones * 2 > self.entries.len() {
            self.entries.retain(|job| is_live(*job));
            self.tombstones = 0;
        }
    }

    /// Takes out all that wait, oldest first.
    pub(super) fn take_all(&mut self, is_live: impl Fn(JobId) -> bool) -> Vec<JobId> {
        self.tombstones = 0;
        std::mem::take(&mut self.entries).into_iter().filter(|job| is_live(*job)).collect()
    }

    /// Takes tombstones off the front.
    fn trim(&mut self, is_live: impl Fn(JobId) -> bool) {
        while self.tombstones > 0 && self.entries.front().is_some_and(|job| !is_live(*job)) {
            self.entries.pop_front();
            self.tombstones -= 1;
        }
    }
}
