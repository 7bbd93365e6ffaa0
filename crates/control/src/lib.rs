//! The control plane: leases, router, token and origin checks, audit log, API types and client.

pub mod api;
