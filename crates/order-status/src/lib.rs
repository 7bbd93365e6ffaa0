//! The order-status server.
//!
//! A server has two planes, each on a thread and a runtime of its own, so that no overload of the
//! first delays the second. The data plane answers order queries, or forwards requests to an upstream;
//! each passes the tier's limiter, whose decisions are all made in [`goodput_policy`]. The control plane
//! takes faults and levers and gives the state and the metrics away.

mod answer;
mod book;
mod config;
mod connections;
mod gateway;
mod intake;
mod metrics;
mod orders;
mod plane;
mod request;
mod server;
mod shape;
mod tier;

pub use config::{Bounds, GatewayConfig, Role, ServerConfig};
pub use server::{Server, StartError};
