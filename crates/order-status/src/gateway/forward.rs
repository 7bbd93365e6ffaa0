//! A message on its way through a gateway: what is passed on and what is not.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use goodput_client::{Answer, Request, Target};
use goodput_policy::deadline::{ATTEMPT_COUNT, ENVOY_TIMEOUT, GRPC_TIMEOUT};
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The request to the upstream. The client adds the host, what is left of the deadline, and the
/// number of its own attempt.
///
/// # Errors
///
/// Where the path cannot be asked for at the upstream.
pub(crate) fn request(target: &Target, parts: Parts, body: Bytes) -> Result<Request, String> {
    let asked = parts.uri.path_and_query().map_or("/", |asked| asked.as_str());
    let path = target.path(asked).map_err(|error| {
        let shown: String = asked.chars().take(64).collect();
        format!("`{shown}` cannot be forwarded: {error}; write a path such as /orders/1042")
    })?;
    let mut headers = parts.headers;
    remove_hop_by_hop(&mut headers);
    for name in [GRPC_TIMEOUT, ENVOY_TIMEOUT, ATTEMPT_COUNT] {
        headers.remove(name);
    }
    for name in [HOST, EXPECT, CONTENT_LENGTH] {
        headers.remove(name);
    }
    headers.append(VIA, HeaderValue::from_static("1.1 goodput"));
    Ok(Request { method: parts.method, path, headers: Arc::new(headers), body })
}

/// The upstream's answer, passed on.
pub(crate) fn response(method: &Method, answer: Answer) -> Response {
    let mut headers = answer.headers;
    remove_hop_by_hop(&mut headers);
    if method != Method::HEAD {
        // The body is whole, and its length is written from it.
        headers.remove(CONTENT_LENGTH);
    }
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = headers;
    response
}

/// Removes what concerns one connection only, and what `Connection` names.
///
/// # Source
///
/// RFC 9110, section 7.6.1.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
    for name in ["keep-alive", "proxy-connection"] {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(&'static str, &'static str)]) -> Parts {
        let mut request = http::Request::get("/orders/7?full=1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn what_concerns_one_connection_is_not_passed_on() {
        let target = Target::resolve("http://127.0.0.1:8080/shop").unwrap();
        let headers = [
            ("host", "gateway"),
            ("connection", "keep-alive, x-mine"),
            ("keep-alive", "timeout=5"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("transfer-encoding", "chunked"),
            ("grpc-timeout", "1S"),
            ("x-envoy-expected-rq-timeout-ms", "5"),
            ("x-envoy-attempt-count", "3"),
            ("priority", "u=1"),
            ("priority", "i"),
            ("x-kept", "a"),
            ("x-kept", "b"),
        ];
        let request = request(&target, parts(&headers), Bytes::new()).unwrap();
        assert_eq!(request.path, "/shop/orders/7?full=1");
        let priority: Vec<_> = request.headers.get_all("priority").iter().collect();
        assert_eq!(priority, ["u=1", "i"], "one list over several lines stays as it is");
        let names: Vec<_> = request.headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names.len(), 3, "{names:?}");
        assert_eq!(request.headers.get_all("x-kept").iter().count(), 2);
        assert_eq!(request.headers[VIA], "1.1 goodput");
    }

    #[test]
    fn an_answer_keeps_its_length_only_where_it_has_no_body() {
        let answer = |body: &'static str| {
            let headers = [(CONTENT_LENGTH, HeaderValue::from_static("5"))];
            Answer {
                status: http::StatusCode::OK,
                headers: headers.into_iter().collect(),
                body: Bytes::from_static(body.as_bytes()),
            }
        };
        let get = response(&Method::GET, answer("12345"));
        assert!(!get.headers().contains_key(CONTENT_LENGTH));
        let head = response(&Method::HEAD, answer(""));
        assert_eq!(head.headers()[CONTENT_LENGTH], "5");
    }
}
