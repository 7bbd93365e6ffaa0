use std::time::Duration;

use goodput_clock::text;
use serde::{Deserialize, Serialize};

use super::Cause;

/// Body of `POST /runs`, by which a run takes the lease of a control plane;
/// [`parse::run`](crate::parse::run) reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRequest {
    /// The run's id, which no other run has.
    pub run: String,
    /// What runs, such as the scenario's name.
    pub name: String,
    /// How long the lease is held without a renewal, from 100 ms to 1 h; where the body has none, 10 s.
    #[serde(with = "text::duration")]
    pub lease: Duration,
    /// Who asks.
    pub by: String,
    /// Why, for the audit log.
    pub reason: String,
}

impl RunRequest {
    /// Asks for the lease for the run of [`Cause::run`], which is called `name`.
    pub fn new(name: impl Into<String>, lease: Duration, cause: &Cause) -> Self {
        let Cause { by, reason, run } = cause.clone();
        Self { run: run.unwrap_or_default(), name: name.into(), lease, by, reason }
    }

    /// Who asks and why.
    pub fn cause(&self) -> Cause {
        Cause::new(self.by.clone(), self.reason.clone()).of_run(self.run.clone())
    }
}

/// The run that holds the lease of a control plane.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// What runs.
    pub name: String,
    /// Who carries it out.
    pub by: String,
    /// When it took the lease, UTC, RFC 3339.
    pub since: String,
    /// How long it has held it, in seconds.
    pub age: f64,
    /// How long it holds it without a renewal, in seconds.
    pub lease_left: f64,
}
