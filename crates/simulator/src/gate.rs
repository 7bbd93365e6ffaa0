//! The gate before the trigger.

use goodput_clock::Timestamp;
use goodput_gate::{Seen, TierNow, withhold};
use goodput_runlog::{EventKind, Observer};

use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Asks the gate once, when the first thing at or after the trigger's start is due, and says whether
    /// the run ends there. The window that ends with the trigger's start is of the time before it.
    pub(crate) fn is_withheld(
        &mut self,
        at: Timestamp,
        window_ends: bool,
        observer: &mut dyn Observer,
    ) -> bool {
        if window_ends && at == self.gate {
            return false;
        }
        let trigger = std::mem::replace(&mut self.gate, Timestamp::MAX);
        let Some(reason) = withhold(&self.options.scenario, &self.seen()) else { return false };
        self.now = trigger;
        self.ledger.event(trigger, EventKind::TriggerWithheld { reason }, observer);
        self.withheld = true;
        true
    }

    fn seen(&self) -> Seen<'_> {
        let received = self.ledger.received(self.tiers.len());
        let tiers = self.tiers.iter().zip(received).map(|(tier, before)| TierNow {
            name: tier.name.clone(),
            capacity: tier.limiter.config().capacity,
            slots: tier.limiter.slots(),
            queued: tier.limiter.queued() as u64,
            received: before + tier.counts.received,
            answers: true,
        });
        // A cohort that has been handed out is in its window; the others follow without a gap.
        let mut open = self.recorder.cohorts().peekable();
        let handed = open.peek().map_or(usize::MAX, |(second, _)| *second as usize);
        let decided = self.ledger.windows().take(handed).map(|window| window.client.cohort);
        Seen {
            cohorts: decided.chain(open.map(|(_, cohort)| cohort)).collect(),
            windows: self.ledger.windows().map(|window| &window.client).collect(),
            tiers: tiers.collect(),
        }
    }
}
