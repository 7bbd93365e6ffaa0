//! A running server: two listeners, each on a thread and a runtime of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread::JoinHandle;
use std::time::Instant;

use goodput_client::{Alarm, Client, ClientConfig, LayerMetrics, Unobserved, WallClock};
use goodput_clock::Rate;
use goodput_control::{Listener, server_plane};
use goodput_policy::invalid::InvalidConfig;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::book::OrderBook;
use crate::config::{GatewayConfig, Role, ServerConfig};
use crate::connections::{self, Command, Service};
use crate::gateway::Gateway;
use crate::intake::Intake;
use crate::metrics::Metrics;
use crate::orders;
use crate::plane::{Lent, UpstreamLayers};
use crate::tier::Tier;

/// A server that runs until it is shut down or dropped.
#[derive(Debug)]
pub struct Server {
    data_addr: SocketAddr,
    control: Listener,
    commands: mpsc::UnboundedSender<Command>,
    data_thread: Option<JoinHandle<()>>,
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The limiter's configuration cannot be.
    #[error("the limiter: {0}")]
    Limiter(#[from] InvalidConfig),
    /// A retry layer of the gateway cannot be.
    #[error("layer `{name}`: {invalid}")]
    Layer {
        /// The layer's name.
        name: String,
        /// What is wrong with it.
        invalid: InvalidConfig,
    },
    /// The data plane's address cannot be had.
    #[error(
        "cannot listen on {addr} for requests: {source}; choose another, such as 127.0.0.1:8080"
    )]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The control plane could not start.
    #[error("the control plane: {0}")]
    Control(#[from] goodput_control::StartError),
    /// The system gave no thread or no runtime.
    #[error("cannot start a thread or runtime: {0}")]
    Runtime(io::Error),
    /// The metrics could not be registered.
    #[error("cannot register the metrics: {0}")]
    Metrics(#[from] prometheus::Error),
    /// A value is out of range.
    #[error("{0}")]
    Range(String),
}

impl Server {
    /// Starts a server and returns once both listeners are bound.
    ///
    /// # Errors
    ///
    /// Where the configuration is not valid, or an address cannot be had.
    pub fn start(config: ServerConfig) -> Result<Self, StartError> {
        config.limiter.validate()?;
        let metrics = Metrics::new(&wall_timeouts(&config))?;
        let clock = WallClock::new(Instant::now(), config.scale);
        let tier = Arc::new(Tier::new(config.limiter.clone(), clock, config.seed, metrics));
        let runtime = build_runtime(&config).map_err(StartError::Runtime)?;
        let inside = runtime.enter();
        let (service, layers) = build_service(&config, &tier)?;
        let (listener, data_addr) = bind(&config)?;
        let alarm = Alarm::new().map_err(StartError::Runtime)?;
        let client = layers.as_ref().map(|layers| Arc::clone(&layers.client));
        let upstream = client.map(|client| Alarm::new().map(|alarm| (client, alarm)));
        let upstream = upstream.transpose().map_err(StartError::Runtime)?;
        drop(inside);
        let (commands, inbox) = mpsc::unbounded_channel();
        let open = Arc::new(AtomicUsize::new(0));
        let lent =
            Lent::new(&config, Arc::clone(&tier), layers, commands.clone(), Arc::clone(&open));
        let plane = server_plane(Arc::new(lent), config.audit);
        let control = Listener::start(config.control_addr, config.guard, plane)?;
        let limit = config.bounds.connections.unwrap_or_else(default_connections);
        let data_thread = std::thread::Builder::new()
            .name("data-plane".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    let driver = tokio::spawn(Arc::clone(&tier).drive(alarm));
                    if let Some((client, alarm)) = upstream {
                        tokio::spawn(async move { client.drive(alarm).await });
                    }
                    let drop_all = || tier.drop_all();
                    connections::serve(listener, service, limit, inbox, &open, drop_all).await;
                    driver.abort();
                });
            })
            .map_err(StartError::Runtime)?;
        Ok(Self { data_addr, control, commands, data_thread: Some(data_thread) })
    }

    /// Where the data plane listens.
    pub const fn data_addr(&self) -> SocketAddr {
        self.data_addr
    }

    /// Where the control plane listens.
    pub fn control_addr(&self) -> SocketAddr {
        self.control.addr()
    }

    /// Ends the server: every connection is dropped, and both threads have ended when this returns.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Shutdown);
        if let Some(thread) = self.data_thread.take() {
            // A panic there has been printed already.
            let _ = thread.join();
        }
    }
}

/// What the data plane serves; must be called inside its runtime.
fn build_service(
    config: &ServerConfig,
    tier: &Arc<Tier>,
) -> Result<(Service, Option<UpstreamLayers>), StartError> {
    let intake = Intake::new(Arc::clone(tier), config.bounds);
    let (router, layers) = match &config.role {
        Role::OrderStatus { orders } => {
            if *orders == 0 || *orders > OrderBook::MAX_ORDERS {
                return Err(StartError::Range(format!(
                    "an order book of {orders} orders: must be from 1 to {}, such as 100000",
                    OrderBook::MAX_ORDERS
                )));
            }
            let book = OrderBook::new(config.seed, *orders);
            (orders::router(book, intake), None)
        }
        Role::Gateway(gateway) => {
            let client = Arc::new(build_client(config, gateway, tier)?);
            let metrics =
                LayerMetrics::new(tier.metrics.registry(), &gateway.layers, config.scale)?;
            let layers = UpstreamLayers { client: Arc::clone(&client), metrics };
            let upstream = gateway.upstream.clone();
            let gateway = Gateway::new(intake, client, upstream);
            (gateway.router(), Some(layers))
        }
    };
    Ok((TowerToHyperService::new(router), layers))
}

fn build_client(
    config: &ServerConfig,
    gateway: &GatewayConfig,
    tier: &Tier,
) -> Result<Client<Unobserved>, StartError> {
    if gateway.layers.last().is_none_or(|innermost| innermost.timeout.is_none()) {
        return Err(StartError::Range(
            "a gateway needs a retry layer, and the innermost one a time-out, such as \"5s\""
                .to_owned(),
        ));
    }
    for layer in &gateway.layers {
        let name = &layer.name;
        layer.validate().map_err(|invalid| StartError::Layer { name: name.clone(), invalid })?;
    }
    let connect_rate = match gateway.connect_rate {
        Some(rate) => rate,
        None => Rate::new(CONNECT_RATE).map_err(|error| StartError::Range(error.to_string()))?,
    };
    let client = ClientConfig {
        target: gateway.upstream.clone(),
        protocol: gateway.protocol,
        clients: 1,
        layers: gateway.layers.clone(),
        pool: gateway.pool,
        max_connections: gateway.connections,
        connect_rate,
        seed: config.seed,
        keep_answers: Some(ANSWER_BYTES),
    };
    Ok(Client::new(client, tier.clock, Unobserved))
}

fn build_runtime(config: &ServerConfig) -> io::Result<Runtime> {
    let workers = config.workers.get();
    let mut builder = if workers == 1 {
        tokio::runtime::Builder::new_current_thread()
    } else {
        tokio::runtime::Builder::new_multi_thread()
    };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    builder.thread_name("data-plane").enable_all().build()
}

/// Binds the data plane's listener; must be called inside its runtime.
fn bind(config: &ServerConfig) -> Result<(TcpListener, SocketAddr), StartError> {
    let addr = config.data_addr;
    let failed = |source| StartError::Bind { addr, source };
    let listener = connections::listen(addr, config.bounds.backlog).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

fn wall_timeouts(config: &ServerConfig) -> Vec<std::time::Duration> {
    config.timeouts.iter().map(|timeout| config.scale.to_wall(*timeout)).collect()
}

/// What the process may have open, less what everything else needs.
fn default_connections() -> usize {
    let files = goodput_client::raise_file_limit();
    files.saturating_sub(FILES_KEPT).max(16)
}

/// New connections per second to an upstream, unless told otherwise.
const CONNECT_RATE: f64 = 10_000.0;
/// The largest answer that a gateway passes on.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Files that are kept for the control plane, the audit log and the rest of the process.
const FILES_KEPT: usize = 512;
