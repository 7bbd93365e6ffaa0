//! The command line: its commands, and the flags that several of them share.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use goodput_clock::Scale;

use crate::commands::{
    boundary, compare, completions, demo, drill, fault, healthcheck, hysteresis, lesson, lever,
    load, man, map, report, run, serve, validate,
};
use crate::{help, values};

/// Reproduces metastable failure on real sockets, and tells whether goodput returns after a fault
#[derive(Debug, Parser)]
#[command(name = "goodput", version, after_help = help::TOP, max_term_width = 100)]
#[command(arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows how a capacity cut of 20 s becomes an outage for good, and what stops it
    Demo(demo::DemoArgs),
    /// Runs scenarios one after the other and judges each
    Run(run::RunArgs),
    /// Runs every arm of a scenario and puts them into one table
    Compare(compare::CompareArgs),
    /// Raises the load in steps and lowers it again: where goodput is lost, and where it returns
    Hysteresis(hysteresis::HysteresisArgs),
    /// Tries recovery actions on a metastable failure: which work, and what is the least that does
    Drill(drill::DrillArgs),
    /// Finds the value of a number at which the verdict flips
    Boundary(boundary::BoundaryArgs),
    /// Maps the verdict over two numbers
    Map(map::MapArgs),
    /// Serves as a tier: an order-status server, or a gateway in front of another service
    Serve(serve::ServeArgs),
    /// Sends an open-loop load to a target, without judging it
    Load(load::LoadArgs),
    /// Puts faults into a running server, and takes them out
    Fault(fault::FaultArgs),
    /// Pulls a lever on a running server or load generator
    Lever(lever::LeverArgs),
    /// Judges a saved run again and draws its report
    Report(report::ReportArgs),
    /// Explains metastable failure by five small exact models
    Lesson(lesson::LessonArgs),
    /// Checks scenario files and names every error
    Validate(validate::ValidateArgs),
    /// Asks a control plane whether it is alive, for container health checks
    Healthcheck(healthcheck::HealthcheckArgs),
    /// Prints the completions for a shell
    Completions(completions::CompletionsArgs),
    /// Prints the manual page, or writes one for each command into a folder
    Man(man::ManArgs),
}

/// How runs are carried out.
#[derive(Args, Debug)]
pub(crate) struct EngineArgs {
    /// What carries the scenario out
    #[arg(long, value_enum, default_value_t = Engine::Rig)]
    pub(crate) engine: Engine,
    /// Scenario seconds per wall second on the rig, from 0.1 to 100 [default: 1; demo: 10]
    #[arg(long, value_name = "N", value_parser = values::speed)]
    pub(crate) speed: Option<Scale>,
    /// The seed of everything random [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = values::seed)]
    pub(crate) seed: Option<u64>,
}

/// What carries a scenario out.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Engine {
    /// Real sockets, real time
    Rig,
    /// Virtual time
    Simulator,
}

/// What a question over many runs is about, and what carries them out.
#[derive(Args, Debug)]
pub(crate) struct ChosenArgs {
    /// The scenario: a file, or the name of one that comes with goodput
    pub(crate) scenario: String,
    /// The arm [default: the first that is marked `control`, else the scenario above its arms]
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<String>,
    /// What carries the scenario out
    #[arg(long, value_enum, default_value_t = Engine::Simulator)]
    pub(crate) engine: Engine,
    /// Scenario seconds per wall second on the rig, from 0.1 to 100 [default: 10]
    #[arg(long, value_name = "N", value_parser = values::speed)]
    pub(crate) speed: Option<Scale>,
    /// The first seed [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = values::seed)]
    pub(crate) seed: Option<u64>,
}

/// Where the answer to a question over many runs goes.
#[derive(Args, Debug)]
pub(crate) struct AnswerArgs {
    /// What stdout shows at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write the answer as JSON into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Show no progress, only the answer
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Which arms are run, and how many side by side.
#[derive(Args, Debug)]
pub(crate) struct ArmsArgs {
    /// The arms to run, by name, separated by commas [default: all]
    #[arg(long, value_name = "ARM,…", value_delimiter = ',')]
    pub(crate) arms: Vec<String>,
    /// How many arms run at the same time [default: what the cores carry]
    #[arg(long, value_name = "N", value_parser = |text: &str| values::whole::<u16>(text, 1..=64, 2))]
    pub(crate) jobs: Option<u16>,
}

/// What is shown while runs go on, and what is left behind.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// Where to leave the folder TIME-SCENARIO with all that a run was
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) results: ResultArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// Where results go, and as what.
#[derive(Args, Debug)]
pub(crate) struct ResultArgs {
    /// What stdout shows at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write the result as JSON into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the report as one HTML page into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the result as JUnit XML into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// What a question over many runs is asked of.
#[derive(Args, Debug)]
pub(crate) struct QuestionArgs {
    /// The scenario: a file, or the name of one that comes with goodput
    pub(crate) scenario: String,
    /// Vary this arm; without it, the scenario as written above its arms
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<String>,
    /// How many simulations go on at the same time; the answer does not depend on it [default: one a
    /// core]
    #[arg(long, value_name = "N", value_parser = |text: &str| values::whole::<u16>(text, 1..=1024, 2))]
    pub(crate) threads: Option<u16>,
    /// The first seed [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = values::seed)]
    pub(crate) seed: Option<u64>,
    #[command(flatten)]
    pub(crate) output: FormsArgs,
}

impl QuestionArgs {
    /// The command up to what is asked.
    pub(crate) fn repeat(&self, command: &str) -> String {
        let arm = self.arm.as_ref().map_or_else(String::new, |arm| format!(" --arm {arm}"));
        format!("goodput {command} {}{arm}", self.scenario)
    }
}

/// Where the answer to a question over many runs goes, and as what.
#[derive(Args, Debug)]
pub(crate) struct FormsArgs {
    /// Where to leave the folder TIME-SCENARIO-COMMAND with the answer in every form
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// What stdout shows at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Write the answer as JSON into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the answer as a table of comma-separated values into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the picture as SVG into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Write the report as one HTML page into this file too
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// What is shown on stderr meanwhile.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ProgressArgs {
    /// Show no progress, only the result
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show progress as plain lines even on a terminal
    #[arg(long)]
    pub(crate) no_tui: bool,
}

/// What stdout shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Format {
    /// Text for people
    Text,
    /// JSON by the published schema
    Json,
}

/// The token of a control plane.
#[derive(Args, Clone, Debug)]
pub(crate) struct TokenArgs {
    /// The bearer token of the control plane, or @FILE, which other users of the machine cannot see
    #[arg(long, env = goodput_control::TOKEN_VARIABLE, hide_env_values = true, global = true)]
    #[arg(value_name = "TOKEN")]
    pub(crate) token: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
