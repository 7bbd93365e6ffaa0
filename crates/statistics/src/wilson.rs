/// The Wilson score interval of a share, at 95 %: what the true share may be where `hits` of `runs`
/// were hits. The whole range from 0 to 1 where there are no runs.
///
/// # Source
///
/// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927. It keeps
/// within 0 to 1 and means something at shares of 0 and 1, where the usual interval has no width.
pub fn wilson(hits: u32, runs: u32) -> (f64, f64) {
    wilson_at(f64::from(hits.min(runs)), f64::from(runs), Z95)
}

/// The Wilson score interval of a share with another confidence: `z` is the quantile of the normal
/// distribution on each side.
pub fn wilson_at(hits: f64, runs: f64, z: f64) -> (f64, f64) {
    if runs <= 0.0 {
        return (0.0, 1.0);
    }
    let share = (hits / runs).clamp(0.0, 1.0);
    let square = z * z;
    let centre = share + square / (2.0 * runs);
    let spread = z * (share * (1.0 - share) / runs + square / (4.0 * runs * runs)).sqrt();
    let scale = 1.0 + square / runs;
    // At the ends the roots are exact, which rounding would miss.
    let low = if hits <= 0.0 { 0.0 } else { ((centre - spread) / scale).max(0.0) };
    let high = if hits >= runs { 1.0 } else { ((centre + spread) / scale).min(1.0) };
    (low, high)
}

/// The 97.5 % quantile of the normal distribution.
const Z95: f64 = 1.959_963_984_540_054;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_tables_and_means_something_at_the_ends() {
        for (hits, runs, low, high) in [
            (5, 10, 0.2366, 0.7634),
            (0, 10, 0.0, 0.2775),
            (10, 10, 0.7225, 1.0),
            (1, 100, 0.0018, 0.0545),
        ] {
            let (from, to) = wilson(hits, runs);
            assert!(
                (from - low).abs() < 1e-4 && (to - high).abs() < 1e-4,
                "{hits}/{runs}: {from}–{to}"
            );
        }
        assert_eq!(wilson(0, 0), (0.0, 1.0));
    }
}
