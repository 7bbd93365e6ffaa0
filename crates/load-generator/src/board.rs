//! What the load, its handle and its control plane share.
//!
//! The load's thread publishes its figures here at every tick; others read them without touching
//! it. Levers for layers act on the client at once; levers for the schedule are taken by the load's
//! thread when it is next awake.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use goodput_client::Client;
use goodput_clock::{Rate, Scale};
use goodput_control::LoadControl;
use goodput_control::api::{LoadState, layer_views};
use goodput_control::wall::lever_to_scenario;
use goodput_policy::lever::Lever;
use goodput_policy::retry::{LayerConfig, LayerCounters, Layers};
use tokio::sync::Notify;

use crate::fold::Fold;
use crate::metrics::Metrics;

/// What the load, its handle and its control plane share.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) client: Client<Fold>,
    pub(crate) metrics: Metrics,
    pub(crate) scale: Scale,
    pub(crate) epoch: Instant,
    pub(crate) scenario: String,
    pub(crate) target: String,
    /// The layers as configured.
    pub(crate) layers: Vec<LayerConfig>,
    /// Wakes the load's thread for a command.
    pub(crate) called: Notify,
    pub(crate) commands: Mutex<Vec<Command>>,
    pub(crate) figures: Mutex<Figures>,
}

/// What the load's thread is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    /// Go on at this rate.
    Rate(Rate),
    /// Go on by the schedule as configured.
    Scheduled,
    /// Send no new requests.
    Halt,
    /// Go on with new requests.
    Resume,
    /// End the load.
    Stop,
}

/// Figures of the last tick.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// New requests per second of scenario time.
    pub(crate) rate: f64,
    pub(crate) halted: bool,
    pub(crate) offered: u64,
    pub(crate) good: u64,
    pub(crate) in_flight: u64,
    pub(crate) connections: u64,
    pub(crate) counters: Vec<LayerCounters>,
    pub(crate) configs: Vec<LayerConfig>,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    /// Asks the load's thread to do something, and shows it as done.
    pub(crate) fn call(&self, command: Command) {
        {
            let mut figures = locked(&self.figures);
            match command {
                Command::Rate(rate) => figures.rate = rate.per_second(),
                Command::Halt | Command::Stop => figures.halted = true,
                Command::Resume => figures.halted = false,
                Command::Scheduled => {}
            }
        }
        locked(&self.commands).push(command);
        self.called.notify_one();
    }

    /// Pulls a lever of scenario time, and says what it did.
    ///
    /// # Errors
    ///
    /// Where it is a server's lever, or names a layer that is not there.
    pub(crate) fn pull_scenario(&self, lever: &Lever) -> Result<String, String> {
        if let Lever::Rate { rate } = lever {
            self.call(Command::Rate(*rate));
            return Ok(lever.did(0, 0));
        }
        self.on_layers(|layers| layers.pull(lever))
    }

    fn on_layers<T>(&self, act: impl FnOnce(&mut Layers) -> T) -> T {
        let (outcome, configs) = self.client.with_layers(|layers, _| {
            let outcome = act(layers);
            (outcome, layers.configs().to_vec())
        });
        locked(&self.figures).configs = configs;
        outcome
    }
}

/// The board as its control plane sees it: in wall time.
#[derive(Debug)]
pub(crate) struct Controlled(pub(crate) Arc<Board>);

impl LoadControl for Controlled {
    fn state(&self) -> LoadState {
        let board = &self.0;
        let figures = locked(&board.figures).clone();
        let (layers, layer_counters) = layer_views(&figures.configs, &figures.counters);
        LoadState {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: board.scenario.clone(),
            target: board.target.clone(),
            elapsed: Instant::now().saturating_duration_since(board.epoch).as_secs_f64(),
            speed: board.scale.speed(),
            rate: board.scale.rate_to_wall(figures.rate),
            halted: figures.halted,
            layers,
            layer_counters,
            offered: figures.offered,
            good: figures.good,
            in_flight: figures.in_flight,
            connections: figures.connections,
        }
    }

    fn metrics(&self) -> String {
        self.0.metrics.text()
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        self.0.pull_scenario(&lever_to_scenario(lever, self.0.scale))
    }

    fn halt(&self) {
        self.0.call(Command::Halt);
    }

    fn resume(&self) {
        self.0.call(Command::Resume);
    }

    fn reset(&self) {
        for config in &self.0.layers {
            let name = Some(config.name.as_str());
            self.0.on_layers(|layers| {
                layers.set_retries(name, config.retries) && layers.set_budget(name, config.budget)
            });
        }
        self.0.call(Command::Scheduled);
        self.0.call(Command::Resume);
    }
}
