//! Which recovery actions get a system out of a metastable failure, and what is the least that does.

mod action;
mod search;
mod timeline;

use std::time::Duration;

use goodput_clock::Seed;
use goodput_runlog::{EngineKind, RunLog};
use goodput_scenario::Scenario;
use goodput_verdict::{Cause, Exit, Judgement, Verdict, judge, named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use action::{Action, Unit};

use timeline::{Drilled, drilled};

/// On what terms actions are tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// How long after the trigger's end an action begins.
    pub after: Duration,
    /// How long after its last step goodput may take to be back.
    pub within: Duration,
    /// The longest duration that is tried where one is sought.
    pub longest: Duration,
    /// An action works where it works with each of these; at least one.
    pub seeds: Vec<Seed>,
    /// At which tier levers of a server are pulled; without it, at the one that the first fault hits.
    pub tier: Option<String>,
}

/// Why a drill cannot be held.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DrillError<E> {
    /// Nothing makes the system fail.
    #[error(
        "the scenario has no fault and no load spike, so there is nothing to recover from; \
             take one with a [[fault]], such as database-failover"
    )]
    NoTrigger,
    /// Without an action it does not stay failed.
    #[error(
        "with seed {seed} it does not stay failed by itself: {} ({summary}); \
             a drill needs an arm that is metastable, such as --arm naive",
        named(*.verdict, *.cause)
    )]
    NotMetastable {
        /// The seed.
        seed: u64,
        /// What came out.
        verdict: Verdict,
        /// Why goodput is down, where it has not recovered.
        cause: Option<Cause>,
        /// The same in a sentence.
        summary: String,
    },
    /// There is no such tier.
    #[error("--tier {asked}: there is no such tier; there is {}", .tiers.join(", "))]
    NoTier {
        /// The tier that was asked for.
        asked: String,
        /// Those that there are.
        tiers: Vec<String>,
    },
    /// Nothing can be multiplied.
    #[error("tier `{0}` has unlimited capacity, so `capacity` changes nothing there; leave it out")]
    Unlimited(String),
    /// The engine failed.
    #[error("{0}")]
    Engine(E),
}

/// What came of a drill.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Drill {
    /// The version of this shape.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The arm; absent where the scenario ran as written above its arms.
    pub arm: Option<String>,
    /// The command that repeats it.
    pub command: String,
    /// What carried the runs out.
    pub engine: EngineKind,
    /// The seeds; an action works where it works with each.
    pub seeds: Vec<u64>,
    /// Seconds from the trigger's end to an action's first step.
    pub after: f64,
    /// Seconds that goodput might take to be back, from an action's last step.
    pub within: f64,
    /// What happens without an action.
    pub without: Without,
    /// One row an action.
    pub rows: Vec<DrillRow>,
    /// How the command ended.
    pub exit: Exit,
    /// The exit code that goes with it.
    pub exit_code: u8,
}

impl DrillRow {
    /// The verdict with its cause, such as `not-recovered: down`.
    pub fn name(&self) -> String {
        named(self.verdict, self.cause)
    }
}

impl Drill {
    /// The version of the shape that this crate writes.
    pub const SCHEMA: u32 = 2;
}

/// The failure without an action; means over the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Without {
    /// Goodput per second before the trigger.
    pub goodput_before: f64,
    /// Goodput per second over the run's last `hold`.
    pub goodput_at_end: f64,
    /// Attempts per request over the run's last `hold`.
    pub attempts_per_request: f64,
    /// Attempts that wait in all tiers when an action would begin.
    pub queued: f64,
}

/// An action and what came of it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct DrillRow {
    /// The action as it was asked for.
    pub action: String,
    /// The action as the figures below are for: with the least number that works where one was sought,
    /// or with the most that was tried where none works.
    pub tried: String,
    /// What was sought, and between what.
    pub sought: Option<Sought>,
    /// Whether it works with every seed.
    pub works: bool,
    /// With how many seeds it works.
    pub worked: u32,
    /// The verdict; of the first seed with which it does not work, where there is one.
    pub verdict: Verdict,
    /// Why goodput is down in that run; only where it has not recovered.
    pub cause: Option<Cause>,
    /// By how many seconds that run is too short to tell; absent where length is not what it lacks.
    pub run_longer: Option<f64>,
    /// Why that run cannot be trusted, where it is inconclusive.
    pub doubts: Vec<String>,
    /// Seconds from its first step until goodput was back for good, the longest of the seeds; absent
    /// where it does not work.
    pub time_to_recover: Option<f64>,
    /// Requests of the usual goodput that were lost until then and in the `hold` after it, the mean of
    /// the seeds; absent where it does not work.
    pub goodput_lost: Option<f64>,
    /// For how many seconds after its first step there was at least half of the usual goodput, where
    /// it does not work. The mean of the seeds.
    pub goodput_seconds: Option<f64>,
}

/// The search for an action's one number.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Sought {
    /// What it is.
    pub unit: Unit,
    /// The mildest that was tried.
    pub mildest: f64,
    /// The strongest that was tried.
    pub strongest: f64,
    /// To what it was sought.
    pub step: f64,
    /// The mildest that works; absent where none does.
    pub least: Option<f64>,
}

/// An engine: from a scenario with its seed to the log of its run.
pub type EngineFn<'a, E> = dyn Fn(&Scenario) -> Result<RunLog, E> + Sync + 'a;

/// Runs the scenario without an action, once a seed.
///
/// # Errors
///
/// Where it does not stay failed with each seed, where nothing makes it fail, or where the engine fails.
pub fn without_action<E>(
    scenario: &Scenario,
    terms: &Terms,
    engine: &EngineFn<'_, E>,
) -> Result<Without, DrillError<E>> {
    let drilled = drilled(scenario, None, terms)?;
    let count = terms.seeds.len().max(1) as f64;
    let mut mean = Without {
        goodput_before: 0.0,
        goodput_at_end: 0.0,
        attempts_per_request: 0.0,
        queued: 0.0,
    };
    for seed in &terms.seeds {
        let (log, judgement) = run(&drilled, *seed, engine)?;
        if judgement.verdict != Verdict::Metastable {
            return Err(DrillError::NotMetastable {
                seed: seed.0,
                verdict: judgement.verdict,
                cause: judgement.cause,
                summary: judgement.summary,
            });
        }
        let at = drilled.pulled.elapsed().as_secs();
        let then = log.windows.iter().find(|window| window.second + 1 == at);
        let queued: u64 = then.iter().flat_map(|w| &w.tiers).map(|tier| tier.queued).sum();
        let end = judgement.phases.end.unwrap_or_default();
        mean.goodput_before += judgement.baseline.unwrap_or_default().goodput / count;
        mean.goodput_at_end += end.goodput / count;
        mean.attempts_per_request += end.attempts_per_request.unwrap_or_default() / count;
        mean.queued += queued as f64 / count;
    }
    Ok(mean)
}

/// Tries one action: once a seed, or as often as its search needs where a number of it is sought.
///
/// The search assumes that what works does so when it is stronger, too.
///
/// # Errors
///
/// Where the action cannot be carried out on this scenario, or the engine fails.
pub fn drill_action<E>(
    scenario: &Scenario,
    action: &Action,
    terms: &Terms,
    engine: &EngineFn<'_, E>,
) -> Result<DrillRow, DrillError<E>> {
    let trial = Trial { scenario, terms, engine };
    let Some(unit) = action.sought() else { return trial.row(action, action, None) };
    let range = search::Range::of(unit, scenario, terms);
    let least = search::least(range.steps, |index| trial.works(&action.with(range.at(index))))?;
    let tried = range.at(least.unwrap_or(range.steps));
    let sought = Sought {
        unit,
        mildest: range.at(0),
        strongest: range.at(range.steps),
        step: range.step.abs(),
        least: least.map(|index| range.at(index)),
    };
    trial.row(action, &action.with(tried), Some(sought))
}

fn run<E>(
    drilled: &Drilled,
    seed: Seed,
    engine: &EngineFn<'_, E>,
) -> Result<(RunLog, Judgement), DrillError<E>> {
    let scenario = Scenario { seed, ..drilled.scenario.clone() };
    let log = engine(&scenario).map_err(DrillError::Engine)?;
    let judgement = judge(&log, &scenario);
    Ok((log, judgement))
}

struct Trial<'a, E> {
    scenario: &'a Scenario,
    terms: &'a Terms,
    engine: &'a EngineFn<'a, E>,
}

/// What one run of an action came to.
struct Outcome {
    judgement: Judgement,
    /// From its first step until goodput was back for good.
    recovered: Option<f64>,
    lost: f64,
    goodput_seconds: f64,
}

impl<E> Trial<'_, E> {
    /// Whether an action works with every seed; the first that says no ends it.
    fn works(&self, action: &Action) -> Result<bool, DrillError<E>> {
        let drilled = drilled(self.scenario, Some(action), self.terms)?;
        for seed in &self.terms.seeds {
            if self.outcome(&drilled, *seed)?.recovered.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn row(
        &self,
        asked: &Action,
        tried: &Action,
        sought: Option<Sought>,
    ) -> Result<DrillRow, DrillError<E>> {
        let drilled = drilled(self.scenario, Some(tried), self.terms)?;
        let outcomes = self.terms.seeds.iter().map(|seed| self.outcome(&drilled, *seed));
        let outcomes = outcomes.collect::<Result<Vec<_>, _>>()?;
        let worked = outcomes.iter().filter(|outcome| outcome.recovered.is_some()).count();
        let works = worked == outcomes.len() && worked > 0;
        let telling = outcomes.iter().find(|outcome| outcome.recovered.is_none());
        let telling = telling.or(outcomes.first()).map(|outcome| &outcome.judgement);
        let mean = |of: fn(&Outcome) -> f64| {
            outcomes.iter().map(of).sum::<f64>() / outcomes.len().max(1) as f64
        };
        let longest = outcomes.iter().filter_map(|outcome| outcome.recovered).fold(0.0, f64::max);
        Ok(DrillRow {
            action: asked.to_string(),
            tried: tried.to_string(),
            sought,
            works,
            worked: worked as u32,
            verdict: telling.map_or(Verdict::Inconclusive, |judgement| judgement.verdict),
            cause: telling.and_then(|judgement| judgement.cause),
            run_longer: telling.and_then(|judgement| judgement.run_longer),
            doubts: telling
                .map(|judgement| judgement.doubts.iter().map(|doubt| doubt.text.clone()).collect())
                .unwrap_or_default(),
            time_to_recover: works.then_some(longest),
            goodput_lost: works.then(|| mean(|outcome| outcome.lost)),
            goodput_seconds: (!works).then(|| mean(|outcome| outcome.goodput_seconds)),
        })
    }

    fn outcome(&self, drilled: &Drilled, seed: Seed) -> Result<Outcome, DrillError<E>> {
        let (log, judgement) = run(drilled, seed, self.engine)?;
        let pulled = drilled.pulled.elapsed().as_secs_f64();
        let over = judgement.trigger.map_or(0.0, |trigger| trigger.to);
        let back = matches!(judgement.verdict, Verdict::Recovered | Verdict::SlowRecovery);
        let settled = judgement.settled.filter(|_| back);
        let recovered = settled.map(|settled| (over + settled - pulled).max(0.0));
        let usual = judgement.baseline.unwrap_or_default().goodput;
        // Goodput is back at the start of a whole `hold` in its band, in which some is lost still.
        let until =
            recovered.map_or(f64::INFINITY, |seconds| pulled + seconds + judgement.rule.hold);
        let after =
            log.windows.iter().filter(|window| (pulled..until).contains(&(window.second as f64)));
        let good = after.map(|window| window.client.good as f64).collect::<Vec<_>>();
        Ok(Outcome {
            judgement,
            recovered,
            lost: (usual * good.len() as f64 - good.iter().sum::<f64>()).max(0.0),
            goodput_seconds: good.iter().filter(|good| **good > usual / 2.0).count() as f64,
        })
    }
}

#[cfg(test)]
mod tests;
