use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use goodput_policy::lever::{Lever, LeverTarget};
use serde_json::{Value, json};

use crate::api::{Cause, LoadState, Pulled};
use crate::audit::Audit;
use crate::error::ApiError;
use crate::parse;
use crate::plane::{self, Command, Name, Peer, Plane};

/// What a load generator lends its control plane. Every duration and rate is wall time.
///
/// The calls come from the control plane's thread, one at a time, and must not wait for the load.
/// What they change is seen in the state at once, even where the load follows a moment later.
pub trait LoadControl: Send + Sync + 'static {
    /// The state now.
    fn state(&self) -> LoadState;

    /// The metrics in Prometheus's text format.
    fn metrics(&self) -> String;

    /// Pulls the lever `budget`, `retries` or `rate`, and says what it did.
    ///
    /// # Errors
    ///
    /// What is wrong with the lever, such as a layer that is not there; then nothing has changed.
    fn pull(&self, lever: &Lever) -> Result<String, String>;

    /// Sends no new requests until [`resume`](Self::resume). What is in flight goes on.
    fn halt(&self);

    /// Goes on with the schedule; what it asked for meanwhile is not made up for.
    fn resume(&self);

    /// Puts back what levers have changed: rate by the schedule, layers as configured, not halted.
    fn reset(&self);
}

/// The control plane of a load generator.
pub fn load_plane(control: Arc<dyn LoadControl>, audit: Audit) -> Plane {
    let shared = Arc::new(Shared { control, audit: audit.clone() });
    let router = Router::new()
        .route("/state", get(state))
        .route("/metrics", get(metrics))
        .route("/levers/{name}", post(pull))
        .route("/halt", post(halt))
        .route("/resume", post(resume))
        .route("/reset", post(reset))
        .with_state(shared);
    Plane::new(router, audit)
}

struct Shared {
    control: Arc<dyn LoadControl>,
    audit: Audit,
}

impl Shared {
    /// Carries out a command that cannot fail and answers with the state read back.
    fn command(
        &self,
        peer: Peer,
        path: &str,
        body: &Bytes,
        act: impl FnOnce(&(dyn LoadControl + 'static)),
    ) -> Result<Response, ApiError> {
        let cause = parse::cause(body)?;
        let command = self.begin(peer, format!("POST {path}"), Value::Null, &cause);
        act(&*self.control);
        Ok(axum::Json(self.end(command)).into_response())
    }

    fn begin(&self, peer: Peer, command: String, what: Value, cause: &Cause) -> Command {
        Command::begin(&self.audit, peer, command, what, cause, digest(&self.control.state()))
    }

    fn end(&self, command: Command) -> LoadState {
        let state = self.control.state();
        command.done(digest(&state), "done");
        state
    }
}

type Lent = State<Arc<Shared>>;

async fn state(State(shared): Lent) -> Response {
    axum::Json(shared.control.state()).into_response()
}

async fn metrics(State(shared): Lent) -> Response {
    plane::metrics_response(&shared.control.metrics(), &shared.audit)
}

async fn halt(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    shared.command(peer, "/halt", &body, LoadControl::halt)
}

async fn resume(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    shared.command(peer, "/resume", &body, LoadControl::resume)
}

async fn reset(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    shared.command(peer, "/reset", &body, LoadControl::reset)
}

async fn pull(
    State(shared): Lent,
    Name(name): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (lever, cause) = parse::lever_at(LeverTarget::LoadGenerator, &name, &body)?;
    let what = plane::json_of(&lever);
    let command = shared.begin(peer, format!("POST /levers/{name}"), what, &cause);
    let did =
        shared.control.pull(&lever).map_err(|error| ApiError::bad_request(error).by(&cause))?;
    let state = shared.end(command);
    Ok(axum::Json(Pulled { lever: name, did, state }).into_response())
}

/// What the audit log keeps of a state.
fn digest(state: &LoadState) -> Value {
    json!({ "rate": state.rate, "halted": state.halted, "layers": state.layers })
}
