//! What `goodput boundary` asks: the simulator over seeds, then the rig at the band that it found.

use std::time::Duration;

use goodput_experiment::{
    Boundary, Curve, Flip, Forms, Measured, Measurement, Outcome, Search, Side, Trial,
    confirmation, trace,
};
use goodput_scenario::Scenario;
use goodput_scenario::closed_form::ClosedForms;

use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::subject::Subject;
use crate::trials::{Rig, RigTrial};
use crate::vary::Varied;

/// What is asked, and how.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// Of what.
    pub(crate) subject: Subject<'a>,
    /// What is varied.
    pub(crate) varied: Varied<'a>,
    /// Which engines are asked: the simulator, the rig.
    pub(crate) engines: (bool, bool),
    /// How many seeds the simulator runs.
    pub(crate) seeds: u32,
    /// How narrow the answer has to be; by default a share of the range.
    pub(crate) resolution: Option<f64>,
    /// How long the rig may take.
    pub(crate) time: Duration,
}

impl Question<'_> {
    /// Asks the engines.
    pub(crate) fn answer(&self, command: String) -> Result<Boundary, Failure> {
        for end in [self.varied.from, self.varied.to] {
            self.scenario_at(end, self.subject.seed)?;
        }
        let prediction = self.engines.0.then(|| self.predict(self.seeds));
        let flip = prediction.as_ref().and_then(|curve| curve.flip.clone());
        if let Some(curve) = &prediction {
            self.check_flip(curve)?;
        }
        let same_arrivals = match &flip {
            Some(flip) if self.seeds > 1 && self.engines.1 => self.predict(1).flip,
            other => other.clone().filter(|_| self.seeds == 1),
        };
        let mut exits = Vec::new();
        let wants_the_rig = self.engines.1 && !self.subject.cancel.is_cancelled();
        let measurement = match &flip {
            Some(flip) if wants_the_rig => Some(self.confirm(flip, &mut exits)?),
            None if wants_the_rig => Some(self.measure(&mut exits)?),
            _ => None,
        };
        let fails_above = flip.as_ref().is_none_or(Flip::fails_above);
        if let Some(measurement) = &measurement {
            let at = |flip: &Option<Flip>| flip.as_ref().map(|flip| flip.boundary);
            exits.push(measurement.exit(at(&flip), at(&same_arrivals)));
        }
        if self.subject.cancel.is_cancelled() {
            exits.push(Exit::Interrupted);
        }
        let exit = Exit::worst(exits);
        Ok(Boundary {
            schema: Boundary::SCHEMA,
            scenario: self.subject.scenario.name.clone(),
            arm: self.subject.arm.map(str::to_owned),
            path: self.varied.number.path.clone(),
            unit: self.varied.unit().to_owned(),
            written: self.varied.number.written,
            from: self.varied.from,
            to: self.varied.to,
            seeds: if self.engines.0 { self.seeds } else { 0 },
            seed: self.subject.seed,
            prediction,
            same_arrivals,
            measurement,
            closed_forms: self.closed_forms(fails_above),
            command,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            exit,
            exit_code: exit.code(),
        })
    }

    /// Traces the boundary in virtual time.
    fn predict(&self, seeds: u32) -> Curve {
        let progress = Progress::new(self.subject.progress, "runs in virtual time", None);
        let sweep = self.subject.sweep(&progress);
        let search = self.search(seeds, GRID);
        let curve = trace(&search, &mut |trials: &[Trial]| {
            sweep.over(trials, |trial| {
                match self.scenario_at(trial.value, trial.seed) {
                    Ok(scenario) => self.subject.simulate(scenario),
                    // Between two ends that can be run there may be values that cannot.
                    Err(failure) => Some(Outcome::doubted(failure.message)),
                }
            })
        });
        progress.clear();
        curve
    }

    fn search(&self, seeds: u32, grid: usize) -> Search {
        let Varied { from, to, number, .. } = self.varied;
        let parts = if seeds > 1 { 200.0 } else { 1_000.0 };
        let resolution = self.resolution.unwrap_or((to - from) / parts);
        let seeds =
            (0..u64::from(seeds)).map(|index| self.subject.seed.wrapping_add(index)).collect();
        Search { from, to, whole: number.unit.is_whole(), resolution, grid, seeds }
    }

    /// That there is no boundary is an answer that the range cannot give.
    fn check_flip(&self, curve: &Curve) -> Result<(), Failure> {
        if curve.flip.is_some() || curve.cut_short {
            return Ok(());
        }
        let Varied { from, to, number, .. } = &self.varied;
        let (from, to) = (number.unit.show(*from), number.unit.show(*to));
        let between = format!("no boundary of {} between {from} and {to}", number.path);
        if let Some(side) = curve.throughout {
            return Err(Failure::usage(format!(
                "{between}: {} throughout ({} values); {}",
                side.word(),
                curve.points.len(),
                wider(side)
            )));
        }
        let message = if curve.points.iter().any(|point| point.runs > 0) {
            format!(
                "{between}: runs recover and fail all over it, and the share that fails passes a half \
                 nowhere; widen the range, or take more --seeds"
            )
        } else {
            let doubt = curve.points.iter().find_map(|point| point.doubt.as_deref());
            let doubt = doubt.unwrap_or("no run came to its end");
            format!("{between}: inconclusive throughout: {doubt}")
        };
        Err(Failure { exit: Exit::Inconclusive, message })
    }

    /// Runs the ends of the predicted band and points between them on the rig, then what is
    /// [`Self::further`].
    fn confirm(&self, flip: &Flip, exits: &mut Vec<Exit>) -> Result<Measurement, Failure> {
        let (from, to) = self.band_of(flip);
        let mut rig = self.subject.rig(self.time);
        let (room, jobs) = rig.room(&self.scenario_at(to, self.subject.seed)?, self.time);
        let whole = self.varied.number.unit.is_whole();
        let values = confirmation(from, to, whole, room.clamp(2, MOST_CONFIRMED));
        let rounds = (room / values.len()).clamp(1, MOST_ROUNDS);
        let trials = (0..rounds as u64).flat_map(|round| {
            values.iter().map(move |value| (*value, self.subject.seed.wrapping_add(round)))
        });
        let trials: Vec<_> = trials.collect();
        let mut runs = self.on_the_rig(&mut rig, &trials, jobs)?;
        let mut cut_short = runs.len() < trials.len();
        while runs.len() < trials.len() + MOST_BEYOND && !cut_short {
            let Some(value) = self.further(flip, (from, to), &runs) else { break };
            let more = self.on_the_rig(&mut rig, &[(round(value, whole), self.subject.seed)], 1)?;
            cut_short = more.is_empty();
            runs.extend(more);
        }
        exits.append(&mut rig.exits);
        let band = Some((from, to));
        Ok(Measurement::of(self.subject.speed.speed(), runs, flip.fails_above(), band, cut_short))
    }

    /// The next value to run once the band was: beyond it where all runs ended on one side, else halfway
    /// between two sides that lie far apart.
    fn further(&self, flip: &Flip, (from, to): (f64, f64), runs: &[Measured]) -> Option<f64> {
        let fails_above = flip.fails_above();
        let Some(side) = only_side(runs) else {
            let sides = Measurement::of(1.0, runs.to_vec(), fails_above, None, false);
            return sides.halfway(fails_above);
        };
        let step = ((to - from) / 2.0).max(self.search(1, 2).resolution * 10.0);
        let values = || runs.iter().map(|run| run.value);
        let value = if (side == Side::Recovers) == fails_above {
            values().fold(to, f64::max) + step
        } else {
            values().fold(from, f64::min) - step
        };
        (self.varied.from..=self.varied.to).contains(&value).then_some(value)
    }

    /// The ends of the predicted band, or with one seed of the interval that is left, with some room.
    fn band_of(&self, flip: &Flip) -> (f64, f64) {
        let Varied { from, to, .. } = self.varied;
        if let Some(band) = flip.band {
            return band.ends(from, to, flip.fails_above());
        }
        let room = (flip.boundary.abs() * Boundary::TOLERANCE).min((to - from) / 2.0);
        ((flip.boundary - room).max(from), (flip.boundary + room).min(to))
    }

    /// Runs trials on the rig and in virtual time; those that did not end are left out.
    fn on_the_rig(
        &self,
        rig: &mut Rig<'_>,
        trials: &[(f64, u64)],
        jobs: usize,
    ) -> Result<Vec<Measured>, Failure> {
        let unit = self.varied.number.unit;
        let scenarios = trials.iter().map(|(value, seed)| {
            let label = format!("{} {}", self.varied.number.path, unit.show(*value));
            Ok(RigTrial { label, scenario: self.scenario_at(*value, *seed)? })
        });
        let scenarios = scenarios.collect::<Result<Vec<_>, Failure>>()?;
        let outcomes = rig.run(&scenarios, jobs);
        let ended = outcomes.into_iter().zip(trials).zip(scenarios);
        let measured = ended.filter_map(|((outcome, (value, seed)), trial)| {
            let measured = outcome?;
            let predicted = self.subject.simulate(trial.scenario);
            Some(Measured { value: *value, seed: *seed, measured, predicted })
        });
        Ok(measured.collect())
    }

    /// Traces the boundary on the rig alone.
    fn measure(&self, exits: &mut Vec<Exit>) -> Result<Measurement, Failure> {
        let mut rig = self.subject.rig(self.time);
        let mut runs: Vec<Measured> = Vec::new();
        let mut search = self.search(1, 2);
        search.resolution = self.resolution.unwrap_or((search.to - search.from) / 64.0);
        let (_, jobs) = rig.room(self.subject.scenario, self.time);
        let mut failure = None;
        let curve = trace(&search, &mut |trials: &[Trial]| {
            let asked: Vec<_> = trials.iter().map(|trial| (trial.value, trial.seed)).collect();
            match self.on_the_rig(&mut rig, &asked, jobs) {
                Ok(measured) => {
                    runs.extend(measured.iter().cloned());
                    asked.iter().map(|asked| outcome_of(&measured, *asked)).collect()
                }
                Err(error) => {
                    failure = Some(error);
                    Vec::new()
                }
            }
        });
        exits.append(&mut rig.exits);
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.check_flip(&curve)?;
        let fails_above = curve.flip.as_ref().is_none_or(Flip::fails_above);
        Ok(Measurement::of(self.subject.speed.speed(), runs, fails_above, None, curve.cut_short))
    }

    /// What arithmetic says, over the range too.
    fn closed_forms(&self, fails_above: bool) -> Option<Forms> {
        let written = ClosedForms::of(self.subject.scenario)?;
        let whole = self.varied.number.unit.is_whole();
        let Varied { from, to, .. } = self.varied;
        let at = |step: u32| round(from + (to - from) * f64::from(step) / f64::from(STEPS), whole);
        let mut values: Vec<f64> = (0..=STEPS).map(at).collect();
        values.dedup();
        let forms = values.into_iter().map(|value| {
            let scenario = self.scenario_at(value, self.subject.seed).ok();
            (value, scenario.as_ref().and_then(ClosedForms::of))
        });
        Some(Forms::of(&written, &forms.collect::<Vec<_>>(), fails_above))
    }

    fn scenario_at(&self, value: f64, seed: u64) -> Result<Scenario, Failure> {
        self.subject.with(&[(self.varied.number, value)], seed)
    }
}

/// The side on which all conclusive runs ended; none where there are both or neither.
fn only_side(runs: &[Measured]) -> Option<Side> {
    let mut sides = runs.iter().filter_map(|run| run.measured.side());
    let first = sides.next()?;
    sides.all(|side| side == first).then_some(first)
}

fn outcome_of(measured: &[Measured], (value, seed): (f64, u64)) -> Option<Outcome> {
    let found =
        measured.iter().find(|run| run.value.to_bits() == value.to_bits() && run.seed == seed);
    found.map(|run| run.measured.clone())
}

fn round(value: f64, whole: bool) -> f64 {
    let grain = if whole { 1.0 } else { 1e3 };
    (value * grain).round() / grain
}

fn wider(side: Side) -> &'static str {
    match side {
        Side::Recovers => "widen the range to where it fails, or there is none to find",
        Side::Fails => "widen the range to where it recovers",
    }
}

/// How many values the coarse grid of a prediction has.
const GRID: usize = 17;
/// How many values of a band the rig confirms.
const MOST_CONFIRMED: usize = 9;
/// Over how many seeds.
const MOST_ROUNDS: usize = 10;
/// How many more values it tries, beyond the band or between its two sides.
const MOST_BEYOND: usize = 5;
/// How finely the closed forms are looked at.
const STEPS: u32 = 500;
