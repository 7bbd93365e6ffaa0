//! Where text goes: results to stdout, everything else to stderr.
//!
//! A reader that has gone, as `head` does, is no error of the command.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use crate::exit::Failure;

/// Writes a result to stdout, with a line end where it has none.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("cannot write to stdout: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a line of progress to stderr; where nobody can read it, it is dropped.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes an error to stderr.
pub(crate) fn error(error: impl Display) {
    note(format_args!("error: {error}"));
}
