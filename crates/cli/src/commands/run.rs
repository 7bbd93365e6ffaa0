//! `goodput run`: scenarios, one after the other, each judged.

use std::net::SocketAddr;

use clap::Args;
use goodput_clock::Scale;
use goodput_control::{Audit, Guard};
use goodput_load_generator::ControlConfig;
use goodput_report::{Report, ReportedRun};
use goodput_runlog::Cancel;
use goodput_scenario::Arm;

use crate::args::{Engine, EngineArgs, OutputArgs, ResultArgs, TokenArgs};
use crate::engine::{self, Run, Target};
use crate::exit::{Exit, Failure};
use crate::scenarios::{self, Loaded};
use crate::session::{self, Batch, Task};
use crate::{help, output, publish, signals, values};

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
    /// Listen here, while a run goes on, for scrapes and levers of its load generator, such as
    /// 127.0.0.1:9902
    #[arg(long, value_name = "ADDR", value_parser = values::address)]
    load_control: Option<SocketAddr>,
    /// A name in the `Host` of requests to --load-control to take besides loopback's; repeat it for
    /// more
    #[arg(long, value_name = "NAME", requires = "load_control")]
    #[arg(value_parser = goodput_control::host_name)]
    control_host: Vec<String>,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the scenarios in their order.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    args.engine.check()?;
    check_single_files(args)?;
    let target = args.target()?;
    let guard = args.load_guard()?;
    let loaded = args.scenarios.iter().map(|asked| scenarios::load(asked));
    let loaded = loaded.collect::<Result<Vec<_>, _>>()?;
    let arms = loaded.iter().map(|loaded| choose(loaded, args.arm.as_deref()));
    let arms = arms.collect::<Result<Vec<_>, _>>()?;
    let _place = publish::check(&args.output)?;
    if args.engine.engine == Engine::Simulator {
        for loaded in &loaded {
            loaded.warn_of_ignored([args.arm.as_deref()]);
        }
    }
    let cancel = signals::cancel_on_signal(signals::REVERTING)?;
    let mut exits = Vec::new();
    for (loaded, arm) in loaded.iter().zip(arms) {
        if cancel.is_cancelled() {
            exits.push(Exit::Interrupted);
            break;
        }
        exits.push(run_one(args, loaded, arm, (target.as_ref(), guard.as_ref()), &cancel)?);
    }
    Ok(Exit::worst(exits))
}

fn choose<'a>(loaded: &'a Loaded, arm: Option<&str>) -> Result<Option<&'a Arm>, Failure> {
    arm.map(|name| loaded.plan.arm(name)).transpose().map_err(Failure::usage)
}

fn run_one(
    args: &RunArgs,
    loaded: &Loaded,
    arm: Option<&Arm>,
    (target, guard): (Option<&Target>, Option<&Guard>),
    cancel: &Cancel,
) -> Result<Exit, Failure> {
    let speed = args.engine.speed.unwrap_or(Scale::REAL);
    let mut scenario = arm.map_or(&loaded.plan.scenario, |arm| &arm.scenario).clone();
    scenario.seed = args.engine.seed_or(&scenario);
    let control = arm.is_some_and(|arm| arm.control);
    let arm = arm.map(|arm| arm.name.as_str());
    let label = arm.unwrap_or(&scenario.name);
    let title = format!("{}: {}", scenario.name, args.engine.describe(speed));
    let audit = Audit::memory();
    let engine = args.engine.engine;
    let load_control = args.load_control.zip(guard).map(|(bind, guard)| ControlConfig {
        bind,
        guard: guard.clone(),
        audit: audit.clone(),
    });
    let load_control = load_control.as_ref();
    let asked = &loaded.asked;
    let run = Run { asked, engine, scenario: &scenario, arm, speed, target, load_control };
    let batch = Batch {
        title: &title,
        tasks: &[Task { label, scenario: &scenario, control }],
        jobs: 1,
        speed,
        display: args.output.display(),
        cancel,
    };
    let outcomes = session::run_all(&batch, &|_, observer, levers| {
        engine::carry_out(&run, observer, levers, cancel, &audit)
    });
    match outcomes.into_iter().next().flatten() {
        None => Ok(Exit::Interrupted),
        Some(Err(failure)) => {
            output::error(format_args!("{}: {failure}", loaded.asked));
            Ok(failure.exit)
        }
        Some(Ok(finished)) => {
            let report = Report::Run(ReportedRun {
                scenario: &scenario,
                log: &finished.log,
                judgement: &finished.judgement,
                control,
            });
            publish::all(&args.output, &report, &loaded.text, &engine::audit_lines(&audit))
        }
    }
}

/// The files of flags hold one run each; folders hold as many as there are.
fn check_single_files(args: &RunArgs) -> Result<(), Failure> {
    let ResultArgs { json, html, junit, .. } = &args.output.results;
    let flag = [("--json", json), ("--html", html), ("--junit", junit)];
    match flag.into_iter().find(|(_, path)| path.is_some()) {
        Some((flag, _)) if args.scenarios.len() > 1 => Err(Failure::usage(format!(
            "{flag} holds one scenario and there are {}; each leaves its own in the folder of --out",
            args.scenarios.len()
        ))),
        _ => Ok(()),
    }
}

impl RunArgs {
    /// Whom the load generator's control plane admits, where there is one.
    fn load_guard(&self) -> Result<Option<Guard>, Failure> {
        if self.load_control.is_none() {
            return Ok(None);
        }
        if self.engine.engine == Engine::Simulator {
            return Err(Failure::usage(
                "--load-control: the simulator listens nowhere; leave --engine simulator out",
            ));
        }
        self.token.guard(&self.control_host).map(Some)
    }

    fn target(&self) -> Result<Option<Target>, Failure> {
        let Some(url) = &self.target else {
            if self.load_control.is_none() {
                self.token.refuse_without("--target or --load-control")?;
            }
            return Ok(None);
        };
        if self.engine.engine == Engine::Simulator {
            return Err(Failure::usage(
                "--target: the simulator reaches no service; leave --engine simulator out",
            ));
        }
        Ok(Some(Target {
            url: url.clone(),
            control: self.control.clone(),
            token: self.token.text()?,
        }))
    }
}
