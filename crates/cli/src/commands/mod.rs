//! One file a command. Each reads its arguments, calls the libraries and prints what they return.

pub(crate) mod boundary;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod drill;
pub(crate) mod fault;
pub(crate) mod healthcheck;
pub(crate) mod hysteresis;
pub(crate) mod lesson;
pub(crate) mod lever;
pub(crate) mod load;
pub(crate) mod man;
pub(crate) mod map;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod validate;

use crate::args::Command;
use crate::exit::{Exit, Failure};

/// Carries a command out.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Hysteresis(args) => hysteresis::run(&args),
        Command::Drill(args) => drill::run(&args),
        Command::Boundary(args) => boundary::run(&args),
        Command::Map(args) => map::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Load(args) => load::run(&args),
        Command::Fault(args) => fault::run(args),
        Command::Lever(args) => lever::run(args),
        Command::Report(args) => report::run(&args),
        Command::Lesson(args) => lesson::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Healthcheck(args) => healthcheck::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
