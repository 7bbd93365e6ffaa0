//! Tables for a terminal.

/// A table whose first row is its head. The columns in `left` are words and flush left, the others are
/// figures and flush right.
pub(crate) fn draw(rows: &[Vec<String>], left: &[usize]) -> String {
    draw_painted(rows, left, |_, _, cell| cell.to_owned())
}

/// The same, with cells as `paint` writes them, which is handed the row and the column; it must not
/// change their width on a terminal.
pub(crate) fn draw_painted(
    rows: &[Vec<String>],
    left: &[usize],
    paint: impl Fn(usize, usize, &str) -> String,
) -> String {
    let widths = widths(rows, left);
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            if column > 0 {
                line.push_str(GAP);
            }
            // A name that is too long for its column stands on a line of its own above its figures.
            let Some(space) = widths[column].checked_sub(width(cell)) else {
                line.extend([paint(index, column, cell).as_str(), "\n"]);
                line.push_str(&" ".repeat(widths[column]));
                continue;
            };
            let (cell, space) = (paint(index, column, cell), " ".repeat(space));
            if left.contains(&column) {
                line.extend([cell, space]);
            } else {
                line.extend([space, cell]);
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// How wide each column is: as its widest cell, but for a first column of names so long that the table
/// would be too wide for a terminal, where only those count that fit.
fn widths(rows: &[Vec<String>], left: &[usize]) -> Vec<usize> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| rows.iter().filter_map(move |row| Some(width(row.get(column)?)));
    let mut widths: Vec<usize> =
        (0..columns).map(|column| cells(column).max().unwrap_or_default()).collect();
    let others: usize = widths.iter().skip(1).map(|width| GAP.len() + width).sum();
    let room = WIDTH.saturating_sub(others);
    if left.contains(&0) && widths[0] > room && room >= LEAST_NAME {
        widths[0] = cells(0).filter(|width| *width <= room).max().unwrap_or_default();
    }
    widths
}

fn width(text: &str) -> usize {
    text.chars().count()
}

const GAP: &str = "  ";
/// How wide a terminal is thought to be.
const WIDTH: usize = 100;
/// Where a first column would be narrower, the table is too wide for other reasons.
const LEAST_NAME: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: [&str; 3]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn words_are_flush_left_and_figures_flush_right() {
        let rows = [row(["arm", "goodput", "verdict"]), row(["naive", "0", "metastable"])];
        assert_eq!(draw(&rows, &[0, 2]), "arm    goodput  verdict\nnaive        0  metastable\n");
        assert_eq!(draw(&rows, &[2]), "  arm  goodput  verdict\nnaive        0  metastable\n");
    }

    #[test]
    fn paint_takes_no_room() {
        let rows = [row(["a", "b", "c"]), row(["naive", "0", "ok"])];
        let paint = |row, column, cell: &str| {
            if (row, column) == (1, 0) { format!("\x1b[1m{cell}\x1b[0m") } else { cell.to_owned() }
        };
        assert_eq!(draw_painted(&rows, &[0], paint), "a      b   c\n\x1b[1mnaive\x1b[0m  0  ok\n");
    }

    #[test]
    fn a_name_that_makes_a_table_too_wide_stands_on_a_line_of_its_own() {
        let (long, figures) = ("x".repeat(64), "7".repeat(50));
        let rows = [row(["arm", "a", "b"]), row([&long, &figures, "1"]), row(["naive", "0", "2"])];
        let text = draw(&rows, &[0]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], long);
        assert_eq!(lines[2], format!("{:5}  {figures}  1", ""));
        assert!(lines[3].starts_with("naive  "), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{text}");
    }
}
