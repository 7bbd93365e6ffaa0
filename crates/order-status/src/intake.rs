//! What every request of the data plane goes through first: it is counted, bounded and read.

#![expect(clippy::result_large_err, reason = "the error is the answer, as axum takes it")]

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body as _;

use crate::answer;
use crate::config::Bounds;
use crate::metrics::Outcome;
use crate::request::Caller;
use crate::tier::Tier;

/// Takes requests in; each failure comes as the answer to give, and is counted.
#[derive(Debug)]
pub(crate) struct Intake {
    pub(crate) tier: Arc<Tier>,
    header_bytes: usize,
    body_bytes: usize,
}

impl Intake {
    pub(crate) const fn new(tier: Arc<Tier>, bounds: Bounds) -> Self {
        Self { tier, header_bytes: bounds.header_bytes, body_bytes: bounds.body_bytes }
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
        if headers.iter().map(size).sum::<usize>() <= self.header_bytes {
            return Ok(());
        }
        let limit = self.header_bytes;
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
    /// 413 where it is too large, 400 where it breaks off.
    pub(crate) async fn body(&self, body: Body) -> Result<Bytes, Response> {
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let limit = self.body_bytes;
        let too_large = || {
            let error = format!("the body is larger than {limit} bytes");
            self.fail(StatusCode::PAYLOAD_TOO_LARGE, error)
        };
        if body.size_hint().lower() > limit as u64 {
            return Err(too_large());
        }
        match Limited::new(body, limit).collect().await {
            Ok(whole) => Ok(whole.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
            Err(_) => Err(self.fail(StatusCode::BAD_REQUEST, "the body broke off")),
        }
    }

    /// An error that this server found by itself: counted, in the common shape.
    pub(crate) fn fail(&self, status: StatusCode, error: impl Into<String>) -> Response {
        self.tier.metrics.on_finished(Outcome::Error);
        answer::problem(status, error)
    }
}
