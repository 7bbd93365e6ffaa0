use std::time::{Duration, Instant};

use goodput_control::api::{Cause, FaultRequest, FaultView, ServerState};
use goodput_control::{ClientError, ControlClient};
use goodput_policy::fault::FaultKind;
use http::StatusCode;
use tokio::time::{sleep, sleep_until};

use crate::stop::Stop;
use crate::terms::LeaseTerms;

/// A fault to hold.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldRequest {
    /// Its name, unique at its server.
    pub name: String,
    /// What it does.
    pub kind: FaultKind,
    /// When it ends.
    pub ends: Instant,
    /// How it is leased.
    pub terms: LeaseTerms,
    /// Who asks and why.
    pub cause: Cause,
}

/// A fault as read back right after it came into force.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The fault.
    pub fault: FaultView,
    /// Requests per second that the server can serve with it; absent where unlimited.
    pub capacity: Option<f64>,
    /// Slots in force with it.
    pub slots: u32,
}

/// How a fault that came into force ended.
#[derive(Clone, Debug, PartialEq)]
pub enum HoldEnd {
    /// It was ended, as read back from the server.
    Ended {
        /// Whether it was asked to end before its time.
        interrupted: bool,
        /// The state read back.
        state: Box<ServerState>,
    },
    /// It ended before its time without its holder: the lease ran out, the server started anew, or
    /// somebody else ended it. It is gone, as read back; or nobody listens at the server any more
    /// and the lease has run out, so that no process can keep it.
    Lost {
        /// The state read back; none where nobody listens any more.
        state: Option<Box<ServerState>>,
    },
    /// It could not be read back that it ended. The lease ends it, where the server lives.
    Unconfirmed {
        /// Why.
        problem: String,
    },
}

/// Why a fault did not come into force.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// It was refused, or the server cannot be reached; nothing is in force.
    #[error("the fault is not in force: {0}")]
    NotInForce(ClientError),
    /// It was accepted, but is not in the state read back; nothing is in force.
    #[error("the server took the fault `{0}`, but its state does not show it")]
    NotSeen(String),
    /// Something went wrong on the way, and it could not be read back that nothing is in force.
    #[error("{problem}; whether the fault is in force could not be read back: {unconfirmed}")]
    Unconfirmed {
        /// What went wrong.
        problem: String,
        /// Why the revert could not be confirmed.
        unconfirmed: String,
    },
}

/// Puts a fault in force, renews its lease until it ends or `stop` is pulled, ends it, and reads
/// back that it has ended. `on_seen` is called once the fault has been read back in force.
///
/// The revert goes on until it is confirmed or the lease has run out with a second to spare; nothing
/// interrupts it.
///
/// # Errors
///
/// Where the fault did not come into force. Then it has been read back that it is not, or the error
/// is [`HoldError::Unconfirmed`].
pub async fn hold(
    client: &ControlClient,
    request: &HoldRequest,
    stop: &Stop,
    on_seen: impl FnOnce(&Seen),
) -> Result<HoldEnd, HoldError> {
    let mut held = Held { client, request, lease_ends: Instant::now() };
    let seen = held.install().await?;
    on_seen(&seen);
    let lost = held.renew_until_the_end(stop).await;
    let interrupted = stop.is_pulled() && Instant::now() < request.ends;
    Ok(match held.revert().await {
        Ok(Reverted::NoServer) => HoldEnd::Lost { state: None },
        Ok(Reverted::Read { was_gone, state }) if lost || was_gone => {
            HoldEnd::Lost { state: Some(state) }
        }
        Ok(Reverted::Read { state, .. }) => HoldEnd::Ended { interrupted, state },
        Err(problem) => HoldEnd::Unconfirmed { problem },
    })
}

struct Held<'a> {
    client: &'a ControlClient,
    request: &'a HoldRequest,
    /// When the lease has run out for sure.
    lease_ends: Instant,
}

/// A fault that is gone for sure.
enum Reverted {
    /// As read back.
    Read {
        /// Whether it was gone before it was ended.
        was_gone: bool,
        state: Box<ServerState>,
    },
    /// Nobody listens at the server, and the lease has run out.
    NoServer,
}

impl Held<'_> {
    async fn install(&mut self) -> Result<Seen, HoldError> {
        let lease = self.request.terms.lease_until(Instant::now(), self.request.ends);
        let Cause { by, reason } = self.request.cause.clone();
        let body = FaultRequest {
            name: self.request.name.clone(),
            fault: self.request.kind,
            lease,
            by,
            reason,
        };
        let installed = self.client.install(&body).await;
        self.lease_ends = Instant::now() + lease;
        match installed {
            Ok(_) => self.read_back().await,
            Err(error @ (ClientError::Status { .. } | ClientError::Refused(_))) => {
                Err(HoldError::NotInForce(error))
            }
            // The command may have arrived all the same.
            Err(error) => Err(match self.revert().await {
                Ok(_) => HoldError::NotInForce(error),
                Err(unconfirmed) => {
                    HoldError::Unconfirmed { problem: error.to_string(), unconfirmed }
                }
            }),
        }
    }

    async fn read_back(&mut self) -> Result<Seen, HoldError> {
        let name = &self.request.name;
        let error = match self.client.server_state().await {
            Ok(state) => match state.faults.iter().find(|fault| fault.name == *name) {
                Some(fault) => {
                    let fault = fault.clone();
                    return Ok(Seen { fault, capacity: state.capacity, slots: state.slots });
                }
                None => HoldError::NotSeen(name.clone()),
            },
            Err(error) => HoldError::NotInForce(error),
        };
        match self.revert().await {
            Ok(_) => Err(error),
            Err(unconfirmed) => {
                Err(HoldError::Unconfirmed { problem: error.to_string(), unconfirmed })
            }
        }
    }

    /// Returns when the fault is to end; true where it is gone already.
    async fn renew_until_the_end(&mut self, stop: &Stop) -> bool {
        let HoldRequest { name, ends, terms, cause, .. } = self.request;
        let mut renew_at = Instant::now() + terms.renew_every();
        loop {
            let covered = self.lease_ends > *ends;
            let wake = if covered { *ends } else { renew_at.min(*ends) };
            tokio::select! {
                () = sleep_until(wake.into()) => {}
                () = stop.pulled() => return false,
            }
            if Instant::now() >= *ends {
                return false;
            }
            let lease = terms.lease_until(Instant::now(), *ends);
            let renewed = tokio::select! {
                renewed = self.client.renew(name, lease, cause) => renewed,
                () = sleep_until((*ends).into()) => return false,
                () = stop.pulled() => return false,
            };
            match renewed {
                Ok(_) => {
                    self.lease_ends = Instant::now() + lease;
                    renew_at = Instant::now() + terms.renew_every();
                }
                Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => return true,
                // The next try may get through before the lease runs out.
                Err(_) => renew_at = Instant::now() + terms.renew_every().min(RETRY),
            }
        }
    }

    /// Ends the fault and reads back that it has ended, trying until the lease must have run out.
    async fn revert(&self) -> Result<Reverted, String> {
        let HoldRequest { name, cause, .. } = self.request;
        let client = self.client.clone().with_timeout(REVERT_TIMEOUT);
        let until = self.lease_ends.max(Instant::now() + REVERT_AT_LEAST) + REVERT_TIMEOUT;
        let mut first = true;
        loop {
            let removal = client.remove(name, cause).await;
            let late = Instant::now() >= until;
            let problem = match removal {
                Ok(removal) => {
                    if removal.state.faults.iter().all(|fault| fault.name != *name) {
                        // After a first try without an answer nobody knows who ended it.
                        let was_gone = first && removal.removed.is_none();
                        return Ok(Reverted::Read { was_gone, state: Box::new(removal.state) });
                    }
                    format!("the state still shows the fault `{name}`")
                }
                // The process has ended, and the fault with it. Where it has not and only cannot be
                // reached any more, its own clock has ended the lease by now.
                Err(ClientError::Refused(_)) if late => return Ok(Reverted::NoServer),
                Err(error) => error.to_string(),
            };
            if late {
                return Err(problem);
            }
            first = false;
            sleep(RETRY).await;
        }
    }
}

const RETRY: Duration = Duration::from_millis(200);
const REVERT_TIMEOUT: Duration = Duration::from_secs(1);
const REVERT_AT_LEAST: Duration = Duration::from_secs(2);
