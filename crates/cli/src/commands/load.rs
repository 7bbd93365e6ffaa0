//! `goodput load`: an open-loop load against a target, and three latencies.

mod summary;
mod windows;
mod written;

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use goodput_clock::{Rate, Scale, Seed};
use goodput_load_generator::{
    ControlConfig, FinishedWindow, Generator, GeneratorConfig, GeneratorReport,
};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_runlog::{Cancel, Observer, Window};
use goodput_scenario::{Arrivals, Scenario};

use crate::args::{Format, ProgressArgs, TokenArgs};
use crate::display::board::{Board, Run, Stage};
use crate::display::{Display, Session};
use crate::exit::{Exit, Failure};
use crate::{control, help, output, scenarios, signals, values};
use summary::Summary;
use windows::Windows;

/// Arguments of `goodput load`.
#[derive(Args, Debug)]
#[command(after_help = help::LOAD)]
pub(crate) struct LoadArgs {
    /// A scenario whose load and client to use: a file, or one that comes with goodput
    scenario: Option<String>,
    /// Where the load goes; a path in it is what is asked for [default path: /orders/{order}]
    #[arg(long, value_name = "URL", value_parser = values::target)]
    target: values::LoadTarget,
    /// The arm of the scenario
    #[arg(long, value_name = "ARM")]
    arm: Option<String>,
    /// New requests per second in all
    #[arg(short, long, value_name = "RATE", value_parser = values::rate)]
    #[arg(required_unless_present = "scenario")]
    #[arg(conflicts_with = "scenario")]
    rate: Option<Rate>,
    /// For how long requests are sent
    #[arg(short, long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(required_unless_present = "scenario")]
    #[arg(conflicts_with = "scenario")]
    duration: Option<Duration>,
    /// How arrivals are spread: constant, poisson or batch,size=10 [default: poisson]
    #[arg(long, value_name = "KIND", value_parser = values::arrivals)]
    #[arg(conflicts_with = "scenario")]
    arrivals: Option<Arrivals>,
    /// How long an attempt may take [default: 5s]
    #[arg(short, long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(conflicts_with = "scenario")]
    timeout: Option<Duration>,
    /// A deadline over all attempts of a request [default: none]
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(conflicts_with = "scenario")]
    deadline: Option<Duration>,
    /// Retries after the first attempt [default: 0]
    #[arg(long, value_name = "N", value_parser = values::retries)]
    #[arg(conflicts_with = "scenario")]
    retries: Option<u32>,
    /// How long to wait before a retry, such as 1s,factor=2,cap=20s,jitter=full [default: 1s]
    #[arg(long, value_name = "BACKOFF", value_parser = values::backoff)]
    #[arg(conflicts_with = "scenario")]
    backoff: Option<Backoff>,
    /// The retry budget: off, sre-ratio, finagle,ratio=0.2, token-bucket, grpc-throttle or aws-quota
    /// [default: off]
    #[arg(long, value_name = "BUDGET", value_parser = values::budget)]
    #[arg(conflicts_with = "scenario")]
    budget: Option<BudgetConfig>,
    /// Independent clients, each with its own pool and budget [default: 1]
    #[arg(long, value_name = "N", value_parser = values::count)]
    #[arg(conflicts_with = "scenario")]
    clients: Option<u32>,
    /// The most open connections [default: 1.5 × rate × (retries + 1) × time-out]
    #[arg(short = 'c', long, value_name = "N", value_parser = values::count)]
    #[arg(conflicts_with = "scenario")]
    max_connections: Option<u32>,
    /// The most new connections per second [default: 1.5 × rate × (retries + 1)]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    #[arg(conflicts_with = "scenario")]
    connect_rate: Option<Rate>,
    /// The method [default: GET]
    #[arg(short = 'X', long, value_name = "METHOD")]
    #[arg(conflicts_with = "scenario")]
    method: Option<String>,
    /// A header; repeat it for more
    #[arg(short = 'H', long, value_name = "NAME: VALUE", value_parser = values::header)]
    #[arg(conflicts_with = "scenario")]
    header: Vec<(String, String)>,
    /// The body, or @FILE
    #[arg(short, long, value_name = "BODY")]
    #[arg(conflicts_with = "scenario")]
    body: Option<String>,
    /// Speak HTTP/2 with prior knowledge
    #[arg(long)]
    #[arg(conflicts_with = "scenario")]
    http2: bool,
    /// Scenario seconds per wall second
    #[arg(long, value_name = "N", value_parser = values::speed, default_value = "1")]
    speed: Scale,
    /// The seed of arrivals [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = values::seed)]
    seed: Option<u64>,
    /// Listen here for the levers of a load generator, such as 127.0.0.1:9902
    #[arg(long, value_name = "ADDR", value_parser = values::address)]
    control: Option<SocketAddr>,
    /// A name in the `Host` of control requests to take besides loopback's; repeat it for more
    #[arg(long, value_name = "NAME", requires = "control")]
    #[arg(value_parser = goodput_control::host_name)]
    control_host: Vec<String>,
    #[command(flatten)]
    token: TokenArgs,
    /// Append every command of the control plane to this file
    #[arg(long, value_name = "FILE", requires = "control")]
    audit: Option<PathBuf>,
    /// Append each second's figures to this file as a line of JSON when the second is over
    #[arg(long, value_name = "FILE")]
    windows: Option<PathBuf>,
    /// What stdout shows at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    progress: ProgressArgs,
}

/// Sends the load and prints what became of it.
pub(crate) fn run(args: &LoadArgs) -> Result<Exit, Failure> {
    let scenario = args.scenario()?;
    let windows = Windows::new(args.windows.as_deref())?;
    check_reachable(&args.target.origin)?;
    let cancel = signals::cancel_on_signal("stopping: no more requests are sent")?;
    let seed = args.seed.map_or(scenario.seed, Seed);
    let generator = Generator::start(GeneratorConfig {
        seed,
        scale: args.speed,
        drain: drain(&scenario, args.speed),
        control: args.control()?,
        ..GeneratorConfig::new(scenario.clone(), args.target.origin.clone())
    });
    let generator = generator.map_err(Failure::usage)?;
    if let Some(addr) = generator.control_addr() {
        output::note(format_args!("control: http://{addr}"));
    }
    let (windows, report) = watch(args, &scenario, generator, windows, &cancel);
    let summary = Summary::new(&scenario, args, seed, &windows, &report, cancel.is_cancelled());
    match args.format {
        Format::Text => output::result(&summary.to_text())?,
        Format::Json => {
            output::result(&serde_json::to_string_pretty(&summary).map_err(Failure::usage)?)?;
        }
    }
    for doubt in &summary.doubts {
        output::error(doubt);
    }
    Ok(summary.exit())
}

impl LoadArgs {
    /// What is sent: the scenario that is named, or what the flags say.
    fn scenario(&self) -> Result<Scenario, Failure> {
        let Some(asked) = &self.scenario else {
            if self.arm.is_some() {
                return Err(Failure::usage(
                    "--arm names an arm of a scenario; give that too, such as `goodput load \
                     database-failover --arm naive`, or leave it out",
                ));
            }
            return written::scenario(self);
        };
        let loaded = scenarios::load(asked)?;
        match &self.arm {
            None => Ok(loaded.plan.scenario),
            Some(name) => {
                loaded.plan.arm(name).map(|arm| arm.scenario.clone()).map_err(Failure::usage)
            }
        }
    }

    fn control(&self) -> Result<Option<ControlConfig>, Failure> {
        let Some(bind) = self.control else {
            self.token.refuse_without("--control")?;
            return Ok(None);
        };
        Ok(Some(ControlConfig {
            bind,
            guard: self.token.guard(&self.control_host)?,
            audit: control::audit(self.audit.as_deref())?,
        }))
    }
}

/// Shows the load while it goes on, and collects its windows.
fn watch(
    args: &LoadArgs,
    scenario: &Scenario,
    generator: Generator,
    windows: Windows,
    cancel: &Cancel,
) -> (Windows, GeneratorReport) {
    let title =
        format!("{} to {}, speed {}", scenario.name, args.target.origin, args.speed.speed());
    let duration = scenario.duration.as_secs_f64();
    let board = Board::new(vec![Run::new(&scenario.name, duration, None, args.speed.speed())]);
    board.set_stage(0, Stage::Running);
    let session = Session { title: &title, board: &board, cancel, levers: &[] };
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let ended = collect(generator, windows, &board, cancel);
            over.store(true, Ordering::Release);
            ended
        });
        let display = Display::choose(args.progress, args.format == Format::Json);
        display.show(&session, &|| over.load(Ordering::Acquire) || collector.is_finished());
        collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn collect(
    generator: Generator,
    mut windows: Windows,
    board: &Board,
    cancel: &Cancel,
) -> (Windows, GeneratorReport) {
    let mut observer = board.observer(0);
    let mut keep = |FinishedWindow { second, window }: FinishedWindow| {
        windows.add(second, &window);
        observer.on_window(&Window { second, client: window, tiers: Vec::new() });
    };
    while !generator.is_finished() {
        if cancel.is_cancelled() {
            generator.stop();
        }
        if let Ok(finished) = generator.windows().recv_timeout(POLL) {
            keep(finished);
        }
    }
    let mut report = generator.finish();
    std::mem::take(&mut report.windows).into_iter().for_each(keep);
    board.set_stage(0, Stage::Ended { verdict: "ended".to_owned(), held: true });
    (windows, report)
}

/// Refuses a target that nobody serves, before a load is spent on it.
fn check_reachable(origin: &str) -> Result<(), Failure> {
    let authority = origin.trim_start_matches("http://");
    let with_port = if authority.rsplit(']').next().is_some_and(|rest| rest.contains(':')) {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let addresses = with_port.to_socket_addrs().map_err(|error| {
        Failure::usage(format!("--target {origin}: its host has no address: {error}"))
    })?;
    let mut problem = "its host has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(()),
            Err(error) => problem = format!("{address}: {error}"),
        }
    }
    Err(Failure::usage(format!(
        "--target {origin}: cannot connect to {problem}; is the service running?"
    )))
}

/// How long requests in flight may take to end: as long as all their attempts, within reason.
fn drain(scenario: &Scenario, speed: Scale) -> Duration {
    let attempts = u32::try_from(scenario.max_attempts()).unwrap_or(u32::MAX);
    let longest = scenario.smallest_timeout().saturating_mul(attempts);
    (speed.to_wall(longest) + Duration::from_secs(1)).min(LONGEST_DRAIN)
}

/// An attempt may take so long where no flag says otherwise.
const STANDARD_TIMEOUT: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const LONGEST_DRAIN: Duration = Duration::from_secs(30);
