//! SIGINT, SIGTERM and SIGHUP: they stop what goes on, and never skip the clean-up.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use goodput_runlog::Cancel;

use crate::exit::Failure;
use crate::output;

/// Cancels at the first signal, and says so in the words of `notice`. Later ones change nothing:
/// what has to be cleaned up is cleaned up all the same.
pub(crate) fn cancel_on_signal(notice: &'static str) -> Result<Cancel, Failure> {
    let cancel = Cancel::new();
    let handle = cancel.clone();
    on_signals(move |count| {
        handle.cancel();
        output::note(if count == 1 { notice } else { "still stopping: clean-up is not skipped" });
    })?;
    Ok(cancel)
}

/// The first signal from now on.
#[derive(Debug)]
pub(crate) struct FirstSignal(Receiver<()>);

/// Listens for the signal that ends a process which runs until then.
pub(crate) fn first() -> Result<FirstSignal, Failure> {
    let (sender, receiver) = channel();
    on_signals(move |_| {
        // Later signals find nobody who waits, and change nothing.
        let _ = sender.send(());
    })?;
    Ok(FirstSignal(receiver))
}

impl FirstSignal {
    /// Waits for it.
    pub(crate) fn wait(&self) {
        // The sender lives in a thread that never ends.
        let _ = self.0.recv();
    }
}

/// Calls `act` with the number of signals so far at each signal, on a thread of its own.
pub(crate) fn on_signals(mut act: impl FnMut(u32) + Send + 'static) -> Result<(), Failure> {
    let cannot = |error: io::Error| Failure::usage(format!("cannot listen for signals: {error}"));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(cannot)?;
    let mut signals = {
        let _context = runtime.enter();
        Signals::listen().map_err(cannot)?
    };
    let work = move || {
        runtime.block_on(async {
            let mut count = 0;
            loop {
                signals.next().await;
                count += 1;
                act(count);
            }
        });
    };
    thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(cannot)?;
    Ok(())
}

#[cfg(unix)]
mod platform {
    use std::io;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// The signals that ask a process to end.
    #[derive(Debug)]
    pub(super) struct Signals {
        interrupt: Signal,
        terminate: Signal,
        hangup: Signal,
    }

    impl Signals {
        /// Listens from now on; needs a runtime.
        pub(super) fn listen() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hangup: signal(SignalKind::hangup())?,
            })
        }

        /// Waits for the next.
        pub(super) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
                _ = self.hangup.recv() => {}
            }
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use std::io;

    /// Ctrl-C.
    #[derive(Debug)]
    pub(super) struct Signals;

    impl Signals {
        /// Listens from now on.
        pub(super) const fn listen() -> io::Result<Self> {
            Ok(Self)
        }

        /// Waits for the next.
        pub(super) async fn next(&mut self) {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

use platform::Signals;

/// What is said when runs are stopped.
pub(crate) const REVERTING: &str = "stopping: faults are being reverted";
/// What is said when a question over many runs is stopped.
pub(crate) const KEEPING: &str = "stopping: what is done is kept";
