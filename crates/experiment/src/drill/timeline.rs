//! From an action to the levers of a scenario.

use std::time::Duration;

use goodput_clock::{Rate, Ratio, Timestamp};
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_policy::limiter::{Capacity, LimiterPatch};
use goodput_scenario::{ExpectedVerdict, PlannedLever, Scenario, Tier};

use super::action::{Action, Number, Step};
use super::{DrillError, Terms};

/// A scenario with an action on its timeline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drilled {
    pub(crate) scenario: Scenario,
    /// When the first step is pulled.
    pub(crate) pulled: Timestamp,
}

/// Puts an action on the scenario's timeline, and lets the run go on for as long as goodput may take to
/// be back after its last step.
pub(crate) fn drilled<E>(
    scenario: &Scenario,
    action: Option<&Action>,
    terms: &Terms,
) -> Result<Drilled, DrillError<E>> {
    let (_, over) = scenario.trigger_span().ok_or(DrillError::NoTrigger)?;
    let tier = tier_of(scenario, terms)?;
    let pulled = Timestamp::from_secs((over + terms.after).as_secs_f64().ceil() as u64);
    let mut plan = Plan { scenario, tier, levers: Vec::new(), at: pulled, done: pulled };
    for step in action.map(Action::steps).unwrap_or_default() {
        plan.add(step)?;
    }
    let Plan { levers, done, .. } = plan;
    let mut drilled = scenario.clone();
    drilled.levers.extend(levers);
    drilled.levers.sort_by_key(|planned| planned.at);
    let latest = done + terms.within;
    let end = latest + scenario.expect.hold;
    drilled.duration = Duration::from_secs(end.as_secs_f64().ceil() as u64);
    drilled.expect.within = latest.since(over);
    drilled.expect.verdict = ExpectedVerdict::Recovered;
    Ok(Drilled { scenario: drilled, pulled })
}

/// The tier at which levers of a server are pulled: the one asked for, else the one that was hit.
fn tier_of<'a, E>(scenario: &'a Scenario, terms: &Terms) -> Result<&'a Tier, DrillError<E>> {
    let hit = || scenario.faults.first().map(|fault| &fault.tier);
    let name = terms.tier.as_ref().or_else(hit);
    let found = scenario.tiers.iter().find(|tier| Some(&tier.name) == name);
    match (found, &terms.tier) {
        (None, Some(asked)) => Err(DrillError::NoTier {
            asked: asked.clone(),
            tiers: scenario.tiers.iter().map(|tier| tier.name.clone()).collect(),
        }),
        (found, _) => found.or(scenario.tiers.last()).ok_or(DrillError::NoTrigger),
    }
}

struct Plan<'a> {
    scenario: &'a Scenario,
    tier: &'a Tier,
    levers: Vec<PlannedLever>,
    /// When the next step is pulled.
    at: Timestamp,
    /// When everything that has an end has ended.
    done: Timestamp,
}

impl Plan<'_> {
    fn add<E>(&mut self, step: &Step) -> Result<(), DrillError<E>> {
        match step {
            Step::Wait(time) => {
                self.at += *time;
                self.done = self.done.max(self.at);
                return Ok(());
            }
            Step::ShedQueue => self.pull(Lever::ShedQueue),
            Step::Restart => self.pull(Lever::Restart),
            Step::DropExpired => {
                self.patch(LimiterPatch { drop_expired: Some(true), ..LimiterPatch::default() });
            }
            Step::Admit { share, hold } => {
                let share = Ratio::new(share.value()).unwrap_or(Ratio::ZERO);
                let hold = seconds(*hold);
                self.pull(Lever::Admit { share, hold: Some(hold), ramp: Duration::ZERO });
                self.done = self.done.max(self.at + hold);
            }
            Step::Load { share, hold } => self.load(share.value(), seconds(*hold)),
            Step::Budget(budget) => self.pull(Lever::Budget { layer: None, budget: *budget }),
            Step::Retries(retries) => self.pull(Lever::Retries { layer: None, retries: *retries }),
            Step::Capacity { times, hold } => self.capacity(times.value(), hold.map(seconds))?,
        }
        // A person needs a moment from one lever to the next; so their order is certain.
        self.at += STEP;
        Ok(())
    }

    fn load(&mut self, share: f64, hold: Duration) {
        let usual = self.scenario.load.rate_at(self.at);
        let rate = |rate: f64| Rate::new(rate.clamp(RATE_LEAST, Rate::MAX)).ok();
        let (Some(low), Some(usual)) = (rate(usual * share), rate(usual)) else { return };
        self.pull(Lever::Rate { rate: low });
        let back =
            PlannedLever { lever: Lever::Rate { rate: usual }, tier: None, at: self.at + hold };
        self.done = self.done.max(back.at);
        self.levers.push(back);
    }

    fn capacity<E>(&mut self, times: f64, hold: Option<Duration>) -> Result<(), DrillError<E>> {
        let Capacity::Limited(usual) = self.tier.limiter.capacity else {
            return Err(DrillError::Unlimited(self.tier.name.clone()));
        };
        let to = |rate: Rate| LimiterPatch {
            capacity: Some(Capacity::Limited(rate)),
            ..LimiterPatch::default()
        };
        let raised = (usual.per_second() * times).min(Rate::MAX);
        self.patch(to(Rate::new(raised).unwrap_or(usual)));
        if let Some(hold) = hold {
            let now = self.at;
            self.at = now + hold;
            self.patch(to(usual));
            self.done = self.done.max(self.at);
            self.at = now;
        }
        Ok(())
    }

    fn patch(&mut self, patch: LimiterPatch) {
        self.pull(Lever::Limiter(patch));
    }

    fn pull(&mut self, lever: Lever) {
        let tier = match lever.target() {
            LeverTarget::Server => Some(self.tier.name.clone()),
            LeverTarget::LoadGenerator => None,
        };
        self.levers.push(PlannedLever { lever, tier, at: self.at });
        self.done = self.done.max(self.at);
    }
}

fn seconds(number: Number) -> Duration {
    Duration::from_secs_f64(number.value())
}

/// From one step of an action to the next.
const STEP: Duration = Duration::from_secs(1);
/// A load of nobody: its next request comes long after the run.
const RATE_LEAST: f64 = 1e-6;
