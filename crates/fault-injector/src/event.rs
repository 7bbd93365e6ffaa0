use goodput_clock::Timestamp;
use serde::Serialize;

/// What a timeline did, or failed to do.
#[derive(Clone, Debug, PartialEq)]
pub struct InjectorEvent {
    /// When, in scenario time.
    pub at: Timestamp,
    /// What.
    pub kind: InjectorEventKind,
}

/// What happened on a timeline.
#[derive(Clone, Debug, PartialEq)]
pub enum InjectorEventKind {
    /// A fault came into force, as read back.
    FaultStarted {
        /// Its name.
        name: String,
        /// The tier that it hits.
        tier: String,
        /// What it does, in words.
        what: String,
    },
    /// A fault ended, as read back.
    FaultEnded {
        /// Its name.
        name: String,
        /// The tier.
        tier: String,
        /// Whether it ended before its time, without the timeline.
        lost: bool,
    },
    /// A lever was pulled.
    LeverPulled {
        /// Its name.
        lever: String,
        /// The tier, for levers of a server.
        tier: Option<String>,
        /// What it did, in words.
        did: String,
        /// What it turned, as [`Lever::keys`](goodput_policy::lever::Lever::keys) has it.
        keys: Vec<String>,
    },
    /// A fault never came into force.
    FaultFailed {
        /// Its name.
        name: String,
        /// The tier.
        tier: String,
        /// Why.
        problem: String,
    },
    /// It could not be read back that a fault has ended.
    FaultUnreverted {
        /// Its name.
        name: String,
        /// The tier.
        tier: String,
        /// Why.
        problem: String,
    },
    /// A lever could not be pulled.
    LeverFailed {
        /// Its name.
        lever: String,
        /// Why.
        problem: String,
    },
}

/// An event as the injector's own API shows it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EventView {
    /// Seconds of scenario time since the timeline began.
    pub(crate) at: f64,
    /// What, in words.
    pub(crate) what: String,
}

impl From<&InjectorEvent> for EventView {
    fn from(event: &InjectorEvent) -> Self {
        Self { at: event.at.as_secs_f64(), what: event.kind.to_string() }
    }
}

impl std::fmt::Display for InjectorEventKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FaultStarted { name, tier, what } => {
                write!(f, "fault {name} at {tier} in force: {what}")
            }
            Self::FaultEnded { name, tier, lost: false } => {
                write!(f, "fault {name} at {tier} ended")
            }
            Self::FaultEnded { name, tier, lost: true } => {
                write!(f, "fault {name} at {tier} was lost before its time")
            }
            Self::LeverPulled { lever, tier: Some(tier), did, .. } => {
                write!(f, "lever {lever} at {tier}: {did}")
            }
            Self::LeverPulled { lever, tier: None, did, .. } => write!(f, "lever {lever}: {did}"),
            Self::FaultFailed { name, tier, problem } => {
                write!(f, "fault {name} at {tier} failed: {problem}")
            }
            Self::FaultUnreverted { name, tier, problem } => {
                write!(f, "fault {name} at {tier} may still be in force: {problem}")
            }
            Self::LeverFailed { lever, problem } => write!(f, "lever {lever} failed: {problem}"),
        }
    }
}
