//! The routes of a process on which levers act: `POST /levers/{name}` and `POST /reset`.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use goodput_policy::lever::{Lever, LeverTarget};

use crate::api::Pulled;
use crate::error::ApiError;
use crate::parse;
use crate::plane::{Name, Peer};
use crate::process::{self, DONE, Process};

/// A process on which levers act.
pub(crate) trait Levered: Process {
    /// Which levers act on it.
    const TARGET: LeverTarget;

    /// Pulls a lever of that target, and says what it did.
    ///
    /// # Errors
    ///
    /// What is wrong with the lever; then nothing has changed.
    fn pull(&self, lever: &Lever) -> Result<String, String>;

    /// Puts everything back as the process was started.
    fn reset(&self);
}

/// The routes of its levers.
pub(crate) fn lever_routes<P: Levered>() -> Router<Arc<P>> {
    Router::new().route("/levers/{name}", post(pull::<P>)).route("/reset", post(reset::<P>))
}

async fn pull<P: Levered>(
    State(process): State<Arc<P>>,
    Name(name): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (lever, cause) = parse::lever_at(P::TARGET, &name, &body)?;
    let what = process::json_of(&lever);
    let command = process.begin(peer, format!("POST /levers/{name}"), what, &cause);
    let did = process.pull(&lever).map_err(|error| ApiError::bad_request(error).by(&cause))?;
    let state = process.end(command, DONE);
    Ok(axum::Json(Pulled { lever: name, did, state }).into_response())
}

async fn reset<P: Levered>(
    State(process): State<Arc<P>>,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    process::carry_out(&*process, peer, "POST /reset", &body, P::reset)
}
