use std::time::Duration;

use goodput_clock::{Ratio, Timestamp};
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_policy::limiter::{LimiterConfig, LimiterPatch};
use goodput_policy::retry::{LayerConfig, MAX_RETRIES};

use super::check_moment;
use super::tiers::chosen;
use crate::model::{PlannedLever, Tier};
use crate::parse::{Path, Reader, hint, written};

/// Resolves `[[lever]]`, by time.
pub(super) fn resolve(
    reader: &mut Reader<'_, '_>,
    run: Option<Duration>,
    tiers: Option<&[Tier]>,
    layers: Option<&[LayerConfig]>,
) -> Option<Vec<PlannedLever>> {
    let written = reader.list::<written::Lever>(&Path::root().key("lever"), &[]);
    let levers: Vec<_> = written
        .into_iter()
        .map(|(path, written)| {
            let at = reader.require(&path.key("at"), written.at);
            check_moment(reader, &path.key("at"), at, run);
            let name = reader.require(&path.key("name"), written.name.clone())?;
            check_keys(reader, &path, &name);
            let lever = resolve_lever(reader, &path, &name, &written, layers)?;
            lever.validate().map_err(|invalid| reader.invalid(&path, invalid)).ok()?;
            let tier = match lever.target() {
                LeverTarget::Server => {
                    let tier = chosen(reader, &path.key("tier"), written.tier.as_deref(), tiers)?;
                    check_patch(reader, &path, &lever, tier);
                    Some(tier.name.clone())
                }
                LeverTarget::LoadGenerator => None,
            };
            Some(PlannedLever { lever, tier, at: Timestamp::from(at?) })
        })
        .collect();
    let mut levers: Vec<PlannedLever> = levers.into_iter().collect::<Option<_>>()?;
    levers.sort_by_key(|planned| planned.at);
    Some(levers)
}

fn resolve_lever(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    name: &str,
    written: &written::Lever,
    layers: Option<&[LayerConfig]>,
) -> Option<Lever> {
    match name {
        "shed-queue" => Some(Lever::ShedQueue),
        "restart" => Some(Lever::Restart),
        "admit" => resolve_admit(reader, path, written),
        "limiter" => resolve_patch(reader, path, written),
        "budget" => {
            let budget = reader.require(&path.key("budget"), written.budget);
            let layer = resolve_layer(reader, path, written, layers);
            Some(Lever::Budget { layer: layer?, budget: budget? })
        }
        "retries" => {
            let written_retries = reader.require(&path.key("retries"), written.retries);
            let retries = reader.whole(&path.key("retries"), written_retries, 0..=MAX_RETRIES, 0);
            let layer = resolve_layer(reader, path, written, layers);
            written_retries?;
            Some(Lever::Retries { layer: layer?, retries })
        }
        "rate" => {
            let rate = reader.require(&path.key("rate"), written.rate);
            Some(Lever::Rate { rate: rate? })
        }
        _ => {
            let message = format!("`{name}` is no lever{}", hint(name, &Lever::NAMES));
            reader.problem(&path.key("name"), message);
            None
        }
    }
}

fn resolve_admit(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    written: &written::Lever,
) -> Option<Lever> {
    let share: Option<Ratio> = reader.require(&path.key("share"), written.share);
    if written.hold.is_none() && reader.has(&path.key("for")) {
        // What is wrong with it has been noted.
        return None;
    }
    Some(Lever::Admit { share: share?, hold: written.hold, ramp: written.ramp.unwrap_or_default() })
}

fn resolve_patch(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    written: &written::Lever,
) -> Option<Lever> {
    let keys = keys_of("limiter");
    if !keys.iter().any(|key| *key != "tier" && reader.has(&path.key(key))) {
        reader.problem_with(path, "changes nothing of the limiter", "queue_limit = 150");
        return None;
    }
    let slots = written.slots.map(|slots| {
        reader.whole(&path.key("slots"), Some(slots), 1..=LimiterConfig::MAX_SLOTS, 1)
    });
    Some(Lever::Limiter(LimiterPatch {
        slots,
        capacity: written.capacity,
        queue: written.queue,
        queue_limit: written.queue_limit,
        drop_expired: written.drop_expired,
        on_disconnect: written.on_disconnect,
    }))
}

/// Checks that the tier's limiter could be changed so.
fn check_patch(reader: &mut Reader<'_, '_>, path: &Path, lever: &Lever, tier: &Tier) {
    if let Lever::Limiter(patch) = lever
        && let Err(invalid) = tier.limiter.patched(*patch)
    {
        reader.invalid(path, invalid);
    }
}

/// The layer that a lever names, all of them where it names none; nothing where it is unknown.
#[expect(clippy::option_option, reason = "the lever's own layer is optional")]
fn resolve_layer(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    written: &written::Lever,
    layers: Option<&[LayerConfig]>,
) -> Option<Option<String>> {
    let Some(name) = &written.layer else { return Some(None) };
    let names: Vec<_> = layers?.iter().map(|layer| layer.name.as_str()).collect();
    if !names.contains(&name.as_str()) {
        reader.problem_with(
            &path.key("layer"),
            format!("no layer of the client is named `{name}`{}", hint(name, &names)),
            format!("layer = \"{}\"", names.first().copied().unwrap_or_default()),
        );
        return None;
    }
    Some(Some(name.clone()))
}

/// Checks that a lever has only its own keys.
fn check_keys(reader: &mut Reader<'_, '_>, path: &Path, name: &str) {
    if !Lever::NAMES.contains(&name) {
        return;
    }
    let own = keys_of(name);
    for other in Lever::NAMES.into_iter().flat_map(|lever| keys_of(lever).iter()) {
        if !own.contains(other) && reader.has(&path.key(other)) {
            let message = if own.is_empty() {
                format!("lever `{name}` takes no such key")
            } else {
                format!("lever `{name}` takes no such key; it has {}", own.join(", "))
            };
            reader.problem(&path.key(other), message);
        }
    }
}

/// The keys of a lever, besides `name` and `at`.
fn keys_of(lever: &str) -> &'static [&'static str] {
    match lever {
        "shed-queue" | "restart" => &["tier"],
        "admit" => &["tier", "share", "for", "ramp"],
        "limiter" => {
            &["tier", "slots", "capacity", "queue", "queue_limit", "drop_expired", "on_disconnect"]
        }
        "budget" => &["layer", "budget"],
        "retries" => &["layer", "retries"],
        "rate" => &["rate"],
        _ => &[],
    }
}
