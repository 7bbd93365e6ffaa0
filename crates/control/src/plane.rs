use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use axum::Router;
use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::request::Parts;
use http::{Extensions, Method, StatusCode, Uri};
use serde_json::json;

use crate::audit::Audit;
use crate::error::ApiError;

/// What a listener serves: routes, and tasks that run beside them on the same runtime.
pub struct Plane {
    pub(crate) router: Router,
    pub(crate) audit: Audit,
    pub(crate) tasks: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Plane {
    /// A plane of these routes; `/healthz` and the answers to unknown paths and wrong methods are
    /// added. Refusals go to `audit`.
    pub fn new(router: Router, audit: Audit) -> Self {
        let router = router
            .route("/healthz", get(healthz))
            .fallback(unknown_path)
            .method_not_allowed_fallback(wrong_method);
        Self { router, audit, tasks: Vec::new() }
    }

    /// The same plane with a task that starts with the listener and ends with it.
    #[must_use]
    pub fn with_task(mut self, task: impl Future<Output = ()> + Send + 'static) -> Self {
        self.tasks.push(Box::pin(task));
        self
    }
}

impl fmt::Debug for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plane").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}

/// Who is at the other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

impl Peer {
    /// Who a request with these extensions is from, as its listener has noted.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        let nobody = Self(SocketAddr::from(([0, 0, 0, 0], 0)));
        extensions.get::<Self>().copied().unwrap_or(nobody)
    }
}

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// The name in a path such as `/faults/{name}`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(name)) => Ok(Self(name)),
            Err(_) => Err(ApiError::bad_request(format!(
                "the name in `{}` is no text in UTF-8; write it such as /faults/my-fault, with `%20` \
                 for a space",
                parts.uri.path()
            ))),
        }
    }
}

async fn healthz() -> Response {
    (StatusCode::OK, axum::Json(json!({ "status": "ok" }))).into_response()
}

async fn unknown_path(uri: Uri) -> ApiError {
    ApiError::not_found(format!(
        "there is no `{}` here; `GET /state` shows what this process does",
        uri.path()
    ))
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("`{}` does not take {method}; the header `Allow` lists what it takes", uri.path()),
    )
}
