//! The role `gateway`: forwards any method and path to an upstream.
//!
//! A request passes the gateway's own limiter first, which stands for the gateway's own work. It then goes
//! to the upstream through the gateway's own retry layers, with what is left of its deadline. Its
//! slot is free meanwhile: a gateway waits without working.

mod forward;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::response::Response;
use goodput_client::{CallEnd, Client, Target, Unobserved};
use goodput_clock::Timestamp;
use goodput_control::api::UPSTREAM_UNSENT;
use goodput_policy::attempt::{AttemptResult, FailureClass, Reply, Transport};
use goodput_policy::deadline::REFUSAL_REASON;
use goodput_policy::limiter::{OnDisconnect, Refusal};
use goodput_policy::retry::Outcome as CallOutcome;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use crate::answer;
use crate::intake::Intake;
use crate::metrics::{Outcome, UpstreamRefusal};
use crate::tier::{Counts, Presence, Ticket, Tier};

/// What the handlers share.
#[derive(Debug)]
pub(crate) struct Gateway {
    intake: Intake,
    client: Arc<Client<Unobserved>>,
    target: Target,
}

impl Gateway {
    pub(crate) const fn new(
        intake: Intake,
        client: Arc<Client<Unobserved>>,
        target: Target,
    ) -> Self {
        Self { intake, client, target }
    }

    /// One route for everything.
    pub(crate) fn router(self) -> Router {
        Router::new().fallback(handle).with_state(Arc::new(self))
    }
}

async fn handle(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
) -> Result<Response, Response> {
    let intake = &gateway.intake;
    let tier = &intake.tier;
    let (parts, body) = request.into_parts();
    intake.receive(&parts.headers)?;
    let deadline = intake.caller(&parts.headers)?.deadline(&tier.clock);
    let body = intake.body(body).await?;
    let ticket = tier
        .arrive(deadline, Counts::Later)
        .map_err(|refused| answer::refusal(refused.reason, refused.retry_after))?;
    let presence = ticket.as_ref().map(|ticket| tier.presence(ticket));
    let work = Arc::clone(&gateway).work(ticket, parts, body, deadline);
    let response = match tier.on_disconnect() {
        // In a task of its own, which hyper does not drop with the handler.
        OnDisconnect::Continue => match tokio::spawn(work).await {
            Ok(response) => response,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => None,
        },
        OnDisconnect::Cancel => work.await,
    };
    match response {
        Some(response) => {
            presence.into_iter().for_each(Presence::ends);
            Ok(response)
        }
        // Dropped by a restart; the connection is about to go as well.
        None => std::future::pending().await,
    }
}

impl Gateway {
    /// Carries a request through the limiter and to the upstream; none where a restart dropped it.
    async fn work(
        self: Arc<Self>,
        ticket: Option<Ticket>,
        parts: Parts,
        body: Bytes,
        deadline: Timestamp,
    ) -> Option<Response> {
        if let Some(ticket) = ticket
            && let Err(refused) = ticket.answer().await?
        {
            return Some(answer::refusal(refused.reason, refused.retry_after));
        }
        let uncounted = Uncounted { tier: Some(Arc::clone(&self.intake.tier)) };
        let mut restarted = self.intake.tier.restarted();
        let method = parts.method.clone();
        let request = match forward::request(&self.target, parts, body) {
            Ok(request) => request,
            Err(error) => {
                uncounted.forget();
                return Some(self.intake.fail(StatusCode::BAD_REQUEST, error));
            }
        };
        let end = tokio::select! {
            end = self.client.call(0, deadline, request) => Some(end),
            _ = restarted.changed() => None,
        };
        uncounted.forget();
        if end.is_none() {
            self.intake.tier.metrics.on_refused(Refusal::Restart);
        }
        end.map(|end| self.answer(&method, end))
    }

    fn answer(&self, method: &Method, end: CallEnd) -> Response {
        let metrics = &self.intake.tier.metrics;
        // The caller is told what the last attempt came to, also where a layer's time ran out while it
        // waited for the next: an upstream that refuses did not fail to answer in time.
        let (result, reply) = end.last;
        let class = match (end.outcome, result) {
            (CallOutcome::Good | CallOutcome::Late, _) => None,
            (CallOutcome::Failed { .. }, AttemptResult::Failure(class))
            | (CallOutcome::Failed { class, .. }, AttemptResult::Success) => Some(class),
        };
        let unsent = end.unsent > 0 && end.unsent == end.attempts;
        // An answer of an earlier attempt says nothing about the last.
        let answered = matches!(reply, Reply::Status(_) | Reply::Upstream(_));
        let answer = end.answer.filter(|_| answered);
        match class {
            None => metrics.on_finished(Outcome::Ok),
            Some(FailureClass::Overloaded) => {
                metrics.on_upstream_refusal(UpstreamRefusal::Overloaded);
            }
            Some(FailureClass::Timeout) if unsent => {
                metrics.on_upstream_refusal(UpstreamRefusal::Unsent);
            }
            Some(FailureClass::Expired | FailureClass::Timeout) => {
                metrics.on_upstream_refusal(UpstreamRefusal::Expired);
            }
            Some(FailureClass::Connect | FailureClass::Error) => {
                metrics.on_finished(Outcome::Error);
            }
        }
        match answer {
            Some(answer) => forward::response(method, answer),
            None => failure(reply, unsent),
        }
    }
}

/// Counts a request on drop as cancelled.
struct Uncounted {
    tier: Option<Arc<Tier>>,
}

impl Uncounted {
    /// It is counted otherwise.
    fn forget(mut self) {
        self.tier = None;
    }
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        if let Some(tier) = &self.tier {
            tier.metrics.on_finished(Outcome::Cancelled);
        }
    }
}

/// What a caller is told where the upstream gave no answer that could be passed on; `unsent` where it
/// was asked for none, because of the gateway's own caps.
fn failure(reply: Reply, unsent: bool) -> Response {
    let transport = match reply {
        Reply::None(transport) | Reply::Upstream(transport) => transport,
        // An answer is passed on, unless it was not kept.
        Reply::Status(_) => Transport::Closed,
    };
    let error = match transport {
        Transport::Timeout if unsent => {
            "this gateway has as many connections to the upstream as it may"
        }
        Transport::Timeout => "the upstream gave no answer in time",
        Transport::Refused => "nobody listens at the upstream",
        Transport::Unreachable => "the upstream cannot be reached",
        Transport::Reset => "the upstream reset the connection",
        Transport::Closed => "the upstream closed the connection before its answer was whole",
        Transport::Malformed => "the upstream's answer is no HTTP",
        Transport::TooLarge => "the upstream's answer is larger than this gateway passes on",
        Transport::OwnLimit => "this gateway's own limits allow no connection to the upstream",
    };
    let (status, reason) = match transport {
        Transport::Timeout if unsent => (StatusCode::GATEWAY_TIMEOUT, UPSTREAM_UNSENT),
        Transport::Timeout => (StatusCode::GATEWAY_TIMEOUT, transport.upstream_reason()),
        Transport::Refused
        | Transport::Unreachable
        | Transport::Reset
        | Transport::Closed
        | Transport::Malformed
        | Transport::TooLarge
        | Transport::OwnLimit => (StatusCode::BAD_GATEWAY, transport.upstream_reason()),
    };
    let mut response = answer::problem(status, error);
    response.headers_mut().insert(REFUSAL_REASON, HeaderValue::from_static(reason));
    response
}
