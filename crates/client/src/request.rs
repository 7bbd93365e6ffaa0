//! A request on its way out, and what comes back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use goodput_policy::attempt::{AttemptResult, Reply};
use goodput_policy::deadline::{ATTEMPT_COUNT, GRPC_TIMEOUT, REFUSAL_REASON, format_grpc_timeout};
use goodput_policy::limiter::Refusal;
use goodput_policy::retry::Outcome;
use http::header::HOST;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_body_util::Full;

/// One request. Its headers are shared, so that a copy is cheap.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query, as [`crate::Target::path`] gives them.
    pub path: PathAndQuery,
    /// Headers besides host, deadline and attempt number, which the client sets.
    pub headers: Arc<HeaderMap>,
    /// The body.
    pub body: Bytes,
}

impl Request {
    /// `GET` of a path.
    pub fn get(path: PathAndQuery) -> Self {
        Self { method: Method::GET, path, headers: Arc::default(), body: Bytes::new() }
    }
}

/// An answer, as it was received.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// What it says of its attempt.
    pub fn result(&self) -> AttemptResult {
        result_of(self.status, &self.headers)
    }
}

/// What an answer of this status and these headers says of its attempt.
pub(crate) fn result_of(status: StatusCode, headers: &HeaderMap) -> AttemptResult {
    AttemptResult::of_status(status.as_u16(), reason_of(headers))
}

/// What an answer of this status and these headers is.
pub(crate) fn reply_of(status: StatusCode, headers: &HeaderMap) -> Reply {
    Reply::of_answer(status.as_u16(), reason_of(headers))
}

fn reason_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(REFUSAL_REASON).and_then(|reason| reason.to_str().ok())
}

/// Whether an answer says that a lever turned its attempt away at a server's edge.
pub(crate) fn was_turned_away(headers: &HeaderMap) -> bool {
    headers.get(REFUSAL_REASON).is_some_and(|reason| *reason == Refusal::NotAdmitted.name())
}

/// What became of a call.
#[derive(Clone, Debug)]
pub struct CallEnd {
    /// How it ended.
    pub outcome: Outcome,
    /// Attempts that were made.
    pub attempts: u32,
    /// Of these, attempts that failed as [`crate::AttemptEnd::unsent`] says.
    pub unsent: u32,
    /// What its last attempt came to, and what it was answered with.
    pub last: (AttemptResult, Reply),
    /// The last answer that came, whatever its status; only where answers are kept.
    pub answer: Option<Answer>,
}

/// What an attempt's request has in common with all others of its client.
#[derive(Debug)]
pub(crate) struct Template {
    authority: Authority,
    host: HeaderValue,
    http2: bool,
}

impl Template {
    pub(crate) fn new(authority: &Authority, http2: bool) -> Self {
        // An authority holds no character that a header value cannot.
        let host = HeaderValue::from_str(authority.as_str());
        let host = host.unwrap_or_else(|_| HeaderValue::from_static("localhost"));
        Self { authority: authority.clone(), host, http2 }
    }

    /// The request of attempt `number` with `remaining` wall time until its deadline.
    pub(crate) fn attempt(
        &self,
        request: &Request,
        number: u32,
        remaining: Duration,
    ) -> http::Request<Full<Bytes>> {
        let mut attempt = http::Request::new(Full::new(request.body.clone()));
        *attempt.method_mut() = request.method.clone();
        *attempt.uri_mut() = self.uri(&request.path);
        let headers = attempt.headers_mut();
        headers.reserve(request.headers.len() + 3);
        if !self.http2 {
            headers.insert(HOST, self.host.clone());
        }
        for (name, value) in request.headers.iter() {
            headers.append(name, value.clone());
        }
        if let Ok(value) = HeaderValue::try_from(format_grpc_timeout(remaining)) {
            headers.insert(&TIMEOUT_HEADER, value);
        }
        headers.insert(&ATTEMPT_HEADER, attempt_value(number));
        attempt
    }

    fn uri(&self, path: &PathAndQuery) -> Uri {
        if !self.http2 {
            return Uri::from(path.clone());
        }
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path.clone());
        Uri::from_parts(parts).unwrap_or_default()
    }
}

fn attempt_value(number: u32) -> HeaderValue {
    match COUNTS.get(number as usize) {
        Some(text) => HeaderValue::from_static(text),
        None => HeaderValue::from(number),
    }
}

const COUNTS: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
static TIMEOUT_HEADER: HeaderName = HeaderName::from_static(GRPC_TIMEOUT);
static ATTEMPT_HEADER: HeaderName = HeaderName::from_static(ATTEMPT_COUNT);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_carries_host_deadline_and_number() {
        let template = Template::new(&Authority::from_static("shop:8080"), false);
        let mut request = Request::get(PathAndQuery::from_static("/orders/7"));
        let priority = (HeaderName::from_static("priority"), HeaderValue::from_static("u=1"));
        request.headers = Arc::new(HeaderMap::from_iter([priority]));
        let attempt = template.attempt(&request, 12, Duration::from_millis(250));
        assert_eq!(attempt.uri(), "/orders/7");
        assert_eq!(attempt.headers()["host"], "shop:8080");
        assert_eq!(attempt.headers()["x-envoy-attempt-count"], "12");
        assert_eq!(attempt.headers()["priority"], "u=1");
        assert!(attempt.headers().contains_key("grpc-timeout"));
    }

    #[test]
    fn over_http2_the_host_is_in_the_target() {
        let template = Template::new(&Authority::from_static("shop:8080"), true);
        let request = Request::get(PathAndQuery::from_static("/orders/7"));
        let attempt = template.attempt(&request, 1, Duration::from_millis(250));
        assert_eq!(attempt.uri(), "http://shop:8080/orders/7");
        assert!(!attempt.headers().contains_key("host"));
    }
}
