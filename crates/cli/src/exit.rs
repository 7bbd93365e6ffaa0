//! How the command ends: the exit code, and the errors that carry one.

use std::fmt::Display;

pub(crate) use goodput_verdict::Exit;

/// What ends a command with a message.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    /// How the command ends.
    pub(crate) exit: Exit,
    /// What is wrong, with a valid example where the input was.
    pub(crate) message: String,
}

impl Failure {
    /// The command or the scenario is wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    /// A fault may be in force still.
    pub(crate) fn clean_up(message: impl Display) -> Self {
        Self { exit: Exit::CleanUpUnconfirmed, message: message.to_string() }
    }
}
