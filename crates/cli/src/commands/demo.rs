//! `goodput demo`: the headline, from one command and without a file.

use std::path::PathBuf;

use clap::Args;
use goodput_clock::Scale;

use crate::args::{OutputArgs, EngineArgs};
use crate::exit::{Exit, Failure};
use crate::help;

/// Arguments of `goodput demo`.
#[derive(Args, Debug)]
#[command(after_help = help::DEMO)]
pub(crate) struct DemoArgs {
    /// The arms to run, by name, separated by commas [default: all]
    #[arg(long, value_name = "ARM,…", value_delimiter = ',')]
    arms: Vec<String>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    output: OutputArgs,
}
