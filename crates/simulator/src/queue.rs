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

/// What is due when, with so many lanes; among equals, what was put in first comes first.
#[derive(Debug)]
pub(crate) struct Agenda<T, const LANES: usize> {
    lanes: [Lane<T>; LANES],
    heap: BinaryHeap<Due<T>>,
    count: u64,
    /// The first of all, and the lane where it lies; past the lanes it is the heap.
    first: Position,
    place: usize,
}

/// Things in the order in which they are due.
#[derive(Debug)]
struct Lane<T> {
    dues: VecDeque<Due<T>>,
    /// The first of them, or [`NEVER`].
    first: Position,
    /// When the last of them is due; zero where there is none.
    last: Timestamp,
}

/// When something is due, and how many were put in before it.
type Position = (Timestamp, u64);

impl<T, const LANES: usize> Agenda<T, LANES> {
    /// An agenda with nothing in it.
    pub(crate) fn new() -> Self {
        Self {
            lanes: std::array::from_fn(|_| Lane {
                dues: VecDeque::new(),
                first: NEVER,
                last: Timestamp::ZERO,
            }),
            heap: BinaryHeap::new(),
            count: 0,
            first: NEVER,
            place: LANES,
        }
    }

    /// When the first thing is due; [`Timestamp::MAX`] where there is none.
    pub(crate) const fn next_at(&self) -> Timestamp {
        self.first.0
    }

    /// How many things are due, void ones among them.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lanes.iter().map(|lane| lane.dues.len()).sum::<usize>() + self.heap.len()
    }

    /// Puts something in that is due at `at`.
    pub(crate) fn push(&mut self, at: Timestamp, what: T) {
        self.count += 1;
        let due = Due { at, order: self.count, what };
        let position = due.position();
        let place = self.place_for(at);
        if position < self.first {
            (self.first, self.place) = (position, place);
        }
        match self.lanes.get_mut(place) {
            Some(lane) => {
                lane.first = lane.first.min(position);
                lane.last = at;
                lane.dues.push_back(due);
            }
            None => self.heap.push(due),
        }
    }

    /// Takes the first thing out.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let due = match self.lanes.get_mut(self.place) {
            Some(lane) => {
                let due = lane.dues.pop_front();
                lane.first = lane.dues.front().map_or(NEVER, Due::position);
                if lane.dues.is_empty() {
                    lane.last = Timestamp::ZERO;
                }
                due
            }
            None => self.heap.pop(),
        };
        self.find_first();
        due.map(|due| due.what)
    }

    /// The lane whose last entry is the latest that is not after `at`, an empty one where there is no
    /// such lane, or the heap.
    fn place_for(&self, at: Timestamp) -> usize {
        let (mut place, mut closest) = (LANES, Timestamp::ZERO);
        for (index, lane) in self.lanes.iter().enumerate() {
            if lane.last <= at && (place == LANES || lane.last > closest) {
                (place, closest) = (index, lane.last);
            }
        }
        place
    }

    fn find_first(&mut self) {
        (self.first, self.place) = (self.heap.peek().map_or(NEVER, Due::position), LANES);
        for (index, lane) in self.lanes.iter().enumerate() {
            if lane.first < self.first {
                (self.first, self.place) = (lane.first, index);
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
    const fn position(&self) -> Position {
        (self.at, self.order)
    }
}

/// The earliest is the greatest, as [`BinaryHeap`] wants it.
impl<T> Ord for Due<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.position().cmp(&self.position())
    }
}

impl<T> PartialOrd for Due<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Due<T> {
    fn eq(&self, other: &Self) -> bool {
        self.position() == other.position()
    }
}

impl<T> Eq for Due<T> {}

const NEVER: Position = (Timestamp::MAX, u64::MAX);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use goodput_clock::Seed;

    use super::*;

    /// Puts in and takes out at random, beside a sorted set.
    fn against_a_set(mut delay: impl FnMut() -> u64) {
        let mut random = Seed(1).stream("agenda");
        let (mut agenda, mut set) = (Agenda::<_, 3>::new(), BTreeSet::new());
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
        let mut agenda = Agenda::<_, 3>::new();
        for now in 0..1_000 {
            for delay in [1_000, 2_000, 4_000] {
                agenda.push(Timestamp::from_nanos(now + delay), ());
            }
        }
        assert!(agenda.heap.is_empty());
    }
}
