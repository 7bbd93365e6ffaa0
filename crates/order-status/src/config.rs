//! What a server is told at start.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::time::Duration;

use goodput_client::{Protocol, Target};
use goodput_clock::{Rate, Scale, Seed};
use goodput_control::{Audit, Guard};
use goodput_policy::attempt::RetryOn;
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::limiter::LimiterConfig;
use goodput_policy::pool::PoolOrder;
use goodput_policy::retry::{BudgetScope, LayerConfig};

/// What a server is told at start. Every duration and rate of a policy in it is scenario time.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// What the server does.
    pub role: Role,
    /// Where the data plane listens; port 0 takes any. Default `127.0.0.1:0`.
    pub data_addr: SocketAddr,
    /// Where the control plane listens; port 0 takes any. Default `127.0.0.1:0`.
    pub control_addr: SocketAddr,
    /// Who may speak to the control plane. Default loopback only.
    pub guard: Guard,
    /// Where commands are recorded. Default in memory only.
    pub audit: Audit,
    /// The limiter, in scenario time.
    pub limiter: LimiterConfig,
    /// Scenario seconds in a wall second.
    pub scale: Scale,
    /// Where service times, the edge's choices and the order book are drawn from.
    pub seed: Seed,
    /// Worker threads of the data plane. Default 1.
    pub workers: NonZeroUsize,
    /// Bounds of the data plane.
    pub bounds: Bounds,
    /// Time-outs of the callers in scenario time, where they are known: each gets a boundary of its
    /// own in the histograms.
    pub timeouts: Vec<Duration>,
}

/// What a server does with a request.
#[derive(Clone, Debug)]
pub enum Role {
    /// Answers from an order book of so many orders, numbered from 1.
    OrderStatus {
        /// How many, at most 10,000,000. Default 100,000.
        orders: u32,
    },
    /// Forwards to an upstream.
    Gateway(GatewayConfig),
}

/// What a gateway is told beside the rest of a [`ServerConfig`]; durations and rates are scenario time.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Where requests go.
    pub upstream: Target,
    /// The protocol spoken with the upstream. Default HTTP/1.1.
    pub protocol: Protocol,
    /// The gateway's retry layers, outermost first; the innermost has a time-out. Default one that
    /// gives up after 5 s and does not retry.
    pub layers: Vec<LayerConfig>,
    /// In what order idle connections are reused. Default LIFO.
    pub pool: PoolOrder,
    /// The most connections to the upstream. Default 10,000.
    pub connections: u32,
    /// The most new connections per second. Default (none) 10,000.
    pub connect_rate: Option<Rate>,
}

/// Bounds of the data plane.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections that the kernel holds ready for acceptance. Default 4096.
    pub backlog: u32,
    /// Connections open at once; further ones wait unaccepted. By default (none) as many as the
    /// process may have files open, less 512 that are kept for the control plane and the rest.
    pub connections: Option<usize>,
    /// The size of all header names and values of a request, in bytes; above, 431. Default 16 KiB.
    pub header_bytes: usize,
    /// The size of a request's body, in bytes; above, 413. Default 1 MiB.
    pub body_bytes: usize,
    /// How long a request's body may take from its head on, in wall time; longer, 408. Default 30 s.
    pub body_timeout: Duration,
}

impl Default for ServerConfig {
    /// An unlimited order-status server of 100,000 orders on loopback, in real time.
    fn default() -> Self {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            role: Role::default(),
            data_addr: loopback,
            control_addr: loopback,
            guard: Guard::loopback(),
            audit: Audit::memory(),
            limiter: LimiterConfig::default(),
            scale: Scale::REAL,
            seed: Seed(1),
            workers: NonZeroUsize::MIN,
            bounds: Bounds::default(),
            timeouts: Vec::new(),
        }
    }
}

impl Default for Role {
    fn default() -> Self {
        Self::OrderStatus { orders: 100_000 }
    }
}

impl GatewayConfig {
    /// A gateway before `upstream` with every default.
    pub fn new(upstream: Target) -> Self {
        let layer = LayerConfig {
            name: "gateway".to_owned(),
            timeout: Some(Duration::from_secs(5)),
            retries: 0,
            backoff: Backoff::default(),
            retry_on: RetryOn::default(),
            budget: BudgetConfig::Off,
            budget_scope: BudgetScope::Shared,
        };
        Self {
            upstream,
            protocol: Protocol::default(),
            layers: vec![layer],
            pool: PoolOrder::default(),
            connections: 10_000,
            connect_rate: None,
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            backlog: 4096,
            connections: None,
            header_bytes: 16 * 1024,
            body_bytes: 1024 * 1024,
            body_timeout: Duration::from_secs(30),
        }
    }
}

impl Role {
    /// The role's name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::OrderStatus { .. } => "order-status",
            Self::Gateway(_) => "gateway",
        }
    }
}
