//! Where the verdict flips as one number grows.
//!
//! A coarse grid over the range finds between which two values the verdict flips. With one seed the
//! interval is halved until it is as narrow as asked. Over seeds the question is a share: all seeds run
//! at values across the transition, and values are added where the share passes 5, 50 and 95 %, until
//! these are known as exactly as asked.
//!
//! Which runs are made depends on what earlier ones came to, and not on who carries them out or how
//! many at a time: a batch is asked for as a whole, and answered in its order. So the same question
//! has the same answer, byte for byte, on one core and on many.

mod shares;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::{Outcome, Side};
use shares::Tally;

/// What is varied over which range, and how finely.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The least value.
    pub from: f64,
    /// The greatest value.
    pub to: f64,
    /// Whether only whole values mean something.
    pub whole: bool,
    /// How narrow the answer has to be.
    pub resolution: f64,
    /// How many values the coarse grid has, at least 2.
    pub grid: usize,
    /// The seeds, at least one.
    pub seeds: Vec<u64>,
}

/// A run that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The value of what is varied.
    pub value: f64,
    /// The seed.
    pub seed: u64,
}

/// What was found over the range.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Curve {
    /// What was run, by value.
    pub points: Vec<Point>,
    /// Where the verdict flips; absent where it does not, or was not found.
    pub flip: Option<Flip>,
    /// On which side all values are, where the verdict does not flip.
    pub throughout: Option<Side>,
    /// Whether runs were left out because of an interruption or for want of time.
    pub cut_short: bool,
}

/// What the runs at one value came to.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Point {
    /// The value.
    pub value: f64,
    /// How many runs can be trusted.
    pub runs: u32,
    /// How many of them recovered, or stayed steady.
    pub recovered: u32,
    /// How many are metastable: down, with what sustains it in sight.
    pub metastable: u32,
    /// How many were not back in time, but came back later or converge.
    pub slow_recovery: u32,
    /// How many come and go.
    pub unstable: u32,
    /// How many are down for a cause of their own.
    pub not_recovered: u32,
    /// How many cannot be trusted; they are not among `runs`.
    pub inconclusive: u32,
    /// Failed ÷ runs; absent where there are no runs.
    pub share: Option<f64>,
    /// The least that the true share may be (Wilson, 95 %).
    pub low: f64,
    /// The most that the true share may be (Wilson, 95 %).
    pub high: f64,
    /// The median of the seconds to recover of those that recovered.
    pub time_to_recover: Option<f64>,
    /// Why the first run that cannot be trusted cannot.
    pub doubt: Option<String>,
}

/// Where the verdict flips.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Flip {
    /// The nearest value at which it recovers: over seeds, in more than half of them.
    pub recovers: f64,
    /// The nearest value at which it fails.
    pub fails: f64,
    /// The boundary: halfway between, or where half of the seeds fail.
    pub boundary: f64,
    /// Over seeds: where 5 and 95 % of them fail.
    pub band: Option<Band>,
    /// How many more flips the coarse grid shows; this is the first from the recovering side.
    pub more: u32,
}

/// Where the share of failures passes 5 and 95 %; absent where it does not within the range.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Band {
    /// Where 5 % fail.
    pub five: Option<f64>,
    /// Where 95 % fail.
    pub ninety_five: Option<f64>,
}

impl Band {
    /// Both ends, the lesser first; where one is absent, the given end of the range stands for it.
    pub fn ends(&self, from: f64, to: f64, fails_above: bool) -> (f64, f64) {
        let (recovering, failing) = if fails_above { (from, to) } else { (to, from) };
        let (a, b) = (self.five.unwrap_or(recovering), self.ninety_five.unwrap_or(failing));
        (a.min(b), a.max(b))
    }
}

impl Flip {
    /// Whether it is the greater values that fail.
    pub fn fails_above(&self) -> bool {
        self.fails > self.recovers
    }
}

/// Finds where the verdict flips. `run` is handed batches of trials, and answers each in its place, or
/// with none where it was not run; nothing is asked for after that.
pub fn trace(search: &Search, run: &mut dyn FnMut(&[Trial]) -> Vec<Option<Outcome>>) -> Curve {
    let mut tracer = Tracer { search, run, tallies: Vec::new(), cut_short: false };
    let found = tracer.find();
    Curve {
        points: tracer.tallies.iter().map(Tally::point).collect(),
        throughout: if found.is_none() && !tracer.cut_short { tracer.throughout() } else { None },
        flip: found,
        cut_short: tracer.cut_short,
    }
}

struct Tracer<'a> {
    search: &'a Search,
    run: &'a mut dyn FnMut(&[Trial]) -> Vec<Option<Outcome>>,
    /// By value.
    tallies: Vec<Tally>,
    cut_short: bool,
}

impl Tracer<'_> {
    fn find(&mut self) -> Option<Flip> {
        let seeds = self.search.seeds.len();
        let grid = self.between(self.search.from, self.search.to, self.search.grid.max(2) - 1);
        self.measure(&grid, seeds.min(PROBES));
        let sides: Vec<_> = self.sides();
        let flips: Vec<_> = sides.windows(2).filter(|pair| pair[0].1 != pair[1].1).collect();
        let ascending = sides.first().is_some_and(|(_, side)| *side == Side::Recovers)
            || sides.last().is_some_and(|(_, side)| *side == Side::Fails);
        let pair = if ascending { flips.first() } else { flips.last() }?;
        let more = flips.len() as u32 - 1;
        let (low, high) = (pair[0].0, pair[1].0);
        let fails_above = pair[1].1 == Side::Fails;
        let (recovers, fails) = if fails_above { (low, high) } else { (high, low) };
        if seeds == 1 || self.cut_short {
            Some(self.halve(recovers, fails, more))
        } else {
            self.follow(&grid, recovers, fails, more)
        }
    }

    /// Narrows the interval by halves.
    fn halve(&mut self, mut recovers: f64, mut fails: f64, more: u32) -> Flip {
        while !self.cut_short && !self.is_narrow(recovers, fails) {
            let middle = self.snap(f64::midpoint(recovers, fails));
            self.measure(&[middle], 1);
            match self.tally(middle).and_then(Tally::side) {
                Some(Side::Recovers) => recovers = middle,
                Some(Side::Fails) => fails = middle,
                // It says nothing, and neither would its neighbours.
                None => break,
            }
        }
        let boundary = f64::midpoint(recovers, fails);
        Flip { recovers, fails, boundary, band: None, more }
    }

    /// Follows the share of failures from where nothing fails to where everything does.
    fn follow(&mut self, grid: &[f64], recovers: f64, fails: f64, more: u32) -> Option<Flip> {
        let seeds = self.search.seeds.len();
        let fails_above = fails > recovers;
        let (start, end) = self.zone(grid, recovers, fails);
        let across = self.between(start.min(end), start.max(end), 8);
        self.measure(&across, seeds);
        for _ in 0..MOST_ROUNDS {
            if self.cut_short {
                break;
            }
            let curve = shares::smooth(&self.tallies, seeds, fails_above);
            let between = TARGETS.iter().filter_map(|share| shares::around(&curve, *share));
            let mut wanted: Vec<f64> = between
                .filter(|(a, b)| !self.is_narrow(*a, *b))
                .map(|(a, b)| self.snap(f64::midpoint(a, b)))
                .collect();
            wanted.sort_by(f64::total_cmp);
            wanted.dedup();
            if wanted.is_empty() {
                break;
            }
            self.measure(&wanted, seeds);
        }
        let curve = shares::smooth(&self.tallies, seeds, fails_above);
        let [five, half, ninety_five] = TARGETS.map(|share| shares::crossing(&curve, share));
        let (recovers, fails) = shares::around(&curve, 0.5)?;
        let band = Some(Band { five, ninety_five });
        Some(Flip { recovers, fails, boundary: half?, band, more })
    }

    /// From the last value of the grid on the recovering side at which nothing fails to the first on
    /// the other at which everything does; the ends of the range where there is none.
    fn zone(&mut self, grid: &[f64], recovers: f64, fails: f64) -> (f64, f64) {
        let seeds = self.search.seeds.len();
        let place =
            |value: f64| grid.iter().position(|other| same(*other, value)).unwrap_or_default();
        let (mut start, mut end) = (place(recovers), place(fails));
        let fails_above = end > start;
        let away = |place: usize, up: bool| {
            let next = if up { place.checked_add(1) } else { place.checked_sub(1) };
            next.filter(|next| *next < grid.len())
        };
        while !self.cut_short {
            self.measure(&[grid[start]], seeds);
            let share = self.tally(grid[start]).and_then(Tally::share);
            match away(start, !fails_above) {
                Some(next) if share.is_some_and(|share| share > TARGETS[0] / 2.0) => start = next,
                _ => break,
            }
        }
        while !self.cut_short {
            self.measure(&[grid[end]], seeds);
            let share = self.tally(grid[end]).and_then(Tally::share);
            match away(end, fails_above) {
                Some(next) if share.is_some_and(|share| 1.0 - share > TARGETS[0] / 2.0) => {
                    end = next;
                }
                _ => break,
            }
        }
        (grid[start], grid[end])
    }

    /// Runs the first `seeds` seeds at each of these values, apart from what has been run.
    fn measure(&mut self, values: &[f64], seeds: usize) {
        if self.cut_short {
            return;
        }
        let mut trials = Vec::new();
        for value in values {
            let done = self.tally(*value).map_or(0, |tally| tally.outcomes.len());
            let missing = self.search.seeds.iter().take(seeds).skip(done);
            trials.extend(missing.map(|seed| Trial { value: *value, seed: *seed }));
        }
        let outcomes = (self.run)(&trials);
        self.cut_short |= outcomes.len() < trials.len();
        for (trial, outcome) in trials.iter().zip(outcomes) {
            match outcome {
                Some(outcome) => self.note(trial.value, outcome),
                None => self.cut_short = true,
            }
        }
    }

    fn note(&mut self, value: f64, outcome: Outcome) {
        let place = self.tallies.partition_point(|tally| tally.value < value);
        if self.tallies.get(place).is_none_or(|tally| tally.value > value) {
            self.tallies.insert(place, Tally { value, outcomes: Vec::new() });
        }
        self.tallies[place].outcomes.push(outcome);
    }

    fn tally(&self, value: f64) -> Option<&Tally> {
        self.tallies.iter().find(|tally| same(tally.value, value))
    }

    /// The values that have a side, with it.
    fn sides(&self) -> Vec<(f64, Side)> {
        self.tallies.iter().filter_map(|tally| Some((tally.value, tally.side()?))).collect()
    }

    fn throughout(&self) -> Option<Side> {
        let sides = self.sides();
        let (_, first) = sides.first()?;
        sides.iter().all(|(_, side)| side == first).then_some(*first)
    }

    /// The ends and equally distant values between them, each once.
    fn between(&self, from: f64, to: f64, steps: usize) -> Vec<f64> {
        let at = |step: usize| from + (to - from) * step as f64 / steps as f64;
        let mut values: Vec<f64> = (0..=steps).map(|step| self.snap(at(step))).collect();
        values.dedup();
        values
    }

    fn is_narrow(&self, a: f64, b: f64) -> bool {
        let width = (a - b).abs();
        width <= self.search.resolution * (1.0 + 1e-9)
            || (self.search.whole && width <= 1.0)
            || [a, b].contains(&self.snap(f64::midpoint(a, b)))
    }

    /// The nearest value that means something and can be written down.
    fn snap(&self, value: f64) -> f64 {
        let grain = if self.search.whole { 1.0 } else { 1e6 };
        (value * grain).round() / grain
    }
}

/// Whether two values are the same one: both come from [`Tracer::snap`].
const fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

/// How many seeds look at each value of the coarse grid.
const PROBES: usize = 4;
/// The shares that are looked for.
const TARGETS: [f64; 3] = [0.05, 0.5, 0.95];
/// After so many rounds the values are as close as a range can ask for.
const MOST_ROUNDS: usize = 24;

#[cfg(test)]
mod tests;
