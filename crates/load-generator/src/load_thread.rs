//! The load's thread: issues arrivals when they are due, and everything else when it must.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::task::Poll;
use std::time::{Duration, Instant};

use goodput_client::{Alarm, WallClock};
use goodput_clock::{Rate, Timestamp};
use goodput_runlog::Cohort;
use goodput_scenario::schedule::Schedule;

use crate::board::{Board, Command, LoadFigures, locked};
use crate::generator::FinishedWindow;
use crate::template::Requests;

/// The load's thread.
pub(crate) struct LoadThread {
    pub(crate) board: Arc<Board>,
    pub(crate) clock: WallClock,
    pub(crate) alarm: Alarm,
    /// The schedule as configured, to return to.
    pub(crate) configured: Schedule,
    pub(crate) schedule: Schedule,
    pub(crate) requests: Requests,
    pub(crate) clients: u32,
    pub(crate) deadline: Option<Duration>,
    /// When the run ends: arrivals from here on are not counted.
    pub(crate) ends: Timestamp,
    pub(crate) drain: Duration,
    pub(crate) windows: Sender<FinishedWindow>,
    pub(crate) cohorts: Sender<(u64, Cohort)>,
    pub(crate) progress: Progress,
}

/// When the next arrival is due.
enum Due {
    Now,
    At(Timestamp),
    Never,
}

/// How far the load has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Arrivals that the schedule asked for until the end or a stop, issued or not, without those
    /// that fell into a halt.
    pub(crate) scheduled: u64,
    pub(crate) offered: u64,
    /// Where the rate does not come from the schedule any more.
    rate: Option<f64>,
    halted: bool,
    stopped: bool,
    next_client: u32,
    next_tick: Timestamp,
}

impl LoadThread {
    /// Carries the load out; says whether every request had ended in time.
    pub(crate) async fn run(&mut self) -> bool {
        let board = Arc::clone(&self.board);
        while !self.progress.stopped {
            self.obey();
            let more = self.issue();
            self.board.client.on_wakeup();
            self.tick(self.tick_length());
            let next = match more {
                Due::Never => break,
                // Answers that have come meanwhile are read before more is sent, so that their
                // connections are free again.
                Due::Now => {
                    board.client.next_wakeup();
                    tokio::task::yield_now().await;
                    continue;
                }
                Due::At(next) => next,
            };
            let wake = next.min(self.board.client.next_wakeup()).min(self.progress.next_tick);
            // One wake-up serves all arrivals of a short while, at the price of that much lag.
            let wake = self.clock.instant_of(wake).max(Instant::now() + SHORTEST_SLEEP);
            sleep(&mut self.alarm, &board, wake).await;
        }
        self.progress.scheduled += self.overdue();
        self.run_dry(&board).await
    }

    /// Lets requests in flight end, for a while.
    async fn run_dry(&mut self, board: &Board) -> bool {
        let began = Instant::now();
        loop {
            self.obey();
            let give_up = began + self.drain;
            board.client.on_wakeup();
            self.tick(self.clock.scale().to_scenario(DRAIN_TICK));
            let left = board.client.status().requests_in_flight;
            if left == 0 || Instant::now() >= give_up {
                return left == 0;
            }
            let wake = board.client.next_wakeup().min(self.progress.next_tick);
            let wake = self.clock.instant_of(wake).max(Instant::now() + SHORTEST_SLEEP);
            sleep(&mut self.alarm, board, wake.min(give_up)).await;
        }
    }

    /// Takes the commands that have come.
    fn obey(&mut self) {
        let commands = std::mem::take(&mut *locked(&self.board.commands));
        let now = self.clock.now();
        for command in commands {
            match command {
                Command::Rate(rate) => self.set_rate(now, rate),
                Command::Scheduled => {
                    self.schedule = self.configured.clone();
                    while self.schedule.next_before(now).is_some() {}
                    self.progress.rate = None;
                }
                Command::Halt => self.progress.halted = true,
                Command::Resume => {
                    // What was due meanwhile is not made up for.
                    while self.progress.halted && self.schedule.next_before(now).is_some() {}
                    self.progress.halted = false;
                }
                Command::Stop => self.progress.stopped = true,
                Command::Abandon => {
                    self.progress.stopped = true;
                    self.drain = Duration::ZERO;
                }
            }
        }
    }

    /// How many arrivals were due by now and have not been issued.
    fn overdue(&self) -> u64 {
        if self.progress.halted {
            return 0;
        }
        let due = self.schedule.count_until(self.clock.now().min(self.ends));
        due.saturating_sub(self.schedule.taken())
    }

    fn set_rate(&mut self, now: Timestamp, rate: Rate) {
        self.schedule.set_rate(now, rate);
        self.progress.rate = Some(rate.per_second());
    }

    /// Issues arrivals that are due, a few at a time, and says when the next one is.
    fn issue(&mut self) -> Due {
        let mut now = self.clock.now();
        let mut issued = 0;
        loop {
            let Some(at) = self.schedule.peek() else {
                // A lever may raise the rate again until the load's end.
                let ends = self.schedule.ends();
                return if now < ends { Due::At(ends) } else { Due::Never };
            };
            if at > now {
                return Due::At(at);
            }
            if issued == BATCH {
                return Due::Now;
            }
            self.schedule.next();
            if self.progress.halted {
                continue;
            }
            issued += 1;
            let counted = u64::from(at < self.ends);
            self.progress.scheduled += counted;
            self.progress.offered += counted;
            self.send(at);
            if issued % LOOK == 0 {
                now = self.clock.now();
            }
        }
    }

    fn send(&mut self, at: Timestamp) {
        let client = self.progress.next_client;
        self.progress.next_client = (client + 1) % self.clients;
        let deadline = self.deadline.map_or(Timestamp::MAX, |deadline| at + deadline);
        let request = self.requests.next();
        self.board.client.send(client, at, deadline, request);
    }

    /// Hands out finished windows and publishes figures, once in a while.
    fn tick(&mut self, length: Duration) {
        let now = self.clock.now();
        if now < self.progress.next_tick {
            return;
        }
        let length = length.as_nanos().max(1) as u64;
        let next = (now.as_nanos() / length + 1).saturating_mul(length);
        self.progress.next_tick = Timestamp::from_nanos(next);
        let board = &self.board;
        let status = board.client.status();
        let progress = &self.progress;
        let rate = progress.rate.unwrap_or_else(|| board.load.rate_at(now));
        let (ends, mut nothing_left) = (self.ends, false);
        board.client.with_layers(|layers, fold| {
            while let Some((second, window)) = fold.recorder.next_window(now) {
                // Whoever does not listen does not want them.
                let _ = self.windows.send(FinishedWindow { second, window });
            }
            while let Some(cohort) = fold.recorder.next_cohort() {
                let _ = self.cohorts.send(cohort);
            }
            // What the run left open has ended, so that there is nothing more to watch.
            let seconds = ends.elapsed().as_secs();
            nothing_left = now >= ends && fold.recorder.open_before(seconds) == 0;
            fold.hot.flush();
            let load = LoadFigures {
                rate,
                halted: progress.halted || progress.stopped,
                offered: progress.offered,
                good: fold.recorder.good_total(),
                in_flight: status.requests_in_flight,
                connections: status.connections,
            };
            board.metrics.update(now, layers, load);
            board.publish(load, layers);
        });
        self.progress.stopped |= nothing_left;
    }

    /// A second of scenario time, or a tenth of wall time where that is shorter.
    fn tick_length(&self) -> Duration {
        Duration::from_secs(1).min(self.clock.scale().to_scenario(TICK))
    }
}

/// Returns at `at`, or earlier for a command or a time-out that has come closer.
async fn sleep(alarm: &mut Alarm, board: &Board, at: Instant) {
    let mut called = pin!(board.called.notified());
    let mut changed = pin!(board.client.changed());
    poll_fn(|cx| {
        let woken = called.as_mut().poll(cx).is_ready() || changed.as_mut().poll(cx).is_ready();
        if woken { Poll::Ready(()) } else { Pin::new(&mut *alarm).poll_until(cx, at) }
    })
    .await;
}

/// The shortest sleep in wall time: what arrives meanwhile is sent together. A wake-up costs as much
/// as sending a request; at 100 µs a request costs twice the processor time that it does at 500 µs,
/// and above that the last of a batch leaves more than a millisecond late.
const SHORTEST_SLEEP: Duration = Duration::from_micros(500);
/// How often figures are published, in wall time.
const TICK: Duration = Duration::from_millis(100);
const DRAIN_TICK: Duration = Duration::from_millis(10);
/// How many arrivals are issued before the reactor has its turn.
const BATCH: u32 = 16;
/// After how many arrivals the clock is read again.
const LOOK: u32 = 8;
