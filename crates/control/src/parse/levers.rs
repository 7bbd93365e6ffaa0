use std::time::Duration;

use goodput_clock::{Rate, Ratio, text};
use goodput_policy::budget::BudgetConfig;
use goodput_policy::lever::{Lever, LeverTarget};
use goodput_policy::limiter::LimiterPatch;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CAUSE_EXAMPLE, refused, split, split_or_empty, typed, wrong};
use crate::api::Cause;
use crate::error::ApiError;

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

pub(super) fn lever_example(name: &str) -> Option<&'static str> {
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

const LIMITER_EXAMPLE: &str = r#"{"slots":10,"capacity":100,"queue_limit":150}"#;
