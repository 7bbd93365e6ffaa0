//! A map of verdicts in every form.

use std::fmt::Write as _;

use goodput_experiment::{Axis, Cell, Confirmed, Line, Map};
use goodput_verdict::{Cause, Verdict, named};
use maud::{Markup, PreEscaped, html};

use crate::boundary::outcome_text;
use crate::plane::{Plane, PlaneAxis, Range, show};
use crate::text::TextStyle;
use crate::{format, html as page};

/// What a cell shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Look {
    /// Back within [`SOON`], or never gone.
    Soon,
    /// Back within [`LATER`].
    Later,
    /// Back after that, in time.
    Late,
    /// Not back in time, but back later or converging.
    Slow,
    /// Comes and goes.
    Swings,
    /// Not back, and sustains itself.
    Fails,
    /// Not back, for a cause of its own.
    Down,
    /// Nothing can be said.
    Unsure,
    /// Not run.
    Missing,
}

impl Look {
    const ALL: [Self; 9] = [
        Self::Soon,
        Self::Later,
        Self::Late,
        Self::Slow,
        Self::Swings,
        Self::Fails,
        Self::Down,
        Self::Unsure,
        Self::Missing,
    ];

    fn of(cell: &Cell) -> Self {
        let Some(verdict) = cell.verdict else { return Self::Missing };
        match (verdict, cell.time_to_recover) {
            (Verdict::Steady | Verdict::Recovered, Some(seconds)) if seconds > LATER => Self::Late,
            (Verdict::Steady | Verdict::Recovered, Some(seconds)) if seconds > SOON => Self::Later,
            (Verdict::Steady | Verdict::Recovered, _) => Self::Soon,
            (Verdict::SlowRecovery, _) => Self::Slow,
            (Verdict::Unstable, _) => Self::Swings,
            (Verdict::Metastable, _) => Self::Fails,
            (Verdict::NotRecovered, _) => Self::Down,
            (Verdict::Inconclusive, _) => Self::Unsure,
        }
    }

    const fn glyph(self) -> char {
        match self {
            Self::Soon => '·',
            Self::Later => ':',
            Self::Late => '+',
            Self::Slow => 'o',
            Self::Swings => '~',
            Self::Fails => '#',
            Self::Down => '!',
            Self::Unsure => '?',
            Self::Missing => ' ',
        }
    }

    fn meaning(self) -> String {
        match self {
            Self::Soon => format!("recovered within {SOON} s"),
            Self::Later => format!("within {LATER} s"),
            Self::Late => "later, in time".to_owned(),
            Self::Slow => Verdict::SlowRecovery.to_string(),
            Self::Swings => Verdict::Unstable.to_string(),
            Self::Fails => Verdict::Metastable.to_string(),
            Self::Down => Verdict::NotRecovered.to_string(),
            Self::Unsure => Verdict::Inconclusive.to_string(),
            Self::Missing => "not run".to_owned(),
        }
    }

    const fn class(self) -> &'static str {
        match self {
            Self::Soon => "gp-r0",
            Self::Later => "gp-r1",
            Self::Late => "gp-r2",
            Self::Slow => "gp-slow",
            Self::Swings => "gp-swings",
            Self::Fails => "gp-fail",
            Self::Down => "gp-notback",
            Self::Unsure => "gp-unsure",
            Self::Missing => "gp-ground",
        }
    }

    /// The background in a terminal of 256 colours.
    const fn colour(self) -> u8 {
        match self {
            Self::Soon => 114,
            Self::Later => 72,
            Self::Late => 29,
            Self::Slow => 178,
            Self::Swings => 175,
            Self::Fails => 166,
            Self::Down => 140,
            Self::Unsure => 247,
            Self::Missing => 0,
        }
    }
}

/// The answer for a terminal: a character a cell, the greatest y on top.
pub(crate) fn text(map: &Map, style: TextStyle) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", style.strong(&title(map)));
    let labels: Vec<String> = map.y.values.iter().map(|y| show(*y, &map.y.unit)).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let every = map.y.values.len().div_ceil(6).max(1);
    let _ = writeln!(out, "  {}", map.y.path);
    for (row, cells) in map.cells.iter().enumerate().rev() {
        let label = if row % every == 0 { labels[row].as_str() } else { "" };
        let cells: String = cells.iter().map(|cell| style.cell(Look::of(cell))).collect();
        let _ = writeln!(out, "  {label:>width$} │{cells}");
    }
    let columns = map.x.values.len();
    let _ = writeln!(out, "  {:>width$} └{}", "", "─".repeat(columns));
    let (first, last) = ends(&map.x);
    let gap = columns.saturating_sub(first.chars().count() + last.chars().count()).max(1);
    let _ = writeln!(out, "  {:>width$}  {first}{}{last}  {}", "", " ".repeat(gap), map.x.path);
    let _ = writeln!(out, "\n  {}", legend(map, style));
    for line in &map.lines {
        let _ = writeln!(out, "  {}", where_is(line, map));
    }
    for confirmed in &map.confirmed {
        let _ = writeln!(out, "  rig, {}", confirmed_text(confirmed, map));
    }
    let _ = writeln!(out, "\nrepeat it: {}", crate::text::plain(&map.command));
    out
}

/// The cells as comma-separated values.
pub(crate) fn csv(map: &Map) -> String {
    let mut out = format!("{},{},verdict,cause,time_to_recover,rig\n", map.x.path, map.y.path);
    for (row, (y, cells)) in map.y.values.iter().zip(&map.cells).enumerate() {
        for (column, (x, cell)) in map.x.values.iter().zip(cells).enumerate() {
            let here = |confirmed: &&Confirmed| (confirmed.column, confirmed.row) == (column, row);
            let rig = map.confirmed.iter().find(here);
            let _ = writeln!(
                out,
                "{x},{y},{},{},{},{}",
                cell.verdict.map_or("", Verdict::name),
                cell.cause.map_or("", Cause::name),
                cell.time_to_recover.map_or_else(String::new, |seconds| seconds.to_string()),
                rig.map_or("", |confirmed| confirmed.measured.verdict.name())
            );
        }
    }
    out
}

/// The picture, with the lines of the closed forms drawn in.
pub(crate) fn svg(map: &Map) -> String {
    let mut plane = Plane::new(&title(map));
    let (xs, ys) = (edges(&map.x.values), edges(&map.y.values));
    let range = |edges: &[f64]| Range {
        from: edges.first().copied().unwrap_or(0.0),
        to: edges.last().copied().unwrap_or(1.0),
    };
    plane.axes(
        &PlaneAxis { label: &map.x.path, unit: &map.x.unit, range: range(&xs) },
        &PlaneAxis { label: &map.y.path, unit: &map.y.unit, range: range(&ys) },
    );
    for (row, cells) in map.cells.iter().enumerate() {
        // Neighbours that look the same are drawn as one.
        let mut column = 0;
        while column < cells.len() {
            let (look, cause) = (Look::of(&cells[column]), cells[column].cause);
            let alike = |cell: &&Cell| Look::of(cell) == look && cell.cause == cause;
            let same = cells[column..].iter().take_while(alike).count();
            let (x, y) = ((xs[column], xs[column + same]), (ys[row], ys[row + 1]));
            plane.rectangle(x, y, look.class(), &pointed_at(map, row, column, same, look));
            column += same;
        }
    }
    for (number, line) in (1_u32..).zip(&map.lines) {
        plane.strokes(&line.segments, "gp-form");
        let highest = line.segments.iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some(at) = highest {
            // Lines can begin side by side: each has its name lower than the one before.
            let below = (range(&ys).to - range(&ys).from) * 0.06 * f64::from(number);
            plane.text((at.0, at.1 - below), &line.name);
        }
    }
    for confirmed in &map.confirmed {
        let cell = (map.x.values[confirmed.column], map.y.values[confirmed.row]);
        let class = match confirmed.agrees() {
            Some(true) => "gp-up",
            Some(false) => "gp-down",
            None => "gp-odd",
        };
        plane.mark(cell, class, &format!("rig, {}", confirmed_text(confirmed, map)));
    }
    let shown = Look::ALL.into_iter().filter(|look| count(map, *look) > 0);
    plane.legend(&shown.map(|look| (look.class(), look.meaning())).collect::<Vec<_>>());
    plane.finish()
}

/// The report.
pub(crate) fn html(map: &Map) -> String {
    let body = html! {
        header.top { h1 { (map.scenario) } p { (title(map)) } }
        figure.card.plane { (PreEscaped(svg(map))) }
        p.muted.after {
            "Each cell is one run of the simulator, all with seed " (map.seed) ". Point at a cell for its values."
        }
        (counts(map))
        @if !map.lines.is_empty() {
            h2 { "Lines of the closed forms" }
            ul { @for line in &map.lines { li { (where_is(line, map)) } } }
        }
        @if !map.confirmed.is_empty() {
            h2 { "On the rig" }
            p.muted { "Cells beside the boundary: a green mark agrees with the simulator, an orange one does not." }
            ul { @for confirmed in &map.confirmed { li { (confirmed_text(confirmed, map)) } } }
        }
        h2 { "Repeat it" }
        pre.card.command { (map.command) }
        footer { p.muted { "goodput " (map.version) " · exit code " (map.exit_code) } }
    };
    page::page(&format!("{} map", map.scenario), &body)
}

fn counts(map: &Map) -> Markup {
    html! {
        table.after {
            tbody {
                @for look in Look::ALL {
                    @if count(map, look) > 0 {
                        tr { th scope="row" { (look.meaning()) } td.n { (count(map, look)) } }
                    }
                }
            }
        }
    }
}

fn title(map: &Map) -> String {
    let arm = map.arm.as_ref().map_or_else(String::new, |arm| format!(", arm {arm}"));
    let of = |axis: &Axis| {
        let (first, last) = ends(axis);
        format!("{} from {first} to {last}", axis.path)
    };
    format!("{}{arm}: {}, {}", map.scenario, of(&map.x), of(&map.y))
}

fn ends(axis: &Axis) -> (String, String) {
    let of = |value: Option<&f64>| value.map_or_else(String::new, |value| show(*value, &axis.unit));
    (of(axis.values.first()), of(axis.values.last()))
}

fn count(map: &Map, look: Look) -> usize {
    map.cells.iter().flatten().filter(|cell| Look::of(cell) == look).count()
}

fn legend(map: &Map, style: TextStyle) -> String {
    let entry = |look: Look| {
        let (glyph, meaning) = (style.cell(look), look.meaning());
        format!("{glyph} {meaning} {}", format::thousands(count(map, look) as f64))
    };
    let shown = Look::ALL.into_iter().filter(|look| count(map, *look) > 0);
    shown.map(entry).collect::<Vec<_>>().join("   ")
}

/// Where a line runs, in words.
fn where_is(line: &Line, map: &Map) -> String {
    let points: Vec<(f64, f64)> = line.segments.iter().flatten().copied().collect();
    let least = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let along = |axis: &Axis, from: f64, to: f64| {
        if to - from < 1e-9 * to.abs().max(1.0) {
            format!("{} = {}", axis.path, show(from, &axis.unit))
        } else {
            format!("{} {} to {}", axis.path, show(from, &axis.unit), show(to, &axis.unit))
        }
    };
    let x = along(&map.x, least(|point| point.0), most(|point| point.0));
    let y = along(&map.y, least(|point| point.1), most(|point| point.1));
    format!("{} ({}): {x}, {y}", line.name, line.meaning)
}

fn confirmed_text(confirmed: &Confirmed, map: &Map) -> String {
    let at = |axis: &Axis, index: usize| {
        axis.values
            .get(index)
            .map_or_else(String::new, |value| format!("{} {}", axis.path, show(*value, &axis.unit)))
    };
    let predicted = confirmed.predicted.as_ref().map_or_else(|| "–".to_owned(), outcome_text);
    let agrees = match confirmed.agrees() {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "?",
    };
    let doubt = confirmed
        .measured
        .doubt
        .as_deref()
        .map_or_else(String::new, |doubt| format!(" ({})", crate::text::plain(doubt)));
    format!(
        "{}, {}: {}{doubt}; simulator {predicted} {agrees}",
        at(&map.x, confirmed.column),
        at(&map.y, confirmed.row),
        outcome_text(&confirmed.measured)
    )
}

/// What is shown when cells are pointed at.
fn pointed_at(map: &Map, row: usize, column: usize, same: usize, look: Look) -> String {
    let y = show(map.y.values[row], &map.y.unit);
    let first = show(map.x.values[column], &map.x.unit);
    let last = show(map.x.values[column + same - 1], &map.x.unit);
    let across = if same > 1 { format!("{first} to {last}") } else { first };
    let cause = map.cells[row][column].cause;
    let meaning =
        cause.map_or_else(|| look.meaning(), |cause| named(Verdict::NotRecovered, Some(cause)));
    format!("{} {across}, {} {y}: {meaning}", map.x.path, map.y.path)
}

/// The edges of cells around their values: halfway between neighbours.
fn edges(values: &[f64]) -> Vec<f64> {
    let [first, .., last] = values else {
        return values.first().map_or_else(Vec::new, |only| vec![only - 0.5, only + 0.5]);
    };
    let mut edges = vec![first - (values[1] - first) / 2.0];
    edges.extend(values.windows(2).map(|pair| f64::midpoint(pair[0], pair[1])));
    edges.push(last + (last - values[values.len() - 2]) / 2.0);
    edges
}

impl TextStyle {
    fn cell(self, look: Look) -> String {
        let glyph = look.glyph();
        if self.colour && look != Look::Missing {
            format!("\x1b[30;48;5;{}m{glyph}\x1b[0m", look.colour())
        } else {
            glyph.to_string()
        }
    }
}

/// Seconds to recover that are soon.
const SOON: f64 = 5.0;
/// Seconds to recover that are later.
const LATER: f64 = 30.0;

#[cfg(test)]
mod tests;
