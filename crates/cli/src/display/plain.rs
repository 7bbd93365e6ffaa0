//! Plain progress: a line a run and second of wall time on stderr.

use std::thread;
use std::time::{Duration, Instant};

use crate::display::board::{Run, Stage};
use crate::display::{Session, lines};
use crate::output;

/// Prints lines until all runs have ended.
pub(crate) fn show(session: &Session<'_>, done: &dyn Fn() -> bool) {
    output::note(session.title);
    output::note(lines::HEAD);
    let mut last_events = vec![None; session.board.runs().len()];
    let mut next = Instant::now() + PERIOD;
    while !done() {
        thread::sleep(POLL);
        report_events(&session.board.runs(), &mut last_events);
        if Instant::now() < next {
            continue;
        }
        next += PERIOD;
        let runs = session.board.runs();
        let running = runs.iter().filter(|run| run.stage == Stage::Running);
        for line in running.filter_map(lines::line) {
            output::note(line);
        }
    }
    report_events(&session.board.runs(), &mut last_events);
}

/// Waits without a word until all runs have ended.
pub(crate) fn wait(done: &dyn Fn() -> bool) {
    while !done() {
        thread::sleep(POLL);
    }
}

fn report_events(runs: &[Run], last: &mut [Option<String>]) {
    for (run, last) in runs.iter().zip(last) {
        if run.last_event != *last {
            last.clone_from(&run.last_event);
            if let Some(event) = last {
                output::note(format_args!("# {}: {event}", run.label));
            }
        }
    }
}

const PERIOD: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(20);
