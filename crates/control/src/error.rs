use axum::response::{IntoResponse, Response};
use http::StatusCode;

use crate::api::{Cause, ErrorBody};

/// A refusal of the control plane, answered as `{"error": …, "status": …}`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// What is wrong, with a valid example where the request was.
    pub message: String,
    /// Who asked and why, where the request could be read so far.
    pub cause: Cause,
}

impl ApiError {
    /// An error with this status.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), cause: Cause::default() }
    }

    /// The request is malformed or out of range (400).
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Nothing of that name is there (404).
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    /// It conflicts with what is in force (409).
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// The same error with who asked and why.
    #[must_use]
    pub fn by(mut self, cause: &Cause) -> Self {
        self.cause = cause.clone();
        self
    }
}

/// The error as it travels with its response, for the audit log.
#[derive(Clone, Debug)]
pub(crate) struct Refused(pub(crate) ApiError);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody { error: self.message.clone(), status: self.status.as_u16() };
        let mut response = (self.status, axum::Json(body)).into_response();
        response.extensions_mut().insert(Refused(self));
        response
    }
}
