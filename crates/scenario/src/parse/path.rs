use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table of the file, every key and value with its place in the text.
pub(crate) type Table<'i> = DeTable<'i>;
/// A value of the file with its place in the text.
pub(crate) type Node<'i> = Spanned<DeValue<'i>>;

/// A place in the tree of a file: `fault[0].at`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Path(Vec<Step>);

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    pub(crate) fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Self(steps)
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Index(index));
        Self(steps)
    }

    /// Its steps, outermost first.
    pub(super) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The key `name` beside this one.
    pub(crate) fn sibling(&self, name: &str) -> Self {
        let mut steps = self.0.clone();
        steps.pop();
        Self(steps).key(name)
    }

    /// The value at this place.
    pub(crate) fn find<'t, 'i>(&self, root: &'t Table<'i>) -> Option<&'t Node<'i>> {
        let mut found = None;
        for step in &self.0 {
            found = match (step, found.map(Spanned::get_ref)) {
                (Step::Key(key), None) => root.get(key.as_str()),
                (Step::Key(key), Some(DeValue::Table(table))) => table.get(key.as_str()),
                (Step::Index(index), Some(DeValue::Array(array))) => array.get(*index),
                _ => None,
            };
            found?;
        }
        found
    }

    /// Where a person finds this place in the text: its key, or, where that is absent, the nearest
    /// table around it.
    pub(crate) fn locate(&self, root: &Table<'_>) -> Range<usize> {
        let mut span = 0..0;
        let mut table = Some(root);
        let mut array = None;
        for step in &self.0 {
            let next = match step {
                Step::Key(key) => {
                    table.and_then(|table| table.get_key_value(key.as_str())).map(|(key, value)| {
                        span = key.span();
                        value
                    })
                }
                Step::Index(index) => array
                    .and_then(|array: &toml::de::DeArray<'_>| array.get(*index))
                    .inspect(|value| span = value.span()),
            };
            let Some(next) = next else { break };
            table = next.get_ref().as_table();
            array = next.get_ref().as_array();
        }
        span
    }
}

/// Without the indices, as people and the reference name a key: `client.layer.timeout`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.0.iter().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        f.write_str(&keys.collect::<Vec<_>>().join("."))
    }
}
