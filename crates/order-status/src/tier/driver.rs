//! The task that wakes the limiter when a service ends.

use std::sync::Arc;

use goodput_client::Alarm;

use super::Tier;

impl Tier {
    /// Carries out what is due, as long as it is polled.
    ///
    /// A late wake-up costs the caller who waits a little time, but never capacity: slots keep
    /// virtual clocks.
    pub(crate) async fn drive(self: Arc<Self>, mut alarm: Alarm) {
        loop {
            let next = self.with_core(|core, now| {
                core.limiter.advance(now);
                core.armed = core.limiter.next_wakeup().map(|(at, _)| at);
                core.armed
            });
            match next {
                None => self.wake.notified().await,
                Some(at) => tokio::select! {
                    () = alarm.until(self.clock.instant_of(at)) => {}
                    () = self.wake.notified() => {}
                },
            }
        }
    }
}
