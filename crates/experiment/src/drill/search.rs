//! The least number that works, on a grid from mild to strong.

use goodput_scenario::Scenario;

use super::Terms;
use super::action::Unit;

/// The numbers that are tried, the mildest at index 0 and the strongest at index `steps`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    mildest: f64,
    pub(crate) step: f64,
    pub(crate) steps: u32,
}

impl Range {
    /// Durations from 1 s to the longest, shares from 99 % to nothing, multiples to twice the load with
    /// all of its retries.
    pub(crate) fn of(unit: Unit, scenario: &Scenario, terms: &Terms) -> Self {
        match unit {
            Unit::Seconds => {
                Self { mildest: 1.0, step: 1.0, steps: (terms.longest.as_secs().max(2) - 1) as u32 }
            }
            Unit::Share => Self { mildest: 0.99, step: -0.01, steps: 99 },
            Unit::Times => {
                let most = 2.0 * (scenario.max_attempts() as f64).clamp(1.0, 100.0);
                Self { mildest: 1.1, step: 0.1, steps: ((most - 1.1) / 0.1).round() as u32 }
            }
        }
    }

    /// The number at this index.
    pub(crate) fn at(&self, index: u32) -> f64 {
        // Rounded to the step, so that what is tried is what is written.
        let scale = (1.0 / self.step.abs()).round();
        ((self.mildest + self.step * f64::from(index)) * scale).round() / scale
    }
}

/// The first index up to `last` at which something works that goes on working after it; none where it
/// does not work at the last.
pub(crate) fn least<E>(
    last: u32,
    mut works: impl FnMut(u32) -> Result<bool, E>,
) -> Result<Option<u32>, E> {
    if !works(last)? {
        return Ok(None);
    }
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if works(middle)? { high = middle } else { low = middle + 1 }
    }
    Ok(Some(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_works_is_found_with_few_tries() {
        for wanted in [0, 1, 63, 99, 100] {
            let mut tries = 0;
            let found = least(100, |index| {
                tries += 1;
                Ok::<_, ()>(index >= wanted)
            });
            assert_eq!(found, Ok(Some(wanted)));
            assert!(tries <= 9, "{tries}");
        }
    }

    #[test]
    fn where_the_strongest_does_not_work_there_is_none_after_one_try() {
        let mut tries = 0;
        let found = least(100, |_| {
            tries += 1;
            Ok::<_, ()>(false)
        });
        assert_eq!((found, tries), (Ok(None), 1));
    }

    #[test]
    fn what_is_tried_is_what_is_written() {
        let share = Range { mildest: 0.99, step: -0.01, steps: 99 };
        assert_eq!(
            (share.at(0).to_bits(), share.at(69).to_bits()),
            (0.99_f64.to_bits(), 0.3_f64.to_bits())
        );
        assert!(share.at(99).abs() < 1e-12);
        let times = Range { mildest: 1.1, step: 0.1, steps: 69 };
        assert_eq!(times.at(22).to_bits(), 3.3_f64.to_bits());
    }
}
