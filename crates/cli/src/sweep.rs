//! Many independent pieces of work over all cores, answered in their order.
//!
//! Who carries a piece out, and when, changes nothing about the answers: each has its place, and
//! what is asked next hangs on the answers alone.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use goodput_runlog::Cancel;

use crate::progress::Progress;

/// How pieces of work are carried out.
#[derive(Debug)]
pub(crate) struct Sweep<'a> {
    /// How many at the same time.
    pub(crate) threads: usize,
    /// What stops it.
    pub(crate) cancel: &'a Cancel,
    /// Where it is shown.
    pub(crate) progress: &'a Progress,
}

impl Sweep<'_> {
    /// Does the work on each item. None stands for what was not done before the sweep was stopped.
    pub(crate) fn over<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Option<R> + Sync,
    ) -> Vec<Option<R>> {
        let next = AtomicUsize::new(0);
        let (sender, receiver) = channel();
        let carry_out = |sender: std::sync::mpsc::Sender<(usize, R)>| {
            while !self.cancel.is_cancelled() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(answer) = items.get(index).and_then(&work) else { return };
                // The receiver outlives the threads.
                let _ = sender.send((index, answer));
            }
        };
        let mut answers: Vec<Option<R>> = items.iter().map(|_| None).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads.clamp(1, items.len().max(1)))
                .map(|_| {
                    let sender = sender.clone();
                    scope.spawn(|| carry_out(sender))
                })
                .collect();
            drop(sender);
            loop {
                match receiver.recv_timeout(FRAME) {
                    Ok((index, answer)) => {
                        answers[index] = Some(answer);
                        self.progress.one_more();
                    }
                    Err(RecvTimeoutError::Timeout) => self.progress.draw(),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            for thread in threads {
                if let Err(panic) = thread.join() {
                    panic::resume_unwind(panic);
                }
            }
        });
        answers
    }
}

/// How many pieces the machine carries at the same time.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// How often progress is drawn where nothing ends.
const FRAME: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    fn squares(threads: usize, cancel: &Cancel, stop_at: u64) -> Vec<Option<u64>> {
        let sweep = Sweep { threads, cancel, progress: &Progress::quiet() };
        let items: Vec<u64> = (0..500).collect();
        sweep.over(&items, |item| {
            if *item == stop_at {
                cancel.cancel();
            }
            Some(item * item)
        })
    }

    #[test]
    fn answers_come_in_the_order_of_the_items_whoever_does_the_work() {
        let one = squares(1, &Cancel::new(), u64::MAX);
        assert_eq!(one, squares(7, &Cancel::new(), u64::MAX));
        assert_eq!(one[20], Some(400));
        assert!(one.iter().all(Option::is_some));
    }

    #[test]
    fn what_was_done_before_a_stop_is_kept() {
        let answers = squares(1, &Cancel::new(), 100);
        assert_eq!(answers.iter().flatten().count(), 101);
        assert_eq!((answers[100], answers[101]), (Some(10_000), None));
    }

    #[test]
    fn nothing_to_do_has_no_answers() {
        let sweep = Sweep { threads: 2, cancel: &Cancel::new(), progress: &Progress::quiet() };
        assert!(sweep.over(&[] as &[u8], |_| Some(())).is_empty());
    }
}
