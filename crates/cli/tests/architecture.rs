//! Holds the dependency arrows, the purity of the pure crates, and the rules of the house.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which crates of the workspace each crate may depend on (ARCHITECTURE.md, "Code map").
const ARROWS: [(&str, &[&str]); 20] = [
    ("clock", &[]),
    ("policy", &["clock"]),
    ("scenario", &["clock", "policy"]),
    ("runlog", &["clock"]),
    ("simulator", &["clock", "policy", "scenario", "runlog", "gate"]),
    ("client", &["clock", "policy"]),
    ("control", &["clock", "policy"]),
    ("order-status", &["clock", "policy", "client", "control"]),
    ("fault-injector", &["clock", "policy", "scenario", "control"]),
    ("load-generator", &["clock", "policy", "scenario", "runlog", "client", "control"]),
    (
        "rig",
        &[
            "clock",
            "policy",
            "scenario",
            "runlog",
            "gate",
            "client",
            "control",
            "order-status",
            "fault-injector",
            "load-generator",
        ],
    ),
    ("statistics", &["clock"]),
    ("gate", &["clock", "policy", "scenario", "runlog", "statistics"]),
    ("verdict", &["clock", "policy", "scenario", "runlog", "statistics", "gate"]),
    ("experiment", &["clock", "policy", "scenario", "runlog", "statistics", "verdict"]),
    ("proof", &["clock", "scenario", "runlog", "simulator", "statistics", "verdict"]),
    ("lesson", &[]),
    ("report", &["clock", "scenario", "runlog", "verdict", "experiment"]),
    ("test-support", &["clock", "policy", "control"]),
    (
        "cli",
        &[
            "clock",
            "policy",
            "scenario",
            "runlog",
            "simulator",
            "client",
            "control",
            "order-status",
            "fault-injector",
            "load-generator",
            "rig",
            "statistics",
            "verdict",
            "experiment",
            "lesson",
            "report",
        ],
    ),
];

/// Crates without a clock, a thread, a socket, a log or a global.
const PURE: [&str; 10] = [
    "clock",
    "policy",
    "scenario",
    "runlog",
    "simulator",
    "statistics",
    "gate",
    "verdict",
    "experiment",
    "lesson",
];

/// What a pure crate may list besides its siblings.
const PURE_MAY_USE: [&str; 15] = [
    "hdrhistogram",
    "humantime",
    "rand",
    "rand_distr",
    "rand_pcg",
    "rayon",
    "schemars",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "slab",
    "strsim",
    "thiserror",
    "toml",
    "http",
];

/// The only crates that list tokio.
const ASYNC: [&str; 8] = [
    "client",
    "control",
    "order-status",
    "fault-injector",
    "load-generator",
    "rig",
    "cli",
    "test-support",
];

/// Code that a pure crate must not contain.
const IMPURE: [&str; 12] = [
    "std::time::Instant",
    "SystemTime",
    "HashMap",
    "HashSet",
    "std::thread",
    "std::env",
    "std::fs",
    "std::net",
    "tokio::",
    "println!",
    "rand::rng()",
    "std::process",
];

const FILE_LINES_MAX: usize = 600;

#[test]
fn crates_depend_only_along_the_arrows() {
    let arrows: BTreeMap<_, _> = ARROWS.into_iter().collect();
    for (name, manifest) in manifests() {
        let allowed = arrows.get(name.as_str()).unwrap_or_else(|| {
            panic!("crates/{name} has no place in the arrows of this test and ARCHITECTURE.md")
        });
        for dependency in dependencies(&manifest) {
            assert_ne!(dependency, "goodput-test-support", "crates/{name}: tests alone use it");
            if let Some(sibling) = dependency.strip_prefix("goodput-") {
                assert!(allowed.contains(&sibling), "crates/{name} must not depend on {sibling}");
            }
        }
    }
}

#[test]
fn pure_crates_list_nothing_impure_and_only_the_async_ones_list_tokio() {
    for (name, manifest) in manifests() {
        for dependency in dependencies(&manifest) {
            if dependency == "tokio" {
                assert!(ASYNC.contains(&name.as_str()), "crates/{name} must not list tokio");
            }
            if PURE.contains(&name.as_str()) && !dependency.starts_with("goodput-") {
                let known = PURE_MAY_USE.contains(&dependency.as_str());
                assert!(known, "crates/{name} is pure: is {dependency} without clock and I/O?");
            }
        }
    }
}

#[test]
fn pure_crates_contain_no_clock_thread_socket_or_hash_order() {
    for name in PURE {
        let files = sources(&root().join("crates").join(name).join("src"));
        // A measurement in a test may read a clock, with an `expect` and its reason.
        for (path, text) in files.into_iter().filter(|(path, _)| !path.ends_with("tests.rs")) {
            for (number, line) in code_lines(&text) {
                for banned in IMPURE {
                    assert!(!line.contains(banned), "{}:{number}: {banned}", path.display());
                }
            }
        }
    }
}

#[test]
fn pure_crates_ban_the_wall_clocks_by_lint() {
    let of = |name: &str| root().join("crates").join(name).join("clippy.toml");
    let first = fs::read_to_string(of("clock")).unwrap();
    for banned in ["std::time::Instant", "std::time::SystemTime", "std::collections::HashMap"] {
        assert!(first.contains(banned), "crates/clock/clippy.toml must ban {banned}");
    }
    for name in PURE.into_iter().filter(|name| of(name).parent().is_some_and(Path::exists)) {
        let text = fs::read_to_string(of(name)).unwrap();
        assert_eq!(text, first, "crates/{name}/clippy.toml differs from crates/clock/clippy.toml");
    }
}

#[test]
fn source_files_stay_small() {
    for (path, text) in sources(&root().join("crates")) {
        let lines = text.lines().count();
        assert!(lines <= FILE_LINES_MAX, "{} has {lines} lines", path.display());
    }
}

#[test]
fn the_code_map_names_every_crate() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, _) in manifests() {
        assert!(map.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name `{name}`");
    }
}

#[test]
fn no_protobuf_and_no_tls_in_the_lock_file() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let names: BTreeSet<_> = lock.lines().filter_map(|line| line.strip_prefix("name = ")).collect();
    for banned in ["\"protobuf\"", "\"openssl\"", "\"rustls\""] {
        assert!(!names.contains(banned), "{banned} is in Cargo.lock");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Each crate's folder name and manifest.
fn manifests() -> Vec<(String, toml::Table)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        found.push((name, text.parse().unwrap()));
    }
    assert!(found.len() >= 14, "only {} crates found", found.len());
    found
}

fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let table = manifest.get("dependencies").and_then(toml::Value::as_table);
    table.into_iter().flat_map(|table| table.keys().cloned()).collect()
}

fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// Lines of code, without comments, before the test module.
fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| *line != "#[cfg(test)]" || !text.contains("mod tests {"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(index, line)| (index + 1, line))
}
