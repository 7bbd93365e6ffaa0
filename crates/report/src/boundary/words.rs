//! What a boundary says, in sentences and tables that text and page share.

use std::fmt::Write as _;
use std::iter;

use goodput_experiment::{Band, Boundary, Flip, Forms, Outcome, Side};
use goodput_verdict::{Exit, Verdict};
use maud::{Markup, html};

use super::{range, share_of};
use crate::plane::{share, show};
use crate::{format, table};

/// A table: its head, and its cells by row. The first column is a value, the others are right-aligned
/// but for the last.
#[derive(Debug, Default)]
pub(super) struct Rows {
    head: Vec<String>,
    pub(super) cells: Vec<Vec<String>>,
}

impl Rows {
    pub(super) fn to_text(&self) -> String {
        let rows: Vec<_> = iter::once(&self.head).chain(&self.cells).cloned().collect();
        let drawn = table::draw(&rows, &[self.head.len().saturating_sub(1)]);
        drawn.lines().flat_map(|line| ["  ", line, "\n"]).collect()
    }

    pub(super) fn to_html(&self) -> Markup {
        html! {
            @if !self.cells.is_empty() {
                div.card.scroll.after {
                    table {
                        thead { tr { @for cell in &self.head { th { (cell) } } } }
                        tbody {
                            @for row in &self.cells { tr { @for cell in row { td.nums { (cell) } } } }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn title(boundary: &Boundary) -> String {
    let arm = boundary.arm.as_ref().map_or_else(String::new, |arm| format!(", arm {arm}"));
    let over = range(boundary.from, boundary.to, &boundary.unit);
    format!("{}{arm}: {} from {over}", boundary.scenario, boundary.path)
}

/// How it ended, in a few words.
pub(super) fn outcome(boundary: &Boundary) -> String {
    match boundary.exit {
        Exit::Held if boundary.measurement.is_some() && boundary.prediction.is_some() => {
            "Measured as predicted".to_owned()
        }
        Exit::Held => "Found".to_owned(),
        Exit::NotHeld => "Measured elsewhere than predicted".to_owned(),
        Exit::Interrupted => "Interrupted: what was done".to_owned(),
        Exit::CleanUpUnconfirmed => "Clean-up could not be confirmed".to_owned(),
        Exit::Usage | Exit::Inconclusive => "Inconclusive".to_owned(),
    }
}

pub(super) fn prediction_name(boundary: &Boundary) -> String {
    let Boundary { seeds, seed, .. } = boundary;
    match seeds {
        1 => format!("predicted by the simulator, seed {seed}"),
        seeds => format!("predicted by the simulator, {seeds} seeds from {seed}"),
    }
}

pub(super) fn prediction(boundary: &Boundary) -> Vec<String> {
    let Some(curve) = &boundary.prediction else { return Vec::new() };
    let unit = &boundary.unit;
    let mut lines = Vec::new();
    if let Some(flip) = &curve.flip {
        lines.push(boundary_line(flip, unit));
        if let Some(band) = flip.band {
            lines.push(band_line(band, unit));
        }
        if flip.more > 0 {
            lines.push(format!("{} more flips further on; this is the first", flip.more));
        }
    }
    let doubtful: u32 = curve.points.iter().map(|point| point.inconclusive).sum();
    if let Some(point) = curve.points.iter().find(|point| point.doubt.is_some()) {
        let doubt = point.doubt.as_deref().unwrap_or_default();
        let at = show(point.value, unit);
        lines.push(format!("{doubtful} runs inconclusive, at {at} for one: {}", plain(doubt)));
    }
    if curve.cut_short {
        lines.push("interrupted: the runs that were done are given".to_owned());
    }
    lines
}

fn boundary_line(flip: &Flip, unit: &str) -> String {
    let (recovers, fails) = (show(flip.recovers, unit), show(flip.fails, unit));
    let at = show(flip.boundary, unit);
    match flip.band {
        Some(_) => format!("half of the runs fail at {at}"),
        None => format!("boundary at {at}: recovers at {recovers}, fails at {fails}"),
    }
}

fn band_line(band: Band, unit: &str) -> String {
    let end =
        |value: Option<f64>| value.map_or_else(|| "beyond the range".to_owned(), |v| show(v, unit));
    format!("5 % fail at {}, 95 % at {}", end(band.five), end(band.ninety_five))
}

/// The curve: a row a value.
pub(super) fn points(boundary: &Boundary) -> Rows {
    let Some(curve) = &boundary.prediction else { return Rows::default() };
    let seeds = curve.points.iter().map(|point| point.runs).max().unwrap_or(0);
    let head = [&boundary.path, "failed", "share", "95 % interval", "time to recover", ""];
    let cells = curve.points.iter().map(|point| {
        let mut note = Vec::new();
        for (count, verdict) in [
            (point.slow_recovery, Verdict::SlowRecovery),
            (point.unstable, Verdict::Unstable),
            (point.metastable, Verdict::Metastable),
            (point.not_recovered, Verdict::NotRecovered),
            (point.inconclusive, Verdict::Inconclusive),
        ] {
            if count > 0 {
                note.push(format!("{count} {verdict}"));
            }
        }
        if point.runs < seeds {
            note.push("coarse".to_owned());
        }
        vec![
            show(point.value, &boundary.unit),
            format!("{} of {}", point.runs - point.recovered, point.runs),
            point.share.map_or_else(|| "–".to_owned(), share),
            share_of(point.low, point.high),
            point.time_to_recover.map_or_else(|| "–".to_owned(), format::moment),
            note.join(", "),
        ]
    });
    Rows { head: head.map(str::to_owned).to_vec(), cells: cells.collect() }
}

pub(super) fn measurement_name(boundary: &Boundary) -> String {
    let speed = boundary.measurement.as_ref().map_or(1.0, |measurement| measurement.speed);
    format!("measured on the rig at speed {speed}")
}

pub(super) fn measurement(boundary: &Boundary) -> Vec<String> {
    let Some(measurement) = &boundary.measurement else { return Vec::new() };
    let unit = &boundary.unit;
    let mut lines = Vec::new();
    let seen =
        |value: Option<f64>, none: &str| value.map_or_else(|| none.to_owned(), |v| show(v, unit));
    let recovers = seen(measurement.recovers, "no value");
    let fails = seen(measurement.fails, "no value");
    lines.push(match measurement.boundary {
        Some(at) => format!(
            "boundary at {}: recovered up to {recovers}, failed from {fails} on",
            show(at, unit)
        ),
        None => format!("one side only: recovered up to {recovers}, failed from {fails} on"),
    });
    match measurement.outside {
        Some(outside) if outside > 0.0 => {
            lines.push(format!("{} outside the predicted band", show(outside, unit)));
        }
        Some(_) => lines.push("inside the predicted band".to_owned()),
        None => {}
    }
    if let Some(flip) = &boundary.same_arrivals {
        let at = show(flip.boundary, unit);
        let away = measurement.boundary.map(|seen| (seen - flip.boundary) / flip.boundary * 100.0);
        let away = away.filter(|away| away.is_finite());
        let away = away.map_or_else(String::new, |away| format!(", {:.1} % away", away.abs()));
        lines.push(format!(
            "the simulator's boundary for the same arrivals (seed {}): {at}{away}",
            boundary.seed
        ));
    }
    if measurement.runs.iter().any(|run| run.predicted.is_some()) {
        lines.push(format!(
            "{} of {} conclusive runs as predicted for their value and seed",
            measurement.as_predicted, measurement.conclusive
        ));
    }
    for run in measurement.runs.iter().filter(|run| run.measured.doubt.is_some()) {
        let doubt = run.measured.doubt.as_deref().unwrap_or_default();
        lines.push(format!("inconclusive at {}: {}", show(run.value, unit), plain(doubt)));
    }
    if measurement.cut_short {
        lines.push("the time given ended before all runs that were wanted".to_owned());
    }
    lines
}

/// The runs of the rig, by value.
pub(super) fn runs(boundary: &Boundary) -> Rows {
    let Some(measurement) = &boundary.measurement else { return Rows::default() };
    let mut runs: Vec<_> = measurement.runs.iter().collect();
    runs.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.seed.cmp(&b.seed)));
    let head = [&boundary.path, "seed", "rig", "simulator", ""];
    let cells = runs.into_iter().map(|run| {
        let predicted = run.predicted.as_ref();
        let side = |outcome: &Outcome| outcome.side();
        let same = predicted.and_then(side).zip(run.measured.side()).map(|(a, b)| a == b);
        let note = match same {
            Some(true) => "✓",
            Some(false) => "✗",
            None => "",
        };
        vec![
            show(run.value, &boundary.unit),
            run.seed.to_string(),
            outcome_text(&run.measured),
            predicted.map_or_else(|| "–".to_owned(), outcome_text),
            note.to_owned(),
        ]
    });
    Rows { head: head.map(str::to_owned).to_vec(), cells: cells.collect() }
}

pub(crate) fn outcome_text(outcome: &Outcome) -> String {
    match (outcome.side(), outcome.time_to_recover) {
        (Some(Side::Recovers), Some(seconds)) => {
            format!("{} in {}", outcome.name(), format::moment(seconds))
        }
        _ => outcome.name(),
    }
}

/// What the stable load is, as the closed forms say it.
const BELOW: &str =
    "below it no trigger sticks, and a failure that stuck ends (OSDI 2022, theorem 2)";

pub(super) fn forms(boundary: &Boundary) -> Vec<String> {
    let Some(forms) = &boundary.closed_forms else { return Vec::new() };
    let rate = |value: f64| show(value, "/s");
    let stable = format!(
        "stable load C / k = {} / {} = {}; offered {}",
        rate(forms.capacity),
        format::number(forms.amplification),
        rate((forms.stable_load * 10.0).round() / 10.0),
        rate(forms.load)
    );
    let mut lines = vec![stable, BELOW.to_owned()];
    if let Some(defence) = &forms.defence {
        lines.push(format!("no trigger sticks: {defence}"));
    }
    let seconds = |value: f64| show((value * 100.0).round() / 100.0, "s");
    if let Some(safe) = forms.safe_trigger {
        lines.push(format!("trigger of {}: in a shorter one nobody times out", seconds(safe)));
    }
    if let Some(amplified) = forms.amplified_trigger {
        lines.push(format!(
            "trigger of {}: amplification reaches C / load = {} (theorem 3: safe while it stays below)",
            seconds(amplified),
            format::number(forms.capacity / forms.load)
        ));
    }
    if let Some(sure) = forms.sure_trigger {
        lines.push(format!(
            "trigger of {}: in a longer one all time out until their retries have come, and so for good",
            seconds(sure)
        ));
    }
    lines.push(format!("over {}: {}", boundary.path, over(forms, &boundary.unit)));
    lines
}

fn over(forms: &Forms, unit: &str) -> String {
    match (forms.recovers, forms.sticks) {
        (Some(recovers), Some(sticks)) => {
            format!(
                "recovers up to {}, sticks from {} on",
                show(recovers, unit),
                show(sticks, unit)
            )
        }
        (Some(recovers), None) => format!("recovers up to {}", show(recovers, unit)),
        (None, Some(sticks)) => format!("sticks from {} on", show(sticks, unit)),
        (None, None) => "open".to_owned(),
    }
}

/// The three answers, one beside the other.
pub(super) fn side_by_side(boundary: &Boundary) -> Vec<(&'static str, String)> {
    let unit = &boundary.unit;
    let mut rows = Vec::new();
    if let Some(flip) = boundary.prediction.as_ref().and_then(|curve| curve.flip.as_ref()) {
        let mut value = show(flip.boundary, unit);
        if let Some(band) = flip.band {
            let (from, to) = band.ends(boundary.from, boundary.to, flip.fails_above());
            let _ = write!(value, " (5–95 %: {})", range(from, to, unit));
        }
        rows.push(("prediction", value));
    }
    if let Some(measurement) = &boundary.measurement {
        let value = measurement.boundary.map_or_else(
            || "one side only".to_owned(),
            |at| {
                let (a, b) = (measurement.recovers.unwrap_or(at), measurement.fails.unwrap_or(at));
                format!("{} ({})", show(at, unit), range(a.min(b), a.max(b), unit))
            },
        );
        rows.push(("measurement", value));
    }
    if let Some(forms) = &boundary.closed_forms {
        rows.push(("closed forms", over(forms, unit)));
    }
    rows
}

fn plain(text: &str) -> String {
    crate::text::plain(text)
}
