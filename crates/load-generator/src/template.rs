//! Requests from a scenario's template.

use std::sync::Arc;

use bytes::Bytes;
use goodput_client::{Request, Target};
use goodput_clock::Seed;
use goodput_scenario::RequestTemplate;
use goodput_scenario::schedule::OrderIds;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::config::StartError;

/// Makes the next request, with an order id drawn into its path.
#[derive(Debug)]
pub(crate) struct Requests {
    base: Request,
    /// What stands before and after `{order}`.
    around: Option<(String, String)>,
    orders: OrderIds,
    path: String,
}

impl Requests {
    pub(crate) fn new(
        template: &RequestTemplate,
        target: &Target,
        seed: Seed,
    ) -> Result<Self, StartError> {
        let method = Method::from_bytes(template.method.as_bytes()).map_err(|_| {
            malformed("method", &template.method, "a method such as `GET` or `POST`")
        })?;
        let path = |text: &str| {
            target
                .path(text)
                .map_err(|_| malformed("path", &template.path, "a path such as `/orders/{order}`"))
        };
        if !template.path.starts_with('/') {
            return Err(malformed("path", &template.path, "a path such as `/orders/{order}`"));
        }
        let first = path(&template.path.replace(ORDER, "1"))?;
        let whole = format!("{}{}", path("/")?.as_str().trim_end_matches('/'), template.path);
        let around =
            whole.split_once(ORDER).map(|(before, after)| (before.to_owned(), after.to_owned()));
        let headers = headers(&template.headers)?;
        let base = Request {
            method,
            path: first,
            headers: Arc::new(headers),
            body: Bytes::from(template.body.clone()),
        };
        let orders = OrderIds::new(template.orders, seed);
        Ok(Self { base, around, orders, path: String::new() })
    }

    pub(crate) fn next(&mut self) -> Request {
        let Some((before, after)) = &self.around else { return self.base.clone() };
        let mut digits = [0; 10];
        self.path.clear();
        self.path.push_str(before);
        self.path.push_str(decimal(self.orders.draw(), &mut digits));
        self.path.push_str(after);
        let path = Bytes::copy_from_slice(self.path.as_bytes());
        // With another number in its place the path is as valid as the first was.
        let path = PathAndQuery::from_maybe_shared(path).unwrap_or_else(|_| self.base.path.clone());
        Request { path, ..self.base.clone() }
    }
}

fn headers(written: &[(String, String)]) -> Result<HeaderMap, StartError> {
    let mut headers = HeaderMap::new();
    for (name, value) in written {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| malformed("headers", name, "a header's name such as `accept`"))?;
        let value = HeaderValue::from_str(value).map_err(|_| {
            malformed("headers", value, "a header's value of visible characters such as `json`")
        })?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn malformed(key: &'static str, value: &str, expected: &'static str) -> StartError {
    StartError::Request { key, value: value.to_owned(), expected }
}

/// `number` in decimal, without allocating.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &str {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    std::str::from_utf8(&digits[start..]).unwrap_or_default()
}

const ORDER: &str = "{order}";

#[cfg(test)]
mod tests {
    use super::*;

    fn template(method: &str, path: &str) -> RequestTemplate {
        RequestTemplate {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("accept".to_owned(), "json".to_owned())],
            body: String::new(),
            orders: 5,
        }
    }

    #[test]
    fn each_request_asks_for_an_order_of_the_book_below_the_targets_path() {
        let target = Target::resolve("http://127.0.0.1:1/shop").unwrap();
        let mut requests =
            Requests::new(&template("GET", "/orders/{order}?full"), &target, Seed(3)).unwrap();
        for _ in 0..100 {
            let request = requests.next();
            let path = request.path.as_str();
            let order = path.strip_prefix("/shop/orders/").unwrap().strip_suffix("?full").unwrap();
            assert!((1..=5).contains(&order.parse().unwrap()), "{path}");
            assert_eq!(request.headers["accept"], "json");
        }
    }

    #[test]
    fn a_request_that_cannot_be_sent_is_refused_with_an_example() {
        let target = Target::resolve("http://127.0.0.1:1").unwrap();
        for (method, path) in [("G T", "/"), ("GET", "orders"), ("GET", "/a b")] {
            let error = Requests::new(&template(method, path), &target, Seed(3)).unwrap_err();
            assert!(error.to_string().contains("such as"), "{error}");
        }
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        for number in [0, 7, 10, 4_294_967_295] {
            assert_eq!(decimal(number, &mut [0; 10]), number.to_string());
        }
    }
}
