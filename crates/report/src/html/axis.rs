//! Axes: where a value stands between the edges of a plot, and which values are written beside it.

/// A scale from a value to a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Axis {
    /// From 0 to `max`, which is a multiple of `step`.
    Linear {
        /// The value at the far edge.
        max: f64,
        /// The distance of two ticks.
        step: f64,
    },
    /// Whole decades: from 10 to the power `low` to 10 to the power `high`.
    Log {
        /// The exponent at the near edge.
        low: i32,
        /// The exponent at the far edge.
        high: i32,
    },
}

impl Axis {
    /// From 0 to the first round value that is not below `largest`.
    pub(crate) fn linear(largest: f64) -> Self {
        let largest = if largest.is_finite() && largest > 0.0 { largest } else { 1.0 };
        let step = round_step(largest / 4.0);
        Self::Linear { max: (largest / step - 1e-9).ceil() * step, step }
    }

    /// The decades that hold `smallest` to `largest`: at least two, at most eight.
    pub(crate) fn log(smallest: f64, largest: f64) -> Self {
        let exponent = |value: f64| value.max(1e-6).log10();
        let high = (exponent(largest) - 1e-9).ceil() as i32;
        let low = (exponent(smallest) + 1e-9).floor() as i32;
        Self::Log { low: low.clamp(high - 8, high - 2), high }
    }

    /// Time from 0 to `seconds`, with at most six labels.
    pub(crate) fn time(seconds: f64) -> Self {
        const STEPS: [f64; 16] = [
            1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0,
            3600.0, 7200.0, 14400.0,
        ];
        let max = if seconds.is_finite() && seconds > 0.0 { seconds } else { 1.0 };
        let fits = |step: &f64| max / step <= 6.0;
        let step = STEPS.into_iter().find(fits).unwrap_or_else(|| round_step(max / 6.0));
        Self::Linear { max, step }
    }

    /// Where `value` stands, from 0 at the near edge to 1 at the far one; what is outside stands at
    /// the edge.
    pub(crate) fn place(self, value: f64) -> f64 {
        let place = match self {
            Self::Linear { max, .. } => value / max,
            Self::Log { low, high } => {
                (value.max(1e-9).log10() - f64::from(low)) / f64::from(high - low)
            }
        };
        place.clamp(0.0, 1.0)
    }

    /// The values that are written beside the axis.
    pub(crate) fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { max, step } => {
                let count = (max / step + 1e-6).floor() as usize;
                (0..=count).map(|index| index as f64 * step).collect()
            }
            Self::Log { low, high } => {
                let every = if high - low > 4 { 2 } else { 1 };
                (low..=high)
                    .filter(|exponent| (high - exponent) % every == 0)
                    .map(|exponent| 10_f64.powi(exponent))
                    .collect()
            }
        }
    }
}

/// The first of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powi(least.log10().floor() as i32);
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|f| f * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_ends_at_a_round_value_not_far_above_the_largest() {
        assert_eq!(Axis::linear(320.0).ticks(), [0.0, 100.0, 200.0, 300.0, 400.0]);
        assert_eq!(Axis::linear(100.0).ticks(), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(Axis::linear(4.0).ticks(), [0.0, 1.0, 2.0, 3.0, 4.0]);
        for largest in [0.0, f64::NAN, 1e-9, 0.3, 7.0, 1e9] {
            let Axis::Linear { max, .. } = Axis::linear(largest) else { panic!("not linear") };
            assert!(max > 0.0 && (largest.is_nan() || max >= largest), "{largest}");
            assert!((2..=6).contains(&Axis::linear(largest).ticks().len()), "{largest}");
        }
    }

    #[test]
    fn a_log_axis_holds_whole_decades() {
        assert_eq!(Axis::log(0.002, 130.0), Axis::Log { low: -3, high: 3 });
        assert_eq!(Axis::log(1.0, 1.0), Axis::Log { low: -2, high: 0 });
        let axis = Axis::log(0.01, 10.0);
        assert_eq!(axis.ticks().len(), 4);
        assert!((axis.place(0.1) - 1.0 / 3.0).abs() < 1e-9);
        assert!(axis.place(0.0).abs() < 1e-9 && (axis.place(1e9) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn time_has_few_labels_at_round_seconds() {
        assert_eq!(Axis::time(240.0).ticks(), [0.0, 60.0, 120.0, 180.0, 240.0]);
        for seconds in [0.5, 24.0, 90.0, 3600.0, 86_400.0, 1e7] {
            assert!(Axis::time(seconds).ticks().len() <= 8, "{seconds}");
        }
    }
}
