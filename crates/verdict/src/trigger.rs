use goodput_clock::Timestamp;
use goodput_runlog::{EventKind, RunLog};
use goodput_scenario::Scenario;

use crate::model::Span;

/// What set the run going: its faults as planned, faults that a person injected while it ran, and
/// load spikes. The end is the planned one, since a read-back sees it late by up to a poll; where
/// the read-back is later than [`END_SEEN_LATE`] the fault did last longer, and that counts.
pub(crate) fn trigger(log: &RunLog, scenario: &Scenario, seconds: u64) -> Option<Span> {
    let spans =
        planned(log, scenario).chain(unplanned(log, scenario, seconds)).chain(spikes(scenario));
    spans.reduce(|a, b| Span { from: a.from.min(b.from), to: a.to.max(b.to) })
}

fn planned(log: &RunLog, scenario: &Scenario) -> impl Iterator<Item = Span> {
    scenario.faults.iter().map(|fault| {
        let end = fault.ends().as_secs_f64();
        let seen = ended(log, &fault.name, fault.ends()).unwrap_or(end);
        let to = if seen > end + END_SEEN_LATE { seen } else { end };
        Span { from: fault.at.as_secs_f64(), to }
    })
}

/// When the fault of this name was first seen to have ended, at or after a moment.
fn ended(log: &RunLog, fault: &str, after: Timestamp) -> Option<f64> {
    let at = log.events.iter().find(|event| {
        event.at >= after
            && matches!(&event.kind, EventKind::FaultEnded { name, .. } if name == fault)
    });
    at.map(|event| event.at.as_secs_f64())
}

fn unplanned(log: &RunLog, scenario: &Scenario, seconds: u64) -> impl Iterator<Item = Span> {
    log.events.iter().filter_map(move |event| {
        let EventKind::FaultStarted { name, .. } = &event.kind else { return None };
        if scenario.faults.iter().any(|fault| fault.name == *name) {
            return None;
        }
        let to = ended(log, name, event.at).unwrap_or(seconds as f64);
        Some(Span { from: event.at.as_secs_f64(), to })
    })
}

fn spikes(scenario: &Scenario) -> impl Iterator<Item = Span> {
    let span = |(from, to): (Timestamp, Timestamp)| Span {
        from: from.as_secs_f64(),
        to: to.as_secs_f64(),
    };
    scenario.load_spikes().into_iter().map(span)
}

/// By how much later than planned a fault's end must be seen to count, in seconds.
const END_SEEN_LATE: f64 = 2.0;
