//! The open-loop load generator.
//!
//! [`Generator::start`] runs a scenario's load against a target from a thread of its own. Each
//! arrival is issued at the time that the schedule computes from its index; it waits for no answer,
//! no slot and no connection, and one that is late is sent late, once. What happens is folded into
//! windows of one second of scenario time, which go out over a channel.
//!
//! The same process serves `GET /state`, levers and metrics on a control plane with its own thread
//! and runtime, so that no overload of the load delays them.

mod board;
mod config;
mod fold;
mod generator;
mod load_thread;
mod metrics;
mod template;

pub use config::{ControlConfig, GeneratorConfig, StartError};
pub use generator::{FinishedWindow, Generator, GeneratorReport};
