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
use http::{Method, StatusCode, Uri, header};
use serde::Serialize;
use serde_json::{Value, json};

use crate::api::Cause;
use crate::audit::{Audit, AuditEntry};
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

impl<S: Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let nobody = Self(SocketAddr::from(([0, 0, 0, 0], 0)));
        Ok(parts.extensions.get::<Self>().copied().unwrap_or(nobody))
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

/// A command on its way into the audit log.
#[derive(Debug)]
pub struct Command {
    audit: Audit,
    entry: AuditEntry,
}

impl Command {
    /// A command that begins in the state `before`.
    pub fn begin(
        audit: &Audit,
        peer: Peer,
        command: String,
        what: Value,
        cause: &Cause,
        before: Value,
    ) -> Self {
        let entry = AuditEntry {
            what,
            before,
            ..AuditEntry::now(cause.clone(), peer.0.to_string(), command)
        };
        Self { audit: audit.clone(), entry }
    }

    /// Writes down that it ended in the state `after`.
    pub fn done(self, after: Value, outcome: impl Into<String>) {
        self.audit.append(AuditEntry { after, outcome: outcome.into(), ..self.entry });
    }
}

/// `value` as JSON; null where it cannot be.
pub(crate) fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Metrics as Prometheus reads them, with those that every process has: the audit log's own, and what
/// was built.
pub fn metrics_response(text: &str, audit: &Audit) -> Response {
    // The `prometheus` crate writes infinity as Rust does; the format's own word is `+Inf`.
    let mut text = text.replace(" inf\n", " +Inf\n");
    text.push_str(&audit.metrics());
    text.push_str(BUILD_INFO);
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
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

const BUILD_INFO: &str = concat!(
    "# HELP rig_build_info What was built, as labels; always 1.\n",
    "# TYPE rig_build_info gauge\n",
    "rig_build_info{version=\"",
    env!("CARGO_PKG_VERSION"),
    "\",revision=\"",
    env!("GOODPUT_REVISION"),
    "\",rustc=\"",
    env!("GOODPUT_RUSTC"),
    "\"} 1\n",
);
