//! What every request of the data plane goes through first: it is counted, bounded and read.

#![expect(clippy::result_large_err, reason = "the error is the answer, as axum takes it")]

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;
use tokio::time::timeout;

use crate::answer;
use crate::config::Bounds;
use crate::metrics::Outcome;
use crate::request::Caller;
use crate::tier::Tier;

/// Takes requests in; each failure comes as the answer to give, and is counted.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) tier: Arc<Tier>,
    bounds: Bounds,
}

impl Intake {
    pub(crate) const fn new(tier: Arc<Tier>, bounds: Bounds) -> Self {
        Self { tier, bounds }
    }

    /// Counts a request and bounds its headers; to be called first, once for each request.
    ///
    /// # Errors
    ///
    /// 431 where the headers are too large.
    pub(crate) fn receive(&self, headers: &HeaderMap) -> Result<(), Response> {
        self.tier.metrics.received.inc();
        let size = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            name.as_str().len() + value.len()
        };
        let limit = self.bounds.header_bytes;
        if headers.iter().map(size).sum::<usize>() <= limit {
            return Ok(());
        }
        let error =
            format!("the headers are larger than {limit} bytes; send fewer or shorter ones");
        Err(self.fail(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, error))
    }

    /// Reads what the caller says about itself.
    ///
    /// # Errors
    ///
    /// 400 where a header is malformed.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Response> {
        let caller = Caller::read(headers)
            .map_err(|error| self.fail(StatusCode::BAD_REQUEST, error.to_string()))?;
        if caller.is_retry() {
            self.tier.metrics.retries_received.inc();
        }
        Ok(caller)
    }

    /// Reads a body.
    ///
    /// # Errors
    ///
    /// 413 where it is too large, 408 where it does not come in time, 400 where it breaks off.
    pub(crate) async fn body(&self, body: Body) -> Result<Bytes, Response> {
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let Bounds { body_bytes: limit, body_timeout, .. } = self.bounds;
        let too_large = || {
            let error = format!("the body is larger than {limit} bytes");
            self.fail(StatusCode::PAYLOAD_TOO_LARGE, error)
        };
        if body.size_hint().lower() > limit as u64 {
            return Err(too_large());
        }
        match timeout(body_timeout, Limited::new(body, limit).collect()).await {
            Ok(Ok(whole)) => Ok(whole.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => Err(self.fail(StatusCode::BAD_REQUEST, "the body broke off")),
            Err(_) => {
                let millis = body_timeout.as_millis();
                let error = format!("the body did not come within {millis} ms of its head");
                Err(self.fail(StatusCode::REQUEST_TIMEOUT, error))
            }
        }
    }

    /// An error that this server found by itself: counted, in the common shape.
    pub(crate) fn fail(&self, status: StatusCode, error: impl Into<String>) -> Response {
        self.tier.metrics.on_finished(Outcome::Error);
        answer::problem(status, error)
    }
}
