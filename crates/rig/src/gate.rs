//! When the gate before the trigger is asked.

use std::time::{Duration, Instant};

use goodput_clock::Scale;
use goodput_scenario::Scenario;

/// The moment before a run's trigger at which it is still time to withhold it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate {
    /// From when the gate is asked, and until when; none where it was, or where there is no trigger.
    open: Option<(Instant, Instant)>,
}

impl Gate {
    /// The gate of a run that began at `epoch`.
    pub(crate) fn before(scenario: &Scenario, epoch: Instant, scale: Scale) -> Self {
        let open = scenario.trigger_span().map(|(trigger, _)| {
            let calm = scale.to_wall(trigger.elapsed());
            let trigger = epoch + calm;
            (
                trigger.checked_sub(AHEAD.min(calm / 4)).unwrap_or(trigger),
                trigger.checked_sub(TOO_LATE.min(calm / 8)).unwrap_or(trigger),
            )
        });
        Self { open }
    }

    /// Whether it is to be asked now; true once. Where its time has passed by, since the machine was too
    /// busy, the trigger goes in: it is never put off.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let Some((_, until)) = self.open.filter(|(from, _)| now >= *from) else { return false };
        self.open = None;
        now < until
    }
}

/// How long before the trigger the gate is asked, in wall time: time enough to stop the timeline, and
/// little against the baseline.
const AHEAD: Duration = Duration::from_millis(200);
/// How shortly before the trigger the timeline cannot be stopped for sure any more, in wall time.
const TOO_LATE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use goodput_scenario::Plan;
    use goodput_test_support::{CALM, SHORT_CUT};

    use super::*;

    fn gate(text: &str, epoch: Instant, speed: f64) -> Gate {
        let scenario = Plan::parse("gate.toml", text).unwrap().scenario;
        Gate::before(&scenario, epoch, Scale::new(speed).unwrap())
    }

    #[test]
    fn it_is_asked_once_shortly_before_the_trigger() {
        let epoch = Instant::now();
        // The cut at 15 s comes after 1.5 s.
        let mut gate = gate(SHORT_CUT, epoch, 10.0);
        assert!(!gate.is_due(epoch + Duration::from_millis(1_299)));
        assert!(gate.is_due(epoch + Duration::from_millis(1_300)));
        assert!(!gate.is_due(epoch + Duration::from_millis(1_310)));
    }

    #[test]
    fn a_gate_whose_time_has_passed_by_puts_nothing_off() {
        let epoch = Instant::now();
        assert!(!gate(SHORT_CUT, epoch, 10.0).is_due(epoch + Duration::from_millis(1_490)));
        assert!(gate(SHORT_CUT, epoch, 100.0).is_due(epoch + Duration::from_millis(120)));
        assert!(!gate(CALM, epoch, 10.0).is_due(epoch + Duration::from_mins(1)));
    }
}
