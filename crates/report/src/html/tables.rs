//! The tables of a page.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use goodput_runlog::{EventKind, RunLog, bucket_quantile};
use goodput_verdict::Judgement;
use maud::{Markup, html};

use crate::criteria::{self, CriterionOutcome};
use crate::report::ReportedRun;
use crate::{format, told};

/// What the judgement tells beside its verdict.
pub(super) fn told(judgement: &Judgement) -> Markup {
    let figures = told::figures(judgement);
    html! {
        @if !figures.is_empty() {
            div.card.scroll {
                table {
                    tbody {
                        @for (name, value) in figures {
                            tr { th scope="row" { (capitalised(name)) } td { (value) } }
                        }
                        @for stretch in judgement.stretches.iter().take(STRETCH_ROWS_MAX) {
                            tr { th scope="row" { "Below its band" } td { (told::stretch(stretch)) } }
                        }
                    }
                }
            }
        }
    }
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

const STRETCH_ROWS_MAX: usize = 64;

/// How attempts ended: by the status of their answer, or by what the transport said where there was none.
pub(super) fn outcomes(log: &RunLog, judgement: &Judgement) -> Markup {
    let mut whole: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, count) in log.windows.iter().flat_map(|window| &window.client.outcomes) {
        *whole.entry(name).or_default() += count;
    }
    let mut rows: Vec<_> = whole.into_iter().collect();
    rows.sort_by_key(|(_, count)| Reverse(*count));
    let all = rows.iter().map(|(_, count)| *count).sum::<u64>() as f64;
    let count = |value: u64| format::thousands(value as f64);
    html! {
        @if !rows.is_empty() {
            div.card.scroll {
                table {
                    thead {
                        tr {
                            th { "Attempts ended with" } th.n { "whole run" } th.n { "share" }
                            th.n { "of what is judged" }
                        }
                    }
                    tbody {
                        @for (name, seen) in rows {
                            tr {
                                th scope="row" { (name) }
                                td.n { (count(seen)) }
                                td.n { (format::percent(seen as f64 / all.max(1.0))) }
                                td.n { (judgement.outcomes.get(name).map_or_else(|| "–".to_owned(), |n| count(*n))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What supports the verdict.
pub(super) fn evidence(judgement: &Judgement) -> Markup {
    html! {
        @if !judgement.evidence.is_empty() {
            div.card.scroll {
                table.evidence {
                    thead { tr { th { "Evidence" } th.n { "Value" } th.n { "Against" } th { "In words" } } }
                    tbody {
                        @for item in &judgement.evidence {
                            tr {
                                th scope="row" { (item.name) }
                                td.n { (format::with_unit(item.value, &item.unit)) }
                                td.n {
                                    @match item.against {
                                        Some(against) => (format::with_unit(against, &item.unit)),
                                        None => "–",
                                    }
                                }
                                td { (item.text) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What the run had to meet.
pub(super) fn criteria(run: &ReportedRun<'_>) -> Markup {
    html! {
        div.card.scroll {
            table {
                thead { tr { th { "Criterion" } th { "" } th { "Value against threshold" } } }
                tbody {
                    @for criterion in criteria::criteria(run) {
                        tr {
                            th scope="row" { (criterion.name) }
                            td.w { (outcome(criterion.outcome)) }
                            td { (criterion.text) }
                        }
                    }
                }
            }
        }
    }
}

fn outcome(outcome: CriterionOutcome) -> Markup {
    match outcome {
        CriterionOutcome::Met => html! { span.yes { "✓ met" } },
        CriterionOutcome::NotMet => html! { span.no { "✗ not met" } },
        CriterionOutcome::Untrusted => html! { span.unknown { "? untrusted" } },
        CriterionOutcome::Skipped => html! { span.muted { "– not judged" } },
    }
}

/// What happened when.
pub(super) fn events(log: &RunLog) -> Markup {
    html! {
        div.card.scroll {
            table {
                thead { tr { th.n { "Time" } th { "Event" } th { "Where" } th { "What" } } }
                tbody {
                    @if log.events.is_empty() { tr { td colspan="4" { "Nothing was injected or pulled." } } }
                    @for event in &log.events {
                        @let (kind, place, what) = words(&event.kind);
                        tr {
                            td.n { (format!("{:.3} s", event.at.as_secs_f64())) }
                            td.w { (kind) }
                            td { (place) }
                            td { (what) }
                        }
                    }
                }
            }
        }
    }
}

fn words(kind: &EventKind) -> (&'static str, &str, String) {
    match kind {
        EventKind::FaultStarted { name, tier, what } => {
            ("fault started", tier, format!("{name}: {what}"))
        }
        EventKind::FaultEnded { name, tier } => ("fault ended", tier, name.clone()),
        EventKind::LeverPulled { lever, what, .. } => ("lever pulled", lever, what.clone()),
        EventKind::ByOthers { tier, what, by } if by.is_empty() => {
            ("by somebody else", tier, what.clone())
        }
        EventKind::ByOthers { tier, what, by } => {
            ("by somebody else", tier, format!("{by}: {what}"))
        }
        EventKind::ServerRestarted { tier } => ("server restarted", tier, "by itself".to_owned()),
        EventKind::TriggerWithheld { reason } => ("trigger withheld", "", reason.clone()),
        EventKind::Doubt { what } => ("doubt", "", what.clone()),
    }
}

/// Quantiles over the whole run.
pub(super) fn latencies(log: &RunLog) -> Markup {
    const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];
    let totals = &log.totals;
    let rows = [
        ("latency, from the intended send time", &totals.latency),
        ("answer of the attempt that succeeded", &totals.service),
        ("send lag", &totals.send_lag),
    ];
    html! {
        div.card.scroll {
            table {
                thead {
                    tr {
                        th { "Whole run" } th.n { "count" }
                        th.n { "p50" } th.n { "p90" } th.n { "p99" } th.n { "p99.9" } th.n { "max" }
                    }
                }
                tbody {
                    @for (name, buckets) in rows {
                        tr {
                            th scope="row" { (name) }
                            td.n { (format::thousands(buckets.iter().map(|(_, n)| *n).sum::<u64>() as f64)) }
                            @for quantile in QUANTILES {
                                td.n {
                                    (bucket_quantile(buckets, quantile)
                                        .map_or_else(|| "–".to_owned(), format::seconds))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How many attempts requests made.
pub(super) fn attempts_per_request(log: &RunLog) -> Markup {
    let counts = &log.totals.attempts_per_request;
    let all = counts.values().sum::<u64>() as f64;
    html! {
        div.card.scroll {
            table {
                thead { tr { th.n { "Attempts" } th.n { "Requests" } th.n { "Share" } th { "" } } }
                tbody {
                    @for (attempts, count) in counts.iter().take(ATTEMPT_ROWS_MAX) {
                        @let share = *count as f64 / all.max(1.0);
                        tr {
                            td.n { (attempts) }
                            td.n { (format::thousands(*count as f64)) }
                            td.n { (format::percent(share)) }
                            td.bar { span style=(format!("width:{:.1}%", share * 100.0)) {} }
                        }
                    }
                    @if counts.len() > ATTEMPT_ROWS_MAX {
                        tr { td colspan="4" { "Requests with more attempts are in the run log." } }
                    }
                }
            }
        }
    }
}

const ATTEMPT_ROWS_MAX: usize = 64;

/// Figures about the measurement itself.
pub(super) fn integrity(log: &RunLog) -> Markup {
    let integrity = &log.integrity;
    let count = |value: u64| format::thousands(value as f64);
    html! {
        div.card.scroll {
            table {
                tbody {
                    (row("Requests that the schedule asks for", &count(integrity.scheduled)))
                    (row("Requests issued", &count(integrity.offered)))
                    (row("Found no connection in time", &count(integrity.unsent)))
                    (row("Send lag p99, wall time", &format::seconds(integrity.send_lag_p99_wall)))
                    (row("Smallest time-out, wall time", &format::seconds(integrity.smallest_timeout_wall)))
                    @for fault in &integrity.faults_unseen { (row("Fault never seen in force", fault)) }
                    @for fault in &integrity.faults_unreverted {
                        (row("Fault not confirmed to have ended", fault))
                    }
                    @for (role, peak) in &integrity.memory_peak {
                        (row(&format!("Most memory, {role}"), &format::bytes(*peak)))
                    }
                }
            }
        }
    }
}

fn row(name: &str, value: &str) -> Markup {
    html! { tr { th scope="row" { (name) } td.n { (value) } } }
}
