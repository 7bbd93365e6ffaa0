//! Bars in a terminal.

use std::fmt::Write as _;

/// A series over time as bars, four lines high.
pub(crate) struct Chart<'a> {
    /// What it shows.
    pub(crate) title: &'a str,
    /// One value a unit of time.
    pub(crate) values: &'a [f64],
    /// How many values share a column; their mean is drawn.
    pub(crate) per_column: usize,
    /// The value of a full bar.
    pub(crate) top: f64,
    /// Times and what is written below them; the first at 0.
    pub(crate) marks: &'a [(usize, &'a str)],
}

impl Chart<'_> {
    /// The chart as lines, each with its end.
    pub(crate) fn draw(&self) -> String {
        let eighths: Vec<usize> = self
            .values
            .chunks(self.per_column)
            .map(|values| {
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let eighths = (mean / self.top * (HEIGHT * 8) as f64).round() as usize;
                // What is above nothing is to be seen.
                if mean > 0.0 { eighths.clamp(1, HEIGHT * 8) } else { 0 }
            })
            .collect();
        let mut text = format!("  {}\n", self.title);
        for row in (0..HEIGHT).rev() {
            let label = if row + 1 == HEIGHT { format!("{:.0}", self.top) } else { String::new() };
            let bars: String = eighths
                .iter()
                .map(|eighths| BARS[eighths.saturating_sub(row * 8).min(8)])
                .collect();
            let _ = writeln!(text, "  {label:>6} │{}", bars.trim_end());
        }
        let _ = writeln!(text, "  {:>6} └{}", 0, "─".repeat(eighths.len()));
        let mut axis = String::new();
        for (at, mark) in self.marks {
            let column = at / self.per_column;
            let gap = column.saturating_sub(axis.chars().count());
            let gap = if axis.is_empty() { gap } else { gap.max(1) };
            let _ = write!(axis, "{}{mark}", " ".repeat(gap));
        }
        let _ = writeln!(text, "          {}", axis.trim_end());
        text
    }
}

/// In lines.
const HEIGHT: usize = 4;
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_its_title_its_scale_its_bars_and_its_marks() {
        let values = [80.0, 80.0, 40.0, 40.0, 0.0, 0.0, 0.1, 0.1];
        let chart = Chart {
            title: "goodput",
            values: &values,
            per_column: 2,
            top: 80.0,
            marks: &[(0, "0"), (4, "cut")],
        };
        let expected = "  goodput\n      80 │█\n         │█\n         │██\n         │██ ▁\n       0 └────\n          0 cut\n";
        assert_eq!(chart.draw(), expected);
    }
}
