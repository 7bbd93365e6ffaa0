//! The page of a comparison: the table, and an arm a row of small charts on one scale.

use goodput_experiment::{Comparison, Row};
use goodput_verdict::Exit;
use maud::{Markup, html};

use super::axis::Axis;
use super::data::Data;
use super::panels::{self, Scales};
use super::parameters::{self, Flat};
use super::track::Track;
use super::{headline, run, shape, tables};
use crate::report::ReportedRun;
use crate::{format, told};

/// The page of a comparison.
pub(super) fn page(
    comparison: &Comparison,
    runs: &[ReportedRun<'_>],
    command: &str,
    data: &mut Data,
) -> Markup {
    let tracks: Vec<_> = runs
        .iter()
        .enumerate()
        .map(|(index, run)| Track::new(index, run.log, run.scenario))
        .collect();
    let scales = Scales::of(&tracks);
    let sets: Vec<_> = runs.iter().map(|r| parameters::flatten(&r.log.meta.parameters)).collect();
    let differing = parameters::differing(&sets, &["expect", "name", "description"]);
    let arms: Vec<_> = comparison.rows.iter().zip(runs).zip(&tracks).zip(&sets).collect();
    html! {
        header.top {
            h1 { (comparison.scenario) }
            @if let Some(first) = runs.first() {
                p { (comparison.rows.len()) " arms · " (run::circumstances(&first.log.meta)) }
            }
        }
        (verdict(comparison))
        @if let Some(first) = runs.first().filter(|first| !first.scenario.description.is_empty()) {
            p.lead.after { (first.scenario.description) }
        }
        (table(comparison, &tracks, scales.rate))
        h2 { "Arm by arm, on one scale" }
        (keys())
        @for (((row, reported), track), set) in &arms {
            (arm(row, reported, track, scales, &settings(set, &differing), data))
        }
        @if let Some(first) = runs.first() {
            h2 { "Parameters that the arms share" }
            div.card.inset { (parameters::tables(&shared(&sets, &differing))) }
            h2 { "Repeat it" }
            (run::command(command, comparison.seed.map(|seed| seed.0)))
            (run::footer(&first.log.meta))
        }
    }
}

/// How the comparison ended, in a sentence.
fn verdict(comparison: &Comparison) -> Markup {
    let held = comparison.rows.iter().filter(|row| row.held).count();
    let all = comparison.rows.len();
    let (tone, word) = match comparison.exit {
        Exit::Held => ("recovered", "Every expectation held"),
        Exit::NotHeld => ("not-held", "An expectation did not hold"),
        Exit::Inconclusive => ("inconclusive", "Inconclusive"),
        Exit::Interrupted => ("inconclusive", "Interrupted, faults reverted"),
        Exit::CleanUpUnconfirmed => ("inconclusive", "Clean-up could not be confirmed"),
        Exit::Usage => ("inconclusive", "The command or the scenario is wrong"),
    };
    html! {
        section.card.verdict.(tone) {
            p.word.smaller { (word) }
            p.says { (held) " of " (all) " arms ended as expected." }
            @if !comparison.void.is_empty() {
                ul.doubts { @for reason in &comparison.void { li { (reason) } } }
            }
            p.held { "Exit code " (comparison.exit.code()) "." }
        }
    }
}

fn table(comparison: &Comparison, tracks: &[Track], axis: Axis) -> Markup {
    html! {
        div.card.scroll.after {
            table.arms {
                thead {
                    tr {
                        th rowspan="2" { "Arm" } th.wide rowspan="2" { "Goodput over time" }
                        th.n.group.wide colspan="3" { "Goodput per second" }
                        th.n.wide rowspan="2" { "Attempts per request" }
                        th.n.wide rowspan="2" { "Wasted work" }
                        th.n.wide rowspan="2" { "Time to recover" } th rowspan="2" { "Verdict" }
                        th rowspan="2" { "Expected" }
                    }
                    tr.wide { th.n { "before" } th.n { "during" } th.n { "after" } }
                }
                tbody {
                    @for (row, track) in comparison.rows.iter().zip(tracks) {
                        tr {
                            th scope="row" { (row.arm) @if row.control { span.tag { "control" } } }
                            td.wide { (sparkline(track, axis)) }
                            td.n.wide { (number(row.goodput.before)) }
                            td.n.wide { (number(row.goodput.during)) }
                            td.n.wide { (number(row.goodput.after)) }
                            td.n.wide { (number(row.attempts_per_request)) }
                            td.n.wide { (row.wasted_share.map_or_else(dash, format::percent)) }
                            td.n.wide { (told::short_time_to_recover(&row.judgement)) }
                            td.w { (headline::chip(row.verdict, row.cause)) }
                            td.w {
                                @if row.held { span.yes { "✓ held" } }
                                @else { span.no { "✗ " (row.expected) } }
                            }
                        }
                    }
                }
            }
        }
        p.muted.after.wide {
            "After is from the end of the trigger to the end of the run. Attempts per request and wasted work are those of the run's last seconds."
        }
    }
}

/// What the lines of the small charts mean, once for all.
fn keys() -> Markup {
    html! {
        ul.keys.lines aria-hidden="true" {
            li.s-good { "goodput, useful work" }
            li.s-served { "throughput, p99" }
            li.s-offered.dashed { "offered load" }
            li.s-attempts { "attempts" }
            li.s-p50 { "p50" }
            li.s-wasted { "wasted work" }
            li.s-limit.dashed { "time-out" }
        }
    }
}

fn arm(
    row: &Row,
    reported: &ReportedRun<'_>,
    track: &Track,
    scales: Scales,
    settings: &[(String, String)],
    data: &mut Data,
) -> Markup {
    let charts = panels::small(track, scales);
    for chart in &charts {
        data.add(chart);
    }
    html! {
        article.card.arm.(row.verdict.name()) {
            header {
                h3 { (row.arm) @if row.control { span.tag { "control" } } }
                (headline::chip(row.verdict, row.cause))
                @if !row.held { span.no { "expected " (row.expected) } }
                @if !row.description.is_empty() { p { (row.description) } }
                p.says-too { (row.judgement.summary) }
                (headline::notes(&row.judgement))
            }
            div.multiples { @for chart in &charts { (chart.render()) } }
            details {
                summary { "Every chart, evidence and figure of this arm" }
                (headline::tiles(&row.judgement))
                (run::charts(track, data))
                @if !settings.is_empty() {
                    h4.sub { "What sets it apart" }
                    table.parameters {
                        tbody { @for (path, value) in settings { tr { td { (path) } td { (value) } } } }
                    }
                }
                h4.sub { "What became of it" }
                (tables::told(&row.judgement))
                h4.sub { "Evidence" }
                (tables::evidence(&row.judgement))
                h4.sub { "What the run had to meet" }
                (tables::criteria(reported))
                (run::details(reported.log, reported.judgement))
                h4.sub { "Repeat this arm" }
                (run::command(&reported.log.meta.command, None))
            }
        }
    }
}

fn sparkline(track: &Track, axis: Axis) -> Markup {
    let values = track.client_rate(|client| client.good);
    let points = track.timeline.points.max(1);
    html! {
        svg.spark viewBox=(format!("0 0 {points} {}", shape::HEIGHT)) preserveAspectRatio="none"
            aria-hidden="true" {
            @for mark in &track.timeline.marks {
                @if let Some(end) = mark.end {
                    rect.fault x=(mark.start / track.timeline.step) y="0" height=(shape::HEIGHT)
                        width=((end - mark.start) / track.timeline.step) {}
                }
            }
            path.area.s-good d=(shape::area(axis, &values)) {}
            path.line.s-good d=(shape::line(axis, &values)) {}
        }
    }
}

/// What an arm sets, of the parameters in which arms differ.
fn settings(set: &Flat, differing: &[String]) -> Vec<(String, String)> {
    differing
        .iter()
        .map(|path| (path.clone(), set.get(path).cloned().unwrap_or_else(dash)))
        .collect()
}

fn shared(sets: &[Flat], differing: &[String]) -> Flat {
    let first = sets.first().into_iter().flatten();
    first
        .filter(|(path, _)| !differing.contains(path) && !path.starts_with("expect"))
        .map(|(path, value)| (path.clone(), value.clone()))
        .collect()
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(dash, format::number)
}

fn dash() -> String {
    "–".to_owned()
}
