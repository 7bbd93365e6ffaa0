//! `goodput map`: the verdict over two numbers.

use std::fmt::Write as _;

use clap::Args;
use goodput_clock::Scale;
use goodput_report::MapReport;

use crate::args::QuestionArgs;
use crate::exit::{Exit, Failure};
use crate::map::Question;
use crate::vary::{self, Written};
use crate::{help, publish, scenarios, signals, sweep, values};

/// Arguments of `goodput map`.
#[derive(Args, Debug)]
#[command(after_help = help::MAP)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    question: QuestionArgs,
    /// What is varied from left to right, from where to where and at how many values [default N: 25]
    #[arg(long, value_name = "PATH=FROM..TO[:N]", value_parser = vary::written)]
    x: Written,
    /// What is varied from bottom to top
    #[arg(long, value_name = "PATH=FROM..TO[:N]", value_parser = vary::written)]
    y: Written,
    /// Run so many cells beside the boundary on the rig as well
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=1000))]
    confirm: u16,
    /// Scenario seconds per wall second on the rig, from 0.1 to 100
    #[arg(long, value_name = "N", value_parser = values::speed, default_value = "1")]
    speed: Scale,
    /// Make the map even where the estimate is above 5 minutes
    #[arg(long)]
    force: bool,
}

/// Makes the map and reports it.
pub(crate) fn run(args: &MapArgs) -> Result<Exit, Failure> {
    let QuestionArgs { scenario, arm, threads, seed, output } = &args.question;
    let _place = publish::check_forms(output)?;
    let loaded = scenarios::load(scenario)?;
    let written = loaded.scenario(arm.as_deref())?;
    let numbers = loaded.numbers(arm.as_deref())?;
    let x = args.x.find("--x", &numbers, vary::around_written)?;
    let y = args.y.find("--y", &numbers, vary::around_written)?;
    let seed = seed.unwrap_or(written.seed.0);
    let cancel = signals::cancel_on_signal(signals::KEEPING)?;
    let mut command = args.question.repeat("map");
    let _ = write!(command, " --x {} --y {}", x.text(), y.text());
    if args.confirm > 0 {
        let _ = write!(command, " --confirm {} --speed {}", args.confirm, args.speed.speed());
    }
    let _ = write!(command, " --seed {seed}");
    let question = Question {
        asked: scenario,
        arm: arm.as_deref(),
        scenario: written,
        numbers: &numbers,
        x,
        y,
        seed,
        threads: threads.map_or_else(sweep::cores, usize::from),
        confirm: usize::from(args.confirm),
        speed: args.speed,
        force: args.force,
        progress: output.progress,
        display: output.display(),
        cancel: &cancel,
    };
    let map = question.answer(command)?;
    publish::forms(output, &MapReport(&map), &loaded.text)?;
    Ok(map.exit)
}
