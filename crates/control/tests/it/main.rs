//! The control plane over real sockets on loopback.

#![expect(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod client;
mod commands;
mod guards;
mod leases;
mod runs;
mod support;
