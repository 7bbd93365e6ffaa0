//! The page of one run.

use goodput_runlog::{EngineKind, Meta, RunLog};
use goodput_verdict::Judgement;
use maud::{Markup, html};

use super::data::Data;
use super::panels::{self, Scales};
use super::track::Track;
use super::{headline, parameters, tables};
use crate::format;
use crate::report::ReportedRun;

/// The page of one run.
pub(super) fn page(run: &ReportedRun<'_>, data: &mut Data) -> Markup {
    let log = run.log;
    let track = Track::new(0, log, run.scenario);
    html! {
        header.top {
            h1 { (log.meta.scenario) @if let Some(arm) = &log.meta.arm { span.tag { "arm " (arm) } } }
            p { (circumstances(&log.meta)) }
        }
        (headline::verdict(run))
        (headline::tiles(run.judgement))
        @if !run.scenario.description.is_empty() { p.lead.after { (run.scenario.description) } }
        h2 { "Over time" }
        (charts(&track, data))
        h2 { "What became of it" }
        (tables::told(run.judgement))
        h2 { "Evidence" }
        (tables::evidence(run.judgement))
        h2 { "What the run had to meet" }
        (tables::criteria(run))
        (details(log, run.judgement))
        h2 { "Parameters" }
        div.card.inset { (parameters::tables(&parameters::flatten(&log.meta.parameters))) }
        h2 { "Repeat it" }
        (command(&log.meta.command, Some(log.meta.seed.0)))
        (footer(&log.meta))
    }
}

/// Every chart of a run.
pub(super) fn charts(track: &Track, data: &mut Data) -> Markup {
    let charts = panels::full(track, Scales::of(std::slice::from_ref(track)));
    for chart in &charts {
        data.add(chart);
    }
    html! {
        div.charts {
            @for chart in &charts { (chart.render()) }
        }
        @if track.timeline.step > 1.0 {
            p.muted.after {
                "Each point of a chart stands for " (format::number(track.timeline.step))
                " seconds; timeline.csv has every second."
            }
        }
    }
}

/// Events, latencies, attempts, and the measurement itself.
pub(super) fn details(log: &RunLog, judgement: &Judgement) -> Markup {
    html! {
        h2 { "Events" }
        (tables::events(log))
        h2 { "Latency and attempts over the whole run" }
        div.stack {
            (tables::latencies(log))
            (tables::attempts_per_request(log))
            (tables::outcomes(log, judgement))
        }
        h2 { "The measurement itself" }
        (tables::integrity(log))
    }
}

/// The command and the seed that repeat a run.
pub(super) fn command(command: &str, seed: Option<u64>) -> Markup {
    html! {
        pre.card.command { (command) }
        @if let Some(seed) = seed {
            p.muted.after { "Seed " code { (seed) } ". The same seed gives the same arrivals." }
        }
    }
}

/// How and when a run was made.
pub(super) fn circumstances(meta: &Meta) -> String {
    let mut parts = vec![match meta.engine {
        EngineKind::Rig => "rig: real sockets".to_owned(),
        EngineKind::Simulator => "simulator: virtual time".to_owned(),
    }];
    if meta.engine == EngineKind::Rig && (meta.speed - 1.0).abs() > f64::EPSILON {
        parts.push(format!("{} × speed", format::number(meta.speed)));
    }
    parts.push(format!("seed {}", meta.seed.0));
    if !meta.started.is_empty() {
        parts.push(moment(&meta.started));
    }
    parts.join(" · ")
}

/// A time of RFC 3339 in UTC, to the second.
fn moment(started: &str) -> String {
    let second = started.split(['.', 'Z']).next().unwrap_or(started);
    format!("{} UTC", second.replace('T', " "))
}

pub(super) fn footer(meta: &Meta) -> Markup {
    html! {
        footer {
            p {
                "All times and rates are scenario time, in seconds since the run began. Written by goodput "
                (meta.version) "; this file needs no network."
            }
        }
    }
}
