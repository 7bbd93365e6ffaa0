//! What the load, its handle and its control plane share.
//!
//! The load's thread publishes its figures here at every tick; others read them without touching
//! it. Levers for layers act on the client at once; levers for the schedule are taken by the load's
//! thread when it is next awake.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use goodput_client::{Client, WallClock};
use goodput_clock::Rate;
use goodput_control::LoadControl;
use goodput_control::api::{Held, LoadState, counter_views};
use goodput_control::wall::{layer_views, lever_to_scenario};
use goodput_policy::lever::Lever;
use goodput_policy::retry::{LayerConfig, LayerCounters, Layers};
use goodput_scenario::Load;
use tokio::sync::Notify;

use crate::fold::Fold;
use crate::metrics::Metrics;

/// What the load, its handle and its control plane share.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) client: Client<Fold>,
    pub(crate) metrics: Metrics,
    pub(crate) clock: WallClock,
    pub(crate) scenario: String,
    pub(crate) target: String,
    /// The load as configured.
    pub(crate) load: Load,
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
    /// End the load; what is in flight may still end.
    Stop,
    /// End the load and wait for nothing.
    Abandon,
}

/// What is shown of a load.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) load: LoadFigures,
    pub(crate) counters: Vec<LayerCounters>,
    pub(crate) configs: Vec<LayerConfig>,
}

/// What the load's thread knows of the load at a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LoadFigures {
    /// New requests per second of scenario time.
    pub(crate) rate: f64,
    pub(crate) halted: bool,
    pub(crate) offered: u64,
    pub(crate) good: u64,
    pub(crate) in_flight: u64,
    pub(crate) connections: u64,
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    /// Asks the load's thread to do something, and shows it as done.
    pub(crate) fn call(&self, command: Command) {
        {
            let mut commands = locked(&self.commands);
            let shown = &mut locked(&self.figures).load;
            match command {
                Command::Rate(rate) => shown.rate = rate.per_second(),
                Command::Scheduled => shown.rate = self.load.rate_at(self.clock.now()),
                Command::Halt | Command::Stop | Command::Abandon => shown.halted = true,
                Command::Resume => shown.halted = false,
            }
            commands.push(command);
        }
        self.called.notify_one();
    }

    /// Shows the figures of a tick. While somebody else has them, nothing is shown: the load does not
    /// wait for readers. What a command has changed stays as it is shown until it has been obeyed.
    pub(crate) fn publish(&self, load: LoadFigures, layers: &Layers) {
        let (Ok(commands), Ok(mut figures)) = (self.commands.try_lock(), self.figures.try_lock())
        else {
            return;
        };
        let LoadFigures { rate, halted, .. } =
            if commands.is_empty() { load } else { figures.load };
        figures.load = LoadFigures { rate, halted, ..load };
        figures.counters.clear();
        figures.counters.extend_from_slice(layers.counters());
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
    fn state(&self, held: Held) -> LoadState {
        let board = &self.0;
        let Figures { load, counters, configs } = locked(&board.figures).clone();
        let scale = board.clock.scale();
        LoadState {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: board.scenario.clone(),
            target: board.target.clone(),
            elapsed: Instant::now().saturating_duration_since(board.clock.epoch()).as_secs_f64(),
            speed: scale.speed(),
            rate: scale.rate_to_wall(load.rate),
            halted: load.halted,
            layers: layer_views(&configs, scale),
            layer_counters: counter_views(&counters),
            offered: load.offered,
            good: load.good,
            in_flight: load.in_flight,
            connections: load.connections,
            run: held.run,
            commands: held.commands,
        }
    }

    fn metrics(&self) -> String {
        self.0.metrics.text()
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        self.0.pull_scenario(&lever_to_scenario(lever, self.0.clock.scale()))
    }

    fn halt(&self) {
        self.0.call(Command::Halt);
    }

    fn resume(&self) {
        self.0.call(Command::Resume);
    }

    fn reset_layers(&self) {
        for config in &self.0.layers {
            let name = Some(config.name.as_str());
            self.0.on_layers(|layers| {
                layers.set_retries(name, config.retries) && layers.set_budget(name, config.budget)
            });
        }
    }

    fn reset_rate(&self) {
        self.0.call(Command::Scheduled);
    }
}
