//! Tables for a terminal.

/// A table whose first row is its head. The first column is flush left, as are those in `words`; the
/// others are figures and flush right.
pub(crate) fn draw(rows: &[Vec<String>], words: &[usize]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().filter_map(|row| row.get(column)).map(|c| width(c)).max())
        .map(Option::unwrap_or_default)
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column] - width(cell));
            let gap = if column == 0 { "" } else { "  " };
            if column == 0 || words.contains(&column) {
                line.extend([gap, cell, &space]);
            } else {
                line.extend([gap, &space, cell]);
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_flush_left_and_figures_flush_right() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["arm", "goodput", "verdict"]), row(["naive", "0", "metastable"])];
        assert_eq!(draw(&rows, &[2]), "arm    goodput  verdict\nnaive        0  metastable\n");
    }
}
