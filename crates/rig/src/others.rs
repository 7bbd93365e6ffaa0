//! What others do at the control planes that a run uses.

use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_control::api::{CommandView, Commands};
use goodput_runlog::{Event, EventKind};

/// The commands of one control plane that are not the run's.
#[derive(Debug)]
pub(crate) struct Others {
    tier: String,
    run: String,
    /// The number of the last command that has been looked at.
    seen: u64,
}

impl Others {
    /// What others do at this tier, or at the load generator, after command number `seen`; `run` is the
    /// id of the run whose own commands are none of theirs.
    pub(crate) fn new(tier: &str, run: &str, seen: u64) -> Self {
        Self { tier: tier.to_owned(), run: run.to_owned(), seen }
    }

    /// The process is another one, which counts anew.
    pub(crate) const fn begin_process(&mut self) {
        self.seen = 0;
    }

    /// The commands of others that have come since; `at` says when what is so old was.
    pub(crate) fn news(
        &mut self,
        commands: &Commands,
        at: impl Fn(Duration) -> Timestamp,
    ) -> Vec<Event> {
        let (missed, new) = commands.after(self.seen);
        let others = new.filter(|command| command.run.as_ref() != Some(&self.run));
        let event = |age: f64, what: String, by: &str| {
            let age = Duration::try_from_secs_f64(age).unwrap_or_default();
            let kind = EventKind::ByOthers { tier: self.tier.clone(), what, by: by.to_owned() };
            Event { at: at(age), kind }
        };
        let mut news: Vec<_> =
            others.map(|CommandView { did, by, age, .. }| event(*age, did.clone(), by)).collect();
        if missed > 0 {
            let what = format!("{missed} commands that came too fast to be told");
            news.push(event(0.0, what, ""));
        }
        self.seen = self.seen.max(commands.count);
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(seq: u64, run: Option<&str>) -> CommandView {
        let did = format!("did {seq}");
        let (command, by) = ("POST /levers/limiter".to_owned(), "them".to_owned());
        CommandView { seq, command, did, by, run: run.map(str::to_owned), age: seq as f64 }
    }

    fn told(others: &mut Others, commands: &Commands) -> Vec<(Timestamp, String)> {
        let at = |age: Duration| Timestamp::from(Duration::from_mins(1).saturating_sub(age));
        let what = |event: Event| {
            let EventKind::ByOthers { what, .. } = event.kind else { panic!("{:?}", event.kind) };
            (event.at, what)
        };
        others.news(commands, at).into_iter().map(what).collect()
    }

    #[test]
    fn commands_of_others_are_told_once_each_with_their_time() {
        let mut others = Others::new("order-status", "mine", 1);
        let recent = vec![command(1, None), command(2, Some("mine")), command(3, Some("other"))];
        let commands = Commands { count: 3, recent };
        let expected = vec![(Timestamp::from_secs(57), "did 3".to_owned())];
        assert_eq!(told(&mut others, &commands), expected);
        assert_eq!(told(&mut others, &commands), []);
        let commands = Commands { count: 9, recent: vec![command(9, None)] };
        let words: Vec<_> =
            told(&mut others, &commands).into_iter().map(|(_, what)| what).collect();
        assert_eq!(words, ["did 9", "5 commands that came too fast to be told"]);
        others.begin_process();
        let commands = Commands { count: 1, recent: vec![command(1, None)] };
        assert_eq!(told(&mut others, &commands).len(), 1);
    }
}
