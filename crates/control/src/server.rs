use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch};
use bytes::Bytes;
use goodput_policy::fault::{Effect, FaultKind};
use goodput_policy::lever::{Lever, LeverTarget, NOTHING};
use goodput_policy::limiter::{Capacity, LimiterPatch};
use http::StatusCode;
use serde_json::{Value, json};

use crate::api::{Cause, FaultRequest, FaultView, Held, Owner, Removal, RunView, ServerState};
use crate::audit::Audit;
use crate::commands::CommandLog;
use crate::error::ApiError;
use crate::lease::{LeaseKeeper, LeaseRefusal};
use crate::levers::{Levered, lever_routes};
use crate::parse;
use crate::plane::{Name, Peer, Plane};
use crate::process::{Process, json_of, process_routes};
use crate::runs::{self, Leased, RunKeeper, run_routes};
use crate::touched::Touched;

/// What a server lends its control plane. Every duration and rate is wall time.
///
/// The calls come from the control plane's thread, one at a time. They must not wait for the data
/// plane longer than a lock on the limiter takes.
pub trait ServerControl: Send + Sync + 'static {
    /// The state now, with what the control plane itself knows of it.
    fn state(&self, held: Held) -> ServerState;

    /// The metrics in Prometheus's text format.
    fn metrics(&self) -> String;

    /// Feels the sum of all faults in force from now on.
    fn set_effect(&self, effect: Effect);

    /// The limiter as it is, before faults, in everything that a patch can change.
    fn limiter(&self) -> LimiterPatch;

    /// Changes the limiter.
    ///
    /// # Errors
    ///
    /// What is wrong with the patch; then nothing has changed.
    fn patch_limiter(&self, patch: LimiterPatch) -> Result<(), String>;

    /// Pulls a lever of the server's, [`Lever::Limiter`] included, and says what it did.
    ///
    /// # Errors
    ///
    /// What is wrong with the lever; then nothing has changed.
    fn pull(&self, lever: &Lever) -> Result<String, String>;

    /// Admits all traffic from now on.
    fn admit_all(&self);

    /// Refuses everything that waits, and says how many requests that were.
    fn shed_queue(&self) -> usize;
}

/// The control plane of a server, as which it was started just now. It holds the leases of the faults
/// and of the run that uses it; what nobody renews ends by itself.
pub fn server_plane(control: Arc<dyn ServerControl>, audit: Audit) -> Plane {
    let feels = Arc::clone(&control);
    let commands = Arc::new(CommandLog::default());
    let keeper = LeaseKeeper::new(audit.clone(), Arc::clone(&commands), move |effect| {
        feels.set_effect(effect);
    });
    let initial = control.limiter();
    let shared = Arc::new(Shared {
        control,
        keeper: keeper.clone(),
        runs: RunKeeper::default(),
        commands,
        settings: Mutex::new(Settings { initial, rest: initial, touched: Touched::default() }),
        audit: audit.clone(),
    });
    let router = process_routes::<Shared>()
        .merge(lever_routes::<Shared>())
        .merge(run_routes::<Shared>())
        .route("/faults", get(list_faults).post(install))
        .route("/faults/{name}", patch(renew).delete(remove))
        .route("/limiter", patch(patch_limiter))
        .with_state(Arc::clone(&shared));
    Plane::new(router, audit).with_task(keeper.run()).with_task(runs::keep(shared))
}

struct Shared {
    control: Arc<dyn ServerControl>,
    keeper: LeaseKeeper,
    runs: RunKeeper,
    commands: Arc<CommandLog>,
    settings: Mutex<Settings>,
    audit: Audit,
}

/// Who has set what at the limiter and the edge.
#[derive(Debug)]
struct Settings {
    /// The limiter as it was started.
    initial: LimiterPatch,
    /// The limiter as it would be without the run that holds the lease.
    rest: LimiterPatch,
    touched: Touched,
}

impl Process for Shared {
    type State = ServerState;

    fn state(&self) -> ServerState {
        self.expire_run();
        self.shown()
    }

    fn digest(state: &ServerState) -> Value {
        json!({
            "limiter": state.limiter,
            "slots": state.slots,
            "capacity": state.capacity,
            "admitted": state.admitted,
            "queued": state.queued,
            "in_service": state.in_service,
            "faults": state.faults,
        })
    }

    fn metrics(&self) -> String {
        self.control.metrics()
    }

    fn audit(&self) -> &Audit {
        &self.audit
    }

    fn log(&self) -> Option<&CommandLog> {
        Some(&self.commands)
    }
}

impl Leased for Shared {
    fn shown(&self) -> ServerState {
        let faults = self.keeper.faults();
        let (run, commands) = (self.runs.view(), self.commands.view());
        self.control.state(Held { faults, run, commands })
    }

    fn runs(&self) -> &RunKeeper {
        &self.runs
    }

    fn undo(&self, run: &RunView) -> String {
        let faults = self.keeper.remove_of(&Owner::Run(run.id.clone()));
        let mut settings = self.settings();
        let keys = settings.touched.take_of_run();
        let back = settings.rest.only(|key| keys.contains(key));
        self.put_back(back, keys.contains(ADMITTED));
        let shed = self.control.shed_queue();
        let keys: Vec<_> = keys.into_iter().collect();
        let keys = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
        format!("put back {keys}, ended {} faults, refused {shed} waiting requests", faults.len())
    }
}

impl Levered for Shared {
    const TARGET: LeverTarget = LeverTarget::Server;

    fn pull(&self, lever: &Lever, cause: &Cause) -> Result<String, String> {
        let did = self.control.pull(lever)?;
        if did.starts_with(NOTHING) {
            return Ok(did);
        }
        match lever {
            Lever::Limiter(patch) => {
                self.note_patch(*patch, cause);
                // In wall time, as whoever asks has written it.
                Ok(lever.did(0, 0))
            }
            Lever::Admit { .. } => {
                self.settings().touched.note(&cause.owner(), [ADMITTED.to_owned()]);
                Ok(did)
            }
            Lever::ShedQueue
            | Lever::Restart
            | Lever::Budget { .. }
            | Lever::Retries { .. }
            | Lever::Rate { .. } => Ok(did),
        }
    }

    fn reset_own(&self, cause: &Cause) -> bool {
        let owner = cause.owner();
        let mut any = !self.keeper.remove_of(&owner).is_empty();
        let mut settings = self.settings();
        match &owner {
            Owner::Run(run) if self.runs.view().is_none_or(|holder| holder.id != *run) => {}
            Owner::Run(_) => {
                let keys = settings.touched.take_of_run();
                let back = settings.rest.only(|key| keys.contains(key));
                self.put_back(back, keys.contains(ADMITTED));
                any |= !keys.is_empty();
            }
            Owner::By(name) => {
                let (keys, overridden) = settings.touched.take_by(name);
                let initial = settings.initial.only(|key| keys.contains(key));
                settings.rest = settings.rest.then(initial);
                let is_theirs = |key: &str| keys.contains(key) && !overridden.contains(key);
                self.put_back(settings.initial.only(is_theirs), is_theirs(ADMITTED));
                any |= !keys.is_empty();
            }
        }
        // The queue of a run is that run's.
        let runs = self.runs.view();
        if runs.is_none_or(|run| cause.run == Some(run.id)) {
            any |= self.control.shed_queue() > 0;
        }
        any
    }

    fn reset_all(&self) {
        self.keeper.clear();
        let mut settings = self.settings();
        settings.rest = settings.initial;
        settings.touched.clear();
        self.put_back(settings.initial, true);
        self.control.shed_queue();
    }
}

impl Shared {
    /// Checks that a fault which is to take slots away takes one at least, besides those that the
    /// faults in force have taken. A name that is in use is for the keeper to refuse.
    fn check_slots(&self, request: &FaultRequest) -> Result<(), ApiError> {
        let faults = self.keeper.faults();
        let Some(slots) = self.control.limiter().slots else { return Ok(()) };
        if faults.iter().any(|other| other.name == request.name) {
            return Ok(());
        }
        let effect = faults.iter().fold(Effect::NONE, |sum, other| sum.and(other.fault));
        let checked = effect.check_slots(request.fault, slots);
        checked.map_err(|none| {
            let message = format!("a fault of mode `slots` {none}; write {SLOW_EXAMPLE}");
            ApiError::conflict(message)
        })
    }

    /// Takes that whoever asks has changed the limiter.
    fn note_patch(&self, patch: LimiterPatch, cause: &Cause) {
        let mut settings = self.settings();
        if cause.run.is_none() {
            settings.rest = settings.rest.then(patch);
        }
        let keys = patch.keys().into_iter().map(ToOwned::to_owned);
        settings.touched.note(&cause.owner(), keys);
    }

    /// Puts a limiter, and all traffic, back.
    fn put_back(&self, limiter: LimiterPatch, all_admitted: bool) {
        if limiter != LimiterPatch::default() {
            // What was in force before is valid still: nothing that a patch cannot change has changed.
            let _ = self.control.patch_limiter(limiter);
        }
        if all_admitted {
            self.control.admit_all();
        }
    }

    fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Lent = State<Arc<Shared>>;

async fn list_faults(State(shared): Lent) -> Response {
    shared.expire_run();
    axum::Json(shared.keeper.faults()).into_response()
}

async fn install(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let request = parse::fault(&body)?;
    let cause = request.cause();
    shared.check_run(&cause)?;
    check_acts(&*shared.control, request.fault).map_err(|error| error.by(&cause))?;
    shared.check_slots(&request).map_err(|error| error.by(&cause))?;
    let command = shared.begin(peer, "POST /faults", json_of(&request), &cause);
    let view = shared.keeper.install(&request).map_err(|e| lease_error(&e).by(&cause))?;
    shared.end_saying(command, &format!("fault `{}` in force: {}", view.name, view.fault));
    Ok((StatusCode::CREATED, axum::Json(view)).into_response())
}

/// A fault that would change nothing is refused, with what to do first.
fn check_acts(control: &dyn ServerControl, fault: FaultKind) -> Result<(), ApiError> {
    let idle = fault.idle_at(control.limiter().capacity.unwrap_or(Capacity::Unlimited));
    idle.map_or(Ok(()), |idle| {
        Err(ApiError::conflict(format!("the fault would change nothing: {idle}")))
    })
}

async fn renew(
    State(shared): Lent,
    Name(name): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let request = parse::renewal(&body)?;
    let cause = request.cause();
    shared.expire_run();
    let command = shared.begin(peer, format!("PATCH /faults/{name}"), json_of(&request), &cause);
    let view = shared.keeper.renew(&name, &request.id, request.lease);
    let view = view.map_err(|e| lease_error(&e).by(&cause))?;
    shared.end_quietly(command);
    Ok(axum::Json(view).into_response())
}

async fn remove(
    State(shared): Lent,
    Name(name): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (id, cause) = parse::removal(&body)?;
    shared.expire_run();
    let command = shared.begin(peer, format!("DELETE /faults/{name}"), json!({ "id": id }), &cause);
    let removed = shared.keeper.remove(&name, &id);
    let state = match &removed {
        Some(FaultView { owner, .. }) => {
            shared.end_saying(command, &format!("fault `{name}` of {owner} ended"))
        }
        None => shared.end_quietly(command),
    };
    Ok(axum::Json(Removal { removed, state }).into_response())
}

async fn patch_limiter(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let (patch, cause) = parse::limiter(&body)?;
    shared.check_run(&cause)?;
    let command = shared.begin(peer, "PATCH /limiter", json_of(&patch), &cause);
    shared.control.patch_limiter(patch).map_err(|error| ApiError::bad_request(error).by(&cause))?;
    shared.note_patch(patch, &cause);
    Ok(axum::Json(shared.end_saying(command, &Lever::Limiter(patch).did(0, 0))).into_response())
}

fn lease_error(refusal: &LeaseRefusal) -> ApiError {
    let message = refusal.to_string();
    match refusal {
        LeaseRefusal::Conflict { .. } | LeaseRefusal::Full => ApiError::conflict(message),
        LeaseRefusal::NotInForce(_) | LeaseRefusal::Another { .. } => ApiError::not_found(message),
    }
}

/// The knob of the edge, beside the keys of the limiter.
const ADMITTED: &str = "admitted";
const SLOW_EXAMPLE: &str = r#"{"kind":"capacity","to":0.4,"mode":"slow"}"#;
