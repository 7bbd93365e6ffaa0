//! Paths of the plots, in a box as wide as there are points and [`HEIGHT`] high.
//!
//! Coordinates are whole and relative, a handful of bytes a point, so that a comparison of many arms
//! stays small.

use std::fmt::Write as _;

use super::axis::Axis;

/// The height of every plot's box.
pub(super) const HEIGHT: i32 = 1000;

/// A line through the values; NaN leaves a gap.
pub(super) fn line(axis: Axis, values: &[f64]) -> String {
    let mut path = String::with_capacity(values.len() * 5);
    let mut previous = None;
    for (index, value) in values.iter().enumerate() {
        if value.is_nan() {
            previous = None;
            continue;
        }
        let y = down(axis, *value);
        // A value between two gaps is a stroke half a point long, else it would not be seen.
        let alone = previous.is_none() && values.get(index + 1).is_none_or(|next| next.is_nan());
        match previous {
            None if alone => write!(path, "M{index}.25 {y}h.5"),
            None => write!(path, "M{index}.5 {y}"),
            Some(before) => step(&mut path, y - before),
        }
        .expect("writing to a String cannot fail");
        previous = Some(y);
    }
    path
}

/// The area between the values and the near edge, gaps left out.
pub(super) fn area(axis: Axis, values: &[f64]) -> String {
    let mut path = String::with_capacity(values.len() * 5);
    let mut start = 0;
    while start < values.len() {
        if values[start].is_nan() {
            start += 1;
            continue;
        }
        let length = values[start..].iter().take_while(|value| !value.is_nan()).count();
        let mut before = down(axis, values[start]);
        write!(path, "M{start}.5 {HEIGHT}V{before}").expect("writing to a String cannot fail");
        for value in &values[start + 1..start + length] {
            let y = down(axis, *value);
            step(&mut path, y - before).expect("writing to a String cannot fail");
            before = y;
        }
        write!(path, "V{HEIGHT}z").expect("writing to a String cannot fail");
        start += length;
    }
    path
}

/// The area between `below` and `below` plus the values, which `below` then holds.
pub(super) fn layer(axis: Axis, below: &mut [f64], values: &[f64]) -> String {
    let mut path = String::with_capacity(values.len() * 10);
    let floor: Vec<_> = below.iter().map(|value| down(axis, *value)).collect();
    for (base, value) in below.iter_mut().zip(values) {
        *base += if value.is_finite() { value.max(0.0) } else { 0.0 };
    }
    let ceiling: Vec<_> = below.iter().map(|value| down(axis, *value)).collect();
    let Some((first, last)) = ceiling.first().zip(floor.last()) else { return path };
    write!(path, "M.5 {first}").expect("writing to a String cannot fail");
    for pair in ceiling.windows(2) {
        step(&mut path, pair[1] - pair[0]).expect("writing to a String cannot fail");
    }
    write!(path, "V{last}").expect("writing to a String cannot fail");
    for pair in floor.windows(2).rev() {
        let dy = pair[0] - pair[1];
        let space = if dy < 0 { "" } else { " " };
        write!(path, "l-1{space}{dy}").expect("writing to a String cannot fail");
    }
    path.push('z');
    path
}

/// A horizontal line across the plot.
pub(super) fn level(axis: Axis, value: f64, points: usize) -> String {
    format!("M0 {}H{points}", down(axis, value))
}

/// A horizontal line at each tick.
pub(super) fn grid(axis: Axis, points: usize) -> String {
    axis.ticks().into_iter().map(|tick| level(axis, tick, points)).collect()
}

/// One point to the right and `dy` down.
fn step(path: &mut String, dy: i32) -> std::fmt::Result {
    match dy {
        0 => write!(path, "h1"),
        dy if dy < 0 => write!(path, "l1{dy}"),
        dy => write!(path, "l1 {dy}"),
    }
}

fn down(axis: Axis, value: f64) -> i32 {
    ((1.0 - axis.place(value)) * f64::from(HEIGHT)).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const AXIS: Axis = Axis::Linear { max: 10.0, step: 5.0 };

    #[test]
    fn a_line_runs_through_the_middle_of_its_points_and_skips_gaps() {
        let nan = f64::NAN;
        assert_eq!(line(AXIS, &[0.0, 5.0, 5.0, 2.5]), "M0.5 1000l1-500h1l1 250");
        assert_eq!(line(AXIS, &[nan, 10.0, nan, 10.0, 0.0]), "M1.25 0h.5M3.5 0l1 1000");
        assert_eq!(line(AXIS, &[]), "");
    }

    #[test]
    fn layers_rest_on_what_is_below_them() {
        let mut below = vec![0.0; 2];
        assert_eq!(layer(AXIS, &mut below, &[5.0, 5.0]), "M.5 500h1V1000l-1 0z");
        assert_eq!(layer(AXIS, &mut below, &[5.0, 0.0]), "M.5 0l1 500V500l-1 0z");
        assert_eq!(below, [10.0, 5.0]);
    }

    #[test]
    fn areas_close_at_the_bottom_before_a_gap() {
        assert_eq!(area(AXIS, &[10.0, 10.0, f64::NAN]), "M0.5 1000V0h1V1000z");
    }
}
