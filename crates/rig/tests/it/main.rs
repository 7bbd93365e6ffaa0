//! The rig on real sockets and in real time: the headline, what a run log must hold, and when a run
//! cannot be trusted.
//!
//! The tests take turns, since two runs at once would disturb each other.

#![expect(clippy::unwrap_used, reason = "the helpers are part of the tests")]
#![expect(clippy::print_stdout, reason = "what a test prints is shown where it fails")]

mod delays;
mod gate;
mod headline;
mod levers;
mod log;
mod metrics;
mod others;
#[cfg(target_os = "linux")]
mod processes;
mod support;
mod targets;
mod trust;
