use std::collections::VecDeque;
use std::time::Duration;

use goodput_clock::Timestamp;

use crate::model::Cohort;

/// Counts what becomes of the requests that arrived in each second, in a ring as long as a request may
/// live: memory does not grow with the run.
#[derive(Debug)]
pub(crate) struct Cohorts {
    /// The second of the first counter in the ring.
    first: u64,
    ring: VecDeque<Cohort>,
    /// How many seconds a cohort is kept after its own.
    kept: u64,
    decided: VecDeque<(u64, Cohort)>,
}

impl Cohorts {
    /// Counters of requests that live so long at most, or [`Cohorts::LONGEST`] where that is shorter.
    pub(crate) fn new(life: Duration) -> Self {
        let kept = life.min(Self::LONGEST).as_secs() + SLACK;
        Self { first: 0, ring: VecDeque::new(), kept, decided: VecDeque::new() }
    }

    /// The longest life for which a counter is kept; whatever lives longer counts as still open.
    pub(crate) const LONGEST: Duration = Duration::from_hours(24);

    /// A request arrived, which was due at `intended`.
    pub(crate) fn arrived(&mut self, intended: Timestamp) {
        let second = second_of(intended);
        while self.first + self.ring.len() as u64 <= second {
            self.ring.push_back(Cohort::default());
        }
        if let Some(cohort) = self.at(second) {
            cohort.arrived += 1;
        }
    }

    /// A request of the second of `intended` has ended.
    pub(crate) fn ended(&mut self, intended: Timestamp, good: bool, turned_away: bool) {
        let Some(cohort) = self.at(second_of(intended)) else { return };
        if good {
            cohort.good += 1;
        } else {
            cohort.failed += 1;
            cohort.turned_away += u64::from(turned_away);
        }
    }

    /// Lets go of what is older than a life at `now`.
    pub(crate) fn roll(&mut self, now: Timestamp) {
        while self.first + self.kept < second_of(now) {
            let cohort = self.ring.pop_front().unwrap_or_default();
            self.decided.push_back((self.first, cohort));
            self.first += 1;
        }
    }

    /// Takes the oldest cohort that nothing can change any more.
    pub(crate) fn next(&mut self) -> Option<(u64, Cohort)> {
        self.decided.pop_front()
    }

    /// The cohorts that have not been taken, decided or not, with their seconds.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Cohort)> {
        let decided = self.decided.iter().copied();
        decided.chain((self.first..).zip(self.ring.iter().copied()))
    }

    /// How many requests that were due before this second have not ended.
    pub(crate) fn open_before(&self, second: u64) -> u64 {
        let seconds = second.saturating_sub(self.first) as usize;
        self.ring.iter().take(seconds).map(Cohort::open).sum()
    }

    /// Takes all that is left, decided or not.
    pub(crate) fn finish(mut self) -> Vec<(u64, Cohort)> {
        self.decided.extend((self.first..).zip(self.ring));
        self.decided.into()
    }

    fn at(&mut self, second: u64) -> Option<&mut Cohort> {
        let index = second.checked_sub(self.first)?;
        self.ring.get_mut(usize::try_from(index).ok()?)
    }
}

fn second_of(at: Timestamp) -> u64 {
    at.as_nanos() / 1_000_000_000
}

/// Seconds that a cohort is kept beyond a life: its own, and one for a request that ends late.
const SLACK: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const LIFE: Duration = Duration::from_secs(5);

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_request_counts_in_the_second_in_which_it_arrived() {
        let mut cohorts = Cohorts::new(LIFE);
        for intended in [900, 950, 1_000, 3_500] {
            cohorts.arrived(at(intended));
        }
        cohorts.ended(at(900), true, false);
        cohorts.ended(at(1_000), false, true);
        assert_eq!(
            (cohorts.open_before(1), cohorts.open_before(2), cohorts.open_before(9)),
            (1, 1, 2)
        );
        let seen: Vec<_> = cohorts.iter().collect();
        let counted: Vec<_> = cohorts.finish();
        assert_eq!(seen, counted);
        let cohort =
            |arrived, good, failed, turned_away| Cohort { arrived, good, failed, turned_away };
        let expected =
            [cohort(2, 1, 0, 0), cohort(1, 0, 1, 1), cohort(0, 0, 0, 0), cohort(1, 0, 0, 0)];
        assert_eq!(counted, (0..).zip(expected).collect::<Vec<_>>());
    }

    #[test]
    fn the_ring_holds_a_life_and_hands_out_what_is_older() {
        let mut cohorts = Cohorts::new(LIFE);
        let mut handed = Vec::new();
        for second in 0..1_000_u64 {
            let now = Timestamp::from_secs(second);
            cohorts.roll(now);
            cohorts.arrived(now);
            handed.extend(std::iter::from_fn(|| cohorts.next()));
            assert!(cohorts.ring.len() <= 8, "{}", cohorts.ring.len());
            // What has left the ring is decided, whatever comes later.
            cohorts.ended(Timestamp::from_secs(second.saturating_sub(8)), true, false);
        }
        handed.extend(cohorts.finish());
        assert!(handed.iter().map(|(second, _)| *second).eq(0..1_000));
        assert!(handed.iter().skip(8).all(|(_, cohort)| cohort.arrived == 1 && cohort.good == 0));
    }

    #[test]
    fn a_silent_time_leaves_empty_cohorts() {
        let mut cohorts = Cohorts::new(LIFE);
        cohorts.arrived(at(500));
        cohorts.roll(Timestamp::from_secs(100));
        assert_eq!(std::iter::from_fn(|| cohorts.next()).count(), 93);
        cohorts.arrived(Timestamp::from_secs(100));
        assert_eq!(cohorts.finish().last().unwrap().0, 100);
    }
}
