//! `goodput`: reproduces metastable failure on real sockets, and tells whether goodput returns.
//!
//! The binary reads its arguments, hands the work to the libraries and prints what they return.
//! Results go to stdout, progress and errors to stderr.

mod args;
mod boundary;
mod commands;
mod comparison;
mod control;
mod display;
mod engine;
mod exit;
mod help;
mod input;
mod map;
mod output;
mod progress;
mod publish;
mod scenarios;
mod session;
mod signals;
mod subject;
mod sweep;
mod trials;
mod twin;
mod values;
mod vary;

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory, FromArgMatches};

fn main() -> ExitCode {
    let matches = with_negative_numbers(args::Arguments::command())
        .try_get_matches()
        .unwrap_or_else(|error| without_credentials(error).exit());
    let arguments =
        args::Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let exit = commands::run(arguments.command).unwrap_or_else(|failure| {
        output::error(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}

/// Lets every command take a number with a sign as a value, so that the value's own rule refuses it.
fn with_negative_numbers(command: Command) -> Command {
    let names: Vec<_> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command.allow_negative_numbers(true), |command, name| {
        command.mut_subcommand(name, with_negative_numbers)
    })
}

/// The error without the user and the password of a URL that it repeats.
fn without_credentials(mut error: clap::Error) -> clap::Error {
    let shown = error.get(ContextKind::InvalidValue).and_then(|value| {
        let ContextValue::String(value) = value else { return None };
        let (before, after) = value.rsplit_once('@')?;
        before.contains(':').then(|| format!("…@{after}"))
    });
    if let Some(shown) = shown {
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
    }
    error
}
