//! Single runs of a question over many: in virtual time, and on the rig.

use std::time::{Duration, Instant};

use goodput_clock::Scale;
use goodput_control::Audit;
use goodput_experiment::Outcome;
use goodput_runlog::{Cancel, Ending};
use goodput_scenario::Scenario;
use goodput_simulator as simulator;
use goodput_verdict::judge;

use crate::args::Engine;
use crate::display::Display;
use crate::engine::{self, Run};
use crate::exit::{Exit, Failure};
use crate::session::{self, Batch, Task};
use crate::{output, sweep};

/// Carries a scenario out in virtual time; none where it was cancelled meanwhile.
pub(crate) fn simulate(scenario: Scenario, cancel: &Cancel) -> Option<Outcome> {
    let options = simulator::RunOptions::new(scenario);
    let log = simulator::run(&options, &mut (), &mut |_| None, cancel);
    (log.ending != Ending::Interrupted).then(|| Outcome::of(&judge(&log, &options.scenario)))
}

/// A run on the rig.
#[derive(Clone, Debug)]
pub(crate) struct RigTrial {
    /// What it is called while it goes on.
    pub(crate) label: String,
    /// The scenario, with its seed.
    pub(crate) scenario: Scenario,
}

impl RigTrial {
    fn task(&self) -> Task<'_> {
        Task { label: &self.label, scenario: &self.scenario, control: false }
    }
}

/// The rig, for as long as it may be used.
#[derive(Debug)]
pub(crate) struct Rig<'a> {
    /// The scenario as the command names it.
    pub(crate) asked: &'a str,
    /// The arm's name.
    pub(crate) arm: Option<&'a str>,
    /// Scenario seconds per wall second.
    pub(crate) speed: Scale,
    /// Where progress is shown.
    pub(crate) display: Display,
    /// What stops it.
    pub(crate) cancel: &'a Cancel,
    /// When no more runs begin.
    pub(crate) until: Instant,
    /// The worst that happened: clean-up that could not be confirmed, or a run that failed.
    pub(crate) exits: Vec<Exit>,
}

impl Rig<'_> {
    /// How many runs of such a scenario fit into a span, and how many go on at the same time. A
    /// metastable one fills most of a core.
    pub(crate) fn room(&self, scenario: &Scenario, time: Duration) -> (usize, usize) {
        let task = Task { label: "", scenario, control: false };
        let side_by_side = session::jobs_that_fit(&[task; 64], self.speed).min(sweep::cores());
        let one = self.wall(scenario).as_secs_f64();
        let rounds = (time.as_secs_f64() / one).floor() as usize;
        (rounds * side_by_side, side_by_side)
    }

    /// How long a run takes.
    fn wall(&self, scenario: &Scenario) -> Duration {
        self.speed.to_wall(scenario.duration) + SET_UP
    }

    /// Carries runs out, so many side by side, until the time is over. None stands for what was not
    /// run or did not end.
    pub(crate) fn run(&mut self, trials: &[RigTrial], jobs: usize) -> Vec<Option<Outcome>> {
        let mut outcomes = Vec::new();
        for batch in trials.chunks(jobs.max(1)) {
            let longest = batch.iter().map(|trial| self.wall(&trial.scenario)).max();
            let ends = Instant::now() + longest.unwrap_or_default();
            if self.cancel.is_cancelled() || ends > self.until + SET_UP {
                break;
            }
            outcomes.extend(self.side_by_side(batch));
        }
        outcomes.resize_with(trials.len(), || None);
        outcomes
    }

    fn side_by_side(&mut self, batch: &[RigTrial]) -> Vec<Option<Outcome>> {
        let tasks: Vec<Task<'_>> = batch.iter().map(RigTrial::task).collect();
        let labels: Vec<&str> = batch.iter().map(|trial| trial.label.as_str()).collect();
        let title = format!("on the rig at speed {}: {}", self.speed.speed(), labels.join(", "));
        let plan = Batch {
            title: &title,
            tasks: &tasks,
            jobs: batch.len(),
            speed: self.speed,
            display: self.display,
            cancel: self.cancel,
        };
        let audit = Audit::memory();
        let outcomes = session::run_all(&plan, &|index, observer, levers| {
            let run = Run {
                asked: self.asked,
                engine: Engine::Rig,
                scenario: &batch[index].scenario,
                arm: self.arm,
                speed: self.speed,
                target: None,
                load_control: None,
            };
            engine::carry_out(&run, observer, levers, self.cancel, &audit)
        });
        let ended = outcomes.into_iter().zip(batch).map(|(outcome, trial)| match outcome? {
            Ok(finished) => {
                let exit = Exit::of(&finished.judgement, &trial.scenario.expect, false);
                if matches!(exit, Exit::CleanUpUnconfirmed) {
                    self.exits.push(exit);
                }
                let ended = finished.log.ending != Ending::Interrupted;
                ended.then(|| Outcome::of(&finished.judgement))
            }
            Err(Failure { exit, message }) => {
                output::error(format_args!("{}: {message}", trial.label));
                self.exits.push(exit);
                None
            }
        });
        ended.collect()
    }
}

/// How long it takes to start and stop the servers of a run.
const SET_UP: Duration = Duration::from_secs(2);
