use std::io;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Instant;

use goodput_clock::Scale;
use goodput_control::api::Cause;
use goodput_policy::lever::LeverTarget;
use goodput_scenario::{PlannedFault, PlannedLever, Scenario};

use crate::event::InjectorEvent;
use crate::play::{PlayReport, play};
use crate::stop::Stop;
use crate::targets::{LoadTarget, MissingTarget, Targets};
use crate::terms::LeaseTerms;

/// The faults and levers of a scenario, to be played at wall times.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Faults, in scenario time.
    pub faults: Vec<PlannedFault>,
    /// Levers, in scenario time.
    pub levers: Vec<PlannedLever>,
}

/// How a timeline is played.
#[derive(Clone, Debug)]
pub struct PlayOptions {
    /// When scenario time began.
    pub epoch: Instant,
    /// Scenario time against wall time.
    pub scale: Scale,
    /// How faults are leased, in wall time.
    pub terms: LeaseTerms,
    /// Who plays it and why, for the audit logs.
    pub cause: Cause,
}

/// Why a timeline cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum StartPlayError {
    /// It needs a control plane that was not given.
    #[error(transparent)]
    Missing(#[from] MissingTarget),
    /// The thread or its runtime cannot be made.
    #[error("cannot start the fault injector's thread: {0}")]
    Thread(#[from] io::Error),
}

impl Timeline {
    /// What a scenario asks for.
    pub fn of(scenario: &Scenario) -> Self {
        Self { faults: scenario.faults.clone(), levers: scenario.levers.clone() }
    }

    /// Whether every control plane that it needs is there.
    ///
    /// # Errors
    ///
    /// Where one is missing.
    pub fn check(&self, targets: &Targets) -> Result<(), MissingTarget> {
        for fault in &self.faults {
            targets.tier(Some(&fault.tier))?;
        }
        for planned in &self.levers {
            match (planned.lever.target(), targets.load()) {
                (LeverTarget::Server, _) => {
                    targets.tier(planned.tier.as_deref())?;
                }
                (LeverTarget::LoadGenerator, LoadTarget::None) => {
                    return Err(MissingTarget::Load(planned.lever.name().to_owned()));
                }
                (LeverTarget::LoadGenerator, LoadTarget::Control(_) | LoadTarget::Channel(_)) => {}
            }
        }
        Ok(())
    }

    /// Plays it on a thread and a runtime of its own, until its last event or until it is stopped. Every
    /// fault is ended and read back, and where it is stopped what its levers left behind at servers is
    /// reset; neither can be interrupted. Without a stop, levers stay as they were pulled.
    ///
    /// # Errors
    ///
    /// Where a control plane that it needs is missing, or no thread can be made.
    pub fn start(self, targets: Targets, options: PlayOptions) -> Result<Playing, StartPlayError> {
        self.check(&targets)?;
        let targets = targets.with_own_connections();
        let (sender, events) = mpsc::channel();
        let stop = Stop::new();
        let stopped = stop.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name("fault-injector".to_owned())
            .spawn(move || runtime.block_on(play(self, targets, options, stopped, sender)))?;
        Ok(Playing { stop, events, thread })
    }
}

/// A timeline that is being played.
#[derive(Debug)]
pub struct Playing {
    stop: Stop,
    events: mpsc::Receiver<InjectorEvent>,
    thread: JoinHandle<PlayReport>,
}

impl Playing {
    /// What it did so far and does, in order; ends once the timeline has.
    pub const fn events(&self) -> &mpsc::Receiver<InjectorEvent> {
        &self.events
    }

    /// What asks it to end and revert.
    pub const fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Waits for its end, and returns the events that were not taken and the report.
    ///
    /// # Panics
    ///
    /// Where its thread has panicked.
    pub fn finish(self) -> (Vec<InjectorEvent>, PlayReport) {
        let report = match self.thread.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        (self.events.try_iter().collect(), report)
    }
}
