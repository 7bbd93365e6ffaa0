//! `goodput serve`: a tier as a process of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use goodput_client::Target;
use goodput_clock::{Scale, Seed};
use goodput_order_status::{self as server, GatewayConfig, Server, ServerConfig};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::limiter::{
    Capacity, Charge, LimiterConfig, OnDisconnect, QueueLimit, QueueOrder, ServiceTime,
};
use goodput_scenario::Tier;

use crate::args::TokenArgs;
use crate::exit::{Exit, Failure};
use crate::{control, help, output, signals, values};

/// Arguments of `goodput serve`.
#[derive(Args, Debug)]
#[command(after_help = help::SERVE)]
pub(crate) struct ServeArgs {
    /// What the server is
    #[arg(long, value_enum, default_value_t = Role::OrderStatus)]
    role: Role,
    /// Where requests come in
    #[arg(long, value_name = "ADDR", value_parser = values::address)]
    #[arg(default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where faults, levers and scrapes come in
    #[arg(long, value_name = "ADDR", value_parser = values::address)]
    #[arg(default_value = "127.0.0.1:9901")]
    control: SocketAddr,
    #[command(flatten)]
    token: TokenArgs,
    /// A name in the `Host` of control requests to take besides loopback's; repeat it for more
    #[arg(long, value_name = "NAME", value_parser = goodput_control::host_name)]
    control_host: Vec<String>,
    /// Append every command of the control plane to this file
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
    /// Scenario seconds per wall second; the figures below are in scenario time
    #[arg(long, value_name = "N", value_parser = values::speed, default_value = "1")]
    speed: Scale,
    /// The seed of service times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = values::seed)]
    seed: u64,
    /// How many orders the order book holds [default: 100000]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = |text: &str| values::whole::<u32>(text, 1..=Tier::MAX_ORDERS, ORDERS))]
    orders: Option<u32>,
    /// A time-out of the callers: the histograms get a boundary there; repeat it for more
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(default_value = "5s")]
    caller_timeout: Vec<Duration>,
    #[command(flatten, next_help_heading = "Limiter")]
    limiter: LimiterArgs,
    #[command(flatten, next_help_heading = "Gateway")]
    gateway: GatewayArgs,
}

/// What the server is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Role {
    /// Answers GET /orders/{id} from its order book
    OrderStatus,
    /// Forwards everything to --upstream, with retries
    Gateway,
}

/// The limiter of the tier.
#[derive(Args, Debug)]
struct LimiterArgs {
    /// How many requests are served at once
    #[arg(long, value_name = "N", value_parser = values::slots)]
    #[arg(default_value_t = 10)]
    slots: u32,
    /// How many are served per second with all slots busy, such as 100, or unlimited
    #[arg(long, value_name = "RATE", value_parser = values::capacity, default_value = "unlimited")]
    capacity: Capacity,
    /// How service times are distributed: constant, exponential or lognormal,sigma=1.0
    #[arg(long, value_name = "KIND", value_parser = values::service_time)]
    #[arg(default_value = "constant")]
    service: ServiceTime,
    /// In what order the queue is served
    #[arg(long, value_enum, default_value_t = Order::Fifo)]
    queue: Order,
    /// How many may wait, such as 150, or unbounded
    #[arg(long, value_name = "N", value_parser = values::queue_limit, default_value = "unbounded")]
    queue_limit: QueueLimit,
    /// Drop at dequeue what cannot be answered before its deadline
    #[arg(long)]
    drop_expired: bool,
    /// The margin of --drop-expired [default: one expected service time]
    #[arg(long, value_name = "TIME", value_parser = values::duration, requires = "drop_expired")]
    expiry_margin: Option<Duration>,
    /// What becomes of a request whose caller hangs up
    #[arg(long, value_enum, default_value_t = Disconnect::Continue)]
    on_disconnect: Disconnect,
    /// When the cost of a request is charged
    #[arg(long, value_enum, default_value_t = ChargeAt::ServiceStart)]
    charge: ChargeAt,
}

/// In what order the queue is served.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Order {
    /// The one that has waited longest first
    Fifo,
    /// The one that came last first
    Lifo,
}

/// What becomes of a request whose caller hangs up.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Disconnect {
    /// The work goes on
    Continue,
    /// It leaves the queue
    Cancel,
}

/// When cost is charged.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ChargeAt {
    /// When its service starts
    ServiceStart,
    /// On arrival
    Admission,
}

/// What a gateway does with its upstream.
#[derive(Args, Debug)]
struct GatewayArgs {
    /// The service behind the gateway
    #[arg(long, value_name = "URL", value_parser = values::url)]
    upstream: Option<String>,
    /// How long an attempt may take [default: 5s]
    #[arg(short, long, value_name = "TIME", value_parser = values::positive_duration)]
    timeout: Option<Duration>,
    /// Retries after the first attempt [default: 0]
    #[arg(long, value_name = "N", value_parser = values::retries)]
    retries: Option<u32>,
    /// How long to wait before a retry, such as 1s,factor=2,cap=20s,jitter=full [default: 1s]
    #[arg(long, value_name = "BACKOFF", value_parser = values::backoff)]
    backoff: Option<Backoff>,
    /// The retry budget: off, sre-ratio, finagle,ratio=0.2, token-bucket, grpc-throttle or aws-quota
    /// [default: off]
    #[arg(long, value_name = "BUDGET", value_parser = values::budget)]
    budget: Option<BudgetConfig>,
}

/// Runs until a signal.
pub(crate) fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    let signal = signals::first()?;
    let role = args.role()?;
    let name = role.name();
    let server = Server::start(ServerConfig {
        role,
        data_addr: args.listen,
        control_addr: args.control,
        guard: args.token.guard(&args.control_host)?,
        audit: control::audit(args.audit.as_deref())?,
        limiter: args.limiter.config(),
        scale: args.speed,
        seed: Seed(args.seed),
        timeouts: args.caller_timeout.clone(),
        ..ServerConfig::default()
    });
    let server = server.map_err(Failure::usage)?;
    output::result(&format!(
        "{name:<14} http://{}\ncontrol        http://{}",
        server.data_addr(),
        server.control_addr()
    ))?;
    signal.wait();
    server.shutdown();
    Ok(Exit::Held)
}

impl ServeArgs {
    fn role(&self) -> Result<server::Role, Failure> {
        let GatewayArgs { upstream, .. } = &self.gateway;
        match (self.role, upstream) {
            (Role::OrderStatus, _) => match self.gateway.given() {
                None => Ok(server::Role::OrderStatus { orders: self.orders.unwrap_or(ORDERS) }),
                Some(flag) => Err(Failure::usage(format!(
                    "{flag} belongs to a gateway; add --role gateway, or leave it out"
                ))),
            },
            (Role::Gateway, _) if self.orders.is_some() => Err(Failure::usage(
                "--orders belongs to an order-status server; leave it or --role gateway out",
            )),
            (Role::Gateway, None) => Err(Failure::usage(
                "--role gateway needs --upstream, such as --upstream http://127.0.0.1:8080",
            )),
            (Role::Gateway, Some(upstream)) => {
                let upstream = Target::resolve(upstream)
                    .map_err(|error| Failure::usage(format!("--upstream: {error}")))?;
                Ok(server::Role::Gateway(self.gateway.config(upstream)))
            }
        }
    }
}

impl GatewayArgs {
    /// The first of its flags that is there.
    fn given(&self) -> Option<&'static str> {
        let Self { upstream, timeout, retries, backoff, budget } = self;
        let flags = [
            ("--upstream", upstream.is_some()),
            ("--timeout", timeout.is_some()),
            ("--retries", retries.is_some()),
            ("--backoff", backoff.is_some()),
            ("--budget", budget.is_some()),
        ];
        flags.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    fn config(&self, upstream: Target) -> GatewayConfig {
        let mut gateway = GatewayConfig::new(upstream);
        for layer in &mut gateway.layers {
            layer.timeout = self.timeout.or(layer.timeout);
            layer.retries = self.retries.unwrap_or(layer.retries);
            layer.backoff = self.backoff.unwrap_or(layer.backoff);
            layer.budget = self.budget.unwrap_or(layer.budget);
        }
        gateway
    }
}

/// How many orders a book holds unless the command says otherwise.
const ORDERS: u32 = 100_000;

impl LimiterArgs {
    fn config(&self) -> LimiterConfig {
        LimiterConfig {
            slots: self.slots,
            capacity: self.capacity,
            service: self.service,
            queue: self.queue.into(),
            queue_limit: self.queue_limit,
            drop_expired: self.drop_expired,
            expiry_margin: self.expiry_margin,
            on_disconnect: self.on_disconnect.into(),
            charge: self.charge.into(),
        }
    }
}

impl From<Order> for QueueOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Fifo => Self::Fifo,
            Order::Lifo => Self::Lifo,
        }
    }
}

impl From<Disconnect> for OnDisconnect {
    fn from(disconnect: Disconnect) -> Self {
        match disconnect {
            Disconnect::Continue => Self::Continue,
            Disconnect::Cancel => Self::Cancel,
        }
    }
}

impl From<ChargeAt> for Charge {
    fn from(charge: ChargeAt) -> Self {
        match charge {
            ChargeAt::ServiceStart => Self::ServiceStart,
            ChargeAt::Admission => Self::Admission,
        }
    }
}
