//! The control plane: leases, router, token and origin checks, audit log, API types and client.
//!
//! A process that can be controlled implements [`ServerControl`] or [`LoadControl`], makes a
//! [`Plane`] of it ([`server_plane`], [`load_plane`]) and starts a [`Listener`]. The listener has
//! its own OS thread and its own runtime, so that an overload of the data plane never delays a
//! command or a scrape. A process with routes of its own implements [`Process`] instead.
//! [`ControlClient`] is the other end.
//!
//! Everything here is **wall time**; [`wall`] converts what a scenario says.

pub mod api;
pub mod audit;
mod client;
mod commands;
mod error;
mod guard;
mod lease;
mod levers;
mod listener;
mod load;
pub mod parse;
mod plane;
mod process;
mod runs;
mod server;
mod token;
mod touched;
pub mod wall;

pub use audit::{Audit, AuditEntry, AuditError};
pub use client::{ClientError, ControlClient};
pub use commands::CommandLog;
pub use error::ApiError;
pub use guard::{Guard, host_name};
pub use lease::{LeaseKeeper, LeaseRefusal};
pub use listener::{Listener, StartError};
pub use load::{LoadControl, load_plane};
pub use plane::{Name, Peer, Plane};
pub use process::{Command, Process, process_routes};
pub use runs::new_run_id;
pub use server::{ServerControl, server_plane};
pub use token::{Token, TokenError};

/// The flag that gives the bearer token, as messages give it.
pub const TOKEN_FLAG: &str = "--token";
/// The environment variable that holds the bearer token, as messages give it.
pub const TOKEN_VARIABLE: &str = "GOODPUT_TOKEN";
/// The flag that allows a further `Host`, as messages give it.
pub const HOST_FLAG: &str = "--control-host";
