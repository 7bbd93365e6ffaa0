//! A wake-up at an instant, precise to tens of microseconds.
//!
//! tokio's own timers round to whole milliseconds, which is longer than the interval between two
//! requests. On Linux an alarm is a timer file descriptor in the reactor's epoll set: it costs one
//! system call to arm, and none to read, since the descriptor is registered edge-triggered and
//! arming it anew clears its count. Elsewhere it is a tokio timer.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

#[cfg(not(target_os = "linux"))]
use fallback::Timer;
#[cfg(target_os = "linux")]
use linux::Timer;

/// One wake-up at a time, for one task.
#[derive(Debug)]
pub struct Alarm {
    timer: Timer,
    armed: Option<Instant>,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    ///
    /// Where the system has no timer or no file descriptor left.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn new() -> io::Result<Self> {
        Ok(Self { timer: Timer::new()?, armed: None })
    }

    /// Returns at `at`, or at once where that has passed.
    pub async fn until(&mut self, at: Instant) {
        poll_fn(|cx| self.poll_until(cx, at)).await;
    }

    /// Whether `at` has come; if not, the task is woken then, and no more for an earlier call.
    pub fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        loop {
            let now = Instant::now();
            if now >= at {
                return Poll::Ready(());
            }
            if self.armed != Some(at) {
                self.timer.arm(at, now);
                self.armed = Some(at);
            }
            match self.timer.poll_expired(cx) {
                Poll::Ready(()) => self.armed = None,
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::task::{Context, Poll, ready};
    use std::time::Instant;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    #[derive(Debug)]
    pub(super) struct Timer(AsyncFd<OwnedFd>);

    impl Timer {
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            #[expect(deprecated, reason = "it is unsound for descriptors that are not owned only")]
            let fd = AsyncFd::with_interest(fd, Interest::READABLE)?;
            Ok(Self(fd))
        }

        pub(super) fn arm(&self, at: Instant, now: Instant) {
            let wait = at.saturating_duration_since(now);
            // A value of zero would disarm the timer.
            let it_value = Timespec {
                tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(wait.subsec_nanos()).max(1),
            };
            let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
            let spec = Itimerspec { it_interval, it_value };
            let armed = timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &spec);
            // It fails only for a bad descriptor or value, and both are right by construction.
            debug_assert!(armed.is_ok(), "{armed:?}");
        }

        pub(super) fn poll_expired(&self, cx: &mut Context<'_>) -> Poll<()> {
            match ready!(self.0.poll_read_ready(cx)) {
                Ok(mut guard) => guard.clear_ready(),
                // The reactor shuts down, and the task with it.
                Err(_) => return Poll::Pending,
            }
            Poll::Ready(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod fallback {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Instant;

    use tokio::time::{Sleep, sleep_until};

    #[derive(Debug)]
    pub(super) struct Timer(Pin<Box<Sleep>>);

    impl Timer {
        #[expect(clippy::unnecessary_wraps, reason = "one signature for all systems")]
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self(Box::pin(sleep_until(Instant::now().into()))))
        }

        pub(super) fn arm(&mut self, at: Instant, _now: Instant) {
            self.0.as_mut().reset(at.into());
        }

        pub(super) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            self.0.as_mut().poll(cx)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_alarm_never_rings_early_and_can_be_set_again() {
        let mut alarm = Alarm::new().unwrap();
        for micros in [0, 1, 300, 2_000, 50] {
            let at = Instant::now() + Duration::from_micros(micros);
            alarm.until(at).await;
            assert!(Instant::now() >= at, "{micros} µs");
        }
    }

    #[tokio::test]
    async fn an_alarm_moves_to_an_earlier_instant() {
        let mut alarm = Alarm::new().unwrap();
        let start = Instant::now();
        let never = alarm.until(start + Duration::from_hours(1));
        assert!(tokio::time::timeout(Duration::from_millis(5), never).await.is_err());
        alarm.until(start + Duration::from_millis(10)).await;
        assert!(start.elapsed() < Duration::from_mins(1));
    }
}
