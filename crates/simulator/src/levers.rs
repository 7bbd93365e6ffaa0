//! Levers, as the timeline or a person pulls them.

use goodput_policy::lever::Lever;
use goodput_policy::limiter::{LimiterConfig, LimiterPatch};
use goodput_runlog::{EventKind, Observer};

use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Pulls a lever for a person: at the load generator, or at the last tier.
    pub(crate) fn pull_by_hand(&mut self, lever: &Lever, observer: &mut dyn Observer) {
        let last = self.tiers.len() - 1;
        self.pull(lever, last, "a person", observer);
    }

    /// Pulls a lever at this tier or at the load generator for somebody, and notes what it did.
    pub(crate) fn pull(
        &mut self,
        lever: &Lever,
        tier: usize,
        by: &str,
        observer: &mut dyn Observer,
    ) {
        let name = lever.name();
        let kind = match self.act(lever, tier) {
            Ok(what) => EventKind::LeverPulled {
                lever: name.to_owned(),
                what,
                keys: lever.keys().into_iter().map(str::to_owned).collect(),
                by: by.to_owned(),
            },
            Err(problem) => {
                let what = format!("the lever `{name}` failed: {problem}");
                EventKind::Doubt { what }
            }
        };
        self.ledger.event(self.now, kind, observer);
    }

    fn act(&mut self, lever: &Lever, tier: usize) -> Result<String, String> {
        let now = self.now;
        match lever {
            Lever::ShedQueue => {
                let requests = self.tiers[tier].limiter.shed_queue(now);
                self.settle(tier);
                return Ok(lever.did(requests, 0));
            }
            Lever::Admit { share, hold, .. } if self.tiers[tier].edge.is_at(now, *share, *hold) => {
                return Ok(lever.found_nothing());
            }
            Lever::Admit { share, hold, ramp } => {
                self.tiers[tier].edge.admit(now, *share, *hold, *ramp);
            }
            Lever::Restart => {
                let (requests, connections) = self.restart(tier);
                return Ok(lever.did(requests, connections as usize));
            }
            Lever::Limiter(patch) if is_so(self.tiers[tier].limiter.config(), *patch) => {
                return Ok(lever.found_nothing());
            }
            Lever::Limiter(patch) => {
                let patched = self.tiers[tier].limiter.patch(now, *patch);
                patched.map_err(|error| error.to_string())?;
                self.settle(tier);
            }
            Lever::Budget { .. } | Lever::Retries { .. } => {
                return self.callers[0].layers.pull(lever);
            }
            Lever::Rate { rate } => self.set_rate(*rate),
        }
        Ok(lever.did(0, 0))
    }
}

/// Whether a limiter has everything already that a patch would give it.
fn is_so(config: &LimiterConfig, patch: LimiterPatch) -> bool {
    config.patched(patch).as_ref() == Ok(config)
}
