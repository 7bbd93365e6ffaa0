use std::time::Duration;

use goodput_clock::{Ratio, Timestamp};

use super::say;
use crate::model::{Expectations, ExpectedVerdict, Load, PlannedFault, PlannedLever, trigger_span};
use crate::parse::{Path, Reader, written};

/// Resolves `[expect]`.
pub(super) fn resolve(
    reader: &mut Reader<'_, '_>,
    run: Option<Duration>,
    load: Option<&Load>,
    faults: Option<&[PlannedFault]>,
    levers: Option<&[PlannedLever]>,
) -> Option<Expectations> {
    let path = Path::root().key("expect");
    let expect: written::Expect = reader.section(&path, &[]);
    let goodput_ratio = match expect.goodput_ratio {
        Some(ratio) if ratio == Ratio::ZERO => {
            reader.problem(&path.key("goodput_ratio"), "must be above 0");
            ratio
        }
        Some(ratio) => ratio,
        None => Ratio::new(DEFAULT_RATIO).unwrap_or(Ratio::ONE),
    };
    let hold = expect.hold.unwrap_or(DEFAULT_HOLD);
    if hold < SHORTEST_HOLD {
        reader.problem(&path.key("hold"), "must be at least 1s: windows are one second long");
    }
    let (run, span) = (run?, trigger_span(load?, faults?, levers?));
    let verdict = expect.verdict.unwrap_or_else(|| default_verdict(span));
    check_verdict(reader, &path.key("verdict"), verdict, span);
    check_hold(reader, &path.key("hold"), hold, run, span);
    let left = run.saturating_sub(span.map_or(Duration::ZERO, |(_, end)| end.elapsed()));
    if let Some(within) = expect.within.filter(|within| *within > left && span.is_some()) {
        let (within, left) = (say(within), say(left));
        let message =
            format!("the run ends {left} after the last fault, so {within} cannot be seen");
        reader.problem(&path.key("within"), message);
    }
    let within = expect.within.unwrap_or_else(|| DEFAULT_WITHIN.min(left));
    Some(Expectations { verdict, goodput_ratio, hold, within })
}

/// When the first fault or spike begins and the last one ends.
type Span = Option<(Timestamp, Timestamp)>;

const fn default_verdict(span: Span) -> ExpectedVerdict {
    if span.is_some() { ExpectedVerdict::Recovered } else { ExpectedVerdict::Steady }
}

fn check_verdict(reader: &mut Reader<'_, '_>, path: &Path, verdict: ExpectedVerdict, span: Span) {
    match (verdict, span) {
        (ExpectedVerdict::Steady, Some(_)) => reader.problem_with(
            path,
            "`steady` is the verdict of a run without a fault or a spike",
            "verdict = \"recovered\"",
        ),
        (
            ExpectedVerdict::Recovered
            | ExpectedVerdict::SlowRecovery
            | ExpectedVerdict::Metastable,
            None,
        ) => reader.problem_with(
            path,
            "there is neither a fault nor a spike to recover from",
            "verdict = \"steady\"",
        ),
        // What comes and goes, and what is down for a cause of its own, needs no trigger.
        (ExpectedVerdict::Unstable | ExpectedVerdict::NotRecovered, _)
        | (ExpectedVerdict::Steady, None)
        | (
            ExpectedVerdict::Recovered
            | ExpectedVerdict::SlowRecovery
            | ExpectedVerdict::Metastable,
            Some(_),
        ) => {}
    }
}

/// Checks that the window fits where it is looked at: before the first fault, and after the last.
fn check_hold(reader: &mut Reader<'_, '_>, path: &Path, hold: Duration, run: Duration, span: Span) {
    let place = match span {
        None if run < hold => format!("the run lasts only {}", say(run)),
        Some((start, _)) if start.elapsed() < hold => {
            format!("only {} pass before the first fault", say(start.elapsed()))
        }
        Some((_, end)) => match run.checked_sub(end.elapsed()) {
            Some(left) if left < hold => {
                format!("only {} are left after the last fault", say(left))
            }
            // A fault beyond the run's end is refused where it stands.
            Some(_) | None => return,
        },
        None => return,
    };
    reader.problem(path, format!("{place}, too little for a window of {}", say(hold)));
}

const DEFAULT_RATIO: f64 = 0.95;
const DEFAULT_HOLD: Duration = Duration::from_secs(10);
const DEFAULT_WITHIN: Duration = Duration::from_mins(2);
const SHORTEST_HOLD: Duration = Duration::from_secs(1);
