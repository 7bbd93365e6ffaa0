use std::sync::mpsc;

use goodput_control::ControlClient;
use goodput_policy::lever::Lever;

/// The control planes that a timeline acts on.
#[derive(Clone, Debug)]
pub struct Targets {
    tiers: Vec<(String, ControlClient)>,
    load: LoadTarget,
}

/// Where levers of the load generator go.
#[derive(Clone, Debug)]
pub enum LoadTarget {
    /// Nowhere: such a lever is a failure.
    None,
    /// To a control plane, in wall time.
    Control(ControlClient),
    /// To a load generator in this process, in scenario time.
    Channel(mpsc::Sender<Lever>),
}

/// A control plane that is not among the targets.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MissingTarget {
    /// There is no such tier.
    #[error("there is no control plane of a tier named `{name}`; there is {known}")]
    Tier {
        /// The tier asked for.
        name: String,
        /// The tiers that are there, in words.
        known: String,
    },
    /// There is no load generator.
    #[error("the lever `{0}` acts on the load generator, whose control plane was not given")]
    Load(String),
}

impl Targets {
    /// The tiers by name, outermost first, and the load generator.
    pub const fn new(tiers: Vec<(String, ControlClient)>, load: LoadTarget) -> Self {
        Self { tiers, load }
    }

    /// The same with connections of their own, for another runtime.
    #[must_use]
    pub(crate) fn with_own_connections(self) -> Self {
        let own = |(tier, client): (String, ControlClient)| (tier, client.with_own_connections());
        let load = match self.load {
            LoadTarget::Control(client) => LoadTarget::Control(client.with_own_connections()),
            LoadTarget::None | LoadTarget::Channel(_) => self.load,
        };
        Self { tiers: self.tiers.into_iter().map(own).collect(), load }
    }

    /// The tiers, outermost first.
    pub fn tiers(&self) -> &[(String, ControlClient)] {
        &self.tiers
    }

    /// Every control plane, with its name: the tiers, outermost first, and the load generator's.
    pub(crate) fn planes(&self) -> Vec<(String, ControlClient)> {
        let load = match &self.load {
            LoadTarget::Control(client) => Some(("load generator".to_owned(), client.clone())),
            LoadTarget::None | LoadTarget::Channel(_) => None,
        };
        self.tiers.iter().cloned().chain(load).collect()
    }

    /// Where levers of the load generator go.
    pub const fn load(&self) -> &LoadTarget {
        &self.load
    }

    /// The tier of that name; without a name the last one, which is the order-status server.
    ///
    /// # Errors
    ///
    /// Where there is no such tier.
    pub fn tier(&self, name: Option<&str>) -> Result<&(String, ControlClient), MissingTarget> {
        let found = match name {
            Some(name) => self.tiers.iter().find(|(tier, _)| tier == name),
            None => self.tiers.last(),
        };
        found.ok_or_else(|| {
            let known: Vec<_> = self.tiers.iter().map(|(tier, _)| format!("`{tier}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            MissingTarget::Tier { name: name.unwrap_or_default().to_owned(), known }
        })
    }
}
