use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Instant;

use goodput_clock::Timestamp;
use goodput_control::ClientError;
use goodput_control::api::ResetScope;
use goodput_control::wall::lever_to_wall;
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_scenario::{PlannedFault, PlannedLever};
use serde::Serialize;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::sleep_until;

use crate::command;
use crate::event::{InjectorEvent, InjectorEventKind};
use crate::hold::{HoldEnd, HoldError, HoldRequest, hold};
use crate::stop::Stop;
use crate::targets::{LoadTarget, MissingTarget, Targets};
use crate::timeline::{PlayOptions, Timeline};

/// What went wrong while a timeline was played.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct PlayReport {
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Faults that never came into force.
    pub faults_unseen: Vec<PlayFailure>,
    /// Faults that ended before their time, without the timeline.
    pub faults_lost: Vec<PlayFailure>,
    /// Faults that could not be confirmed to have ended, and tiers whose levers could not be
    /// confirmed to be back: they may still be in force.
    pub unreverted: Vec<PlayFailure>,
    /// Levers that could not be pulled.
    pub levers_failed: Vec<PlayFailure>,
}

impl PlayReport {
    /// Takes what came of giving back the leases of the run that it was played for.
    pub(crate) fn take_released(&mut self, released: Vec<(String, Result<Value, ClientError>)>) {
        for (tier, outcome) in released {
            match outcome {
                // A process that has ended has taken with it whatever was set there.
                Ok(_) | Err(ClientError::Refused(_)) => {}
                Err(error) => {
                    self.unreverted.push(failure("levers", Some(&tier), error.to_string()));
                }
            }
        }
    }
}

/// One thing that went wrong.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct PlayFailure {
    /// The fault's or the lever's name.
    pub name: String,
    /// The tier, where there is one.
    pub tier: Option<String>,
    /// What went wrong.
    pub problem: String,
}

/// Plays a timeline to its end, or until `stop` is pulled. Its faults are over then; where it was
/// stopped, what its levers left behind at servers is put back too.
///
/// # Panics
///
/// Where playing a fault or a lever has panicked: nobody knows then what is in force.
pub(crate) async fn play(
    timeline: Timeline,
    targets: Targets,
    options: PlayOptions,
    stop: Stop,
    events: mpsc::Sender<InjectorEvent>,
) -> PlayReport {
    let player = Arc::new(Player {
        targets,
        options,
        stop: stop.clone(),
        events,
        report: Mutex::new(PlayReport::default()),
        touched: Mutex::new(BTreeSet::new()),
    });
    let mut tasks = JoinSet::new();
    for fault in timeline.faults {
        let player = Arc::clone(&player);
        tasks.spawn(async move { player.fault(&fault).await });
    }
    for lever in timeline.levers {
        let player = Arc::clone(&player);
        tasks.spawn(async move { player.lever(&lever).await });
    }
    while let Some(ended) = tasks.join_next().await {
        if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
            std::panic::resume_unwind(panic);
        }
    }
    if stop.is_pulled() {
        player.put_levers_back().await;
    }
    let report = player.report.lock().unwrap_or_else(PoisonError::into_inner);
    report.clone()
}

struct Player {
    targets: Targets,
    options: PlayOptions,
    stop: Stop,
    events: mpsc::Sender<InjectorEvent>,
    report: Mutex<PlayReport>,
    /// The tiers at which a lever has left something behind.
    touched: Mutex<BTreeSet<String>>,
}

impl Player {
    async fn fault(&self, planned: &PlannedFault) {
        if !self.wait_until(planned.at).await {
            return;
        }
        let (name, tier) = (planned.name.clone(), planned.tier.clone());
        let client = match self.targets.tier(Some(&tier)) {
            Ok((_, client)) => client,
            Err(missing) => return self.fault_failed(name, tier, missing.to_string()),
        };
        let request = HoldRequest {
            name: name.clone(),
            kind: planned.kind,
            ends: self.instant_of(planned.ends()),
            terms: self.options.terms,
            cause: self.options.cause.clone(),
        };
        let ended = hold(client, &request, &self.stop, |_| {
            let (name, tier, what) = (name.clone(), tier.clone(), planned.kind.to_string());
            self.tell(InjectorEventKind::FaultStarted { name, tier, what });
        })
        .await;
        match ended {
            Ok(HoldEnd::Ended { interrupted, .. }) => {
                self.note(|report| report.interrupted |= interrupted);
                self.tell(InjectorEventKind::FaultEnded { name, tier, lost: false });
            }
            Ok(HoldEnd::Lost { .. }) => {
                let problem = "it ended before its time".to_owned();
                let lost = failure(&name, Some(&tier), problem);
                self.note(|report| report.faults_lost.push(lost));
                self.tell(InjectorEventKind::FaultEnded { name, tier, lost: true });
            }
            Ok(HoldEnd::Unconfirmed { problem }) => self.unreverted(name, tier, problem),
            Err(error @ HoldError::Unconfirmed { .. }) => {
                self.fault_failed(name.clone(), tier.clone(), error.to_string());
                self.unreverted(name, tier, error.to_string());
            }
            Err(error) => self.fault_failed(name, tier, error.to_string()),
        }
    }

    async fn lever(&self, planned: &PlannedLever) {
        if !self.wait_until(planned.at).await {
            return;
        }
        let pulled = match planned.lever.target() {
            LeverTarget::Server => self.pull_at_server(planned).await,
            LeverTarget::LoadGenerator => self.pull_at_load(&planned.lever).await,
        };
        let lever = planned.lever.name().to_owned();
        match pulled {
            Ok((tier, did)) => {
                let keys = planned.lever.keys().into_iter().map(ToOwned::to_owned).collect();
                // A limiter is told in scenario time, as it is written.
                let is_limiter = matches!(planned.lever, Lever::Limiter(_));
                let did = if is_limiter { planned.lever.did(0, 0) } else { did };
                self.tell(InjectorEventKind::LeverPulled { lever, tier, did, keys });
            }
            Err(problem) => {
                let failed = failure(&lever, planned.tier.as_deref(), problem.clone());
                self.note(|report| report.levers_failed.push(failed));
                self.tell(InjectorEventKind::LeverFailed { lever, problem });
            }
        }
    }

    async fn pull_at_server(
        &self,
        planned: &PlannedLever,
    ) -> Result<(Option<String>, String), String> {
        let found = self.targets.tier(planned.tier.as_deref());
        let (tier, client) = found.map_err(|missing| missing.to_string())?;
        if matches!(planned.lever, Lever::Admit { .. } | Lever::Limiter(_)) {
            self.touched.lock().unwrap_or_else(PoisonError::into_inner).insert(tier.clone());
        }
        let lever = lever_to_wall(&planned.lever, self.options.scale);
        let pulled = client.pull_at_server(&lever, &self.options.cause).await;
        pulled.map(|pulled| (Some(tier.clone()), pulled.did)).map_err(|error| error.to_string())
    }

    async fn pull_at_load(&self, lever: &Lever) -> Result<(Option<String>, String), String> {
        match self.targets.load() {
            LoadTarget::None => Err(MissingTarget::Load(lever.name().to_owned()).to_string()),
            LoadTarget::Channel(levers) => levers
                .send(lever.clone())
                .map(|()| (None, "handed to the load generator".to_owned()))
                .map_err(|_| "the load generator has ended".to_owned()),
            LoadTarget::Control(client) => {
                let wall = lever_to_wall(lever, self.options.scale);
                let pulled = client.pull_at_load(&wall, &self.options.cause).await;
                pulled.map(|pulled| (None, pulled.did)).map_err(|error| error.to_string())
            }
        }
    }

    /// After an interruption: puts back what levers have left behind at servers.
    async fn put_levers_back(&self) {
        let touched = {
            let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *touched)
        };
        for tier in touched {
            let Ok((_, client)) = self.targets.tier(Some(&tier)) else { continue };
            if let Err(error) = command::reset(client, ResetScope::Own, &self.options.cause).await {
                let failed = failure("levers", Some(&tier), error.to_string());
                self.note(|report| report.unreverted.push(failed));
            }
        }
    }

    /// Waits for a time of the scenario; false where the end was asked for first.
    async fn wait_until(&self, at: Timestamp) -> bool {
        tokio::select! {
            biased;
            () = self.stop.pulled() => {
                self.note(|report| report.interrupted = true);
                false
            }
            () = sleep_until(self.instant_of(at).into()) => true,
        }
    }

    fn instant_of(&self, at: Timestamp) -> Instant {
        self.options.epoch + self.options.scale.to_wall(at.elapsed())
    }

    fn fault_failed(&self, name: String, tier: String, problem: String) {
        let failed = failure(&name, Some(&tier), problem.clone());
        self.note(|report| report.faults_unseen.push(failed));
        self.tell(InjectorEventKind::FaultFailed { name, tier, problem });
    }

    fn unreverted(&self, name: String, tier: String, problem: String) {
        let failed = failure(&name, Some(&tier), problem.clone());
        self.note(|report| report.unreverted.push(failed));
        self.tell(InjectorEventKind::FaultUnreverted { name, tier, problem });
    }

    fn note(&self, note: impl FnOnce(&mut PlayReport)) {
        note(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn tell(&self, kind: InjectorEventKind) {
        let elapsed = self.options.epoch.elapsed();
        let at = Timestamp::from(self.options.scale.to_scenario(elapsed));
        // Whoever does not listen any more has the report.
        let _ = self.events.send(InjectorEvent { at, kind });
    }
}

fn failure(name: &str, tier: Option<&str>, problem: String) -> PlayFailure {
    PlayFailure { name: name.to_owned(), tier: tier.map(ToOwned::to_owned), problem }
}
