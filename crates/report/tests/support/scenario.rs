//! The headline's scenario and what the model does in its arms.

use goodput_scenario::Plan;

/// What the model does against the failure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Defence {
    /// Nothing.
    Naive,
    /// Longer waits before a retry.
    BackoffOnly,
    /// No retries.
    NoRetries,
    /// What has expired is dropped at dequeue.
    DropExpired,
    /// Retries are at most a tenth of the requests.
    RetryBudget,
    /// At most 150 wait.
    BoundedQueue,
}

/// The scenario file.
pub(crate) const SCENARIO: &str = include_str!("../../../../scenarios/database-failover.toml");

/// The headline with its arms.
pub(crate) fn plan() -> Plan {
    Plan::parse("scenarios/database-failover.toml", SCENARIO).expect("the headline is valid")
}

/// What the model does in an arm.
pub(crate) fn defence(arm: &str) -> Defence {
    match arm {
        "backoff-only" => Defence::BackoffOnly,
        "no-retries" => Defence::NoRetries,
        "drop-expired" => Defence::DropExpired,
        "retry-budget" => Defence::RetryBudget,
        "bounded-queue" => Defence::BoundedQueue,
        _ => Defence::Naive,
    }
}
