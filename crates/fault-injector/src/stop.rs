use std::sync::Arc;

use tokio::sync::watch;

/// Asks for an end: of a fault that is held, or of a timeline. Clones are one and the same. Once
/// pulled it stays pulled; pulling it again changes nothing, so that no revert is skipped.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}

impl Stop {
    /// One that has not been pulled.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Asks for the end, from any thread.
    pub fn pull(&self) {
        self.0.send_replace(true);
    }

    /// Whether the end has been asked for.
    pub fn is_pulled(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the end is asked for.
    pub async fn pulled(&self) {
        // The sender lives as long as `self`, so the wait ends only when it is pulled.
        let _ = self.0.subscribe().wait_for(|pulled| *pulled).await;
    }
}
