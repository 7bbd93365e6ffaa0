//! Cost charged at admission: an arrival reserves the time of the slot that is free first, and keeps
//! it whatever becomes of its caller.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use goodput_clock::Timestamp;

use super::speed::Retiming;
use super::{Admission, JobId, Limiter, Refusal};

/// The reserved time of all slots.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    /// When each slot in force is free.
    slots: BinaryHeap<Reverse<Timestamp>>,
    /// The same for slots that a fault or a patch has taken away: what they have promised they keep.
    retired: BinaryHeap<Reverse<Timestamp>>,
    /// The jobs whose service has not started, by its start.
    pending: BinaryHeap<Reverse<(Timestamp, u64, usize)>>,
}

impl Reservations {
    /// How many jobs wait for their reserved time.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Starts what is due by `now`.
    pub(super) fn start_due(&mut self, now: Timestamp) {
        while self.pending.peek().is_some_and(|Reverse((start, ..))| *start <= now) {
            self.pending.pop();
        }
    }

    /// Makes the slots as many as are in force. Those that are free first go first, and come back
    /// first.
    pub(super) fn resize(&mut self, slots: usize, clock: Timestamp) {
        while self.slots.len() > slots {
            self.retired.extend(self.slots.pop());
        }
        while self.slots.len() < slots {
            self.slots.push(self.retired.pop().unwrap_or(Reverse(clock)));
        }
    }

    /// Moves everything that is promised.
    fn retime(&mut self, retiming: Retiming) {
        for slots in [&mut self.slots, &mut self.retired] {
            *slots = slots.drain().map(|Reverse(free)| Reverse(retiming.of(free))).collect();
        }
        let moved = |Reverse((start, serial, key))| Reverse((retiming.of(start), serial, key));
        self.pending = self.pending.drain().map(moved).collect();
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<T> Limiter<T> {
    pub(super) fn reserve(
        &mut self,
        now: Timestamp,
        deadline: Timestamp,
        payload: T,
    ) -> Admission<T> {
        self.resize_reserved();
        let clock = self.slot_clock();
        let next = self.reservations.slots.peek();
        let free = next.map_or(clock, |Reverse(free)| *free).max(clock);
        let waits = free > clock || self.stalled_since.is_some();
        if waits && let Some(refusal) = self.queue_refusal() {
            return Admission::Refused(payload, refusal);
        }
        if self.would_expire(free.max(now), deadline) {
            return Admission::Refused(payload, Refusal::Expired);
        }
        let job = self.insert(now, deadline, payload);
        let ends = free + self.draw_service();
        self.jobs[job.key].started = free;
        self.reservations.slots.pop();
        self.reservations.slots.push(Reverse(ends));
        if waits {
            self.reservations.pending.push(Reverse((free, job.serial, job.key)));
        }
        self.serving.push(Reverse((ends, job.serial, job.key)));
        Admission::Accepted(job)
    }

    pub(super) fn resize_reserved(&mut self) {
        self.reservations.resize(self.slots() as usize, self.slot_clock());
    }

    /// Takes out the reservations whose service has not started, oldest first. Their time is given
    /// back: each slot is free again when the job that it is serving ends.
    pub(super) fn take_unstarted(&mut self) -> Vec<JobId> {
        let pending = std::mem::take(&mut self.reservations.pending);
        let mut waiting: Vec<_> =
            pending.into_iter().map(|Reverse((_, serial, key))| JobId { key, serial }).collect();
        waiting.sort_unstable_by_key(|job| job.serial);
        let waits = |serial| waiting.binary_search_by_key(&serial, |job| job.serial).is_ok();
        self.serving.retain(|Reverse((_, serial, _))| !waits(*serial));
        self.reservations.clear();
        let ends = self.serving.iter().map(|Reverse((ended, ..))| Reverse(*ended));
        self.reservations.slots = ends.collect();
        self.resize_reserved();
        waiting
    }

    /// Moves reserved time to where it lies at another speed.
    pub(super) fn retime_reserved(&mut self, retiming: Retiming) {
        self.reservations.retime(retiming);
        for Reverse((start, _, key)) in &self.reservations.pending {
            self.jobs[*key].started = *start;
        }
    }

    /// When the oldest reservation arrived whose service has not started.
    pub(super) fn oldest_unstarted(&self) -> Option<Timestamp> {
        let pending = self.reservations.pending.iter();
        pending.map(|Reverse((_, _, key))| self.jobs[*key].arrived).min()
    }
}
