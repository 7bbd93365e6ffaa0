use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use goodput_policy::lever::{Lever, LeverTarget, NOTHING};
use serde_json::{Value, json};

use crate::api::{Cause, Held, LoadState, Owner, RunRequest, RunView};
use crate::audit::Audit;
use crate::commands::CommandLog;
use crate::error::ApiError;
use crate::levers::{Levered, lever_routes};
use crate::parse;
use crate::plane::{Peer, Plane};
use crate::process::{Process, process_routes};
use crate::runs::{self, Leased, RunKeeper, run_routes};
use crate::touched::Touched;

/// What a load generator lends its control plane. Every duration and rate is wall time.
///
/// The calls come from the control plane's thread, one at a time, and must not wait for the load.
/// What they change is seen in the state at once, even where the load follows a moment later.
pub trait LoadControl: Send + Sync + 'static {
    /// The state now, with what the control plane itself knows of it.
    fn state(&self, held: Held) -> LoadState;

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

    /// Puts the layers back as they were configured.
    fn reset_layers(&self);

    /// Goes on at the rate of the schedule.
    fn reset_rate(&self);
}

/// The control plane of a load generator. Where it belongs to a run of this process, `run` is that
/// run's request for the lease, which it holds to its end.
pub fn load_plane(
    control: Arc<dyn LoadControl>,
    commands: Arc<CommandLog>,
    run: Option<&RunRequest>,
    audit: Audit,
) -> Plane {
    let shared = Arc::new(Shared {
        control,
        runs: run.map_or_else(RunKeeper::default, RunKeeper::for_good),
        commands,
        touched: Mutex::default(),
        audit: audit.clone(),
    });
    let router = process_routes::<Shared>()
        .merge(lever_routes::<Shared>())
        .merge(run_routes::<Shared>())
        .route("/halt", post(halt))
        .route("/resume", post(resume))
        .with_state(Arc::clone(&shared));
    Plane::new(router, audit).with_task(runs::keep(shared))
}

struct Shared {
    control: Arc<dyn LoadControl>,
    runs: RunKeeper,
    commands: Arc<CommandLog>,
    touched: Mutex<Touched>,
    audit: Audit,
}

impl Process for Shared {
    type State = LoadState;

    fn state(&self) -> LoadState {
        self.expire_run();
        self.shown()
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

    fn log(&self) -> Option<&CommandLog> {
        Some(&self.commands)
    }
}

impl Leased for Shared {
    fn shown(&self) -> LoadState {
        let (run, commands) = (self.runs.view(), self.commands.view());
        self.control.state(Held { faults: Vec::new(), run, commands })
    }

    fn runs(&self) -> &RunKeeper {
        &self.runs
    }

    fn undo(&self, _: &RunView) -> String {
        let knobs = self.touched().take_of_run();
        self.put_back(&knobs);
        let knobs: Vec<_> = knobs.into_iter().collect();
        format!(
            "put back {}",
            if knobs.is_empty() { "nothing".to_owned() } else { knobs.join(", ") }
        )
    }
}

impl Levered for Shared {
    const TARGET: LeverTarget = LeverTarget::LoadGenerator;

    fn pull(&self, lever: &Lever, cause: &Cause) -> Result<String, String> {
        let did = self.control.pull(lever)?;
        if did.starts_with(NOTHING) {
            return Ok(did);
        }
        let knob = if matches!(lever, Lever::Rate { .. }) { RATE } else { LAYERS };
        self.touched().note(&cause.owner(), [knob.to_owned()]);
        Ok(did)
    }

    fn reset_own(&self, cause: &Cause) -> bool {
        let knobs = match cause.owner() {
            Owner::Run(run) if self.runs.view().is_none_or(|holder| holder.id != run) => {
                BTreeSet::new()
            }
            Owner::Run(_) => self.touched().take_of_run(),
            Owner::By(name) => {
                let (knobs, overridden) = self.touched().take_by(&name);
                &knobs - &overridden
            }
        };
        self.put_back(&knobs);
        !knobs.is_empty()
    }

    fn reset_all(&self) {
        self.touched().clear();
        self.put_back(&[LAYERS, RATE, HALTED].map(ToOwned::to_owned).into());
    }
}

impl Shared {
    fn put_back(&self, knobs: &BTreeSet<String>) {
        if knobs.contains(LAYERS) {
            self.control.reset_layers();
        }
        if knobs.contains(RATE) {
            self.control.reset_rate();
        }
        if knobs.contains(HALTED) {
            self.control.resume();
        }
    }

    /// Carries out a command without fields, which turns whether the load is halted.
    fn turn(
        &self,
        peer: Peer,
        command: &str,
        body: &Bytes,
        did: &str,
        act: impl FnOnce(&dyn LoadControl),
    ) -> Result<Response, ApiError> {
        let cause = parse::cause(body)?;
        self.check_run(&cause)?;
        let begun = self.begin(peer, command, Value::Null, &cause);
        act(&*self.control);
        self.touched().note(&cause.owner(), [HALTED.to_owned()]);
        Ok(axum::Json(self.end_saying(begun, did)).into_response())
    }

    fn touched(&self) -> MutexGuard<'_, Touched> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Lent = State<Arc<Shared>>;

async fn halt(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    shared.turn(peer, "POST /halt", &body, "the load is halted", LoadControl::halt)
}

async fn resume(State(shared): Lent, peer: Peer, body: Bytes) -> Result<Response, ApiError> {
    shared.turn(peer, "POST /resume", &body, "the load goes on", LoadControl::resume)
}

const LAYERS: &str = "layers";
const RATE: &str = "rate";
const HALTED: &str = "halted";
