use std::sync::mpsc;
use std::time::Duration;

use goodput_control::api::{Cause, RunRequest};
use goodput_control::{ClientError, ControlClient};
use http::StatusCode;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::terms::LeaseTerms;

/// The leases of the control planes that a run uses. A task for each renews it, on the runtime on which
/// it was taken, until it is given back or dropped; dropped, it runs out by itself.
#[derive(Debug)]
pub struct RunLeases {
    request: RunRequest,
    held: Vec<Held>,
    lost: mpsc::Receiver<LostLease>,
}

#[derive(Debug)]
struct Held {
    name: String,
    client: ControlClient,
    renewer: JoinHandle<()>,
}

/// A lease that was lost before it was given back: it had run out, since the run was paused or cut off;
/// the process had started anew; or somebody has ended it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LostLease {
    /// The control plane's name.
    pub name: String,
    /// What its process says.
    pub problem: String,
}

/// A control plane whose lease could not be had.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` cannot be used: {problem}")]
pub struct LeaseError {
    /// The control plane's name.
    pub name: String,
    /// Why.
    pub problem: ClientError,
}

impl RunLeases {
    /// Takes the lease of each control plane, given with its name, for the run of [`Cause::run`], which
    /// is called `what`. Must be called on a runtime that goes on as long as the leases are held.
    ///
    /// # Errors
    ///
    /// Where one cannot be had, such as one that another run holds; then none is held.
    pub async fn take(
        planes: &[(String, ControlClient)],
        what: &str,
        terms: LeaseTerms,
        cause: &Cause,
    ) -> Result<Self, LeaseError> {
        let request = RunRequest::new(what, terms.lease(), cause);
        let (tell, lost) = mpsc::channel();
        let mut leases = Self { request, held: Vec::new(), lost };
        for (name, client) in planes {
            if let Err(problem) = client.take_lease(&leases.request).await {
                // Where no answer came the lease may be held; then it runs out.
                leases.release(cause).await;
                return Err(LeaseError { name: name.clone(), problem });
            }
            let request = leases.request.clone();
            let renewing =
                keep(name.clone(), client.clone(), request, terms.renew_every(), tell.clone());
            let renewer = tokio::spawn(renewing);
            leases.held.push(Held { name: name.clone(), client: client.clone(), renewer });
        }
        Ok(leases)
    }

    /// The leases that were lost since this was last asked.
    pub fn lost(&self) -> impl Iterator<Item = LostLease> {
        self.lost.try_iter()
    }

    /// Gives all back, and returns what each process shows after it, or why it could not be asked.
    pub async fn release(mut self, cause: &Cause) -> Vec<(String, Result<Value, ClientError>)> {
        let mut shown = Vec::new();
        for held in std::mem::take(&mut self.held) {
            held.renewer.abort();
            let client = held.client.clone().with_timeout(RELEASE_TIMEOUT);
            let mut released = client.release_lease(&self.request.run, cause).await;
            if released.as_ref().is_err_and(|error| error.status().is_none()) {
                released = client.release_lease(&self.request.run, cause).await;
            }
            shown.push((held.name.clone(), released));
        }
        shown
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.renewer.abort();
    }
}

/// Renews a lease for as long as it is polled, and takes it again where it was lost.
async fn keep(
    name: String,
    client: ControlClient,
    request: RunRequest,
    every: Duration,
    lost: mpsc::Sender<LostLease>,
) {
    let cause = request.cause();
    let mut wait = every;
    let mut told = false;
    loop {
        sleep(wait).await;
        let renewed = client.renew_lease(&request.run, request.lease, &cause).await;
        wait = every;
        match renewed {
            Ok(_) => told = false,
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => {
                if !std::mem::replace(&mut told, true) {
                    // Whoever has ended the run does not want to know.
                    let problem = error.to_string();
                    let _ = lost.send(LostLease { name: name.clone(), problem });
                }
                // What the run sets from now on is to end with it too.
                if client.take_lease(&request).await.is_ok() {
                    told = false;
                }
            }
            // The next try may get through before the lease runs out.
            Err(_) => wait = every.min(RETRY),
        }
    }
}

const RETRY: Duration = Duration::from_millis(200);
/// How long a process may take to put everything back, in wall time.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
