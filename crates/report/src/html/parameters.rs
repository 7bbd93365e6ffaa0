//! Every parameter of a scenario, as a tree made flat.

use std::collections::BTreeMap;
use std::time::Duration;

use goodput_clock::text;
use maud::{Markup, html};
use serde_json::Value;

/// Parameters by their path, such as `client.layers.0.timeout`, in order.
pub(super) type Flat = BTreeMap<String, String>;

/// Makes a tree of parameters flat.
pub(super) fn flatten(parameters: &Value) -> Flat {
    let mut flat = Flat::new();
    collect(parameters, String::new(), &mut flat, 0);
    flat
}

/// The parameters that differ between these sets, without `ignored` prefixes.
pub(super) fn differing(sets: &[Flat], ignored: &[&str]) -> Vec<String> {
    let mut paths: Vec<&String> = sets.iter().flat_map(Flat::keys).collect();
    paths.sort();
    paths.dedup();
    let differs = |path: &str| {
        let first = sets.first().and_then(|set| set.get(path));
        sets.iter().any(|set| set.get(path) != first)
    };
    paths
        .into_iter()
        .filter(|path| !ignored.iter().any(|prefix| path.starts_with(prefix)) && differs(path))
        .cloned()
        .collect()
}

/// A table a branch of the tree.
pub(super) fn tables(flat: &Flat) -> Markup {
    let mut branches: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, value) in flat {
        let (branch, rest) = path.split_once('.').unwrap_or(("scenario", path));
        branches.entry(branch).or_default().push((rest, value));
    }
    html! {
        div.columns {
            @for (branch, rows) in branches {
                section {
                    h4 { (branch) }
                    table.parameters {
                        tbody {
                            @for (path, value) in rows { tr { td { (path) } td { (value) } } }
                        }
                    }
                }
            }
        }
    }
}

fn collect(value: &Value, path: String, flat: &mut Flat, depth: usize) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        // Deeper than any scenario: written as it is, rather than followed for ever.
        _ if depth > DEPTH_MAX => drop(flat.insert(path, value.to_string())),
        Value::Object(map) if !map.is_empty() => {
            for (key, inner) in map {
                collect(inner, join(key), flat, depth + 1);
            }
        }
        Value::Array(list) if list.iter().any(|inner| inner.is_object() || inner.is_array()) => {
            for (index, inner) in list.iter().enumerate() {
                collect(inner, join(&(index + 1).to_string()), flat, depth + 1);
            }
        }
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(plain).collect();
            let text = if items.is_empty() { "none".to_owned() } else { items.join(", ") };
            flat.insert(path, text);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            let text = moment(&path, value).unwrap_or_else(|| plain(value));
            flat.insert(path, text);
        }
    }
}

/// A moment of the run, which a scenario keeps in nanoseconds, as it is written in a file.
fn moment(path: &str, value: &Value) -> Option<String> {
    let is_moment = path.rsplit('.').next() == Some("at");
    let nanoseconds = value.as_u64().filter(|_| is_moment)?;
    Some(text::format_duration(Duration::from_nanos(nanoseconds)))
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "off".to_owned(),
        Value::String(text) if text.is_empty() => "(empty)".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(map) if map.is_empty() => "none".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

const DEPTH_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tree_becomes_paths_and_words() {
        let flat = flatten(&json!({
            "name": "n", "levers": [], "client": { "deadline": null, "layers": [{ "retries": 3 }] },
            "retry_on": ["timeout", "connect"], "faults": [{ "at": 60_500_000_000_u64 }],
        }));
        let rows: Vec<_> = flat.iter().map(|(path, value)| format!("{path}={value}")).collect();
        assert_eq!(
            rows,
            [
                "client.deadline=off",
                "client.layers.1.retries=3",
                "faults.1.at=1m 500ms",
                "levers=none",
                "name=n",
                "retry_on=timeout, connect"
            ]
        );
    }

    #[test]
    fn arms_differ_where_a_value_or_a_key_does() {
        let sets =
            [json!({"a": 1, "b": 1, "name": "x"}), json!({"a": 2, "b": 1, "name": "y", "c": 3})];
        assert_eq!(differing(&sets.map(|set| flatten(&set)), &["name"]), ["a", "c"]);
    }
}
