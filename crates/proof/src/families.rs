//! Recipes that aim at an outcome. They change a free draft; what they leave alone stays as drawn.

use crate::distribution::layer;
use crate::draft::{Draft, Layer, Raise, Trigger, TriggerKind};
use crate::draw::Draw;

/// Retries without a bound whose attempts exceed the capacity by a tenth at least, and a fault that
/// fills the queue with twice what is served within a time-out.
pub(crate) fn metastable(draft: &mut Draft, draw: &mut Draw) {
    let attempts = draw.whole(2, 5);
    let load = draw.between((1.15 / attempts as f64).max(0.5), 0.92);
    plain_server(draft, draw, load);
    let timeout = draft.layers.last().and_then(|layer| layer.timeout).unwrap_or(1.0);
    let mut only = layer(draw, Some(timeout), attempts - 1, draft.rate);
    only.more.clear();
    (only.base, only.factor) = (timeout * draw.between(0.0, 0.5), 1.0);
    only.cap = only.base;
    draft.layers = vec![only];
    draft.deadline = None;
    draft.lever = None;
    let capacity = draft.capacity();
    if draw.chance(0.3) {
        let most = (capacity * timeout * draw.between(2.5, 6.0)).max(2.0) as u64;
        push_server(draft, &format!("queue_limit = {most}\n"));
    }
    let left = if draw.chance(0.3) { 0.0 } else { draw.between(0.01, 0.3) };
    let grows = draft.rate - left * capacity;
    let length =
        (capacity * timeout * draw.between(2.0, 5.0) / grows.max(0.2 * draft.rate)).min(600.0);
    draft.triggers = vec![cut(left, length.max(timeout * 1.5))];
}

/// Few retries, or few that are allowed, much room, and a fault that ends soon.
pub(crate) fn recovered(draft: &mut Draft, draw: &mut Draw) {
    let load = draw.between(0.3, 0.6);
    set_load(draft, load);
    draft.layers.truncate(1);
    let timeout = draft.layers[0].timeout.unwrap_or(1.0).max(draft.rate.recip());
    let retries = draw.whole(0, 1);
    let mut only = layer(draw, Some(timeout), retries, draft.rate);
    if draw.chance(0.5) {
        only.more = String::from("budget = { kind = \"sre-ratio\", ratio = 0.1 }\n");
    }
    draft.layers = vec![only];
    draft.lever = None;
    let length = draw.log(0.5, 30.0);
    draft.triggers = vec![cut(draw.between(0.0, 0.5), length)];
}

/// What a stall loses comes back together after one long wait, on top of the load, and is lost
/// again: for a wait's time all is well, and then not. The bound on the queue is near the one at
/// which such a burst is as long as the one before: a longer queue takes as much longer to empty
/// below a time-out's worth as the burst took to fill it so far.
pub(crate) fn comes_and_goes(draft: &mut Draft, draw: &mut Draw) {
    draft.rate = draft.rate.max(20.0);
    let load = draw.between(0.6, 0.75);
    plain_server(draft, draw, load);
    draft.hold = draw.pick(&[5.0, 5.0, 10.0]);
    let block = draft.hold.max(100.0 / draft.rate);
    let capacity = draft.capacity();
    let timeout = draft.layers.last().and_then(|layer| layer.timeout).unwrap_or(1.0).min(2.0);
    let wait = block * draw.between(8.0, 14.0);
    let only = Layer {
        timeout: Some(timeout),
        retries: 1,
        base: wait,
        factor: 1.0,
        cap: wait,
        jitter: draw.pick(&["none", "none", "none", "none", "none", "equal"]),
        more: String::new(),
    };
    draft.layers = vec![only];
    draft.deadline = None;
    draft.lever = None;
    let even = load / (2.0 * load - 1.0);
    let most = (capacity * timeout * even * draw.between(0.9, 1.5)).max(2.0) as u64;
    push_server(draft, &format!("queue_limit = {most}\n"));
    draft.triggers = vec![cut(0.0, wait * draw.between(0.35, 0.6))];
}

/// The load rises for good above what is served, before, in or after a short fault, or without one.
pub(crate) fn overloaded(draft: &mut Draft, draw: &mut Draw) {
    let load = draw.between(0.5, 0.9);
    set_load(draft, load);
    draft.tiers.retain(|tier| tier.name == "server");
    draft.lever = None;
    let length = draw.log(1.0, 20.0);
    draft.triggers = vec![cut(draw.between(0.0, 0.6), length)];
    let after = draw.between(0.0, 2.0 * length);
    let factor = draw.between(1.03, 1.5) / load;
    draft.raise = Some(Raise { after, factor, over: draw.pick(&[0.0, 0.0, 5.0]) });
}

/// All attempts together stay a few per cent below the capacity, and the fault lasts: the backlog
/// goes, but late.
pub(crate) fn slow(draft: &mut Draft, draw: &mut Draw) {
    let attempts = draw.whole(1, 3);
    let most = if attempts == 1 { 0.93 } else { 0.95 };
    let load = draw.between(0.88, most) / attempts as f64;
    plain_server(draft, draw, load);
    let timeout = draft.layers.last().and_then(|layer| layer.timeout).unwrap_or(1.0);
    let mut only = layer(draw, Some(timeout), attempts - 1, draft.rate);
    only.more.clear();
    draft.layers = vec![only];
    draft.lever = None;
    let length = (timeout * draw.between(2.0, 20.0)).clamp(5.0, 300.0);
    draft.triggers = vec![cut(draw.between(0.0, 0.4), length)];
}

/// A cut that leaves half as much again as is offered, a spike of a per cent or two, or one tenth
/// of a second of anything under little load.
pub(crate) fn untouched(draft: &mut Draft, draw: &mut Draw) {
    let load = draw.between(0.2, 0.5);
    set_load(draft, load);
    draft.lever = None;
    let kind = draw.whole(0, 2);
    let length = draw.log(0.5, 300.0);
    draft.triggers = vec![match kind {
        0 => cut((1.5 * load).min(0.95), length),
        1 => Trigger { gap: 0.0, length, kind: TriggerKind::Spike(draw.between(1.005, 1.03), 0.0) },
        _ => cut(draw.between(0.0, 0.6), 0.1),
    }];
}

/// One FIFO server that works on for callers who have gone, with this load over its capacity.
fn plain_server(draft: &mut Draft, draw: &mut Draw, load: f64) {
    set_load(draft, load);
    draft.tiers.retain(|tier| tier.name == "server");
    let service =
        draw.pick(&["\"constant\"", "\"exponential\"", "{ kind = \"lognormal\", sigma = 0.8 }"]);
    for tier in &mut draft.tiers {
        tier.more = format!("service = {service}\n");
    }
}

/// Sets the last tier's capacity so that the rate is this share of it, and leaves the service time.
fn set_load(draft: &mut Draft, load: f64) {
    let rate = draft.rate;
    let Some(server) = draft.tiers.last_mut() else { return };
    let service = server.slots as f64 / server.capacity.unwrap_or(rate);
    let capacity = rate / load;
    server.slots = ((service * capacity).round() as u64).max(1);
    server.capacity = Some(capacity);
    // The time-out is no shorter than a few services and the queue of a calm hour.
    let service = server.slots as f64 / capacity;
    let calm = service * (2.0 + 5.0 / (server.slots as f64 * (1.0 - load).max(0.03)));
    if let Some(inner) = draft.layers.last_mut() {
        inner.timeout = inner.timeout.map(|timeout| timeout.max(calm));
    }
}

fn push_server(draft: &mut Draft, keys: &str) {
    if let Some(server) = draft.tiers.last_mut() {
        server.more.push_str(keys);
    }
}

/// A slow cut of the server to this share, a stall where nothing is left.
fn cut(left: f64, length: f64) -> Trigger {
    let keys = if left < 0.01 {
        "kind = \"stall\"\n".to_owned()
    } else {
        format!("kind = \"capacity\"\nto = {left:.4}\n")
    };
    Trigger { gap: 0.0, length, kind: TriggerKind::Fault(keys) }
}
