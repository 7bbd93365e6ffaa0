//! One alarm for many sleepers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use slab::Slab;
use tokio::task::AbortHandle;

use crate::alarm::Alarm;

/// Sleeps precisely for any number of tasks of one runtime, with a single timer.
///
/// A clone sleeps on the same timer. A sleep costs an entry in a heap; one that is dropped costs
/// nothing more at its end.
#[derive(Clone, Debug)]
pub struct Sleeper {
    shared: Arc<Shared>,
}

impl Sleeper {
    /// A sleeper whose timer runs on the current runtime.
    ///
    /// # Errors
    ///
    /// Where the system has no timer or no file descriptor left.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn new() -> io::Result<Self> {
        let mut alarm = Alarm::new()?;
        let state = Arc::new(Mutex::new(State::default()));
        let driven = Arc::clone(&state);
        let task = tokio::spawn(async move {
            poll_fn(|cx| -> Poll<()> { drive(&driven, &mut alarm, cx) }).await;
        });
        Ok(Self { shared: Arc::new(Shared { state, driver: task.abort_handle() }) })
    }

    /// Returns at `at`, or at once where that has passed.
    pub async fn sleep_until(&self, at: Instant) {
        if Instant::now() < at {
            Sleep { shared: Arc::clone(&self.shared), at, entry: None }.await;
        }
    }
}

#[derive(Debug)]
struct Shared {
    state: Arc<Mutex<State>>,
    driver: AbortHandle,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

#[derive(Debug, Default)]
struct State {
    queue: BinaryHeap<Reverse<(Instant, usize)>>,
    sleeping: Slab<Entry>,
    driver: Option<Waker>,
}

#[derive(Debug)]
struct Entry {
    /// None once its sleep was dropped.
    waker: Option<Waker>,
    rung: bool,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes whoever is due, and sets the alarm for the next.
fn drive(state: &Mutex<State>, alarm: &mut Alarm, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let mut due = Vec::new();
        let next = {
            let mut state = lock(state);
            state.driver = Some(cx.waker().clone());
            let now = Instant::now();
            loop {
                match state.queue.peek() {
                    Some(&Reverse((at, key))) if at <= now => {
                        state.queue.pop();
                        match state.sleeping[key].waker.take() {
                            Some(waker) => {
                                state.sleeping[key].rung = true;
                                due.push(waker);
                            }
                            None => drop(state.sleeping.remove(key)),
                        }
                    }
                    next => break next.map(|Reverse((at, _))| *at),
                }
            }
        };
        due.into_iter().for_each(Waker::wake);
        match next {
            None => return Poll::Pending,
            Some(at) => std::task::ready!(alarm.poll_until(cx, at)),
        }
    }
}

struct Sleep {
    shared: Arc<Shared>,
    at: Instant,
    entry: Option<usize>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let shared = Arc::clone(&self.shared);
        let mut state = lock(&shared.state);
        if let Some(key) = self.entry {
            if state.sleeping[key].rung {
                state.sleeping.remove(key);
                self.entry = None;
                return Poll::Ready(());
            }
            state.sleeping[key].waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let first = state.queue.peek().is_none_or(|Reverse((at, _))| self.at < *at);
        let key = state.sleeping.insert(Entry { waker: Some(cx.waker().clone()), rung: false });
        state.queue.push(Reverse((self.at, key)));
        self.entry = Some(key);
        if first && let Some(driver) = state.driver.take() {
            driver.wake();
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        let Some(key) = self.entry else { return };
        let mut state = lock(&self.shared.state);
        if state.sleeping[key].rung {
            state.sleeping.remove(key);
        } else {
            state.sleeping[key].waker = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn sleeps_end_in_the_order_of_their_instants_and_never_early() {
        let sleeper = Sleeper::new().unwrap();
        let start = Instant::now();
        let ended = Arc::new(Mutex::new(Vec::new()));
        let tasks: Vec<_> = [30_u64, 5, 60, 15]
            .into_iter()
            .map(|millis| {
                let (sleeper, ended) = (sleeper.clone(), Arc::clone(&ended));
                tokio::spawn(async move {
                    sleeper.sleep_until(start + Duration::from_millis(millis)).await;
                    assert!(start.elapsed() >= Duration::from_millis(millis));
                    ended.lock().unwrap().push(millis);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*ended.lock().unwrap(), [5, 15, 30, 60]);
    }

    #[tokio::test]
    async fn a_dropped_sleep_leaves_nothing_behind() {
        let sleeper = Sleeper::new().unwrap();
        let start = Instant::now();
        {
            let sleep = sleeper.sleep_until(start + Duration::from_millis(20));
            assert!(tokio::time::timeout(Duration::from_millis(2), sleep).await.is_err());
        }
        sleeper.sleep_until(start + Duration::from_millis(30)).await;
        assert!(lock(&sleeper.shared.state).sleeping.is_empty());
    }
}
