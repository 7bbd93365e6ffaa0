use std::collections::BTreeSet;

use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::limiter::ServiceTime;
use serde::Deserialize;

use super::*;
use crate::model::Plan;
use crate::parse::fields::fields_of;
use crate::parse::{values, written};

/// Every key that the parser takes: the fields of the written structs and of what stands in them.
fn keys() -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    add::<written::Head>(&mut keys, "");
    add::<written::Load>(&mut keys, "load");
    add::<values::Batch>(&mut keys, "load.arrivals");
    add::<written::Change>(&mut keys, "load.change");
    add::<written::Request>(&mut keys, "request");
    add::<written::Client>(&mut keys, "client");
    add::<written::Layer>(&mut keys, "client.layer");
    add::<Backoff>(&mut keys, "client.layer.backoff");
    for name in BudgetConfig::NAMES {
        add_keys_of(&mut keys, "client.layer.budget", &name.parse::<BudgetConfig>().unwrap());
    }
    keys.insert("client.layer.budget.timeout_cost".into());
    add::<written::Tier>(&mut keys, "tier");
    add_keys_of(&mut keys, "tier.service", &ServiceTime::Lognormal { sigma: 1.0 });
    keys.insert("tier.layer".into());
    add::<written::Fault>(&mut keys, "fault");
    add::<written::Lever>(&mut keys, "lever");
    add::<written::Expect>(&mut keys, "expect");
    add::<written::Arm>(&mut keys, "arm");
    keys.extend(["arm.expect".into(), "arm.set".into()]);
    keys
}

fn add<T: for<'de> Deserialize<'de>>(keys: &mut BTreeSet<String>, section: &str) {
    let fields = fields_of::<T>();
    assert!(!fields.is_empty(), "{section} has no fields");
    if section.is_empty() {
        keys.extend(fields.iter().map(|field| (*field).to_owned()));
    } else {
        keys.insert(section.to_owned());
        keys.extend(fields.iter().map(|field| format!("{section}.{field}")));
    }
}

/// Adds the keys that a value has when it is written.
fn add_keys_of<T: serde::Serialize>(keys: &mut BTreeSet<String>, section: &str, value: &T) {
    let value = toml::Value::try_from(value).unwrap();
    keys.extend(value.as_table().unwrap().keys().map(|key| format!("{section}.{key}")));
}

/// A scenario in which the example of `row` stands where it belongs.
fn with_example(row: Row<'_>) -> String {
    let section = row.key.rsplit_once('.').map_or("", |(section, _)| section);
    let inline = ["backoff", "budget", "arrivals", "service"];
    let section = match section.rsplit_once('.') {
        Some((outer, last)) if inline.contains(&last) => outer,
        _ => section,
    };
    let line = row.example;
    let key = line.split([' ', '=', '.']).next().unwrap_or_default();
    let mut text = String::new();
    for (header, lines) in SECTIONS {
        let name = header.trim_matches(['[', ']']);
        text += header;
        text.push('\n');
        let replaced = |default: &str| match (name == section, name) {
            (false, _) => false,
            (true, "lever") if default.starts_with("name") => true,
            (true, _) => default.split([' ', '=', '.']).next() == Some(key),
        };
        for default in lines.iter().filter(|default| !replaced(default)) {
            text += default;
            text.push('\n');
        }
        if name == section {
            text += line;
            text.push('\n');
            text += if name == "lever" { lever_lines(key) } else { "" };
        }
    }
    text
}

/// What else a lever needs that has this key.
fn lever_lines(key: &str) -> &'static str {
    match key {
        "share" => "name = \"admit\"\n",
        "for" => "name = \"admit\"\nshare = 0.2\n",
        "ramp" => "name = \"admit\"\nshare = 0.2\nfor = \"10s\"\n",
        "layer" => "name = \"retries\"\nretries = 0\n",
        "retries" => "name = \"retries\"\n",
        "budget" => "name = \"budget\"\n",
        "rate" => "name = \"rate\"\n",
        "name" => "",
        "at" | "tier" => "name = \"shed-queue\"\n",
        _ => "name = \"limiter\"\n",
    }
}

#[test]
fn every_key_has_a_row_and_every_row_a_key() {
    let told: BTreeSet<String> = rows().map(|row| row.key.to_owned()).collect();
    let keys = keys();
    let missing: Vec<_> = keys.difference(&told).collect();
    let stale: Vec<_> = told.difference(&keys).collect();
    assert!(missing.is_empty() && stale.is_empty(), "missing {missing:?}, stale {stale:?}");
    assert_eq!(rows().count(), told.len(), "a key has two rows");
}

#[test]
fn every_example_is_a_valid_line_where_it_belongs() {
    let mut checked = 0;
    for row in rows().filter(|row| !row.example.starts_with('[')) {
        let text = with_example(row);
        assert!(text.contains(row.example), "{}", row.key);
        if let Err(error) = Plan::parse("example.toml", &text) {
            panic!("{}: {error}\n{text}", row.key);
        }
        checked += 1;
    }
    assert!(checked > 70, "{checked}");
}

#[test]
fn every_row_has_five_cells_and_every_toml_block_is_valid() {
    for line in REFERENCE.lines().filter(|line| line.starts_with("| `")) {
        assert_eq!(line.matches(" | ").count(), 4, "{line}");
    }
    let mut blocks = REFERENCE.split("```toml\n").skip(1).map(|rest| rest.split("```").next());
    let whole = blocks.next().flatten().unwrap();
    Plan::parse("docs/scenario.md", whole).unwrap();
    let mut more = 0;
    for block in blocks {
        let block = block.unwrap();
        let text = if block.starts_with("name") { block } else { &format!("{whole}{block}") };
        Plan::parse("docs/scenario.md", text).unwrap();
        more += 1;
    }
    assert!(more > 0);
}

#[test]
fn a_key_without_a_row_takes_the_example_of_its_section() {
    assert_eq!(example("load.rate"), "rate = 80");
    assert_eq!(example("load.colour"), "[load]");
    assert_eq!(example("tier.layer.timeout"), "[[tier.layer]]");
    assert_eq!(example("colour"), "name = \"database-failover\"");
    assert_eq!(example(&"a.".repeat(10_000)), "name = \"database-failover\"");
}

/// A scenario in sections, to which an example is added.
const SECTIONS: [(&str, &[&str]); 11] = [
    ("", &["name = \"example\"", "duration = \"240s\""]),
    ("[load]", &["rate = 80"]),
    ("[[load.change]]", &["at = \"100s\"", "rate = 90", "over = \"1s\""]),
    ("[request]", &[]),
    ("[client]", &[]),
    ("[[client.layer]]", &["name = \"client\"", "timeout = \"5s\""]),
    ("[[tier]]", &["name = \"order-status\"", "capacity = 100"]),
    ("[[fault]]", &["kind = \"capacity\"", "to = 0.5", "at = \"60s\"", "for = \"20s\""]),
    ("[[lever]]", &["at = \"120s\"", "name = \"shed-queue\""]),
    ("[expect]", &[]),
    ("[[arm]]", &["name = \"first\"", "expect.verdict = \"metastable\""]),
];
