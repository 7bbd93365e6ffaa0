use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::{Event, Window};

/// Who watches a run while it goes on, such as the live display.
///
/// Both methods do nothing by default. They are called on the engine's thread, windows in order of
/// their second and events in order of their time, so they must not block.
pub trait Observer {
    /// Is handed each window as soon as it is finished.
    fn on_window(&mut self, window: &Window) {
        let _ = window;
    }

    /// Is handed each event as it happens.
    fn on_event(&mut self, event: &Event) {
        let _ = event;
    }
}

/// Watches nothing.
impl Observer for () {}

/// A flag that asks a run to end early. Its clones share it, and it is never taken back.
///
/// A cancelled engine reverts its faults and still yields the log so far.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the flag.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_sees_the_flag_that_another_raised() {
        let cancel = Cancel::new();
        let seen = cancel.clone();
        assert!(!seen.is_cancelled());
        cancel.cancel();
        assert!(seen.is_cancelled());
    }
}
