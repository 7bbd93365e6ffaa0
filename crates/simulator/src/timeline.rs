//! What a scenario has planned: faults begin and end, levers are pulled.

use goodput_clock::Timestamp;
use goodput_runlog::{EventKind, Observer};
use goodput_scenario::Scenario;

use crate::simulation::Simulation;

/// The planned actions, by time.
#[derive(Debug)]
pub(crate) struct Timeline {
    actions: Vec<(Timestamp, Action)>,
    done: usize,
}

/// By index in the scenario. At one instant what ends comes before what begins.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Action {
    FaultEnds(usize),
    FaultStarts(usize),
    Lever(usize),
}

impl Timeline {
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let faults = scenario.faults.iter().enumerate();
        let mut actions: Vec<_> = faults
            .flat_map(|(index, fault)| {
                [(fault.at, Action::FaultStarts(index)), (fault.ends(), Action::FaultEnds(index))]
            })
            .collect();
        let levers = scenario.levers.iter().enumerate();
        actions.extend(levers.map(|(index, lever)| (lever.at, Action::Lever(index))));
        actions.sort_unstable();
        Self { actions, done: 0 }
    }

    /// When the next action is due; [`Timestamp::MAX`] where there is none.
    pub(crate) fn next_at(&self) -> Timestamp {
        self.actions.get(self.done).map_or(Timestamp::MAX, |(at, _)| *at)
    }
}

impl Simulation<'_> {
    /// Carries the next planned action out.
    pub(crate) fn on_timeline(&mut self, observer: &mut dyn Observer) -> bool {
        let Some((_, action)) = self.timeline.actions.get(self.timeline.done).copied() else {
            return false;
        };
        self.timeline.done += 1;
        match action {
            Action::FaultStarts(index) => self.start_fault(index, observer),
            Action::FaultEnds(index) => self.end_fault(index, observer),
            Action::Lever(index) => {
                let planned = &self.options.scenario.levers[index];
                let tier = self.tier_index(planned.tier.as_deref());
                self.pull(&planned.lever, tier, "timeline", observer);
            }
        }
        true
    }

    /// Ends every fault before its time.
    pub(crate) fn revert(&mut self, observer: &mut dyn Observer) {
        for index in 0..self.options.scenario.faults.len() {
            self.end_fault(index, observer);
        }
    }

    /// The tier of this name, or the last one.
    pub(crate) fn tier_index(&self, name: Option<&str>) -> usize {
        let found = self.tiers.iter().position(|tier| Some(tier.name.as_str()) == name);
        found.unwrap_or(self.tiers.len() - 1)
    }

    fn start_fault(&mut self, index: usize, observer: &mut dyn Observer) {
        let fault = &self.options.scenario.faults[index];
        let level = self.tier_index(Some(&fault.tier));
        let tier = &mut self.tiers[level];
        if tier.faults.install(self.now, &fault.name, fault.kind, fault.length).is_err() {
            self.ledger.faults_unseen.push(fault.name.clone());
            return;
        }
        tier.limiter.set_effect(self.now, tier.faults.effect());
        self.settle(level);
        let (name, tier) = (fault.name.clone(), fault.tier.clone());
        let what = fault.kind.to_string();
        let started = EventKind::FaultStarted { name, tier, what };
        self.ledger.event(self.now, started, observer);
    }

    fn end_fault(&mut self, index: usize, observer: &mut dyn Observer) {
        let fault = &self.options.scenario.faults[index];
        let level = self.tier_index(Some(&fault.tier));
        let tier = &mut self.tiers[level];
        // Another fault of that name may have begun meanwhile; it has its own end.
        let running = tier
            .faults
            .iter()
            .any(|(name, active)| name == fault.name && active.started == fault.at);
        if !running {
            return;
        }
        tier.faults.remove(&fault.name);
        tier.limiter.set_effect(self.now, tier.faults.effect());
        self.settle(level);
        let (name, tier) = (fault.name.clone(), fault.tier.clone());
        self.ledger.event(self.now, EventKind::FaultEnded { name, tier }, observer);
    }
}
