//! The seeded arrival times of a run, lazily and open loop.
//!
//! Each arrival has a place u on a stream of unit rate: its index for a constant stream, the index
//! of its batch times the batch's size, or a sum of exponential draws for a Poisson process. The
//! load says how many requests are due by a time, Λ(t), the integral of the rate. An arrival's time
//! is where Λ reaches u. So a time depends on the arrival's index, the load and the seed alone:
//! never on the previous send, on an answer or on how late the caller is.
//!
//! The rate moves in straight lines, hence Λ is quadratic in pieces and its inverse is a closed
//! formula.
//!
//! # Source
//!
//! Time change of a unit-rate process by its cumulated intensity: Çınlar, *Introduction to
//! Stochastic Processes* (1975), chapter 4, section 7.

mod orders;
#[cfg(test)]
mod tests;

use std::time::Duration;

use goodput_clock::{Rate, Seed, Stream, Timestamp};

use crate::model::{Arrivals, Load, RateChange};

pub use orders::OrderIds;

/// The arrival times of one run: the same for the same load, length and seed.
///
/// An [`Iterator`] that also says when the next arrival is due without taking it
/// ([`peek`](Self::peek)), so that a rate can change in between.
#[derive(Clone, Debug)]
pub struct Schedule {
    spread: Spread,
    pieces: Vec<Piece>,
    /// The piece that the next arrival is looked for in.
    current: usize,
    ends: Timestamp,
    last: Timestamp,
    taken: u64,
}

impl Schedule {
    /// The arrivals of `load` during `length`.
    pub fn new(load: &Load, length: Duration, seed: Seed) -> Self {
        Self {
            spread: Spread::new(load.arrivals, seed),
            pieces: pieces(load),
            current: 0,
            ends: Timestamp::ZERO + length,
            last: Timestamp::ZERO,
            taken: 0,
        }
    }

    /// When the next arrival is due; none where the run ends before.
    pub fn peek(&mut self) -> Option<Timestamp> {
        let place = self.spread.place;
        while self.pieces.get(self.current + 1).is_some_and(|next| next.count <= place) {
            self.current += 1;
        }
        let at = self.pieces[self.current].when(place).max(self.last);
        (at < self.ends).then_some(at)
    }

    /// Takes the next arrival if it is due before `until`.
    pub fn next_before(&mut self, until: Timestamp) -> Option<Timestamp> {
        if self.peek()? < until { self.next() } else { None }
    }

    /// Changes the rate from `now` on. It holds until the next call: what the load had planned for
    /// later does not happen any more.
    ///
    /// An arrival that was due before `now` and has not been taken stays due when it was.
    pub fn set_rate(&mut self, now: Timestamp, rate: Rate) {
        let seconds = now.as_secs_f64();
        let within = self.pieces.iter().rposition(|piece| piece.start <= seconds).unwrap_or(0);
        let count = self.pieces[within].count_at(seconds);
        self.pieces.truncate(within + 1);
        self.pieces.push(Piece { start: seconds, count, rate: rate.per_second(), slope: 0.0 });
        // The next arrival may have been looked up in a piece that is gone.
        self.current = self.current.min(within);
    }

    /// How many arrivals have been taken or are due before `until`.
    pub fn count_until(&self, until: Timestamp) -> u64 {
        let mut ahead = self.clone();
        while ahead.next_before(until).is_some() {}
        ahead.taken
    }

    /// When arrivals end.
    pub const fn ends(&self) -> Timestamp {
        self.ends
    }

    /// How many arrivals have been taken.
    pub const fn taken(&self) -> u64 {
        self.taken
    }
}

impl Iterator for Schedule {
    type Item = Timestamp;

    fn next(&mut self) -> Option<Timestamp> {
        let at = self.peek()?;
        self.spread.step();
        self.last = at;
        self.taken += 1;
        Some(at)
    }
}

/// The places of the arrivals on a stream of unit rate.
#[derive(Clone, Debug)]
struct Spread {
    arrivals: Arrivals,
    random: Stream,
    index: u64,
    /// The place of the next arrival.
    place: f64,
}

impl Spread {
    fn new(arrivals: Arrivals, seed: Seed) -> Self {
        let mut random = seed.stream("arrivals");
        let place = match arrivals {
            Arrivals::Constant | Arrivals::Batch { .. } => 0.0,
            Arrivals::Poisson => random.exponential(),
        };
        Self { arrivals, random, index: 0, place }
    }

    fn step(&mut self) {
        self.index += 1;
        self.place = match self.arrivals {
            Arrivals::Constant => self.index as f64,
            Arrivals::Batch { size } => {
                let size = u64::from(size.max(1));
                (self.index / size * size) as f64
            }
            Arrivals::Poisson => self.place + self.random.exponential(),
        };
    }
}

/// A stretch in which the rate moves in a straight line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Seconds since the run began.
    start: f64,
    /// Λ at the start.
    count: f64,
    /// The rate at the start.
    rate: f64,
    /// By how much the rate grows a second.
    slope: f64,
}

impl Piece {
    fn rate_at(&self, seconds: f64) -> f64 {
        self.rate + self.slope * (seconds - self.start)
    }

    fn count_at(&self, seconds: f64) -> f64 {
        let passed = (seconds - self.start).max(0.0);
        self.count + passed * (self.rate + self.slope * passed / 2.0)
    }

    /// Where Λ reaches `count`.
    fn when(&self, count: f64) -> Timestamp {
        let more = (count - self.count).max(0.0);
        // This form of the quadratic formula cancels nothing and also holds for slope 0.
        let root = (self.rate * self.rate + 2.0 * self.slope * more).max(0.0).sqrt();
        Timestamp::from_secs_f64(self.start + 2.0 * more / (self.rate + root))
    }
}

/// The load's rate over time as pieces, from the run's beginning.
fn pieces(load: &Load) -> Vec<Piece> {
    let mut pieces =
        vec![Piece { start: 0.0, count: 0.0, rate: load.rate.per_second(), slope: 0.0 }];
    let mut settled = load.rate;
    for change in &load.changes {
        move_to(&mut pieces, change.at, change.over, change.rate);
        match change.length {
            Some(length) => move_to(&mut pieces, change.at + length, change.over, settled),
            None => settled = change.rate,
        }
    }
    pieces
}

/// Adds the way from the rate at `at` to `rate`, and the stretch after it.
fn move_to(pieces: &mut Vec<Piece>, at: Timestamp, over: Duration, rate: Rate) {
    let rate = rate.per_second();
    if !over.is_zero() {
        let start = at.as_secs_f64();
        let before = pieces.last().map_or(rate, |piece| piece.rate_at(start));
        let slope = (rate - before) / over.as_secs_f64();
        add(pieces, start, before, slope);
    }
    add(pieces, (at + over).as_secs_f64(), rate, 0.0);
}

fn add(pieces: &mut Vec<Piece>, start: f64, rate: f64, slope: f64) {
    let count = pieces.last().map_or(0.0, |piece| piece.count_at(start));
    pieces.push(Piece { start, count, rate, slope });
}

impl Load {
    /// The rate at a moment, in requests per second, levers apart.
    pub fn rate_at(&self, at: Timestamp) -> f64 {
        let seconds = at.as_secs_f64();
        let pieces = pieces(self);
        let within = pieces.iter().rposition(|piece| piece.start <= seconds).unwrap_or(0);
        pieces[within].rate_at(seconds)
    }

    /// The highest rate of the run, in requests per second, levers apart.
    pub fn peak_rate(&self) -> Rate {
        let rates = self.changes.iter().map(|change: &RateChange| change.rate);
        rates.fold(self.rate, |peak, rate| if rate > peak { rate } else { peak })
    }
}
