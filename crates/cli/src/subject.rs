//! What a question over many runs is asked of, and how the runs are carried out.

use std::time::{Duration, Instant};

use goodput_clock::{Scale, Seed};
use goodput_experiment::Outcome;
use goodput_runlog::Cancel;
use goodput_scenario::Scenario;
use goodput_scenario::numbers::{Number, Numbers};

use crate::args::{ProgressArgs, QuestionArgs};
use crate::display::Display;
use crate::exit::Failure;
use crate::progress::Progress;
use crate::scenarios::Loaded;
use crate::sweep::{self, Sweep};
use crate::trials::{Rig, simulate};

/// A scenario whose numbers are varied.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    /// The scenario as the command names it.
    pub(crate) asked: &'a str,
    /// The arm's name.
    pub(crate) arm: Option<&'a str>,
    /// The scenario as written.
    pub(crate) scenario: &'a Scenario,
    /// Its numbers.
    pub(crate) numbers: &'a Numbers,
    /// The first seed, or the only one.
    pub(crate) seed: u64,
    /// How many simulations go on at the same time.
    pub(crate) threads: usize,
    /// Scenario seconds per wall second on the rig.
    pub(crate) speed: Scale,
    /// What is shown meanwhile.
    pub(crate) progress: ProgressArgs,
    /// Where runs of the rig are shown.
    pub(crate) display: Display,
    /// What stops it.
    pub(crate) cancel: &'a Cancel,
}

impl<'a> Subject<'a> {
    /// What the flags name. The numbers are those of the scenario or the arm that they name.
    pub(crate) fn of(
        args: &'a QuestionArgs,
        loaded: &'a Loaded,
        numbers: &'a Numbers,
        speed: Scale,
        cancel: &'a Cancel,
    ) -> Result<Self, Failure> {
        let scenario = loaded.scenario(args.arm.as_deref())?;
        Ok(Self {
            asked: &args.scenario,
            arm: args.arm.as_deref(),
            scenario,
            numbers,
            seed: args.seed.unwrap_or(scenario.seed.0),
            threads: args.threads.map_or_else(sweep::cores, usize::from),
            speed,
            progress: args.output.progress,
            display: args.output.display(),
            cancel,
        })
    }

    /// The scenario with other numbers and this seed.
    pub(crate) fn with(&self, settings: &[(&Number, f64)], seed: u64) -> Result<Scenario, Failure> {
        let mut scenario = self.numbers.with(settings).map_err(|error| {
            let set = settings
                .iter()
                .map(|(number, value)| format!("{} = {}", number.path, number.unit.show(*value)));
            Failure::usage(format!("with {}: {error}", set.collect::<Vec<_>>().join(", ")))
        })?;
        scenario.seed = Seed(seed);
        Ok(scenario)
    }

    /// Carries one of its scenarios out in virtual time; none where it was cancelled meanwhile.
    pub(crate) fn simulate(&self, scenario: Scenario) -> Option<Outcome> {
        simulate(scenario, self.cancel)
    }

    /// Many simulations side by side.
    pub(crate) fn sweep<'b>(&'b self, progress: &'b Progress) -> Sweep<'b> {
        Sweep { threads: self.threads, cancel: self.cancel, progress }
    }

    /// The rig, for so long.
    pub(crate) fn rig(&self, time: Duration) -> Rig<'a> {
        Rig {
            asked: self.asked,
            arm: self.arm,
            speed: self.speed,
            display: self.display,
            cancel: self.cancel,
            until: Instant::now() + time,
            exits: Vec::new(),
        }
    }
}
