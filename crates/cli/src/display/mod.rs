//! What a person or a pipe sees while runs go on. It is fed by observers alone.

pub(crate) mod board;
mod course;
mod draw;
mod keyboard;
mod lines;
mod live;
mod plain;
mod screen;

use std::io::{self, IsTerminal};
use std::sync::mpsc::Sender;

use goodput_policy::lever::Lever;
use goodput_runlog::Cancel;

use crate::args::ProgressArgs;
use board::Board;
pub(crate) use lines::seconds;

/// Where progress is shown, and as what.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Display {
    /// A picture that moves, on a terminal.
    Live {
        /// Whether it is drawn on stdout, since stderr is no terminal.
        on_stdout: bool,
    },
    /// A plain line a second on stderr.
    Lines,
    /// Nothing.
    Quiet,
}

/// What the display needs to know of the command and can do to it.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    /// What is going on, for the first line.
    pub(crate) title: &'a str,
    /// The runs.
    pub(crate) board: &'a Board,
    /// Stops all runs.
    pub(crate) cancel: &'a Cancel,
    /// Pulls a lever at each run.
    pub(crate) levers: &'a [Sender<Lever>],
}

impl Display {
    /// What fits the terminal, the flags and the environment. `results_on_stdout` says that stdout
    /// carries something that a picture would spoil.
    pub(crate) fn choose(args: ProgressArgs, results_on_stdout: bool) -> Self {
        if args.quiet {
            return Self::Quiet;
        }
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb" || term.is_empty());
        if args.no_tui || set("CI") || dumb || std::env::var_os("TERM").is_none() {
            return Self::Lines;
        }
        if io::stderr().is_terminal() {
            return Self::Live { on_stdout: false };
        }
        if io::stdout().is_terminal() && !results_on_stdout {
            return Self::Live { on_stdout: true };
        }
        Self::Lines
    }

    /// Shows the runs until `done` says that all have ended. Where the terminal cannot be drawn on,
    /// plain lines take over.
    pub(crate) fn show(self, session: &Session<'_>, done: &dyn Fn() -> bool) {
        match self {
            Self::Live { on_stdout } => {
                if live::show(session, on_stdout, done).is_err() {
                    plain::show(session, done);
                }
            }
            Self::Lines => plain::show(session, done),
            Self::Quiet => plain::wait(done),
        }
    }
}
