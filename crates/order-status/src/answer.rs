//! Every answer that is not an order: errors and refusals, in one shape.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use goodput_control::api::ErrorBody;
use goodput_policy::deadline::REFUSAL_REASON;
use goodput_policy::limiter::Refusal;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

/// A JSON answer of this status.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let mut body = Vec::with_capacity(TYPICAL_BYTES);
    // Writing to memory does not fail, and every answer is made of numbers, text and lists.
    let _ = serde_json::to_writer(&mut body, value);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An error in the shape `{"error": …, "status": …}`.
pub(crate) fn problem(status: StatusCode, error: impl Into<String>) -> Response {
    json(status, &ErrorBody { error: error.into(), status: status.as_u16() })
}

/// What a refused attempt is told: 503 and when to come back, or 504 where its deadline is the
/// reason; always with the reason in a header.
pub(crate) fn refusal(reason: Refusal, retry_after: Duration) -> Response {
    let name = HeaderValue::from_static(reason.name());
    let mut response = match reason {
        Refusal::Expired => problem(
            StatusCode::GATEWAY_TIMEOUT,
            "the deadline would have passed before an answer was ready",
        ),
        Refusal::QueueFull
        | Refusal::SafetyCap
        | Refusal::Shed
        | Refusal::NotAdmitted
        | Refusal::Restart => problem(StatusCode::SERVICE_UNAVAILABLE, refusal_text(reason)),
    };
    if reason != Refusal::Expired {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(whole_seconds(retry_after)));
    }
    response.headers_mut().insert(REFUSAL_REASON, name);
    response
}

const fn refusal_text(reason: Refusal) -> &'static str {
    match reason {
        Refusal::QueueFull => "the queue is full",
        Refusal::SafetyCap => "the queue is at the cap that guards memory",
        Refusal::Shed => "the queue was shed",
        Refusal::NotAdmitted => "only a share of the traffic is admitted",
        Refusal::Restart => "the server was restarted",
        Refusal::Expired => "the deadline has passed",
    }
}

/// `Retry-After` has whole seconds only; at least one, so that nobody comes back at once.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0)).clamp(1, 60)
}

/// What an order takes, and some more.
const TYPICAL_BYTES: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_does_not_drain_asks_for_the_longest_wait() {
        assert_eq!(whole_seconds(Duration::MAX), 60);
        assert_eq!(whole_seconds(Duration::from_millis(1_001)), 2);
        assert_eq!(whole_seconds(Duration::ZERO), 1);
    }
}
