use serde::{Deserialize, Serialize};

/// What was asked of a control plane since its process started, renewals and refusals apart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Commands {
    /// How many there were.
    pub count: u64,
    /// The last of them, oldest first.
    pub recent: Vec<CommandView>,
}

impl Commands {
    /// The commands after number `seen` that are still shown, oldest first, and how many are not.
    pub fn after(&self, seen: u64) -> (u64, impl Iterator<Item = &CommandView>) {
        let new = self.recent.iter().filter(move |command| command.seq > seen);
        let shown = new.clone().count() as u64;
        (self.count.saturating_sub(seen).saturating_sub(shown), new)
    }
}

/// One command, or the end of a lease.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct CommandView {
    /// Its number since the process started; the first is 1.
    pub seq: u64,
    /// The command, such as `POST /levers/limiter`, or what ended by itself.
    pub command: String,
    /// What it did, in words, such as `lever limiter: capacity = 1000`.
    pub did: String,
    /// Who asked, as they say themselves; empty where they do not.
    pub by: String,
    /// The run that it belongs to; none for what people do.
    #[serde(default)]
    pub run: Option<String>,
    /// How long ago it was when the state was read, in seconds.
    pub age: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(seq: u64) -> CommandView {
        let (command, did) = (format!("command {seq}"), String::new());
        CommandView { seq, command, did, by: String::new(), run: None, age: 0.0 }
    }

    #[test]
    fn what_is_new_is_told_with_how_much_is_not_shown_any_more() {
        let commands = Commands { count: 9, recent: (7..=9).map(command).collect() };
        let after = |seen| {
            let (missing, shown) = commands.after(seen);
            (missing, shown.map(|command| command.seq).collect::<Vec<_>>())
        };
        assert_eq!(after(0), (6, vec![7, 8, 9]));
        assert_eq!(after(6), (0, vec![7, 8, 9]));
        assert_eq!(after(8), (0, vec![9]));
        assert_eq!(after(9), (0, vec![]));
        assert_eq!(after(12), (0, vec![]), "another process counts anew");
    }
}
