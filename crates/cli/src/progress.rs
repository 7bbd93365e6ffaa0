//! How far a sweep is: a bar that moves on a terminal, a line now and then for a pipe.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::args::ProgressArgs;

/// Progress towards an end that may be unknown.
#[derive(Debug)]
pub(crate) struct Progress {
    form: Form,
    /// What is counted, in the plural.
    what: &'static str,
    /// How many there will be, where that is known.
    total: Option<usize>,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Quiet,
    Bar,
    Lines,
}

#[derive(Debug)]
struct State {
    done: usize,
    /// When it was shown last.
    drawn: Option<Instant>,
}

impl Progress {
    /// Progress as the flags and the terminal want it.
    pub(crate) fn new(args: ProgressArgs, what: &'static str, total: Option<usize>) -> Self {
        let form = match args {
            ProgressArgs { quiet: true, .. } => Form::Quiet,
            ProgressArgs { no_tui: false, .. } if io::stderr().is_terminal() => Form::Bar,
            ProgressArgs { .. } => Form::Lines,
        };
        let state = Mutex::new(State { done: 0, drawn: None });
        Self { form, what, total, began: Instant::now(), state }
    }

    /// Progress that shows nothing.
    pub(crate) fn quiet() -> Self {
        Self::new(ProgressArgs { quiet: true, no_tui: false }, "pieces", None)
    }

    /// Counts one more.
    pub(crate) fn one_more(&self) {
        if let Ok(mut state) = self.state.lock() {
            state.done += 1;
        }
        self.draw();
    }

    /// Shows how far it is, unless that was shown just now.
    pub(crate) fn draw(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        let every = match (self.form, state.drawn) {
            (Form::Quiet, _) => return,
            (Form::Bar, _) => Duration::from_millis(100),
            (Form::Lines, None) => Duration::from_secs(1),
            (Form::Lines, Some(_)) => Duration::from_secs(5),
        };
        if state.drawn.unwrap_or(self.began).elapsed() < every {
            return;
        }
        state.drawn = Some(Instant::now());
        let line = line(state.done, self.total, self.what, self.began.elapsed());
        let mut stderr = io::stderr();
        // Where nobody can read it, it is dropped.
        let _ = match self.form {
            Form::Bar => write!(stderr, "\r\x1b[2K{line}").and_then(|()| stderr.flush()),
            Form::Lines | Form::Quiet => writeln!(stderr, "{line}"),
        };
    }

    /// Takes a bar off the terminal.
    pub(crate) fn clear(&self) {
        if self.form == Form::Bar {
            let _ = write!(io::stderr(), "\r\x1b[2K");
        }
    }
}

fn line(done: usize, total: Option<usize>, what: &str, elapsed: Duration) -> String {
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{done} {what}, {:.0} s", elapsed.as_secs_f64());
    };
    let share = done as f64 / total as f64;
    let filled = (share * f64::from(WIDTH)) as usize;
    let bar: String = (0..WIDTH as usize).map(|i| if i < filled { '#' } else { '-' }).collect();
    let left = match done {
        0 => String::new(),
        done => {
            let left = elapsed.as_secs_f64() / done as f64 * total.saturating_sub(done) as f64;
            format!(", {left:.0} s left")
        }
    };
    format!("[{bar}] {done} of {total} {what}{left}")
}

/// How many characters a bar has.
const WIDTH: u32 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_says_how_many_of_how_many_and_how_long_still() {
        let text = line(500, Some(2_000), "cells", Duration::from_secs(3));
        assert_eq!(text, "[#######-----------------------] 500 of 2000 cells, 9 s left");
        assert_eq!(line(0, Some(10), "cells", Duration::ZERO).matches('-').count(), 30);
        assert_eq!(line(42, None, "runs", Duration::from_secs(7)), "42 runs, 7 s");
    }
}
