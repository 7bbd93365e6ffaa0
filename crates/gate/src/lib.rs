//! The gate before a trigger: whether a fault or a load spike would show anything.
//!
//! A fault that goes into a system which fails already, or one that changes nothing where it goes, says
//! nothing of whether goodput returns. [`withhold`] is asked just before the trigger, by either engine,
//! and gives the reason why it must not go in. Only what can be *claimed* keeps a trigger back: noise
//! never does, and a trigger is never put off. What the gate lets pass is looked at again once the run
//! is over, when the fate of every request is known: [`unhealthy`] is the same rule then.

mod act;
mod health;
mod words;

use goodput_clock::Timestamp;
use goodput_policy::limiter::Capacity;
use goodput_runlog::{ClientWindow, Cohort};
use goodput_scenario::Scenario;

pub use health::{
    BLOCK_REQUESTS, HEALTHY, HEALTHY_LAST, Part, Unhealthy, WARM_UP, block, span, unhealthy,
};

/// What is seen of a run just before its trigger.
#[derive(Clone, Debug, Default)]
pub struct Seen<'a> {
    /// What has become of the requests that arrived in each second since the start, decided or not.
    pub cohorts: Vec<Cohort>,
    /// What the load generator saw in each second since the start; the latest may be missing.
    pub windows: Vec<&'a ClientWindow>,
    /// The tiers whose control plane is known.
    pub tiers: Vec<TierNow>,
}

/// A tier as it is now.
#[derive(Clone, Debug, PartialEq)]
pub struct TierNow {
    /// Its name.
    pub name: String,
    /// What it can serve.
    pub capacity: Capacity,
    /// Slots in force.
    pub slots: u32,
    /// Attempts that wait.
    pub queued: u64,
    /// Attempts that have arrived since the run began.
    pub received: u64,
    /// Whether its control plane answers.
    pub answers: bool,
}

/// Why the trigger of this scenario must not go in, in words; none where it may, or where there is none.
///
/// 1. The baseline is claimed [`unhealthy`], requests that are open still counted as good, or nothing
///    comes back any more: no request has ended well for a block, while earlier ones are open.
/// 2. A fault that begins the trigger cannot act: the control plane of its tier does not answer, it
///    [changes nothing there](goodput_policy::fault::FaultKind::idle_at) or takes
///    [no slot](goodput_policy::fault::Effect::check_slots), or its tier has received nothing of what the
///    load sent.
pub fn withhold(scenario: &Scenario, seen: &Seen<'_>) -> Option<String> {
    let (trigger, _) = scenario.trigger_span()?;
    broken(scenario, trigger, seen).or_else(|| act::idle(scenario, trigger, seen))
}

/// Why the baseline is claimed not to be healthy.
fn broken(scenario: &Scenario, trigger: Timestamp, seen: &Seen<'_>) -> Option<String> {
    let hold = whole_seconds(scenario);
    let span = span(trigger, hold);
    let (from, to) = (span.start, span.end.min(seen.cohorts.len() as u64));
    let cohorts = seen.cohorts.get(from as usize..to as usize)?;
    let what = if let Some(found) = unhealthy(cohorts, hold) {
        words::unhealthy(&found, from)
    } else {
        let patience = health::patience(scenario, &seen.windows);
        words::silent(&health::silent(seen, block(cohorts, hold), patience)?)
    };
    Some(format!("the baseline is not healthy: {what}{}", words::circumstances(seen)))
}

/// `hold` in whole seconds, at least one.
fn whole_seconds(scenario: &Scenario) -> u64 {
    scenario.expect.hold.as_secs_f64().ceil().max(1.0) as u64
}

#[cfg(test)]
mod tests;
