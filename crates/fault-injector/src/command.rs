use std::time::Duration;

use goodput_control::api::{Cause, FaultRequest, FaultView, Removal, ResetScope, ServerState};
use goodput_control::{ClientError, ControlClient, LeaseKeeper};
use goodput_policy::fault::FaultKind;

/// Why a command did not do what it says.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The control plane refused, or did not answer.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The state read back still shows faults.
    #[error("still in force, as read back: {}", .0.join(", "))]
    StillInForce(Vec<String>),
    /// A lease cannot be that long.
    #[error("a fault that is left to its lease lasts from 100ms to 1h, such as `--for 20s`")]
    LeaseRange,
}

impl CommandError {
    /// Whether something may be in force that should not be.
    pub const fn is_unconfirmed(&self) -> bool {
        match self {
            Self::StillInForce(_) => true,
            Self::Client(error) => !matches!(
                error,
                ClientError::Status { .. } | ClientError::Refused(_) | ClientError::Address(_)
            ),
            Self::LeaseRange => false,
        }
    }
}

/// Puts a fault in force and leaves it to a lease of its whole length.
///
/// # Errors
///
/// Where `length` is not from 100 ms to 1 h, or the server refuses.
pub async fn detach(
    client: &ControlClient,
    name: &str,
    kind: FaultKind,
    length: Duration,
    cause: &Cause,
) -> Result<FaultView, CommandError> {
    if !(LeaseKeeper::SHORTEST..=LeaseKeeper::LONGEST).contains(&length) {
        return Err(CommandError::LeaseRange);
    }
    Ok(client.install(&FaultRequest::new(name, kind, length, cause)).await?)
}

/// The faults in force at a server.
///
/// # Errors
///
/// Where it does not answer.
pub async fn list(client: &ControlClient) -> Result<Vec<FaultView>, CommandError> {
    Ok(client.faults().await?)
}

/// Ends the fault that has this name at the moment, whoever put it there, and confirms it by the state
/// read back. It is ended by the id that the server shows, so that one that takes its place meanwhile is
/// left alone.
///
/// # Errors
///
/// Where the server does not answer, or still shows the fault.
pub async fn clear(
    client: &ControlClient,
    name: &str,
    cause: &Cause,
) -> Result<Removal, CommandError> {
    let state = client.server_state().await?;
    let Some(fault) = state.faults.iter().find(|fault| fault.name == name) else {
        return Ok(Removal { removed: None, state });
    };
    let removal = client.remove(name, &fault.id, cause).await?;
    if removal.state.faults.iter().any(|other| other.id == fault.id) {
        return Err(CommandError::StillInForce(vec![name.to_owned()]));
    }
    Ok(removal)
}

/// Ends one's own faults at a server, or all, puts back what one's own levers changed, or anybody's, and
/// confirms it by the state read back.
///
/// # Errors
///
/// Where the server does not answer, or still shows such faults.
pub async fn reset(
    client: &ControlClient,
    scope: ResetScope,
    cause: &Cause,
) -> Result<ServerState, CommandError> {
    let state = client.reset_server(scope, cause).await?;
    let own = cause.owner();
    let left = state.faults.iter().filter(|fault| scope == ResetScope::All || fault.owner == own);
    let left: Vec<_> = left.map(|fault| fault.name.clone()).collect();
    if left.is_empty() { Ok(state) } else { Err(CommandError::StillInForce(left)) }
}
