//! `goodput compare`: every arm of a scenario in one table.

use clap::Args;

use crate::args::{EngineArgs, OutputArgs};
use crate::exit::{Exit, Failure};
use crate::help;

/// Arguments of `goodput compare`.
#[derive(Args, Debug)]
#[command(after_help = help::COMPARE)]
pub(crate) struct CompareArgs {
    /// The scenario: a file, or the name of one that comes with goodput
    scenario: String,
    /// The arms to run, by name, separated by commas [default: all]
    #[arg(long, value_name = "ARM,…", value_delimiter = ',')]
    arms: Vec<String>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    output: OutputArgs,
}
