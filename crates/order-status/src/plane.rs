//! What the server lends its control plane. The wire speaks wall time, the tier scenario time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use goodput_client::{Client, LayerMetrics, Unobserved, resident_memory};
use goodput_clock::{Ratio, Scale};
use goodput_control::api::{Held, ServerState};
use goodput_control::{ServerControl, wall};
use goodput_policy::fault::Effect;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::LimiterPatch;
use tokio::sync::mpsc;

use crate::config::ServerConfig;
use crate::connections::Command;
use crate::tier::Tier;

/// The server as its control plane sees it.
#[derive(Debug)]
pub(crate) struct Lent {
    role: &'static str,
    instance: String,
    tier: Arc<Tier>,
    commands: mpsc::UnboundedSender<Command>,
    connections: Arc<AtomicUsize>,
    layers: Option<UpstreamLayers>,
}

/// The retry layers of a gateway, for its state and its metrics.
#[derive(Debug)]
pub(crate) struct UpstreamLayers {
    pub(crate) client: Arc<Client<Unobserved>>,
    pub(crate) metrics: LayerMetrics,
}

impl UpstreamLayers {
    fn view(&self, scale: Scale) -> Vec<serde_json::Value> {
        self.client.with_layers(|layers, _| wall::layer_views(layers.configs(), scale))
    }
}

impl Lent {
    pub(crate) fn new(
        config: &ServerConfig,
        tier: Arc<Tier>,
        layers: Option<UpstreamLayers>,
        commands: mpsc::UnboundedSender<Command>,
        connections: Arc<AtomicUsize>,
    ) -> Self {
        Self { role: config.role.name(), instance: instance(), tier, commands, connections, layers }
    }

    /// Drops everything in the limiter at once, and has the data plane drop the connections; says how
    /// many requests there were.
    fn restart(&self) -> usize {
        let requests = self.tier.restart();
        // A data plane that is gone has no connections left.
        let _ = self.commands.send(Command::Restart);
        requests
    }
}

impl ServerControl for Lent {
    fn state(&self, held: Held) -> ServerState {
        let clock = &self.tier.clock;
        let view = self.tier.view();
        let reading = view.reading;
        ServerState {
            role: self.role.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: self.instance.clone(),
            restarts: view.restarts,
            uptime: view.uptime.as_secs_f64(),
            speed: clock.scale().speed(),
            memory: resident_memory(),
            limiter: wall::limiter_view(&view.config, clock.scale()),
            layers: self.layers.as_ref().map_or_else(Vec::new, |layers| layers.view(clock.scale())),
            slots: reading.slots,
            capacity: Some(reading.capacity).filter(|capacity| capacity.is_finite()),
            admitted: reading.admitted,
            queued: reading.queued as u64,
            in_service: reading.in_service as u64,
            oldest_age: reading.oldest_age.as_secs_f64(),
            counters: view.counters,
            queue_delay: view.queue_delay,
            faults: held.faults,
            run: held.run,
            commands: held.commands,
        }
    }

    fn metrics(&self) -> String {
        if let Some(UpstreamLayers { client, metrics }) = &self.layers {
            let now = self.tier.clock.now();
            client.with_layers(|layers, _| {
                // A gateway does not know the rate that it is offered: the mean since its start
                // stands for it.
                let calls = layers.counters().first().map_or(0, |outermost| outermost.first);
                metrics.update(now, layers, calls as f64 / now.as_secs_f64().max(1.0));
            });
        }
        // What is registered at start can always be encoded.
        self.tier.metrics.render(self.tier.gauges()).unwrap_or_default()
    }

    fn set_effect(&self, effect: Effect) {
        self.tier.set_effect(effect);
    }

    fn limiter(&self) -> LimiterPatch {
        let limiter = LimiterPatch::to(&self.tier.limiter());
        wall::patch_to_wall(limiter, self.tier.clock.scale())
    }

    fn patch_limiter(&self, patch: LimiterPatch) -> Result<(), String> {
        let patch = wall::patch_to_scenario(patch, self.tier.clock.scale());
        self.tier.patch(patch).map_err(|error| error.to_string())
    }

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        let lever = wall::lever_to_scenario(lever, self.tier.clock.scale());
        match &lever {
            Lever::ShedQueue => return Ok(lever.did(self.tier.shed_queue(), 0)),
            Lever::Admit { share, hold, .. } if self.tier.admits(*share, *hold) => {
                return Ok(lever.found_nothing());
            }
            Lever::Admit { share, hold, ramp } => self.tier.admit(*share, *hold, *ramp),
            Lever::Restart => {
                let connections = self.connections.load(Ordering::Relaxed);
                let requests = self.restart();
                return Ok(lever.did(requests, connections));
            }
            Lever::Limiter(patch)
                if self.tier.limiter().patched(*patch) == Ok(self.tier.limiter()) =>
            {
                return Ok(lever.found_nothing());
            }
            Lever::Limiter(patch) => {
                self.tier.patch(*patch).map_err(|error| error.to_string())?;
            }
            Lever::Budget { .. } | Lever::Retries { .. } | Lever::Rate { .. } => {
                return Err(format!("the lever `{}` acts on the load generator", lever.name()));
            }
        }
        Ok(lever.did(0, 0))
    }

    fn admit_all(&self) {
        self.tier.admit(Ratio::ONE, None, Duration::ZERO);
    }

    fn shed_queue(&self) -> usize {
        self.tier.shed_queue()
    }
}

/// A name that no other process has: its number and the nanosecond of its start.
fn instance() -> String {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", std::process::id(), unix.as_nanos())
}
