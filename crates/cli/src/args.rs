//! The command line: its commands, and the flags that several of them share.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use goodput_clock::Scale;

use crate::commands::{completions, man};
use crate::{help, values};

/// Reproduces metastable failure on real sockets, and tells whether goodput returns after a fault
#[derive(Debug, Parser)]
#[command(name = "goodput", version, after_help = help::TOP, max_term_width = 100)]
#[command(arg_required_else_help = true, propagate_version = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    /// Scenario seconds per wall second, from 0.1 to 100 [default: 1; demo: 10]
    #[arg(long, value_name = "N", value_parser = values::speed)]
    pub(crate) speed: Option<Scale>,
    /// The seed of everything random [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// How many runs go on at the same time [default: what the cores carry]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
}

/// What carries a scenario out.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Engine {
    /// Real sockets, real time
    Rig,
    /// Virtual time
    Simulator,
}

/// What is shown while runs go on, and what is left behind.
#[derive(Args, Debug)]
pub(crate) struct OutputArgs {
    /// The folder to leave the run in [default: runs/<time>-<scenario>]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
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
    /// The bearer token of the control planes
    #[arg(long, env = "GOODPUT_TOKEN", hide_env_values = true, value_name = "TOKEN")]
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
