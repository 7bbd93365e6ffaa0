use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use goodput_policy::lever::{Lever, LeverTarget};
use serde_json::{Value, json};

use crate::api::LoadState;
use crate::audit::Audit;
use crate::error::ApiError;
use crate::levers::{Levered, lever_routes};
use crate::plane::{Peer, Plane};
use crate::process::{Process, carry_out, process_routes};

/// What a load generator lends its control plane. Every duration and rate is wall time.
///
/// The calls come from the control plane's thread, one at a time, and must not wait for the load.
/// What they change is seen in the state at once, even where the load follows a moment later.
pub trait LoadControl: Send + Sync + 'static {
    /// The state now.
    fn state(&self) -> LoadState;

    /// The metrics in Prometheus's text format.
    fn metrics(&self) -> String;

    /// Pulls the lever `budget`, `retries` or `rate`, and says what it did.
    ///
    /// # Errors
    ///
    /// What is wrong with the lever, such as a layer that is not there; then nothing has changed.
    fn pull(&self, lever: &Lever) -> Result<String, String>;

    /// Sends no new requests until [`resume`](Self::resume). What is in flight goes on.
    fn halt(&self);

    /// Goes on with the schedule; what it asked for meanwhile is not made up for.
    fn resume(&self);

    /// Puts back what levers have changed: rate by the schedule, layers as configured, not halted.
    fn reset(&self);
}

/// The control plane of a load generator.
pub fn load_plane(control: Arc<dyn LoadControl>, audit: Audit) -> Plane {
    let shared = Arc::new(Shared { control, audit: audit.clone() });
    let router = process_routes::<Shared>()
        .merge(lever_routes::<Shared>())
        .route("/halt", post(halt))
        .route("/resume", post(resume))
        .with_state(shared);
    Plane::new(router, audit)
}

struct Shared {
    control: Arc<dyn LoadControl>,
    audit: Audit,
}

impl Process for Shared {
    type State = LoadState;

    fn state(&self) -> LoadState {
        self.control.state()
    }

    fn digest(state: &LoadState) -> Value {
        json!({ "rate": state.rate, "halted": state.halted, "layers": state.layers })
    }

    fn metrics(&self) -> String {
        self.control.metrics()
    }

    fn audit(&self) -> &Audit {
        &self.audit
    }
}

impl Levered for Shared {
    const TARGET: LeverTarget = LeverTarget::LoadGenerator;

    fn pull(&self, lever: &Lever) -> Result<String, String> {
        self.control.pull(lever)
    }

    fn reset(&self) {
        self.control.reset();
    }
}

type Lent = State<Arc<Shared>>;

async fn halt(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    carry_out(&*shared, peer, "POST /halt", &body, |shared| shared.control.halt())
}

async fn resume(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    carry_out(&*shared, peer, "POST /resume", &body, |shared| shared.control.resume())
}
