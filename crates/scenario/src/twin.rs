//! A scenario without its trigger.

use crate::model::{PlannedLever, Scenario};

impl Scenario {
    /// The same scenario without its faults and its load spikes: what the system does by itself. A load
    /// that stays up is no trigger, and stays.
    #[must_use]
    pub fn without_trigger(&self) -> Self {
        let spikes = self.load_spikes();
        let in_spike = |at| spikes.iter().any(|(from, to)| *from <= at && at <= *to);
        let mut twin = self.clone();
        twin.faults.clear();
        twin.load.changes.retain(|change| change.length.is_none() && !in_spike(change.at));
        twin.levers.retain(|lever: &PlannedLever| lever.rate().is_none() || !in_spike(lever.at));
        twin
    }
}

#[cfg(test)]
mod tests {
    use crate::builtin;
    use crate::model::Plan;

    #[test]
    fn a_twin_has_neither_fault_nor_spike_and_keeps_a_load_that_stays() {
        let text = "name = \"x\"\nduration = \"300s\"\nload.rate = 80\n\
            [[load.change]]\nat = \"60s\"\nrate = 180\nfor = \"10s\"\n\
            [[load.change]]\nat = \"200s\"\nrate = 90\n\
            [[client.layer]]\ntimeout = \"5s\"\n\
            [[tier]]\nname = \"a\"\ncapacity = 100\n\
            [[lever]]\nname = \"rate\"\nrate = 150\nat = \"100s\"\n\
            [[lever]]\nname = \"rate\"\nrate = 80\nat = \"120s\"\n\
            [[lever]]\nname = \"shed-queue\"\nat = \"110s\"\n";
        let twin = Plan::parse("x.toml", text).unwrap().scenario.without_trigger();
        assert_eq!(twin.load.changes.len(), 1, "{:?}", twin.load.changes);
        assert_eq!(twin.levers.len(), 1, "{:?}", twin.levers);
        assert_eq!(twin.trigger_span(), None);
        let plan = Plan::parse("x.toml", builtin::DATABASE_FAILOVER.text).unwrap();
        assert!(plan.scenario.without_trigger().faults.is_empty());
    }
}
