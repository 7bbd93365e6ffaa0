//! A plane with two axes as SVG, on its own or inside a page, in light and dark.

use std::fmt::Write as _;

use crate::format;

/// A range of values along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    /// The value at the near edge.
    pub(crate) from: f64,
    /// The value at the far edge.
    pub(crate) to: f64,
}

impl Range {
    /// The share of the way from the near to the far edge.
    pub(crate) fn part(self, value: f64) -> f64 {
        let width = self.to - self.from;
        if width > 0.0 { ((value - self.from) / width).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Round values inside it, some five of them.
    pub(crate) fn ticks(self) -> Vec<f64> {
        let width = self.to - self.from;
        if width.is_nan() || width <= 0.0 || !width.is_finite() {
            return vec![self.from];
        }
        let raw = width / 5.0;
        let power = 10_f64.powf(raw.log10().floor());
        let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= raw * 0.999);
        let step = factor.unwrap_or(10.0) * power;
        let first = (self.from / step - 1e-9).ceil();
        let count = ((self.to / step + 1e-9).floor() - first).max(0.0) as u32;
        (0..=count).map(|index| (first + f64::from(index)) * step).collect()
    }
}

/// An axis with what is written along it.
#[derive(Clone, Debug)]
pub(crate) struct PlaneAxis<'a> {
    /// What it shows.
    pub(crate) label: &'a str,
    /// The unit after a value.
    pub(crate) unit: &'a str,
    /// Its values.
    pub(crate) range: Range,
}

/// A picture that is being drawn.
#[derive(Debug)]
pub(crate) struct Plane {
    x: Range,
    y: Range,
    out: String,
}

impl Plane {
    /// An empty plane; `title` is what a screen reader says.
    pub(crate) fn new(title: &str) -> Self {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gp-plane\" role=\"img\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\"><title>{}</title><style>{STYLE}</style>\
             <rect class=\"gp-ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n",
            escape(title)
        );
        out.reserve(1 << 12);
        let range = Range { from: 0.0, to: 1.0 };
        Self { x: range, y: range, out }
    }

    /// Sets the axes, before anything is drawn.
    pub(crate) fn axes(&mut self, x: &PlaneAxis<'_>, y: &PlaneAxis<'_>) {
        (self.x, self.y) = (x.range, y.range);
        for value in x.range.ticks() {
            let (at, below) = (self.across(value), TOP + INNER_HEIGHT);
            let label = escape(&show(value, x.unit));
            let _ = writeln!(
                self.out,
                "<path class=\"gp-tick\" d=\"M{at:.1} {below}v6\"/><text class=\"gp-label\" \
                 text-anchor=\"middle\" x=\"{at:.1}\" y=\"{:.1}\">{label}</text>",
                below + 22.0
            );
        }
        for value in y.range.ticks() {
            let at = self.up(value);
            let label = escape(&show(value, y.unit));
            let _ = writeln!(
                self.out,
                "<path class=\"gp-tick\" d=\"M{LEFT} {at:.1}h-6\"/><text class=\"gp-label\" \
                 text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                LEFT - 10.0,
                at + 4.0
            );
        }
        let _ = writeln!(
            self.out,
            "<text class=\"gp-name\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\
             <text class=\"gp-name\" x=\"{LEFT}\" y=\"{:.1}\">{}</text>",
            LEFT + INNER_WIDTH / 2.0,
            TOP + INNER_HEIGHT + 44.0,
            escape(x.label),
            TOP - 14.0,
            escape(y.label)
        );
    }

    /// A filled rectangle between two values on each axis, with what is shown when pointed at.
    pub(crate) fn rectangle(&mut self, x: (f64, f64), y: (f64, f64), class: &str, title: &str) {
        let (left, right) = (self.across(x.0), self.across(x.1));
        let (bottom, top) = (self.up(y.0), self.up(y.1));
        let title = if title.is_empty() {
            String::new()
        } else {
            format!("<title>{}</title>", escape(title))
        };
        let _ = writeln!(
            self.out,
            "<rect class=\"{class}\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{:.2}\" \
             height=\"{:.2}\">{title}</rect>",
            right - left,
            bottom - top
        );
    }

    /// Straight strokes, each from a point to a point, drawn as one.
    pub(crate) fn strokes(&mut self, parts: &[[(f64, f64); 2]], class: &str) {
        let mut path = String::new();
        for [(ax, ay), (bx, by)] in parts {
            let (ax, ay, bx, by) = (self.across(*ax), self.up(*ay), self.across(*bx), self.up(*by));
            let _ = write!(path, "M{ax:.2} {ay:.2}L{bx:.2} {by:.2}");
        }
        let _ = writeln!(self.out, "<path class=\"{class}\" d=\"{path}\"/>");
    }

    /// A line through points.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], class: &str) {
        let parts: Vec<_> = points.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        self.strokes(&parts, class);
    }

    /// A mark at a point, with what is shown when pointed at.
    pub(crate) fn mark(&mut self, (x, y): (f64, f64), class: &str, title: &str) {
        let (x, y) = (self.across(x), self.up(y));
        let _ = writeln!(
            self.out,
            "<circle class=\"{class}\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"5\"><title>{}</title></circle>",
            escape(title)
        );
    }

    /// Text at a point, to its right, or to its left where the right has no room for it.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str) {
        let (x, y) = (self.across(x), self.up(y) - 6.0);
        let fits = x + 6.0 + width(text) < LEFT + INNER_WIDTH;
        let (anchor, x) = if fits { ("start", x + 6.0) } else { ("end", x - 6.0) };
        let _ = writeln!(
            self.out,
            "<text class=\"gp-note\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escape(text)
        );
    }

    /// What the fills and lines mean, below the picture in one or two lines: class and word.
    pub(crate) fn legend(&mut self, entries: &[(&str, String)]) {
        let (mut x, mut y) = (LEFT, TOP + INNER_HEIGHT + 62.0);
        for (class, word) in entries {
            if x + 20.0 + width(word) > WIDTH {
                (x, y) = (LEFT, y + 22.0);
            }
            let _ = writeln!(
                self.out,
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"14\" height=\"14\"/>\
                 <text class=\"gp-label\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + 20.0,
                y + 12.0,
                escape(word)
            );
            x += 40.0 + width(word);
        }
    }

    /// The whole picture.
    pub(crate) fn finish(mut self) -> String {
        let _ = writeln!(
            self.out,
            "<rect class=\"gp-frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{INNER_WIDTH}\" \
             height=\"{INNER_HEIGHT}\"/></svg>"
        );
        self.out
    }

    fn across(&self, value: f64) -> f64 {
        LEFT + INNER_WIDTH * self.x.part(value)
    }

    fn up(&self, value: f64) -> f64 {
        TOP + INNER_HEIGHT * (1.0 - self.y.part(value))
    }
}

/// A value with its unit: `10.42 s`, `80/s`, `3`.
pub(crate) fn show(value: f64, unit: &str) -> String {
    let digits = if value.abs() < 1.0 { 1e4 } else { 1e3 };
    let value = (value * digits).round() / digits;
    match unit {
        "s" => format!("{value} s"),
        unit => format!("{value}{unit}"),
    }
}

/// A share as a percentage.
pub(crate) fn share(value: f64) -> String {
    format::percent(value)
}

/// How wide text is, at most for most of it.
fn width(text: &str) -> f64 {
    7.0 * text.chars().count() as f64
}

/// Text that can stand in XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 612.0;
const LEFT: f64 = 84.0;
const TOP: f64 = 48.0;
const INNER_WIDTH: f64 = 744.0;
const INNER_HEIGHT: f64 = 450.0;

/// Colours apart in lightness too, so that they can be told in grey.
const STYLE: &str = "\
.gp-plane{font:13px system-ui,sans-serif;--g:#fff;--t:#1b1f24;--m:#59636e;--l:#c9ced4;--r0:#8fd6bf;--r1:#45ad8f;--r2:#0b7a5e;\
--s:#e9b949;--u:#a8447f;--n:#5b4a8a;--f:#c24a00;--i:#b4bac1;--k:#1b1f24}\
@media(prefers-color-scheme:dark){.gp-plane{--g:#191d21;--t:#e9ecef;--m:#a0aab4;--l:#3a4149;--r0:#7fd0b5;--r1:#2f9c7d;--r2:#0c644d;\
--s:#d9a52f;--u:#e28abd;--n:#8f7fd0;--f:#e2621a;--i:#5d656d;--k:#fff}}\
.gp-ground{fill:var(--g)}.gp-frame{fill:none;stroke:var(--m)}.gp-tick{stroke:var(--m)}\
.gp-label{fill:var(--m)}.gp-name,.gp-note{fill:var(--t);font-weight:600}.gp-note{paint-order:stroke;stroke:var(--g);stroke-width:3px}\
.gp-r0{fill:var(--r0)}.gp-r1{fill:var(--r1)}.gp-r2{fill:var(--r2)}.gp-slow{fill:var(--s)}.gp-swings{fill:var(--u)}.gp-fail{fill:var(--f)}.gp-notback{fill:var(--n)}.gp-unsure{fill:var(--i)}\
.gp-form{fill:none;stroke:var(--k);stroke-width:2.2;stroke-dasharray:7 4}\
.gp-curve{fill:none;stroke:var(--f);stroke-width:2.4}.gp-bar{fill:none;stroke:var(--m);stroke-width:1.4}\
.gp-band{fill:var(--f);opacity:.14}.gp-half{fill:none;stroke:var(--f);stroke-width:1.4}\
.gp-up{fill:var(--r2);stroke:var(--g);stroke-width:1.5}.gp-down{fill:var(--f);stroke:var(--g);stroke-width:1.5}\
.gp-odd{fill:var(--i);stroke:var(--k);stroke-width:1.5}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Range { from: 10.0, to: 95.0 }.ticks(), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(Range { from: 0.0, to: 1.0 }.ticks().len(), 6);
        let ticks = Range { from: 9.51, to: 11.64 }.ticks();
        assert!(ticks.len() >= 4 && ticks.iter().all(|tick| (9.51..=11.64).contains(tick)));
        assert_eq!(Range { from: 3.0, to: 3.0 }.ticks(), [3.0]);
    }

    #[test]
    fn a_legend_that_is_too_long_goes_on_in_the_next_line() {
        let places = |words: &[&str]| {
            let mut plane = Plane::new("legend");
            let entries: Vec<_> = words.iter().map(|word| ("gp-r0", (*word).to_owned())).collect();
            plane.legend(&entries);
            let svg = plane.finish();
            let of = |part: &str| Some(part.split_once("y=\"")?.1.split_once('"')?.0.to_owned());
            svg.split("class=\"gp-r0\"").skip(1).filter_map(of).collect::<Vec<_>>()
        };
        let short = places(&["recovered", "metastable"]);
        assert!(short.len() == 2 && short[0] == short[1], "{short:?}");
        let long = places(&["a word that is as long as half of the picture's whole width"; 2]);
        assert!(long.len() == 2 && long[0] != long[1], "{long:?}");
    }

    #[test]
    fn text_without_room_to_its_right_stands_to_its_left() {
        for (x, anchor) in [(0.1, "start"), (0.75, "end")] {
            let mut plane = Plane::new("text");
            plane.text((x, 0.5), "by arithmetic: recovers up to here");
            assert!(plane.finish().contains(&format!("text-anchor=\"{anchor}\"")), "{x}");
        }
    }

    #[test]
    fn values_carry_their_unit_and_names_are_harmless() {
        assert_eq!(show(10.4217, "s"), "10.422 s");
        assert_eq!(show(0.123_45, ""), "0.1235");
        assert_eq!(show(80.0, "/s"), "80/s");
        assert_eq!(escape("<a href=\"x\">&\n"), "&lt;a href=&quot;x&quot;&gt;&amp; ");
    }
}
