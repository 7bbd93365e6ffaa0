//! `goodput validate`: whether scenario files are right, and what is wrong with them.

use clap::Args;

use crate::exit::{Exit, Failure};
use crate::help;

/// Arguments of `goodput validate`.
#[derive(Args, Debug)]
#[command(after_help = help::VALIDATE)]
pub(crate) struct ValidateArgs {
    /// Scenarios: files, or names of those that come with goodput
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Print the resolved schedule of each arm too
    #[arg(short, long)]
    verbose: bool,
}
