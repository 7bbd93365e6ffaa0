//! From the text of a scenario file to a [`Plan`].
//!
//! The text is parsed once into a tree that knows where each key stands. An arm is the tree with
//! what the arm sets laid over it ([`overlay`]), so its values still know their lines. Sections of a
//! tree are read into structs ([`reader`], [`written`]) and resolved (`crate::resolve`); everything
//! that is wrong is collected on the way.

mod fields;
mod ignored;
mod near;
mod numbers;
mod overlay;
mod path;
mod reader;
mod reference;
mod syntax;
mod values;
pub(crate) mod written;

use toml::de::DeTable;

use crate::error::{Problem, ScenarioError};
use crate::model::{Arm, Plan};
use crate::resolve::{self, ArmHead};
use reader::{Finding, Findings};

pub(crate) use ignored::instead_of;
pub use ignored::{Ignored, ignored_by_the_simulator};
pub(crate) use near::{hint, near};
#[cfg(test)]
pub(crate) use numbers::KEYS;
pub(crate) use numbers::{
    Address, literal, means, numbers_in, put, resolve_tree, shortest, tree_of, value,
};
pub(crate) use overlay::default_layer_name;
pub(crate) use path::{Path, Table};
pub(crate) use reader::Reader;
pub(crate) use values::{FaultName, LayerTimeout};

impl Plan {
    /// The longest text that [`Plan::parse`] reads, in bytes.
    pub const LONGEST: usize = 1 << 20;

    /// Reads a scenario file: `text` is what the file named `file_name` holds.
    ///
    /// # Errors
    ///
    /// Where the text is no scenario that can be run, with every problem that was found.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, ScenarioError> {
        let mut findings = Findings::default();
        let plan = match syntax::too_long(text) {
            Some(finding) => {
                findings.add(finding);
                None
            }
            None => read(text, &mut findings),
        };
        match plan {
            Some(plan) if findings.is_empty() => Ok(plan),
            _ => Err(told(file_name, text, findings)),
        }
    }
}

fn read(text: &str, findings: &mut Findings) -> Option<Plan> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        for finding in syntax::findings(text, &errors) {
            findings.add(finding);
        }
        return None;
    }
    let root = tree.into_inner();
    let mut base = root.clone();
    base.remove("arm");
    let scenario = resolve::resolve(&mut Reader::new(&base, None, findings));
    let arms = read_arms(&root, &base, findings);
    Some(Plan { scenario: scenario?, arms: arms? })
}

/// Reads every arm, also after one that is wrong.
fn read_arms<'i>(root: &Table<'i>, base: &Table<'i>, findings: &mut Findings) -> Option<Vec<Arm>> {
    let heads =
        resolve::arm_heads(&mut Reader::new(root, None, findings), &Path::root().key("arm"));
    let arms: Vec<_> = heads
        .into_iter()
        .map(|(path, head)| read_arm(root, base, &path, head?, findings))
        .collect();
    arms.into_iter().collect()
}

fn read_arm<'i>(
    root: &Table<'i>,
    base: &Table<'i>,
    path: &Path,
    head: ArmHead,
    findings: &mut Findings,
) -> Option<Arm> {
    let arm = path.find(root)?.get_ref().as_table()?;
    let merged = overlay::overlay(base, arm, &head.name, findings);
    let scenario = resolve::resolve(&mut Reader::new(&merged, Some(&head.name), findings))?;
    let mut reader = Reader::new(root, Some(&head.name), findings);
    resolve::check_control(&mut reader, path, head.control, &scenario);
    let ArmHead { name, description, control } = head;
    Some(Arm { name, description, control, scenario })
}

fn told(file_name: &str, text: &str, mut findings: Findings) -> ScenarioError {
    findings.found.sort_by_key(|finding| finding.offset);
    let more = findings.found.len().saturating_sub(ScenarioError::MOST);
    findings.found.truncate(ScenarioError::MOST);
    let problems = findings.found.into_iter().map(|finding| {
        let (line, column) = syntax::line_and_column(text, finding.offset);
        let Finding { key, message, arm, example, .. } = finding;
        Problem { line, column, key: plain(&key), message: plain(&message), arm, example }
    });
    ScenarioError {
        file: file_name.to_owned(),
        problems: problems.collect(),
        left_out: findings.left_out + more,
    }
}

/// Text from a file as a terminal may show it: on one line, without control characters, and not
/// without end.
fn plain(text: &str) -> String {
    let clean = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let mut plain: String = text.chars().take(LONGEST_MESSAGE).map(clean).collect();
    if text.chars().nth(LONGEST_MESSAGE).is_some() {
        plain.push('…');
    }
    plain
}

const LONGEST_MESSAGE: usize = 300;
