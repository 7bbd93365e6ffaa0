//! Which cases can be acted out on sockets, where both engines are to say the same.

use crate::draft::{Draft, TriggerKind, Variant};

/// What one small machine carries, as wall time has it.
///
/// At a speed of 10 a case of 600 s takes a minute, and its attempts arrive ten times as fast.
#[derive(Clone, Copy, Debug)]
pub struct Sockets {
    /// Seconds of the scenario in one on the wall.
    pub speed: f64,
}

impl Sockets {
    /// Whether a case asks for no more than can be carried: in attempts a second even if every
    /// request makes all its own, in the shortest time that must be kept, and in length.
    pub fn carry(self, draft: &Draft) -> bool {
        let rate = peak(draft) * draft.attempts() as f64 * self.speed;
        let layers = draft.layers.iter().chain(draft.tiers.iter().flat_map(|tier| &tier.layers));
        let timeouts = layers.filter_map(|layer| layer.timeout).chain(draft.deadline);
        let shortest = timeouts.fold(f64::INFINITY, f64::min) / self.speed;
        let length = draft.duration(&Variant::PLAIN) as f64 / self.speed;
        rate <= ATTEMPTS && shortest >= TIMEOUT && length <= LENGTH
    }
}

/// The highest rate that is offered.
fn peak(draft: &Draft) -> f64 {
    let spikes = draft.triggers.iter().map(|trigger| match trigger.kind {
        TriggerKind::Spike(factor, _) | TriggerKind::Steps(factor) => factor,
        TriggerKind::Fault(_) => 1.0,
    });
    let factor = spikes.chain(draft.raise.map(|raise| raise.factor)).fold(1.0, f64::max);
    draft.rate * factor
}

/// Attempts a second on the wall: those of the headline's failure at speed 10, which take most of a core.
const ATTEMPTS: f64 = 3_000.0;
/// The shortest time-out on the wall, in seconds: a run is in doubt where the generator is late by a tenth.
const TIMEOUT: f64 = 0.05;
/// The longest run on the wall, in seconds.
const LENGTH: f64 = 60.0;
