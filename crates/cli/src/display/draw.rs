//! Draws the live display: a row a run, and a chart of the selected one.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Cell, Chart, Dataset, GraphType, Paragraph, Row, Table};

use crate::display::board::{Run, Stage};
use crate::display::lines::{or_dash, seconds};

/// Everything that one picture shows.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    /// What is going on, for the first line.
    pub(crate) title: &'a str,
    /// The runs.
    pub(crate) runs: &'a [Run],
    /// Which run the chart and the levers are for.
    pub(crate) selected: usize,
    /// Seconds of wall time since the beginning.
    pub(crate) elapsed: f64,
    /// Whether faults are being reverted after a stop.
    pub(crate) stopping: bool,
    /// Whether levers can be pulled.
    pub(crate) levers: bool,
    /// What the last key did, in words.
    pub(crate) notice: Option<&'a str>,
    /// How figures are told apart.
    pub(crate) palette: Palette,
}

/// How figures are told apart: by colour, or by weight where `NO_COLOR` is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    coloured: bool,
}

impl Palette {
    /// Colours unless they are not wanted.
    pub(crate) const fn new(coloured: bool) -> Self {
        Self { coloured }
    }

    fn pick(self, colour: Color, otherwise: Modifier) -> Style {
        if self.coloured { Style::new().fg(colour) } else { Style::new().add_modifier(otherwise) }
    }

    fn goodput(self) -> Style {
        self.pick(Color::Green, Modifier::BOLD)
    }

    fn throughput(self) -> Style {
        self.pick(Color::Yellow, Modifier::empty())
    }

    fn offered(self) -> Style {
        self.pick(Color::DarkGray, Modifier::DIM)
    }

    fn fault(self) -> Style {
        self.pick(Color::Red, Modifier::empty())
    }

    fn stage(self, run: &Run) -> Style {
        match &run.stage {
            Stage::Waiting => self.offered(),
            Stage::Running if run.phase() == "fault" => self.fault(),
            Stage::Running => Style::new(),
            Stage::Ended { held: true, .. } => self.pick(Color::Green, Modifier::empty()),
            Stage::Ended { held: false, .. } => self.pick(Color::Red, Modifier::REVERSED),
        }
    }
}

/// How many lines the display asks for.
pub(crate) fn height(runs: usize) -> u16 {
    u16::try_from(runs).unwrap_or(u16::MAX).saturating_add(FRAME_LINES + CHART_LINES)
}

/// Draws the scene into the whole area of the frame.
pub(crate) fn draw(frame: &mut Frame<'_>, scene: &Scene<'_>) {
    let rows = u16::try_from(scene.runs.len()).unwrap_or(u16::MAX);
    let [title, table, chart, event, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows.saturating_add(1)),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_title(frame, scene, title);
    draw_table(frame, scene, table);
    if let Some(run) = scene.runs.get(scene.selected) {
        if chart.height >= LEAST_CHART_LINES && !run.course.is_empty() {
            draw_chart(frame, run, scene.palette, chart);
        }
        let text = scene.notice.or(run.last_event.as_deref()).unwrap_or_default();
        frame.render_widget(Paragraph::new(text), event);
    }
    draw_keys(frame, scene, keys);
}

fn draw_title(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let elapsed = format!("{:.0} s of wall time", scene.elapsed);
    let [left, right] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Length(width(&elapsed))]).areas(area);
    let title = Span::styled(scene.title, Modifier::BOLD);
    frame.render_widget(Line::from(title), left);
    frame.render_widget(Line::from(elapsed), right);
}

fn draw_table(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let label = scene.runs.iter().map(|run| width(&run.label)).max().unwrap_or_default().max(4) + 2;
    let stage = scene.runs.iter().map(|run| width(stage(run))).max().unwrap_or_default();
    let stage = stage.max(LEAST_STAGE);
    let columns = Columns::fitting(area.width, label + stage);
    let mut widths = vec![Constraint::Length(label), Constraint::Length(stage)];
    let mut head = vec![Cell::from("  run"), Cell::from("phase")];
    for (name, width, _) in columns.figures {
        widths.push(Constraint::Length(*width));
        head.push(Cell::from(Line::from(*name).right_aligned()));
    }
    if columns.sparkline > 0 {
        widths.push(Constraint::Length(columns.sparkline));
        head.push(Cell::from("goodput"));
    }
    let rows = scene.runs.iter().enumerate().map(|(index, run)| {
        row(run, scene.runs.len() > 1 && index == scene.selected, &columns, scene.palette)
    });
    let head = Row::new(head).style(Style::new().add_modifier(Modifier::UNDERLINED));
    frame.render_widget(Table::new(rows, widths).header(head).column_spacing(1), area);
}

/// Where a run stands, in a word: a part of it, or its verdict with its cause.
fn stage(run: &Run) -> &str {
    match &run.stage {
        Stage::Waiting => "waiting",
        Stage::Running => run.phase(),
        Stage::Ended { verdict, .. } => verdict,
    }
}

fn row<'a>(run: &'a Run, selected: bool, columns: &Columns, palette: Palette) -> Row<'a> {
    let mark = if selected { "▸ " } else { "  " };
    let mut cells = vec![
        Cell::from(format!("{mark}{}", run.label)),
        Cell::from(Span::styled(stage(run), palette.stage(run))),
    ];
    for (_, _, figure) in columns.figures {
        let text = run.figures().map_or_else(|| "-".to_owned(), figure);
        cells.push(Cell::from(Line::from(text).right_aligned()));
    }
    if columns.sparkline > 0 {
        let bars = sparkline(run, usize::from(columns.sparkline));
        cells.push(Cell::from(Span::styled(bars, palette.goodput())));
    }
    Row::new(cells)
}

/// The name, width and text of a column of figures.
type FigureColumn = (&'static str, u16, fn(super::board::Figures) -> String);

/// Which columns fit.
struct Columns {
    figures: &'static [FigureColumn],
    sparkline: u16,
}

impl Columns {
    /// All columns, or all but the offered load, and a sparkline over what is left of the width beside
    /// the columns of names.
    fn fitting(total: u16, names: u16) -> Self {
        let used = |figures: &[FigureColumn]| {
            names + 2 + figures.iter().map(|(_, width, _)| width + 1).sum::<u16>()
        };
        let rest = |figures: &[FigureColumn]| total.saturating_sub(used(figures));
        let all = rest(FIGURES);
        if all >= LEAST_SPARKLINE {
            return Self { figures: FIGURES, sparkline: all };
        }
        let without_offered = rest(NARROW_FIGURES);
        if total < 80 || without_offered < LEAST_SPARKLINE {
            // A long verdict leaves room for no more than the narrow figures. Nothing stands to the
            // right of the last one, where a gap would be.
            let fit = used(FIGURES) <= total + 1;
            return Self { figures: if fit { FIGURES } else { NARROW_FIGURES }, sparkline: 0 };
        }
        Self { figures: NARROW_FIGURES, sparkline: without_offered }
    }
}

/// Goodput over the whole run as bars, one character for each share of its duration. A full bar is
/// the mean of the offered load.
fn sparkline(run: &Run, width: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let offered = run.course.mean(|share| share.offered).unwrap_or_default();
    let top = offered.max(f64::MIN_POSITIVE);
    let goodput = run.course.means(width, |share| share.goodput);
    goodput
        .into_iter()
        .map(|(_, goodput)| {
            let level = (goodput / top * (BARS.len() - 1) as f64).round() as usize;
            BARS[level.min(BARS.len() - 1)]
        })
        .collect()
}

fn draw_chart(frame: &mut Frame<'_>, run: &Run, palette: Palette, area: Rect) {
    let [head, chart] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let mut legend = vec![
        Span::raw(format!("{}: ", run.label)),
        Span::styled("━ goodput", palette.goodput()),
        Span::raw("  "),
        Span::styled("• throughput", palette.throughput()),
        Span::raw("  "),
        Span::styled("┄ offered", palette.offered()),
    ];
    if run.fault.is_some() {
        legend.extend([Span::raw("  "), Span::styled("│ fault", palette.fault())]);
    }
    frame.render_widget(Line::from(legend), head);

    let points = usize::from(chart.width.max(20));
    let goodput = run.course.means(points, |share| share.goodput);
    let throughput = run.course.means(points, |share| share.throughput);
    let offered = run.course.means(points, |share| share.offered);
    let highest = [&goodput, &throughput, &offered]
        .iter()
        .flat_map(|series| series.iter().map(|(_, value)| *value))
        .fold(1.0, f64::max);
    let top = round_up(highest);
    let (start, end) = run.fault.unwrap_or_default();
    let edges = [[(start, 0.0), (start, top)], [(end, 0.0), (end, top)]];

    let line = |data, style: Style, marker| {
        Dataset::default().data(data).style(style).marker(marker).graph_type(GraphType::Line)
    };
    let mut series = Vec::new();
    if run.fault.is_some() {
        series.extend(edges.iter().map(|edge| line(edge, palette.fault(), Marker::Braille)));
    }
    series.push(line(&offered, palette.offered(), Marker::Braille));
    series
        .push(line(&throughput, palette.throughput(), Marker::Dot).graph_type(GraphType::Scatter));
    series.push(line(&goodput, palette.goodput(), Marker::Braille));
    let axis = |high: f64, labels: [String; 3]| Axis::default().bounds([0.0, high]).labels(labels);
    let middle = run.duration / 2.0;
    let x = ["0 s".to_owned(), format!("{middle:.0} s"), format!("{:.0} s", run.duration)];
    let places = usize::from(top < 10.0);
    let y = ["0/s".to_owned(), format!("{:.places$}/s", top / 2.0), format!("{top:.places$}/s")];
    let chart_widget =
        Chart::new(series).legend_position(None).x_axis(axis(run.duration, x)).y_axis(axis(top, y));
    frame.render_widget(chart_widget, chart);
}

fn draw_keys(frame: &mut Frame<'_>, scene: &Scene<'_>, area: Rect) {
    let text = if scene.stopping {
        "stopping: faults are being reverted"
    } else if !scene.levers {
        "q stop"
    } else if scene.runs.len() > 1 {
        "q stop · ↑↓ run · levers: s shed queue · b budget · n no retries · x restart"
    } else {
        "q stop · levers: s shed queue · b budget · n no retries · x restart"
    };
    frame.render_widget(Line::from(Span::styled(text, scene.palette.offered())), area);
}

/// The next of 1, 2, 5, 10, 20, … above a value, or a fifth step of it.
fn round_up(value: f64) -> f64 {
    let magnitude = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    steps.into_iter().map(|step| step * magnitude).find(|top| *top >= value).unwrap_or(value)
}

fn width(text: &str) -> u16 {
    u16::try_from(text.chars().count()).unwrap_or(u16::MAX)
}

const FIGURES: &[FigureColumn] = &[
    ("time", 6, |figures| format!("{:.0} s", figures.time)),
    ("offered", 8, |figures| format!("{:.0}/s", figures.offered)),
    ("goodput", 8, |figures| format!("{:.0}/s", figures.goodput)),
    ("throughput", 10, |figures| or_dash(figures.throughput, |value| format!("{value:.0}/s"))),
    ("att/req", 7, |figures| or_dash(figures.attempts_per_request, |value| format!("{value:.2}"))),
    ("queue", 7, |figures| or_dash(figures.queue_delay, seconds)),
];

const NARROW_FIGURES: &[FigureColumn] = &[
    ("time", 6, |figures| format!("{:.0} s", figures.time)),
    ("goodput", 7, |figures| format!("{:.0}/s", figures.goodput)),
    ("throughput", 10, |figures| or_dash(figures.throughput, |value| format!("{value:.0}/s"))),
    ("att/req", 7, |figures| or_dash(figures.attempts_per_request, |value| format!("{value:.2}"))),
    ("queue", 7, |figures| or_dash(figures.queue_delay, seconds)),
];

/// Title, head of the table, event and keys.
const FRAME_LINES: u16 = 4;
const CHART_LINES: u16 = 10;
const LEAST_CHART_LINES: u16 = 5;
const LEAST_SPARKLINE: u16 = 6;
/// The width of the longest verdict without a cause.
const LEAST_STAGE: u16 = 13;

#[cfg(test)]
mod tests;
