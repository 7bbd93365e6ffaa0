//! One chart over time: a stretched SVG for the shapes, and HTML around it for every word.
//!
//! An SVG that scales with the page scales its letters too, which makes them unreadable on a phone.
//! Here only the shapes stretch (`preserveAspectRatio="none"`, strokes that keep their width); axis
//! labels, direct labels and marks are HTML placed by percentages across and by pixels down, where
//! the height is fixed and overlaps can be ruled out. Colours are CSS classes, so that light, dark
//! and print each have their own.

use maud::{Markup, html};

use super::axis::Axis;
use super::labels::{self, Mark};
use super::shape;
use crate::format;

/// A chart.
#[derive(Debug)]
pub(super) struct Chart<'a> {
    /// Unique within the page.
    pub(super) id: String,
    /// What is shown.
    pub(super) title: String,
    /// How to read it, in one sentence; empty for none.
    pub(super) note: String,
    /// How values are written.
    pub(super) unit: Unit,
    /// The vertical axis.
    pub(super) axis: Axis,
    /// What is drawn, first at the back.
    pub(super) series: Vec<Series>,
    /// Thresholds: a value and its name.
    pub(super) levels: Vec<(f64, String)>,
    /// Time, faults and levers, which all charts of a run share.
    pub(super) timeline: &'a Timeline,
    /// How large it is.
    pub(super) size: Size,
}

/// What all charts of a run share.
#[derive(Debug)]
pub(super) struct Timeline {
    /// Which of the page's data sets the read-outs look into.
    pub(super) run: usize,
    /// Points in every series.
    pub(super) points: usize,
    /// Seconds of scenario time a point.
    pub(super) step: f64,
    /// Faults and levers.
    pub(super) marks: Vec<Mark>,
}

impl Timeline {
    /// Seconds from edge to edge.
    pub(super) fn seconds(&self) -> f64 {
        self.points as f64 * self.step
    }
}

/// A line, an area or a layer of a stack.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Its name in the page's data, unique within the run.
    pub(super) key: String,
    /// Its name for people.
    pub(super) name: String,
    /// Its colour, as a class of the style sheet.
    pub(super) ink: &'static str,
    /// How it is drawn.
    pub(super) draw: Draw,
    /// A value a point; NaN leaves a gap.
    pub(super) values: Vec<f64>,
}

impl Series {
    /// What the read-out needs to know.
    fn entry(&self) -> serde_json::Value {
        serde_json::json!({ "key": self.key, "name": self.name, "ink": self.ink })
    }

    /// Its range and its end, in a sentence.
    fn in_words(&self, unit: Unit) -> String {
        let seen: Vec<f64> =
            self.values.iter().copied().filter(|value| value.is_finite()).collect();
        let low = seen.iter().copied().fold(f64::INFINITY, f64::min);
        let high = seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match seen.last() {
            None => format!("{}: never seen.", self.name),
            Some(last) => format!(
                "{}: from {} to {}, {} at the end.",
                self.name,
                unit.write(low),
                unit.write(high),
                unit.write(*last)
            ),
        }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Draw {
    /// A line.
    Line,
    /// A thin dashed line.
    Dashed,
    /// A line with the area below it filled.
    Area,
    /// An area on top of the stacked series before it.
    Stack,
}

/// How values are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Unit {
    /// As numbers.
    Number,
    /// As durations, from seconds.
    Seconds,
    /// As percentages, from ratios.
    Percent,
}

impl Unit {
    fn write(self, value: f64) -> String {
        match self {
            Self::Number => format::number(value),
            Self::Seconds => format::seconds(value),
            Self::Percent => format::percent(value),
        }
    }

    /// The label of a tick; ticks of one axis of delays stay in seconds above one.
    fn tick(self, value: f64) -> String {
        match self {
            Self::Seconds if value >= 1.0 => format!("{} s", format::number(value)),
            Self::Number | Self::Seconds | Self::Percent => self.write(value),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Seconds => "seconds",
            Self::Percent => "percent",
        }
    }
}

/// How large a chart is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Size {
    /// The one chart that tells the story.
    Hero,
    /// One of several beside each other.
    Half,
    /// One of many: no note, no direct labels.
    Small,
}

impl Size {
    const fn class(self) -> &'static str {
        match self {
            Self::Hero => "chart hero",
            Self::Half => "chart",
            Self::Small => "chart small",
        }
    }

    /// The height of the plot in pixels; the style sheet has the same.
    const fn height(self) -> f64 {
        match self {
            Self::Hero => 280.0,
            Self::Half => 176.0,
            Self::Small => 96.0,
        }
    }
}

impl Chart<'_> {
    /// Draws the chart.
    pub(super) fn render(&self) -> Markup {
        let marks = if self.size == Size::Small { Vec::new() } else { self.placed_marks() };
        let lanes = marks.iter().map(|mark| mark.lane + 1).max().unwrap_or(0);
        html! {
            figure class=(self.size.class()) {
                figcaption {
                    h4 { (self.title) }
                    @if !self.note.is_empty() { p { (self.note) } }
                }
                @if self.size != Size::Small { (self.keys()) }
                div.frame style=(format!("--lanes:{lanes}")) {
                    div.marks aria-hidden="true" {
                        @for mark in &marks { (mark.render()) }
                    }
                    div.y aria-hidden="true" {
                        @for tick in self.axis.ticks() {
                            span style=(format!("bottom:{}%", hundredths(self.axis.place(tick)))) {
                                (self.unit.tick(tick))
                            }
                        }
                    }
                    (self.plot())
                    @if self.size != Size::Small { (self.ends()) }
                    (self.time_labels())
                }
            }
        }
    }

    fn plot(&self) -> Markup {
        let series: Vec<_> = self.series.iter().map(Series::entry).collect();
        html! {
            div.plot tabindex="0" data-run=(self.timeline.run) data-unit=(self.unit.name())
                data-series=(serde_json::Value::Array(series)) {
                svg viewBox=(format!("0 0 {} {}", self.timeline.points.max(1), shape::HEIGHT))
                    preserveAspectRatio="none" role="img"
                    aria-labelledby=(format!("{0}-t {0}-d", self.id)) {
                    title id=(format!("{}-t", self.id)) { (self.title) }
                    desc id=(format!("{}-d", self.id)) { (self.describe()) }
                    (self.background())
                    (self.shapes())
                    @for (value, _) in &self.levels {
                        path.level d=(shape::level(self.axis, *value, self.timeline.points)) {}
                    }
                }
            }
        }
    }

    /// The grid, the time of the faults, and the moments of the levers.
    fn background(&self) -> Markup {
        let at = |seconds: f64| {
            let place = (seconds / self.timeline.step).clamp(0.0, self.timeline.points as f64);
            (place * 100.0).round() / 100.0
        };
        html! {
            @for mark in &self.timeline.marks {
                @if let Some(end) = mark.end {
                    rect.fault x=(at(mark.start)) y="0" height=(shape::HEIGHT)
                        width=(at(end) - at(mark.start)) {}
                }
            }
            path.grid d=(shape::grid(self.axis, self.timeline.points)) {}
            @for mark in &self.timeline.marks {
                @if mark.end.is_none() {
                    path.lever d=(format!("M{} 0V{}", at(mark.start), shape::HEIGHT)) {}
                }
            }
        }
    }

    fn shapes(&self) -> Markup {
        let mut below = vec![0.0; self.timeline.points];
        html! {
            @for series in &self.series {
                @match series.draw {
                    Draw::Line => path.line.(series.ink) d=(shape::line(self.axis, &series.values)) {},
                    Draw::Dashed => {
                        path.line.dashed.(series.ink) d=(shape::line(self.axis, &series.values)) {}
                    }
                    Draw::Area => {
                        path.area.(series.ink) d=(shape::area(self.axis, &series.values)) {}
                        path.line.(series.ink) d=(shape::line(self.axis, &series.values)) {}
                    }
                    Draw::Stack => {
                        path.layer.(series.ink)
                            d=(shape::layer(self.axis, &mut below, &series.values)) {}
                    }
                }
            }
        }
    }

    /// What each colour means, for stacks and for narrow pages, which have no direct labels.
    fn keys(&self) -> Markup {
        let stacked = self.series.iter().any(|series| series.draw == Draw::Stack);
        html! {
            ul.keys.always[stacked] aria-hidden="true" {
                @for series in self.series.iter() {
                    li.(series.ink).dashed[series.draw == Draw::Dashed] { (series.name) }
                }
                @for (_, name) in &self.levels {
                    li.s-limit.dashed { (name) }
                }
            }
        }
    }

    /// The direct labels at the end of each line.
    fn ends(&self) -> Markup {
        let mut wanted = Vec::new();
        for series in &self.series {
            let last = series.values.iter().rev().find(|value| value.is_finite());
            if let (Some(last), true) = (last, series.draw != Draw::Stack) {
                wanted.push((self.axis.place(*last), series.ink, series.name.as_str()));
            }
        }
        for (value, name) in &self.levels {
            wanted.push((self.axis.place(*value), "s-limit", name.as_str()));
        }
        let places: Vec<_> = wanted.iter().map(|(place, ..)| *place).collect();
        let tops = labels::spread(&places, self.size.height());
        html! {
            div.ends aria-hidden="true" {
                @for ((_, ink, name), top) in wanted.iter().zip(tops) {
                    span.(ink) style=(format!("top:{top:.0}px")) { (name) }
                }
            }
        }
    }

    fn time_labels(&self) -> Markup {
        let axis = Axis::time(self.timeline.seconds());
        let ticks = axis.ticks();
        // One unit for all labels, written once.
        let (unit, name) = if self.timeline.seconds() < 600.0 { (1.0, "s") } else { (60.0, "min") };
        let last = ticks.len().saturating_sub(1);
        html! {
            div.x aria-hidden="true" {
                @for (index, tick) in ticks.iter().enumerate() {
                    span style=(format!("left:{}%", hundredths(axis.place(*tick)))) {
                        (format::number(*tick / unit))
                        @if index == last { " " (name) }
                    }
                }
            }
        }
    }

    fn placed_marks(&self) -> Vec<labels::PlacedMark<'_>> {
        labels::lanes(&self.timeline.marks, self.timeline.seconds())
    }

    /// The chart in words, for who cannot see it.
    fn describe(&self) -> String {
        let mut sentences: Vec<_> = self.series.iter().map(|s| s.in_words(self.unit)).collect();
        let levels = self.levels.iter();
        sentences
            .extend(levels.map(|(value, name)| format!("{name}: {}.", self.unit.write(*value))));
        sentences.join(" ")
    }
}

/// A place as a percentage with two decimals.
pub(super) fn hundredths(place: f64) -> f64 {
    (place * 10_000.0).round() / 100.0
}
