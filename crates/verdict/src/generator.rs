//! Whether the load generator did what the schedule asked, when it asked for it.

use goodput_runlog::Integrity;

use crate::limits::{LATE, OFF_SCHEDULE, UNSENT};
use crate::model::{Doubt, DoubtKind};

/// Why what a load generator measured cannot be trusted; empty where it can.
pub fn generator_doubts(integrity: &Integrity) -> Vec<Doubt> {
    let (scheduled, offered) = (integrity.scheduled as f64, integrity.offered as f64);
    let mut doubts = Vec::new();
    let mut raise = |kind, text| doubts.push(Doubt { kind, text });
    let off = (offered - scheduled).abs();
    // A single request is no sign of a lost schedule, however short that is.
    if off > 1.0 && off > OFF_SCHEDULE * scheduled {
        let text = format!("{offered} requests were offered and {scheduled} were scheduled");
        raise(DoubtKind::OfferedOffSchedule, text);
    }
    let (lag, timeout) = (integrity.send_lag_p99_wall, integrity.smallest_timeout_wall);
    if lag > LATE * timeout {
        let text = format!(
            "the load generator was late: send lag p99 is {:.1} ms, above a tenth of the smallest \
             time-out ({:.1} ms), in wall time",
            lag * 1e3,
            timeout * 1e3
        );
        raise(DoubtKind::GeneratorLate, text);
    }
    if integrity.unsent as f64 > UNSENT * offered {
        let text = format!(
            "{} of {offered} requests found no connection within the generator's own caps",
            integrity.unsent
        );
        raise(DoubtKind::Unsent, text);
    }
    doubts
}
