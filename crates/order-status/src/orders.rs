//! The role `order-status`: queries of the order book.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use http::{Method, StatusCode, Uri};
use serde::Serialize;

use crate::answer;
use crate::app::{fail, read_body};
use crate::book::{OrderBook, Summary};
use crate::request::Caller;
use crate::tier::{Counts, Tier};

/// What the handlers share.
#[derive(Debug)]
struct Orders {
    book: OrderBook,
    tier: Arc<Tier>,
    body_bytes: usize,
}

/// A list of orders as it is answered.
#[derive(Debug, Serialize)]
struct OrderList {
    /// How many orders the book holds.
    count: u32,
    orders: Vec<Summary>,
}

/// The routes of the role.
pub(crate) fn router(book: OrderBook, tier: Arc<Tier>, body_bytes: usize) -> Router {
    Router::new()
        .route("/orders/{id}", get(order))
        .route("/orders", get(orders))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown_path)
        .with_state(Arc::new(Orders { book, tier, body_bytes }))
}

async fn order(State(shared): State<Arc<Orders>>, request: Request) -> Response {
    let tier = &shared.tier;
    let id = match parse_id(request.uri().path().strip_prefix("/orders/").unwrap_or_default()) {
        Ok(id) => id,
        Err(error) => return fail(tier, StatusCode::BAD_REQUEST, error),
    };
    let counts = if shared.book.get(id).is_some() { Counts::Served } else { Counts::Missing };
    if let Err(response) = shared.query(request, counts).await {
        return response;
    }
    let Some(order) = shared.book.get(id) else {
        let last = shared.book.len();
        let error = format!("there is no order {id}; orders are numbered from 1 to {last}");
        return answer::problem(StatusCode::NOT_FOUND, error);
    };
    answer::json(StatusCode::OK, serde_json::to_vec(&order).unwrap_or_default())
}

async fn orders(State(shared): State<Arc<Orders>>, request: Request) -> Response {
    let limit = match parse_limit(request.uri()) {
        Ok(limit) => limit,
        Err(error) => return fail(&shared.tier, StatusCode::BAD_REQUEST, error),
    };
    if let Err(response) = shared.query(request, Counts::Served).await {
        return response;
    }
    let list = OrderList { count: shared.book.len(), orders: shared.book.list(limit) };
    answer::json(StatusCode::OK, serde_json::to_vec(&list).unwrap_or_default())
}

impl Orders {
    /// Takes a query through the limiter.
    async fn query(&self, request: Request, counts: Counts) -> Result<(), Response> {
        let caller = Caller::read(request.headers())
            .map_err(|error| fail(&self.tier, StatusCode::BAD_REQUEST, error.to_string()))?;
        if caller.is_retry() {
            self.tier.metrics.retries_received.inc();
        }
        // Nothing here takes a body; one is read only so that the connection stays in step.
        read_body(&self.tier, request.into_body(), self.body_bytes).await?;
        let entered = self.tier.enter(caller, counts).await;
        entered.map_err(|refused| answer::refusal(refused.reason, refused.retry_after))
    }
}

async fn wrong_method(State(shared): State<Arc<Orders>>, method: Method) -> Response {
    let error = format!("{method} is not allowed here; write GET /orders/1042");
    fail(&shared.tier, StatusCode::METHOD_NOT_ALLOWED, error)
}

async fn unknown_path(State(shared): State<Arc<Orders>>, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(64).collect();
    let error = format!("there is nothing at {path}; write /orders/1042 or /orders?limit=20");
    fail(&shared.tier, StatusCode::NOT_FOUND, error)
}

/// Reads an order's number: 1 to 18 decimal digits.
fn parse_id(text: &str) -> Result<u64, String> {
    let digits = text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| {
        let shown: String = text.chars().take(64).collect();
        format!("`{shown}` is not an order's number; write digits only, such as /orders/1042")
    })
}

/// Reads the `limit` of a list; other parameters are refused.
fn parse_limit(uri: &Uri) -> Result<usize, String> {
    let mut limit = DEFAULT_LIMIT;
    for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let shown = || pair.chars().take(64).collect::<String>();
        let Some(value) = pair.strip_prefix("limit=") else {
            return Err(format!("`{}` is unknown; write /orders?limit=20", shown()));
        };
        let digits = value.bytes().all(|byte| byte.is_ascii_digit());
        limit =
            value.parse().ok().filter(|limit| digits && *limit <= MAX_LIMIT).ok_or_else(|| {
                format!("`{}` is not from 0 to {MAX_LIMIT}; write /orders?limit=20", shown())
            })?;
    }
    Ok(limit)
}

const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_numbers_are_digits_only() {
        assert_eq!(parse_id("1042"), Ok(1042));
        for text in ["", "+1", "-1", "1.0", "abc", "0x10", "1042 ", "9999999999999999999", "１"] {
            let error = parse_id(text).unwrap_err();
            assert!(error.contains("/orders/1042"), "{error}");
        }
    }

    #[test]
    fn a_list_has_a_bounded_limit() {
        let limit = |query: &str| parse_limit(&format!("/orders{query}").parse().unwrap());
        assert_eq!(limit(""), Ok(20));
        assert_eq!(limit("?"), Ok(20));
        assert_eq!(limit("?limit=1000"), Ok(1000));
        for query in ["?limit=1001", "?limit=-1", "?limit=", "?limit=all", "?page=2", "?limit=+5"] {
            assert!(limit(query).unwrap_err().contains("limit=20"), "{query}");
        }
    }
}
