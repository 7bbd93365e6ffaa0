//! The fault injector against control planes on loopback.

#![expect(clippy::unwrap_used, reason = "the helpers are part of the tests")]

mod commands;
mod holding;
mod injector;
#[cfg(unix)]
mod processes;
mod support;
mod timelines;
