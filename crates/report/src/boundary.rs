//! A boundary in every form: the prediction, the measurement and the closed forms side by side.

mod picture;
mod words;

use std::fmt::Write as _;

use goodput_experiment::Boundary;
use goodput_verdict::{Cause, Exit, Verdict};
use maud::{Markup, PreEscaped, html};

use crate::html as page;
use crate::plane::{share, show};
use crate::text::TextStyle;

pub(crate) use picture::svg;
use words::Rows;
pub(crate) use words::outcome_text;

/// The answer for a terminal.
pub(crate) fn text(boundary: &Boundary, style: TextStyle) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", style.strong(&words::title(boundary)));
    let mut section = |name: &str, lines: &[String], rows: &Rows| {
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{}", style.strong(name));
        for line in lines {
            let _ = writeln!(out, "  {line}");
        }
        if !rows.cells.is_empty() {
            let _ = writeln!(out);
            out.push_str(&rows.to_text());
        }
    };
    section(
        &words::prediction_name(boundary),
        &words::prediction(boundary),
        &words::points(boundary),
    );
    section(
        &words::measurement_name(boundary),
        &words::measurement(boundary),
        &words::runs(boundary),
    );
    section(
        "by arithmetic alone (a fluid, without chance)",
        &words::forms(boundary),
        &Rows::default(),
    );
    let _ = writeln!(out, "\n{}", style.strong("side by side"));
    for (name, value) in words::side_by_side(boundary) {
        let _ = writeln!(out, "  {name:<14}{value}");
    }
    let _ = writeln!(out, "\nrepeat it: {}", crate::text::plain(&boundary.command));
    out
}

/// The figures as comma-separated values: a row a value of the prediction, then a row a run of the
/// rig.
pub(crate) fn csv(boundary: &Boundary) -> String {
    let mut out = String::from(
        "engine,value,seed,runs,recovered,slow_recovery,unstable,metastable,not_recovered,inconclusive,\
         cause,share,low,high,time_to_recover\n",
    );
    let optional = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for point in boundary.prediction.iter().flat_map(|curve| &curve.points) {
        let _ = writeln!(
            out,
            "simulator,{},,{},{},{},{},{},{},{},,{},{},{},{}",
            point.value,
            point.runs,
            point.recovered,
            point.slow_recovery,
            point.unstable,
            point.metastable,
            point.not_recovered,
            point.inconclusive,
            optional(point.share),
            point.low,
            point.high,
            optional(point.time_to_recover)
        );
    }
    for run in boundary.measurement.iter().flat_map(|measurement| &measurement.runs) {
        let is = |verdict| u8::from(run.measured.verdict == verdict);
        let _ = writeln!(
            out,
            "rig,{},{},{},{},{},{},{},{},{},{},,,,{}",
            run.value,
            run.seed,
            u8::from(run.measured.side().is_some()),
            is(Verdict::Recovered) + is(Verdict::Steady),
            is(Verdict::SlowRecovery),
            is(Verdict::Unstable),
            is(Verdict::Metastable),
            is(Verdict::NotRecovered),
            is(Verdict::Inconclusive),
            run.measured.cause.map_or("", Cause::name),
            optional(run.measured.time_to_recover)
        );
    }
    out
}

/// The report.
pub(crate) fn html(boundary: &Boundary) -> String {
    let body = html! {
        header.top { h1 { (boundary.scenario) } p { (words::title(boundary)) } }
        (headline(boundary))
        h2 { "The share of runs that fail" }
        figure.card.plane { (PreEscaped(svg(boundary))) }
        @if boundary.measurement.is_some() {
            h2 { (words::measurement_name(boundary)) }
            (list(&words::measurement(boundary)))
            (words::runs(boundary).to_html())
        }
        @if boundary.closed_forms.is_some() {
            h2 { "By arithmetic alone" }
            (list(&words::forms(boundary)))
        }
        @if boundary.prediction.is_some() {
            h2 { (words::prediction_name(boundary)) }
            (list(&words::prediction(boundary)))
            (words::points(boundary).to_html())
        }
        h2 { "Repeat it" }
        pre.card.command { (boundary.command) }
        footer { p.muted { "goodput " (boundary.version) } }
    };
    page::page(&format!("{} boundary", boundary.scenario), &body)
}

fn headline(boundary: &Boundary) -> Markup {
    let tone = match boundary.exit {
        Exit::Held => "recovered",
        Exit::NotHeld => "not-held",
        Exit::Usage | Exit::Inconclusive | Exit::Interrupted | Exit::CleanUpUnconfirmed => {
            "inconclusive"
        }
    };
    html! {
        section.card.verdict.(tone) {
            p.word.smaller { (words::outcome(boundary)) }
            table.after {
                tbody {
                    @for (name, value) in words::side_by_side(boundary) {
                        tr { th scope="row" { (name) } td { (value) } }
                    }
                }
            }
            p.held { "Exit code " (boundary.exit_code) "." }
        }
    }
}

fn list(lines: &[String]) -> Markup {
    html! { ul.after { @for line in lines { li { (line) } } } }
}

/// A range of values with its unit.
fn range(from: f64, to: f64, unit: &str) -> String {
    format!("{} to {}", show(from, unit), show(to, unit))
}

/// A share with its Wilson interval.
fn share_of(low: f64, high: f64) -> String {
    format!("{} to {}", share(low), share(high))
}

#[cfg(test)]
mod tests;
