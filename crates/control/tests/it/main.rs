//! The control plane over real sockets on loopback.

mod client;
mod commands;
mod guards;
mod leases;
mod support;
