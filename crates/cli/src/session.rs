//! Runs side by side, one thread each, with the display on the main thread.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use goodput_clock::Scale;
use goodput_policy::lever::Lever;
use goodput_runlog::{Cancel, Observer, RunLog};
use goodput_scenario::{ExpectedVerdict, Scenario};
use goodput_verdict::{Judgement, named};

use crate::display::board::{Board, Run, Stage};
use crate::display::{Display, Session};
use crate::exit::{Exit, Failure};
use crate::sweep;
use crate::twin::judge_with_twin;

/// One run to carry out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    /// The arm's name, or the scenario's.
    pub(crate) label: &'a str,
    /// What is run.
    pub(crate) scenario: &'a Scenario,
    /// Whether it must fail.
    pub(crate) control: bool,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// What it saw.
    pub(crate) log: RunLog,
    /// What that means.
    pub(crate) judgement: Judgement,
}

/// What became of each task, in their order; none where it was cancelled before it began.
pub(crate) type Outcomes = Vec<Option<Result<Finished, Failure>>>;

/// What carries a task out: its place, who watches, and the levers that a person pulls meanwhile.
pub(crate) trait CarryOut:
    Fn(usize, &mut dyn Observer, Receiver<Lever>) -> Result<RunLog, Failure> + Sync
{
}

impl<F> CarryOut for F where
    F: Fn(usize, &mut dyn Observer, Receiver<Lever>) -> Result<RunLog, Failure> + Sync
{
}

/// How runs are carried out.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    /// What is going on, for the first line of the display.
    pub(crate) title: &'a str,
    /// The runs.
    pub(crate) tasks: &'a [Task<'a>],
    /// How many go on at the same time.
    pub(crate) jobs: usize,
    /// Scenario seconds per wall second.
    pub(crate) speed: Scale,
    /// Where progress is shown.
    pub(crate) display: Display,
    /// What stops them.
    pub(crate) cancel: &'a Cancel,
}

/// Carries all tasks out, in their order where not side by side, and judges each.
pub(crate) fn run_all(batch: &Batch<'_>, carry_out: &impl CarryOut) -> Outcomes {
    let board = Board::new(batch.tasks.iter().map(|task| run_of(task, batch.speed)).collect());
    let (senders, receivers): (Vec<_>, Vec<_>) = batch.tasks.iter().map(|_| channel()).unzip();
    let work = Work {
        batch,
        board: &board,
        order: start_order(batch.tasks, batch.jobs),
        next: AtomicUsize::new(0),
        receivers: Mutex::new(receivers.into_iter().map(Some).collect()),
        outcomes: Mutex::new(batch.tasks.iter().map(|_| None).collect()),
    };
    thread::scope(|scope| {
        let jobs = batch.jobs.clamp(1, batch.tasks.len().max(1));
        let threads: Vec<_> =
            (0..jobs).map(|_| scope.spawn(|| work.carry_out(carry_out))).collect();
        let session =
            Session { title: batch.title, board: &board, cancel: batch.cancel, levers: &senders };
        batch.display.show(&session, &|| threads.iter().all(thread::ScopedJoinHandle::is_finished));
        for thread in threads {
            if let Err(panic) = thread.join() {
                panic::resume_unwind(panic);
            }
        }
    });
    work.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many runs the cores carry side by side: a core moves some 8,000 attempts a second at both
/// ends, a fifth is left for the display and the system, and a run may ask for (R + 1) attempts a
/// request.
pub(crate) fn jobs_that_fit(tasks: &[Task<'_>], speed: Scale) -> usize {
    let cores = sweep::cores();
    let most = tasks.iter().map(|task| attempts_per_wall_second(task.scenario, speed));
    let most = most.fold(1.0, f64::max);
    ((cores as f64 * ATTEMPTS_PER_CORE * 0.8 / most) as usize).clamp(1, tasks.len().max(1))
}

/// The places of the tasks in the order in which they begin. Runs that are expected to end in retries
/// without end cost several times what the others do, so each batch of `jobs` gets as few as can be.
fn start_order(tasks: &[Task<'_>], jobs: usize) -> Vec<usize> {
    let costly =
        |index: &usize| tasks[*index].scenario.expect.verdict == ExpectedVerdict::Metastable;
    let batches = tasks.len().div_ceil(jobs.max(1)).max(1);
    let (costly, cheap): (Vec<_>, Vec<_>) = (0..tasks.len()).partition(costly);
    let mut order: Vec<Vec<usize>> = vec![Vec::new(); batches];
    for (place, index) in costly.into_iter().enumerate() {
        order[place % batches].push(index);
    }
    let mut cheap = cheap.into_iter();
    for batch in &mut order {
        let room = jobs.max(1).saturating_sub(batch.len());
        batch.extend(cheap.by_ref().take(room));
    }
    order.concat()
}

fn attempts_per_wall_second(scenario: &Scenario, speed: Scale) -> f64 {
    speed.rate_to_wall(scenario.peak_rate().per_second()) * scenario.max_attempts() as f64
}

fn run_of(task: &Task<'_>, speed: Scale) -> Run {
    let fault = task.scenario.fault_span();
    let fault = fault.map(|(start, end)| (start.as_secs_f64(), end.as_secs_f64()));
    Run::new(task.label, task.scenario.duration.as_secs_f64(), fault, speed.speed())
}

/// What the threads share.
struct Work<'a> {
    batch: &'a Batch<'a>,
    board: &'a Board,
    /// The places of the tasks in the order in which they begin.
    order: Vec<usize>,
    next: AtomicUsize,
    receivers: Mutex<Vec<Option<Receiver<Lever>>>>,
    outcomes: Mutex<Outcomes>,
}

impl Work<'_> {
    /// Takes one task after the other until there are none or the runs are cancelled.
    fn carry_out(&self, carry_out: &impl CarryOut) {
        while !self.batch.cancel.is_cancelled() {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&index) = self.order.get(next) else { return };
            let task = &self.batch.tasks[index];
            let Some(levers) = locked(&self.receivers)[index].take() else { return };
            self.board.set_stage(index, Stage::Running);
            let outcome = carry_out(index, &mut self.board.observer(index), levers).map(|log| {
                let judgement = judge_with_twin(&log, task.scenario);
                Finished { log, judgement }
            });
            self.board.set_stage(index, stage_of(task, &outcome));
            locked(&self.outcomes)[index] = Some(outcome);
        }
    }
}

fn stage_of(task: &Task<'_>, outcome: &Result<Finished, Failure>) -> Stage {
    match outcome {
        Ok(finished) => {
            let exit = Exit::of(&finished.judgement, &task.scenario.expect, task.control);
            let verdict = named(finished.judgement.verdict, finished.judgement.cause);
            Stage::Ended { verdict, held: exit == Exit::Held }
        }
        Err(_) => Stage::Ended { verdict: "failed".to_owned(), held: false },
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A thread that panicked is joined with its panic; what it left behind is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Measured on the rig: a metastable arm at 3,200 attempts a second takes 0.4 of a core.
const ATTEMPTS_PER_CORE: f64 = 8_000.0;

#[cfg(test)]
mod tests;
