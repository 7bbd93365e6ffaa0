//! The offered load as it was asked for.

use goodput_clock::Timestamp;
use goodput_runlog::{EventKind, RunLog};
use goodput_scenario::Scenario;

use crate::series::Series;

/// The offered load, in requests per second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfferedLoad {
    /// Over the baseline.
    pub(crate) before: f64,
    /// At the end of what is judged.
    pub(crate) end: f64,
}

impl OfferedLoad {
    /// By the schedule alone, before anything has run: at the beginning and at the end.
    pub(crate) fn planned(scenario: &Scenario) -> Self {
        let last = (scenario.duration.as_secs_f64() - 0.5).max(0.0);
        Self { before: scheduled(scenario, 0.0), end: scheduled(scenario, last) }
    }

    /// By the schedule, so that noise is no change; where a person has changed the rate while it ran, by
    /// what was issued.
    pub(crate) fn of(
        log: &RunLog,
        scenario: &Scenario,
        series: &Series<'_>,
        baseline: (u64, u64),
        tail: (u64, u64),
    ) -> Self {
        let issued = |(from, to): (u64, u64)| {
            series.offered(from, to) as f64 / to.saturating_sub(from).max(1) as f64
        };
        if changed_by_hand(log, scenario) {
            return Self { before: issued(baseline), end: issued(tail) };
        }
        let over = |(from, to): (u64, u64)| {
            let seconds = (from..to.max(from + 1)).map(|s| scheduled(scenario, s as f64 + 0.5));
            seconds.sum::<f64>() / to.saturating_sub(from).max(1) as f64
        };
        Self { before: over(baseline), end: scheduled(scenario, (tail.1 as f64 - 0.5).max(0.0)) }
    }
}

/// The rate that the schedule asks for at a moment, levers of the timeline included.
fn scheduled(scenario: &Scenario, second: f64) -> f64 {
    let at = Timestamp::from_secs_f64(second);
    let levers = scenario.levers.iter().filter(|lever| lever.at <= at);
    match levers.filter_map(goodput_scenario::PlannedLever::rate).next_back() {
        Some(rate) => rate.per_second(),
        None => scenario.load.rate_at(at),
    }
}

/// Whether the rate was changed more often than the timeline has it.
fn changed_by_hand(log: &RunLog, scenario: &Scenario) -> bool {
    let is_rate =
        |kind: &EventKind| matches!(kind, EventKind::LeverPulled { lever, .. } if lever == "rate");
    let pulled = log.events.iter().filter(|event| is_rate(&event.kind)).count();
    pulled > scenario.levers.iter().filter(|lever| lever.rate().is_some()).count()
}
