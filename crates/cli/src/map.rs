//! What `goodput map` asks: the simulator in every cell, then the rig in some beside the boundary.

use std::time::{Duration, Instant};

use goodput_experiment::{Axis, Cell, Confirmed, Map, Outcome, beside_the_boundary, lines};
use goodput_scenario::Scenario;
use goodput_scenario::closed_form::ClosedForms;
use goodput_verdict::Exit;

use crate::exit::Failure;
use crate::output;
use crate::progress::Progress;
use crate::subject::Subject;
use crate::trials::RigTrial;
use crate::vary::Varied;

/// What is asked, and how.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// Of what. All cells share its seed.
    pub(crate) subject: Subject<'a>,
    /// What is varied from left to right.
    pub(crate) x: Varied<'a>,
    /// What is varied from bottom to top.
    pub(crate) y: Varied<'a>,
    /// How many cells the rig runs too.
    pub(crate) confirm: usize,
    /// Whether a map that takes long is wanted all the same.
    pub(crate) force: bool,
}

impl Question<'_> {
    /// Asks the engines.
    pub(crate) fn answer(&self, command: String) -> Result<Map, Failure> {
        let (xs, ys) = (self.x.values(DEFAULT_VALUES), self.y.values(DEFAULT_VALUES));
        if self.x.number == self.y.number {
            return Err(Failure::usage(format!(
                "--y {}: it is on the other axis too; vary two numbers",
                self.y.number.path
            )));
        }
        let places: Vec<(f64, f64)> =
            ys.iter().flat_map(|y| xs.iter().map(move |x| (*x, *y))).collect();
        for x in [xs.first(), xs.last()].into_iter().flatten() {
            for y in [ys.first(), ys.last()].into_iter().flatten() {
                self.scenario_at((*x, *y))?;
            }
        }
        self.estimate(&places)?;
        let (flat, forms): (Vec<_>, Vec<_>) = self.simulate_all(&places).into_iter().unzip();
        let cells: Vec<Vec<Cell>> = flat.chunks(xs.len()).map(<[_]>::to_vec).collect();
        let forms: Vec<Vec<_>> = forms.chunks(xs.len()).map(<[_]>::to_vec).collect();
        let lines = lines(&xs, &ys, &forms);
        let mut exits = Vec::new();
        let confirmed = self.confirm_on_the_rig(&cells, &places, &mut exits)?;
        if self.subject.cancel.is_cancelled() {
            exits.push(Exit::Interrupted);
        } else if cells.iter().flatten().all(|cell| cell.doubt.is_some()) {
            exits.push(Exit::Inconclusive);
        }
        let exit = Exit::worst(exits);
        let axis = |varied: &Varied<'_>, values| Axis {
            path: varied.number.path.clone(),
            unit: varied.unit().to_owned(),
            values,
        };
        Ok(Map {
            schema: Map::SCHEMA,
            scenario: self.subject.scenario.name.clone(),
            arm: self.subject.arm.map(str::to_owned),
            seed: self.subject.seed,
            x: axis(&self.x, xs),
            y: axis(&self.y, ys),
            cells,
            lines,
            confirmed,
            command,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            exit,
            exit_code: exit.code(),
        })
    }

    /// Tells how long the map will take, and refuses one that takes too long unless it is forced.
    fn estimate(&self, places: &[(f64, f64)]) -> Result<(), Failure> {
        let began = Instant::now();
        let mut looked_at: u32 = 0;
        // Spread so that the samples share neither a row nor a column.
        for index in (0..SAMPLES).map(|sample| (sample * 2 + 1) * places.len() / (SAMPLES * 2)) {
            if self.subject.cancel.is_cancelled() || began.elapsed() > LONGEST_LOOK {
                break;
            }
            let shifted = (index + index * 7 / SAMPLES) % places.len();
            if let Ok(scenario) = self.scenario_at(places[shifted]) {
                self.subject.simulate(scenario);
            }
            looked_at += 1;
        }
        let one = began.elapsed().as_secs_f64() / f64::from(looked_at.max(1));
        let all = one * places.len() as f64 / self.subject.threads as f64;
        let said = format!(
            "{} cells: about {} on {} cores",
            places.len(),
            roughly(all),
            self.subject.threads
        );
        if all > LONGEST.as_secs_f64() && !self.force {
            return Err(Failure::usage(format!(
                "{said}; give --force for that, or ask for fewer cells, such as --x {}:20",
                Varied { count: None, ..self.x.clone() }.text()
            )));
        }
        if !self.subject.progress.quiet {
            output::note(said);
        }
        Ok(())
    }

    /// The cells with their closed forms.
    fn simulate_all(&self, places: &[(f64, f64)]) -> Vec<(Cell, Option<ClosedForms>)> {
        let progress = Progress::new(self.subject.progress, "cells", Some(places.len()));
        let sweep = self.subject.sweep(&progress);
        let cells = sweep.over(places, |place| {
            let scenario = match self.scenario_at(*place) {
                Ok(scenario) => scenario,
                // Between corners that can be run there may be cells that cannot.
                Err(failure) => return Some((Outcome::doubted(failure.message).into(), None)),
            };
            let forms = ClosedForms::of(&scenario);
            Some((self.subject.simulate(scenario)?.into(), forms))
        });
        progress.clear();
        cells.into_iter().map(Option::unwrap_or_default).collect()
    }

    fn confirm_on_the_rig(
        &self,
        cells: &[Vec<Cell>],
        places: &[(f64, f64)],
        exits: &mut Vec<Exit>,
    ) -> Result<Vec<Confirmed>, Failure> {
        if self.confirm == 0 || self.subject.cancel.is_cancelled() {
            return Ok(Vec::new());
        }
        let width = cells.first().map_or(1, Vec::len);
        let chosen = beside_the_boundary(cells, self.confirm);
        let trial = |(column, row): &(usize, usize)| {
            let scenario = self.scenario_at(places[row * width + column])?;
            Ok(RigTrial { label: format!("column {} row {}", column + 1, row + 1), scenario })
        };
        let trials = chosen.iter().map(trial).collect::<Result<Vec<_>, Failure>>()?;
        let mut rig = self.subject.rig(FOR_EVER);
        let jobs = trials.first().map_or(1, |trial| rig.room(&trial.scenario, FOR_EVER).1);
        let outcomes = rig.run(&trials, jobs);
        exits.append(&mut rig.exits);
        let confirmed = chosen.into_iter().zip(outcomes).filter_map(|((column, row), outcome)| {
            let cell = &cells[row][column];
            let predicted = cell.verdict.map(|verdict| Outcome {
                verdict,
                cause: cell.cause,
                time_to_recover: cell.time_to_recover,
                doubt: cell.doubt.clone(),
            });
            Some(Confirmed { column, row, measured: outcome?, predicted })
        });
        Ok(confirmed.collect())
    }

    fn scenario_at(&self, (x, y): (f64, f64)) -> Result<Scenario, Failure> {
        self.subject.with(&[(self.x.number, x), (self.y.number, y)], self.subject.seed)
    }
}

/// A span as a person says it.
fn roughly(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => "a second".to_owned(),
        seconds if seconds < 100.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7_200.0 => format!("{:.0} minutes", seconds / 60.0),
        seconds => format!("{:.0} hours", seconds / 3_600.0),
    }
}

/// How many values an axis has by default.
const DEFAULT_VALUES: usize = 25;
/// How many cells the estimate is made from.
const SAMPLES: usize = 12;
/// How long the estimate itself may take.
const LONGEST_LOOK: Duration = Duration::from_secs(5);
/// A map that takes longer is made only when it is forced.
const LONGEST: Duration = Duration::from_mins(5);
const FOR_EVER: Duration = Duration::from_hours(24 * 365);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_said_in_its_own_unit() {
        let said: Vec<_> = [0.2, 14.2, 600.0, 9e4].into_iter().map(roughly).collect();
        assert_eq!(said, ["a second", "14 s", "10 minutes", "25 hours"]);
    }
}
