mod error;

use std::time::Duration;

use goodput_clock::text;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::LimiterPatch;
use http::Method;
use reqwest::Url;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::api::{
    Cause, ErrorBody, FaultRequest, FaultView, LoadState, Pulled, Removal, RenewRequest,
    ResetScope, RunRequest, RunView, ServerState,
};
use crate::token::Token;
pub use error::ClientError;

/// Speaks to the control plane of one process. Clones share connections, and so belong to one runtime
/// (see [`with_own_connections`](Self::with_own_connections)).
///
/// Nothing is retried and no proxy is used: a command reaches the process once or not at all.
#[derive(Clone, Debug)]
pub struct ControlClient {
    http: reqwest::Client,
    base: Url,
    token: Option<Token>,
    timeout: Duration,
}

impl ControlClient {
    /// A client of the control plane at `address`: `host:port` or an `http://` URL.
    ///
    /// # Errors
    ///
    /// Where `address` is none, or no client can be made.
    pub fn new(address: &str, token: Option<Token>) -> Result<Self, ClientError> {
        let base = base_url(address).ok_or_else(|| ClientError::Address(address.to_owned()))?;
        let http = connections().map_err(|error| unreachable(&base, &error))?;
        Ok(Self { http, base, token, timeout: TIMEOUT })
    }

    /// The same client with connections of its own. Connections live on the runtime that opened
    /// them, so a client that goes to another runtime needs this.
    #[must_use]
    pub fn with_own_connections(&self) -> Self {
        // It was built once with the same settings, so it can be built again.
        let http = connections().unwrap_or_else(|_| self.http.clone());
        Self { http, ..self.clone() }
    }

    /// The same client with a time-out of its own for each command; 5 s by default.
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Where it sends commands.
    pub const fn url(&self) -> &Url {
        &self.base
    }

    /// Whether the process answers at all.
    ///
    /// # Errors
    ///
    /// Where it does not.
    pub async fn healthz(&self) -> Result<(), ClientError> {
        self.ask::<Value>(Method::GET, &["healthz"], None).await.map(drop)
    }

    /// The state of a server.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; likewise below.
    pub async fn server_state(&self) -> Result<ServerState, ClientError> {
        self.ask(Method::GET, &["state"], None).await
    }

    /// The faults in force at a server.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says.
    pub async fn faults(&self) -> Result<Vec<FaultView>, ClientError> {
        self.ask(Method::GET, &["faults"], None).await
    }

    /// Puts a fault in force at a server.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; 409 where a fault of that name is in force.
    pub async fn install(&self, request: &FaultRequest) -> Result<FaultView, ClientError> {
        self.ask(Method::POST, &["faults"], Some(body_of(request))).await
    }

    /// Renews the lease of the fault of this name and id; [`ANY_FAULT`](crate::api::ANY_FAULT) stands
    /// for whichever it has.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; 404 where it is not in force, though another of that name may be.
    pub async fn renew(
        &self,
        name: &str,
        id: &str,
        lease: Duration,
        cause: &Cause,
    ) -> Result<FaultView, ClientError> {
        let request = RenewRequest::new(id, lease, cause);
        self.ask(Method::PATCH, &["faults", name], Some(body_of(&request))).await
    }

    /// Ends the fault of this name and id and reads the state back, in which another of that name may
    /// be; [`ANY_FAULT`](crate::api::ANY_FAULT) stands for whichever id it has.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says.
    pub async fn remove(
        &self,
        name: &str,
        id: &str,
        cause: &Cause,
    ) -> Result<Removal, ClientError> {
        let body = with("id", json!(id), body_of(cause));
        self.ask(Method::DELETE, &["faults", name], Some(body)).await
    }

    /// Ends one's own faults at a server, or all, puts back what one's own levers changed, or anybody's,
    /// and reads the state back.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says.
    pub async fn reset_server(
        &self,
        scope: ResetScope,
        cause: &Cause,
    ) -> Result<ServerState, ClientError> {
        let body = with("scope", json!(scope), body_of(cause));
        self.ask(Method::POST, &["reset"], Some(body)).await
    }

    /// Takes the lease of a control plane for a run, or goes on with it.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; 409 where another run holds it.
    pub async fn take_lease(&self, request: &RunRequest) -> Result<RunView, ClientError> {
        self.ask(Method::POST, &["runs"], Some(body_of(request))).await
    }

    /// Renews the lease of the run of this id.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; 404 where that run does not hold it.
    pub async fn renew_lease(
        &self,
        run: &str,
        lease: Duration,
        cause: &Cause,
    ) -> Result<RunView, ClientError> {
        let lease = json!(text::format_duration(lease));
        self.ask(Method::PATCH, &["runs", run], Some(with("lease", lease, body_of(cause)))).await
    }

    /// Gives back the lease of the run of this id, whether it holds it or not: what the run has set
    /// there ends with it. Reads the state back, of a server or a load generator.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says.
    pub async fn release_lease<S: DeserializeOwned>(
        &self,
        run: &str,
        cause: &Cause,
    ) -> Result<S, ClientError> {
        self.ask(Method::DELETE, &["runs", run], Some(body_of(cause))).await
    }

    /// Changes a server's limiter and reads the state back.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; 400 where the patch is wrong.
    pub async fn patch_limiter(
        &self,
        patch: &LimiterPatch,
        cause: &Cause,
    ) -> Result<ServerState, ClientError> {
        let body = with_cause(body_of(patch), cause);
        self.ask(Method::PATCH, &["limiter"], Some(body)).await
    }

    /// Pulls a lever at a server.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; 400 where the lever is wrong or not a server's.
    pub async fn pull_at_server(
        &self,
        lever: &Lever,
        cause: &Cause,
    ) -> Result<Pulled<ServerState>, ClientError> {
        self.pull(lever, cause).await
    }

    /// Pulls a lever at a load generator.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says; 400 where the lever is wrong or not a load generator's.
    pub async fn pull_at_load(
        &self,
        lever: &Lever,
        cause: &Cause,
    ) -> Result<Pulled<LoadState>, ClientError> {
        self.pull(lever, cause).await
    }

    /// The metrics in Prometheus's text format.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says.
    pub async fn metrics(&self) -> Result<String, ClientError> {
        let bytes = self.send(Method::GET, &["metrics"], None).await?;
        String::from_utf8(bytes.into()).map_err(|error| self.garbage(&error))
    }

    /// Sends any command and reads its answer, for control planes with routes of their own.
    ///
    /// # Errors
    ///
    /// As [`ClientError`] says.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &[&str],
        body: Option<Value>,
    ) -> Result<T, ClientError> {
        let bytes = self.send(method, path, body).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.garbage(&error))
    }

    async fn pull<T: DeserializeOwned>(
        &self,
        lever: &Lever,
        cause: &Cause,
    ) -> Result<T, ClientError> {
        let mut body = body_of(lever);
        if let Value::Object(fields) = &mut body {
            fields.remove("lever");
            fields.retain(|_, value| !value.is_null());
        }
        self.ask(Method::POST, &["levers", lever.name()], Some(with_cause(body, cause))).await
    }

    async fn send(
        &self,
        method: Method,
        path: &[&str],
        body: Option<Value>,
    ) -> Result<bytes::Bytes, ClientError> {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        let mut request = self.http.request(method, url).timeout(self.timeout);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.reveal());
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.map_err(|error| self.error_of(&error))?;
        let status = response.status();
        let bytes = read_capped(response).await.map_err(|error| match error {
            Some(error) => self.error_of(&error),
            None => self.garbage(&format!("an answer of more than {ANSWER_MAX} bytes")),
        })?;
        if status.is_success() {
            return Ok(bytes);
        }
        match serde_json::from_slice::<ErrorBody>(&bytes) {
            Ok(ErrorBody { error, .. }) => {
                Err(ClientError::Status { url: self.base.clone(), status, message: error })
            }
            Err(_) => Err(self.garbage(&format!("status {status} without an error in JSON"))),
        }
    }

    fn error_of(&self, error: &reqwest::Error) -> ClientError {
        let url = self.base.clone();
        let refused = causes(error)
            .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
            .any(|cause| cause.kind() == std::io::ErrorKind::ConnectionRefused);
        if refused {
            ClientError::Refused(url)
        } else if error.is_timeout() {
            let after = if error.is_connect() { CONNECT_TIMEOUT } else { self.timeout };
            ClientError::TimedOut { url, after: after.min(self.timeout) }
        } else if causes(error)
            .filter_map(|cause| cause.downcast_ref::<hyper::Error>())
            .any(hyper::Error::is_parse)
        {
            self.garbage(&"it does not speak HTTP/1.1")
        } else {
            unreachable(&self.base, error)
        }
    }

    fn garbage(&self, problem: &dyn std::fmt::Display) -> ClientError {
        ClientError::Garbage { url: self.base.clone(), problem: problem.to_string() }
    }
}

fn connections() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE)
        .build()
}

fn base_url(address: &str) -> Option<Url> {
    let written =
        if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let url: Url = written.parse().ok()?;
    let plain = url.scheme() == "http" && url.host().is_some() && url.query().is_none();
    (plain && url.username().is_empty() && url.fragment().is_none()).then_some(url)
}

/// The body of an answer; none where it is too large to be one.
async fn read_capped(
    mut response: reqwest::Response,
) -> Result<bytes::Bytes, Option<reqwest::Error>> {
    let mut body = bytes::BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(Some)? {
        if body.len() + chunk.len() > ANSWER_MAX {
            return Err(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn body_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_else(|_| json!({}))
}

fn with_cause(body: Value, cause: &Cause) -> Value {
    let body = with("by", json!(cause.by), with("reason", json!(cause.reason), body));
    match &cause.run {
        Some(run) => with("run", json!(run), body),
        None => body,
    }
}

/// `body` with a further field.
fn with(field: &str, value: Value, mut body: Value) -> Value {
    if let Value::Object(fields) = &mut body {
        fields.insert(field.to_owned(), value);
    }
    body
}

fn unreachable(url: &Url, error: &reqwest::Error) -> ClientError {
    let problem = causes(error).last().map_or_else(|| error.to_string(), ToString::to_string);
    ClientError::Unreachable { url: url.clone(), problem }
}

/// The errors below an error, outermost first.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(std::error::Error::source(error), |cause| cause.source())
}

const TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Shorter than a control plane lets a connection idle, so that no command meets its end.
const POOL_IDLE: Duration = Duration::from_secs(20);
const ANSWER_MAX: usize = 16 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_others_refused() {
        for (written, url) in [
            ("127.0.0.1:9901", "http://127.0.0.1:9901/"),
            ("http://order-status:9901", "http://order-status:9901/"),
            ("[::1]:9901", "http://[::1]:9901/"),
        ] {
            assert_eq!(ControlClient::new(written, None).unwrap().url().as_str(), url);
        }
        for written in
            ["", "http://", "ftp://a:1", "https://a:1", "a b", "http://me@a:1", "a:99999"]
        {
            let error = ControlClient::new(written, None).unwrap_err();
            assert!(matches!(error, ClientError::Address(_)), "{written}: {error}");
        }
    }
}
