//! Whether a fault can act where it is to go.

use goodput_clock::Timestamp;
use goodput_policy::fault::Effect;
use goodput_scenario::{PlannedFault, Scenario};

use crate::words::number;
use crate::{Seen, TierNow};

/// Why a fault that begins the trigger cannot act.
pub(crate) fn idle(scenario: &Scenario, trigger: Timestamp, seen: &Seen<'_>) -> Option<String> {
    let sent = seen.windows.iter().map(|window| window.attempts).sum();
    let first = scenario.faults.iter().filter(|fault| fault.at == trigger);
    let mut reasons = first.filter_map(|fault| {
        let tier = seen.tiers.iter().find(|tier| tier.name == fault.tier)?;
        why(fault, tier, sent)
    });
    reasons.next()
}

fn why(fault: &PlannedFault, tier: &TierNow, sent: u64) -> Option<String> {
    let PlannedFault { name, kind, .. } = fault;
    let at = &tier.name;
    if !tier.answers {
        return Some(format!(
            "the fault `{name}` cannot go in: the control plane of tier `{at}` does not answer"
        ));
    }
    let idle = kind.idle_at(tier.capacity).map(|why| format!("would change nothing: {why}"));
    let slots = || Effect::NONE.check_slots(*kind, tier.slots).err();
    if let Some(why) = idle.or_else(|| slots().map(|none| none.to_string())) {
        return Some(format!("the fault `{name}` at tier `{at}` {why}"));
    }
    if tier.received == 0 && sent >= ATTEMPTS_LEAST {
        return Some(format!(
            "the fault `{name}` would be beside the road: tier `{at}` has received none of {} \
             attempts that the load sent; is the control plane that of the server which \
             `--target` leads to?",
            number(sent)
        ));
    }
    None
}

/// Fewer attempts than this may all be on their way.
const ATTEMPTS_LEAST: u64 = 20;
