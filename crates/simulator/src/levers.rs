//! Levers, as the timeline or a person pulls them.

use goodput_policy::lever::Lever;
use goodput_runlog::{EventKind, Observer};

use crate::simulation::Simulation;

impl Simulation<'_> {
    /// Pulls a lever for a person: at the load generator, or at the last tier.
    pub(crate) fn pull_by_hand(&mut self, lever: &Lever, observer: &mut dyn Observer) {
        let last = self.tiers.len() - 1;
        self.pull(lever, last, observer);
    }

    /// Pulls a lever at this tier or at the load generator, and notes what it did.
    pub(crate) fn pull(&mut self, lever: &Lever, tier: usize, observer: &mut dyn Observer) {
        let name = lever.name();
        let kind = match self.act(lever, tier) {
            Ok(what) => EventKind::LeverPulled { lever: name.to_owned(), what },
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
                let count = self.tiers[tier].limiter.shed_queue(now);
                self.settle(tier);
                Ok(format!("refused {count} requests"))
            }
            Lever::Admit { share, hold, ramp } => {
                self.tiers[tier].edge.admit(now, *share, *hold, *ramp);
                Ok(format!("admits {share} of the traffic"))
            }
            Lever::Restart => {
                let (requests, connections) = self.restart(tier);
                Ok(format!("dropped {requests} requests and {connections} connections"))
            }
            Lever::Limiter(patch) => {
                let patched = self.tiers[tier].limiter.patch(now, *patch);
                patched.map_err(|error| error.to_string())?;
                self.settle(tier);
                Ok("changed the limiter".to_owned())
            }
            Lever::Budget { layer, budget } => {
                let found = self.callers[0].layers.set_budget(layer.as_deref(), *budget);
                let budget = serde_json::to_string(budget).unwrap_or_default();
                self.at_layer(found, layer.as_deref(), &format!("budget is now {budget}"))
            }
            Lever::Retries { layer, retries } => {
                let found = self.callers[0].layers.set_retries(layer.as_deref(), *retries);
                self.at_layer(found, layer.as_deref(), &format!("retries are now {retries}"))
            }
            Lever::Rate { rate } => {
                self.set_rate(*rate);
                Ok(format!("rate is now {rate}"))
            }
        }
    }

    fn at_layer(&self, found: bool, layer: Option<&str>, did: &str) -> Result<String, String> {
        match layer {
            _ if found => {
                let of = layer.map_or("all layers".to_owned(), |layer| format!("layer `{layer}`"));
                Ok(format!("{did} at {of}"))
            }
            layer => {
                let configs = self.callers[0].layers.configs().iter();
                let names: Vec<_> = configs.map(|layer| format!("`{}`", layer.name)).collect();
                let layer = layer.unwrap_or_default();
                Err(format!("there is no layer `{layer}`; there is {}", names.join(", ")))
            }
        }
    }
}
