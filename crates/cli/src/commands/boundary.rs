//! `goodput boundary`: the value of a number at which the verdict flips.

use std::fmt::Write as _;
use std::time::Duration;

use clap::{Args, ValueEnum};
use goodput_clock::{Ratio, Scale};
use goodput_report::BoundaryReport;
use goodput_scenario::Scenario;

use crate::args::QuestionArgs;
use crate::boundary::Question;
use crate::exit::{Exit, Failure};
use crate::subject::Subject;
use crate::vary::{self, Written};
use crate::{help, publish, scenarios, signals, values};

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
    #[arg(long, value_name = "N", value_parser = |text: &str| values::whole::<u32>(text, 1..=100_000, 100))]
    seeds: Option<u32>,
    /// How narrow the answer has to be, in the unit of PATH [default: a share of the range]
    #[arg(long, value_name = "WIDTH")]
    resolution: Option<String>,
    /// Scenario seconds per wall second on the rig, from 0.1 to 100 [default: 1]
    #[arg(long, value_name = "N", value_parser = values::speed)]
    speed: Option<Scale>,
    /// How long the rig may take, in wall time [default: 3m]
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration)]
    time: Option<Duration>,
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
    let output = &args.question.output;
    args.check()?;
    let _place = publish::check_forms(output)?;
    let loaded = scenarios::load(&args.question.scenario)?;
    let numbers = loaded.numbers(args.question.arm.as_deref())?;
    let varied = args.vary.find("--vary", &numbers, vary::around_written)?;
    let number = varied.number;
    let resolution = args.resolution.as_deref().map(|text| number.read(text));
    let resolution = resolution
        .transpose()
        .map_err(|problem| Failure::usage(format!("--resolution: {problem}")))?;
    if resolution.is_some_and(|width| width <= 0.0) {
        return Err(Failure::usage(
            "--resolution: a width of nothing is never reached; write one above 0, or leave it out",
        ));
    }
    if args.engine != Engines::Rig {
        loaded.warn_of_ignored([args.question.arm.as_deref()]);
        varied.warn_of_ignored("--vary");
    }
    let cancel = signals::cancel_on_signal(signals::KEEPING)?;
    let speed = args.speed.unwrap_or(Scale::REAL);
    let subject = Subject::of(&args.question, &loaded, &numbers, speed, &cancel)?;
    let random = is_random(subject.scenario);
    let question = Question {
        varied,
        engines: (args.engine != Engines::Rig, args.engine != Engines::Simulator),
        seeds: args.seeds.unwrap_or(if random { DEFAULT_SEEDS } else { 1 }),
        resolution,
        time: args.time.unwrap_or(DEFAULT_TIME),
        subject,
    };
    let command = args.repeat(&question);
    let boundary = question.answer(command)?;
    publish::forms(output, &BoundaryReport(&boundary), &loaded.text)?;
    Ok(boundary.exit)
}

/// Whether two seeds can give two answers.
fn is_random(scenario: &Scenario) -> bool {
    use goodput_policy::backoff::Jitter;
    use goodput_policy::lever::Lever;
    use goodput_policy::limiter::ServiceTime;
    let arrivals = scenario.load.arrivals == goodput_scenario::Arrivals::Poisson;
    let service = scenario.tiers.iter().any(|tier| tier.limiter.service != ServiceTime::Constant);
    let layers = scenario.tiers.iter().flat_map(|tier| &tier.layers);
    let mut layers = scenario.client.layers.iter().chain(layers);
    let jitter = layers.any(|layer| layer.backoff.jitter != Jitter::None);
    let admission = scenario.levers.iter().any(|planned| {
        matches!(planned.lever, Lever::Admit { share, ramp, .. }
            if (share > Ratio::ZERO && share < Ratio::ONE) || !ramp.is_zero())
    });
    arrivals || service || jitter || admission
}

impl BoundaryArgs {
    /// Refuses what has no effect.
    fn check(&self) -> Result<(), Failure> {
        let rig = [("--speed", self.speed.is_some()), ("--time", self.time.is_some())];
        let rig = rig.into_iter().find(|(_, given)| *given);
        match (self.engine, rig) {
            (Engines::Simulator, Some((flag, _))) => Err(Failure::usage(format!(
                "{flag} is for the rig, which is not asked; leave it out, or give --engine both"
            ))),
            (Engines::Rig, _) if self.seeds.is_some() => Err(Failure::usage(
                "--seeds is for the simulator, which is not asked; leave it out, or give --engine both",
            )),
            _ => Ok(()),
        }
    }

    /// The command with every flag that its outcome depends on.
    fn repeat(&self, question: &Question<'_>) -> String {
        let mut command = self.question.repeat("boundary");
        let _ = write!(command, " --vary {}", question.varied.text());
        if self.engine != Engines::Simulator {
            let name = if self.engine == Engines::Rig { "rig" } else { "both" };
            let speed = question.subject.speed.speed();
            let time = goodput_clock::text::format_duration(question.time).replace(' ', "");
            let _ = write!(command, " --engine {name} --speed {speed} --time {time}");
        }
        if let Some(resolution) = &self.resolution {
            let _ = write!(command, " --resolution {resolution}");
        }
        if self.engine != Engines::Rig {
            let _ = write!(command, " --seeds {}", question.seeds);
        }
        let _ = write!(command, " --seed {}", question.subject.seed);
        command
    }
}

/// Enough for a share of half to be known within 10 points.
const DEFAULT_SEEDS: u32 = 100;
/// A band's ends and some values between, at speed 10.
const DEFAULT_TIME: Duration = Duration::from_mins(3);
