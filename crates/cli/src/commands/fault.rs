//! `goodput fault`: faults in a running server, in and out.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use goodput_clock::Ratio;

use crate::args::{Format, TokenArgs};
use crate::exit::{Exit, Failure};
use crate::{help, values};

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
    /// Takes all faults out and reads the state back
    #[command(after_help = help::FAULT)]
    Reset(ServerArgs),
    /// Runs the fault injector as a process with an API of its own
    #[command(after_help = help::FAULT)]
    Serve(InjectorArgs),
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
    /// The fault's name [default: the command's]
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

/// Arguments of `goodput fault serve`.
#[derive(Args, Debug)]
struct InjectorArgs {
    /// Where the injector's API listens
    #[arg(long, value_name = "ADDR", value_parser = values::address)]
    #[arg(default_value = "127.0.0.1:9903")]
    listen: SocketAddr,
    /// The control plane of the server
    #[arg(long, env = "GOODPUT_CONTROL", value_name = "URL", value_parser = values::url)]
    #[arg(default_value = "http://127.0.0.1:9901")]
    control: String,
    #[command(flatten)]
    token: TokenArgs,
    /// Append every command to this file
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}
