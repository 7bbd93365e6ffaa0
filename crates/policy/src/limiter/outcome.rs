//! What a limiter says: to an arrival, about a job that has ended, and when it wants to be woken.

use goodput_clock::Timestamp;

/// Names a job of a limiter for [`Limiter::disconnect`](super::Limiter::disconnect); never used twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct JobId {
    pub(super) key: usize,
    pub(super) serial: u64,
}

/// Why a request was refused, or dropped after it had waited.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Refusal {
    /// The queue was at its limit.
    QueueFull,
    /// The queue was at the cap that guards memory.
    SafetyCap,
    /// It could not have been finished within its deadline.
    Expired,
    /// A lever shed the queue.
    Shed,
    /// The edge did not admit it.
    NotAdmitted,
    /// The server was restarted.
    Restart,
}

impl Refusal {
    /// All refusals, in the order of their declaration.
    pub const ALL: [Self; 6] = [
        Self::QueueFull,
        Self::SafetyCap,
        Self::Expired,
        Self::Shed,
        Self::NotAdmitted,
        Self::Restart,
    ];

    /// The name on the wire and in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::SafetyCap => "safety-cap",
            Self::Expired => "expired",
            Self::Shed => "shed",
            Self::NotAdmitted => "not-admitted",
            Self::Restart => "restart",
        }
    }
}

/// What became of a request that the limiter had taken in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Completion<T> {
    /// It was served.
    Served {
        /// What the request carried.
        payload: T,
        /// When it arrived.
        arrived: Timestamp,
        /// When its service started.
        started: Timestamp,
        /// When its service ended.
        ended: Timestamp,
        /// Whether the work was wasted: the caller had hung up, or its deadline had passed.
        wasted: bool,
    },
    /// It was refused after it had waited.
    Refused {
        /// What the request carried.
        payload: T,
        /// When it arrived.
        arrived: Timestamp,
        /// When it was refused.
        at: Timestamp,
        /// Why.
        reason: Refusal,
    },
    /// Its caller hung up and it left the queue.
    Cancelled {
        /// What the request carried.
        payload: T,
        /// When it arrived.
        arrived: Timestamp,
        /// When it left.
        at: Timestamp,
    },
}

/// What the limiter says to an arrival.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Admission<T> {
    /// It is served or waits; a [`Completion`] follows.
    Accepted(JobId),
    /// It is refused at once.
    Refused(T, Refusal),
}

/// Why the limiter wants to be woken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WakeReason {
    /// A job's service ends.
    ServiceEnds,
}
