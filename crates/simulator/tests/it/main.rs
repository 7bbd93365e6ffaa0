//! The simulator against the project's reference numbers, judged as any other run is.

#![expect(clippy::unwrap_used, reason = "what a test fails to set up it fails")]

mod arms;
mod boundary;
mod closed_forms;
mod determinism;
mod fleet;
mod gate;
mod gateways;
mod mongodb;
mod recovery;
mod stalls;
mod support;
mod verdicts;
