//! A server and its callers in steps of one second.
//!
//! In each second arrivals enter the queue, those of new requests first and then retries; the server
//! serves up to its capacity in order of arrival; at last callers whose attempt has reached its
//! time-out give up. An attempt that is served within its time-out is good; one whose caller has gone
//! costs as much and is worth nothing. A caller that has given up tries again after its backoff, at the
//! earliest in the next second.

use std::collections::{BTreeMap, VecDeque};

/// What is played: whole requests and whole seconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Steps {
    /// New requests a second.
    pub arrivals: u64,
    /// Attempts that are served in a second.
    pub capacity: u64,
    /// How many seconds an attempt's caller waits.
    pub timeout: u64,
    /// Retries after the first attempt, at most 16.
    pub retries: u32,
    /// The wait before the first retry, in seconds; it doubles with each.
    pub backoff: u64,
    /// When there is less capacity.
    pub cut: Cut,
    /// Whether an attempt whose caller has gone is dropped when its turn comes, at no cost.
    pub drop_expired: bool,
    /// Retries per hundred requests that the callers allow themselves; none for as many as they like.
    pub budget_percent: Option<u64>,
    /// From which second on the server has another capacity.
    pub raised: Option<(u64, u64)>,
    /// In which second everything that waits is refused; callers who are refused do not retry.
    pub shed: Option<u64>,
    /// How many seconds are played.
    pub seconds: u64,
}

/// Less capacity for a while.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cut {
    /// The first second of it.
    pub from: u64,
    /// How many seconds it lasts.
    pub length: u64,
    /// What is left of the capacity.
    pub to: u64,
}

/// What happened in one second.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Second {
    /// Attempts that entered.
    pub attempts: u64,
    /// Attempts that were served, whoever still waited for them.
    pub served: u64,
    /// Those of them that were served within their time-out.
    pub goodput: u64,
    /// Attempts that wait at the end.
    pub queued: u64,
}

impl Steps {
    /// The order-status service: 80 requests a second against a capacity of 100, a time-out of 5 s, up
    /// to 3 retries after 1, 2 and 4 s, and 40 a second for `length` seconds from the 60th on.
    pub const fn order_status(length: u64) -> Self {
        Self {
            arrivals: 80,
            capacity: 100,
            timeout: 5,
            retries: 3,
            backoff: 1,
            cut: Cut { from: 60, length, to: 40 },
            drop_expired: false,
            budget_percent: None,
            raised: None,
            shed: None,
            seconds: 300,
        }
    }

    /// A server that serves 10 a tick and stands still for 20 ticks, under this load.
    pub const fn stalled(arrivals: u64) -> Self {
        let cut = Cut { from: 20, length: 20, to: 0 };
        Self { arrivals, capacity: 10, cut, ..Self::order_status(0) }
    }

    /// Plays it, one entry a second.
    pub fn play(&self) -> Vec<Second> {
        let mut state = State::default();
        (0..self.seconds).map(|now| state.step(self, now)).collect()
    }

    /// Goodput per second over the last 50 s.
    pub fn goodput_at_end(&self) -> u64 {
        let seconds = self.play();
        let last = &seconds[seconds.len().saturating_sub(50)..];
        last.iter().map(|second| second.goodput).sum::<u64>() / (last.len() as u64).max(1)
    }

    /// The most attempts a second: each request with all of its retries.
    pub const fn attempts_most(&self) -> u64 {
        self.arrivals * (self.retries as u64 + 1)
    }

    /// Below this load no cut sticks: capacity ÷ (retries + 1).
    pub fn safe_load(&self) -> f64 {
        self.capacity as f64 / f64::from(self.retries + 1)
    }

    /// The shortest cut of up to `most` seconds that is permanent.
    pub fn shortest_permanent_cut(&self, most: u64) -> Option<u64> {
        (1..=most).find(|length| {
            let cut = Cut { length: *length, ..self.cut };
            Self { cut, ..*self }.goodput_at_end() * 2 < self.arrivals
        })
    }

    fn capacity(&self, now: u64) -> u64 {
        match self.raised {
            _ if (self.cut.from..self.cut.from + self.cut.length).contains(&now) => self.cut.to,
            Some((from, capacity)) if now >= from => capacity,
            _ => self.capacity,
        }
    }
}

/// Attempts that entered in the same second, after equally many others of their request.
#[derive(Debug)]
struct Cohort {
    entered: u64,
    /// Retries before this one.
    retry: u32,
    /// How many callers wait for an answer.
    waiting: u64,
    /// How many attempts wait in the queue.
    queued: u64,
}

#[derive(Debug, Default)]
struct State {
    /// In order of entry; who has given up and left the queue is taken out at the front.
    cohorts: VecDeque<Cohort>,
    /// Retries by their second and their number.
    due: BTreeMap<(u64, u32), u64>,
    requests: u64,
    retries: u64,
}

impl State {
    fn step(&mut self, model: &Steps, now: u64) -> Second {
        if model.shed == Some(now) {
            self.shed();
        }
        let attempts = self.enter(model, now);
        let (served, goodput) = self.serve(model, now);
        self.give_up(model, now);
        let queued = self.cohorts.iter().map(|cohort| cohort.queued).sum();
        Second { attempts, served, goodput, queued }
    }

    fn shed(&mut self) {
        for cohort in &mut self.cohorts {
            cohort.waiting = cohort.waiting.saturating_sub(cohort.queued);
            cohort.queued = 0;
        }
    }

    fn enter(&mut self, model: &Steps, now: u64) -> u64 {
        self.requests += model.arrivals;
        let later = self.due.split_off(&(now + 1, 0));
        let due = std::mem::replace(&mut self.due, later);
        let retries = due.into_iter().map(|((_, retry), count)| (retry, count));
        let mut attempts = 0;
        for (retry, count) in std::iter::once((0, model.arrivals)).chain(retries) {
            attempts += count;
            let cohort = Cohort { entered: now, retry, waiting: count, queued: count };
            self.cohorts.push_back(cohort);
        }
        attempts
    }

    fn serve(&mut self, model: &Steps, now: u64) -> (u64, u64) {
        let (mut left, mut goodput) = (model.capacity(now), 0);
        for cohort in &mut self.cohorts {
            let in_time = now - cohort.entered <= model.timeout;
            if model.drop_expired && !in_time {
                cohort.queued = 0;
            }
            let served = left.min(cohort.queued);
            left -= served;
            cohort.queued -= served;
            if in_time {
                goodput += served;
                cohort.waiting -= served;
            }
            if left == 0 {
                break;
            }
        }
        (model.capacity(now) - left, goodput)
    }

    fn give_up(&mut self, model: &Steps, now: u64) {
        let Some(entered) = now.checked_sub(model.timeout) else { return };
        let (requests, due) = (self.requests, &mut self.due);
        for cohort in self.cohorts.iter_mut().filter(|cohort| cohort.entered == entered) {
            let gone = std::mem::take(&mut cohort.waiting);
            if gone == 0 || cohort.retry == model.retries {
                continue;
            }
            let allowed = model.budget_percent.map_or(u64::MAX, |percent| {
                (requests * percent / 100).saturating_sub(self.retries)
            });
            let again = gone.min(allowed);
            self.retries += again;
            let wait = (model.backoff << cohort.retry.min(16)).max(1);
            *due.entry((now + wait, cohort.retry + 1)).or_default() += again;
        }
        while self.cohorts.front().is_some_and(|c| c.queued == 0 && c.waiting == 0) {
            self.cohorts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference numbers A.
    #[test]
    fn a_cut_of_11_s_is_absorbed_and_one_of_12_s_is_permanent() {
        assert_eq!(Steps::order_status(11).goodput_at_end(), 80);
        assert_eq!(Steps::order_status(12).goodput_at_end(), 0);
        assert_eq!(Steps::order_status(0).shortest_permanent_cut(60), Some(12));
    }

    #[test]
    fn eighty_requests_become_320_attempts_a_second_and_25_are_safe() {
        let model = Steps::order_status(20);
        assert_eq!(model.attempts_most(), 320);
        assert!((model.safe_load() - 25.0).abs() < 1e-12);
        let last = *model.play().last().unwrap();
        assert_eq!((last.attempts, last.served, last.goodput), (320, 100, 0));
        let safe = Steps { arrivals: 25, ..Steps::order_status(0) };
        assert_eq!(safe.shortest_permanent_cut(120), None);
    }

    #[test]
    fn longer_backoff_alone_does_not_save_it() {
        for backoff in [2, 5, 10, 20] {
            let model = Steps { backoff, seconds: 600, ..Steps::order_status(20) };
            assert_eq!(model.goodput_at_end(), 0, "from {backoff} s");
        }
    }

    #[test]
    fn dropping_expired_work_at_dequeue_drains_the_backlog_at_once() {
        let model = Steps { drop_expired: true, ..Steps::order_status(20) };
        let seconds = model.play();
        let goodput = |from: usize, to: usize| -> Vec<u64> {
            seconds[from..to].iter().map(|second| second.goodput).collect()
        };
        assert!(goodput(61, 80).iter().all(|good| *good == 40), "{:?}", goodput(61, 80));
        assert!(goodput(80, 90).iter().all(|good| *good == 100), "{:?}", goodput(80, 90));
        assert_eq!(model.goodput_at_end(), 80);
    }

    #[test]
    fn without_retries_the_backlog_drains_in_time() {
        let model = Steps { retries: 0, ..Steps::order_status(20) };
        assert_eq!(model.goodput_at_end(), 80);
    }

    /// Reference numbers B: 30 % utilisation is above the safe load of 2.5, 20 % is below.
    #[test]
    fn the_same_stall_sticks_at_a_load_of_3_and_not_at_2() {
        assert!((Steps::stalled(8).safe_load() - 2.5).abs() < 1e-12);
        let at_end = |arrivals| Steps::stalled(arrivals).goodput_at_end();
        assert_eq!((at_end(2), at_end(3), at_end(8)), (2, 0, 0));
    }

    #[test]
    fn a_budget_of_ten_percent_bounds_the_load_at_8_8_and_it_recovers() {
        let model = Steps { budget_percent: Some(10), seconds: 600, ..Steps::stalled(8) };
        let seconds = model.play();
        let sent: u64 = seconds.iter().map(|second| second.attempts).sum();
        assert!(sent * 10 <= 88 * model.seconds, "{sent}");
        assert_eq!(model.goodput_at_end(), 8);
    }

    #[test]
    fn raising_capacity_helps_only_past_the_retry_load() {
        let model = Steps { seconds: 2_000, ..Steps::stalled(8) };
        assert_eq!(model.attempts_most(), 32);
        let with = |capacity| Steps { raised: Some((100, capacity)), ..model }.goodput_at_end();
        assert_eq!((with(31), with(32), with(33)), (0, 0, 8));
    }

    #[test]
    fn shedding_the_queue_restores_goodput_where_shed_callers_do_not_retry() {
        let model = Steps { shed: Some(100), ..Steps::stalled(8) };
        assert_eq!(model.goodput_at_end(), 8);
    }
}
