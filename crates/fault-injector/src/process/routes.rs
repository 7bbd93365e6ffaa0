//! The injector's own API.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use bytes::Bytes;
use goodput_clock::{Scale, text};
use goodput_control::api::{ANY_FAULT, Cause, ResetScope};
use goodput_control::{
    ApiError, Audit, Name, Peer, Plane, Process, new_run_id, parse, process_routes,
};
use goodput_scenario::{Plan, Scenario};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::{Desk, Order, bad_gateway};
use crate::command;
use crate::run_lease::{LeaseError, RunLeases};
use crate::timeline::{PlayOptions, Timeline};

/// The routes over what the injector holds.
pub(super) fn plane(desk: Arc<Desk>, audit: Audit) -> Plane {
    let router = process_routes()
        .route("/faults", get(list).post(inject))
        .route("/faults/{name}", delete(end))
        .route("/timeline", get(timeline).post(begin).delete(end_timeline))
        .route("/reset", post(reset))
        .with_state(desk);
    Plane::new(router, audit)
}

impl Process for Desk {
    type State = Value;

    fn state(&self) -> Value {
        let tiers: Vec<_> = self.targets.tiers().iter().map(|(tier, _)| tier).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "tiers": tiers,
            "lease": text::format_duration(self.terms.lease()),
            "renew_every": text::format_duration(self.terms.renew_every()),
            "faults": self.held(),
            "timeline": self.timeline(),
            "unconfirmed": self.unconfirmed(),
        })
    }

    fn digest(state: &Value) -> Value {
        state.clone()
    }

    fn metrics(&self) -> String {
        self.figures()
    }

    fn audit(&self) -> &Audit {
        &self.audit
    }
}

type Lent = State<Arc<Desk>>;

async fn list(State(desk): Lent) -> Response {
    axum::Json(desk.held()).into_response()
}

async fn inject(State(desk): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let order = read_order(&body)?;
    let what = json!({
        "name": order.name,
        "tier": order.tier,
        "fault": order.kind,
        "for": text::format_duration(order.length),
    });
    let command = desk.begin(peer, "POST /faults", what, &order.cause);
    let view = desk.inject(order).await?;
    desk.end(command, "in force, as read back");
    Ok((StatusCode::CREATED, axum::Json(view)).into_response())
}

async fn end(
    State(desk): Lent,
    Name(name): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (id, cause) = parse::removal(&body)?;
    let what = json!({ "id": id });
    let command = desk.begin(peer, format!("DELETE /faults/{name}"), what, &cause);
    let removed = desk.end_fault(&name, &id).await.map_err(|error| error.by(&cause))?;
    let state = desk.end(command, "ended, as read back");
    Ok(axum::Json(json!({ "removed": removed, "state": state })).into_response())
}

async fn timeline(State(desk): Lent) -> Result<Response, ApiError> {
    match desk.timeline() {
        Some(view) => Ok(axum::Json(view).into_response()),
        None => Err(ApiError::not_found("no timeline has been played; `POST /timeline` plays one")),
    }
}

async fn begin(State(desk): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let (scenario, scale, cause) = read_timeline(&body)?;
    let timeline = Timeline::of(&scenario);
    timeline.check(&desk.targets).map_err(|e| ApiError::bad_request(e.to_string()).by(&cause))?;
    let what = json!({ "scenario": scenario.name, "speed": scale });
    let command = desk.begin(peer, "POST /timeline", what, &cause);
    desk.check_idle(&cause)?;
    let owner = cause.owner();
    let (cause, leases) = if cause.run.is_some() {
        // The run that asks holds the leases itself.
        (cause, None)
    } else {
        let cause = cause.of_run(new_run_id());
        let planes = desk.targets.planes();
        let taken = RunLeases::take(&planes, &scenario.name, desk.terms, &cause).await;
        let leases = taken.map_err(|error| lease_error(&error).by(&cause))?;
        (cause, Some(leases))
    };
    let options = PlayOptions { epoch: Instant::now(), scale, terms: desk.terms, cause };
    desk.begin_timeline(scenario.name, owner, timeline, options, leases)?;
    let state = desk.end(command, "begun");
    Ok((StatusCode::ACCEPTED, axum::Json(state)).into_response())
}

async fn end_timeline(State(desk): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let cause = parse::cause(&body)?;
    let command = desk.begin(peer, "DELETE /timeline", Value::Null, &cause);
    let view = desk.end_timeline().await;
    let state = desk.end(command, "ended");
    Ok(axum::Json(json!({ "timeline": view, "state": state })).into_response())
}

/// Ends what it holds for whoever asks, or everything, then resets each tier likewise and reads its
/// state back.
async fn reset(State(desk): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    let (scope, cause) = parse::reset(&body)?;
    let command = desk.begin(peer, "POST /reset", json!({ "scope": scope }), &cause);
    let (names, has_timeline) = desk.stop_of(scope, &cause.owner());
    for name in names {
        // A revert that fails here shows in what the tiers read back below.
        let _ = desk.end_fault(&name, ANY_FAULT).await;
    }
    if has_timeline {
        desk.end_timeline().await;
    }
    let mut tiers = serde_json::Map::new();
    let mut problems = Vec::new();
    for (tier, client) in desk.targets.tiers() {
        match command::reset(client, scope, &cause).await {
            Ok(state) => {
                tiers.insert(tier.clone(), json!(state));
            }
            Err(error) => problems.push(format!("{tier}: {error}")),
        }
    }
    if !problems.is_empty() {
        return Err(bad_gateway(problems.join("; ")).by(&cause));
    }
    if scope == ResetScope::All {
        desk.forget_unconfirmed();
    }
    let state = desk.end(command, "reset, as read back");
    Ok(axum::Json(json!({ "state": state, "tiers": tiers })).into_response())
}

fn lease_error(error: &LeaseError) -> ApiError {
    match error.problem.status() {
        Some(StatusCode::CONFLICT) => ApiError::conflict(error.to_string()),
        _ => bad_gateway(error.to_string()),
    }
}

fn read_order(body: &[u8]) -> Result<Order, ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        name: String,
        #[serde(default)]
        tier: Option<String>,
        fault: Value,
        #[serde(rename = "for", with = "text::duration")]
        length: Duration,
    }
    let (fields, cause) = parse::split(body, FAULT_EXAMPLE)?;
    let Written { name, tier, fault, length } = parse::typed("", fields, FAULT_EXAMPLE)?;
    parse::check_name(&name)?;
    let kind = parse::fault_kind("fault", fault, FAULT_EXAMPLE)?;
    if !(LENGTH_MIN..=LENGTH_MAX).contains(&length) {
        return Err(ApiError::bad_request(format!(
            "`for` is not from 100ms to 24h; such as {FAULT_EXAMPLE}"
        )));
    }
    Ok(Order { name, tier, kind, length, cause })
}

fn read_timeline(body: &[u8]) -> Result<(Scenario, Scale, Cause), ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        scenario: String,
        #[serde(default)]
        arm: Option<String>,
        #[serde(default = "real_time")]
        speed: f64,
    }
    let (fields, cause) = parse::split(body, TIMELINE_EXAMPLE)?;
    let Written { scenario, arm, speed } = parse::typed("", fields, TIMELINE_EXAMPLE)?;
    let wrong = |field: &str, problem: &dyn std::fmt::Display| {
        ApiError::bad_request(format!("`{field}` is wrong: {problem}; such as {TIMELINE_EXAMPLE}"))
    };
    let scale = Scale::new(speed).map_err(|error| wrong("speed", &error))?;
    let plan = Plan::parse("scenario", &scenario).map_err(|error| wrong("scenario", &error))?;
    let scenario = match arm {
        None => plan.scenario,
        Some(name) => match plan.arms.into_iter().find(|arm| arm.name == name) {
            Some(arm) => arm.scenario,
            None => return Err(wrong("arm", &format!("there is no arm `{name}`"))),
        },
    };
    Ok((scenario, scale, cause))
}

const fn real_time() -> f64 {
    1.0
}

const LENGTH_MIN: Duration = Duration::from_millis(100);
const LENGTH_MAX: Duration = Duration::from_hours(24);
const FAULT_EXAMPLE: &str =
    r#"{"name":"failover","fault":{"kind":"capacity","to":0.4},"for":"20s"}"#;
const TIMELINE_EXAMPLE: &str =
    r#"{"scenario":"<the text of a scenario file>","arm":"naive","speed":10}"#;
