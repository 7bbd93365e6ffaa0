use std::collections::BTreeMap;
use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::fault::{Effect, FaultKind};

use super::tiers::{chosen, has_capacity};
use super::{check_moment, check_name, say};
use crate::model::{PlannedFault, Tier};
use crate::parse::{FaultName, Path, Reader, written};

/// Resolves `[[fault]]`, by start.
pub(super) fn resolve(
    reader: &mut Reader<'_, '_>,
    run: Option<Duration>,
    tiers: Option<&[Tier]>,
) -> Option<Vec<PlannedFault>> {
    let written = reader.list::<written::Fault>(&Path::root().key("fault"), &[]);
    let faults: Vec<_> = written
        .into_iter()
        .map(|(path, fault)| {
            let resolved = resolve_fault(reader, &path, fault, run, tiers);
            resolved.map(|fault| (path, fault))
        })
        .collect();
    let mut faults: Vec<_> = faults.into_iter().collect::<Option<_>>()?;
    faults.sort_by_key(|(_, fault)| fault.at);
    check_overlaps(reader, &faults);
    check_slots(reader, &faults, tiers.unwrap_or_default());
    Some(faults.into_iter().map(|(_, fault)| fault).collect())
}

fn resolve_fault(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    fault: written::Fault,
    run: Option<Duration>,
    tiers: Option<&[Tier]>,
) -> Option<PlannedFault> {
    let name = reader.require(&path.key("kind"), fault.kind);
    let at = reader.require(&path.key("at"), fault.at);
    let length = reader.require(&path.key("for"), fault.length);
    check_moment(reader, &path.key("at"), at, run);
    check_end(reader, path, at, length, run);
    let tier = chosen(reader, &path.key("tier"), fault.tier.as_deref(), tiers);
    let kind = name.and_then(|name| resolve_kind(reader, path, &fault, name));
    if let Some(tier) = tier.filter(|tier| !has_capacity(tier)) {
        reader.problem_with(
            &path.key("kind"),
            format!("tier `{}` is unlimited, so a fault changes nothing there", tier.name),
            "capacity = 100",
        );
    }
    let name = fault.name.unwrap_or_else(|| name.map_or_else(String::new, |n| n.name().into()));
    if reader.has(&path.key("name")) {
        check_name(reader, &path.key("name"), &name);
    }
    Some(PlannedFault {
        name,
        tier: tier?.name.clone(),
        kind: kind?,
        at: Timestamp::from(at?),
        length: length?,
    })
}

fn resolve_kind(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    fault: &written::Fault,
    name: FaultName,
) -> Option<FaultKind> {
    match name {
        FaultName::Capacity => {
            let to = reader.require(&path.key("to"), fault.to)?;
            let kind = FaultKind::capacity(to, fault.mode.unwrap_or_default());
            kind.map_err(|invalid| reader.invalid(path, invalid)).ok()
        }
        FaultName::Stall => {
            for key in ["to", "mode"] {
                if reader.has(&path.key(key)) {
                    let message = "is a key of `kind = \"capacity\"`; a stall leaves nothing";
                    reader.problem(&path.key(key), message);
                }
            }
            Some(FaultKind::Stall)
        }
    }
}

fn check_end(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    at: Option<Duration>,
    length: Option<Duration>,
    run: Option<Duration>,
) {
    let Some(length) = length else { return };
    if length.is_zero() {
        reader.problem(&path.key("for"), "must be longer than 0");
    }
    if let (Some(at), Some(run)) = (at, run)
        && at < run
        && at.saturating_add(length) > run
    {
        let ends = say(at.saturating_add(length));
        reader.problem(
            &path.key("for"),
            format!("ends at {ends}, after the run's end at {}", say(run)),
        );
    }
}

/// Checks that each fault that is to take slots away takes one at least, besides those that the
/// faults in force at its start have taken.
fn check_slots(reader: &mut Reader<'_, '_>, faults: &[(Path, PlannedFault)], tiers: &[Tier]) {
    for (index, (path, fault)) in faults.iter().enumerate() {
        let Some(tier) = tiers.iter().find(|tier| tier.name == fault.tier) else { continue };
        let in_force = faults[..index].iter().map(|(_, other)| other);
        let in_force = in_force.filter(|other| other.tier == fault.tier && other.ends() > fault.at);
        let effect = in_force.fold(Effect::NONE, |sum, other| sum.and(other.kind));
        if let Err(none) = effect.check_slots(fault.kind, tier.limiter.slots) {
            let message = format!("at tier `{}`, `mode = \"slots\"` {none}", tier.name);
            reader.problem_with(&path.key("mode"), message, "mode = \"slow\"");
        }
    }
}

/// Checks that no fault begins while another of its name is in force on the same tier.
fn check_overlaps(reader: &mut Reader<'_, '_>, faults: &[(Path, PlannedFault)]) {
    let mut busy: BTreeMap<(&str, &str), Timestamp> = BTreeMap::new();
    for (path, fault) in faults {
        let until = busy.entry((&fault.tier, &fault.name)).or_insert(Timestamp::ZERO);
        if fault.at < *until {
            let message = format!(
                "a fault named `{}` is in force on tier `{}` until {}; name them apart",
                fault.name,
                fault.tier,
                say(until.elapsed())
            );
            reader.problem(&path.key("at"), message);
        }
        *until = (*until).max(fault.ends());
    }
}
