//! Runs a scenario on real sockets: order-status server, fault injector and load generator, on
//! loopback or against servers that run elsewhere.
//!
//! [`run()`] is the rig's one entry. It blocks until the run has ended, hands each finished window to
//! the observer, takes levers while it runs, and on cancellation reverts its faults and returns the
//! log so far.

mod assembly;
mod gate;
mod ledger;
mod options;
mod others;
mod quiet;
mod run;
mod stage;
mod watch;

use std::sync::mpsc::Receiver;

use goodput_policy::lever::Lever;
use goodput_runlog::{Cancel, Observer, RunLog};

pub use options::{LoadControl, Remote, RemoteTier, RigError, RunOptions, Target};

/// Carries a scenario out and returns what it saw.
///
/// The observer is called on the thread of the caller.
///
/// # Errors
///
/// Where a server, the load generator or the target cannot be reached or started; see [`RigError`].
pub fn run(
    options: RunOptions,
    observer: &mut dyn Observer,
    levers: Receiver<Lever>,
    cancel: Cancel,
) -> Result<RunLog, RigError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| RigError::Target(format!("cannot start a runtime: {error}")))?;
    runtime.block_on(run::carry_out(options, observer, levers, cancel))
}
