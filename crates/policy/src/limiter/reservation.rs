//! Cost charged at admission: an arrival reserves the time of the slot that is free first, and keeps
//! it whatever becomes of its caller.

use std::cmp::Reverse;

use goodput_clock::Timestamp;

use super::{Admission, JobId, Limiter, Refusal};

impl<T> Limiter<T> {
    pub(super) fn reserve(
        &mut self,
        now: Timestamp,
        deadline: Timestamp,
        payload: T,
    ) -> Admission<T> {
        self.resize_reserved();
        // During a stall the slots' clocks stand still.
        let clock = self.stalled_since.unwrap_or(now);
        let free = self.reserved.peek().map_or(clock, |Reverse(free)| *free).max(clock);
        if free > clock
            && let Some(refusal) = self.queue_refusal()
        {
            return Admission::Refused(payload, refusal);
        }
        if self.would_expire(free.max(now), deadline) {
            return Admission::Refused(payload, Refusal::Expired);
        }
        let job = self.insert(now, deadline, payload);
        let ends = free + self.draw_service();
        self.jobs[job.key].started = free;
        self.reserved.pop();
        self.reserved.push(Reverse(ends));
        self.serving.push(Reverse((ends, job.serial, job.key)));
        Admission::Accepted(job)
    }

    /// Makes the reserved slots as many as are in force; those that are free first go first.
    pub(super) fn resize_reserved(&mut self) {
        let slots = self.slots() as usize;
        while self.reserved.len() > slots {
            self.reserved.pop();
        }
        let clock = self.stalled_since.unwrap_or(self.now);
        while self.reserved.len() < slots {
            self.reserved.push(Reverse(clock));
        }
    }

    /// Takes out the reservations whose service has not started. Their time is given back: each slot
    /// is free again when the job that it is serving ends.
    pub(super) fn take_unstarted(&mut self) -> Vec<JobId> {
        let now = self.stalled_since.unwrap_or(self.now);
        let (mut waiting, mut serving) = (Vec::new(), Vec::new());
        for entry in std::mem::take(&mut self.serving).into_sorted_vec().into_iter().rev() {
            let Reverse((_, serial, key)) = entry;
            if self.jobs[key].started > now {
                waiting.push(JobId { key, serial });
            } else {
                serving.push(entry);
            }
        }
        self.reserved = serving.iter().map(|Reverse((ended, _, _))| Reverse(*ended)).collect();
        self.serving = serving.into();
        self.resize_reserved();
        waiting
    }

    /// When the oldest reservation arrived whose service has not started.
    pub(super) fn oldest_unstarted(&self) -> Option<Timestamp> {
        let now = self.stalled_since.unwrap_or(self.now);
        let jobs = self.serving.iter().map(|Reverse((_, _, key))| &self.jobs[*key]);
        jobs.filter(|job| job.started > now).map(|job| job.arrived).min()
    }
}
