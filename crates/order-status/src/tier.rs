//! The shell around the limiter: one lock, a task that wakes it in time, and an answer for everyone
//! who waits.
//!
//! The handler of a request hands its work over with [`Tier::enter`] and only waits. When the client
//! hangs up, hyper drops the handler; a guard then tells the limiter, and the work goes on unless the
//! limiter is set to cancel it.

mod driver;
mod view;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use goodput_client::WallClock;
use goodput_clock::{Ratio, Seed, Timestamp};
use goodput_policy::edge::Edge;
use goodput_policy::fault::Effect;
use goodput_policy::invalid::InvalidConfig;
use goodput_policy::limiter::{
    Admission, Capacity, Completion, JobId, Limiter, LimiterConfig, LimiterPatch, OnDisconnect,
    QueueDelays, Refusal,
};
use tokio::sync::{Notify, oneshot, watch};

use crate::metrics::{FaultLabel, Metrics, Outcome};

/// How a request counts once the limiter has served it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counts {
    /// As throughput.
    Served,
    /// As an error: it asks for something that is not there.
    Missing,
    /// Not yet: a gateway counts it when the upstream has answered.
    Later,
}

/// Why a request was not served, and when its caller may come back (wall time).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    pub(crate) reason: Refusal,
    pub(crate) retry_after: Duration,
}

/// The limiter of a server, its edge, and the counts of both.
#[derive(Debug)]
pub(crate) struct Tier {
    pub(crate) clock: WallClock,
    pub(crate) metrics: Metrics,
    core: Mutex<Core>,
    /// Whether every request is served at once, so that the lock can be left alone.
    open: AtomicBool,
    wake: Notify,
    restarted: watch::Sender<()>,
}

#[derive(Debug)]
struct Core {
    limiter: Limiter<Job>,
    edge: Edge,
    /// In scenario time, as the limiter.
    delays: QueueDelays,
    /// Until when the driver sleeps; none where it waits to be woken.
    armed: Option<Timestamp>,
    restarts: u64,
}

#[derive(Debug)]
struct Job {
    sender: oneshot::Sender<Result<(), Refused>>,
    counts: Counts,
}

/// Answers that are handed out once the lock is free.
type Answers = Vec<(Job, Result<(), Refused>)>;

/// A request in the limiter.
#[derive(Debug)]
pub(crate) struct Ticket {
    job: JobId,
    answered: oneshot::Receiver<Result<(), Refused>>,
}

impl Ticket {
    /// Waits until the request has been served or refused; none where it is dropped without an
    /// answer, by a restart or since its caller has gone.
    pub(crate) async fn answer(self) -> Option<Result<(), Refused>> {
        self.answered.await.ok()
    }
}

impl Tier {
    /// A tier with nothing in it. `config` is in scenario time and valid.
    pub(crate) fn new(
        config: LimiterConfig,
        clock: WallClock,
        seed: Seed,
        metrics: Metrics,
    ) -> Self {
        let open = config.capacity == Capacity::Unlimited;
        let core = Core {
            limiter: Limiter::new(config, seed.stream("service")),
            edge: Edge::new(seed.stream("edge")),
            delays: QueueDelays::default(),
            armed: None,
            restarts: 0,
        };
        Self {
            clock,
            metrics,
            core: Mutex::new(core),
            open: AtomicBool::new(open),
            wake: Notify::new(),
            restarted: watch::Sender::new(()),
        }
    }

    /// Takes a request through edge, queue and service; returns when it has been served. `deadline` is
    /// by when its answer is of use ([`Timestamp::MAX`] for none).
    ///
    /// # Errors
    ///
    /// Where it is refused, at once or after it has waited.
    pub(crate) async fn enter(&self, deadline: Timestamp, counts: Counts) -> Result<(), Refused> {
        let Some(ticket) = self.arrive(deadline, counts)? else { return Ok(()) };
        let presence = self.presence(&ticket);
        match ticket.answer().await {
            Some(answer) => {
                presence.ends();
                answer
            }
            // A restart drops work without an answer; the connection is about to go as well.
            None => std::future::pending().await,
        }
    }

    /// Hands a request over to edge, queue and service, as [`Tier::enter`]; none where it was served at
    /// once.
    ///
    /// # Errors
    ///
    /// Where it is refused at once.
    pub(crate) fn arrive(
        &self,
        deadline: Timestamp,
        counts: Counts,
    ) -> Result<Option<Ticket>, Refused> {
        if self.open.load(Ordering::Relaxed) {
            self.metrics.on_immediate();
            self.count(counts);
            return Ok(None);
        }
        let (sender, answered) = oneshot::channel();
        let job = self.with_core(|core, now| {
            self.count_touched(core.limiter.effect());
            if !core.edge.on_arrival(now) {
                return Err(self.refuse_at_once(core, Refusal::NotAdmitted));
            }
            match core.limiter.arrive(now, deadline, Job { sender, counts }) {
                Admission::Accepted(job) => Ok(job),
                Admission::Refused(_, reason) => Err(self.refuse_at_once(core, reason)),
            }
        })?;
        Ok(Some(Ticket { job, answered }))
    }

    /// Stands for the caller of a request: to drop it tells the limiter that the caller has hung up.
    pub(crate) const fn presence(&self, ticket: &Ticket) -> Presence<'_> {
        Presence { tier: self, job: ticket.job }
    }

    /// Changes with each restart.
    pub(crate) fn restarted(&self) -> watch::Receiver<()> {
        self.restarted.subscribe()
    }

    /// How the limiter is configured.
    pub(crate) fn limiter(&self) -> LimiterConfig {
        self.lock().limiter.config().clone()
    }

    /// What becomes of a request whose caller hangs up.
    pub(crate) fn on_disconnect(&self) -> OnDisconnect {
        self.lock().limiter.config().on_disconnect
    }

    /// Counts a request that the limiter has served.
    pub(crate) fn count(&self, counts: Counts) {
        match counts {
            Counts::Served => self.metrics.on_finished(Outcome::Ok),
            Counts::Missing => self.metrics.on_finished(Outcome::Error),
            Counts::Later => {}
        }
    }

    /// Feels the faults in force from now on.
    pub(crate) fn set_effect(&self, effect: Effect) {
        let before = self.with_core(|core, now| {
            let before = core.limiter.effect();
            core.limiter.set_effect(now, effect);
            self.reopen(core, now);
            before
        });
        let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for label in FaultLabel::ALL {
            let active = is_in_force(effect, label);
            if active != is_in_force(before, label) {
                self.metrics.on_fault(label, active, unix.as_secs_f64());
            }
        }
    }

    /// Changes the limiter; the patch is in scenario time.
    ///
    /// # Errors
    ///
    /// Where the result would not be valid.
    pub(crate) fn patch(&self, patch: LimiterPatch) -> Result<(), InvalidConfig> {
        self.with_core(|core, now| {
            core.limiter.patch(now, patch)?;
            self.reopen(core, now);
            Ok(())
        })
    }

    /// Admits a share of the traffic; `hold` and `ramp` are scenario time.
    pub(crate) fn admit(&self, share: Ratio, hold: Option<Duration>, ramp: Duration) {
        self.with_core(|core, now| {
            core.edge.admit(now, share, hold, ramp);
            self.reopen(core, now);
        });
    }

    /// Whether that share is admitted already, now and later.
    pub(crate) fn admits(&self, share: Ratio, hold: Option<Duration>) -> bool {
        self.lock().edge.is_at(self.clock.now(), share, hold)
    }

    /// Refuses everything that waits and says how many there were.
    pub(crate) fn shed_queue(&self) -> usize {
        self.with_core(|core, now| core.limiter.shed_queue(now))
    }

    /// Drops everything without an answer and says how many requests there were.
    pub(crate) fn restart(&self) -> usize {
        self.restarted.send_replace(());
        self.with_core(|core, now| {
            core.restarts += 1;
            core.limiter.restart(now)
        })
    }

    /// Drops everything without an answer.
    pub(crate) fn drop_all(&self) {
        self.restarted.send_replace(());
        self.with_core(|core, now| core.limiter.restart(now));
    }

    /// Does `work` under the lock; then hands out the answers that it led to and wakes the driver
    /// where it would sleep too long.
    fn with_core<R>(&self, work: impl FnOnce(&mut Core, Timestamp) -> R) -> R {
        let mut core = self.lock();
        let now = self.clock.now();
        let result = work(&mut core, now);
        let answers = self.collect(&mut core);
        let sooner = core.is_needed_sooner();
        drop(core);
        if sooner {
            self.wake.notify_one();
        }
        for (job, answer) in answers {
            let gone = job.sender.send(answer).is_err();
            if gone && answer.is_ok() && matches!(job.counts, Counts::Later) {
                // Nobody is left who would count it.
                self.metrics.on_finished(Outcome::Cancelled);
            }
        }
        result
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        // The limiter's state is sound between its calls, so a panic elsewhere does not spoil it.
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what the limiter has completed and returns the answers.
    fn collect(&self, core: &mut Core) -> Answers {
        let mut answers = Vec::new();
        let scale = self.clock.scale();
        while let Some(completion) = core.limiter.poll() {
            core.delays.record(&completion);
            if let Some(delay) = completion.queue_delay() {
                let admitted = matches!(completion, Completion::Served { .. });
                self.metrics.on_waited(scale.to_wall(delay), admitted);
            }
            match completion {
                Completion::Served { payload, started, ended, wasted, .. } => {
                    self.metrics.on_served(scale.to_wall(ended.since(started)), wasted);
                    self.count(payload.counts);
                    answers.push((payload, Ok(())));
                }
                Completion::Refused { payload, reason, .. } => {
                    self.metrics.on_refused(reason);
                    let retry_after = self.retry_after(core);
                    if reason != Refusal::Restart {
                        answers.push((payload, Err(Refused { reason, retry_after })));
                    }
                }
                Completion::Cancelled { .. } => self.metrics.on_finished(Outcome::Cancelled),
            }
        }
        answers
    }

    fn refuse_at_once(&self, core: &Core, reason: Refusal) -> Refused {
        self.metrics.on_refused(reason);
        Refused { reason, retry_after: self.retry_after(core) }
    }

    /// How long the queue takes to drain.
    fn retry_after(&self, core: &Core) -> Duration {
        let seconds = core.limiter.queued() as f64 / core.limiter.capacity();
        let scenario = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        self.clock.scale().to_wall(scenario)
    }

    fn count_touched(&self, effect: Effect) {
        if effect == Effect::NONE {
            return;
        }
        for label in FaultLabel::ALL {
            if is_in_force(effect, label) {
                self.metrics.on_touched(label);
            }
        }
    }

    /// Decides anew whether requests may pass without the lock.
    fn reopen(&self, core: &Core, now: Timestamp) {
        let open = core.limiter.config().capacity == Capacity::Unlimited
            && core.limiter.effect() == Effect::NONE
            && core.limiter.queued() == 0
            && core.edge.share(now) == Ratio::ONE;
        self.open.store(open, Ordering::Relaxed);
    }
}

impl Core {
    fn is_needed_sooner(&self) -> bool {
        let next = self.limiter.next_wakeup().map(|(at, _)| at);
        next.is_some_and(|next| self.armed.is_none_or(|armed| next < armed))
    }
}

/// Tells the limiter on drop that the caller has hung up.
pub(crate) struct Presence<'a> {
    tier: &'a Tier,
    job: JobId,
}

impl Presence<'_> {
    /// The caller has its answer.
    pub(crate) fn ends(self) {
        std::mem::forget(self);
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.tier.with_core(|core, now| core.limiter.disconnect(now, self.job));
    }
}

fn is_in_force(effect: Effect, label: FaultLabel) -> bool {
    match label {
        FaultLabel::Capacity => effect.speed < 1.0 || effect.slots < 1.0,
        FaultLabel::Stall => effect.stalled,
    }
}
