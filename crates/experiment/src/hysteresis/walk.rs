use std::collections::VecDeque;
use std::time::Duration;

use goodput_clock::Rate;
use goodput_runlog::Window;
use goodput_scenario::Scenario;

use super::{Ladder, WalkedLoad, Way};

/// Goes through the loads of a ladder, told by the windows of a run.
#[derive(Clone, Debug)]
pub struct Walk {
    loads: Vec<f64>,
    /// Where it is on the ladder.
    place: usize,
    way: Way,
    /// The windows of the load that holds, the newest last; as many as any question needs.
    recent: VecDeque<Sample>,
    /// For how long the load holds, in seconds.
    seconds: u64,
    rule: Rule,
    walked: Vec<WalkedLoad>,
    done: bool,
}

/// By what a load is judged; in seconds.
#[derive(Clone, Copy, Debug)]
struct Rule {
    needed: f64,
    hold: u64,
    dwell: u64,
    patience: u64,
    /// A backlog that grows by more than this a second does not fall.
    grows: f64,
}

/// One window, in short.
#[derive(Clone, Copy, Debug)]
struct Sample {
    offered: u64,
    good: u64,
    attempts: u64,
    queued: u64,
}

impl Walk {
    /// A walk from the lowest load up.
    pub fn new(scenario: &Scenario, ladder: &Ladder) -> Self {
        let expect = &scenario.expect;
        let rule = Rule {
            needed: expect.goodput_ratio.get(),
            hold: whole_seconds(expect.hold).max(1),
            dwell: whole_seconds(ladder.dwell),
            patience: whole_seconds(ladder.patience),
            grows: 0.05 * ladder.to,
        };
        Self {
            loads: ladder.loads(),
            place: 0,
            way: Way::Up,
            recent: VecDeque::new(),
            seconds: 0,
            rule,
            walked: Vec::new(),
            done: false,
        }
    }

    /// Whether it has come to its end.
    pub const fn is_done(&self) -> bool {
        self.done
    }

    /// The load that holds, in requests a second, and which way it goes.
    pub fn now(&self) -> (f64, Way) {
        (self.loads.get(self.place).copied().unwrap_or_default(), self.way)
    }

    /// Takes the next window of the run, and says which rate follows where the load moves on.
    pub fn on_window(&mut self, window: &Window) -> Option<Rate> {
        if self.done {
            return None;
        }
        self.recent.push_back(Sample {
            offered: window.client.offered,
            good: window.client.good,
            attempts: window.client.attempts,
            queued: window.tiers.iter().map(|tier| tier.queued).sum(),
        });
        if self.recent.len() as u64 > 6 * self.rule.hold {
            self.recent.pop_front();
        }
        self.seconds += 1;
        match self.way {
            Way::Up => self.up(),
            Way::Down => self.down(),
        }
    }

    /// The loads that have been walked.
    pub fn into_loads(self) -> Vec<WalkedLoad> {
        self.walked
    }

    fn up(&mut self) -> Option<Rate> {
        if self.seconds < self.rule.dwell {
            return None;
        }
        let served = self.is_served();
        self.close(served);
        if !served {
            self.way = Way::Down;
        }
        self.go_on(served)
    }

    fn down(&mut self) -> Option<Rate> {
        // What was sent before the load moved has answers in the first `hold`.
        if self.seconds < 2 * self.rule.hold {
            return None;
        }
        let served = self.is_served();
        if !served && self.seconds < self.rule.patience && self.may_come_back() {
            return None;
        }
        self.close(served);
        if served {
            self.done = true;
            return None;
        }
        self.go_on(false)
    }

    /// Moves one load up or down; the walk is done where there is none.
    fn go_on(&mut self, up: bool) -> Option<Rate> {
        let next = if up { self.place.checked_add(1) } else { self.place.checked_sub(1) };
        let load = next.and_then(|place| self.loads.get(place)).copied();
        let Some((place, rate)) = next.zip(load.and_then(|load| Rate::new(load).ok())) else {
            self.done = true;
            return None;
        };
        self.place = place;
        self.seconds = 0;
        self.recent.clear();
        Some(rate)
    }

    fn close(&mut self, served: bool) {
        let last = self.sum(self.rule.hold);
        let seconds = self.rule.hold.min(self.seconds).max(1) as f64;
        let over = |part: u64| part as f64 / (last.offered as f64).max(1.0);
        self.walked.push(WalkedLoad {
            way: self.way,
            load: self.now().0,
            seconds: self.seconds,
            goodput: last.good as f64 / seconds,
            ratio: over(last.good),
            attempts_per_request: over(last.attempts),
            queued: self.recent.back().map_or(0, |sample| sample.queued),
            served,
        });
    }

    fn is_served(&self) -> bool {
        let last = self.sum(self.rule.hold);
        last.offered > 0 && last.good as f64 >= self.rule.needed * last.offered as f64
    }

    /// Whether the backlog falls at a rate that ends it, or it is too early to tell. One that grows fast
    /// is told by two spans of `hold`, one that falls by two of three times as much.
    fn may_come_back(&self) -> bool {
        let hold = self.rule.hold;
        let (long, level) = (self.slope(3 * hold), self.mean(0, hold).unwrap_or_default());
        match long {
            None => self.slope(hold).is_none_or(|slope| slope < self.rule.grows),
            // An empty queue is not waited for: what is lost is lost elsewhere.
            Some(slope) => slope < 0.0 && level / -slope <= self.rule.patience as f64,
        }
    }

    /// By how much the backlog grows a second, from the mean of one span to that of the next.
    fn slope(&self, span: u64) -> Option<f64> {
        Some((self.mean(0, span)? - self.mean(span, span)?) / span as f64)
    }

    /// The mean backlog over `span` windows, after which there were `back` more.
    fn mean(&self, back: u64, span: u64) -> Option<f64> {
        let end = self.recent.len().checked_sub(back as usize)?;
        let from = end.checked_sub(span as usize)?;
        let sum: u64 = self.recent.range(from..end).map(|sample| sample.queued).sum();
        Some(sum as f64 / span as f64)
    }

    /// The sums over the last windows.
    fn sum(&self, span: u64) -> Sample {
        let none = Sample { offered: 0, good: 0, attempts: 0, queued: 0 };
        self.recent.iter().rev().take(span as usize).fold(none, |sum, sample| Sample {
            offered: sum.offered + sample.offered,
            good: sum.good + sample.good,
            attempts: sum.attempts + sample.attempts,
            queued: sample.queued,
        })
    }
}

/// A duration in whole windows of one second, rounded up.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs_f64().ceil() as u64
}
