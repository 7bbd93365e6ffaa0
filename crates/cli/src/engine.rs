//! The engines behind `run`, `compare` and `demo`.

use std::fmt::{Display, Write as _};
use std::sync::mpsc::Receiver;

use goodput_clock::{Scale, Seed};
use goodput_control::Audit;
use goodput_load_generator::ControlConfig;
use goodput_policy::lever::Lever;
use goodput_rig::{self as rig, LoadControl, RunOptions};
use goodput_runlog::{Cancel, Observer, RunLog};
use goodput_scenario::Scenario;
use goodput_simulator as simulator;

use crate::args::{Engine, EngineArgs};
use crate::control;
use crate::exit::Failure;

/// One run to carry out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    /// The scenario as the command names it.
    pub(crate) asked: &'a str,
    /// What carries it out.
    pub(crate) engine: Engine,
    /// What is run, with its seed.
    pub(crate) scenario: &'a Scenario,
    /// The arm's name.
    pub(crate) arm: Option<&'a str>,
    /// Scenario seconds per wall second, on the rig.
    pub(crate) speed: Scale,
    /// Somebody's own service; without it, servers on loopback.
    pub(crate) target: Option<&'a Target>,
    /// The load generator's control plane, for others than the run itself.
    pub(crate) load_control: Option<&'a ControlConfig>,
}

/// Somebody's own service.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// Where the load goes.
    pub(crate) url: String,
    /// The control planes of its tiers, outermost first; none where there is no view of them.
    pub(crate) control: Vec<String>,
    /// The token of the control planes.
    pub(crate) token: Option<String>,
}

impl EngineArgs {
    /// The seed that the command names, else the scenario's.
    pub(crate) fn seed_or(&self, scenario: &Scenario) -> Seed {
        self.seed.map_or(scenario.seed, Seed)
    }

    /// Refuses what has no effect.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        check_speed(self.engine, self.speed)
    }

    /// How fast and on what, in words.
    pub(crate) fn describe(&self, speed: Scale) -> String {
        match self.engine {
            Engine::Rig => format!("speed {}", speed.speed()),
            Engine::Simulator => "in virtual time".to_owned(),
        }
    }
}

/// Refuses a speed where nothing has one.
pub(crate) fn check_speed(engine: Engine, speed: Option<Scale>) -> Result<(), Failure> {
    if engine == Engine::Simulator && speed.is_some() {
        return Err(Failure::usage(
            "--speed is for the rig: virtual time goes as fast as it can; leave it out, or give \
             --engine rig",
        ));
    }
    Ok(())
}

/// Carries a run out. Every command to a control plane of the rig's is appended to `audit`.
pub(crate) fn carry_out(
    run: &Run<'_>,
    observer: &mut dyn Observer,
    levers: Receiver<Lever>,
    cancel: &Cancel,
    audit: &Audit,
) -> Result<RunLog, Failure> {
    match run.engine {
        Engine::Rig => on_the_rig(run, observer, levers, cancel, audit),
        Engine::Simulator => Ok(in_virtual_time(run, observer, &levers, cancel)),
    }
}

fn in_virtual_time(
    run: &Run<'_>,
    observer: &mut dyn Observer,
    levers: &Receiver<Lever>,
    cancel: &Cancel,
) -> RunLog {
    let options = simulator::RunOptions {
        arm: run.arm.map(ToOwned::to_owned),
        command: run.command(),
        ..simulator::RunOptions::new(run.scenario.clone())
    };
    simulator::run(&options, observer, &mut |_| levers.try_recv().ok(), cancel)
}

fn on_the_rig(
    run: &Run<'_>,
    observer: &mut dyn Observer,
    levers: Receiver<Lever>,
    cancel: &Cancel,
    audit: &Audit,
) -> Result<RunLog, Failure> {
    let options = RunOptions {
        scenario: run.scenario.clone(),
        arm: run.arm.map(ToOwned::to_owned),
        seed: run.scenario.seed,
        scale: run.speed,
        command: run.command(),
        target: run.target.map_or_else(|| Ok(rig::Target::Loopback), |t| t.tiers(run.scenario))?,
        audit: audit.clone(),
        by: control::user(),
        load_control: run
            .load_control
            .map(|config| LoadControl { config: config.clone(), bound: None }),
    };
    rig::run(options, observer, levers, cancel.clone()).map_err(Failure::usage)
}

impl Run<'_> {
    /// The command with every flag that its outcome depends on.
    fn command(&self) -> String {
        let mut command = format!("goodput run {}", self.asked);
        let mut flag = |name: &str, value: &dyn Display| {
            let _ = write!(command, " --{name} {value}");
        };
        if let Some(arm) = self.arm {
            flag("arm", &arm);
        }
        match self.engine {
            Engine::Rig => flag("speed", &self.speed.speed()),
            Engine::Simulator => flag("engine", &"simulator"),
        }
        flag("seed", &self.scenario.seed.0);
        if let Some(target) = self.target {
            flag("target", &target.url);
            target.control.iter().for_each(|control| flag("control", control));
        }
        command
    }
}

impl Target {
    /// The control planes by the names of the scenario's tiers.
    fn tiers(&self, scenario: &Scenario) -> Result<rig::Target, Failure> {
        let (given, tiers) = (self.control.len(), scenario.tiers.len());
        if given > tiers {
            return Err(Failure::usage(format!(
                "--control names {given} control planes, and the scenario has {tiers} tiers; \
                 give one for each tier, outermost first"
            )));
        }
        let tiers = scenario.tiers.iter().zip(&self.control).map(|(tier, control)| {
            rig::RemoteTier { name: tier.name.clone(), control: control.clone() }
        });
        Ok(rig::Target::Remote(rig::Remote {
            url: self.url.clone(),
            tiers: tiers.collect(),
            token: self.token.clone(),
        }))
    }
}

/// What the runs of a command asked control planes for, one JSON object a line.
pub(crate) fn audit_lines(audit: &Audit) -> Vec<u8> {
    let lines = audit.entries().into_iter().filter_map(|entry| serde_json::to_string(&entry).ok());
    lines.flat_map(|line| (line + "\n").into_bytes()).collect()
}
