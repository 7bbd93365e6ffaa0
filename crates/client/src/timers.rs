//! When attempts time out and backoffs end.
//!
//! Time-outs of one layer come due in the order in which they were set, so nearly every entry is
//! appended to a queue at no cost; what comes out of order goes to a heap. An entry is not removed
//! when its attempt ends; it is dropped when it comes due, which bounds memory by rate × time-out.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use goodput_clock::Timestamp;

/// Names one attempt or one backoff of a request. The serial number tells whether it is still the
/// one that is running in its slot.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Ticket {
    pub(crate) serial: u64,
    pub(crate) slot: u32,
}

/// Entries by time.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    in_order: VecDeque<(Timestamp, Ticket)>,
    others: BinaryHeap<Reverse<(Timestamp, Ticket)>>,
}

impl Timers {
    pub(crate) fn push(&mut self, at: Timestamp, ticket: Ticket) {
        if self.in_order.back().is_none_or(|(last, _)| *last <= at) {
            self.in_order.push_back((at, ticket));
        } else {
            self.others.push(Reverse((at, ticket)));
        }
    }

    /// The first entry.
    pub(crate) fn first(&self) -> Option<(Timestamp, Ticket)> {
        let queued = self.in_order.front().copied();
        let other = self.others.peek().map(|Reverse(entry)| *entry);
        match (queued, other) {
            (Some(queued), Some(other)) => Some(queued.min(other)),
            (queued, other) => queued.or(other),
        }
    }

    /// Removes the first entry.
    pub(crate) fn pop(&mut self) {
        let queued = self.in_order.front().copied();
        let other = self.others.peek().map(|Reverse(entry)| *entry);
        let other_is_first = other.is_some_and(|other| queued.is_none_or(|queued| other < queued));
        if other_is_first {
            self.others.pop();
        } else {
            self.in_order.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_by_time_whatever_the_order_they_went_in() {
        let mut timers = Timers::default();
        for (serial, seconds) in [5_u64, 6, 2, 7, 1, 8, 3].into_iter().enumerate() {
            let ticket = Ticket { serial: serial as u64, slot: 0 };
            timers.push(Timestamp::from_secs(seconds), ticket);
        }
        let mut seen = Vec::new();
        while let Some((at, _)) = timers.first() {
            seen.push(at.as_secs_f64() as u64);
            timers.pop();
        }
        assert_eq!(seen, [1, 2, 3, 5, 6, 7, 8]);
    }
}
