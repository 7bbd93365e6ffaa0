//! How long a trigger may be, as a fluid has it.
//!
//! During the trigger, from 0 to L, the load is λ₁ and the capacity c; afterwards they are λ and C,
//! with λ < C. A cut has λ₁ = λ and c < C, a spike of the load λ₁ > C and c = C; both may come together.
//! T is the time-out, s the service time while the trigger lasts.
//!
//! **Without retries.** By t as many have arrived as N(t) = λ₁·t, and as many could be served as
//! D(t) = c·t, then c·L + C·(t − L). Who arrives at t waits W(t) until D has grown to N(t):
//!
//! - where that is within the trigger, W(t) = t·(λ₁ − c) ÷ c, which grows with t;
//! - where it is after, W(t) = L·(1 − c ÷ C) + t·(λ₁ ÷ C − 1), which falls in a cut (λ₁ < C) and grows in
//!   a spike (λ₁ > C), until the load is over; from then on it falls in both.
//!
//! So in a cut the longest wait is that of whoever is served at the trigger's end, L·(λ₁ − c) ÷ λ₁, and in
//! a spike that of the last of it to arrive, L·(λ₁ − c) ÷ C. The longest wait reaches T − s at
//!
//! - **safe** = (T − s) · min(λ₁, C) ÷ (λ₁ − c).
//!
//! Nobody times out in a shorter trigger, so nothing is amplified and everything is as before once
//! the backlog is served: a lower bound. Where the cost of a request is charged on arrival and the fault
//! takes slots away, the backlog keeps those that were left, and c stands for min(λ₁, C). Where the service
//! alone takes T it is 0.
//!
//! **With retries.** From the first who waits T, at tₐ, everybody times out as long as W stays at T
//! or above, and makes the attempts of [`attempts`](super::attempts), which enter N as what they are: a
//! spike comes back as a spike after the time-out and the backoff. Where W stays at T or above until
//! all attempts of those who came during the trigger have been made, k·λ > C keeps it there for good. W is
//! straight or bent downwards between two of the times at which a step of the load or its echo
//! begins, so that it is enough to look at those.
//!
//! - **sure** is the shortest trigger with which W is T or more at all of them: an upper bound, since in
//!   a somewhat shorter one those who come between two waves are served in time, and the next wave may
//!   still be too much. It is found by halving, as W grows with L. It is known for a single trigger in
//!   one step; with ramps, several triggers, or a load that stays changed it is absent.
//! - **amplified** is when the attempt that lifts a request's attempts above C ÷ λ is due for the first who
//!   timed out, (T − s) · c ÷ (λ₁ − c) plus its time: amplification reaches C ÷ λ while the trigger lasts
//!   (OSDI 2022, theorem 3). An estimate; retries that come after the trigger's end make sure the smaller of
//!   the two where they are many, and then it is that.
//!
//! A bounded queue refuses what comes beyond its bound; what is refused is taken to come back as what
//! times out does. Bounds of several tiers and layers are those of a single tier, the narrowest, with
//! all attempts that reach the last one: an estimate.

use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::attempt::FailureClass;
use goodput_policy::fault::{CapacityMode, Effect, FaultKind};
use goodput_policy::limiter::{Charge, QueueLimit};
use goodput_policy::retry::LayerConfig;

use super::attempts::{Attempt, attempts};
use super::narrowest;
use crate::model::{Scenario, Tier};

/// The trigger of a scenario and what it meets.
#[derive(Debug)]
pub(super) struct Trigger {
    /// From the start of the first to the end of the last, in seconds.
    pub(super) length: f64,
    /// λ₁.
    pub(super) load: f64,
    /// c.
    pub(super) capacity: f64,
    /// s.
    service: f64,
    /// λ.
    load_after: f64,
    /// C.
    capacity_after: f64,
    /// T.
    timeout: f64,
    /// Whether the backlog keeps the slots that were there when it came.
    keeps_its_slots: bool,
    /// Whether it is one step up or down, and one back.
    is_one_step: bool,
    /// How many may wait, and whether those beyond are refused for good.
    queue: (f64, bool),
    attempts: Vec<Attempt>,
}

/// The bounds of a trigger, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) safe: Option<f64>,
    pub(super) amplified: Option<f64>,
    pub(super) sure: Option<f64>,
}

impl Trigger {
    pub(super) fn of(scenario: &Scenario, tier: &Tier, capacity: f64) -> Self {
        let span = scenario.trigger_span();
        let length = span.map_or(Duration::ZERO, |(start, end)| end.since(start)).as_secs_f64();
        let slots = f64::from(tier.limiter.slots);
        let layers: Vec<LayerConfig> = scenario
            .client
            .layers
            .iter()
            .chain(scenario.tiers.iter().flat_map(|tier| &tier.layers))
            .cloned()
            .collect();
        let load = scenario.peak_rate().per_second();
        let load_after = scenario.load.rate.per_second();
        let may_retry = |layer: &LayerConfig| layer.retry_on.contains(FailureClass::Overloaded);
        let timeouts = layers.iter().filter_map(|layer| layer.timeout);
        let mut trigger = Self {
            length,
            load,
            capacity,
            service: slots / capacity,
            load_after,
            capacity_after: capacity,
            timeout: timeouts.min().unwrap_or(Duration::MAX).as_secs_f64(),
            keeps_its_slots: tier.limiter.charge == Charge::Admission
                && scenario.faults.iter().any(|fault| takes_slots(fault.kind)),
            is_one_step: is_one_step(scenario, load > load_after),
            queue: match tier.limiter.queue_limit {
                QueueLimit::Bounded(limit) => (f64::from(limit), !layers.iter().any(may_retry)),
                QueueLimit::Unbounded => (f64::INFINITY, false),
            },
            attempts: attempts(&layers, load, scenario.client.clients.max(1)),
        };
        trigger.weaken(scenario);
        trigger
    }

    /// Takes the capacity and the service time of the tier that its faults leave least of.
    fn weaken(&mut self, scenario: &Scenario) {
        for tier in &scenario.tiers {
            let faults = scenario.faults.iter().filter(|fault| fault.tier == tier.name);
            let Some((_, whole)) = narrowest(std::slice::from_ref(tier)) else { continue };
            let effect = faults.fold(Effect::NONE, |sum, fault| sum.and(fault.kind));
            let slots = f64::from(tier.limiter.slots);
            let left = f64::from(effect.slots_left(tier.limiter.slots));
            let capacity = if effect.stalled { 0.0 } else { whole * effect.speed * left / slots };
            if capacity < self.capacity {
                (self.capacity, self.service) = (capacity, slots / whole / effect.speed);
            }
        }
    }

    /// The bounds of a trigger that may stick: k·λ > C, and no defence.
    pub(super) fn bounds(&self) -> Bounds {
        let wait = (self.timeout - self.service).max(0.0);
        let excess = self.load - self.capacity;
        if excess <= 0.0 {
            let safe = (wait == 0.0 && self.length > 0.0).then_some(0.0);
            return Bounds { safe, ..Bounds::default() };
        }
        let drained =
            if self.keeps_its_slots { self.capacity } else { self.load.min(self.capacity_after) };
        let safe = wait * drained / excess;
        let sure = self.sure();
        let amplified = self.lifts_above_capacity().map(|after| {
            let estimate = wait * self.capacity / excess + after;
            sure.map_or(estimate, |sure| estimate.min(sure)).max(safe)
        });
        Bounds { safe: Some(safe), amplified, sure }
    }

    /// How long after a request's first attempt the one comes that lifts all of them above C.
    fn lifts_above_capacity(&self) -> Option<f64> {
        let mut attempts = 0.0;
        let lifting = self.attempts.iter().find(|attempt| {
            attempts += attempt.share;
            attempts * self.load_after > self.capacity_after
        });
        lifting.map(|attempt| attempt.after)
    }

    fn sure(&self) -> Option<f64> {
        self.lifts_above_capacity().filter(|_| self.is_one_step)?;
        let mut long = self.timeout;
        while !self.sticks(long) {
            long *= 2.0;
            if long > LONGEST {
                return None;
            }
        }
        let mut short = 0.0;
        while long - short > long * 1e-9 {
            let middle = f64::midpoint(short, long);
            if self.sticks(middle) { long = middle } else { short = middle }
        }
        Some(long)
    }

    /// Whether everybody from the first who waits T on does so after a trigger of that length.
    fn sticks(&self, length: f64) -> bool {
        let Some(first) = self.first_to_time_out(length) else { return false };
        let mut times = vec![length];
        for attempt in &self.attempts {
            times.extend([first + attempt.after, length + attempt.after]);
        }
        times.retain(|time| *time > first);
        times.sort_by(f64::total_cmp);
        let (limit, refused_for_good) = self.queue;
        let (mut now, mut backlog) = (first, (self.load - self.capacity) * first);
        for time in times {
            let middle = f64::midpoint(now, time);
            let served = if middle < length { self.capacity } else { self.capacity_after };
            let arrived = self.arrivals(middle, first, length);
            backlog += (arrived - served) * (time - now);
            if backlog > limit {
                if refused_for_good {
                    return false;
                }
                backlog = limit;
            }
            now = time;
            if self.wait(backlog, now, length) < self.timeout * (1.0 - 1e-12) {
                return false;
            }
        }
        true
    }

    /// When the first arrives that waits T; none where nobody does.
    fn first_to_time_out(&self, length: f64) -> Option<f64> {
        let (load, left, whole) = (self.load, self.capacity, self.capacity_after);
        let within = self.timeout * left / (load - left);
        if within * load <= left * length {
            return Some(within);
        }
        let served_after = (self.timeout * whole - length * (whole - left)) / (load - whole);
        (load > whole && served_after <= length).then_some(served_after)
    }

    /// Attempts per second at a time when all since `first` time out.
    fn arrivals(&self, time: f64, first: f64, length: f64) -> f64 {
        let of = |attempt: &Attempt| {
            let sent = time - attempt.after;
            let load = if sent < length { self.load } else { self.load_after };
            if attempt.after > 0.0 && sent < first { 0.0 } else { load * attempt.share }
        };
        self.attempts.iter().map(of).sum()
    }

    /// How long an arrival waits behind a backlog.
    fn wait(&self, backlog: f64, now: f64, length: f64) -> f64 {
        let rest = (length - now).max(0.0);
        let served = self.capacity * rest;
        if backlog <= served && rest > 0.0 {
            backlog / self.capacity
        } else {
            rest + (backlog - served) / self.capacity_after
        }
    }
}

const fn takes_slots(fault: FaultKind) -> bool {
    matches!(fault, FaultKind::Capacity { mode: CapacityMode::Slots, .. })
}

/// Whether there is one trigger, or several that start and end together, each in a step, after which
/// the load is as before.
fn is_one_step(scenario: &Scenario, is_spike: bool) -> bool {
    let spikes = scenario.load_spikes();
    let steps = scenario.load.changes.iter().all(|change| change.over.is_zero());
    let faults = scenario.faults.iter().map(|fault| (fault.at, fault.ends()));
    let mut spans: Vec<(Timestamp, Timestamp)> = spikes.iter().copied().chain(faults).collect();
    let tiers = scenario.faults.iter().all(|fault| fault.tier == scenario.faults[0].tier);
    spans.dedup();
    spans.len() == 1 && tiers && steps && spikes.len() <= 1 && is_spike != spikes.is_empty()
}

/// The longest trigger that is looked at, in seconds.
const LONGEST: f64 = 1e7;

#[cfg(test)]
mod tests {
    use super::super::ClosedForms;
    use crate::model::Plan;

    /// 800 requests a second, 2,000 served, a time-out of 750 ms and 2 retries at once, and what is added.
    fn forms(more: &str) -> ClosedForms {
        let text = format!(
            "name = \"spike\"\nduration = \"240s\"\nload.rate = 800\n\
             [[client.layer]]\ntimeout = \"750ms\"\nretries = 2\nbackoff = {{ base = \"0s\" }}\n\
             [[tier]]\nname = \"a\"\nslots = 20\ncapacity = 2000\n{more}"
        );
        ClosedForms::of(&Plan::parse("test.toml", &text).unwrap().scenario).unwrap()
    }

    fn close(found: Option<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }

    /// By hand: the backlog 2,000·L falls at 1,200/s until the first retries, 0.75 s after the first
    /// who waited as long, so that 2,000·L − 1,200·(1.5 − L) = 1,500.
    #[test]
    fn a_spike_has_to_outlast_the_time_out_until_it_comes_back() {
        let forms = forms("[[load.change]]\nrate = 4000\nat = \"60s\"\nfor = \"2s\"\n");
        close(forms.safe_trigger, 0.74);
        close(forms.sure_trigger, 3300.0 / 3200.0);
        close(forms.amplified_trigger, 3300.0 / 3200.0);
    }

    #[test]
    fn a_spike_and_a_cut_of_one_span_add_up() {
        let both = "[[load.change]]\nrate = 4000\nat = \"60s\"\nfor = \"2s\"\n\
             [[fault]]\nkind = \"capacity\"\nto = 0.5\nmode = \"slots\"\nat = \"60s\"\nfor = \"2s\"\n";
        let one = forms(both);
        assert_eq!((one.load_during, one.capacity_during), (4000.0, 1000.0));
        close(one.safe_trigger, 0.74 * 2000.0 / 3000.0);
        assert!(one.sure_trigger.unwrap() < 3300.0 / 3200.0);
        // Apart from each other they are no single trigger.
        let apart = forms(&both.replace("mode = \"slots\"\nat = \"60s\"", "at = \"90s\""));
        assert_eq!((apart.trigger, apart.sure_trigger), (32.0, None));
        assert!(apart.safe_trigger.is_some());
    }

    #[test]
    fn a_service_slower_than_the_time_out_is_safe_for_no_length() {
        let cut = |to: f64, mode: &str| {
            let fault = "[[fault]]\nkind = \"capacity\"\nat = \"60s\"\nfor = \"2s\"\n";
            forms(&format!("{fault}to = {to}\nmode = \"{mode}\"\n"))
        };
        close(cut(0.01, "slow").safe_trigger, 0.0);
        assert_eq!(cut(0.5, "slow").safe_trigger, None);
        // One slot of 20 is the least that is left.
        assert!((cut(0.001, "slots").capacity_during - 100.0).abs() < 1e-9);
    }
}
