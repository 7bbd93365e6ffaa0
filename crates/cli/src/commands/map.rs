//! `goodput map`: the verdict over two numbers.

use std::fmt::Write as _;

use clap::Args;
use goodput_clock::Scale;
use goodput_report::MapReport;

use crate::args::QuestionArgs;
use crate::exit::{Exit, Failure};
use crate::map::Question;
use crate::subject::Subject;
use crate::vary::{self, Written};
use crate::{help, publish, scenarios, signals, values};

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
    #[arg(value_parser = |text: &str| values::whole::<u16>(text, 0..=1000, 6))]
    confirm: u16,
    /// Scenario seconds per wall second on the rig, from 0.1 to 100 [default: 1]
    #[arg(long, value_name = "N", value_parser = values::speed)]
    speed: Option<Scale>,
    /// Make the map even where the estimate is above 5 minutes
    #[arg(long)]
    force: bool,
}

/// Makes the map and reports it.
pub(crate) fn run(args: &MapArgs) -> Result<Exit, Failure> {
    let output = &args.question.output;
    args.check()?;
    let _place = publish::check_forms(output)?;
    let loaded = scenarios::load(&args.question.scenario)?;
    let numbers = loaded.numbers(args.question.arm.as_deref())?;
    let x = args.x.find("--x", &numbers, vary::around_written)?;
    let y = args.y.find("--y", &numbers, vary::around_written)?;
    loaded.warn_of_ignored([args.question.arm.as_deref()]);
    x.warn_of_ignored("--x");
    y.warn_of_ignored("--y");
    let cancel = signals::cancel_on_signal(signals::KEEPING)?;
    let speed = args.speed.unwrap_or(Scale::REAL);
    let subject = Subject::of(&args.question, &loaded, &numbers, speed, &cancel)?;
    let confirm = usize::from(args.confirm);
    let question = Question { subject, x, y, confirm, force: args.force };
    let map = question.answer(args.repeat(&question))?;
    publish::forms(output, &MapReport(&map), &loaded.text)?;
    Ok(map.exit)
}

impl MapArgs {
    /// Refuses what has no effect.
    fn check(&self) -> Result<(), Failure> {
        if self.confirm == 0 && self.speed.is_some() {
            return Err(Failure::usage(
                "--speed is for the rig, which is not asked; leave it out, or give --confirm 6",
            ));
        }
        Ok(())
    }

    /// The command with every flag that its outcome depends on.
    fn repeat(&self, question: &Question<'_>) -> String {
        let Question { subject, x, y, confirm, force: _ } = question;
        let mut command = self.question.repeat("map");
        let _ = write!(command, " --x {} --y {}", x.text(), y.text());
        if *confirm > 0 {
            let _ = write!(command, " --confirm {confirm} --speed {}", subject.speed.speed());
        }
        let _ = write!(command, " --seed {}", subject.seed);
        command
    }
}
