//! `goodput fault`: faults in a running server, in and out.

mod injector;

use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueEnum};
use goodput_clock::Ratio;
use goodput_control::api::{ResetScope, ServerState};
use goodput_fault_injector::{
    self as fault_injector, CommandError, HoldEnd, HoldError, HoldRequest, LeaseTerms, Seen, Stop,
};
use goodput_policy::fault::{CapacityMode, FaultKind};

use crate::args::{Format, TokenArgs};
use crate::display::seconds;
use crate::exit::{Exit, Failure};
use crate::{control, help, output, signals, values};

/// Arguments of `goodput fault`.
#[derive(Args, Debug)]
#[command(after_help = help::FAULT, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct FaultArgs {
    #[command(subcommand)]
    action: Action,
}

/// What to do with faults.
#[derive(Debug, Subcommand)]
enum Action {
    /// Cuts the capacity of a server to a share of itself
    #[command(after_help = help::FAULT)]
    Cut(CutArgs),
    /// Freezes a server: nothing starts, and what is in service stands still
    #[command(after_help = help::FAULT)]
    Stall(StallArgs),
    /// Lists the faults in force
    #[command(after_help = help::FAULT)]
    List(ServerArgs),
    /// Takes faults out by name
    #[command(after_help = help::FAULT)]
    Clear(ClearArgs),
    /// Puts back what you have put there: faults, and what levers changed; reads the state back
    #[command(after_help = help::FAULT)]
    Reset(ResetArgs),
    /// Runs the fault injector as a process with an API of its own
    Serve(injector::InjectorArgs),
}

/// Which server.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServerArgs {
    /// The control plane of the server
    #[arg(long, env = "GOODPUT_CONTROL", value_name = "URL", value_parser = values::url)]
    #[arg(default_value = "http://127.0.0.1:9901")]
    control: String,
    #[command(flatten)]
    token: TokenArgs,
    /// What stdout shows
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How long a fault lasts, and who keeps it.
#[derive(Args, Debug)]
struct LengthArgs {
    /// How long the fault lasts, in wall time
    #[arg(long = "for", value_name = "TIME", value_parser = values::positive_duration)]
    length: Duration,
    /// Return at once and leave the fault to a lease as long as --for
    #[arg(long)]
    detach: bool,
    /// The fault's name [default: cut or stall, as the command]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Why, for the audit log
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Arguments of `goodput fault cut`.
#[derive(Args, Debug)]
struct CutArgs {
    /// What is left of the capacity, such as 40%
    #[arg(long, value_name = "SHARE", value_parser = values::remaining_capacity)]
    to: Ratio,
    /// How the loss shows
    #[arg(long, value_enum, default_value_t = Mode::Slow)]
    mode: Mode,
    #[command(flatten)]
    length: LengthArgs,
}

/// How a loss of capacity shows.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    /// Service takes longer, as with a slow database
    Slow,
    /// Fewer slots work, as with lost replicas
    Slots,
}

/// Arguments of `goodput fault stall`.
#[derive(Args, Debug)]
struct StallArgs {
    #[command(flatten)]
    length: LengthArgs,
}

/// Arguments of `goodput fault clear`.
#[derive(Args, Debug)]
struct ClearArgs {
    /// The faults, by name
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Arguments of `goodput fault reset`.
#[derive(Args, Debug)]
struct ResetArgs {
    /// Put everything back, whoever put it there, a run's too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// Carries the action out.
pub(crate) fn run(args: FaultArgs) -> Result<Exit, Failure> {
    match args.action {
        Action::Cut(args) => {
            let mode = match args.mode {
                Mode::Slow => CapacityMode::Slow,
                Mode::Slots => CapacityMode::Slots,
            };
            inject(&args.length, "cut", FaultKind::Capacity { to: args.to, mode })
        }
        Action::Stall(args) => inject(&args.length, "stall", FaultKind::Stall),
        Action::List(server) => {
            let client = server.token.client(&server.control)?;
            let faults = control::runtime()?.block_on(fault_injector::list(&client));
            let faults = faults.map_err(failure)?;
            control::print(server.format, &faults, || control::faults_text(&faults))?;
            Ok(Exit::Held)
        }
        Action::Clear(args) => clear(&args),
        Action::Reset(args) => reset(&args),
        Action::Serve(args) => injector::run(&args),
    }
}

fn reset(args: &ResetArgs) -> Result<Exit, Failure> {
    let server = &args.server;
    let client = server.token.client(&server.control)?;
    let cause = control::cause("goodput fault reset", None);
    let scope = if args.all { ResetScope::All } else { ResetScope::Own };
    let state = control::runtime()?.block_on(fault_injector::reset(&client, scope, &cause));
    let state = state.map_err(failure)?;
    server.print(&state)?;
    if !args.all && !state.faults.is_empty() {
        output::note("what others have put there is left; --all ends that too");
    }
    Ok(Exit::Held)
}

fn clear(args: &ClearArgs) -> Result<Exit, Failure> {
    let client = args.server.token.client(&args.server.control)?;
    let cause = control::cause("goodput fault clear", None);
    let runtime = control::runtime()?;
    for name in &args.names {
        let removal = runtime.block_on(fault_injector::clear(&client, name, &cause));
        let removal = removal.map_err(failure)?;
        if removal.removed.is_none() {
            output::note(format_args!("no fault named `{name}` was in force"));
        }
    }
    let state = runtime.block_on(client.server_state()).map_err(Failure::usage)?;
    args.server.print(&state)?;
    Ok(Exit::Held)
}

/// Puts a fault in force and, unless it is to be left to its lease, stays until it has ended.
fn inject(args: &LengthArgs, standard_name: &str, kind: FaultKind) -> Result<Exit, Failure> {
    kind.validate()
        .map_err(|invalid| Failure::usage(format!("--{} {}", invalid.key, invalid.problem)))?;
    let client = args.server.token.client(&args.server.control)?;
    let name = args.name.as_deref().unwrap_or(standard_name);
    let cause = control::cause(&format!("goodput fault {standard_name}"), args.reason.as_deref());
    if args.detach {
        let left = fault_injector::detach(&client, name, kind, args.length, &cause);
        let fault = control::runtime()?.block_on(left).map_err(failure)?;
        control::print(args.server.format, &fault, || {
            control::faults_text(std::slice::from_ref(&fault))
        })?;
        return Ok(Exit::Held);
    }
    let stop = Stop::new();
    let pulled = stop.clone();
    signals::on_signals(move |_| {
        pulled.pull();
        output::note("ending the fault");
    })?;
    let request = HoldRequest {
        name: name.to_owned(),
        kind,
        ends: Instant::now() + args.length,
        terms: LeaseTerms::default(),
        cause,
    };
    let held = fault_injector::hold(&client, &request, &stop, |seen| announce(seen, args.length));
    match control::runtime()?.block_on(held) {
        Ok(end) => finish(args, name, end),
        Err(error @ HoldError::Unconfirmed { .. }) => Err(Failure::clean_up(error)),
        Err(error) => Err(Failure::usage(error)),
    }
}

fn announce(seen: &Seen, length: Duration) {
    let capacity =
        seen.capacity.map_or_else(|| "unlimited".to_owned(), |rate| format!("{rate:.1}/s"));
    output::note(format_args!(
        "in force for {}: {}: {}; read back: {capacity} in {} slots; Ctrl-C ends it",
        seconds(length.as_secs_f64()),
        seen.fault.name,
        control::fault_text(&seen.fault.fault),
        seen.slots
    ));
}

fn finish(args: &LengthArgs, name: &str, end: HoldEnd) -> Result<Exit, Failure> {
    match end {
        HoldEnd::Ended { interrupted, state } => {
            output::note(format_args!("ended: {name}"));
            args.server.print(&state)?;
            Ok(if interrupted { Exit::Interrupted } else { Exit::Held })
        }
        HoldEnd::Lost { state } => {
            output::error(format_args!(
                "the fault {name} ended before its time: its lease ran out, the server ended or \
                 started anew, or somebody else ended it"
            ));
            match state {
                Some(state) => args.server.print(&state)?,
                None => output::note("nobody listens at the control plane any more"),
            }
            Ok(Exit::NotHeld)
        }
        HoldEnd::Unconfirmed { problem } => Err(Failure::clean_up(format!(
            "whether the fault {name} has ended could not be read back: {problem}; its lease of at \
             most {} ends it where the server lives",
            seconds(LeaseTerms::default().lease().as_secs_f64())
        ))),
    }
}

fn failure(error: CommandError) -> Failure {
    if error.is_unconfirmed() { Failure::clean_up(error) } else { Failure::usage(error) }
}

impl ServerArgs {
    fn print(&self, state: &ServerState) -> Result<(), Failure> {
        control::print(self.format, state, || control::server_text(state))
    }
}
