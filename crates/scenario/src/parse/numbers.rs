//! Where the numbers of a tree stand, and how one is put there.

use std::iter::Peekable;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::overlay::{self, name_of};
use super::path::{Path, Step, Table};
use super::reader::{Findings, Reader};
use super::told;
use crate::error::ScenarioError;
use crate::model::Scenario;
use crate::numbers::Unit;
use crate::resolve;

/// A step of a number's path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Address {
    /// A key.
    Key(&'static str),
    /// The name of an element of a list, or its place from 1 where it has none.
    Name(String),
}

/// A number of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) full: Vec<Address>,
    pub(crate) place: Path,
    pub(crate) unit: Unit,
    pub(crate) value: Option<f64>,
}

/// The tree of a text that is known to be a scenario, with what the arm sets.
pub(crate) fn tree_of<'i>(text: &'i str, arm: Option<&str>) -> Table<'i> {
    let root = DeTable::parse_recoverable(text).0.into_inner();
    let mut base = root.clone();
    base.remove("arm");
    let arms = root.get("arm").and_then(|arms| arms.get_ref().as_array());
    let named = |table: &&Table<'_>| {
        let name = table.get("name").and_then(|name| name.get_ref().as_str());
        name.is_some() && name == arm
    };
    let arm = arms.into_iter().flatten().filter_map(|arm| arm.get_ref().as_table()).find(named);
    if let Some(arm) = arm {
        base = overlay::overlay(&base, arm, "", &mut Findings::default());
    }
    base
}

/// All numbers of a tree that can be set.
pub(crate) fn numbers_in(tree: &Table<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (key, unit, presence) in KEYS {
        let mut walk = Walk { unit: *unit, presence: *presence, found: &mut found };
        walk.table(Some(tree), key.split('.').peekable(), &[], &Path::root());
    }
    found
}

struct Walk<'a> {
    unit: Unit,
    presence: Presence,
    found: &'a mut Vec<Found>,
}

impl Walk<'_> {
    fn table(
        &mut self,
        table: Option<&Table<'_>>,
        mut keys: Peekable<std::str::Split<'static, char>>,
        full: &[Address],
        place: &Path,
    ) {
        let Some(key) = keys.next() else { return };
        let value = table.and_then(|table| table.get(key)).map(Spanned::get_ref);
        let full = [full, &[Address::Key(key)]].concat();
        let place = place.key(key);
        match value {
            None if keys.peek().is_none() && self.presence != Presence::Always => {}
            _ if keys.peek().is_none() => {
                let value = value.and_then(|value| number(self.unit, value));
                self.found.push(Found { full, place, unit: self.unit, value });
            }
            Some(DeValue::Table(inner)) => self.table(Some(inner), keys, &full, &place),
            Some(DeValue::Array(list)) => self.list(list, &keys, &full, &place),
            // A section that may be left out; what stands in a table of a kind goes with the kind.
            None if self.presence == Presence::Always && full.len() == 1 => {
                self.table(None, keys, &full, &place);
            }
            _ => {}
        }
    }

    fn list(
        &mut self,
        list: &DeArray<'_>,
        keys: &Peekable<std::str::Split<'static, char>>,
        full: &[Address],
        place: &Path,
    ) {
        for index in 0..list.len() {
            let name = match name_of(list, index, place) {
                name if name.is_empty() => (index + 1).to_string(),
                name => name,
            };
            let full = [full, &[Address::Name(name)]].concat();
            let table = list[index].get_ref().as_table();
            self.table(table, keys.clone(), &full, &place.index(index));
        }
    }
}

/// The number that stands for itself in a file, as `1_000` does, in the base of the unit; none where
/// the text is none, or not one of the unit.
pub(crate) fn literal(unit: Unit, text: &str) -> Option<f64> {
    number(unit, DeValue::parse(text).ok()?.get_ref())
}

/// The number that a value of a file stands for, in the base of the unit; none where it is a word, or
/// nothing that the unit has.
fn number(unit: Unit, value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            unit.of_number(value as f64, true)
        }
        DeValue::Float(number) => {
            unit.of_number(number.as_str().replace('_', "").parse().ok()?, false)
        }
        DeValue::String(text) => unit.of_text(text).ok(),
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Whether what a person wrote means the number at `full`: every key must be there, names may be
/// left out.
pub(crate) fn means(written: &str, full: &[Address]) -> bool {
    fn fits(written: &[&str], full: &[Address]) -> bool {
        match (written.split_first(), full.split_first()) {
            (None, None) => true,
            (Some((first, rest)), Some((Address::Key(key), more))) => {
                first == key && fits(rest, more)
            }
            (Some((first, rest)), Some((Address::Name(name), more))) => {
                (first == name && fits(rest, more)) || fits(written, more)
            }
            (_, _) => false,
        }
    }
    fits(&written.split('.').collect::<Vec<_>>(), full)
}

/// The shortest path that means this number alone.
pub(crate) fn shortest(full: &[Address], all: &[Found]) -> String {
    let names = full.iter().filter(|step| matches!(step, Address::Name(_))).count();
    // Each bit says whether a name is written; there are few names in a path.
    let mut choices: Vec<u32> = (0..1 << names).collect();
    choices.sort_by_key(|choice| choice.count_ones());
    let written = |choice: u32| {
        let mut name = 0;
        let steps = full.iter().filter_map(|step| match step {
            Address::Key(key) => Some(*key),
            Address::Name(text) => {
                name += 1;
                (choice >> (name - 1) & 1 == 1).then_some(text.as_str())
            }
        });
        steps.collect::<Vec<_>>().join(".")
    };
    let alone = |path: &String| all.iter().filter(|other| means(path, &other.full)).count() == 1;
    choices.into_iter().map(written).find(alone).unwrap_or_else(|| written(u32::MAX))
}

/// Puts a value in place of what is there, or where it is missing, with the sections around it.
pub(crate) fn put<'i>(tree: &mut Table<'i>, place: &Path, value: DeValue<'i>) {
    fn into<'i>(node: &mut DeValue<'i>, steps: &[Step], value: DeValue<'i>) {
        match (steps.split_first(), node) {
            (None, node) => *node = value,
            (Some((Step::Key(key), rest)), DeValue::Table(table)) => {
                if table.get_mut(key.as_str()).is_none() {
                    let empty = Spanned::new(0..0, DeValue::Table(Table::new()));
                    table.insert(Spanned::new(0..0, key.clone().into()), empty);
                }
                if let Some(inner) = table.get_mut(key.as_str()) {
                    into(inner.get_mut(), rest, value);
                }
            }
            (Some((Step::Index(index), rest)), DeValue::Array(list)) => {
                if let Some(inner) = list.get_mut(*index) {
                    into(inner.get_mut(), rest, value);
                }
            }
            (Some(_), _) => {}
        }
    }
    let mut root = DeValue::Table(std::mem::take(tree));
    into(&mut root, place.steps(), value);
    if let DeValue::Table(root) = root {
        *tree = root;
    }
}

/// The value that a text of TOML holds.
pub(crate) fn value(text: &str) -> DeValue<'_> {
    DeValue::parse_recoverable(text).0.into_inner()
}

/// Resolves a tree that came from `text`, with other values in it.
pub(crate) fn resolve_tree(
    file_name: &str,
    text: &str,
    tree: &Table<'_>,
    arm: Option<&str>,
) -> Result<Scenario, ScenarioError> {
    let mut findings = Findings::default();
    let scenario = resolve::resolve(&mut Reader::new(tree, arm, &mut findings));
    match scenario {
        Some(scenario) if findings.is_empty() => Ok(scenario),
        _ => Err(told(file_name, text, findings)),
    }
}

/// Whether a number can be set where the file does not write it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Presence {
    /// It has a default, or is a word.
    Always,
    /// It means something only where it is written.
    Written,
}

/// Every key that holds a number, but for `seed`.
pub(crate) const KEYS: &[(&str, Unit, Presence)] = &[
    ("duration", Unit::Duration, Presence::Always),
    ("load.rate", Unit::Rate, Presence::Always),
    ("load.arrivals.size", Unit::Count, Presence::Written),
    ("load.change.at", Unit::Duration, Presence::Always),
    ("load.change.rate", Unit::Rate, Presence::Always),
    ("load.change.over", Unit::Duration, Presence::Always),
    ("load.change.for", Unit::Duration, Presence::Written),
    ("client.clients", Unit::Count, Presence::Always),
    ("client.deadline", Unit::Duration, Presence::Always),
    ("client.max_connections", Unit::Count, Presence::Always),
    ("client.connect_rate", Unit::Rate, Presence::Always),
    ("client.layer.timeout", Unit::Duration, Presence::Always),
    ("client.layer.retries", Unit::Count, Presence::Always),
    ("client.layer.backoff.base", Unit::Duration, Presence::Always),
    ("client.layer.backoff.factor", Unit::Plain, Presence::Always),
    ("client.layer.backoff.cap", Unit::Duration, Presence::Always),
    ("client.layer.budget.ratio", Unit::Ratio, Presence::Written),
    ("client.layer.budget.window", Unit::Duration, Presence::Written),
    ("client.layer.budget.min_per_second", Unit::Plain, Presence::Written),
    ("client.layer.budget.max", Unit::Count, Presence::Written),
    ("client.layer.budget.max_tokens", Unit::Count, Presence::Written),
    ("client.layer.budget.token_ratio", Unit::Ratio, Presence::Written),
    ("client.layer.budget.capacity", Unit::Count, Presence::Written),
    ("client.layer.budget.cost", Unit::Count, Presence::Written),
    ("client.layer.budget.timeout_cost", Unit::Count, Presence::Written),
    ("tier.slots", Unit::Count, Presence::Always),
    ("tier.capacity", Unit::Rate, Presence::Always),
    ("tier.service.sigma", Unit::Plain, Presence::Written),
    ("tier.queue_limit", Unit::Count, Presence::Always),
    ("tier.expiry_margin", Unit::Duration, Presence::Always),
    ("tier.orders", Unit::Count, Presence::Written),
    ("tier.layer.timeout", Unit::Duration, Presence::Always),
    ("tier.layer.retries", Unit::Count, Presence::Always),
    ("tier.layer.backoff.base", Unit::Duration, Presence::Always),
    ("tier.layer.backoff.factor", Unit::Plain, Presence::Always),
    ("tier.layer.backoff.cap", Unit::Duration, Presence::Always),
    ("tier.layer.budget.ratio", Unit::Ratio, Presence::Written),
    ("tier.layer.budget.window", Unit::Duration, Presence::Written),
    ("tier.layer.budget.min_per_second", Unit::Plain, Presence::Written),
    ("tier.layer.budget.max", Unit::Count, Presence::Written),
    ("tier.layer.budget.max_tokens", Unit::Count, Presence::Written),
    ("tier.layer.budget.token_ratio", Unit::Ratio, Presence::Written),
    ("tier.layer.budget.capacity", Unit::Count, Presence::Written),
    ("tier.layer.budget.cost", Unit::Count, Presence::Written),
    ("tier.layer.budget.timeout_cost", Unit::Count, Presence::Written),
    ("fault.to", Unit::Ratio, Presence::Written),
    ("fault.at", Unit::Duration, Presence::Always),
    ("fault.for", Unit::Duration, Presence::Always),
    ("lever.at", Unit::Duration, Presence::Always),
    ("lever.share", Unit::Ratio, Presence::Written),
    ("lever.for", Unit::Duration, Presence::Written),
    ("lever.ramp", Unit::Duration, Presence::Written),
    ("lever.budget.ratio", Unit::Ratio, Presence::Written),
    ("lever.budget.window", Unit::Duration, Presence::Written),
    ("lever.budget.min_per_second", Unit::Plain, Presence::Written),
    ("lever.budget.max", Unit::Count, Presence::Written),
    ("lever.budget.max_tokens", Unit::Count, Presence::Written),
    ("lever.budget.token_ratio", Unit::Ratio, Presence::Written),
    ("lever.budget.capacity", Unit::Count, Presence::Written),
    ("lever.budget.cost", Unit::Count, Presence::Written),
    ("lever.budget.timeout_cost", Unit::Count, Presence::Written),
    ("lever.retries", Unit::Count, Presence::Written),
    ("lever.rate", Unit::Rate, Presence::Written),
    ("lever.slots", Unit::Count, Presence::Written),
    ("lever.capacity", Unit::Rate, Presence::Written),
    ("lever.queue_limit", Unit::Count, Presence::Written),
    ("expect.goodput_ratio", Unit::Ratio, Presence::Always),
    ("expect.hold", Unit::Duration, Presence::Always),
    ("expect.within", Unit::Duration, Presence::Always),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::reference;

    #[test]
    fn every_key_of_the_reference_that_holds_a_number_can_be_set() {
        let mut checked = 0;
        for row in reference::rows().filter(|row| !row.example.starts_with('[')) {
            let last = row.key.rsplit('.').next().unwrap();
            let tree = DeTable::parse(row.example).unwrap().into_inner();
            let top = tree.values().next().unwrap().get_ref();
            let value = top.as_table().map_or(Some(top), |t| t.get(last).map(Spanned::get_ref));
            let is_number = value.is_some_and(|value| {
                let units = [Unit::Duration, Unit::Rate, Unit::Ratio, Unit::Count, Unit::Plain];
                units.into_iter().any(|unit| number(unit, value).is_some())
            });
            if is_number && row.key != "seed" {
                assert!(KEYS.iter().any(|(key, ..)| *key == row.key), "{}", row.key);
                checked += 1;
            }
        }
        assert!(checked > 40, "{checked}");
    }
}
