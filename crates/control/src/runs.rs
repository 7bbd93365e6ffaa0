//! The lease of a control plane: one run at a time uses it, and what that run has set there ends with
//! its lease. People's faults and levers need none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{patch, post};
use bytes::Bytes;
use goodput_clock::text;
use http::StatusCode;
use serde_json::Value;
use tokio::sync::Notify;

use crate::api::{Cause, RunRequest, RunView};
use crate::audit::AuditEntry;
use crate::error::ApiError;
use crate::lease::LeaseKeeper;
use crate::parse;
use crate::plane::{Name, Peer};
use crate::process::{Process, json_of};

/// Holds the lease of a control plane for as long as a run renews it, on the process's own monotonic
/// clock. Nothing is stored: the lease is gone with the process.
#[derive(Debug, Default)]
pub(crate) struct RunKeeper {
    held: Mutex<Option<Holder>>,
    /// Wakes the task whenever the lease has changed.
    changed: Notify,
}

#[derive(Clone, Debug)]
struct Holder {
    id: String,
    name: String,
    by: String,
    since: jiff::Timestamp,
    began: Instant,
    ends: Instant,
}

impl RunKeeper {
    /// A keeper whose lease a run of this process holds for as long as that lives.
    pub(crate) fn for_good(request: &RunRequest) -> Self {
        let now = Instant::now();
        let held = Holder::new(request, now, now + FOR_GOOD);
        Self { held: Mutex::new(Some(held)), changed: Notify::new() }
    }

    /// Gives the lease to a run. One that holds it already goes on with it from now.
    ///
    /// # Errors
    ///
    /// Where another run holds it.
    fn take(&self, request: &RunRequest) -> Result<RunView, RunView> {
        let mut held = self.lock();
        if let Some(other) = held.as_ref().filter(|other| other.id != request.run) {
            return Err(other.view());
        }
        let now = Instant::now();
        let ends = now + bounded(request.lease);
        let holder = held.get_or_insert_with(|| Holder::new(request, now, ends));
        holder.ends = ends;
        self.changed.notify_one();
        Ok(holder.view())
    }

    /// Lets the run of this id hold the lease for `lease` from now; none where it does not hold it.
    fn renew(&self, id: &str, lease: Duration) -> Option<RunView> {
        let mut held = self.lock();
        let holder = held.as_mut().filter(|holder| holder.id == id)?;
        holder.ends = Instant::now() + bounded(lease);
        self.changed.notify_one();
        Some(holder.view())
    }

    /// Takes the lease from the run of this id, and says what it was.
    pub(crate) fn end(&self, id: &str) -> Option<RunView> {
        let ended = self.lock().take_if(|holder| holder.id == id)?;
        self.changed.notify_one();
        Some(ended.view())
    }

    /// Takes out a lease that has run out by now.
    fn expire(&self) -> Option<RunView> {
        let now = Instant::now();
        self.lock().take_if(|holder| holder.ends <= now).map(|ended| ended.view())
    }

    /// The run that holds the lease.
    pub(crate) fn view(&self) -> Option<RunView> {
        self.lock().as_ref().map(Holder::view)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Holder>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Holder {
    fn new(request: &RunRequest, began: Instant, ends: Instant) -> Self {
        let RunRequest { run, name, by, .. } = request.clone();
        Self { id: run, name, by, since: jiff::Timestamp::now(), began, ends }
    }

    fn view(&self) -> RunView {
        let now = Instant::now();
        RunView {
            id: self.id.clone(),
            name: self.name.clone(),
            by: self.by.clone(),
            since: self.since.to_string(),
            age: now.saturating_duration_since(self.began).as_secs_f64(),
            lease_left: self.ends.saturating_duration_since(now).as_secs_f64(),
        }
    }
}

/// A process whose control plane a run leases.
pub(crate) trait Leased: Process {
    /// The state now, without a look at whether a lease has run out.
    fn shown(&self) -> Self::State;

    /// Who holds its lease.
    fn runs(&self) -> &RunKeeper;

    /// Ends what this run has set and left, and says in words what that was.
    fn undo(&self, run: &RunView) -> String;

    /// Ends a lease that has run out, with what its run has set. Each command and each look at the
    /// state begins with this, so that neither meets what is over.
    fn expire_run(&self) {
        if let Some(run) = self.runs().expire() {
            let cause = Cause::new("lease keeper", "the run did not renew its lease");
            self.write_end(&run, cause, "the lease of the run ran out");
        }
    }

    /// Undoes what a run whose lease is over has set, and writes it down.
    fn write_end(&self, run: &RunView, cause: Cause, how: &str) {
        let before = Self::digest(&self.shown());
        let undone = self.undo(run);
        let cause = cause.of_run(run.id.clone());
        let command = format!("end run {}", run.id);
        if let Some(log) = self.log() {
            log.push(command.clone(), format!("{how}: {undone}"), &cause);
        }
        self.audit().append(AuditEntry {
            what: json_of(run),
            before,
            after: Self::digest(&self.shown()),
            outcome: format!("{how}: {undone}"),
            ..AuditEntry::now(cause, String::new(), command)
        });
    }

    /// Refuses a command of a run that does not hold the lease, such as one whose lease has run out
    /// while it was paused.
    ///
    /// # Errors
    ///
    /// Where that is so; what people do is never refused here.
    fn check_run(&self, cause: &Cause) -> Result<(), ApiError> {
        self.expire_run();
        let Some(run) = &cause.run else { return Ok(()) };
        match self.runs().view() {
            Some(holder) if holder.id == *run => Ok(()),
            Some(holder) => Err(ApiError::conflict(taken_by(&holder)).by(cause)),
            None => Err(ApiError::conflict(format!(
                "the run {run} does not hold the lease of this control plane, or not any more; \
                 `POST /runs` takes it, and a command without `run` needs none"
            ))
            .by(cause)),
        }
    }
}

/// Ends a lease as it runs out, for as long as it is polled.
pub(crate) async fn keep<P: Leased>(process: Arc<P>) {
    loop {
        process.expire_run();
        let runs = process.runs();
        let changed = runs.changed.notified();
        let ends = runs.lock().as_ref().map(|holder| holder.ends);
        match ends {
            None => changed.await,
            Some(at) => tokio::select! {
                () = tokio::time::sleep_until(at.into()) => {}
                () = changed => {}
            },
        }
    }
}

/// The routes by which a run takes, renews and gives back the lease.
pub(crate) fn run_routes<P: Leased>() -> Router<Arc<P>> {
    Router::new()
        .route("/runs", post(take::<P>))
        .route("/runs/{id}", patch(renew::<P>).delete(release::<P>))
}

async fn take<P: Leased>(
    State(process): State<Arc<P>>,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let request = parse::run(&body)?;
    let cause = request.cause();
    process.expire_run();
    let command = process.begin(peer, "POST /runs", json_of(&request), &cause);
    let view = process.runs().take(&request);
    let view = view.map_err(|holder| ApiError::conflict(taken_by(&holder)).by(&cause))?;
    let _ = process.end(command, &format!("the run {} holds the lease", request.name));
    Ok((StatusCode::CREATED, axum::Json(view)).into_response())
}

async fn renew<P: Leased>(
    State(process): State<Arc<P>>,
    Name(id): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let (lease, cause) = parse::lease(&body)?;
    process.expire_run();
    let command = process.begin(peer, format!("PATCH /runs/{id}"), Value::Null, &cause);
    let view = process.runs().renew(&id, lease).ok_or_else(|| {
        let held = process.runs().view().map(|holder| format!("; {}", taken_by(&holder)));
        let held = held.unwrap_or_default();
        ApiError::not_found(format!(
            "the run {id} does not hold the lease of this control plane; it may have run out{held}"
        ))
        .by(&cause)
    })?;
    let _ = process.end_quietly(command);
    Ok(axum::Json(view).into_response())
}

/// Gives the lease back; answers with the state read back, whether the run held it or not.
async fn release<P: Leased>(
    State(process): State<Arc<P>>,
    Name(id): Name,
    peer: Peer,
    body: Bytes,
) -> Result<Response, ApiError> {
    let cause = parse::cause(&body)?;
    process.expire_run();
    let command = process.begin(peer, format!("DELETE /runs/{id}"), Value::Null, &cause);
    let state = match process.runs().end(&id) {
        Some(run) => {
            let did = format!("the run {} is over: {}", run.name, process.undo(&run));
            process.end(command, &did)
        }
        None => process.end_quietly(command),
    };
    Ok(axum::Json(state).into_response())
}

/// An id for a run that begins now, which no other run has: the time, and the process.
pub fn new_run_id() -> String {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let now = jiff::Timestamp::now();
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let nanos = now.as_nanosecond() % 1_000_000_000;
    format!("{}-{:x}-{nanos:x}-{number}", now.strftime("%Y%m%dT%H%M%SZ"), std::process::id())
}

/// That somebody holds the lease: who, and since when.
fn taken_by(holder: &RunView) -> String {
    let seconds = |seconds: f64| {
        let whole = Duration::from_secs_f64(seconds.max(0.0)).as_millis() / 100 * 100;
        text::format_duration(Duration::from_millis(u64::try_from(whole).unwrap_or(u64::MAX)))
    };
    let RunView { id, name, by, since, age, lease_left } = holder;
    format!(
        "the run `{name}` ({id}) of {by} has held the lease of this control plane since {since}, for \
         {}; one run at a time uses a server; its lease ends in {} unless it is renewed",
        seconds(*age),
        seconds(*lease_left)
    )
}

fn bounded(lease: Duration) -> Duration {
    lease.clamp(LeaseKeeper::SHORTEST, LeaseKeeper::LONGEST)
}

/// Longer than any process lives.
const FOR_GOOD: Duration = Duration::from_hours(100 * 365 * 24);
