use std::time::{Duration, Instant};

use goodput_control::LeaseKeeper;

/// How faults are leased: for how long, and how often that is renewed. Wall time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LeaseTerms {
    lease: Duration,
    renew_every: Duration,
}

/// Terms under which a lease would run out between two renewals, or that no server takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a lease is from 100ms to 1h and renewed at least twice in it, such as 10s every 3s")]
pub struct InvalidTerms;

impl Default for LeaseTerms {
    /// 10 s, renewed every 3 s.
    fn default() -> Self {
        Self { lease: Duration::from_secs(10), renew_every: Duration::from_secs(3) }
    }
}

impl LeaseTerms {
    /// Leases of this length, renewed so often.
    ///
    /// # Errors
    ///
    /// Where `lease` is not from 100 ms to 1 h, or `renew_every` is zero or more than half of it.
    pub fn new(lease: Duration, renew_every: Duration) -> Result<Self, InvalidTerms> {
        let taken = (LeaseKeeper::SHORTEST..=LeaseKeeper::LONGEST).contains(&lease);
        if taken && !renew_every.is_zero() && renew_every <= lease / 2 {
            Ok(Self { lease, renew_every })
        } else {
            Err(InvalidTerms)
        }
    }

    /// How long a lease is.
    pub const fn lease(self) -> Duration {
        self.lease
    }

    /// How often it is renewed.
    pub const fn renew_every(self) -> Duration {
        self.renew_every
    }

    /// The lease of a fault that is to end at `ends`: no longer than it takes, so that a fault whose
    /// holder dies ends close to its planned end.
    pub(crate) fn lease_until(self, now: Instant, ends: Instant) -> Duration {
        let needed = ends.saturating_duration_since(now) + SLACK;
        needed.min(self.lease).max(LeaseKeeper::SHORTEST)
    }
}

/// How long a lease outlasts the planned end, so that the holder ends the fault and not the lease.
const SLACK: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_renewed_at_least_twice_in_its_length() {
        let ms = Duration::from_millis;
        assert_eq!(LeaseTerms::new(ms(10_000), ms(3_000)), Ok(LeaseTerms::default()));
        for (lease, every) in [(99, 10), (3_600_001, 10), (1_000, 0), (1_000, 501)] {
            assert_eq!(LeaseTerms::new(ms(lease), ms(every)), Err(InvalidTerms));
        }
    }

    #[test]
    fn a_lease_is_no_longer_than_the_fault_needs() {
        let now = Instant::now();
        let terms = LeaseTerms::default();
        let lease = |seconds| terms.lease_until(now, now + Duration::from_secs(seconds));
        assert_eq!(lease(2), Duration::from_secs(3));
        assert_eq!(lease(60), Duration::from_secs(10));
        assert_eq!(terms.lease_until(now + SLACK * 2, now), SLACK);
    }
}
