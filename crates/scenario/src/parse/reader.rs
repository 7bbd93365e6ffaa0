//! Reads sections of the tree into structs, and collects what is wrong with them.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use goodput_clock::text;
use goodput_policy::invalid::InvalidConfig;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::fields::fields_of;
use super::near::{hint, near};
use super::path::{Path, Table};
use super::reference;

/// What is wrong so far, over the scenario and all of its arms.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(super) found: Vec<Finding>,
    /// What has been said without naming an arm, so that no arm repeats it.
    said: BTreeSet<(usize, String)>,
    pub(super) left_out: usize,
}

#[derive(Debug)]
pub(super) struct Finding {
    pub(super) offset: usize,
    pub(super) key: String,
    pub(super) message: String,
    pub(super) arm: Option<String>,
    pub(super) example: String,
}

impl Findings {
    pub(super) fn add(&mut self, finding: Finding) {
        let place = (finding.offset, format!("{}: {}", finding.key, finding.message));
        if self.said.contains(&place) {
            return;
        }
        if self.count_only() {
            return;
        }
        if finding.arm.is_none() {
            self.said.insert(place);
        }
        self.found.push(finding);
    }

    /// Counts one more problem where so many are kept that its words would be lost; says whether it did.
    fn count_only(&mut self) -> bool {
        let full = self.found.len() >= MOST_KEPT;
        self.left_out += usize::from(full);
        full
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// A view of one tree: the scenario as written, or with what an arm sets.
#[derive(Debug)]
pub(crate) struct Reader<'t, 'i> {
    root: &'t Table<'i>,
    arm: Option<&'t str>,
    findings: &'t mut Findings,
}

impl<'t, 'i> Reader<'t, 'i> {
    pub(super) const fn new(
        root: &'t Table<'i>,
        arm: Option<&'t str>,
        findings: &'t mut Findings,
    ) -> Self {
        Self { root, arm, findings }
    }

    /// Notes that something is wrong with the key at `path`.
    pub(crate) fn problem(&mut self, path: &Path, message: impl Into<String>) {
        if self.findings.count_only() {
            return;
        }
        let example = reference::example(&path.to_string());
        self.problem_with(path, message, example);
    }

    /// The same, with an example of its own.
    pub(crate) fn problem_with(
        &mut self,
        path: &Path,
        message: impl Into<String>,
        example: impl Into<String>,
    ) {
        self.findings.add(Finding {
            offset: path.locate(self.root).start,
            key: path.to_string(),
            message: message.into(),
            arm: self.arm.map(str::to_owned),
            example: example.into(),
        });
    }

    /// Notes what a policy says about a key of the table at `path`.
    pub(crate) fn invalid(&mut self, path: &Path, invalid: InvalidConfig) {
        let key = invalid.key.split('.').fold(path.clone(), |path, key| path.key(key));
        self.problem(&key, invalid.problem);
    }

    /// Whether the file has a value there.
    pub(crate) fn has(&self, path: &Path) -> bool {
        path.find(self.root).is_some()
    }

    /// Reads the table at `path`, in which `nested` are read apart; an absent table is an empty one.
    pub(crate) fn section<T>(&mut self, path: &Path, nested: &[&str]) -> T
    where
        T: Default + for<'de> Deserialize<'de>,
    {
        let root = self.root;
        let table = match path.find(root).map(Spanned::get_ref) {
            Some(DeValue::Table(table)) => table,
            None if *path == Path::root() => root,
            None => return T::default(),
            Some(_) => {
                self.problem(path, "is a section, not a value");
                return T::default();
            }
        };
        let known = fields_of::<T>();
        let mut rest = Table::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                rest.insert(key.clone(), value.clone());
            } else if !nested.contains(&name) {
                self.unknown_key(&path.key(name), name, &[known, nested].concat());
            }
        }
        self.read(path, rest)
    }

    /// Reads the tables in the list at `path`.
    pub(crate) fn list<T>(&mut self, path: &Path, nested: &[&str]) -> Vec<(Path, T)>
    where
        T: Default + for<'de> Deserialize<'de>,
    {
        let count = match path.find(self.root).map(Spanned::get_ref) {
            None => 0,
            Some(DeValue::Array(array)) => array.len(),
            Some(_) => {
                self.problem(path, format!("is a list; write `[[{path}]]` for each"));
                0
            }
        };
        if count > MOST_IN_A_LIST {
            self.problem(path, format!("there are {count}, but at most {MOST_IN_A_LIST} can be"));
            return Vec::new();
        }
        (0..count)
            .map(|index| {
                let path = path.index(index);
                let item = self.section(&path, nested);
                (path, item)
            })
            .collect()
    }

    /// Asks for a value that must be there.
    pub(crate) fn require<T>(&mut self, path: &Path, value: Option<T>) -> Option<T> {
        if value.is_none() && !self.has(path) {
            self.problem(path, "is missing");
        }
        value
    }

    /// A whole number in its range, or the default where it is absent or wrong.
    pub(crate) fn whole(
        &mut self,
        path: &Path,
        value: Option<i64>,
        range: RangeInclusive<u32>,
        default: u32,
    ) -> u32 {
        let Some(value) = value else { return default };
        match u32::try_from(value) {
            Ok(value) if range.contains(&value) => value,
            _ => {
                let (from, to) = range.into_inner();
                self.problem(path, format!("{value} is not a whole number from {from} to {to}"));
                default
            }
        }
    }

    /// Deserialises a table of known keys; a key of a wrong type is noted and left out.
    fn read<T>(&mut self, path: &Path, mut table: Table<'_>) -> T
    where
        T: Default + for<'de> Deserialize<'de>,
    {
        loop {
            let node = Spanned::new(0..0, DeValue::Table(table.clone()));
            let error = match serde_path_to_error::deserialize(ValueDeserializer::from(node)) {
                Ok(value) => return value,
                Err(error) => error,
            };
            let mut at = path.clone();
            let mut first = None;
            for segment in error.path() {
                match segment {
                    serde_path_to_error::Segment::Map { key } => {
                        first.get_or_insert_with(|| key.clone());
                        at = at.key(key);
                    }
                    serde_path_to_error::Segment::Seq { index } => at = at.index(*index),
                    serde_path_to_error::Segment::Enum { .. }
                    | serde_path_to_error::Segment::Unknown => {}
                }
            }
            self.problem(&at, explain(error.inner().message()));
            if first.is_none_or(|key| table.remove(key.as_str()).is_none()) {
                return T::default();
            }
        }
    }

    fn unknown_key(&mut self, path: &Path, name: &str, known: &[&str]) {
        if self.findings.count_only() {
            return;
        }
        let example = near(name, known).first().map_or_else(
            || reference::example(&path.to_string()),
            |meant| reference::example(&path.sibling(meant).to_string()),
        );
        self.problem_with(path, format!("unknown key{}", hint(name, known)), example);
    }
}

/// Says in words what serde says about types, and adds what a misspelt name may mean.
fn explain(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let Some(("unknown field" | "unknown variant", _)) = message.split_once(" `")
        && let Some((wrong, names)) = quoted.split_first()
    {
        return format!("`{wrong}` is unknown{}", hint(wrong, names));
    }
    match message {
        "wanted string or table" => "must be one of its names, in quotes".into(),
        _ => text::type_in_words(message).replace("missing field", "missing key"),
    }
}

const MOST_IN_A_LIST: usize = 1000;
const MOST_KEPT: usize = 200;
