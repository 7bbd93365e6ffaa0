//! Bodies of commands, read. Whatever the bytes are, these functions answer with a command in range
//! or with a 400 that names the field and shows a valid example.

mod unique;

use std::time::Duration;

use goodput_clock::{Rate, Ratio, text};
use goodput_policy::budget::BudgetConfig;
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::invalid::InvalidConfig;
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_policy::limiter::LimiterPatch;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::api::{Cause, FaultRequest, RenewRequest, default_lease};
use crate::error::ApiError;
use crate::lease::LeaseKeeper;
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
    }
    let (fields, cause) = split(body, FAULT_EXAMPLE)?;
    let Written { name, fault, lease } = typed("", fields, FAULT_EXAMPLE)?;
    check_name(&name)?;
    let fault = fault_kind("fault", fault, FAULT_EXAMPLE)?;
    check_lease(lease)?;
    Ok(FaultRequest::new(name, fault, lease, &cause))
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

/// Reads the body of `PATCH /faults/{name}`; an empty one asks for the default lease.
///
/// # Errors
///
/// Where it is no such body, or the lease is out of range.
pub fn renewal(body: &[u8]) -> Result<RenewRequest, ApiError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        #[serde(default = "default_lease", with = "text::duration")]
        lease: Duration,
    }
    let (fields, cause) = split_or_empty(body, RENEW_EXAMPLE)?;
    let Written { lease } = typed("", fields, RENEW_EXAMPLE)?;
    check_lease(lease)?;
    Ok(RenewRequest::new(lease, &cause))
}

/// Reads a body that says only who asks and why; it may be empty.
///
/// # Errors
///
/// Where it says anything else.
pub fn cause(body: &[u8]) -> Result<Cause, ApiError> {
    let (fields, cause) = split_or_empty(body, CAUSE_EXAMPLE)?;
    match fields.keys().next() {
        Some(unknown) => Err(wrong(unknown, "is not known here", CAUSE_EXAMPLE)),
        None => Ok(cause),
    }
}

/// Reads the body of `PATCH /limiter`.
///
/// # Errors
///
/// Where it is no such body, a value is out of range, or it would change nothing.
pub fn limiter(body: &[u8]) -> Result<(LimiterPatch, Cause), ApiError> {
    let (fields, cause) = split(body, LIMITER_EXAMPLE)?;
    let patch = limiter_patch(fields)?;
    check_lever(&Lever::Limiter(patch), LIMITER_EXAMPLE)?;
    Ok((patch, cause))
}

/// Reads the body of `POST /levers/{name}`, which may be empty for levers without fields.
///
/// # Errors
///
/// Where there is no such lever (404), the body is not that lever's, or a value is out of range.
pub fn lever(name: &str, body: &[u8]) -> Result<(Lever, Cause), ApiError> {
    let example = lever_example(name).ok_or_else(|| {
        let names = Lever::NAMES.join("`, `");
        ApiError::not_found(format!("there is no lever `{name}`; there are `{names}`"))
    })?;
    let (fields, cause) = split_or_empty(body, example)?;
    let lever = lever_of(name, fields, example)?;
    check_lever(&lever, example)?;
    Ok((lever, cause))
}

/// As [`lever`], where only those can be pulled that act on `target`.
///
/// # Errors
///
/// As [`lever`]; also where the lever acts on something else.
pub fn lever_at(target: LeverTarget, name: &str, body: &[u8]) -> Result<(Lever, Cause), ApiError> {
    let (lever, cause) = lever(name, body)?;
    if lever.target() == target {
        return Ok((lever, cause));
    }
    let (what, port) = match lever.target() {
        LeverTarget::Server => ("a server", 9901),
        LeverTarget::LoadGenerator => ("a load generator", 9902),
    };
    let problem = format!("the lever `{name}` acts on {what}; ask its control plane (port {port})");
    Err(ApiError::bad_request(problem).by(&cause))
}

fn check_lever(lever: &Lever, example: &str) -> Result<(), ApiError> {
    lever.validate().map_err(|invalid| refused("", invalid, example))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AdmitFields {
    share: Ratio,
    #[serde(rename = "for", default, with = "text::optional_duration")]
    hold: Option<Duration>,
    #[serde(default, with = "text::duration")]
    ramp: Duration,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BudgetFields {
    #[serde(default)]
    layer: Option<String>,
    budget: BudgetConfig,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RetriesFields {
    #[serde(default)]
    layer: Option<String>,
    retries: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateFields {
    rate: Rate,
}

/// The lever of that name. Each lever's fields are read by a type of their own, since an enum with
/// a tag would lose the name of the field at fault.
fn lever_of(name: &str, fields: Map<String, Value>, example: &str) -> Result<Lever, ApiError> {
    match name {
        "shed-queue" | "restart" => match fields.keys().next() {
            Some(unknown) => Err(wrong(unknown, "is not a field of this lever", example)),
            None if name == "restart" => Ok(Lever::Restart),
            None => Ok(Lever::ShedQueue),
        },
        "admit" => {
            let AdmitFields { share, hold, ramp } = typed("", fields, example)?;
            Ok(Lever::Admit { share, hold, ramp })
        }
        "limiter" => limiter_patch(fields).map(Lever::Limiter),
        "budget" => {
            let BudgetFields { layer, budget } = typed("", fields, example)?;
            Ok(Lever::Budget { layer, budget })
        }
        "retries" => {
            let RetriesFields { layer, retries } = typed("", fields, example)?;
            Ok(Lever::Retries { layer, retries })
        }
        "rate" => {
            let RateFields { rate } = typed("", fields, example)?;
            Ok(Lever::Rate { rate })
        }
        _ => Err(ApiError::not_found(format!("there is no lever `{name}`"))),
    }
}

fn lever_example(name: &str) -> Option<&'static str> {
    match name {
        "shed-queue" | "restart" => Some(CAUSE_EXAMPLE),
        "admit" => Some(r#"{"share":0.2,"for":"30s","ramp":"30s"}"#),
        "limiter" => Some(LIMITER_EXAMPLE),
        "budget" => {
            Some(r#"{"layer":"client","budget":{"kind":"sre-ratio","ratio":0.1,"window":"10s"}}"#)
        }
        "retries" => Some(r#"{"layer":"client","retries":0}"#),
        "rate" => Some(r#"{"rate":80}"#),
        _ => None,
    }
}

fn limiter_patch(fields: Map<String, Value>) -> Result<LimiterPatch, ApiError> {
    let null = fields.iter().find(|(_, value)| value.is_null());
    if let Some((field, _)) = null {
        return Err(wrong(field, "is null; leave it out to keep it", LIMITER_EXAMPLE));
    }
    typed("", fields, LIMITER_EXAMPLE)
}

/// Reads a body as an object, apart from who asks and why.
///
/// # Errors
///
/// Where it is no object, or `by` or `reason` is not text or too long.
pub fn split(body: &[u8], example: &str) -> Result<(Map<String, Value>, Cause), ApiError> {
    let Unique(value) = serde_json::from_slice(body).map_err(|error| {
        let problem = if error.is_data() { "is wrong" } else { "is not JSON" };
        ApiError::bad_request(format!("the body {problem}: {error}; such as {example}"))
    })?;
    let Value::Object(mut fields) = value else {
        return Err(ApiError::bad_request(format!("the body is not an object; such as {example}")));
    };
    let by = take_text(&mut fields, "by", 100)?;
    let reason = take_text(&mut fields, "reason", 1_000)?;
    Ok((fields, Cause { by, reason }))
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
    let fits = (1..=100).contains(&name.chars().count());
    if fits && !name.chars().any(char::is_control) && name != "." && name != ".." {
        return Ok(());
    }
    Err(wrong("name", "is not 1 to 100 characters without control characters", FAULT_EXAMPLE))
}

fn check_lease(lease: Duration) -> Result<(), ApiError> {
    if (LeaseKeeper::SHORTEST..=LeaseKeeper::LONGEST).contains(&lease) {
        return Ok(());
    }
    let problem = format!("is {}, outside 100ms to 1h", text::format_duration(lease));
    Err(wrong("lease", &problem, RENEW_EXAMPLE))
}

const FAULT_EXAMPLE: &str =
    r#"{"name":"failover","fault":{"kind":"capacity","to":0.4},"lease":"10s"}"#;
const RENEW_EXAMPLE: &str = r#"{"lease":"10s"}"#;
const CAUSE_EXAMPLE: &str = r#"{"by":"me","reason":"game day"}"#;
const LIMITER_EXAMPLE: &str = r#"{"slots":10,"capacity":100,"queue_limit":150}"#;

#[cfg(test)]
mod tests;
