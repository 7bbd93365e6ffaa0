//! What a load generator is started with.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use goodput_client::TargetError;
use goodput_clock::{Scale, Seed};
use goodput_control::api::RunRequest;
use goodput_control::{Audit, Guard};
use goodput_scenario::Scenario;

/// What a load generator is started with.
#[derive(Debug)]
pub struct GeneratorConfig {
    /// Its load and its client are carried out, for its duration.
    pub scenario: Scenario,
    /// Where the load goes, such as `http://127.0.0.1:8080`.
    pub target: String,
    /// Where arrivals, order ids and jitter come from.
    pub seed: Seed,
    /// Scenario seconds per wall second.
    pub scale: Scale,
    /// When scenario time begins. A little in the future leaves time to start.
    pub epoch: Instant,
    /// How long the load goes on after the scenario's end, in scenario time and uncounted, for what is
    /// open then to be seen to end; it stops earlier once nothing is.
    pub watch: Duration,
    /// How long requests in flight may take to end after the last arrival, in wall time.
    pub drain: Duration,
    /// The control plane; none where the caller holds the only handle.
    pub control: Option<ControlConfig>,
    /// The run that the load belongs to, which holds the lease of the control plane to the end; none
    /// where another may take it.
    pub run: Option<RunRequest>,
}

impl GeneratorConfig {
    /// A load that begins shortly, without a control plane, at the scenario's own seed.
    pub fn new(scenario: Scenario, target: impl Into<String>) -> Self {
        Self {
            seed: scenario.seed,
            scenario,
            target: target.into(),
            scale: Scale::REAL,
            epoch: Instant::now() + Duration::from_millis(20),
            watch: Duration::ZERO,
            drain: Duration::from_secs(5),
            control: None,
            run: None,
        }
    }
}

/// Where the control plane of a load generator listens, and whom it admits.
#[derive(Clone, Debug)]
pub struct ControlConfig {
    /// The address, by default `127.0.0.1:9902`.
    pub bind: SocketAddr,
    /// Token and hosts.
    pub guard: Guard,
    /// Where commands are written down.
    pub audit: Audit,
}

impl Default for ControlConfig {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from(([127, 0, 0, 1], 9902)),
            guard: Guard::loopback(),
            audit: Audit::off(),
        }
    }
}

/// Why a load generator cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The target cannot be used.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// What requests ask for cannot be sent.
    #[error("load.request.{key}: `{value}` is not {expected}")]
    Request {
        /// The key of the scenario.
        key: &'static str,
        /// Its value.
        value: String,
        /// What is valid, with an example.
        expected: &'static str,
    },
    /// The control plane cannot listen.
    #[error(transparent)]
    Control(#[from] goodput_control::StartError),
    /// Thread, runtime or timer cannot be made.
    #[error("cannot start the load generator's thread: {0}")]
    Thread(#[from] std::io::Error),
    /// The metrics cannot be made of this client's layers.
    #[error("cannot make the metrics: {0}")]
    Metrics(#[from] prometheus::Error),
}
