//! Load up in steps and down again: where goodput is lost, and where it returns.
//!
//! A [`Walk`] watches the windows of one run and says when the load moves on, so that it works with
//! either engine. Upwards each load holds for `dwell`. At the first that is not served the walk turns
//! round: downwards a load holds for as long as the backlog falls at a rate that ends it, and the next
//! lower one follows where it does not fall. The walk ends where goodput is back.
//!
//! A load is served where good ÷ offered over the scenario's `hold` is at least its `goodput_ratio`.

mod walk;

use std::time::Duration;

use goodput_clock::Rate;
use goodput_runlog::EngineKind;
use goodput_scenario::closed_form::{amplification, least_capacity};
use goodput_scenario::{ExpectedVerdict, Scenario};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use walk::Walk;

/// The loads that are walked, and for how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ladder {
    /// The lowest load, in requests a second.
    pub from: f64,
    /// The highest.
    pub to: f64,
    /// From one load to the next.
    pub step: f64,
    /// How long each load holds on the way up.
    pub dwell: Duration,
    /// How long at most a load holds on the way down.
    pub patience: Duration,
}

/// Why a ladder cannot be walked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LadderError {
    /// The range is empty or reversed.
    #[error(
        "the load goes from {from} to {to}, which is not upwards; write such as --from 5 --to 150"
    )]
    Range {
        /// The lowest load that was asked for.
        from: f64,
        /// The highest.
        to: f64,
    },
    /// The step leaves no or too many loads.
    #[error("a step of {step} gives {steps} loads from {from} to {to}, and 2 to {most} can be walked; \
             write such as --step {example}", most = Ladder::MOST)]
    Step {
        /// The step.
        step: f64,
        /// How many loads that are.
        steps: f64,
        /// The lowest load.
        from: f64,
        /// The highest.
        to: f64,
        /// A step that fits.
        example: f64,
    },
    /// A load would not hold for long enough to be judged.
    #[error(
        "a load holds for {dwell} s, and goodput is looked at over {hold} s after it has settled; \
             write such as --dwell {example}s"
    )]
    Dwell {
        /// How long a load would hold.
        dwell: f64,
        /// The scenario's `hold`.
        hold: f64,
        /// A time that fits.
        example: f64,
    },
    /// Nothing can be overloaded.
    #[error(
        "no tier of the scenario has a limited capacity; say where the load ends, such as --to 150"
    )]
    Unlimited,
}

impl Ladder {
    /// The most loads of a ladder.
    pub const MOST: usize = 1_000;

    /// A ladder for this scenario: from a twentieth of its capacity to one and a half of it, in steps of
    /// a twentieth, where nothing else is asked for.
    ///
    /// # Errors
    ///
    /// Where what is asked for cannot be walked, or where there is no capacity to take it from.
    pub fn of(
        scenario: &Scenario,
        from: Option<Rate>,
        to: Option<Rate>,
        step: Option<Rate>,
        dwell: Duration,
        patience: Duration,
    ) -> Result<Self, LadderError> {
        let capacity = least_capacity(scenario);
        let or = |asked: Option<Rate>, share: f64| {
            asked.map(Rate::per_second).or(capacity.map(|capacity| capacity * share))
        };
        let (from, to, step) = (or(from, 0.05), or(to, 1.5), or(step, 0.05));
        let to = to.ok_or(LadderError::Unlimited)?;
        let (from, step) = (from.unwrap_or(to / 20.0), step.unwrap_or(to / 20.0));
        let ladder = Self { from, to, step, dwell, patience };
        ladder.check(scenario.expect.hold)?;
        Ok(ladder)
    }

    /// The loads from the lowest to the highest.
    pub fn loads(&self) -> Vec<f64> {
        let count = ((self.to - self.from) / self.step + 1e-9).floor() as usize;
        (0..=count.min(Self::MOST)).map(|index| self.from + self.step * index as f64).collect()
    }

    fn check(&self, hold: Duration) -> Result<(), LadderError> {
        let Self { from, to, step, dwell, .. } = *self;
        if from >= to {
            return Err(LadderError::Range { from, to });
        }
        let steps = ((to - from) / step + 1e-9).floor() + 1.0;
        if !(2.0..=Self::MOST as f64).contains(&steps) {
            return Err(LadderError::Step { step, steps, from, to, example: (to - from) / 20.0 });
        }
        if dwell < 2 * hold {
            let (dwell, hold) = (dwell.as_secs_f64(), hold.as_secs_f64());
            return Err(LadderError::Dwell { dwell, hold, example: 6.0 * hold });
        }
        Ok(())
    }
}

/// The scenario without its faults, levers and changes of the load, at the lowest load of a ladder, for
/// as long as the walk may take.
pub fn walked(scenario: &Scenario, ladder: &Ladder) -> Scenario {
    let mut walked = scenario.clone();
    walked.faults.clear();
    walked.levers.clear();
    walked.load.changes.clear();
    if let Ok(rate) = Rate::new(ladder.from) {
        walked.load.rate = rate;
    }
    walked.expect.verdict = ExpectedVerdict::Steady;
    let steps = ladder.loads().len() as u32;
    let longest = (ladder.dwell + ladder.patience).saturating_mul(steps).min(LONGEST_RUN);
    walked.duration = Duration::from_secs(longest.as_secs());
    let (connections, connect_rate) = scenario.room_for(ladder.to, scenario.max_attempts() as f64);
    let client = &mut walked.client;
    client.max_connections = client.max_connections.max(connections);
    if connect_rate > client.connect_rate {
        client.connect_rate = connect_rate;
    }
    walked
}

/// What a walk found.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Hysteresis {
    /// The version of this shape.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The arm; absent where the scenario was walked as written above its arms.
    pub arm: Option<String>,
    /// The command that repeats it.
    pub command: String,
    /// What carried the run out.
    pub engine: EngineKind,
    /// The seed.
    pub seed: u64,
    /// The least capacity of a tier, in requests a second; absent where unlimited.
    pub capacity: Option<f64>,
    /// The amplification factor k: attempts of a request that keeps failing, at the scenario's own load.
    pub factor: f64,
    /// The loads in the order in which they were walked.
    pub loads: Vec<WalkedLoad>,
    /// Between which loads goodput is lost on the way up: the last that is served and the first that is
    /// not; absent where all are served.
    pub lost_between: Option<Between>,
    /// Between which loads it returns on the way down: the first that is served and the last that is
    /// not; absent where none is.
    pub back_between: Option<Between>,
    /// By what factor the one is above the other, at least and at most.
    pub ratio: Option<Between>,
    /// Whether the walk was interrupted.
    pub interrupted: bool,
    /// Why the walk cannot be trusted; empty where it can.
    pub doubts: Vec<String>,
}

/// Two figures, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Between {
    /// The lower one.
    pub low: f64,
    /// The higher one.
    pub high: f64,
}

/// One load of a walk. Figures are those of its last `hold`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct WalkedLoad {
    /// Which way.
    pub way: Way,
    /// The load that was asked for, in requests a second.
    pub load: f64,
    /// For how many seconds it held.
    pub seconds: u64,
    /// Good requests per second.
    pub goodput: f64,
    /// Good ÷ offered.
    pub ratio: f64,
    /// Attempts ÷ offered.
    pub attempts_per_request: f64,
    /// Attempts that wait in all tiers, at the end.
    pub queued: u64,
    /// Whether it was served.
    pub served: bool,
}

/// Which way the load goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Up.
    Up,
    /// Down again.
    Down,
}

impl Hysteresis {
    /// The version of the shape that this crate writes.
    pub const SCHEMA: u32 = 1;

    /// What a walk over this scenario found.
    pub fn of(scenario: &Scenario, walk: Walk, engine: EngineKind) -> Self {
        let interrupted = !walk.is_done();
        let loads = walk.into_loads();
        let way = |way: Way| loads.iter().filter(move |load| load.way == way);
        let lost = way(Way::Up).find(|load| !load.served).map(|load| load.load);
        let before = way(Way::Up).rfind(|load| load.served).map(|load| load.load);
        let lost_between = lost.map(|high| Between { low: before.unwrap_or(0.0), high });
        let back = way(Way::Down).find(|load| load.served).map(|load| load.load);
        // The load at which the walk turned round was not served on either way.
        let above = way(Way::Down).rfind(|load| !load.served).map(|load| load.load).or(lost);
        let back_between = back.and_then(|low| Some(Between { low, high: above? }));
        let ratio = lost_between
            .zip(back_between)
            .map(|(lost, back)| Between { low: lost.low / back.high, high: lost.high / back.low });
        Self {
            schema: Self::SCHEMA,
            scenario: scenario.name.clone(),
            arm: None,
            command: String::new(),
            engine,
            seed: scenario.seed.0,
            capacity: least_capacity(scenario),
            factor: amplification(scenario),
            loads,
            lost_between,
            back_between,
            ratio,
            interrupted,
            doubts: Vec::new(),
        }
    }
}

const LONGEST_RUN: Duration = Duration::from_hours(7 * 24);

#[cfg(test)]
mod tests;
