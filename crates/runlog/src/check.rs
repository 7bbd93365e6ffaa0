//! What a run log may hold: a log from outside can claim anything.

use crate::json::RunLogError;
use crate::model::{ClientWindow, Cohort, Integrity, Quantiles, RunLog, TierWindow};

impl RunLog {
    /// Checks sizes and figures.
    pub(crate) fn check(&self) -> Result<(), RunLogError> {
        at_most("windows", self.windows.len(), Self::WINDOWS_MAX)?;
        at_most("events", self.events.len(), Self::EVENTS_MAX)?;
        for (name, buckets) in [
            ("buckets of the latency", &self.totals.latency),
            ("buckets of the service time", &self.totals.service),
            ("buckets of the send lag", &self.totals.send_lag),
        ] {
            at_most(name, buckets.len(), Self::BUCKETS_MAX)?;
            counted(name, buckets.iter().map(|(_, count)| *count))?;
            if !buckets.iter().all(|(bound, _)| bound.is_finite() && *bound >= 0.0) {
                return Err(RunLogError::Inconsistent(format!("a bound in the {name} is no time")));
            }
        }
        let Integrity { send_lag_p99_wall, smallest_timeout_wall, .. } = self.integrity;
        finite("meta.speed", &[self.meta.speed])?;
        finite("integrity.send_lag_p99_wall", &[send_lag_p99_wall])?;
        finite("integrity.smallest_timeout_wall", &[smallest_timeout_wall])?;
        let attempts = &self.totals.attempts_per_request;
        at_most("numbers of attempts", attempts.len(), Self::BUCKETS_MAX)?;
        counted("requests by their attempts", attempts.values().copied())?;
        let mut last = None;
        for window in &self.windows {
            if last.is_some_and(|last| window.second <= last) {
                return Err(RunLogError::Inconsistent(format!(
                    "the window of second {} does not come after its predecessor",
                    window.second
                )));
            }
            last = Some(window.second);
            if window.second >= Self::WINDOWS_MAX as u64 {
                return Err(RunLogError::Inconsistent(format!(
                    "there is a window of second {}, and a run has at most {}",
                    window.second,
                    Self::WINDOWS_MAX
                )));
            }
            window.client.check()?;
            at_most("tiers in a window", window.tiers.len(), Self::TIERS_MAX)?;
            window.tiers.iter().try_for_each(TierWindow::check)?;
        }
        Ok(())
    }
}

impl ClientWindow {
    fn check(&self) -> Result<(), RunLogError> {
        let counts = [
            self.offered,
            self.good,
            self.late,
            self.unsent,
            self.attempts,
            self.retries,
            self.attempts_in_flight,
            self.requests_in_flight,
            self.connections,
            self.connects,
            self.latency.count,
            self.send_lag.count,
        ];
        counted("a count of the client", counts)?;
        let Cohort { arrived, good, failed, turned_away } = self.cohort;
        counted("a count of a cohort", [arrived, good, failed, turned_away])?;
        if good + failed > arrived || turned_away > failed {
            return Err(RunLogError::Inconsistent(format!(
                "of {arrived} requests {good} were good, {failed} failed, and {turned_away} of those \
                 were turned away"
            )));
        }
        for classes in [&self.failed, &self.attempts_failed, &self.suppressed, &self.outcomes] {
            at_most("classes in a window", classes.len(), RunLog::CLASSES_MAX)?;
            counted("a count of the client", classes.values().copied())?;
        }
        for Quantiles { p50, p99, max, .. } in [self.latency, self.send_lag] {
            finite("a latency or send lag", &[p50, p99, max])?;
        }
        Ok(())
    }
}

impl TierWindow {
    fn check(&self) -> Result<(), RunLogError> {
        let counts = [
            self.received,
            self.served,
            self.cancelled,
            self.errors,
            self.queued,
            self.in_service,
            self.queue_delay.count,
        ];
        counted("a count of a tier", counts)?;
        at_most("reasons in a window", self.refused.len(), RunLog::CLASSES_MAX)?;
        counted("a count of a tier", self.refused.values().copied())?;
        let Quantiles { p50, p99, max, .. } = self.queue_delay;
        let (capacity, admitted) = (self.capacity.unwrap_or(0.0), self.admitted.unwrap_or(0.0));
        let times = [self.busy_useful, self.busy_wasted, self.oldest_age, self.sample_gap];
        finite("a figure of a tier", &[p50, p99, max, capacity, admitted])?;
        finite("a figure of a tier", &times)
    }
}

/// Checks figures that are neither negative nor without end.
fn finite(what: &str, values: &[f64]) -> Result<(), RunLogError> {
    match values.iter().find(|value| !value.is_finite() || **value < 0.0) {
        None => Ok(()),
        Some(value) => Err(RunLogError::Inconsistent(format!("{what} is {value}"))),
    }
}

/// Checks counts that can be added up.
fn counted(what: &str, counts: impl IntoIterator<Item = u64>) -> Result<(), RunLogError> {
    match counts.into_iter().find(|count| *count > RunLog::COUNT_MAX) {
        None => Ok(()),
        Some(count) => Err(RunLogError::Inconsistent(format!("{what} is {count}"))),
    }
}

fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), RunLogError> {
    if found > limit { Err(RunLogError::TooMany { what, found, limit }) } else { Ok(()) }
}
