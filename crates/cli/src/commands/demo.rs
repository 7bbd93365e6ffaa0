//! `goodput demo`: the headline, from one command and without a file.

use clap::Args;
use goodput_clock::Scale;
use goodput_scenario::builtin;

use crate::args::{ArmsArgs, EngineArgs, OutputArgs};
use crate::comparison::{self, Question};
use crate::exit::{Exit, Failure};
use crate::{help, scenarios};

/// Arguments of `goodput demo`.
#[derive(Args, Debug)]
#[command(after_help = help::DEMO)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    arms: ArmsArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the headline.
pub(crate) fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let loaded = scenarios::load_builtin(builtin::DATABASE_FAILOVER)?;
    let speed = Scale::new(SPEED).unwrap_or(Scale::REAL);
    comparison::answer(&Question {
        command: "goodput demo".to_owned(),
        loaded: &loaded,
        arms: &args.arms,
        engine: &args.engine,
        speed,
        output: &args.output,
    })
}

/// 240 s in 24 s, so that two batches of arms end within a minute.
const SPEED: f64 = 10.0;
