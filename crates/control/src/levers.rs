//! The routes of a process on which levers act: `POST /levers/{name}` and `POST /reset`.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use goodput_policy::lever::{Lever, LeverTarget, NOTHING};
use serde_json::json;

use crate::api::{Cause, Pulled, ResetScope};
use crate::error::ApiError;
use crate::parse;
use crate::plane::{Name, Peer};
use crate::process;
use crate::runs::Leased;

/// A process on which levers act.
pub(crate) trait Levered: Leased {
    /// Which levers act on it.
    const TARGET: LeverTarget;

    /// Pulls a lever of that target for whoever asks, and says what it did.
    ///
    /// # Errors
    ///
    /// What is wrong with the lever; then nothing has changed.
    fn pull(&self, lever: &Lever, cause: &Cause) -> Result<String, String>;

    /// Puts back what whoever asks has changed; says whether there was anything.
    fn reset_own(&self, cause: &Cause) -> bool;

    /// Puts everything back as the process was started.
    fn reset_all(&self);
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
    process.check_run(&cause)?;
    let what = process::json_of(&lever);
    let command = process.begin(peer, format!("POST /levers/{name}"), what, &cause);
    let did = process.pull(&lever, &cause);
    let did = did.map_err(|error| ApiError::bad_request(error).by(&cause))?;
    // What changed nothing is no news to whoever watches.
    let state = if did.starts_with(NOTHING) {
        process.end_quietly(command)
    } else {
        process.end_saying(command, &format!("lever {name}: {did}"))
    };
    Ok(axum::Json(Pulled { lever: name, did, state }).into_response())
}

/// Puts back what whoever asks has changed, or everything. The lease of a run ends with everything,
/// unless it is that run that asks.
async fn reset<P: Levered>(
    State(process): State<Arc<P>>,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (scope, cause) = parse::reset(&body)?;
    process.expire_run();
    let command = process.begin(peer, "POST /reset", json!({ "scope": scope }), &cause);
    let did = match scope {
        ResetScope::Own if !process.reset_own(&cause) => {
            return Ok(axum::Json(process.end_quietly(command)).into_response());
        }
        ResetScope::Own => format!("reset of what {} had put there", cause.owner()),
        ResetScope::All => {
            let other = process.runs().view().filter(|run| cause.run.as_ref() != Some(&run.id));
            let ended = other.and_then(|run| process.runs().end(&run.id));
            process.reset_all();
            let ended = ended.map(|run| format!("; the lease of the run {} ended", run.name));
            format!("reset of everything{}", ended.unwrap_or_default())
        }
    };
    Ok(axum::Json(process.end_saying(command, &did)).into_response())
}
