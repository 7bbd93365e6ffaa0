//! Faults to hold.

use std::time::{Duration, Instant};

use goodput_control::api::Cause;
use goodput_fault_injector::{HoldRequest, LeaseTerms};
use goodput_policy::fault::FaultKind;

pub(crate) fn cause() -> Cause {
    Cause::new("test", "to see")
}

pub(crate) fn short_terms() -> LeaseTerms {
    LeaseTerms::new(Duration::from_secs(1), Duration::from_millis(200)).unwrap()
}

pub(crate) fn stall(name: &str, length: Duration) -> HoldRequest {
    HoldRequest {
        name: name.to_owned(),
        kind: FaultKind::Stall,
        ends: Instant::now() + length,
        terms: short_terms(),
        cause: cause(),
    }
}
