//! `goodput run`: scenarios, one after the other, each judged.

use clap::Args;

use crate::args::{EngineArgs, OutputArgs, TokenArgs};
use crate::exit::{Exit, Failure};
use crate::{help, values};

/// Arguments of `goodput run`.
#[derive(Args, Debug)]
#[command(after_help = help::RUN)]
pub(crate) struct RunArgs {
    /// Scenarios: files, or names of those that come with goodput
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Run this arm; without it, the scenario as written above its arms
    #[arg(long, value_name = "ARM")]
    arm: Option<String>,
    /// Send the load to this address instead of to servers on loopback
    #[arg(long, value_name = "URL", value_parser = values::url)]
    target: Option<String>,
    /// The control plane of a tier, outermost first; repeat it for each tier
    #[arg(long, value_name = "URL", value_parser = values::url, requires = "target")]
    control: Vec<String>,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    output: OutputArgs,
}
