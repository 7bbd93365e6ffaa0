//! `goodput lever`: what a person can pull on a running system.

use std::time::Duration;

use clap::{Args, Subcommand};
use goodput_clock::{Rate, Ratio};
use goodput_policy::budget::BudgetConfig;
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_policy::limiter::{Capacity, LimiterPatch, OnDisconnect, QueueLimit, QueueOrder};

use crate::args::{Format, TokenArgs};
use crate::commands::serve::{Disconnect, Order};
use crate::exit::{Exit, Failure};
use crate::{control, help, values};

/// Arguments of `goodput lever`.
#[derive(Args, Debug)]
#[command(after_help = help::LEVER, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct LeverArgs {
    #[command(subcommand)]
    action: Action,
    #[arg(long, global = true, value_name = "URL", value_parser = values::url, help = CONTROL)]
    control: Option<String>,
    #[command(flatten)]
    token: TokenArgs,
    /// Why, for the audit log
    #[arg(long, global = true, value_name = "TEXT")]
    reason: Option<String>,
    /// What stdout shows
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Pulls the lever and prints the state read back.
pub(crate) fn run(args: LeverArgs) -> Result<Exit, Failure> {
    let lever = args.action.lever();
    lever.validate().map_err(Failure::usage)?;
    let control = args.control.map_or_else(|| standard_control(lever.target()), Ok)?;
    let client = args.token.client(&control)?;
    let cause = control::cause("goodput lever", args.reason.as_deref());
    match lever.target() {
        LeverTarget::Server => {
            let pulled = control::wait(client.pull_at_server(&lever, &cause))?;
            control::print(args.format, &pulled, || {
                format!("{}\n{}", pulled.did, control::server_text(&pulled.state))
            })?;
        }
        LeverTarget::LoadGenerator => {
            let pulled = control::wait(client.pull_at_load(&lever, &cause))?;
            control::print(args.format, &pulled, || {
                format!("{}\n{}", pulled.did, control::load_text(&pulled.state))
            })?;
        }
    }
    Ok(Exit::Held)
}

/// The levers.
#[derive(Debug, Subcommand)]
enum Action {
    /// Refuses everything that waits in the server's queue, once
    #[command(after_help = help::LEVER)]
    ShedQueue,
    /// Admits only a share of the server's traffic
    #[command(after_help = help::LEVER)]
    Admit {
        /// The share that is admitted, such as 20%
        #[arg(value_parser = values::ratio)]
        share: Ratio,
        /// How long the share holds [default: until the lever is pulled again]
        #[arg(long = "for", value_name = "TIME", value_parser = values::positive_duration)]
        hold: Option<Duration>,
        /// How long the way back to all traffic takes after --for
        #[arg(long, value_name = "TIME", value_parser = values::duration, requires = "hold")]
        #[arg(default_value = "0s")]
        ramp: Duration,
    },
    /// Drops the server's queue, the work in service and every connection, as a restart does
    #[command(after_help = help::LEVER)]
    Restart,
    /// Changes the server's limiter
    #[command(after_help = help::LEVER)]
    Limiter(LimiterArgs),
    /// Puts a retry budget into the load generator's layers
    #[command(after_help = help::LEVER)]
    Budget {
        /// off, sre-ratio, finagle,ratio=0.2, token-bucket, grpc-throttle or aws-quota
        #[arg(value_parser = values::budget)]
        budget: BudgetConfig,
        /// The layer, by name [default: all]
        #[arg(long, value_name = "NAME")]
        layer: Option<String>,
    },
    /// Sets how often the load generator's layers retry; 0 switches retries off
    #[command(after_help = help::LEVER)]
    Retries {
        /// Retries after the first try
        #[arg(value_parser = values::retries)]
        retries: u32,
        /// The layer, by name [default: all]
        #[arg(long, value_name = "NAME")]
        layer: Option<String>,
    },
    /// Changes the offered load
    #[command(after_help = help::LEVER)]
    Rate {
        /// New requests per second
        #[arg(value_parser = values::rate)]
        rate: Rate,
    },
}

/// What changes of the limiter.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
#[command(override_usage = "goodput lever limiter [OPTIONS]")]
struct LimiterArgs {
    /// How many requests are served at once
    #[arg(long, value_name = "N", value_parser = values::slots)]
    slots: Option<u32>,
    /// How many are served per second with all slots busy, such as 100, or unlimited
    #[arg(long, value_name = "RATE", value_parser = values::capacity)]
    capacity: Option<Capacity>,
    /// In what order the queue is served
    #[arg(long, value_enum)]
    queue: Option<Order>,
    /// How many may wait, such as 150, or unbounded
    #[arg(long, value_name = "N", value_parser = values::queue_limit)]
    queue_limit: Option<QueueLimit>,
    /// Whether to drop at dequeue what cannot be answered before its deadline
    #[arg(long, value_name = "true|false")]
    drop_expired: Option<bool>,
    /// What becomes of a request whose caller hangs up
    #[arg(long, value_enum)]
    on_disconnect: Option<Disconnect>,
}

impl Action {
    fn lever(self) -> Lever {
        match self {
            Self::ShedQueue => Lever::ShedQueue,
            Self::Admit { share, hold, ramp } => Lever::Admit { share, hold, ramp },
            Self::Restart => Lever::Restart,
            Self::Limiter(limiter) => Lever::Limiter(LimiterPatch {
                slots: limiter.slots,
                capacity: limiter.capacity,
                queue: limiter.queue.map(QueueOrder::from),
                queue_limit: limiter.queue_limit,
                drop_expired: limiter.drop_expired,
                on_disconnect: limiter.on_disconnect.map(OnDisconnect::from),
            }),
            Self::Budget { budget, layer } => Lever::Budget { layer, budget },
            Self::Retries { retries, layer } => Lever::Retries { layer, retries },
            Self::Rate { rate } => Lever::Rate { rate },
        }
    }
}

const CONTROL: &str = "The control plane [env: GOODPUT_CONTROL, or GOODPUT_LOAD_CONTROL for a load generator's \
                       lever] [default: port 9901 on loopback, or 9902]";

/// Where the control plane of such a target is: by its variable, else its port on loopback.
fn standard_control(target: LeverTarget) -> Result<String, Failure> {
    let (variable, standard) = match target {
        LeverTarget::Server => ("GOODPUT_CONTROL", "http://127.0.0.1:9901"),
        LeverTarget::LoadGenerator => ("GOODPUT_LOAD_CONTROL", "http://127.0.0.1:9902"),
    };
    match std::env::var(variable).ok().filter(|url| !url.is_empty()) {
        None => Ok(standard.to_owned()),
        Some(url) => {
            values::url(&url).map_err(|problem| Failure::usage(format!("{variable}: {problem}")))
        }
    }
}
