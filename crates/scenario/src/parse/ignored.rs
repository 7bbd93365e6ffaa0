//! Keys that a file writes and the simulator does not carry out.

use std::fmt;

use toml::de::DeValue;

use super::numbers::tree_of;
use super::path::{Path, Table};
use super::syntax;

/// A key that a file writes and the simulator does not carry out.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Ignored {
    /// The line, from 1.
    pub line: usize,
    /// The key, such as `client.pool`.
    pub key: String,
    /// What the simulator does instead.
    pub instead: &'static str,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, instead } = self;
        write!(f, "{line}: `{key}` has no effect in the simulator: {instead}")
    }
}

/// The keys that the text of a scenario writes, above its arms or in the one of that name, and that the
/// simulator does not carry out, by line. Defaults are not among them. The text is known to be a
/// scenario; of another one nothing can be said.
pub fn ignored_by_the_simulator(text: &str, arm: Option<&str>) -> Vec<Ignored> {
    let tree = tree_of(text, arm);
    let has_gateways = tree
        .get("tier")
        .is_some_and(|tiers| tiers.get_ref().as_array().is_some_and(|tiers| tiers.len() > 1));
    let mut ignored = Vec::new();
    for Row { key, only, instead } in ROWS {
        let keys: Vec<&str> = key.split('.').collect();
        let mut places = Vec::new();
        places_of(&tree, &keys, &Path::root(), &mut places);
        for place in places {
            let value = place.find(&tree).and_then(|value| value.get_ref().as_str());
            let carried_out = match only {
                Only::Always => false,
                Only::GatewaysOf(protocol) => !has_gateways || value != Some(protocol),
            };
            if !carried_out {
                let (line, _) = syntax::line_and_column(text, place.locate(&tree).start);
                ignored.push(Ignored { line, key: (*key).to_owned(), instead });
            }
        }
    }
    ignored.sort();
    ignored
}

/// What the simulator does instead of what a key says, whatever its value; none where it carries the
/// key out.
pub(crate) fn instead_of(key: &str) -> Option<&'static str> {
    let row = ROWS.iter().find(|row| row.key == key && row.only == Only::Always)?;
    Some(row.instead)
}

/// Where the keys stand in a table, in every element of a list.
fn places_of(table: &Table<'_>, keys: &[&str], at: &Path, places: &mut Vec<Path>) {
    let Some((key, rest)) = keys.split_first() else { return };
    let Some(value) = table.get(*key) else { return };
    let at = at.key(key);
    match value.get_ref() {
        _ if rest.is_empty() => places.push(at),
        DeValue::Table(inner) => places_of(inner, rest, &at, places),
        DeValue::Array(list) => {
            for (index, element) in list.iter().enumerate() {
                if let DeValue::Table(inner) = element.get_ref() {
                    places_of(inner, rest, &at.index(index), places);
                }
            }
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {}
    }
}

/// A key that the simulator does not carry out.
struct Row {
    key: &'static str,
    only: Only,
    instead: &'static str,
}

/// With which values.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Only {
    /// All.
    Always,
    /// This one, where there are gateways.
    GatewaysOf(&'static str),
}

const FINDS_ONE: &str =
    "every attempt finds a connection at once; use the rig for pools and their limits";
const ANSWERED: &str = "every request is alike, and answered with a success once it is served";

const ROWS: &[Row] = &[
    Row { key: "client.pool", only: Only::Always, instead: FINDS_ONE },
    Row { key: "client.max_connections", only: Only::Always, instead: FINDS_ONE },
    Row { key: "client.connect_rate", only: Only::Always, instead: FINDS_ONE },
    Row {
        key: "client.protocol",
        only: Only::GatewaysOf("http/2"),
        instead: "gateways speak HTTP/1.1 to the next tier there; only the client speaks HTTP/2",
    },
    Row { key: "request.method", only: Only::Always, instead: ANSWERED },
    Row { key: "request.path", only: Only::Always, instead: ANSWERED },
    Row { key: "request.headers", only: Only::Always, instead: ANSWERED },
    Row { key: "request.body", only: Only::Always, instead: ANSWERED },
    Row { key: "tier.orders", only: Only::Always, instead: ANSWERED },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::model::Plan;
    use crate::parse::reference;

    const TEXT: &str = "name = \"x\"\nduration = \"100s\"\nload.rate = 10\n\
        [client]\npool = \"fifo\"\nprotocol = \"http/2\"\n\
        [[client.layer]]\ntimeout = \"5s\"\n\
        [request]\npath = \"/orders/{order}\"\n\
        [[tier]]\nname = \"edge\"\n[[tier.layer]]\ntimeout = \"2s\"\n\
        [[tier]]\nname = \"last\"\ncapacity = 100\norders = 10\n\
        [[arm]]\nname = \"one\"\nset.client.connect_rate = 50\nset.client.pool = \"lifo\"\n\
        [[arm]]\nname = \"two\"\nset.client.protocol = \"http/1.1\"\n";

    fn told(arm: Option<&str>) -> Vec<(usize, String)> {
        Plan::parse("test.toml", TEXT).unwrap_or_else(|error| panic!("{error}"));
        let ignored = ignored_by_the_simulator(TEXT, arm);
        ignored.into_iter().map(|ignored| (ignored.line, ignored.key)).collect()
    }

    fn row(line: usize, key: &str) -> (usize, String) {
        (line, key.to_owned())
    }

    #[test]
    fn what_a_file_or_its_arm_writes_is_told_with_its_line() {
        let (protocol, path) = (row(6, "client.protocol"), row(10, "request.path"));
        let (pool, orders) = (row(5, "client.pool"), row(18, "tier.orders"));
        let base = [pool.clone(), protocol.clone(), path.clone(), orders.clone()];
        assert_eq!(told(None), base);
        let (rate, of_arm) = (row(21, "client.connect_rate"), row(22, "client.pool"));
        assert_eq!(told(Some("one")), [protocol, path.clone(), orders.clone(), rate, of_arm]);
        assert_eq!(told(Some("two")), [pool, path, orders]);
        let text = ignored_by_the_simulator(TEXT, None)[0].to_string();
        assert!(
            text.starts_with("5: `client.pool` has no effect in the simulator: every"),
            "{text}"
        );
    }

    #[test]
    fn without_gateways_the_protocol_is_carried_out_and_defaults_are_not_told() {
        let text = "name = \"x\"\nduration = \"100s\"\nload.rate = 10\nclient.protocol = \"http/2\"\n\
            [[client.layer]]\ntimeout = \"5s\"\n[[tier]]\nname = \"a\"\ncapacity = 100\n";
        assert_eq!(ignored_by_the_simulator(text, None), []);
        for builtin in builtin::ALL {
            assert_eq!(ignored_by_the_simulator(builtin.text, None), [], "{}", builtin.name);
        }
    }

    #[test]
    fn every_row_is_a_key_that_there_is() {
        for row in ROWS {
            assert!(reference::rows().any(|known| known.key == row.key), "{}", row.key);
        }
        assert!(instead_of("client.pool").is_some() && instead_of("client.protocol").is_none());
    }
}
