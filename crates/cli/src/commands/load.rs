//! `goodput load`: an open-loop load against a target, and three latencies.

use std::time::Duration;

use clap::Args;
use goodput_clock::{Rate, Scale};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;

use crate::args::{Format, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::{help, values};

/// Arguments of `goodput load`.
#[derive(Args, Debug)]
#[command(after_help = help::LOAD)]
pub(crate) struct LoadArgs {
    /// A scenario whose load and client to use: a file, or one that comes with goodput
    scenario: Option<String>,
    /// Where the load goes; a path in it is what is asked for, unless there is a scenario
    #[arg(long, value_name = "URL", value_parser = values::url)]
    target: String,
    /// The arm of the scenario
    #[arg(long, value_name = "ARM", requires = "scenario")]
    arm: Option<String>,
    /// New requests per second in all
    #[arg(short, long, value_name = "RATE", value_parser = values::rate)]
    #[arg(required_unless_present = "scenario")]
    rate: Option<Rate>,
    /// For how long requests are sent
    #[arg(short, long, value_name = "TIME", value_parser = values::positive_duration)]
    #[arg(required_unless_present = "scenario")]
    duration: Option<Duration>,
    /// How arrivals are spread: constant, poisson or batch,size=10 [default: poisson]
    #[arg(long, value_name = "KIND")]
    arrivals: Option<String>,
    /// How long an attempt may take [default: 5s]
    #[arg(short, long, value_name = "TIME", value_parser = values::positive_duration)]
    timeout: Option<Duration>,
    /// A deadline over all attempts of a request [default: none]
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration)]
    deadline: Option<Duration>,
    /// Retries after the first attempt [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    retries: Option<u32>,
    /// How long to wait before a retry, such as 1s,factor=2,cap=20s,jitter=full [default: 1s]
    #[arg(long, value_name = "BACKOFF", value_parser = values::backoff)]
    backoff: Option<Backoff>,
    /// The retry budget: off, sre-ratio, finagle,ratio=0.2, token-bucket, grpc-throttle, aws-quota
    #[arg(long, value_name = "BUDGET", value_parser = values::budget)]
    budget: Option<BudgetConfig>,
    /// Independent clients, each with its own pool and budget [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    clients: Option<u32>,
    /// The most open connections
    #[arg(short = 'c', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: Option<u32>,
    /// The most new connections per second
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    connect_rate: Option<Rate>,
    /// The method [default: GET]
    #[arg(short = 'X', long, value_name = "METHOD")]
    method: Option<String>,
    /// A header; repeat it for more
    #[arg(short = 'H', long, value_name = "NAME: VALUE", value_parser = values::header)]
    header: Vec<(String, String)>,
    /// The body, or @FILE
    #[arg(short, long, value_name = "BODY")]
    body: Option<String>,
    /// Speak HTTP/2 with prior knowledge
    #[arg(long)]
    http2: bool,
    /// Scenario seconds per wall second
    #[arg(long, value_name = "N", value_parser = values::speed, default_value = "1")]
    speed: Scale,
    /// The seed of arrivals [default: the scenario's]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Listen here for the levers of a load generator, such as 127.0.0.1:9902
    #[arg(long, value_name = "ADDR", value_parser = values::address)]
    control: Option<std::net::SocketAddr>,
    /// What stdout shows at the end
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    progress: ProgressArgs,
}
