//! Recovery actions as they are written, such as `budget+shed-queue` or `block=?`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use goodput_clock::text;
use goodput_policy::budget::BudgetConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One or more steps, pulled in their order. At most one number of theirs is `?`: it is sought.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    text: String,
    steps: Vec<Step>,
}

/// What a person does in one step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// Everything that waits in the queue is refused.
    ShedQueue,
    /// The server is restarted.
    Restart,
    /// The server begins to drop expired work.
    DropExpired,
    /// A share of the attempts is let in for a while; the others get 503.
    Admit { share: Number, hold: Number },
    /// A share of the users asks for a while; the others are turned away before they do.
    Load { share: Number, hold: Number },
    /// A retry budget at every client layer.
    Budget(BudgetConfig),
    /// Another number of retries at every client layer.
    Retries(u32),
    /// So many times the capacity, for a while or for good.
    Capacity { times: Number, hold: Option<Number> },
    /// Nothing.
    Wait(Duration),
}

/// A number of an action.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Given(f64),
    Sought(Unit),
}

/// What a sought number is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds: the shortest that works.
    Seconds,
    /// A share of the traffic, from 0 to 1: the largest that works.
    Share,
    /// A multiple: the smallest that works.
    Times,
}

impl Action {
    /// The actions that are tried where none is named, the mildest first.
    pub const ALL: [&str; 14] = [
        "shed-queue",
        "restart",
        "budget",
        "retries=0",
        "drop-expired",
        "block=?",
        "admit=20%:?",
        "load=0%:?",
        "load=20%:?",
        "capacity=?",
        "shed-queue+block=?",
        "shed-queue+load=0%:?",
        "budget+shed-queue",
        "budget+restart",
    ];

    /// What it seeks; none where all of its numbers are given.
    pub fn sought(&self) -> Option<Unit> {
        self.numbers().find_map(|number| match number {
            Number::Sought(unit) => Some(unit),
            Number::Given(_) => None,
        })
    }

    /// The action with its sought number given.
    #[must_use]
    pub fn with(&self, number: f64) -> Self {
        let Some(unit) = self.sought() else { return self.clone() };
        let text = self.text.replacen('?', &unit.format(number), 1);
        // What is formatted reads back, so that the text alone says what was done.
        text.parse().unwrap_or_else(|_| self.clone())
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    fn numbers(&self) -> impl Iterator<Item = Number> {
        self.steps
            .iter()
            .flat_map(|step| match step {
                Step::Admit { share, hold } | Step::Load { share, hold } => {
                    [Some(*share), Some(*hold)]
                }
                Step::Capacity { times, hold } => [Some(*times), *hold],
                Step::ShedQueue
                | Step::Restart
                | Step::DropExpired
                | Step::Budget(_)
                | Step::Retries(_)
                | Step::Wait(_) => [None, None],
            })
            .flatten()
    }
}

impl Number {
    /// Its value; 0 where it is sought still.
    pub(crate) const fn value(self) -> f64 {
        match self {
            Self::Given(value) => value,
            Self::Sought(_) => 0.0,
        }
    }
}

impl Unit {
    /// The number as it is written in an action.
    pub fn format(self, number: f64) -> String {
        match self {
            Self::Seconds => format!("{number:.0}s"),
            Self::Share => format!("{:.0}%", number * 100.0),
            Self::Times => format!("{number:.1}"),
        }
    }

    fn read(self, text: &str) -> Result<Number, String> {
        if text == "?" {
            return Ok(Number::Sought(self));
        }
        let value = match self {
            Self::Seconds => text::parse_duration(text)?.as_secs_f64(),
            Self::Share => text::parse_ratio(text)?.get(),
            Self::Times => match text.trim_start_matches('x').parse::<f64>() {
                Ok(times) if times > 0.0 && times <= TIMES_MOST => times,
                _ => {
                    return Err(format!(
                        "`{text}` is no multiple; write a number above 0 and at most \
                         {TIMES_MOST}, such as 2"
                    ));
                }
            },
        };
        if self == Self::Seconds && !(1.0..=SECONDS_MOST).contains(&value) {
            return Err(format!("`{text}` is not from 1s to 24h; write a duration such as 60s"));
        }
        Ok(Number::Given(value))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reads steps that are joined by `+`.
impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let steps = text.split('+').map(|step| read_step(step.trim()));
        let action = Self {
            text: text.split('+').map(str::trim).collect::<Vec<_>>().join("+"),
            steps: steps.collect::<Result<_, _>>()?,
        };
        let sought = action.numbers().filter(|number| matches!(number, Number::Sought(_))).count();
        if sought > 1 {
            return Err(format!(
                "`{text}` seeks {sought} numbers, and one can be sought; give the others, such as \
                 admit=20%:?"
            ));
        }
        Ok(action)
    }
}

fn read_step(text: &str) -> Result<Step, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text, None),
    };
    let step = match (name, value) {
        ("shed-queue", None) => Step::ShedQueue,
        ("restart", None) => Step::Restart,
        ("drop-expired", None) => Step::DropExpired,
        ("block", Some(hold)) => {
            Step::Admit { share: Number::Given(0.0), hold: Unit::Seconds.read(hold)? }
        }
        ("admit" | "load", Some(value)) => {
            let (share, hold) = value.split_once(':').ok_or_else(|| {
                format!("`{text}` does not say for how long; write such as {name}=20%:60s")
            })?;
            let (share, hold) = (Unit::Share.read(share)?, Unit::Seconds.read(hold)?);
            if name == "admit" { Step::Admit { share, hold } } else { Step::Load { share, hold } }
        }
        ("budget", kind) => {
            let kind = kind.unwrap_or("sre-ratio");
            let budget = kind.parse::<BudgetConfig>().map_err(|error| error.to_string())?;
            Step::Budget(budget)
        }
        ("retries", retries) => Step::Retries(read_retries(retries.unwrap_or("0"))?),
        ("capacity", Some(value)) => {
            let (times, hold) = match value.split_once(':') {
                Some((times, hold)) => (times, Some(Unit::Seconds.read(hold)?)),
                None => (value, None),
            };
            Step::Capacity { times: Unit::Times.read(times)?, hold }
        }
        ("wait", Some(time)) => {
            Step::Wait(Duration::from_secs_f64(match Unit::Seconds.read(time)? {
                Number::Given(seconds) => seconds,
                Number::Sought(_) => return Err("a wait is given, such as wait=10s".to_owned()),
            }))
        }
        _ => return Err(refusal(text, name)),
    };
    Ok(step)
}

fn read_retries(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(retries) if retries <= RETRIES_MOST => Ok(retries),
        _ => Err(format!(
            "`{text}` is not from 0 to {RETRIES_MOST} retries; write such as retries=0"
        )),
    }
}

fn refusal(text: &str, name: &str) -> String {
    if let Some((_, example)) = EXAMPLES.iter().find(|(known, _)| *known == name) {
        return format!("`{text}` is not how it is written; write such as {example}");
    }
    let names: Vec<_> = EXAMPLES.iter().map(|(name, _)| *name).collect();
    format!(
        "`{text}` is no action; there is {}, joined by +, such as budget+shed-queue or block=?",
        names.join(", ")
    )
}

/// Every step, and how it is written.
const EXAMPLES: [(&str, &str); 10] = [
    ("shed-queue", "shed-queue"),
    ("restart", "restart"),
    ("drop-expired", "drop-expired"),
    ("block", "block=60s"),
    ("admit", "admit=20%:60s"),
    ("load", "load=20%:60s"),
    ("budget", "budget=sre-ratio"),
    ("retries", "retries=0"),
    ("capacity", "capacity=2"),
    ("wait", "wait=10s"),
];
const RETRIES_MOST: u32 = 100;
const TIMES_MOST: f64 = 1_000.0;
const SECONDS_MOST: f64 = 86_400.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Action {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn all_actions_that_are_tried_by_default_read_and_print_as_they_are_written() {
        for text in Action::ALL {
            assert_eq!(read(text).to_string(), text);
        }
    }

    #[test]
    fn a_sought_number_takes_its_place_in_the_text() {
        for (text, number, expected) in [
            ("block=?", 143.0, "block=143s"),
            ("shed-queue + load=0%:?", 21.0, "shed-queue+load=0%:21s"),
            ("admit=?:60s", 0.3, "admit=30%:60s"),
            ("capacity=?", 3.4, "capacity=3.4"),
        ] {
            let action = read(text);
            assert!(action.sought().is_some(), "{text}");
            assert_eq!(action.with(number).to_string(), expected);
            assert_eq!(action.with(number).sought(), None);
        }
        let given = read("restart");
        assert_eq!(given.with(7.0), given);
    }

    #[test]
    fn what_is_no_action_is_refused_with_an_example() {
        for (text, example) in [
            ("", "block=?"),
            ("blok=60s", "block=?"),
            ("block", "block=60s"),
            ("block=60", "5s"),
            ("block=0s", "60s"),
            ("admit=20%", "admit=20%:60s"),
            ("admit=120%:60s", "0.4"),
            ("admit=?:?", "admit=20%:?"),
            ("capacity=0", "such as 2"),
            ("capacity", "capacity=2"),
            ("retries=-1", "retries=0"),
            ("budget=none", "sre-ratio"),
            ("restart=now", "restart"),
            ("wait=?", "wait=10s"),
            ("shed-queue+", "block=?"),
        ] {
            let error = text.parse::<Action>().unwrap_err();
            assert!(error.contains(example), "{text}: {error}");
        }
    }
}
