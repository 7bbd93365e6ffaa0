//! Bodies of commands, read. Whatever the bytes are, these functions answer with a command in range
//! or with a 400 that names the field and shows a valid example.

mod levers;
mod unique;

use std::time::Duration;

use goodput_clock::{Ratio, text};
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::invalid::InvalidConfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::{Cause, FaultRequest, RenewRequest, ResetScope, RunRequest, default_lease};
use crate::error::ApiError;
use crate::lease::LeaseKeeper;
pub use levers::{lever, lever_at, limiter};
use unique::Unique;

/// Reads the body of `POST /faults`.
///
/// # Errors
///
/// Where it is no such body, or a value is out of range.
pub fn fault(body: &[u8]) -> Result<FaultRequest, ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        name: String,
        fault: Value,
        #[serde(default = "default_lease", with = "text::duration")]
        lease: Duration,
        #[serde(default)]
        ticket: Option<String>,
    }
    let (fields, cause) = split(body, FAULT_EXAMPLE)?;
    let Written { name, fault, lease, ticket } = typed("", fields, FAULT_EXAMPLE)?;
    check_name(&name)?;
    let fault = fault_kind("fault", fault, FAULT_EXAMPLE)?;
    check_lease(lease, FAULT_EXAMPLE)?;
    if ticket.as_ref().is_some_and(|ticket| ticket.chars().count() > NAME_MAX) {
        return Err(wrong("ticket", "is longer than 100 characters", FAULT_EXAMPLE));
    }
    Ok(FaultRequest { ticket, ..FaultRequest::new(name, fault, lease, &cause) })
}

/// Reads what a fault does; `path` is where that stands, for the message.
///
/// # Errors
///
/// Where it is no fault, or a value is out of range.
pub fn fault_kind(path: &str, fault: Value, example: &str) -> Result<FaultKind, ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct CapacityFields {
        to: Ratio,
        #[serde(default)]
        mode: CapacityMode,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoFields {}
    let Value::Object(mut fields) = fault else {
        return Err(wrong(path, "is not an object", example));
    };
    let kind = fields.remove("kind");
    match kind.as_ref().and_then(Value::as_str) {
        Some("capacity") => {
            let CapacityFields { to, mode } = typed(path, fields, example)?;
            FaultKind::capacity(to, mode).map_err(|invalid| refused(path, invalid, example))
        }
        Some("stall") => typed(path, fields, example).map(|NoFields {}| FaultKind::Stall),
        Some(_) => Err(wrong(&join(path, "kind"), "is neither `capacity` nor `stall`", example)),
        None => Err(wrong(&join(path, "kind"), "is missing", example)),
    }
}

/// Reads the body of `PATCH /faults/{name}`; without a lease it asks for the default one.
///
/// # Errors
///
/// Where it is no such body, names no id, or the lease is out of range.
pub fn renewal(body: &[u8]) -> Result<RenewRequest, ApiError> {
    let (mut fields, cause) = split_or_empty(body, RENEW_EXAMPLE)?;
    let id = take_id(&mut fields, RENEW_EXAMPLE)?;
    let lease = lease_of(fields, RENEW_EXAMPLE)?;
    Ok(RenewRequest::new(id, lease, &cause))
}

/// Reads the body of `DELETE /faults/{name}`: which fault of that name, and who asks and why.
///
/// # Errors
///
/// Where it names no id, or says anything else.
pub fn removal(body: &[u8]) -> Result<(String, Cause), ApiError> {
    let (mut fields, cause) = split_or_empty(body, REMOVAL_EXAMPLE)?;
    let id = take_id(&mut fields, REMOVAL_EXAMPLE)?;
    nothing_else(&fields, REMOVAL_EXAMPLE)?;
    Ok((id, cause))
}

/// Reads the body of `POST /runs`.
///
/// # Errors
///
/// Where it is no such body, or the lease is out of range.
pub fn run(body: &[u8]) -> Result<RunRequest, ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        name: String,
        #[serde(default = "default_lease", with = "text::duration")]
        lease: Duration,
    }
    let (fields, cause) = split(body, RUN_EXAMPLE)?;
    if cause.run.is_none() {
        return Err(wrong("run", "is missing; it is the run's own id", RUN_EXAMPLE));
    }
    let Written { name, lease } = typed("", fields, RUN_EXAMPLE)?;
    check_name(&name)?;
    check_lease(lease, RUN_EXAMPLE)?;
    Ok(RunRequest::new(name, lease, &cause))
}

/// Reads the body of `PATCH /runs/{id}`: the lease from now on, and who asks and why. Without a lease,
/// or empty, it asks for the default one.
///
/// # Errors
///
/// Where it is no such body, or the lease is out of range.
pub fn lease(body: &[u8]) -> Result<(Duration, Cause), ApiError> {
    let (fields, cause) = split_or_empty(body, LEASE_EXAMPLE)?;
    Ok((lease_of(fields, LEASE_EXAMPLE)?, cause))
}

/// Reads the body of `POST /reset`; an empty one asks for what is one's own.
///
/// # Errors
///
/// Where it is no such body.
pub fn reset(body: &[u8]) -> Result<(ResetScope, Cause), ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        #[serde(default)]
        scope: ResetScope,
    }
    let (fields, cause) = split_or_empty(body, RESET_EXAMPLE)?;
    let Written { scope } = typed("", fields, RESET_EXAMPLE)?;
    Ok((scope, cause))
}

fn lease_of(fields: Map<String, Value>, example: &str) -> Result<Duration, ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        #[serde(default = "default_lease", with = "text::duration")]
        lease: Duration,
    }
    let Written { lease } = typed("", fields, example)?;
    check_lease(lease, example)?;
    Ok(lease)
}

/// The id of a fault, without which another's fault of the same name would be taken for it.
fn take_id(fields: &mut Map<String, Value>, example: &str) -> Result<String, ApiError> {
    match fields.remove("id") {
        None => Err(wrong(
            "id",
            "is missing: a fault is renewed and ended by the id that it was answered with and that \
             `GET /faults` shows; \"any\" stands for whichever fault has the name",
            example,
        )),
        Some(Value::String(id)) if (1..=NAME_MAX).contains(&id.chars().count()) => Ok(id),
        Some(_) => Err(wrong("id", "is not text of 1 to 100 characters", example)),
    }
}

/// Reads a body that says only who asks and why; it may be empty.
///
/// # Errors
///
/// Where it says anything else.
pub fn cause(body: &[u8]) -> Result<Cause, ApiError> {
    let (fields, cause) = split_or_empty(body, CAUSE_EXAMPLE)?;
    nothing_else(&fields, CAUSE_EXAMPLE)?;
    Ok(cause)
}

fn nothing_else(fields: &Map<String, Value>, example: &str) -> Result<(), ApiError> {
    match fields.keys().next() {
        Some(unknown) => Err(wrong(unknown, "is not known here", example)),
        None => Ok(()),
    }
}

/// Reads a body as an object, apart from who asks and why.
///
/// # Errors
///
/// Where it is no object, or `by`, `reason` or `run` is not text or too long.
pub fn split(body: &[u8], example: &str) -> Result<(Map<String, Value>, Cause), ApiError> {
    let Unique(value) = serde_json::from_slice(body).map_err(|error| {
        let problem = if error.is_data() { "is wrong" } else { "is not JSON" };
        ApiError::bad_request(format!("the body {problem}: {error}; such as {example}"))
    })?;
    let Value::Object(mut fields) = value else {
        return Err(ApiError::bad_request(format!("the body is not an object; such as {example}")));
    };
    let by = take_text(&mut fields, "by", NAME_MAX)?;
    let reason = take_text(&mut fields, "reason", 1_000)?;
    let run = fields.contains_key("run").then(|| take_text(&mut fields, "run", NAME_MAX));
    let run = run.transpose()?;
    if let Some(run) = &run {
        check_text("run", run, CAUSE_EXAMPLE)?;
    }
    Ok((fields, Cause { by, reason, run }))
}

/// As [`split`], with an empty body for an object without fields.
///
/// # Errors
///
/// As [`split`].
pub fn split_or_empty(body: &[u8], example: &str) -> Result<(Map<String, Value>, Cause), ApiError> {
    if body.is_empty() { Ok((Map::new(), Cause::default())) } else { split(body, example) }
}

fn take_text(
    fields: &mut Map<String, Value>,
    field: &str,
    longest: usize,
) -> Result<String, ApiError> {
    match fields.remove(field) {
        None => Ok(String::new()),
        Some(Value::String(text)) if text.chars().count() <= longest => Ok(text),
        Some(Value::String(_)) => {
            Err(wrong(field, &format!("is longer than {longest} characters"), CAUSE_EXAMPLE))
        }
        Some(_) => Err(wrong(field, "is not text", CAUSE_EXAMPLE)),
    }
}

/// Reads `fields`, which stand at `path`, as a `T`.
///
/// # Errors
///
/// Where they are none; the message begins with the field at fault and ends with `example`.
pub fn typed<T: DeserializeOwned>(
    path: &str,
    fields: Map<String, Value>,
    example: &str,
) -> Result<T, ApiError> {
    serde_path_to_error::deserialize(Value::Object(fields)).map_err(|error| {
        let inner = error.path().to_string();
        let problem = text::type_in_words(&error.inner().to_string());
        match (path, inner.as_str()) {
            ("", ".") => ApiError::bad_request(format!("{problem}; such as {example}")),
            (_, ".") => wrong(path, &format!("is wrong: {problem}"), example),
            _ => wrong(&join(path, &inner), &format!("is wrong: {problem}"), example),
        }
    })
}

fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

fn wrong(field: &str, problem: &str, example: &str) -> ApiError {
    ApiError::bad_request(format!("`{field}` {problem}; such as {example}"))
}

/// What a policy says about a value at `path`.
fn refused(path: &str, invalid: InvalidConfig, example: &str) -> ApiError {
    wrong(&join(path, invalid.key), invalid.problem, example)
}

/// Checks the name of a fault. It stands in paths, metrics and logs, so it has no control characters
/// and is no dot segment.
///
/// # Errors
///
/// Where it has, is one, or is not 1 to 100 characters long.
pub fn check_name(name: &str) -> Result<(), ApiError> {
    check_text("name", name, FAULT_EXAMPLE)
}

fn check_text(field: &str, text: &str, example: &str) -> Result<(), ApiError> {
    let fits = (1..=NAME_MAX).contains(&text.chars().count());
    if fits && !text.chars().any(char::is_control) && text != "." && text != ".." {
        return Ok(());
    }
    Err(wrong(field, "is not 1 to 100 characters without control characters", example))
}

fn check_lease(lease: Duration, example: &str) -> Result<(), ApiError> {
    if (LeaseKeeper::SHORTEST..=LeaseKeeper::LONGEST).contains(&lease) {
        return Ok(());
    }
    let problem = format!("is {}, outside 100ms to 1h", text::format_duration(lease));
    Err(wrong("lease", &problem, example))
}

/// The most characters of a name, an id or a `by`.
const NAME_MAX: usize = 100;
const FAULT_EXAMPLE: &str =
    r#"{"name":"failover","fault":{"kind":"capacity","to":0.4},"lease":"10s"}"#;
const RENEW_EXAMPLE: &str = r#"{"id":"1a2b-1","lease":"10s"}"#;
const REMOVAL_EXAMPLE: &str = r#"{"id":"1a2b-1"}"#;
const LEASE_EXAMPLE: &str = r#"{"lease":"10s"}"#;
const RUN_EXAMPLE: &str = r#"{"run":"20260101T120000Z-1a2b","name":"steady","lease":"10s"}"#;
const RESET_EXAMPLE: &str = r#"{"scope":"own"}"#;
const CAUSE_EXAMPLE: &str = r#"{"by":"me","reason":"game day"}"#;

#[cfg(test)]
mod tests;
