//! The data plane's service: bounds first, then routing.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use hyper_util::service::TowerToHyperService;

use crate::answer;
use crate::config::Bounds;
use crate::metrics::Outcome;
use crate::tier::Tier;

/// What hyper hands each request of the data plane to.
#[derive(Clone)]
pub(crate) struct App {
    router: TowerToHyperService<Router>,
    tier: Arc<Tier>,
    header_bytes: usize,
}

impl App {
    pub(crate) fn new(router: Router, tier: Arc<Tier>, bounds: Bounds) -> Self {
        Self { router: TowerToHyperService::new(router), tier, header_bytes: bounds.header_bytes }
    }
}

impl hyper::service::Service<Request<Incoming>> for App {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.tier.metrics.received.inc();
        if header_bytes(&request) > self.header_bytes {
            let error = format!(
                "the headers are larger than {} bytes; send fewer or shorter ones",
                self.header_bytes
            );
            let response = fail(&self.tier, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, error);
            return Box::pin(std::future::ready(Ok(response)));
        }
        Box::pin(self.router.call(request))
    }
}

/// An error that this server found by itself: counted, in the common shape.
pub(crate) fn fail(tier: &Tier, status: StatusCode, error: impl Into<String>) -> Response {
    tier.metrics.on_finished(Outcome::Error);
    answer::problem(status, error)
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
///
/// The answer to give where it is larger or breaks off.
pub(crate) async fn read_body(
    tier: &Tier,
    body: Body,
    limit: usize,
) -> Result<bytes::Bytes, Response> {
    if body.is_end_stream() {
        return Ok(bytes::Bytes::new());
    }
    let too_large = || {
        let error = format!("the body is larger than {limit} bytes");
        fail(tier, StatusCode::PAYLOAD_TOO_LARGE, error)
    };
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    match Limited::new(body, limit).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(fail(tier, StatusCode::BAD_REQUEST, "the body broke off")),
    }
}

fn header_bytes(request: &Request<Incoming>) -> usize {
    let headers = request.headers().iter();
    headers.map(|(name, value)| name.as_str().len() + value.len()).sum()
}
