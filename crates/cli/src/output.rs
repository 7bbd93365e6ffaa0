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
        Err(error) if !reader_has_gone(&error) => {
            Err(Failure::usage(format!("cannot write to stdout: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether nobody is left to read: a pipe without a reader, or a terminal that was closed.
fn reader_has_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::BrokenPipe || (is_input_output(error) && !is_file())
}

/// Whether the system says EIO: of a terminal that nobody is left, of a file that the disk fails.
fn is_input_output(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    cfg!(unix) && error.raw_os_error() == Some(EIO)
}

/// Whether stdout is a file.
#[cfg(unix)]
fn is_file() -> bool {
    use std::os::fd::AsFd;
    let stdout = io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from);
    stdout.and_then(|stdout| stdout.metadata()).is_ok_and(|data| data.is_file())
}

/// Whether stdout is a file.
#[cfg(not(unix))]
const fn is_file() -> bool {
    true
}

/// Writes a line of progress to stderr; where nobody can read it, it is dropped.
pub(crate) fn note(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes a warning to stderr.
pub(crate) fn warning(warning: impl Display) {
    note(format_args!("warning: {warning}"));
}

/// Writes an error to stderr.
pub(crate) fn error(error: impl Display) {
    note(format_args!("error: {error}"));
}
