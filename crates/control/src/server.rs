use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch};
use bytes::Bytes;
use goodput_policy::fault::{Effect, FaultKind};
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_policy::limiter::LimiterPatch;
use http::StatusCode;
use serde_json::{Value, json};

use crate::api::{FaultRequest, FaultView, Removal, ServerState};
use crate::audit::Audit;
use crate::error::ApiError;
use crate::lease::{LeaseKeeper, LeaseRefusal};
use crate::levers::{Levered, lever_routes};
use crate::parse;
use crate::plane::{Name, Peer, Plane};
use crate::process::{DONE, Process, json_of, process_routes};

/// What a server lends its control plane. Every duration and rate is wall time.
///
/// The calls come from the control plane's thread, one at a time. They must not wait for the data
/// plane longer than a lock on the limiter takes.
pub trait ServerControl: Send + Sync + 'static {
    /// The state now, with these faults in [`ServerState::faults`].
    fn state(&self, faults: Vec<FaultView>) -> ServerState;

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

    /// Puts back what levers have changed: the limiter as it was started, all traffic admitted.
    /// The faults end apart from this.
    fn reset(&self);
}

/// The control plane of a server. It holds the leases of the faults; a fault whose lease nobody
/// renews ends by itself.
pub fn server_plane(control: Arc<dyn ServerControl>, audit: Audit) -> Plane {
    let feels = Arc::clone(&control);
    let keeper = LeaseKeeper::new(audit.clone(), move |effect| feels.set_effect(effect));
    let shared = Arc::new(Shared { control, keeper: keeper.clone(), audit: audit.clone() });
    let router = process_routes::<Shared>()
        .merge(lever_routes::<Shared>())
        .route("/faults", get(list_faults).post(install))
        .route("/faults/{name}", patch(renew).delete(remove))
        .route("/limiter", patch(patch_limiter))
        .with_state(shared);
    Plane::new(router, audit).with_task(keeper.run())
}

struct Shared {
    control: Arc<dyn ServerControl>,
    keeper: LeaseKeeper,
    audit: Audit,
}

impl Process for Shared {
    type State = ServerState;

    fn state(&self) -> ServerState {
        self.control.state(self.keeper.faults())
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
}

impl Levered for Shared {
    const TARGET: LeverTarget = LeverTarget::Server;

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        self.control.pull(lever)
    }

    fn reset(&self) {
        self.keeper.clear();
        self.control.reset();
    }
}

impl Shared {
    /// Checks that a fault which is to take slots away takes one at least, besides those that the
    /// faults in force have taken. A name that is in use is for the keeper to refuse.
    fn check_slots(&self, name: &str, fault: FaultKind) -> Result<(), ApiError> {
        let faults = self.keeper.faults();
        let Some(slots) = self.control.limiter().slots else { return Ok(()) };
        if faults.iter().any(|other| other.name == name) {
            return Ok(());
        }
        let effect = faults.iter().fold(Effect::NONE, |sum, other| sum.and(other.fault));
        let checked = effect.check_slots(fault, slots);
        checked.map_err(|none| {
            let message = format!("a fault of mode `slots` {none}; write {SLOW_EXAMPLE}");
            ApiError::conflict(message)
        })
    }
}

type Lent = State<Arc<Shared>>;

async fn list_faults(State(shared): Lent) -> Response {
    axum::Json(shared.keeper.faults()).into_response()
}

async fn install(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let request = parse::fault(&body)?;
    let cause = request.cause();
    let FaultRequest { name, fault, lease, .. } = &request;
    shared.check_slots(name, *fault).map_err(|error| error.by(&cause))?;
    let command = shared.begin(peer, "POST /faults", json_of(&request), &cause);
    let view =
        shared.keeper.install(name, *fault, *lease).map_err(|e| lease_error(&e).by(&cause))?;
    shared.end(command, DONE);
    Ok((StatusCode::CREATED, axum::Json(view)).into_response())
}

async fn renew(
    State(shared): Lent,
    Name(name): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let request = parse::renewal(&body)?;
    let cause = request.cause();
    let command = shared.begin(peer, format!("PATCH /faults/{name}"), json_of(&request), &cause);
    let view = shared.keeper.renew(&name, request.lease).map_err(|e| lease_error(&e).by(&cause))?;
    shared.end(command, DONE);
    Ok(axum::Json(view).into_response())
}

async fn remove(
    State(shared): Lent,
    Name(name): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let cause = parse::cause(&body)?;
    let command = shared.begin(peer, format!("DELETE /faults/{name}"), Value::Null, &cause);
    let removed = shared.keeper.remove(&name);
    let state = shared.end(command, DONE);
    Ok(axum::Json(Removal { removed, state }).into_response())
}

async fn patch_limiter(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let (patch, cause) = parse::limiter(&body)?;
    let command = shared.begin(peer, "PATCH /limiter", json_of(&patch), &cause);
    shared.control.patch_limiter(patch).map_err(|error| ApiError::bad_request(error).by(&cause))?;
    Ok(axum::Json(shared.end(command, DONE)).into_response())
}

fn lease_error(refusal: &LeaseRefusal) -> ApiError {
    let message = refusal.to_string();
    match refusal {
        LeaseRefusal::Conflict(_) | LeaseRefusal::Full => ApiError::conflict(message),
        LeaseRefusal::NotInForce(_) => ApiError::not_found(message),
    }
}

const SLOW_EXAMPLE: &str = r#"{"kind":"capacity","to":0.4,"mode":"slow"}"#;
