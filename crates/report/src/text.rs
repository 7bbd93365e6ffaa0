//! The outcome for a terminal: a few lines that a person understands, without colour.

mod strip;

use std::fmt::Write as _;

use goodput_experiment::{Comparison, Row};
use goodput_verdict::{Judgement, Verdict};

use crate::criteria::{self, CriterionOutcome};
use crate::report::{Report, ReportedRun};
use crate::{format, table, told};

/// How text is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TextStyle {
    /// Whether ANSI colours may be used. Nothing is said by colour alone.
    pub colour: bool,
}

pub(crate) fn write(report: &Report<'_>, style: TextStyle) -> String {
    let mut out = String::new();
    match report {
        Report::Run(run) => write_run(&mut out, run, style),
        Report::Comparison { comparison, .. } => write_comparison(&mut out, comparison, style),
    }
    let _ = writeln!(out, "\nrepeat it: {}", plain(report.command()));
    out
}

fn write_run(out: &mut String, run: &ReportedRun<'_>, style: TextStyle) {
    let judgement = run.judgement;
    let verdict = format!("{} {}", glyph(judgement.verdict), run.verdict().to_uppercase());
    let verdict = style.paint(judgement.verdict, &verdict);
    let _ = writeln!(out, "{verdict}  {}", plain(&judgement.summary));
    for doubt in &judgement.doubts {
        let _ = writeln!(out, "  ? {}", plain(&doubt.text));
    }
    for note in &judgement.notes {
        let _ = writeln!(out, "  – {}", plain(note));
    }
    let drawn = strip::draw(&run.log.windows, judgement.trigger);
    if !drawn.is_empty() {
        let _ = write!(out, "\n{drawn}");
    }
    let figures = figures(judgement);
    if !figures.is_empty() {
        let _ = writeln!(out);
    }
    let mut before = "";
    for (name, value) in figures {
        // Several figures of one name stand below each other.
        let shown = if name == before { "" } else { name };
        let _ = writeln!(out, "  {shown:<25}{}", plain(&value));
        before = name;
    }
    if !judgement.evidence.is_empty() {
        let _ = writeln!(out);
        for evidence in &judgement.evidence {
            let _ = writeln!(out, "  · {}", plain(&evidence.text));
        }
    }
    let unmet: Vec<_> = criteria::criteria(run)
        .into_iter()
        .filter(|criterion| criterion.outcome == CriterionOutcome::NotMet)
        .collect();
    let expected = Verdict::from(run.scenario.expect.verdict);
    let _ = writeln!(out);
    if run.held() {
        let _ = writeln!(out, "expected {expected}: held");
    } else {
        let _ = writeln!(out, "expected {expected}: NOT HELD");
        for criterion in unmet {
            let _ = writeln!(out, "  ✗ {}: {}", criterion.name, plain(&criterion.text));
        }
    }
}

/// The figures of a run that tell most.
fn figures(judgement: &Judgement) -> Vec<(&'static str, String)> {
    let phases = &judgement.phases;
    let mut lines = Vec::new();
    let goodput: Vec<_> =
        [("before", phases.before), ("during", phases.during), ("after", phases.after)]
            .into_iter()
            .filter_map(|(name, figures)| {
                figures.map(|figures| format!("{} {name}", format::number(figures.goodput)))
            })
            .collect();
    if !goodput.is_empty() {
        lines.push(("goodput per second", goodput.join(" → ")));
    }
    if let Some(end) = phases.end {
        if let Some(throughput) = end.throughput {
            lines.push(("throughput at the end", format!("{}/s", format::number(throughput))));
        }
        if let Some(attempts) = end.attempts_per_request {
            lines.push(("attempts per request", format::number(attempts)));
        }
        if let Some(wasted) = end.wasted_share {
            lines.push(("wasted work", format::percent(wasted)));
        }
    }
    lines.extend(told::figures(judgement));
    lines
}

fn write_comparison(out: &mut String, comparison: &Comparison, style: TextStyle) {
    let mut rows = vec![COLUMNS.map(str::to_owned).to_vec()];
    rows.extend(comparison.rows.iter().map(columns));
    *out += &table::draw_painted(&rows, &[0, VERDICT], |row, column, cell| {
        match row.checked_sub(1).and_then(|row| comparison.rows.get(row)) {
            Some(row) if column == VERDICT => style.paint(row.verdict, cell),
            _ => cell.to_owned(),
        }
    });
    let _ = writeln!(out, "\n{LEGEND}");
    let held = comparison.rows.iter().filter(|row| row.held).count();
    let _ = writeln!(out, "\n{held} of {} arms ended as expected", comparison.rows.len());
    for row in &comparison.rows {
        for doubt in &row.judgement.doubts {
            let _ = writeln!(out, "  ? {}: {}", plain(&row.arm), plain(&doubt.text));
        }
        for note in &row.judgement.notes {
            let _ = writeln!(out, "  – {}: {}", plain(&row.arm), plain(note));
        }
        // A doubt that the run is too short says it already.
        if let Some(seconds) = row.judgement.run_longer.filter(|_| row.judgement.doubts.is_empty())
        {
            let _ = writeln!(out, "  ? {}: {}", plain(&row.arm), told::longer(seconds));
        }
    }
    for reason in &comparison.void {
        let _ = writeln!(out, "  ? void: {}", plain(reason));
    }
}

fn columns(row: &Row) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), format::number);
    let control = if row.control { " (control)" } else { "" };
    vec![
        format!("{}{control}", plain(&row.arm)),
        number(row.goodput.before),
        number(row.goodput.during),
        number(row.goodput.after),
        number(row.attempts_per_request),
        row.wasted_share.map_or_else(|| "–".to_owned(), format::percent),
        told::short_time_to_recover(&row.judgement),
        if row.held {
            format!("{} ✓", row.name())
        } else {
            format!("{} ✗ expected {}", row.name(), row.expected)
        },
    ]
}

impl TextStyle {
    /// Text that stands out, where that is possible.
    pub(crate) fn strong(self, text: &str) -> String {
        let text = plain(text);
        if self.colour { format!("\x1b[1m{text}\x1b[0m") } else { text }
    }

    fn paint(self, verdict: Verdict, text: &str) -> String {
        let code = match verdict {
            Verdict::Steady => "36",
            Verdict::Recovered => "32",
            Verdict::SlowRecovery => "33",
            Verdict::Unstable => "93",
            Verdict::Metastable => "31",
            Verdict::NotRecovered => "91",
            Verdict::Inconclusive => "35",
        };
        if self.colour { format!("\x1b[1;{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A sign a verdict, so that none is told by colour alone.
const fn glyph(verdict: Verdict) -> char {
    match verdict {
        Verdict::Steady => '─',
        Verdict::Recovered => '✓',
        Verdict::SlowRecovery => '…',
        Verdict::Unstable => '~',
        Verdict::Metastable => '✗',
        Verdict::NotRecovered => '!',
        Verdict::Inconclusive => '?',
    }
}

/// Text without control characters, which could otherwise steer the terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Short, so that arms of common names fit into 80 columns.
const COLUMNS: [&str; 8] =
    ["arm", "before", "during", "after", "att/req", "wasted", "recovery", "verdict"];
/// What the columns hold, where their names are too short to say it.
const LEGEND: &str = "goodput per second before, during and after the trigger; attempts per request\n\
    and wasted work of the last seconds; recovery: from the trigger's end;\n✓: as expected";

/// Which column holds the verdict.
const VERDICT: usize = 7;
