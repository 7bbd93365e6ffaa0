use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::api::{Cause, CommandView, Commands};

/// The last commands of a control plane, for its state: whoever watches a run sees in them what others
/// have done. Bounded, so that a state stays small.
#[derive(Debug, Default)]
pub struct CommandLog(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    count: u64,
    recent: VecDeque<(Instant, CommandView)>,
}

impl CommandLog {
    /// How many commands are kept.
    pub const MOST: usize = 32;

    /// Keeps a command, or the end of a lease, of now.
    pub fn push(&self, command: impl Into<String>, did: impl Into<String>, cause: &Cause) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.count += 1;
        if kept.recent.len() == Self::MOST {
            kept.recent.pop_front();
        }
        let view = CommandView {
            seq: kept.count,
            command: command.into(),
            did: did.into(),
            by: cause.by.clone(),
            run: cause.run.clone(),
            age: 0.0,
        };
        kept.recent.push_back((Instant::now(), view));
    }

    /// What is kept, as of now.
    pub fn view(&self) -> Commands {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let aged = |(at, view): &(Instant, CommandView)| {
            let age = at.elapsed().as_secs_f64();
            CommandView { age, ..view.clone() }
        };
        Commands { count: kept.count, recent: kept.recent.iter().map(aged).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_and_all_are_counted() {
        let log = CommandLog::default();
        let cause = Cause::new("me", "a test").of_run("r");
        for number in 1..=CommandLog::MOST + 3 {
            log.push(format!("POST /{number}"), "done", &cause);
        }
        let commands = log.view();
        assert_eq!((commands.count, commands.recent.len()), (35, CommandLog::MOST));
        let (first, last) = (&commands.recent[0], &commands.recent[CommandLog::MOST - 1]);
        assert_eq!((first.seq, first.command.as_str()), (4, "POST /4"));
        assert_eq!((last.seq, last.by.as_str(), last.run.as_deref()), (35, "me", Some("r")));
        assert!(first.age >= last.age && last.age >= 0.0);
    }
}
