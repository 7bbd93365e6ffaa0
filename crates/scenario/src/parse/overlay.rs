//! Lays what an arm sets over the scenario above the arms.
//!
//! Keys are laid over one by one, so a value keeps its place in the text wherever it comes from.
//! What stands in a list is addressed by its name. A table that names a `kind`, a list and any other
//! value replace what was there.

use toml::Spanned;
use toml::de::{DeArray, DeValue};

use super::near::hint;
use super::path::{Path, Table};
use super::reader::{Finding, Findings};
use super::reference;

/// The scenario with the arm's `expect` and `set`.
pub(super) fn overlay<'i>(
    base: &Table<'i>,
    arm: &Table<'i>,
    name: &str,
    findings: &mut Findings,
) -> Table<'i> {
    let mut table = base.clone();
    let mut overlay = Overlay { arm: name, findings };
    if let Some((key, expect)) = arm.get_key_value("expect") {
        let mut part = Table::new();
        part.insert(key.clone(), expect.clone());
        overlay.merge(&mut table, &part, &Path::root());
    }
    match arm.get_key_value("set").map(|(key, set)| (key, set.get_ref())) {
        None => {}
        Some((_, DeValue::Table(set))) => {
            let mut allowed = set.clone();
            for (key, why) in NOT_TO_BE_SET {
                if let Some((key, _)) = set.get_key_value(*key) {
                    overlay.problem(key, &format!("arm.set.{}", key.get_ref()), why);
                    allowed.remove(key.get_ref().as_ref());
                }
            }
            overlay.merge(&mut table, &allowed, &Path::root());
        }
        Some((key, _)) => overlay.problem(key, "arm.set", "is a section, not a value"),
    }
    table
}

struct Overlay<'a> {
    arm: &'a str,
    findings: &'a mut Findings,
}

impl Overlay<'_> {
    fn merge<'i>(&mut self, base: &mut Table<'i>, set: &Table<'i>, path: &Path) {
        for (key, value) in set {
            let path = path.key(key.get_ref());
            match (base.get_mut(key.get_ref().as_ref()).map(Spanned::get_mut), value.get_ref()) {
                (Some(DeValue::Array(list)), DeValue::Table(names)) if is_list(&path) => {
                    self.merge_named(list, names, &path);
                }
                (Some(DeValue::Table(inner)), DeValue::Table(more))
                    if !more.contains_key("kind") =>
                {
                    self.merge(inner, more, &path);
                }
                _ => {
                    // An equal key keeps its old place unless it is taken out first.
                    base.remove(key.get_ref().as_ref());
                    base.insert(key.clone(), value.clone());
                }
            }
        }
    }

    fn merge_named<'i>(&mut self, list: &mut DeArray<'i>, set: &Table<'i>, path: &Path) {
        let names: Vec<String> = (0..list.len()).map(|index| name_of(list, index, path)).collect();
        for (key, value) in set {
            let name = key.get_ref().as_ref();
            let full = format!("arm.set.{path}.{name}");
            let found = names.iter().enumerate().filter(|(_, known)| *known == name);
            let DeValue::Table(more) = value.get_ref() else {
                self.problem(key, &full, "needs a key after the name");
                continue;
            };
            match found.map(|(index, _)| index).collect::<Vec<_>>().as_slice() {
                [] => {
                    let known: Vec<&str> = names.iter().map(String::as_str).collect();
                    let hint = hint(name, &known);
                    self.problem(key, &full, &format!("no `[[{path}]]` has that name{hint}"));
                }
                // Two tiers or layers of one name are refused where they stand.
                [index, others @ ..] if others.is_empty() || !can_share_a_name(path) => {
                    let element = list.get_mut(*index).map(Spanned::get_mut);
                    if let Some(DeValue::Table(inner)) = element {
                        self.merge(inner, more, &path.index(*index));
                    }
                }
                several => self.problem(
                    key,
                    &full,
                    &format!(
                        "{} of `[[{path}]]` have that name: name them apart, or set the whole list",
                        several.len()
                    ),
                ),
            }
        }
    }

    fn problem(&mut self, key: &Spanned<toml::de::DeString<'_>>, path: &str, message: &str) {
        self.findings.add(Finding {
            offset: key.span().start,
            key: path.to_owned(),
            message: message.to_owned(),
            arm: Some(self.arm.to_owned()),
            example: reference::example("arm.set"),
        });
    }
}

fn is_list(path: &Path) -> bool {
    matches!(path.to_string().as_str(), "tier" | "fault" | "lever" | "client.layer" | "tier.layer")
}

fn can_share_a_name(path: &Path) -> bool {
    matches!(path.to_string().as_str(), "fault" | "lever")
}

/// The name of an element of a list, written or by default.
pub(super) fn name_of(list: &DeArray<'_>, index: usize, path: &Path) -> String {
    let text = |key| {
        let value = list[index].get_ref().as_table()?.get(key).map(Spanned::get_ref)?;
        value.as_str().map(str::to_owned)
    };
    let by_default = || match path.to_string().as_str() {
        "fault" => text("kind"),
        "client.layer" | "tier.layer" => Some(default_layer_name(index, list.len(), path)),
        _ => None,
    };
    text("name").or_else(by_default).unwrap_or_default()
}

/// The name of a layer that is not named: of the client, or of a gateway.
pub(crate) fn default_layer_name(index: usize, count: usize, list: &Path) -> String {
    match (count, list.to_string().as_str()) {
        (1, "client.layer") => "client".into(),
        (1, _) => "gateway".into(),
        _ => format!("layer-{}", index + 1),
    }
}

const NOT_TO_BE_SET: &[(&str, &str)] = &[
    ("arm", "an arm cannot set arms"),
    ("description", "write the arm's `description` beside `set`"),
    ("expect", "write `expect` beside `set`, such as `expect.verdict`"),
    ("name", "write the arm's `name` beside `set`"),
    ("seed", "the arms of a scenario share its seed, and so its arrivals"),
];
