//! `goodput`: reproduces metastable failure on real sockets, and tells whether goodput returns.
//!
//! The binary reads its arguments, hands the work to the libraries and prints what they return.
//! Results go to stdout, progress and errors to stderr.

mod args;
mod commands;
mod comparison;
mod control;
mod display;
mod engine;
mod exit;
mod help;
mod output;
mod publish;
mod scenarios;
mod session;
mod signals;
mod values;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = args::Arguments::parse();
    let exit = commands::run(arguments.command).unwrap_or_else(|failure| {
        output::error(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}
