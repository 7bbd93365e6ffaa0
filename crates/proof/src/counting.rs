//! The counted truth of a long run: plain sums of good cohorts, and nothing of the judge's.
//!
//! # Definitions
//!
//! - A **cohort** is the requests that arrived in one second; its share is how many of them ended
//!   well. Those that a lever's refusal turned away leave it. Trailing seconds with requests that
//!   are still open when the watch ends are left out.
//! - **θ**, the band's edge, is `goodput_ratio` times the smaller of two shares: the run's own
//!   before the trigger, and the twin's after it. The twin is the same run without the trigger:
//!   what it loses too is not the trigger's doing.
//! - A **block** is `hold` long and grows to 100 requests by schedule; blocks are laid end to end
//!   from the trigger's end, so that none is counted twice.
//! - **Back** is a block at θ or above from which three together are at θ or above. One block alone
//!   is what chance gives a system that is down, and three are what `within` and `hold` ask for at
//!   the least.
//! - A **collapse** is two or more blocks in a row below θ that together are ten points below it. A
//!   healthy system at nine tenths of its capacity has shallower or shorter dips, and so has the
//!   twin.
//! - A run **returns** where it is back at its end, what follows the last collapse has a share of θ
//!   or above, and, after two collapses or more, has lasted longer than the longest collapse and
//!   the longest pause between two: a cycle is not over because it is up at the moment.
//! - It **comes and goes** where it does not return and has come back from two collapses at least.
//! - It is **down** otherwise: never back, back once and down for good, or for good below θ.
//! - It **falls by itself** where the twin has a collapse or a share below its own θ.
//! - The trigger was **withheld** where the engine's gate let no fault in, and the run ended there.

use goodput_runlog::{Cohort, RunLog, Window};
use goodput_scenario::Scenario;

/// What the long run and its twin came to.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Class {
    /// It is back, and stays.
    Returns,
    /// It comes back and goes down again, and so on.
    ComesAndGoes,
    /// It stays down.
    Down,
    /// So does its twin, which had no trigger.
    FallsByItself,
    /// The engine withheld the trigger: there is no truth about it.
    Withheld,
}

impl Class {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 5] =
        [Self::Returns, Self::ComesAndGoes, Self::Down, Self::FallsByItself, Self::Withheld];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Returns => "returns",
            Self::ComesAndGoes => "comes and goes",
            Self::Down => "stays down",
            Self::FallsByItself => "falls by itself",
            Self::Withheld => "trigger withheld",
        }
    }

    /// Whether a verdict on the trigger can be set against it.
    pub const fn is_told(self) -> bool {
        matches!(self, Self::Returns | Self::ComesAndGoes | Self::Down)
    }
}

/// Requests by the second in which they arrived.
#[derive(Clone, Debug, Default)]
pub struct Cohorts {
    counted: Vec<f64>,
    good: Vec<f64>,
    /// Seconds before the first that is not decided at the end of the watch.
    decided: usize,
}

impl Cohorts {
    /// The cohorts of a run. Those that are younger than a request's life when the watch ends are
    /// left out from the first on that has an open request; what is open in an older one is past
    /// its life, and no good.
    pub fn of(log: &RunLog, scenario: &Scenario) -> Self {
        let watched = scenario.duration + scenario.watch();
        let young = watched.saturating_sub(scenario.life()).as_secs();
        let seconds = log.windows.iter().map(|window| {
            let Cohort { arrived, good, turned_away, .. } = window.client.cohort;
            (arrived.saturating_sub(turned_away), good)
        });
        let open = |window: &&Window| window.second >= young && window.client.cohort.open() > 0;
        let decided = log.windows.iter().find(open).map(|window| window.second as usize);
        let mut cohorts = Self::from_counts(seconds);
        cohorts.decided = decided.unwrap_or(cohorts.counted.len());
        cohorts
    }

    /// Decided cohorts from counted and good requests, second by second.
    pub fn from_counts(seconds: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let seconds = seconds.into_iter().map(|(counted, good)| (counted as f64, good as f64));
        let (counted, good): (Vec<f64>, Vec<f64>) = seconds.unzip();
        Self { decided: counted.len(), counted, good }
    }

    /// Counted and good requests of these seconds.
    pub fn sums(&self, from: usize, to: usize) -> (f64, f64) {
        let sum = |of: &[f64]| {
            of[from.min(of.len())..to.clamp(from, of.len().max(from)).min(of.len())].iter().sum()
        };
        (sum(&self.counted), sum(&self.good))
    }

    /// The share of these seconds; 1 where nothing was counted.
    pub fn share(&self, from: usize, to: usize) -> f64 {
        let (counted, good) = self.sums(from, to);
        if counted > 0.0 { good / counted } else { 1.0 }
    }

    /// How many seconds are decided.
    pub const fn decided(&self) -> usize {
        self.decided
    }
}

/// How a run went after its trigger, block by block.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The band's edge.
    pub theta: f64,
    /// The share of each block.
    pub blocks: Vec<f64>,
    /// The length of a block in seconds.
    pub block: usize,
    /// When the first block begins.
    pub from: usize,
    /// Seconds in which it was back: from, to.
    pub ups: Vec<(usize, usize)>,
    /// Collapses after it had been back: from, to.
    pub collapses: Vec<(usize, usize)>,
    /// Since when it has been back at the end; none where it is not.
    pub settled: Option<usize>,
    /// The share of what it came to: since it settled, or of the last half.
    pub share: f64,
    /// The nearest distance of a share that decides to the edge that it is set against.
    pub margin: f64,
    /// Whether it returns, comes and goes or is down.
    pub class: Option<Class>,
}

/// Counts a run from second `from` in blocks of `block` seconds against the edge `theta`.
pub fn course(cohorts: &Cohorts, from: usize, block: usize, theta: f64) -> Course {
    let count = cohorts.decided().saturating_sub(from) / block.max(1);
    let end = from + count * block;
    let at = |index: usize| from + index * block;
    let share = |a: usize, b: usize| cohorts.share(at(a), at(b.min(count)));
    let blocks: Vec<f64> = (0..count).map(|index| share(index, index + 1)).collect();
    let back = |index: usize| blocks[index] >= theta && share(index, index + BACK) >= theta;
    let (mut ups, mut collapses, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    let mut margin = f64::INFINITY;
    let (mut up, mut index) = (None, 0);
    while index < count {
        let Some(since) = up else {
            if back(index) {
                up = Some(index);
                if !collapses.is_empty() {
                    ends.push(at(index));
                }
            }
            index += 1;
            continue;
        };
        let low = blocks[index..].iter().take_while(|share| **share < theta).count();
        let depth = share(index, index + low.max(2)) - (theta - DEEP);
        if low >= 1 && index + 2 <= count {
            margin = margin.min(depth.abs());
        }
        if low >= 2 && depth < 0.0 {
            ups.push((at(since), at(index)));
            collapses.push(at(index));
            up = None;
        }
        index += low.max(1);
    }
    if let Some(since) = up {
        ups.push((at(since), end));
    }
    let collapses: Vec<_> = collapses
        .iter()
        .enumerate()
        .map(|(index, from)| (*from, ends.get(index).copied().unwrap_or(end)))
        .collect();
    let half = from + (count / 2) * block;
    let settled = up.map(at);
    let last = cohorts.share(settled.unwrap_or(half), end);
    margin = margin.min((last - theta).abs());
    let class = class(&ups, &collapses, ends.len(), settled, end, last >= theta);
    Course {
        theta,
        blocks,
        block,
        from,
        ups,
        collapses,
        settled,
        share: last,
        margin,
        class: Some(class),
    }
}

fn class(
    ups: &[(usize, usize)],
    collapses: &[(usize, usize)],
    ended: usize,
    settled: Option<usize>,
    end: usize,
    in_band: bool,
) -> Class {
    let longest = collapses.iter().map(|(from, to)| to - from).max().unwrap_or_default();
    let pause = ups.iter().rev().skip(1).map(|(from, to)| to - from).max().unwrap_or_default();
    match settled {
        Some(since) if ended >= 2 && end - since < longest + pause => Class::ComesAndGoes,
        Some(_) if in_band => Class::Returns,
        None if ended >= 2 => Class::ComesAndGoes,
        Some(_) | None => Class::Down,
    }
}

impl Course {
    /// Whether it is down at or after this second, or comes and goes: *recovered* is false there.
    pub fn goes_down_after(&self, second: usize) -> bool {
        self.class != Some(Class::Returns)
            || self.ups.first().is_none_or(|(from, _)| *from >= second)
            || self.collapses.iter().any(|(_, to)| *to > second)
    }

    /// Whether it is back after this second, or comes and goes: *metastable* is false there.
    pub fn comes_back_after(&self, second: usize) -> bool {
        self.class == Some(Class::ComesAndGoes) || self.ups.iter().any(|(_, to)| *to > second)
    }
}

/// Blocks that together must be at the edge where a run is back.
const BACK: usize = 3;
/// How far below the edge a collapse is.
pub const DEEP: f64 = 0.10;
