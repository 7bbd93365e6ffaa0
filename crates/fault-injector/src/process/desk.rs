//! What the injector holds at the moment.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use goodput_control::api::{ANY_FAULT, Cause, Owner, ResetScope};
use goodput_control::{ApiError, Audit, LeaseKeeper};
use goodput_policy::fault::FaultKind;
use http::StatusCode;
use serde::Serialize;
use tokio::sync::{oneshot, watch};

use crate::event::{EventView, InjectorEvent};
use crate::hold::{HoldEnd, HoldError, HoldRequest, Seen, hold};
use crate::play::{PlayReport, play};
use crate::run_lease::RunLeases;
use crate::stop::Stop;
use crate::targets::Targets;
use crate::terms::LeaseTerms;
use crate::timeline::{PlayOptions, Timeline};

/// What the injector holds, and what it acts on.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) targets: Targets,
    pub(super) terms: LeaseTerms,
    pub(super) audit: Audit,
    on_it: Mutex<OnIt>,
}

#[derive(Debug, Default)]
struct OnIt {
    held: BTreeMap<String, Held>,
    timeline: Option<RunningTimeline>,
    /// Faults that could not be confirmed to have ended.
    unconfirmed: Vec<String>,
    injected: u64,
    failed: u64,
    lost: u64,
}

#[derive(Debug)]
struct Held {
    /// The id at its server, once it has been read back in force.
    id: Option<String>,
    owner: Owner,
    tier: String,
    kind: FaultKind,
    began: Instant,
    ends: Instant,
    stop: Stop,
    ended: watch::Receiver<Option<Ended>>,
}

/// How a fault ended, for whoever waits for it: well, or with what is not confirmed.
type Ended = Result<(), String>;

#[derive(Debug)]
struct RunningTimeline {
    name: String,
    /// Whoever began it.
    owner: Owner,
    stop: Stop,
    events: mpsc::Receiver<InjectorEvent>,
    seen: Vec<EventView>,
    report: watch::Receiver<Option<PlayReport>>,
}

/// A fault that is held, as the API shows it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HeldView {
    /// The id at its server, by which it is ended; none until it has been read back in force.
    id: Option<String>,
    name: String,
    owner: Owner,
    tier: String,
    fault: FaultKind,
    /// How long it has been held, in seconds.
    age: f64,
    /// How long it is still held, in seconds.
    left: f64,
}

/// A timeline, as the API shows it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TimelineView {
    scenario: String,
    playing: bool,
    events: Vec<EventView>,
    report: Option<PlayReport>,
}

/// A fault that is asked for.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) name: String,
    pub(super) tier: Option<String>,
    pub(super) kind: FaultKind,
    pub(super) length: Duration,
    pub(super) cause: Cause,
}

impl Desk {
    pub(super) fn new(targets: Targets, terms: LeaseTerms, audit: Audit) -> Self {
        Self { targets, terms, audit, on_it: Mutex::new(OnIt::default()) }
    }

    /// Puts a fault in force and holds it; answers once it has been read back in force.
    pub(super) async fn inject(self: &Arc<Self>, order: Order) -> Result<HeldView, ApiError> {
        let found = self.targets.tier(order.tier.as_deref());
        let (tier, client) = found.map_err(|missing| {
            ApiError::bad_request(format!("`tier` is unknown: {missing}")).by(&order.cause)
        })?;
        let (tier, client) = (tier.clone(), client.clone());
        let (end, ended) = watch::channel(None);
        let began = Instant::now();
        let (stop, ends) = (Stop::new(), began + order.length);
        let (owner, kind, stopped) = (order.cause.owner(), order.kind, stop.clone());
        let held = Held { id: None, owner, tier, kind, began, ends, stop: stopped, ended };
        self.take_in(&order, held)?;
        let request = HoldRequest {
            name: order.name.clone(),
            kind: order.kind,
            ends,
            terms: self.terms,
            cause: order.cause.clone(),
        };
        let (on_seen, seen) = oneshot::channel::<Seen>();
        let desk = Arc::clone(self);
        let task = tokio::spawn(async move {
            // Whoever asked may have hung up; the fault is held all the same.
            let tell = |seen: &Seen| {
                desk.note_id(&seen.fault.name, &seen.fault.id);
                drop(on_seen.send(seen.clone()));
            };
            let outcome = hold(&client, &request, &stop, tell).await;
            let ended = desk.let_go(&request.name, &outcome);
            end.send_replace(Some(ended));
            outcome.err()
        });
        if seen.await.is_ok() {
            return self.view(&order.name).ok_or_else(|| {
                ApiError::conflict(format!("the fault `{}` has ended already", order.name))
            });
        }
        let problem = match task.await {
            Ok(Some(error)) => hold_error(&error),
            Ok(None) | Err(_) => bad_gateway("the fault ended before it was seen".to_owned()),
        };
        Err(problem.by(&order.cause))
    }

    /// Ends the fault of this name and id and waits until that is confirmed; none where no such fault is
    /// held. [`ANY_FAULT`] stands for whatever id it has.
    pub(super) async fn end_fault(
        &self,
        name: &str,
        id: &str,
    ) -> Result<Option<HeldView>, ApiError> {
        let held = self.view(name);
        let is_it = |held: &HeldView| id == ANY_FAULT || held.id.as_deref() == Some(id);
        let Some(view) = held.filter(is_it) else { return Ok(None) };
        let waited = {
            let on_it = self.lock();
            on_it.held.get(name).map(|held| (held.stop.clone(), held.ended.clone()))
        };
        let Some((stop, ended)) = waited else { return Ok(Some(view)) };
        stop.pull();
        outcome_of(ended).await.unwrap_or(Ok(())).map_err(bad_gateway)?;
        Ok(Some(view))
    }

    /// Refuses a second timeline while one is played.
    pub(super) fn check_idle(&self, cause: &Cause) -> Result<(), ApiError> {
        self.lock().check_idle(cause)
    }

    /// Begins a timeline at scenario time zero, for `owner`, with the leases that were taken for it.
    pub(super) fn begin_timeline(
        self: &Arc<Self>,
        name: String,
        owner: Owner,
        timeline: Timeline,
        options: PlayOptions,
        leases: Option<RunLeases>,
    ) -> Result<(), ApiError> {
        let mut on_it = self.lock();
        on_it.check_idle(&options.cause)?;
        let (sender, events) = mpsc::channel();
        let (done, report) = watch::channel(None);
        let stop = Stop::new();
        on_it.timeline = Some(RunningTimeline {
            name,
            owner,
            stop: stop.clone(),
            events,
            seen: Vec::new(),
            report,
        });
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            let cause = options.cause.clone();
            let mut report = play(timeline, desk.targets.clone(), options, stop, sender).await;
            if let Some(leases) = leases {
                report.take_released(leases.release(&cause).await);
            }
            let left = report.unreverted.iter().map(|failure| failure.name.clone());
            desk.lock().unconfirmed.extend(left);
            done.send_replace(Some(report));
        });
        Ok(())
    }

    /// Ends the timeline and waits until it has reverted; none where there never was one.
    pub(super) async fn end_timeline(&self) -> Option<TimelineView> {
        let report = {
            let on_it = self.lock();
            let timeline = on_it.timeline.as_ref()?;
            timeline.stop.pull();
            timeline.report.clone()
        };
        outcome_of(report).await;
        self.timeline()
    }

    /// The timeline that is or was last played.
    pub(super) fn timeline(&self) -> Option<TimelineView> {
        let mut on_it = self.lock();
        let timeline = on_it.timeline.as_mut()?;
        let new: Vec<EventView> = timeline.events.try_iter().map(|e| EventView::from(&e)).collect();
        timeline.seen.extend(new);
        Some(TimelineView {
            scenario: timeline.name.clone(),
            playing: timeline.is_playing(),
            events: timeline.seen.clone(),
            report: timeline.report.borrow().clone(),
        })
    }

    /// Asks everything to end.
    pub(super) fn stop_all(&self) {
        self.stop_of(ResetScope::All, &Owner::By(String::new()));
    }

    /// Asks everything to end that is in scope for `owner`; returns the names of the faults, and whether
    /// the timeline is among it.
    pub(super) fn stop_of(&self, scope: ResetScope, owner: &Owner) -> (Vec<String>, bool) {
        let on_it = self.lock();
        let in_scope = |other: &Owner| scope == ResetScope::All || other == owner;
        let held = on_it.held.iter().filter(|(_, held)| in_scope(&held.owner));
        let names = held.map(|(name, held)| {
            held.stop.pull();
            name.clone()
        });
        let names = names.collect();
        let timeline = on_it.timeline.as_ref().filter(|timeline| in_scope(&timeline.owner));
        if let Some(timeline) = timeline {
            timeline.stop.pull();
        }
        (names, timeline.is_some())
    }

    /// What has not ended yet: faults by their names, and the timeline.
    pub(super) fn not_ended(&self) -> Vec<String> {
        let on_it = self.lock();
        let timeline = on_it.timeline.as_ref().filter(|timeline| timeline.is_playing());
        let timeline = timeline.map(|timeline| format!("the timeline of {}", timeline.name));
        on_it.held.keys().cloned().chain(timeline).collect()
    }

    pub(super) fn held(&self) -> Vec<HeldView> {
        self.lock().held.iter().map(|(name, held)| view(name, held)).collect()
    }

    pub(super) fn unconfirmed(&self) -> Vec<String> {
        self.lock().unconfirmed.clone()
    }

    /// A reset has been confirmed: nothing is in force.
    pub(super) fn forget_unconfirmed(&self) {
        self.lock().unconfirmed.clear();
    }

    /// The metrics in Prometheus's text format.
    pub(super) fn figures(&self) -> String {
        let on_it = self.lock();
        let mut text = String::from(
            "# HELP rig_injector_faults_held Faults that the injector holds.\n\
             # TYPE rig_injector_faults_held gauge\n",
        );
        // Writing to a string cannot fail.
        for (tier, _) in self.targets.tiers() {
            let held = on_it.held.values().filter(|held| held.tier == *tier).count();
            let _ = writeln!(text, "rig_injector_faults_held{{tier=\"{}\"}} {held}", escape(tier));
        }
        for (name, kind, help, count) in [
            (
                "faults_injected_total",
                "counter",
                "Faults that were put in force and have ended.",
                on_it.injected,
            ),
            ("faults_failed_total", "counter", "Faults that never came into force.", on_it.failed),
            ("faults_lost_total", "counter", "Faults that ended before their time.", on_it.lost),
            (
                "faults_unconfirmed",
                "gauge",
                "Faults that could not be confirmed to have ended.",
                on_it.unconfirmed.len() as u64,
            ),
        ] {
            let name = format!("rig_injector_{name}");
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {count}");
        }
        text
    }

    fn take_in(&self, order: &Order, held: Held) -> Result<(), ApiError> {
        let mut on_it = self.lock();
        if on_it.held.contains_key(&order.name) {
            let message = format!("a fault named `{}` is held already", order.name);
            return Err(ApiError::conflict(message).by(&order.cause));
        }
        if on_it.held.len() >= LeaseKeeper::MOST {
            let most = LeaseKeeper::MOST;
            let message = format!("{most} faults are held, and more cannot be; end one first");
            return Err(ApiError::conflict(message).by(&order.cause));
        }
        on_it.held.insert(order.name.clone(), held);
        Ok(())
    }

    fn note_id(&self, name: &str, id: &str) {
        if let Some(held) = self.lock().held.get_mut(name) {
            held.id = Some(id.to_owned());
        }
    }

    fn let_go(&self, name: &str, outcome: &Result<HoldEnd, HoldError>) -> Ended {
        let mut on_it = self.lock();
        on_it.held.remove(name);
        match outcome {
            Ok(HoldEnd::Lost { .. }) => on_it.lost += 1,
            Ok(HoldEnd::Ended { .. } | HoldEnd::Unconfirmed { .. }) => {}
            Err(_) => on_it.failed += 1,
        }
        if outcome.is_ok() {
            on_it.injected += 1;
        }
        match outcome {
            Ok(HoldEnd::Unconfirmed { problem }) => {
                on_it.unconfirmed.push(name.to_owned());
                Err(format!("the fault `{name}` may still be in force: {problem}"))
            }
            Err(error @ HoldError::Unconfirmed { .. }) => {
                on_it.unconfirmed.push(name.to_owned());
                Err(error.to_string())
            }
            Ok(HoldEnd::Ended { .. } | HoldEnd::Lost { .. }) | Err(_) => Ok(()),
        }
    }

    fn view(&self, name: &str) -> Option<HeldView> {
        self.lock().held.get(name).map(|held| view(name, held))
    }

    fn lock(&self) -> MutexGuard<'_, OnIt> {
        self.on_it.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OnIt {
    fn check_idle(&self, cause: &Cause) -> Result<(), ApiError> {
        if self.timeline.as_ref().is_some_and(RunningTimeline::is_playing) {
            let message = "a timeline is being played; `DELETE /timeline` ends it";
            return Err(ApiError::conflict(message).by(cause));
        }
        Ok(())
    }
}

impl RunningTimeline {
    fn is_playing(&self) -> bool {
        self.report.borrow().is_none() && self.report.has_changed().is_ok()
    }
}

/// What comes out of the channel; none where its task is gone without a word.
async fn outcome_of<T: Clone>(mut ended: watch::Receiver<Option<T>>) -> Option<T> {
    ended.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone())
}

fn view(name: &str, held: &Held) -> HeldView {
    let now = Instant::now();
    HeldView {
        id: held.id.clone(),
        name: name.to_owned(),
        owner: held.owner.clone(),
        tier: held.tier.clone(),
        fault: held.kind,
        age: now.saturating_duration_since(held.began).as_secs_f64(),
        left: held.ends.saturating_duration_since(now).as_secs_f64(),
    }
}

fn hold_error(error: &HoldError) -> ApiError {
    match error {
        HoldError::NotInForce(refused) if refused.status() == Some(StatusCode::CONFLICT) => {
            ApiError::conflict(error.to_string())
        }
        HoldError::NotInForce(_) | HoldError::NotSeen(_) | HoldError::Unconfirmed { .. } => {
            bad_gateway(error.to_string())
        }
    }
}

pub(super) fn bad_gateway(problem: String) -> ApiError {
    ApiError::new(StatusCode::BAD_GATEWAY, problem)
}

/// A label's value in Prometheus's text format.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
