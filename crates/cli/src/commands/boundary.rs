//! `goodput boundary`: the value of a number at which the verdict flips.

use std::fmt::Write as _;
use std::time::Duration;

use clap::{Args, ValueEnum};
use goodput_clock::Scale;
use goodput_report::BoundaryReport;
use goodput_scenario::Scenario;

use crate::args::QuestionArgs;
use crate::boundary::Question;
use crate::exit::{Exit, Failure};
use crate::vary::{self, Written};
use crate::{help, publish, scenarios, signals, sweep, values};

/// Arguments of `goodput boundary`.
#[derive(Args, Debug)]
#[command(after_help = help::BOUNDARY)]
pub(crate) struct BoundaryArgs {
    #[command(flatten)]
    question: QuestionArgs,
    /// What is varied and from where to where; without a range, from a tenth of what the file says to
    /// twice that
    #[arg(long, value_name = "PATH[=FROM..TO]", value_parser = vary::written)]
    vary: Written,
    /// What is asked: prediction, measurement, or both side by side
    #[arg(long, value_enum, default_value_t = Engines::Simulator)]
    engine: Engines,
    /// Over how many seeds the simulator finds the share of failures [default: 100; 1 where nothing
    /// is random]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    seeds: Option<u32>,
    /// How narrow the answer has to be, in the unit of PATH [default: a share of the range]
    #[arg(long, value_name = "WIDTH")]
    resolution: Option<String>,
    /// Scenario seconds per wall second on the rig, from 0.1 to 100
    #[arg(long, value_name = "N", value_parser = values::speed, default_value = "1")]
    speed: Scale,
    /// How long the rig may take, in wall time
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration, default_value = "3m")]
    time: Duration,
}

/// Which engines are asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Engines {
    /// Virtual time: the prediction
    Simulator,
    /// Real sockets: the measurement
    Rig,
    /// The prediction, then the rig at the band that it names
    Both,
}

/// Finds the boundary and reports it.
pub(crate) fn run(args: &BoundaryArgs) -> Result<Exit, Failure> {
    let QuestionArgs { scenario, arm, threads, seed, output } = &args.question;
    let _place = publish::check_forms(output)?;
    let loaded = scenarios::load(scenario)?;
    let written = loaded.scenario(arm.as_deref())?;
    let numbers = loaded.numbers(arm.as_deref())?;
    let varied = args.vary.find("--vary", &numbers, vary::around_written)?;
    let number = varied.number;
    let resolution = args.resolution.as_deref().map(|text| number.read(text));
    let resolution = resolution
        .transpose()
        .map_err(|problem| Failure::usage(format!("--resolution: {problem}")))?;
    let seeds = args.seeds.unwrap_or(if is_random(written) { DEFAULT_SEEDS } else { 1 });
    let cancel = signals::cancel_on_signal(signals::KEEPING)?;
    let command = args.repeat(&varied.text(), seeds, seed.unwrap_or(written.seed.0));
    let question = Question {
        asked: scenario,
        arm: arm.as_deref(),
        scenario: written,
        numbers: &numbers,
        varied,
        engines: (args.engine != Engines::Rig, args.engine != Engines::Simulator),
        seeds,
        seed: seed.unwrap_or(written.seed.0),
        resolution,
        threads: threads.map_or_else(sweep::cores, usize::from),
        speed: args.speed,
        time: args.time,
        progress: output.progress,
        display: output.display(),
        cancel: &cancel,
    };
    let boundary = question.answer(command)?;
    publish::forms(output, &BoundaryReport(&boundary), &loaded.text)?;
    Ok(boundary.exit)
}

/// Whether two seeds can give two answers.
fn is_random(scenario: &Scenario) -> bool {
    use goodput_policy::backoff::Jitter;
    use goodput_policy::limiter::ServiceTime;
    let arrivals = scenario.load.arrivals == goodput_scenario::Arrivals::Poisson;
    let service = scenario.tiers.iter().any(|tier| tier.limiter.service != ServiceTime::Constant);
    let layers = scenario.tiers.iter().flat_map(|tier| &tier.layers);
    let mut layers = scenario.client.layers.iter().chain(layers);
    arrivals || service || layers.any(|layer| layer.backoff.jitter != Jitter::None)
}

impl BoundaryArgs {
    /// The command with every flag that its outcome depends on.
    fn repeat(&self, varied: &str, seeds: u32, seed: u64) -> String {
        let mut command = self.question.repeat("boundary");
        let _ = write!(command, " --vary {varied}");
        if self.engine != Engines::Simulator {
            let name = if self.engine == Engines::Rig { "rig" } else { "both" };
            let time = goodput_clock::text::format_duration(self.time).replace(' ', "");
            let _ =
                write!(command, " --engine {name} --speed {} --time {time}", self.speed.speed());
        }
        if let Some(resolution) = &self.resolution {
            let _ = write!(command, " --resolution {resolution}");
        }
        let _ = write!(command, " --seeds {seeds} --seed {seed}");
        command
    }
}

/// Enough for a share of half to be known within 10 points.
const DEFAULT_SEEDS: u32 = 100;
