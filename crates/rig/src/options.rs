use std::net::SocketAddr;
use std::sync::mpsc::Sender;

use goodput_clock::{Scale, Seed};
use goodput_control::Audit;
use goodput_control::api::Cause;
use goodput_load_generator::ControlConfig;
use goodput_scenario::Scenario;

/// What to run, and where.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The scenario, or one arm of it.
    pub scenario: Scenario,
    /// The arm's name, for the log.
    pub arm: Option<String>,
    /// Where randomness comes from; arms that are compared share it.
    pub seed: Seed,
    /// Scenario seconds per wall second.
    pub scale: Scale,
    /// The command that repeats the run, for the log.
    pub command: String,
    /// Where the load goes.
    pub target: Target,
    /// Where every command to a control plane of a tier that the rig starts is written down.
    pub audit: Audit,
    /// Who carries it out, for control planes that others use too.
    pub by: String,
    /// A control plane of the load generator, for scrapes and levers of others. Default none.
    pub load_control: Option<LoadControl>,
}

/// A control plane of a run's load generator, up for as long as the run.
#[derive(Clone, Debug)]
pub struct LoadControl {
    /// Where it listens, and whom it admits.
    pub config: ControlConfig,
    /// Whom to tell the address once it listens.
    pub bound: Option<Sender<SocketAddr>>,
}

impl RunOptions {
    /// Who asks control planes and why, for the run of this id.
    pub(crate) fn cause(&self, run: &str) -> Cause {
        let arm = self.arm.as_ref().map(|arm| format!(", arm {arm}")).unwrap_or_default();
        let why = format!("goodput run: scenario {}{arm}", self.scenario.name);
        Cause::new(self.by.clone(), why).of_run(run)
    }
}

/// Where the load goes.
#[derive(Clone, Debug, Default)]
pub enum Target {
    /// To servers that the rig starts on loopback, as the scenario's tiers say.
    #[default]
    Loopback,
    /// To servers that run already.
    Remote(Remote),
}

/// Servers that run already.
#[derive(Clone, Debug)]
pub struct Remote {
    /// Where requests go: `http://host:port`.
    pub url: String,
    /// The control planes that are known, by tier. Without one for a tier there is no view of it, and
    /// nothing can be injected there.
    pub tiers: Vec<RemoteTier>,
    /// The bearer token of the control planes.
    pub token: Option<String>,
}

/// The control plane of a tier that runs already.
#[derive(Clone, Debug)]
pub struct RemoteTier {
    /// The tier's name in the scenario.
    pub name: String,
    /// The address of its control plane: `http://host:port`.
    pub control: String,
}

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RigError {
    /// A server could not be started.
    #[error("tier `{tier}` cannot start: {reason}")]
    Server {
        /// The tier.
        tier: String,
        /// Why.
        reason: String,
    },
    /// The load generator could not be started.
    #[error("the load generator cannot start: {0}")]
    Generator(String),
    /// The target cannot be used.
    #[error("{0}")]
    Target(String),
}
