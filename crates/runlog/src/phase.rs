use goodput_clock::Timestamp;

/// Where a second lies against the trigger of a run (its faults and load spikes).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    /// Before the trigger, or in a run without one.
    Baseline,
    /// While the trigger lasts, in part at least.
    Fault,
    /// Wholly after its end.
    After,
}

impl Phase {
    /// The phase of the second that starts at `second`, where the trigger lasts from the one time to the
    /// other.
    pub fn of(second: u64, trigger: Option<(Timestamp, Timestamp)>) -> Self {
        let (begin, end) = (Timestamp::from_secs(second), Timestamp::from_secs(second + 1));
        match trigger {
            Some((_, to)) if begin >= to => Self::After,
            Some((from, _)) if end > from => Self::Fault,
            _ => Self::Baseline,
        }
    }

    /// The name in files and displays.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Fault => "fault",
            Self::After => "after",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_that_the_trigger_touches_belongs_to_it() {
        let trigger = Some((Timestamp::from_secs_f64(60.5), Timestamp::from_secs_f64(80.5)));
        let of = |second| Phase::of(second, trigger);
        assert_eq!((of(59), of(60)), (Phase::Baseline, Phase::Fault));
        assert_eq!((of(80), of(81)), (Phase::Fault, Phase::After));
        assert_eq!(Phase::of(100, None), Phase::Baseline);
    }
}
