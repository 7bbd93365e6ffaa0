use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

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
/// The fault is renewed, looked for and ended by the id that the server gave it: another's fault of the
/// same name, such as one that came after its lease had run out, is left alone.
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
    let now = Instant::now();
    let (ticket, id) = (ticket(), None);
    let mut held = Held { client, request, ticket, id, granted_until: now, lease_ends: now };
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
    /// What finds the fault where the answer that told its id is lost.
    ticket: String,
    /// The fault's id, once it is known.
    id: Option<String>,
    /// Until when the server has granted the lease at least.
    granted_until: Instant,
    /// When the lease has run out for sure, whatever became of a renewal without an answer.
    lease_ends: Instant,
}

/// What became of a renewal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Renewal {
    Granted,
    /// The fault is not in force any more.
    Gone,
    Unanswered,
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
        let HoldRequest { name, kind, ends, terms, cause } = self.request;
        let lease = terms.lease_until(Instant::now(), *ends);
        let body = FaultRequest {
            ticket: Some(self.ticket.clone()),
            ..FaultRequest::new(name, *kind, lease, cause)
        };
        let asked = Instant::now();
        let installed = self.client.install(&body).await;
        self.granted_until = asked + lease;
        self.lease_ends = Instant::now() + lease;
        match installed {
            Ok(fault) => {
                self.id = Some(fault.id);
                self.read_back().await
            }
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
            Ok(state) => match state.faults.iter().find(|fault| self.is_it(fault)) {
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
        let HoldRequest { ends, terms, .. } = self.request;
        let mut renew_at = Instant::now() + terms.renew_every();
        loop {
            let renewal = if self.granted_until > *ends { *ends } else { renew_at.min(*ends) };
            let look = Instant::now() + LOOK_EVERY;
            tokio::select! {
                () = sleep_until(look.min(renewal).into()) => {}
                () = stop.pulled() => return false,
            }
            if Instant::now() >= *ends {
                return false;
            }
            let gone = if Instant::now() >= renewal {
                let renewal = self.renew(stop).await;
                let next = match renewal {
                    // The next try may get through before the lease runs out.
                    Renewal::Unanswered => terms.renew_every().min(RETRY),
                    Renewal::Granted | Renewal::Gone => terms.renew_every(),
                };
                renew_at = Instant::now() + next;
                renewal == Renewal::Gone
            } else {
                tokio::select! {
                    gone = self.is_gone() => gone,
                    () = sleep_until(renewal.into()) => false,
                    () = stop.pulled() => return false,
                }
            };
            if gone {
                return true;
            }
        }
    }

    /// Whether this fault is the one that is held.
    fn is_it(&self, fault: &FaultView) -> bool {
        match &self.id {
            Some(id) => fault.id == *id,
            None => fault.ticket.as_ref() == Some(&self.ticket),
        }
    }

    /// Renews the lease, for as long as the fault is to last.
    async fn renew(&mut self, stop: &Stop) -> Renewal {
        let HoldRequest { name, ends, terms, cause, .. } = self.request;
        let id = self.id.as_deref().unwrap_or_default();
        let asked = Instant::now();
        let lease = terms.lease_until(asked, *ends);
        let renewed = tokio::select! {
            renewed = self.client.renew(name, id, lease, cause) => Some(renewed),
            () = sleep_until((*ends).into()) => None,
            () = stop.pulled() => None,
        };
        // Without an answer the server may have renewed it at any moment until now.
        self.lease_ends = Instant::now() + lease;
        match renewed {
            Some(Ok(_)) => {
                self.granted_until = asked + lease;
                Renewal::Granted
            }
            Some(Err(error)) if error.status() == Some(StatusCode::NOT_FOUND) => Renewal::Gone,
            Some(Err(_)) | None => Renewal::Unanswered,
        }
    }

    /// Whether the server says that the fault is not in force. One that does not answer says nothing.
    async fn is_gone(&self) -> bool {
        let faults = self.client.faults().await;
        faults.is_ok_and(|faults| !faults.iter().any(|fault| self.is_it(fault)))
    }

    /// Ends the fault and reads back that it has ended, trying until the lease must have run out.
    async fn revert(&self) -> Result<Reverted, String> {
        let client = self.client.clone().with_timeout(REVERT_TIMEOUT);
        let until = self.lease_ends.max(Instant::now() + REVERT_AT_LEAST) + REVERT_TIMEOUT;
        let mut first = true;
        loop {
            let ended = self.end(&client).await;
            let late = Instant::now() >= until;
            let problem = match ended {
                Ok((removed, state)) => {
                    if !state.faults.iter().any(|fault| self.is_it(fault)) {
                        // After a first try without an answer nobody knows who ended it.
                        let was_gone = first && !removed;
                        return Ok(Reverted::Read { was_gone, state: Box::new(state) });
                    }
                    format!("the state still shows the fault `{}`", self.request.name)
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

    /// Ends the fault once; says whether it was there, and the state read back.
    async fn end(&self, client: &ControlClient) -> Result<(bool, ServerState), ClientError> {
        let HoldRequest { name, cause, .. } = self.request;
        let id = if let Some(id) = &self.id {
            id.clone()
        } else {
            let state = client.server_state().await?;
            match state.faults.iter().find(|fault| self.is_it(fault)) {
                Some(fault) => fault.id.clone(),
                None => return Ok((false, state)),
            }
        };
        let removal = client.remove(name, &id, cause).await?;
        Ok((removal.removed.is_some(), removal.state))
    }
}

/// What no other request of any injector is called.
fn ticket() -> String {
    static TICKETS: AtomicU64 = AtomicU64::new(0);
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let number = TICKETS.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{number:x}", std::process::id(), unix.as_nanos())
}

const RETRY: Duration = Duration::from_millis(200);
/// How often it is read that the fault is in force still, between renewals.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const REVERT_TIMEOUT: Duration = Duration::from_secs(1);
const REVERT_AT_LEAST: Duration = Duration::from_secs(2);
