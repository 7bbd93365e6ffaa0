//! The vulnerable region of a scenario: the verdict over two of its numbers.

use std::collections::BTreeSet;

use goodput_scenario::closed_form::ClosedForms;
use goodput_verdict::{Cause, Exit, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contour::{self, Segments};
use crate::outcome::{Outcome, Side};

/// What `goodput map` found.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Map {
    /// The version of this shape.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The arm; absent where the scenario was run as written above its arms.
    pub arm: Option<String>,
    /// The seed that all cells share.
    pub seed: u64,
    /// What is varied from left to right.
    pub x: Axis,
    /// What is varied from bottom to top.
    pub y: Axis,
    /// The cells, by row from the least y, each by x.
    pub cells: Vec<Vec<Cell>>,
    /// Lines of the closed forms.
    pub lines: Vec<Line>,
    /// Cells that the rig ran too.
    pub confirmed: Vec<Confirmed>,
    /// The command that repeats it.
    pub command: String,
    /// The version of goodput.
    pub version: String,
    /// How the command ends.
    pub exit: Exit,
    /// The same as a number.
    pub exit_code: u8,
}

/// What is varied along an axis.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Axis {
    /// Its path.
    pub path: String,
    /// The unit after a value: `s`, `/s`, or empty.
    pub unit: String,
    /// The values, ascending.
    pub values: Vec<f64>,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Cell {
    /// The verdict; absent where the cell was not run.
    pub verdict: Option<Verdict>,
    /// Why goodput is down; only of a run that has not recovered.
    pub cause: Option<Cause>,
    /// Seconds from the trigger's end until goodput was back.
    pub time_to_recover: Option<f64>,
    /// Why the run cannot be trusted.
    pub doubt: Option<String>,
}

/// A line of the closed forms.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Line {
    /// What it is, such as `C / k`.
    pub name: String,
    /// What lies on which side, in words.
    pub meaning: String,
    /// Its straight parts, each from a point to a point, as x and y.
    pub segments: Segments,
}

/// A cell that the rig ran too.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Confirmed {
    /// Which column.
    pub column: usize,
    /// Which row.
    pub row: usize,
    /// What the rig saw.
    pub measured: Outcome,
    /// What the simulator gave.
    pub predicted: Option<Outcome>,
}

impl Map {
    /// The version of the shape that this crate writes.
    pub const SCHEMA: u32 = 2;

    /// How many cells have each verdict; none for those that were not run.
    pub fn count(&self, verdict: Option<Verdict>) -> usize {
        self.cells.iter().flatten().filter(|cell| cell.verdict == verdict).count()
    }
}

impl Confirmed {
    /// Whether both are on the same side; none where one is inconclusive.
    pub fn agrees(&self) -> Option<bool> {
        let predicted = self.predicted.as_ref().and_then(Outcome::side)?;
        self.measured.side().map(|measured| measured == predicted)
    }
}

impl From<Outcome> for Cell {
    fn from(outcome: Outcome) -> Self {
        let Outcome { verdict, cause, time_to_recover, doubt } = outcome;
        Self { verdict: Some(verdict), cause, time_to_recover, doubt }
    }
}

/// At most `count` cells next to the boundary, as `(column, row)`, spread over its length: each has a
/// neighbour on the other side.
pub fn beside_the_boundary(cells: &[Vec<Cell>], count: usize) -> Vec<(usize, usize)> {
    let side = |column: usize, row: usize| {
        let cell = cells.get(row)?.get(column)?;
        Side::of(cell.verdict?)
    };
    let mut beside = BTreeSet::new();
    for (row, line) in cells.iter().enumerate() {
        for column in 0..line.len() {
            for (other_column, other_row) in [(column + 1, row), (column, row + 1)] {
                let pair = (side(column, row), side(other_column, other_row));
                if let (Some(here), Some(there)) = pair
                    && here != there
                {
                    beside.insert((column, row));
                    beside.insert((other_column, other_row));
                }
            }
        }
    }
    let all: Vec<_> = beside.into_iter().collect();
    let wanted = count.min(all.len());
    (0..wanted).map(|index| all[index * all.len() / wanted]).collect()
}

/// The lines of the closed forms over a grid, from the forms of each cell; those that do not pass
/// through it are left out.
pub fn lines(xs: &[f64], ys: &[f64], forms: &[Vec<Option<ClosedForms>>]) -> Vec<Line> {
    let line = |name: &str, meaning: &str, of: &dyn Fn(&ClosedForms) -> f64| {
        let value = |forms: &Option<ClosedForms>| forms.as_ref().map_or(f64::NAN, of);
        let values: Vec<Vec<f64>> =
            forms.iter().map(|row| row.iter().map(value).collect()).collect();
        let segments = contour::zero_line(xs, ys, &values);
        (!segments.is_empty()).then(|| Line {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            segments,
        })
    };
    let beyond = |bound: Option<f64>, trigger: f64| bound.map_or(f64::NAN, |bound| trigger - bound);
    [
        line("C / k", "the load below which no trigger sticks", &|forms| {
            forms.load - forms.stable_load
        }),
        line("C", "the load above which it fails without a trigger", &|forms| {
            forms.load - forms.capacity
        }),
        line("safe trigger", "in a shorter one nobody times out", &|forms| {
            beyond(forms.safe_trigger, forms.trigger)
        }),
        line(
            "sure trigger",
            "in a longer one all time out until their retries have come",
            &|forms| beyond(forms.sure_trigger, forms.trigger),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use goodput_scenario::builtin;
    use goodput_scenario::numbers::Numbers;

    use super::*;

    fn cell(verdict: Verdict) -> Cell {
        Cell { verdict: Some(verdict), ..Cell::default() }
    }

    /// A triangle of failure in a square of so many cells.
    fn triangle(size: usize) -> Vec<Vec<Cell>> {
        let verdict = |x: usize, y: usize| {
            if x + y >= size { Verdict::Metastable } else { Verdict::Recovered }
        };
        (0..size).map(|y| (0..size).map(|x| cell(verdict(x, y))).collect()).collect()
    }

    #[test]
    fn cells_beside_the_boundary_have_a_neighbour_across_and_are_spread_along_it() {
        let cells = triangle(10);
        let chosen = beside_the_boundary(&cells, 6);
        assert_eq!(chosen.len(), 6);
        assert!(chosen.iter().all(|(x, y)| (9..=10).contains(&(x + y))), "{chosen:?}");
        let columns: BTreeSet<_> = chosen.iter().map(|(x, _)| x).collect();
        assert!(columns.len() >= 5, "{chosen:?}");
        assert!(beside_the_boundary(&cells, 1_000).len() < 20);
        let mut unknown = cells;
        unknown.iter_mut().flatten().for_each(|cell| *cell = self::cell(Verdict::Inconclusive));
        assert!(beside_the_boundary(&unknown, 6).is_empty());
    }

    #[test]
    fn the_lines_of_the_headline_are_where_arithmetic_puts_them() {
        let numbers = Numbers::of("test.toml", builtin::DATABASE_FAILOVER.text, None).unwrap();
        let (rate, length) =
            (numbers.find("load.rate").unwrap(), numbers.find("fault.for").unwrap());
        let xs: Vec<f64> = (1..=11).map(|i| f64::from(i) * 10.0).collect();
        let ys: Vec<f64> = (1..=8).map(|i| f64::from(i) * 5.0).collect();
        let forms =
            |x: f64, y: f64| ClosedForms::of(&numbers.with(&[(rate, x), (length, y)]).unwrap());
        let forms: Vec<Vec<_>> =
            ys.iter().map(|y| xs.iter().map(|x| forms(*x, *y)).collect()).collect();
        let lines = lines(&xs, &ys, &forms);
        let names: Vec<_> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(names, ["C / k", "C", "safe trigger", "sure trigger"]);
        for (line, expected) in [(&lines[0], 25.0), (&lines[1], 100.0)] {
            assert_eq!(line.segments.len(), ys.len() - 1);
            assert!(line.segments.iter().flatten().all(|(x, _)| (x - expected).abs() < 1e-9));
        }
        for (x, y) in lines[2].segments.iter().flatten() {
            assert!(*x > 40.0 && *y <= 40.0, "{x} {y}");
        }
    }
}
