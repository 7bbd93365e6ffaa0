//! What is due when.
//!
//! Nearly everything that is put off here is put off by a constant: a time-out, a backoff without
//! jitter, a constant delay of the network. Such things fall due in the order in which they were put
//! in, so a queue does for them what a heap does at a higher price. [`Agenda`] keeps a few sorted
//! lanes; what comes goes to the lane whose last entry it follows most closely, so that each constant
//! finds a lane of its own, and what fits nowhere goes to a heap.
//!
//! # Source
//!
//! The choice of a lane is the one of patience sorting: Mallows, "Problem 62-2, Patience Sorting",
//! SIAM Review 4 (1962).

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use goodput_clock::Timestamp;

/// What is due when; among equals, what was put in first comes first.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    lanes: [VecDeque<Due<T>>; LANES],
    heap: BinaryHeap<Due<T>>,
    count: u64,
    /// The first of all, and where it lies.
    first: (Timestamp, u64),
    place: usize,
}

impl<T> Agenda<T> {
    /// An agenda with nothing in it.
    pub(crate) fn new() -> Self {
        Self {
            lanes: std::array::from_fn(|_| VecDeque::new()),
            heap: BinaryHeap::new(),
            count: 0,
            first: NEVER,
            place: HEAP,
        }
    }

    /// When the first thing is due; [`Timestamp::MAX`] where there is none.
    pub(crate) const fn next_at(&self) -> Timestamp {
        self.first.0
    }

    /// How many things are due, void ones among them.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lanes.iter().map(VecDeque::len).sum::<usize>() + self.heap.len()
    }

    /// Puts something in that is due at `at`.
    pub(crate) fn push(&mut self, at: Timestamp, what: T) {
        self.count += 1;
        let due = Due { at, order: self.count, what };
        let place = self.place_for(at);
        if (at, due.order) < self.first {
            (self.first, self.place) = ((at, due.order), place);
        }
        match self.lanes.get_mut(place) {
            Some(lane) => lane.push_back(due),
            None => self.heap.push(due),
        }
    }

    /// Takes the first thing out.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let due = match self.lanes.get_mut(self.place) {
            Some(lane) => lane.pop_front(),
            None => self.heap.pop(),
        };
        self.find_first();
        due.map(|due| due.what)
    }

    /// The lane whose last entry is the latest that is not after `at`, an empty one where there is no
    /// such lane, or the heap.
    fn place_for(&self, at: Timestamp) -> usize {
        let (mut place, mut closest) = (HEAP, None);
        for (index, lane) in self.lanes.iter().enumerate() {
            let last = lane.back().map(|due| due.at);
            if last.is_none_or(|last| last <= at) && (place == HEAP || last > closest) {
                (place, closest) = (index, last);
            }
        }
        place
    }

    fn find_first(&mut self) {
        let of_heap = self.heap.peek().map_or(NEVER, Due::key);
        (self.first, self.place) = (of_heap, HEAP);
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Some(due) = lane.front()
                && due.key() < self.first
            {
                (self.first, self.place) = (due.key(), index);
            }
        }
    }
}

#[derive(Debug)]
struct Due<T> {
    at: Timestamp,
    order: u64,
    what: T,
}

impl<T> Due<T> {
    const fn key(&self) -> (Timestamp, u64) {
        (self.at, self.order)
    }
}

/// The earliest is the greatest, as [`BinaryHeap`] wants it.
impl<T> Ord for Due<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Due<T> {}

const LANES: usize = 4;
/// The place that is no lane.
const HEAP: usize = LANES;
const NEVER: (Timestamp, u64) = (Timestamp::MAX, u64::MAX);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use goodput_clock::Seed;

    use super::*;

    /// Puts in and takes out at random, beside a sorted set.
    fn against_a_set(mut delay: impl FnMut() -> u64) {
        let mut random = Seed(1).stream("agenda");
        let (mut agenda, mut set) = (Agenda::new(), BTreeSet::new());
        let mut now = 0;
        for order in 0..20_000_u64 {
            if random.below(5) < 3 {
                let at = now + delay();
                agenda.push(Timestamp::from_nanos(at), order);
                set.insert((at, order));
            } else {
                let expected = set.pop_first();
                let at = expected.map_or(Timestamp::MAX, |(at, _)| Timestamp::from_nanos(at));
                assert_eq!(agenda.next_at(), at);
                assert_eq!(agenda.pop(), expected.map(|(_, order)| order));
                now = expected.map_or(now, |(at, _)| at);
            }
            assert_eq!(agenda.len(), set.len());
        }
    }

    #[test]
    fn what_is_due_first_comes_first_whatever_the_delays_are() {
        let mut random = Seed(2).stream("delays");
        against_a_set(|| random.below(1_000));
        let mut random = Seed(3).stream("delays");
        against_a_set(|| 10 << random.below(9));
    }

    #[test]
    fn a_few_constant_delays_need_no_heap() {
        let mut agenda = Agenda::new();
        for now in 0..1_000 {
            for delay in [1_000, 2_000, 4_000] {
                agenda.push(Timestamp::from_nanos(now + delay), ());
            }
        }
        assert!(agenda.heap.is_empty());
    }
}
