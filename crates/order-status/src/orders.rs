//! The role `order-status`: queries of the order book.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::get;
use http::{StatusCode, Uri};
use serde::Serialize;

use crate::answer;
use crate::book::{OrderBook, Summary};
use crate::intake::Intake;
use crate::tier::Counts;

/// What the handlers share.
#[derive(Debug)]
struct Orders {
    book: OrderBook,
    intake: Intake,
}

/// A list of orders as it is answered.
#[derive(Debug, Serialize)]
struct OrderList {
    /// How many orders the book holds.
    count: u32,
    orders: Vec<Summary>,
}

/// The routes of the role.
pub(crate) fn router(book: OrderBook, intake: Intake) -> Router {
    Router::new()
        .route("/orders/{id}", get(order))
        .route("/orders", get(orders))
        .method_not_allowed_fallback(wrong_method)
        .fallback(unknown_path)
        .with_state(Arc::new(Orders { book, intake }))
}

type Shared = State<Arc<Orders>>;

async fn order(State(shared): Shared, request: Request) -> Result<Response, Response> {
    let intake = &shared.intake;
    intake.receive(request.headers())?;
    let id = parse_id(request.uri().path().strip_prefix("/orders/").unwrap_or_default())
        .map_err(|error| intake.fail(StatusCode::BAD_REQUEST, error))?;
    let order = shared.book.get(id);
    let counts = if order.is_some() { Counts::Served } else { Counts::Missing };
    shared.query(request, counts).await?;
    order.map(|order| answer::json(StatusCode::OK, &order)).ok_or_else(|| {
        let last = shared.book.len();
        let error = format!("there is no order {id}; orders are numbered from 1 to {last}");
        answer::problem(StatusCode::NOT_FOUND, error)
    })
}

async fn orders(State(shared): Shared, request: Request) -> Result<Response, Response> {
    let intake = &shared.intake;
    intake.receive(request.headers())?;
    let limit =
        parse_limit(request.uri()).map_err(|error| intake.fail(StatusCode::BAD_REQUEST, error))?;
    shared.query(request, Counts::Served).await?;
    let list = OrderList { count: shared.book.len(), orders: shared.book.list(limit) };
    Ok(answer::json(StatusCode::OK, &list))
}

impl Orders {
    /// Takes a query through the limiter.
    async fn query(&self, request: Request, counts: Counts) -> Result<(), Response> {
        let tier = &self.intake.tier;
        let deadline = self.intake.caller(request.headers())?.deadline(&tier.clock);
        // Nothing here takes a body; one is read only so that the connection stays in step.
        self.intake.body(request.into_body()).await?;
        let entered = tier.enter(deadline, counts).await;
        entered.map_err(|refused| answer::refusal(refused.reason, refused.retry_after))
    }
}

async fn wrong_method(State(shared): Shared, request: Request) -> Result<Response, Response> {
    shared.intake.receive(request.headers())?;
    let error = format!("{} is not allowed here; write GET /orders/1042", request.method());
    Err(shared.intake.fail(StatusCode::METHOD_NOT_ALLOWED, error))
}

async fn unknown_path(State(shared): Shared, request: Request) -> Result<Response, Response> {
    shared.intake.receive(request.headers())?;
    let path: String = request.uri().path().chars().take(64).collect();
    let error = format!("there is nothing at {path}; write /orders/1042 or /orders?limit=20");
    Err(shared.intake.fail(StatusCode::NOT_FOUND, error))
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
