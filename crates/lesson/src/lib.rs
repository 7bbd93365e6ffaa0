//! Five small models of metastable failure, each exact and each with its picture as text.
//!
//! They are for a reader who wants to follow every step with a pencil: whole seconds, whole requests,
//! nothing random. The engines do not use them, and they use no policy; what they show at this scale
//! the simulator and the rig show in full.
//!
//! | lesson | model | what it shows |
//! |---|---|---|
//! | 1 | [`Steps`] | a cut of 11 s is absorbed, one of 12 s is permanent |
//! | 2 | [`Steps`] | a stall sticks at 30 % utilisation, and what gets out of it |
//! | 3 | [`Naive`] | refusing what cannot be served keeps goodput, offering it again loses it |
//! | 4 | [`Pool`] | reusing the newest connection prefers the slow worker, for good |
//! | 5 | [`Band`] | where a system is vulnerable, and why it returns at a lower load than it failed at |

mod band;
mod picture;
mod pool;
mod reoffer;
mod steps;
mod texts;

pub use band::{Band, Factor};
pub use pool::{Pool, PoolState, Reuse};
pub use reoffer::{Naive, Spell};
pub use steps::{Cut, Second, Steps};

/// A lesson, ready to be printed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Lesson {
    /// Its number, from 1.
    pub number: usize,
    /// What it is about, in a few words.
    pub title: &'static str,
    /// The rules, the pictures and the figures; lines of at most 100 columns.
    pub text: String,
}

impl Lesson {
    /// The titles, the first lesson first.
    pub const TITLES: [&str; 5] = [
        "A short cut of capacity becomes a permanent outage",
        "A server that is put back as it was",
        "Offering again against refusing",
        "A pool that prefers the slow worker",
        "Stable, vulnerable, metastable: the band",
    ];

    /// The lesson of this number, from 1; none where there is no such lesson.
    ///
    /// ```
    /// use goodput_lesson::Lesson;
    ///
    /// let first = Lesson::of(1).unwrap();
    /// assert!(first.text.contains("cut of 12 s"));
    /// assert_eq!(Lesson::of(6), None);
    /// ```
    pub fn of(number: usize) -> Option<Self> {
        let title = Self::TITLES.get(number.checked_sub(1)?)?;
        let text = match number {
            1 => texts::cut(),
            2 => texts::stall(),
            3 => texts::reoffer(),
            4 => texts::pool(),
            _ => texts::band(),
        };
        Some(Self { number, title, text: text.trim_end().to_owned() + "\n" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lesson_has_a_picture_that_fits_a_terminal() {
        for number in 1..=Lesson::TITLES.len() {
            let lesson = Lesson::of(number).unwrap();
            assert_eq!(lesson.number, number);
            assert!(lesson.text.lines().count() > 15, "{}", lesson.text);
            assert!(lesson.text.contains(['█', '▄', '━']), "{}", lesson.text);
            let widest = lesson.text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= 100, "{widest}");
        }
    }

    #[test]
    fn there_is_no_lesson_beyond_the_last_or_before_the_first() {
        assert_eq!((Lesson::of(0), Lesson::of(Lesson::TITLES.len() + 1)), (None, None));
    }
}
