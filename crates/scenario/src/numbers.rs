//! The numbers of a scenario by their paths, and the scenario with other ones.
//!
//! A question over many runs varies a number: how long the fault lasts, how many requests arrive.
//! The path is the one that an arm's `set` takes, such as `tier.order-status.capacity`; names may be left
//! out where nothing else is meant without them, as in `fault.for`. A scenario with another number is
//! resolved and checked anew, exactly as if the file had been written so.

use std::fmt;

use goodput_clock::{Rate, Ratio, text};

use crate::error::ScenarioError;
use crate::model::{Plan, Scenario};
use crate::parse::{self, Path};

/// A scenario, or one arm of it, whose numbers can be set.
#[derive(Clone, Debug)]
pub struct Numbers {
    file: String,
    text: String,
    arm: Option<String>,
    all: Vec<Number>,
}

/// One number of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its shortest path that means nothing else, such as `fault.for`.
    pub path: String,
    /// What it counts.
    pub unit: Unit,
    /// What the file says, in the unit's base: seconds, per second, a share of 1; none where the
    /// file says nothing, or a word such as `"unbounded"`.
    pub written: Option<f64>,
    full: Vec<parse::Address>,
    place: Path,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// Seconds of scenario time.
    Duration,
    /// Events per second.
    Rate,
    /// A share from 0 to 1.
    Ratio,
    /// A whole number of things.
    Count,
    /// A number without a unit.
    Plain,
}

impl Numbers {
    /// The numbers of what `text` holds, or of one arm of it.
    ///
    /// # Errors
    ///
    /// As [`Plan::parse`]. An arm that does not exist is an error of [`Plan::arm`]; ask there first.
    pub fn of(file: &str, text: &str, arm: Option<&str>) -> Result<Self, ScenarioError> {
        Plan::parse(file, text)?;
        let tree = parse::tree_of(text, arm);
        let all = parse::numbers_in(&tree);
        let all = all.iter().map(|found| Number {
            path: parse::shortest(&found.full, &all),
            unit: found.unit,
            written: found.value,
            full: found.full.clone(),
            place: found.place.clone(),
        });
        Ok(Self {
            file: file.to_owned(),
            text: text.to_owned(),
            arm: arm.map(str::to_owned),
            all: all.collect(),
        })
    }

    /// All numbers that can be set, in the order of the reference of keys.
    pub fn all(&self) -> &[Number] {
        &self.all
    }

    /// The number at a path such as `fault.for` or `fault.cut.for`.
    ///
    /// # Errors
    ///
    /// Where no number is there, or several are, with those that there are.
    pub fn find(&self, path: &str) -> Result<&Number, UnknownNumber> {
        let found: Vec<_> =
            self.all.iter().filter(|number| parse::means(path, &number.full)).collect();
        match found.as_slice() {
            [number] => Ok(number),
            [] => Err(UnknownNumber {
                path: path.to_owned(),
                several: false,
                hint: self.hint(path),
                numbers: self.all.iter().map(Number::describe).collect(),
            }),
            several => Err(UnknownNumber {
                path: path.to_owned(),
                several: true,
                hint: String::new(),
                numbers: several.iter().map(|number| number.describe()).collect(),
            }),
        }
    }

    /// The scenario with other numbers, each in its unit's base.
    ///
    /// A trigger that lasts longer or comes later than written makes the run longer by as much, so
    /// that what follows it is watched as long.
    ///
    /// # Errors
    ///
    /// Where such a scenario cannot be run.
    pub fn with(&self, settings: &[(&Number, f64)]) -> Result<Scenario, ScenarioError> {
        let mut later = 0.0;
        let mut texts = Vec::new();
        for (number, value) in settings {
            if number.moves_the_trigger() {
                later += (value - number.written.unwrap_or(*value)).max(0.0);
            }
            texts.push((&number.place, number.unit.text(*value)));
        }
        let duration = Path::root().key("duration");
        if later > 0.0 && texts.iter().all(|(place, _)| **place != duration) {
            let written = self.all.iter().find(|number| number.place == duration);
            let seconds = written.and_then(|number| number.written).unwrap_or_default();
            texts.push((&duration, Unit::Duration.text(seconds + later)));
        }
        let mut tree = parse::tree_of(&self.text, self.arm.as_deref());
        for (place, text) in &texts {
            parse::put(&mut tree, place, parse::value(text));
        }
        parse::resolve_tree(&self.file, &self.text, &tree, self.arm.as_deref())
    }

    fn hint(&self, path: &str) -> String {
        let names: Vec<&str> = self.all.iter().map(|number| number.path.as_str()).collect();
        match parse::near(path, &names).first() {
            Some(near) => format!("; did you mean `{near}`?"),
            None => String::new(),
        }
    }
}

impl Number {
    /// The path and what the file says, such as `fault.for (20s)`.
    pub fn describe(&self) -> String {
        match self.written {
            Some(written) => format!("{} ({})", self.path, self.unit.show(written)),
            None => self.path.clone(),
        }
    }

    /// Reads a value as a person writes it: `12s`, `80/s`, `40%`, `3`.
    ///
    /// # Errors
    ///
    /// Where the text is no value of the number's unit.
    pub fn read(&self, text: &str) -> Result<f64, String> {
        self.unit.read(text).map_err(|problem| format!("{}: {problem}", self.path))
    }

    /// What the simulator does instead of what it says, such as with `client.max_connections`; none
    /// where it carries it out.
    pub fn ignored_by_the_simulator(&self) -> Option<&'static str> {
        parse::instead_of(&self.place.to_string())
    }

    /// Whether a greater value ends the trigger later.
    fn moves_the_trigger(&self) -> bool {
        let key = self.place.to_string();
        matches!(
            key.as_str(),
            "fault.at" | "fault.for" | "load.change.at" | "load.change.for" | "load.change.over"
        )
    }
}

impl Unit {
    /// Reads a value as a scenario file writes it, in the base of the unit: a number of TOML, such as
    /// `1_000`, or what stands in quotes there, such as `30k/m` or `40%`.
    ///
    /// # Errors
    ///
    /// Where the text is no value of this unit.
    pub fn read(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        parse::literal(self, text).map_or_else(|| self.of_text(text), Ok)
    }

    /// What text of a file stands for; counts and plain numbers are not written as text.
    pub(crate) fn of_text(self, text: &str) -> Result<f64, String> {
        match self {
            Self::Duration => text::parse_duration(text).map(|value| value.as_secs_f64()),
            Self::Rate => text::parse_rate(text).map(Rate::per_second),
            Self::Ratio => text::parse_ratio(text).map(Ratio::get),
            Self::Count => Err(format!("`{text}` is not a whole number, such as 3")),
            Self::Plain => Err(format!("`{text}` is not a number, such as 1.5")),
        }
    }

    /// What a number of a file stands for.
    pub(crate) fn of_number(self, value: f64, is_whole: bool) -> Option<f64> {
        let fits = match self {
            Self::Duration => false,
            Self::Rate => Rate::new(value).is_ok(),
            Self::Ratio => Ratio::new(value).is_ok(),
            Self::Count => is_whole && (0.0..=f64::from(u32::MAX)).contains(&value),
            Self::Plain => value.is_finite(),
        };
        fits.then_some(value)
    }

    /// Writes a value as [`Unit::read`] reads it, to a millionth.
    pub fn show(self, value: f64) -> String {
        let value = (value * 1e6).round() / 1e6;
        match self {
            Self::Duration => format!("{value}s"),
            Self::Rate => format!("{value}/s"),
            Self::Ratio => format!("{}%", (value * 1e8).round() / 1e6),
            Self::Count | Self::Plain => format!("{value}"),
        }
    }

    /// Whether only whole values mean something.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::Count)
    }

    /// A value as the file would hold it.
    fn text(self, value: f64) -> String {
        match self {
            Self::Duration => format!("\"{value}s\""),
            Self::Count => format!("{}", value.round()),
            Self::Rate | Self::Ratio | Self::Plain => format!("{value:?}"),
        }
    }
}

/// A path at which a scenario has no number, or several.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct UnknownNumber {
    /// The path that was asked for.
    pub path: String,
    /// Whether it may mean several.
    pub several: bool,
    /// What it may have been meant for, in words.
    pub hint: String,
    /// The numbers that there are, or that it may mean.
    pub numbers: Vec<String>,
}

impl fmt::Display for UnknownNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, several, hint, numbers } = self;
        if *several {
            write!(f, "`{path}` may mean several numbers; write one of")?;
        } else {
            write!(f, "`{path}` is no number of the scenario{hint}\nthere is")?;
        }
        for number in numbers {
            write!(f, "\n    {number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
