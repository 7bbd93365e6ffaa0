use std::time::Duration;

use goodput_clock::Rate;
use goodput_policy::limiter::{Capacity, LimiterConfig};

use super::client::resolve_layers;
use super::{check_name, check_unique};
use crate::model::Tier;
use crate::parse::{Path, Reader, hint, written};

/// Resolves `[[tier]]`.
pub(super) fn resolve(reader: &mut Reader<'_, '_>, run: Option<Duration>) -> Option<Vec<Tier>> {
    let list = Path::root().key("tier");
    let written = reader.list::<written::Tier>(&list, &["layer"]);
    let count = written.len();
    if count == 0 {
        reader.problem(&list, "there is no tier; at least the order-status server must be there");
        return None;
    }
    if count > MOST_TIERS {
        reader.problem(&list, format!("there are {count} tiers, but at most {MOST_TIERS} can be"));
        return None;
    }
    let paths: Vec<_> = written.iter().map(|(path, _)| path.clone()).collect();
    let tiers: Vec<_> = written
        .into_iter()
        .enumerate()
        .map(|(index, (path, tier))| resolve_tier(reader, &path, &tier, index + 1 == count, run))
        .collect();
    let tiers: Vec<Tier> = tiers.into_iter().collect::<Option<_>>()?;
    check_unique(reader, paths.iter().zip(&tiers).map(|(path, tier)| (path, &*tier.name)));
    Some(tiers)
}

fn resolve_tier(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    tier: &written::Tier,
    last: bool,
    run: Option<Duration>,
) -> Option<Tier> {
    let name = reader.require(&path.key("name"), tier.name.clone());
    if let Some(name) = &name {
        check_name(reader, &path.key("name"), name);
    }
    let orders =
        reader.whole(&path.key("orders"), tier.orders, 1..=Tier::MAX_ORDERS, DEFAULT_ORDERS);
    if !last && tier.orders.is_some() {
        reader.problem(&path.key("orders"), "only the last tier has an order book");
    }
    let limiter = resolve_limiter(reader, path, tier);
    let layers = resolve_layers(reader, &path.key("layer"), run)?;
    if last && !layers.is_empty() {
        reader.problem(&path.key("layer"), "the last tier calls nobody, so it retries nothing");
    }
    if !last && layers.is_empty() && !reader.has(&path.key("layer")) {
        reader.problem(
            &path.key("layer"),
            "is missing; a gateway needs a layer with a time-out towards the next tier",
        );
    }
    let orders = if last { orders } else { 0 };
    Some(Tier { name: name?, limiter, layers, orders })
}

fn resolve_limiter(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    tier: &written::Tier,
) -> LimiterConfig {
    let default = LimiterConfig::default();
    // A mistaken capacity has been noted; it does not make the tier unlimited.
    let mistaken = reader.has(&path.key("capacity")).then(|| Rate::new(1.0).ok()).flatten();
    let limiter = LimiterConfig {
        slots: reader.whole(
            &path.key("slots"),
            tier.slots,
            1..=LimiterConfig::MAX_SLOTS,
            default.slots,
        ),
        capacity: tier.capacity.or(mistaken.map(Capacity::Limited)).unwrap_or(default.capacity),
        service: tier.service.unwrap_or(default.service),
        queue: tier.queue.unwrap_or(default.queue),
        queue_limit: tier.queue_limit.unwrap_or(default.queue_limit),
        drop_expired: tier.drop_expired.unwrap_or(default.drop_expired),
        expiry_margin: tier.expiry_margin.or(default.expiry_margin),
        on_disconnect: tier.on_disconnect.unwrap_or(default.on_disconnect),
        charge: tier.charge.unwrap_or(default.charge),
    };
    if let Err(invalid) = limiter.validate() {
        reader.invalid(path, invalid);
    }
    limiter
}

/// The tier that a fault or a lever names, or the last one; noted where there is none of that name.
pub(super) fn chosen<'t>(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    name: Option<&str>,
    tiers: Option<&'t [Tier]>,
) -> Option<&'t Tier> {
    let tiers = tiers?;
    let Some(name) = name else { return tiers.last() };
    let found = tiers.iter().find(|tier| tier.name == name);
    if found.is_none() {
        let names: Vec<_> = tiers.iter().map(|tier| tier.name.as_str()).collect();
        reader.problem_with(
            path,
            format!("no tier is named `{name}`{}", hint(name, &names)),
            format!("tier = \"{}\"", names.last().copied().unwrap_or_default()),
        );
    }
    found
}

/// Whether the tier has a capacity that a fault can take away.
pub(super) fn has_capacity(tier: &Tier) -> bool {
    tier.limiter.capacity != Capacity::Unlimited
}

const MOST_TIERS: usize = 8;
const DEFAULT_ORDERS: u32 = 10_000;
