//! A connection pool that prefers the slow worker.
//!
//! Three workers serve one request at a time, 2 units each, in order of arrival. A client has two
//! connections to each worker, in the order A1 B1 C1 A2 B2 C2. It sends a batch and waits for all of
//! it before it sends the next. A batch of six comes at 0, while worker C stands still for 4 units;
//! from 9 on a pair arrives every 3 units.
//!
//! Answers of one instant return in the order of their requests. The slow worker's answer returns
//! last, so its connection is the newest: who reuses the newest first sends both requests of the next
//! pair to the same worker, whose second answer again returns last.

use std::collections::VecDeque;

/// Which idle connection is used next.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reuse {
    /// The one that came back last.
    Lifo,
    /// The one that has been idle for longest.
    Fifo,
}

/// What is played.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pool {
    /// The order of reuse.
    pub reuse: Reuse,
    /// From when on it is another.
    pub switched: Option<(u64, Reuse)>,
    /// Whether the batch of six comes at 0, and finds C standing still.
    pub burst: bool,
    /// The last moment that is played.
    pub until: u64,
}

/// Where the client is, after all that happens at a moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PoolState {
    /// Requests that have been answered.
    pub done: u64,
    /// Requests that wait to be sent.
    pub waiting: u64,
}

impl Pool {
    /// With the burst, until 60.
    pub const fn of(reuse: Reuse) -> Self {
        Self { reuse, switched: None, burst: true, until: 60 }
    }

    /// Plays it, one entry a unit of time from 0 on.
    pub fn play(&self) -> Vec<PoolState> {
        let mut play = Play::new(self.burst);
        (0..=self.until)
            .map(|now| {
                play.on_answers(now);
                if now >= PAIRS_FROM && (now - PAIRS_FROM).is_multiple_of(PAIRS_EVERY) {
                    play.batches.push_back(2);
                }
                play.dispatch(now, self.reuse_at(now));
                PoolState { done: play.done, waiting: play.batches.iter().sum() }
            })
            .collect()
    }

    const fn reuse_at(&self, now: u64) -> Reuse {
        match self.switched {
            Some((from, reuse)) if now >= from => reuse,
            _ => self.reuse,
        }
    }
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    answered: u64,
    worker: usize,
}

struct Play {
    /// By its worker, the one idle for longest first.
    idle: VecDeque<usize>,
    /// When each worker is free.
    free: [u64; WORKERS],
    /// In the order of sending.
    sent: Vec<Sent>,
    /// Sizes of the batches that wait.
    batches: VecDeque<u64>,
    done: u64,
}

impl Play {
    fn new(burst: bool) -> Self {
        Self {
            idle: (0..WORKERS).chain(0..WORKERS).collect(),
            // The worker that stands still is free again when it moves.
            free: [0, 0, if burst { PAUSE } else { 0 }],
            sent: Vec::new(),
            batches: if burst { VecDeque::from([6]) } else { VecDeque::new() },
            done: 0,
        }
    }

    fn on_answers(&mut self, now: u64) {
        let (answered, sent): (Vec<_>, Vec<_>) =
            self.sent.iter().partition(|sent| sent.answered <= now);
        self.sent = sent;
        self.done += answered.len() as u64;
        self.idle.extend(answered.into_iter().map(|sent: Sent| sent.worker));
    }

    fn dispatch(&mut self, now: u64, reuse: Reuse) {
        if !self.sent.is_empty() {
            return;
        }
        for request in 0..self.batches.pop_front().unwrap_or_default() {
            // The first batch opens the connections in their order.
            let next = match reuse {
                Reuse::Lifo if now > 0 => self.idle.pop_back(),
                Reuse::Lifo | Reuse::Fifo => self.idle.pop_front(),
            };
            debug_assert!(next.is_some(), "request {request} of a batch finds a connection");
            let Some(worker) = next else { return };
            self.free[worker] = self.free[worker].max(now) + SERVICE;
            self.sent.push(Sent { answered: self.free[worker], worker });
        }
    }
}

const WORKERS: usize = 3;
/// How long a worker takes for a request.
const SERVICE: u64 = 2;
/// How long worker C stands still.
const PAUSE: u64 = 4;
const PAIRS_FROM: u64 = 9;
const PAIRS_EVERY: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference numbers D.
    #[test]
    fn lifo_reuse_falls_behind_for_good_after_one_burst() {
        let states = Pool::of(Reuse::Lifo).play();
        assert_eq!(states[24], PoolState { done: 13, waiting: 4 });
        assert_eq!((states[25].waiting, states[37].waiting, states[49].waiting), (2, 4, 6));
        assert_eq!(states[60], PoolState { done: 31, waiting: 10 });
    }

    #[test]
    fn switched_to_fifo_the_backlog_is_gone_by_37() {
        let pool = Pool { switched: Some((24, Reuse::Fifo)), ..Pool::of(Reuse::Lifo) };
        let states = pool.play();
        assert_eq!(states[24], PoolState { done: 13, waiting: 4 });
        assert_eq!(states[37].waiting, 0);
        assert_eq!(states[60], PoolState { done: 40, waiting: 0 });
    }

    #[test]
    fn without_the_burst_no_queue_builds_up() {
        let pool = Pool { burst: false, ..Pool::of(Reuse::Lifo) };
        assert!(pool.play().iter().all(|state| state.waiting == 0));
    }

    #[test]
    fn with_fifo_from_the_start_the_burst_leaves_nothing_behind() {
        let states = Pool::of(Reuse::Fifo).play();
        // A pair may wait a moment for the one before it, and none waits for longer.
        assert!(states.windows(2).all(|pair| pair[0].waiting == 0 || pair[1].waiting == 0));
    }
}
