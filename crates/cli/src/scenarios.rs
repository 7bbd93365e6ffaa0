//! Finds scenarios: a file, or one that comes with goodput, by its name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

use goodput_clock::{Scale, Seed};
use goodput_runlog::EngineKind;
use goodput_scenario::builtin::{self, Builtin};
use goodput_scenario::numbers::Numbers;
use goodput_scenario::{Arm, Plan, Scenario, ignored_by_the_simulator};

use crate::args::{ChosenArgs, Engine};
use crate::engine;
use crate::exit::Failure;
use crate::{input, output};

/// A scenario file that was read and is valid.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// As it was asked for, to repeat the command.
    pub(crate) asked: String,
    /// The file, for messages.
    pub(crate) file: String,
    /// What the file holds.
    pub(crate) text: String,
    /// What it resolves to.
    pub(crate) plan: Plan,
}

/// Reads the scenario that `asked` names.
pub(crate) fn load(asked: &str) -> Result<Loaded, Failure> {
    let (file, text) = read(asked)?;
    let plan = Plan::parse(&file, &text).map_err(Failure::usage)?;
    Ok(Loaded { asked: asked.to_owned(), file, text, plan })
}

/// Reads a scenario that comes with goodput.
pub(crate) fn load_builtin(builtin: Builtin) -> Result<Loaded, Failure> {
    let plan = Plan::parse(builtin.file, builtin.text).map_err(Failure::usage)?;
    let (file, text) = (builtin.file.to_owned(), builtin.text.to_owned());
    Ok(Loaded { asked: builtin.name.to_owned(), file, text, plan })
}

impl Loaded {
    /// The arm of that name, or the scenario as written above its arms.
    pub(crate) fn scenario(&self, arm: Option<&str>) -> Result<&Scenario, Failure> {
        match arm {
            Some(name) => self.plan.arm(name).map(|arm| &arm.scenario).map_err(Failure::usage),
            None => Ok(&self.plan.scenario),
        }
    }

    /// Says which keys that are written, above the arms or in these, the simulator does not carry
    /// out: a line each, to stderr.
    pub(crate) fn warn_of_ignored<'a>(&self, arms: impl IntoIterator<Item = Option<&'a str>>) {
        let ignored = arms.into_iter().flat_map(|arm| ignored_by_the_simulator(&self.text, arm));
        for ignored in ignored.collect::<BTreeSet<_>>() {
            output::warning(format_args!("{}:{ignored}", self.file));
        }
    }

    /// The numbers of the same, to be varied.
    pub(crate) fn numbers(&self, arm: Option<&str>) -> Result<Numbers, Failure> {
        Numbers::of(&self.file, &self.text, arm).map_err(Failure::usage)
    }

    /// The arms of those names in the order of the file; all where there are none.
    pub(crate) fn arms(&self, names: &[String]) -> Result<Vec<Arm>, Failure> {
        for name in names {
            self.plan.arm(name).map_err(Failure::usage)?;
        }
        let wanted = |arm: &&Arm| names.is_empty() || names.contains(&arm.name);
        let arms: Vec<Arm> = self.plan.arms.iter().filter(wanted).cloned().collect();
        if arms.is_empty() {
            return Err(Failure::usage(format!(
                "scenario `{}` has no arms to compare; add some, such as\n[[arm]]\nname = \"naive\"",
                self.plan.scenario.name
            )));
        }
        Ok(arms)
    }
}

impl ChosenArgs {
    /// How the scenario is named, which arm of it is meant, and that arm with its seed.
    pub(crate) fn scenario(&self) -> Result<(String, Option<String>, Scenario), Failure> {
        let loaded = load(&self.scenario)?;
        let Loaded { asked, plan, .. } = &loaded;
        let arm = match &self.arm {
            Some(name) => Some(plan.arm(name).map_err(Failure::usage)?),
            None => plan.arms.iter().find(|arm| arm.control),
        };
        let mut scenario = arm.map_or(&plan.scenario, |arm| &arm.scenario).clone();
        scenario.seed = self.seed.map_or(scenario.seed, Seed);
        if self.engine == Engine::Simulator {
            loaded.warn_of_ignored([arm.map(|arm| arm.name.as_str())]);
        }
        Ok((asked.clone(), arm.map(|arm| arm.name.clone()), scenario))
    }

    /// Refuses what has no effect.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        engine::check_speed(self.engine, self.speed)
    }

    /// How fast the rig goes.
    pub(crate) fn scale(&self) -> Scale {
        self.speed.or_else(|| Scale::new(SPEED).ok()).unwrap_or(Scale::REAL)
    }

    /// What carries the runs out, for the answer.
    pub(crate) const fn kind(&self) -> EngineKind {
        match self.engine {
            Engine::Rig => EngineKind::Rig,
            Engine::Simulator => EngineKind::Simulator,
        }
    }

    /// The command so far, with the flags that are here.
    pub(crate) fn command(&self, name: &str, arm: Option<&str>) -> String {
        let mut command = format!("goodput {name} {}", self.scenario);
        if let Some(arm) = arm {
            let _ = write!(command, " --arm {arm}");
        }
        if self.engine == Engine::Rig {
            let _ = write!(command, " --engine rig --speed {}", self.scale().speed());
        }
        if let Some(seed) = self.seed {
            let _ = write!(command, " --seed {seed}");
        }
        command
    }
}

/// Minutes of scenario time take seconds, and a rig of a few hundred requests a second keeps up.
const SPEED: f64 = 10.0;

/// The name of the file, for messages, and what it holds.
fn read(asked: &str) -> Result<(String, String), Failure> {
    let path = Path::new(asked);
    if !path.exists()
        && let Some(builtin) = builtin::by_name(asked)
    {
        return Ok((builtin.file.to_owned(), builtin.text.to_owned()));
    }
    match input::bytes(path, Plan::LONGEST) {
        // Whatever it holds, its length is what is wrong; half a character at the cut is not.
        Ok(bytes) if bytes.len() > Plan::LONGEST => {
            Ok((asked.to_owned(), String::from_utf8_lossy(&bytes).into_owned()))
        }
        Ok(bytes) => String::from_utf8(bytes).map(|text| (asked.to_owned(), text)).map_err(|_| {
            Failure::usage(format!("{asked}: not a text file in UTF-8, so not a scenario"))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let names: Vec<_> = builtin::ALL.iter().map(|builtin| builtin.name).collect();
            let asked = if asked.trim().is_empty() { "``" } else { asked };
            Err(Failure::usage(format!(
                "{asked}: no such file, and no scenario of that name comes with goodput; \
                 give a file, or one of {}",
                names.join(", ")
            )))
        }
        Err(error) => Err(Failure::usage(format!("{asked}: cannot read it: {error}"))),
    }
}
