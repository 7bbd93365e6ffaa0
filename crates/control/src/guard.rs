use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::audit::{Audit, AuditEntry};
use crate::error::{ApiError, Refused};
use crate::plane::Peer;
use crate::token::Token;
use crate::{HOST_FLAG, TOKEN_FLAG, TOKEN_VARIABLE};

/// Who may speak to a control plane, and how.
///
/// By default nobody beyond loopback. A page in a browser cannot: `Host` must be a loopback name or
/// address or an allowed one (against DNS rebinding), a request with an `Origin` is refused, and
/// bodies must be JSON.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    token: Option<Token>,
    hosts: Vec<String>,
}

impl Guard {
    /// The largest body that is read, in bytes.
    pub const BODY_MAX: usize = 64 * 1024;

    /// Lets loopback in and nobody else.
    pub fn loopback() -> Self {
        Self::default()
    }

    /// Asks every request but `GET /healthz` for this bearer token, and lets others than loopback in.
    #[must_use]
    pub fn with_token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Allows a further `Host`, without its port, such as `order-status`.
    #[must_use]
    pub fn with_host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// Whether a listener may bind there.
    pub(crate) fn may_bind(&self, bind: SocketAddr) -> bool {
        self.token.is_some() || bind.ip().to_canonical().is_loopback()
    }

    /// What is wrong with a request, by everything but its body.
    fn check(&self, peer: Peer, request: &Request) -> Result<(), ApiError> {
        let forbidden = |message: String| Err(ApiError::new(StatusCode::FORBIDDEN, message));
        if self.token.is_none() && !peer.0.ip().to_canonical().is_loopback() {
            return forbidden(format!(
                "control is for loopback only; start this process with `{TOKEN_FLAG} TOKEN` to \
                 take commands from elsewhere"
            ));
        }
        let headers = request.headers();
        if headers.contains_key(ORIGIN) {
            return forbidden("requests with an `Origin` (from a browser) are refused".to_owned());
        }
        self.check_host(request)?;
        if request.uri().path() != "/healthz" {
            self.check_token(headers)?;
        }
        Ok(())
    }

    fn check_host(&self, request: &Request) -> Result<(), ApiError> {
        let mut hosts = request.headers().get_all(HOST).iter();
        let named = match (hosts.next(), hosts.next(), request.uri().authority()) {
            (Some(host), None, None) => host.to_str().ok().and_then(without_port),
            (_, None, Some(authority)) => without_port(authority.as_str()),
            _ => None,
        };
        match named {
            Some(host) if is_loopback(&host) || self.hosts.contains(&host) => Ok(()),
            Some(host) => Err(ApiError::new(
                StatusCode::FORBIDDEN,
                format!("the `Host` {host:?} is not allowed; `{HOST_FLAG} NAME` allows one"),
            )),
            None => Err(ApiError::bad_request(
                "the request needs one well-formed `Host`, such as `Host: 127.0.0.1:9901`",
            )),
        }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(token) = &self.token else { return Ok(()) };
        let presented = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
        let presented = presented.and_then(|value| {
            let (scheme, token) = value.split_at_checked(SCHEME.len())?;
            scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim_ascii())
        });
        match presented {
            Some(presented) if token.matches(presented) => Ok(()),
            Some(_) => Err(unauthorized(format!(
                "the bearer token is not the one of this process; `{TOKEN_FLAG} @FILE` gives another"
            ))),
            None => Err(unauthorized(format!(
                "a bearer token is needed; give it with `{TOKEN_FLAG} @FILE`, or as \
                 `Authorization: Bearer ${TOKEN_VARIABLE}`"
            ))),
        }
    }
}

/// Checks a request, reads its body, hands it on, and writes refusals to the audit log.
pub(crate) async fn guard(guard: &Guard, audit: &Audit, request: Request, next: Next) -> Response {
    let peer = Peer::of(request.extensions());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let reads = is_read(&method);
    let checked = checked(guard, peer, request).await;
    let carried_out = carry_out(audit.clone(), peer, (method, path), checked, next);
    if reads {
        return carried_out.await;
    }
    // In a task of its own: a command goes on, and into the audit log, whether or not whoever gave it
    // stays for the answer.
    match tokio::spawn(carried_out).await {
        Ok(response) => response,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => std::future::pending().await,
    }
}

async fn carry_out(
    audit: Audit,
    peer: Peer,
    (method, path): (Method, String),
    checked: Result<Request, ApiError>,
    next: Next,
) -> Response {
    let response = match checked {
        Ok(request) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    if let Some(Refused(error)) = response.extensions().get()
        && is_worth_an_entry(&method, error.status)
    {
        audit.append(AuditEntry {
            outcome: format!("refused with {}: {}", error.status.as_u16(), error.message),
            ..AuditEntry::now(error.cause.clone(), peer.0.to_string(), format!("{method} {path}"))
        });
    }
    response
}

/// The request with its body read whole, or why it is refused.
async fn checked(guard: &Guard, peer: Peer, request: Request) -> Result<Request, ApiError> {
    guard.check(peer, &request)?;
    let (parts, body) = request.into_parts();
    let body = read_body(&parts.headers, body).await?;
    if !body.is_empty() && !is_json(&parts.headers) {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "bodies are JSON; send `Content-Type: application/json`",
        ));
    }
    Ok(Request::from_parts(parts, Body::from(body)))
}

async fn read_body(headers: &HeaderMap, body: Body) -> Result<Bytes, ApiError> {
    let too_large = || {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {} bytes", Guard::BODY_MAX),
        )
    };
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length = length.and_then(|length| length.parse::<u64>().ok());
    if length.is_some_and(|length| length > Guard::BODY_MAX as u64) {
        return Err(too_large());
    }
    let read = Limited::new(body, Guard::BODY_MAX).collect();
    match tokio::time::timeout(BODY_TIMEOUT, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(ApiError::bad_request(format!("the body cannot be read: {error}"))),
        Err(_) => Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in 5 s")),
    }
}

/// Commands that were refused, and reads that nobody should have tried.
fn is_worth_an_entry(method: &Method, status: StatusCode) -> bool {
    !is_read(method) || matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let essence = value.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}

fn unauthorized(message: String) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, message)
}

/// The host of `host[:port]` in lower case; none where it is malformed.
/// Reads the name of a host as [`Guard::with_host`] takes it.
///
/// # Errors
///
/// Where it is none, or has a scheme or a port: such a name would match no request.
pub fn host_name(text: &str) -> Result<String, String> {
    without_port(text).filter(|name| name.len() == text.len()).ok_or_else(|| {
        format!("`{text}` is not the name of a host alone; write such as order-status")
    })
}

fn without_port(host: &str) -> Option<String> {
    let authority: http::uri::Authority = host.parse().ok()?;
    let bare = authority.host();
    let port = &host[bare.len()..];
    let well_formed = host.starts_with(bare) && (port.is_empty() || authority.port().is_some());
    (well_formed && !bare.is_empty()).then(|| bare.to_ascii_lowercase())
}

fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match address.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost",
    }
}

const SCHEME: &[u8] = b"Bearer ";
const BODY_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]

        #[test]
        fn no_host_panics_and_what_is_read_is_its_beginning(
            host in "[a-z0-9.:@\\[\\]%_\\- ]{0,24}|\\PC{0,12}",
        ) {
            if let Some(bare) = without_port(&host) {
                prop_assert!(host.to_ascii_lowercase().starts_with(&bare), "{host:?} {bare:?}");
            }
        }
    }

    #[test]
    fn a_host_to_allow_is_a_name_alone() {
        assert_eq!(host_name("Order-Status"), Ok("order-status".to_owned()));
        for text in ["", " ", "a b", "order-status:9901", "http://order-status", "a/b", "a@b", "\n"]
        {
            assert!(host_name(text).unwrap_err().contains("such as order-status"), "{text:?}");
        }
    }

    #[test]
    fn hosts_are_read_without_their_port() {
        for (written, host) in [
            ("127.0.0.1:9901", Some("127.0.0.1")),
            ("LocalHost", Some("localhost")),
            ("[::1]:9901", Some("[::1]")),
            ("order-status:80", Some("order-status")),
            ("", None),
            ("a b", None),
            ("user@127.0.0.1", None),
            ("127.0.0.1:port", None),
        ] {
            assert_eq!(without_port(written).as_deref(), host, "{written}");
        }
    }

    #[test]
    fn loopback_is_told_from_names_that_look_like_it() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[::ffff:127.0.0.1]"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["127.0.0.1.example.com", "localhost.example.com", "0.0.0.0", "10.0.0.1"] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
