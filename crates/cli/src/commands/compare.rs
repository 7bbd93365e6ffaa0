//! `goodput compare`: every arm of a scenario in one table.

use clap::Args;
use goodput_clock::Scale;

use crate::args::{ArmsArgs, EngineArgs, OutputArgs};
use crate::comparison::{self, Question};
use crate::exit::{Exit, Failure};
use crate::{help, scenarios};

/// Arguments of `goodput compare`.
#[derive(Args, Debug)]
#[command(after_help = help::COMPARE)]
pub(crate) struct CompareArgs {
    /// The scenario: a file, or the name of one that comes with goodput
    scenario: String,
    #[command(flatten)]
    arms: ArmsArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs every arm.
pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let loaded = scenarios::load(&args.scenario)?;
    comparison::answer(&Question {
        command: format!("goodput compare {}", args.scenario),
        loaded: &loaded,
        arms: &args.arms,
        engine: &args.engine,
        speed: Scale::REAL,
        output: &args.output,
    })
}
