//! One run from its start to its log.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use goodput_clock::Timestamp;
use goodput_control::api::{Cause, RunRequest};
use goodput_control::new_run_id;
use goodput_control::wall::lever_to_wall;
use goodput_fault_injector::{
    LeaseTerms, LoadTarget, LostLease, PlayFailure, PlayOptions, PlayReport, Playing, Targets,
    Timeline,
};
use goodput_gate::withhold;
use goodput_load_generator::{Generator, GeneratorConfig, GeneratorReport};
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_runlog::{Cancel, Ending, EngineKind, EventKind, Integrity, Meta, Observer, RunLog};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::gate::Gate;
use crate::ledger::Ledger;
use crate::options::{RigError, RunOptions, Target};
use crate::others::Others;
use crate::stage::Stage;
use crate::watch::{self, Watch};

/// Carries a run out on the runtime of the caller.
pub(crate) async fn carry_out(
    options: RunOptions,
    observer: &mut dyn Observer,
    levers: Receiver<Lever>,
    cancel: Cancel,
) -> Result<RunLog, RigError> {
    let id = new_run_id();
    let stage = Stage::set(&options, &id).await?;
    let outcome = on_stage(&options, &stage, observer, &levers, &cancel).await;
    let unconfirmed = stage.strike().await;
    let mut log = outcome?;
    let unconfirmed = unconfirmed.into_iter().map(|tier| format!("anything at {tier}"));
    log.integrity.faults_unreverted.extend(unconfirmed);
    Ok(log)
}

async fn on_stage(
    options: &RunOptions,
    stage: &Stage,
    observer: &mut dyn Observer,
    levers: &Receiver<Lever>,
    cancel: &Cancel,
) -> Result<RunLog, RigError> {
    let mut first = Vec::new();
    for (_, control) in &stage.tiers {
        first.push(watch::calibrate(control).await.map_err(RigError::Target)?);
    }
    let started = jiff::Timestamp::now();
    let epoch = Instant::now() + LEAD;
    let run = stage.cause.run.as_deref().unwrap_or_default();
    let watches = stage.tiers.iter().zip(&first).zip(&stage.commands);
    let watches: Vec<_> = watches
        .map(|(((name, _), first), commands)| {
            let others = Others::new(name, run, *commands);
            Watch::new(name, first, epoch, options.scale, others)
        })
        .collect();
    let generator = Generator::start(GeneratorConfig {
        seed: options.seed,
        scale: options.scale,
        epoch,
        watch: options.scenario.watch(),
        drain: Duration::ZERO,
        control: options.load_control.as_ref().map(|control| control.config.clone()),
        run: Some(RunRequest::new(
            &options.scenario.name,
            LeaseTerms::default().lease(),
            &stage.cause,
        )),
        ..GeneratorConfig::new(options.scenario.clone(), stage.target.clone())
    })
    .map_err(|error| RigError::Generator(error.to_string()))?;
    tell_address(options, &generator);
    let (lever_sender, load_levers) = std::sync::mpsc::channel();
    let targets = Targets::new(stage.tiers.clone(), LoadTarget::Channel(lever_sender));
    let play = PlayOptions {
        epoch,
        scale: options.scale,
        terms: LeaseTerms::default(),
        cause: stage.cause.clone(),
    };
    let playing = Timeline::of(&options.scenario).start(targets, play).map_err(|error| {
        RigError::Target(format!("{error}; give it with `--control http://127.0.0.1:9901`, once for each tier, outermost first"))
    })?;
    let ledger = Ledger::new(&options.scenario, options.scale, watches, observer);
    let at_load = Others::new(LOAD_GENERATOR, run, 0);
    let mut run = Run { options, stage, epoch, generator, playing, ledger, at_load };
    let ending = run.go_on(levers, &load_levers, cancel).await;
    Ok(run.finish(ending, &started).await)
}

/// A run that goes on.
struct Run<'a> {
    options: &'a RunOptions,
    stage: &'a Stage,
    epoch: Instant,
    generator: Generator,
    playing: Playing,
    ledger: Ledger<'a>,
    /// What others do at the load generator's control plane.
    at_load: Others,
}

impl Run<'_> {
    /// Samples, folds and shows until the scenario's end or a cancellation.
    async fn go_on(
        &mut self,
        levers: &Receiver<Lever>,
        load_levers: &Receiver<Lever>,
        cancel: &Cancel,
    ) -> Ending {
        let scale = self.options.scale;
        let end = self.epoch + scale.to_wall(self.options.scenario.duration);
        let period = scale.to_wall(SECOND).clamp(SAMPLE_SHORTEST, SAMPLE_LONGEST);
        let mut ticks = tokio::time::interval_at((self.epoch + period).into(), period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (sender, mut readings) = mpsc::unbounded_channel();
        let mut asked = vec![false; self.stage.tiers.len()];
        let mut gate = Gate::before(&self.options.scenario, self.epoch, scale);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.look_at_load();
                    for (tier, (_, control)) in self.stage.tiers.iter().enumerate() {
                        if std::mem::replace(&mut asked[tier], true) {
                            continue;
                        }
                        let (control, sender) = (control.clone(), sender.clone());
                        tokio::spawn(async move {
                            // The receiver goes away with the run; then nobody needs the reading.
                            let _ = sender.send((tier, watch::read(&control).await));
                        });
                    }
                }
                _ = looks.tick() => {
                    self.take_up(levers, load_levers).await;
                    if gate.is_due(Instant::now()) && self.is_withheld() {
                        return Ending::Withheld;
                    }
                }
                Some((tier, reading)) = readings.recv() => {
                    asked[tier] = false;
                    self.ledger.on_reading(tier, reading);
                }
            }
            self.ledger.on_load_windows(self.generator.windows().try_iter());
            if cancel.is_cancelled() {
                return Ending::Interrupted;
            }
            // The load goes on for a while, uncounted, until what is open has been seen to end.
            if Instant::now() >= end && self.generator.is_finished() {
                return Ending::Completed;
            }
        }
    }

    /// Takes what others have done at the load generator, and what the run has lost.
    fn look_at_load(&mut self) {
        let clock = self.generator.clock();
        let now = clock.now();
        let at = |age: Duration| {
            Timestamp::from(now.elapsed().saturating_sub(clock.scale().to_scenario(age)))
        };
        for event in self.at_load.news(&self.generator.commands(), at) {
            self.ledger.event(event.at, event.kind);
        }
        for lost in self.stage.leases.lost() {
            let LostLease { name, problem } = lost;
            self.ledger.doubt(now, format!("the lease of tier `{name}` was lost: {problem}"));
        }
    }

    /// Asks whether the trigger may go in. Where it must not, nothing of the timeline goes on.
    fn is_withheld(&mut self) -> bool {
        let cohorts = self.generator.cohorts();
        self.ledger.on_load_windows(self.generator.windows().try_iter());
        let seen = self.ledger.seen(&cohorts);
        let Some(reason) = withhold(&self.options.scenario, &seen) else { return false };
        self.playing.stop().pull();
        self.generator.stop();
        let now = self.generator.clock().now();
        self.ledger.event(now, EventKind::TriggerWithheld { reason });
        true
    }

    /// Takes up levers, and what the timeline has done.
    async fn take_up(&mut self, levers: &Receiver<Lever>, load_levers: &Receiver<Lever>) {
        let now = self.generator.clock().now();
        while let Ok(lever) = load_levers.try_recv() {
            // The timeline reports this one itself; only its failure is news.
            if let Err(problem) = self.generator.pull(&lever) {
                self.ledger.doubt(now, format!("the lever `{}` failed: {problem}", lever.name()));
            }
        }
        while let Ok(lever) = levers.try_recv() {
            let name = lever.name().to_owned();
            match self.pull(&lever).await {
                Ok(what) => {
                    let keys = lever.keys().into_iter().map(str::to_owned).collect();
                    let by = self.options.by.clone();
                    let kind = EventKind::LeverPulled { lever: name, what, keys, by };
                    self.ledger.event(now, kind);
                }
                Err(problem) => {
                    self.ledger.doubt(now, format!("the lever `{name}` failed: {problem}"));
                }
            }
        }
        while let Ok(event) = self.playing.events().try_recv() {
            self.ledger.on_injector(event);
        }
    }

    /// Pulls a lever for a person: at the load generator, or at the last tier.
    async fn pull(&self, lever: &Lever) -> Result<String, String> {
        match lever.target() {
            LeverTarget::LoadGenerator => self.generator.pull(lever),
            LeverTarget::Server => {
                let (_, control) = self.stage.tiers.last().ok_or("no tier's control is known")?;
                let cause = Cause { reason: LIVE.to_owned(), ..self.stage.cause.clone() };
                let wall = lever_to_wall(lever, self.options.scale);
                let pulled = control.pull_at_server(&wall, &cause).await;
                let pulled = pulled.map_err(|error| error.to_string())?;
                // A limiter is told in scenario time, as it is written.
                let is_limiter = matches!(lever, Lever::Limiter(_));
                Ok(if is_limiter { lever.did(0, 0) } else { pulled.did })
            }
        }
    }

    /// Ends the load and the timeline, and closes the log.
    async fn finish(mut self, ending: Ending, started: &jiff::Timestamp) -> RunLog {
        self.look_at_load();
        let Self { options, stage, generator, playing, mut ledger, .. } = self;
        generator.stop();
        let seconds = match ending {
            Ending::Completed => options.scenario.duration.as_secs(),
            Ending::Interrupted | Ending::Withheld => {
                playing.stop().pull();
                generator.clock().now().elapsed().as_secs()
            }
        };
        for (tier, (_, control)) in stage.tiers.iter().enumerate() {
            ledger.on_reading(tier, watch::read(control).await);
        }
        let ended = tokio::task::spawn_blocking(move || (playing.finish(), generator.finish()));
        let ((events, play), report) = match ended.await {
            Ok(ended) => ended,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        };
        for event in events {
            ledger.on_injector(event);
        }
        ledger.on_load_windows(report.windows.iter().cloned());
        ledger.on_cohorts(&report.cohorts);
        let integrity = integrity(options, stage, &ledger, &report, &play);
        let (windows, events) = ledger.close(seconds);
        RunLog {
            schema: RunLog::SCHEMA,
            meta: meta(options, started),
            windows,
            events,
            totals: report.totals,
            integrity,
            ending,
        }
    }
}

fn tell_address(options: &RunOptions, generator: &Generator) {
    let bound = options.load_control.as_ref().and_then(|control| control.bound.as_ref());
    if let (Some(bound), Some(addr)) = (bound, generator.control_addr()) {
        // Whoever has gone does not want to know.
        let _ = bound.send(addr);
    }
}

fn integrity(
    options: &RunOptions,
    stage: &Stage,
    ledger: &Ledger<'_>,
    report: &GeneratorReport,
    play: &PlayReport,
) -> Integrity {
    let names = |failures: &[PlayFailure]| failures.iter().map(|one| one.name.clone()).collect();
    let smallest_timeout = options.scale.to_wall(options.scenario.smallest_timeout());
    let mut memory_peak = ledger.memory_peaks();
    let here = match options.target {
        Target::Loopback => "rig",
        Target::Remote(_) => "load generator",
    };
    if stage.runs_here() {
        // The tiers live in this process: its memory is theirs too.
        memory_peak.clear();
    }
    memory_peak.insert(here.to_owned(), report.memory_peak);
    Integrity {
        scheduled: report.scheduled,
        offered: report.offered,
        unsent: report.unsent,
        send_lag_p99_wall: report.send_lag_p99_wall,
        smallest_timeout_wall: smallest_timeout.as_secs_f64(),
        faults_unseen: names(&play.faults_unseen),
        faults_unreverted: names(&play.unreverted),
        memory_peak,
    }
}

fn meta(options: &RunOptions, started: &jiff::Timestamp) -> Meta {
    Meta {
        scenario: options.scenario.name.clone(),
        arm: options.arm.clone(),
        engine: EngineKind::Rig,
        seed: options.seed,
        speed: options.scale.speed(),
        started: started.to_string(),
        command: options.command.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        parameters: serde_json::to_value(&options.scenario).unwrap_or_default(),
    }
}

/// Why, of a lever that somebody pulls while the run goes on, through the run.
const LIVE: &str = "goodput run: a person pulled it";
/// The load generator among the tiers that others act on.
const LOAD_GENERATOR: &str = "load generator";
const SECOND: Duration = Duration::from_secs(1);
/// How long the run waits, in wall time, between its preparation and the first arrival.
const LEAD: Duration = Duration::from_millis(100);
/// How often servers are sampled, in wall time: once a window within these bounds.
const SAMPLE_SHORTEST: Duration = Duration::from_millis(30);
const SAMPLE_LONGEST: Duration = Duration::from_secs(1);
/// How often, in wall time, the run looks for levers, a cancellation and its end.
const LOOK: Duration = Duration::from_millis(20);
