//! One file a command. Each reads its arguments, calls the libraries and prints what they return.

pub(crate) mod completions;
pub(crate) mod man;

use crate::args::Command;
use crate::exit::{Exit, Failure};

/// Carries a command out.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
