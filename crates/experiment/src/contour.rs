//! Lines along which a quantity over a grid is zero.

/// A line through the plane, as pairs of points.
pub type Segments = Vec<[(f64, f64); 2]>;

/// The zero line of `values[y][x]` over the grid of `xs` and `ys`, in straight segments, one a cell of
/// the grid and side; where a value is NaN there is no line.
///
/// # Source
///
/// Marching squares: in each square of four neighbours the line enters and leaves through the edges
/// whose ends have different signs. Where all four edges are crossed, the mean decides which belong
/// together.
pub fn zero_line(xs: &[f64], ys: &[f64], values: &[Vec<f64>]) -> Segments {
    let mut segments = Vec::new();
    for (row, y) in ys.windows(2).enumerate() {
        for (column, x) in xs.windows(2).enumerate() {
            let corners = [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(right, up)| {
                let value = values.get(row + up).and_then(|row| row.get(column + right));
                value.copied().unwrap_or(f64::NAN)
            });
            square(
                [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])],
                corners,
                &mut segments,
            );
        }
    }
    segments
}

fn square(corners: [(f64, f64); 4], values: [f64; 4], segments: &mut Segments) {
    if values.iter().any(|value| !value.is_finite()) {
        return;
    }
    let crossing = |edge: usize| {
        let (from, to) = (edge, (edge + 1) % 4);
        let (a, b) = (values[from], values[to]);
        ((a < 0.0) != (b < 0.0)).then(|| {
            let part = a / (a - b);
            let ((ax, ay), (bx, by)) = (corners[from], corners[to]);
            (ax + (bx - ax) * part, ay + (by - ay) * part)
        })
    };
    match [0, 1, 2, 3].map(crossing) {
        [Some(a), Some(b), Some(c), Some(d)] => {
            let mean = values.iter().sum::<f64>() / 4.0;
            // Edge 0 and 3 meet at the first corner: they are joined where it stands alone.
            let alone = (values[0] < 0.0) != (mean < 0.0);
            segments.extend(if alone { [[a, d], [b, c]] } else { [[a, b], [c, d]] });
        }
        crossings => {
            let found: Vec<_> = crossings.into_iter().flatten().collect();
            if let [a, b] = found[..] {
                segments.push([a, b]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(xs: &[f64], ys: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<Vec<f64>> {
        ys.iter().map(|y| xs.iter().map(|x| f(*x, *y)).collect()).collect()
    }

    #[test]
    fn a_straight_line_is_found_where_it_is() {
        let (xs, ys) = ([10.0, 20.0, 30.0, 40.0], [1.0, 2.0, 3.0]);
        let line = zero_line(&xs, &ys, &values(&xs, &ys, |x, _| x - 25.0));
        assert_eq!(line, [[(25.0, 1.0), (25.0, 2.0)], [(25.0, 2.0), (25.0, 3.0)]]);
    }

    #[test]
    fn a_circle_closes_and_lies_on_its_radius() {
        let grid: Vec<f64> = (-10..=10).map(f64::from).collect();
        let line = zero_line(&grid, &grid, &values(&grid, &grid, |x, y| x.hypot(y) - 7.3));
        assert!(line.len() > 30);
        for (x, y) in line.iter().flatten() {
            assert!((x.hypot(*y) - 7.3).abs() < 0.1, "{x} {y}");
        }
    }

    #[test]
    fn where_there_is_no_value_and_no_change_of_sign_there_is_no_line() {
        let (xs, ys) = ([1.0, 2.0], [1.0, 2.0]);
        assert!(zero_line(&xs, &ys, &values(&xs, &ys, |x, y| x * y)).is_empty());
        assert!(
            zero_line(&xs, &ys, &values(&xs, &ys, |x, _| if x < 2.0 { f64::NAN } else { 1.0 }))
                .is_empty()
        );
        assert!(zero_line(&[], &[], &[]).is_empty());
    }

    #[test]
    fn a_saddle_gives_two_lines_that_do_not_cross() {
        let line = zero_line(&[0.0, 1.0], &[0.0, 1.0], &[vec![1.0, -1.0], vec![-1.0, 3.0]]);
        assert_eq!(line.len(), 2);
    }
}
