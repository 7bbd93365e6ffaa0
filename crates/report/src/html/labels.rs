//! Where words go so that none covers another.

use maud::{Markup, html};

/// A fault or a lever on the timeline.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    /// When, in seconds.
    pub(super) start: f64,
    /// When it ended; absent for a lever, which is a moment.
    pub(super) end: Option<f64>,
    /// A few words.
    pub(super) label: String,
}

/// A mark with a place for its label above the plot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacedMark<'a> {
    mark: &'a Mark,
    /// From the left edge, 0 to 1.
    place: f64,
    /// Whether the label ends at its place rather than starting there.
    leftwards: bool,
    /// Which row, from 0.
    pub(super) lane: usize,
}

impl PlacedMark<'_> {
    /// Writes the label.
    pub(super) fn render(&self) -> Markup {
        let kind = if self.mark.end.is_some() { "mark fault" } else { "mark lever" };
        let edge = if self.leftwards { ("right", 1.0 - self.place) } else { ("left", self.place) };
        html! {
            span class=(kind) style=(format!(
                "{}:{}%;--lane:{}", edge.0, super::chart::hundredths(edge.1), self.lane
            )) { (self.mark.label) }
        }
    }
}

/// Gives each mark's label a row such that no two overlap on the narrowest page. On a wider page
/// labels that start at their place only move apart from those before them, so the rows hold there
/// too.
pub(super) fn lanes(marks: &[Mark], seconds: f64) -> Vec<PlacedMark<'_>> {
    let mut rows: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut placed = Vec::with_capacity(marks.len());
    for mark in marks {
        let place = (mark.start / seconds).clamp(0.0, 1.0);
        let width = mark.label.chars().count() as f64 * LETTER + GAP;
        let x = place * NARROWEST;
        let leftwards = x + width > NARROWEST && x >= NARROWEST / 2.0;
        let span = if leftwards { (x - width, x) } else { (x, x + width) };
        let free = |row: &Vec<(f64, f64)>| row.iter().all(|s| span.1 <= s.0 || s.1 <= span.0);
        let lane = rows.iter().position(free).unwrap_or_else(|| {
            rows.push(Vec::new());
            rows.len() - 1
        });
        rows[lane].push(span);
        placed.push(PlacedMark { mark, place, leftwards, lane });
    }
    placed
}

/// The tops, in pixels from the upper edge, of labels that want to stand at the given places (0 at
/// the bottom to 1 at the top) of a plot `height` pixels high, moved apart as little as it takes.
pub(super) fn spread(places: &[f64], height: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*b].total_cmp(&places[*a]));
    let wanted: Vec<f64> =
        order.iter().map(|index| (1.0 - places[*index]) * height - LINE / 2.0).collect();
    let mut tops = wanted.clone();
    for index in 1..tops.len() {
        tops[index] = tops[index].max(tops[index - 1] + LINE);
    }
    // What was pushed below the edge comes back, and takes along what is in its way.
    let mut limit = height - LINE / 2.0;
    for top in tops.iter_mut().rev() {
        *top = top.min(limit);
        limit = *top - LINE;
    }
    let mut result = vec![0.0; places.len()];
    for (index, top) in order.into_iter().zip(tops) {
        result[index] = top;
    }
    result
}

/// The narrowest plot that labels are placed for, in pixels.
const NARROWEST: f64 = 250.0;
/// The width of a letter of a mark's label, on the safe side, in pixels.
const LETTER: f64 = 6.6;
/// Between two labels of a row, with their paddings, in pixels.
const GAP: f64 = 14.0;
/// The height of a direct label, in pixels.
const LINE: f64 = 15.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(start: f64, label: &str) -> Mark {
        Mark { start, end: None, label: label.to_owned() }
    }

    #[test]
    fn marks_that_are_close_go_to_rows_of_their_own() {
        let marks =
            [mark(60.0, "cut to 40 %"), mark(70.0, "shed the queue"), mark(230.0, "restart")];
        let placed = lanes(&marks, 240.0);
        assert_eq!(placed.iter().map(|p| p.lane).collect::<Vec<_>>(), [0, 1, 0]);
        assert_eq!(placed.iter().map(|p| p.leftwards).collect::<Vec<_>>(), [false, false, true]);
    }

    #[test]
    fn direct_labels_keep_a_line_apart_and_stay_beside_the_plot() {
        let tops = spread(&[0.5, 0.5, 0.49, 0.0, 0.01], 100.0);
        let mut sorted = tops.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= LINE - 1e-9), "{tops:?}");
        assert!(sorted.iter().all(|top| (-LINE..=100.0 - LINE / 2.0).contains(top)), "{tops:?}");
    }
}
