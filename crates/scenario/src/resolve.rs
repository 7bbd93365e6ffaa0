//! From the sections of a file to a [`Scenario`] that can be run, with every check of its meaning.
//!
//! A function notes what is wrong and goes on with what it has, so that one problem hides no other;
//! it gives nothing where something that must be there is missing.

mod arms;
mod client;
mod expect;
mod levers;
mod load;
mod tiers;
mod timeline;

use std::time::Duration;

use goodput_clock::{Seed, text};

use crate::model::Scenario;
use crate::parse::{Path, Reader, written};

pub(crate) use arms::{ArmHead, arm_heads, check_control};

/// Resolves the whole scenario that `reader` sees.
pub(crate) fn resolve(reader: &mut Reader<'_, '_>) -> Option<Scenario> {
    let root = Path::root();
    let head: written::Head = reader.section(&root, &SECTIONS);
    let name = reader.require(&root.key("name"), head.name.clone());
    if let Some(name) = &name {
        check_name(reader, &root.key("name"), name);
    }
    let duration = resolve_duration(reader, &head);
    let seed = resolve_seed(reader, &head);
    let tiers = tiers::resolve(reader, duration);
    let load = load::resolve(reader, duration, tiers.as_deref());
    let client = client::resolve(reader, duration);
    let faults = timeline::resolve(reader, duration, tiers.as_deref());
    let layers = client.as_ref().map(|client| client.layers.as_slice());
    let levers = levers::resolve(reader, duration, tiers.as_deref(), layers);
    let expect =
        expect::resolve(reader, duration, load.as_ref(), faults.as_deref(), levers.as_deref());
    let mut scenario = Scenario {
        name: name?,
        description: head.description.unwrap_or_default(),
        duration: duration?,
        seed,
        load: load?,
        client: client?,
        tiers: tiers?,
        faults: faults?,
        levers: levers?,
        expect: expect?,
    };
    client::resolve_limits(reader, &mut scenario);
    Some(scenario)
}

fn resolve_duration(reader: &mut Reader<'_, '_>, head: &written::Head) -> Option<Duration> {
    let path = Path::root().key("duration");
    let duration = reader.require(&path, head.duration)?;
    if duration < SHORTEST_RUN || duration > LONGEST_RUN {
        reader.problem(&path, format!("{} is not from 1s to 7days", say(duration)));
        return None;
    }
    Some(duration)
}

fn resolve_seed(reader: &mut Reader<'_, '_>, head: &written::Head) -> Seed {
    let Some(seed) = head.seed else { return DEFAULT_SEED };
    u64::try_from(seed).map_or_else(
        |_| {
            reader.problem(&Path::root().key("seed"), format!("{seed} is negative"));
            DEFAULT_SEED
        },
        Seed,
    )
}

/// Checks a name that reports, folders, metrics and dotted keys carry.
fn check_name(reader: &mut Reader<'_, '_>, path: &Path, name: &str) {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(fits) {
        reader.problem(
            path,
            format!("{name:?} is not a name of 1 to {LONGEST_NAME} letters, digits, `-` and `_`"),
        );
    }
}

/// Checks that no two names of a list are the same.
fn check_unique<'a>(
    reader: &mut Reader<'_, '_>,
    names: impl IntoIterator<Item = (&'a Path, &'a str)>,
) {
    let mut seen = std::collections::BTreeSet::new();
    for (path, name) in names {
        if !seen.insert(name) {
            reader.problem(&path.key("name"), format!("`{name}` is there twice; name them apart"));
        }
    }
}

/// Checks that a duration is above 0 and no longer than the run.
fn check_length(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    length: Option<Duration>,
    run: Option<Duration>,
) {
    let Some(length) = length else { return };
    if length.is_zero() {
        reader.problem(path, "must be longer than 0");
    }
    check_run(reader, path, Some(length), run);
}

/// Checks that a duration is no longer than the run.
fn check_run(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    length: Option<Duration>,
    run: Option<Duration>,
) {
    let Some(length) = length else { return };
    if let Some(run) = run.filter(|run| length > *run) {
        reader.problem(path, format!("{} is longer than the run of {}", say(length), say(run)));
    }
}

/// Checks that a moment lies inside the run.
fn check_moment(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    at: Option<Duration>,
    run: Option<Duration>,
) {
    if let (Some(at), Some(run)) = (at, run)
        && at >= run
    {
        reader.problem(path, format!("{} is not before the run's end at {}", say(at), say(run)));
    }
}

/// A duration as it is written in a file.
fn say(duration: Duration) -> String {
    text::format_duration(duration)
}

/// The seed of a scenario that names none.
const DEFAULT_SEED: Seed = Seed(1);
const SECTIONS: [&str; 8] =
    ["load", "request", "client", "tier", "fault", "lever", "expect", "arm"];
const SHORTEST_RUN: Duration = Duration::from_secs(1);
const LONGEST_RUN: Duration = Duration::from_hours(7 * 24);
const LONGEST_NAME: usize = 64;
