//! The servers that a run acts on: started on loopback, or running elsewhere.

use std::time::Duration;

use goodput_client::Target as Address;
use goodput_clock::Seed;
use goodput_control::api::{Cause, ServerState};
use goodput_control::wall::{layer_views, limiter_view, patch_to_wall};
use goodput_control::{ClientError, ControlClient, Token};
use goodput_fault_injector::{LeaseTerms, RunLeases};
use goodput_order_status::{GatewayConfig, Role, Server, ServerConfig};
use goodput_policy::limiter::LimiterPatch;
use goodput_scenario::{Protocol, Scenario, Tier};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::options::{Remote, RigError, RunOptions, Target};
use crate::quiet;

/// The servers of a run.
#[derive(Debug)]
pub(crate) struct Stage {
    /// Where the load goes.
    pub(crate) target: String,
    /// The control planes that are known, by tier, outermost first.
    pub(crate) tiers: Vec<(String, ControlClient)>,
    /// How many commands each had carried out, by whomever, when the run had made sure of it.
    pub(crate) commands: Vec<u64>,
    /// The run's leases of them.
    pub(crate) leases: RunLeases,
    /// What is said to them for the run.
    pub(crate) cause: Cause,
    /// What was started for the run.
    servers: Vec<Server>,
}

impl Stage {
    /// Starts the tiers on loopback, or looks the remote ones up and puts the scenario's limiters in
    /// force there. Either way the run holds their leases from then on.
    ///
    /// # Errors
    ///
    /// Where one cannot be started or used: it is not there, another run uses it, it runs otherwise than
    /// the scenario says, or a load is there already.
    pub(crate) async fn set(options: &RunOptions, run: &str) -> Result<Self, RigError> {
        let cause = options.cause(run);
        match &options.target {
            Target::Loopback => Self::on_loopback(options, cause).await,
            Target::Remote(remote) => Self::elsewhere(options, remote, cause).await,
        }
    }

    async fn on_loopback(options: &RunOptions, cause: Cause) -> Result<Self, RigError> {
        let scenario = &options.scenario;
        let mut servers: Vec<Server> = Vec::new();
        let mut tiers = Vec::new();
        for (index, tier) in scenario.tiers.iter().enumerate().rev() {
            let failed = |reason: String| RigError::Server { tier: tier.name.clone(), reason };
            let role = match servers.last() {
                None => Role::OrderStatus { orders: tier.orders },
                Some(next) => Role::Gateway(gateway(scenario, tier, next).map_err(failed)?),
            };
            let config = ServerConfig {
                role,
                audit: options.audit.clone(),
                limiter: tier.limiter.clone(),
                scale: options.scale,
                // Of its own, so that no two tiers draw the same service times.
                seed: Seed(options.seed.stream(&tier.name).below(u64::MAX)),
                timeouts: callers_timeouts(scenario, index),
                ..ServerConfig::default()
            };
            let server = Server::start(config).map_err(|error| failed(error.to_string()))?;
            let control = ControlClient::new(&server.control_addr().to_string(), None)
                .map_err(|error| failed(error.to_string()))?
                .with_timeout(PATIENCE);
            tiers.insert(0, (tier.name.clone(), control));
            servers.push(server);
        }
        let target = servers.last().map(|outermost| format!("http://{}", outermost.data_addr()));
        let target =
            target.ok_or_else(|| RigError::Target("the scenario has no tier".to_owned()))?;
        let leases = lease(options, &tiers, &cause).await?;
        Ok(Self { target, commands: vec![0; tiers.len()], tiers, leases, cause, servers })
    }

    async fn elsewhere(
        options: &RunOptions,
        remote: &Remote,
        cause: Cause,
    ) -> Result<Self, RigError> {
        let address = Address::resolve(&remote.url).map_err(problem)?;
        match timeout(PATIENCE, TcpStream::connect(address.address())).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                return Err(RigError::Target(format!(
                    "nothing accepts connections at {}: {error}; is the server running?",
                    remote.url
                )));
            }
            Err(_) => {
                let url = &remote.url;
                return Err(RigError::Target(format!("{url} accepts no connection within 2 s")));
            }
        }
        let token = remote.token.as_deref().map(Token::new).transpose().map_err(problem)?;
        let mut found = Vec::new();
        for tier in &options.scenario.tiers {
            let Some(known) = remote.tiers.iter().find(|known| known.name == tier.name) else {
                continue;
            };
            let control = ControlClient::new(&known.control, token.clone())
                .map_err(problem)?
                .with_timeout(PATIENCE);
            found.push((tier, control));
        }
        let tiers: Vec<_> =
            found.iter().map(|(tier, control)| (tier.name.clone(), control.clone())).collect();
        let leases = lease(options, &tiers, &cause).await?;
        let (target, commands) = (remote.url.clone(), Vec::new());
        let mut stage = Self { target, tiers, commands, leases, cause, servers: Vec::new() };
        match stage.take_over(options, &found).await {
            Ok(()) => Ok(stage),
            Err(error) => {
                let left = stage.strike().await;
                let left = left.iter().map(|tier| format!("; `{tier}` could not be put back"));
                Err(RigError::Target(format!("{error}{}", left.collect::<String>())))
            }
        }
    }

    /// Makes sure of servers that run already, and puts the scenario's limiters in force there. All are
    /// checked before any is changed.
    async fn take_over(
        &mut self,
        options: &RunOptions,
        found: &[(&Tier, ControlClient)],
    ) -> Result<(), RigError> {
        for (tier, control) in found {
            let state = control.server_state().await.map_err(problem)?;
            check_adoptable(options, tier, &state)?;
            self.commands.push(state.commands.count);
        }
        quiet::check(&self.tiers).await?;
        for (tier, control) in found {
            adopt(options, tier, control, &self.cause).await?;
        }
        Ok(())
    }

    /// Whether the tiers run in this process.
    pub(crate) const fn runs_here(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Gives the leases of servers that run elsewhere back, with which ends what the run has set there,
    /// and shuts down what it started. Returns the tiers where that could not be confirmed.
    pub(crate) async fn strike(self) -> Vec<String> {
        let mut unconfirmed = Vec::new();
        if self.servers.is_empty() {
            for (name, shown) in self.leases.release(&self.cause).await {
                let is_back = match shown {
                    Ok(state) => holds_nothing_of(&state, &self.cause),
                    // A process that has ended has taken with it whatever was set there.
                    Err(ClientError::Refused(_)) => true,
                    Err(_) => false,
                };
                if !is_back {
                    unconfirmed.push(name);
                }
            }
        }
        // The outermost first, so that no gateway is left without its upstream.
        self.servers.into_iter().rev().for_each(Server::shutdown);
        unconfirmed
    }
}

/// Takes the leases of a run's tiers.
async fn lease(
    options: &RunOptions,
    tiers: &[(String, ControlClient)],
    cause: &Cause,
) -> Result<RunLeases, RigError> {
    let name = &options.scenario.name;
    let taken = RunLeases::take(tiers, name, LeaseTerms::default(), cause).await;
    taken.map_err(|error| RigError::Target(format!("tier {error}")))
}

/// Whether a state read back shows neither a lease nor a fault of the run.
fn holds_nothing_of(state: &Value, cause: &Cause) -> bool {
    let Ok(state) = serde_json::from_value::<ServerState>(state.clone()) else { return false };
    let owner = cause.owner();
    state.run.is_none_or(|run| Some(run.id) != cause.run)
        && state.faults.iter().all(|fault| fault.owner != owner)
}

/// How a gateway of the scenario calls the next tier.
fn gateway(scenario: &Scenario, tier: &Tier, next: &Server) -> Result<GatewayConfig, String> {
    let upstream = Address::resolve(&format!("http://{}", next.data_addr()));
    Ok(GatewayConfig {
        protocol: match scenario.client.protocol {
            Protocol::Http1 => goodput_client::Protocol::Http1,
            Protocol::Http2 => goodput_client::Protocol::HTTP2,
        },
        layers: tier.layers.clone(),
        pool: scenario.client.pool,
        ..GatewayConfig::new(upstream.map_err(|error| error.to_string())?)
    })
}

/// The time-outs of whoever calls the tier at `index`.
fn callers_timeouts(scenario: &Scenario, index: usize) -> Vec<Duration> {
    let layers = match index.checked_sub(1) {
        None => &scenario.client.layers,
        Some(caller) => &scenario.tiers[caller].layers,
    };
    layers.iter().filter_map(|layer| layer.timeout).collect()
}

/// Puts the scenario's limiter in force at a server that runs already.
async fn adopt(
    options: &RunOptions,
    tier: &Tier,
    control: &ControlClient,
    cause: &Cause,
) -> Result<(), RigError> {
    let patch = patch_to_wall(LimiterPatch::to(&tier.limiter), options.scale);
    let patched = control.patch_limiter(&patch, cause).await;
    patched.map(drop).map_err(problem)
}

/// Checks what cannot be changed while a server runs.
fn check_adoptable(options: &RunOptions, tier: &Tier, state: &ServerState) -> Result<(), RigError> {
    let name = &tier.name;
    let speed = options.scale.speed();
    if (state.speed - speed).abs() > f64::EPSILON {
        return Err(RigError::Target(format!(
            "tier `{name}` runs at speed {}, and this run at {speed}; start it with `--speed {speed}`",
            state.speed
        )));
    }
    if let Some(fault) = state.faults.first() {
        return Err(RigError::Target(format!(
            "tier `{name}` has the fault `{}` in force already; clear it with `goodput fault clear {}`",
            fault.name, fault.name
        )));
    }
    let wanted = limiter_view(&tier.limiter, options.scale);
    let margin = tier.limiter.drop_expired.then_some("expiry_margin");
    for key in ["service", "charge"].into_iter().chain(margin) {
        if state.limiter[key] != wanted[key] {
            return Err(RigError::Target(format!(
                "tier `{name}` runs with {key} {}, and the scenario says {}; start it with `--{}`",
                state.limiter[key],
                wanted[key],
                key.replace('_', "-")
            )));
        }
    }
    check_layers(options, tier, state)
}

/// Checks that a gateway retries as the scenario says. Names are reports' alone, and a gateway is one
/// client, so that it has no use for the scope of a budget.
fn check_layers(options: &RunOptions, tier: &Tier, state: &ServerState) -> Result<(), RigError> {
    let name = &tier.name;
    if state.layers.len() != tier.layers.len() {
        return Err(RigError::Target(format!(
            "tier `{name}` is a server of role {} with {} retry layers, and the scenario says {}; \
             {}",
            state.role,
            state.layers.len(),
            tier.layers.len(),
            if tier.layers.is_empty() {
                "write a gateway as a [[tier]] with a [[tier.layer]], and what is behind it as the \
                 [[tier]] after it"
            } else {
                "start it as the scenario has it, such as with `--role gateway`"
            }
        )));
    }
    let wanted = layer_views(&tier.layers, options.scale);
    for (found, wanted) in state.layers.iter().zip(&wanted) {
        let differs = LAYER_KEYS.into_iter().find(|key| found[*key] != wanted[*key]);
        if let Some(key) = differs {
            return Err(RigError::Target(format!(
                "tier `{name}` retries with {key} {}, and the scenario says {} (in wall time); start \
                 it so, such as with `--{}`",
                found[key],
                wanted[key],
                key.replace('_', "-")
            )));
        }
    }
    Ok(())
}

fn problem(error: impl std::fmt::Display) -> RigError {
    RigError::Target(error.to_string())
}

/// What tells one retry layer from another.
const LAYER_KEYS: [&str; 5] = ["timeout", "retries", "backoff", "retry_on", "budget"];
/// How long a server may take to answer, in wall time.
const PATIENCE: Duration = Duration::from_secs(2);
