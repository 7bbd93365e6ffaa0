//! What is said of a run.

use goodput_runlog::{EngineKind, EventKind};

use crate::cause::may_be_overload;
use crate::convergence::Claim;
use crate::course::Course;
use crate::frame::Frame;
use crate::judge::{Seen, is_open};
use crate::limits::{AMPLIFICATION, MORE_LOAD};
use crate::model::{Cause, Doubt, DoubtKind, Verdict};

/// The outcome in one sentence.
pub(crate) fn summary(
    seen: &Seen<'_>,
    verdict: Verdict,
    cause: Option<Cause>,
    doubts: &[Doubt],
) -> String {
    let share = seen.frame.rule.goodput_ratio * 100.0;
    match verdict {
        Verdict::Steady => format!("goodput stayed at {share:.0} % of the baseline or above"),
        Verdict::Recovered => recovered(seen),
        Verdict::SlowRecovery => slow(seen),
        Verdict::Unstable => unstable(seen),
        Verdict::Metastable => metastable(seen),
        Verdict::NotRecovered => not_recovered(seen, cause.unwrap_or(Cause::Unknown)),
        Verdict::Inconclusive => {
            let texts: Vec<&str> = doubts.iter().map(|doubt| doubt.text.as_str()).collect();
            if doubts.iter().all(|doubt| doubt.kind == DoubtKind::TooShort) {
                format!("the run does not tell: {}", texts.join("; "))
            } else if doubts.iter().any(|doubt| doubt.kind == DoubtKind::Withheld) {
                texts.join("; ")
            } else {
                format!("the run cannot be trusted: {}", texts.join("; "))
            }
        }
    }
}

fn recovered(seen: &Seen<'_>) -> String {
    let after = since_trigger(seen, seen.course.back);
    let of = if seen.frame.admitted_only { ", of what is admitted" } else { "" };
    if after <= 0.0 && !left_the_band(seen) {
        return format!("the trigger was absorbed: goodput did not leave its band{of}");
    }
    match seen.course.deep.last() {
        Some(stretch) => format!(
            "goodput was back {after:.0} s after the trigger's end, was lost once more, and is back for \
             good since {:.0} s after it{of}",
            stretch.to - seen.frame.origin
        ),
        None => format!("goodput was back {after:.0} s after the trigger's end{of}"),
    }
}

/// Whether goodput left its band while the trigger lasted.
fn left_the_band(seen: &Seen<'_>) -> bool {
    let frame = &seen.frame;
    let Some(trigger) = frame.trigger else { return true };
    let from = trigger.from.floor() as u64;
    let to = (trigger.to.ceil() as u64).max(from + frame.block).min(frame.end);
    frame.ratio(from, to).is_some_and(|ratio| ratio < frame.rule.needed)
}

fn slow(seen: &Seen<'_>) -> String {
    if !seen.course.down {
        let settled = since_trigger(seen, seen.course.back_for_good());
        return format!("goodput was back only {settled:.0} s after the trigger's end");
    }
    let convergence = &seen.convergence;
    let why = match (convergence.claim, convergence.attempts, &seen.bottleneck) {
        (Claim::NeverMore, _, Some(bottleneck)) => format!(
            "even if every request made all its attempts, `{}` could serve them",
            bottleneck.name
        ),
        (Claim::LessThanCapacity, Some(attempts), Some(bottleneck)) => format!(
            "{:.1} attempts a second reach `{}`, which can serve {:.1}",
            attempts.value, bottleneck.name, bottleneck.capacity
        ),
        _ => format!(
            "the backlog of {:.0} changes by {:+.1} a second",
            convergence.backlog,
            convergence.slope.unwrap_or_default()
        ),
    };
    let left = convergence
        .left
        .map_or_else(String::new, |left| format!("; it is gone in about {}", duration(left.value)));
    format!("goodput is not back yet, but it comes back: {why}{left}")
}

fn unstable(seen: &Seen<'_>) -> String {
    let Course { deep, share, .. } = &seen.course;
    let triggered = seen.frame.trigger.is_some();
    // Since a single stretch it is whole, which is not what is amiss.
    let told = share.filter(|share| share.value < seen.frame.rule.needed || deep.len() > 1);
    let pooled = told.map_or_else(String::new, |share| {
        format!(
            ": {:.1} % of the requests since then ended well, {:.1} % are needed",
            share.value * 100.0,
            seen.frame.rule.needed * 100.0
        )
    });
    let times = match deep.len() {
        0 => "below its band".to_owned(),
        1 => format!("lost once{}", if triggered { " more" } else { "" }),
        count => format!("lost {count} times{}", if triggered { " more" } else { "" }),
    };
    let near = if amplifies(seen) {
        ""
    } else {
        ", as it does near its capacity; nothing points to a failure that sustains itself"
    };
    let back = if triggered { "was back after the trigger and " } else { "" };
    format!("goodput {back}comes and goes ({times}){pooled}{near}")
}

/// Whether requests make more attempts than in the baseline since the trigger.
fn amplifies(seen: &Seen<'_>) -> bool {
    let frame = &seen.frame;
    let factor = frame.amplification(frame.start(), frame.end);
    factor.is_some_and(|factor| factor >= AMPLIFICATION)
}

fn metastable(seen: &Seen<'_>) -> String {
    let effects: Vec<_> = seen.sustaining.iter().map(|effect| effect.text.as_str()).collect();
    let gone = match seen.frame.trigger {
        Some(_) => "the trigger is gone and goodput stays down",
        None => "goodput went down by itself and stays down",
    };
    let balance = match (&seen.bottleneck, seen.convergence.attempts) {
        (Some(bottleneck), Some(attempts)) => format!(
            ": {:.0} attempts a second reach `{}`, which can serve {:.0}",
            attempts.value, bottleneck.name, bottleneck.capacity
        ),
        _ => String::new(),
    };
    format!("{gone}{balance}; {}", effects.join("; "))
}

fn not_recovered(seen: &Seen<'_>, cause: Cause) -> String {
    let frame = &seen.frame;
    let went = if frame.trigger.is_some() { "goodput is not back" } else { "goodput went down" };
    match cause {
        Cause::Overloaded => format!(
            "{went}: {:.1} requests a second are offered ({:.1} in the baseline), and {:.1} can be \
             served",
            frame.load.end,
            frame.load.before,
            crate::bottleneck::least_capacity(frame).unwrap_or_default()
        ),
        Cause::Down => format!("{went}: nobody answers ({})", worst_outcomes(seen)),
        Cause::Damaged => {
            format!("{went}: answers are wrong, and nothing waits ({})", worst_outcomes(seen))
        }
        Cause::Unknown if may_be_overload(frame) => format!(
            "{went}: overload or metastable, the capacity is not seen; {:.1} requests a second are \
             offered, and {:.1} were in the baseline",
            frame.load.end, frame.load.before
        ),
        Cause::Unknown => {
            let looks = seen.sustaining.first().map_or_else(String::new, |effect| {
                format!("; it looks metastable: {}", effect.text)
            });
            format!(
                "{went}, and what limits the service is not seen ({}){looks}",
                worst_outcomes(seen)
            )
        }
    }
}

/// How attempts ended in the last blocks, the most frequent first.
fn worst_outcomes(seen: &Seen<'_>) -> String {
    tally(seen.frame.last_windows().iter().flat_map(|window| &window.client.outcomes))
}

/// Counts by name, the most frequent first, such as `812 × refused, 4 × 503`.
pub(crate) fn tally<'a>(counts: impl Iterator<Item = (&'a String, &'a u64)>) -> String {
    let mut sums = std::collections::BTreeMap::new();
    for (name, count) in counts {
        *sums.entry(name.as_str()).or_insert(0_u64) += count;
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, count)| *count > 0).collect();
    sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let said: Vec<_> =
        sums.iter().take(4).map(|(name, count)| format!("{count} × {name}")).collect();
    if said.is_empty() { "no attempt ended".to_owned() } else { said.join(", ") }
}

/// Why a run that can be trusted says nothing.
pub(crate) fn undecided(seen: &Seen<'_>, longer: Option<f64>) -> Doubt {
    let Seen { frame, course, .. } = seen;
    let what = if course.down {
        "goodput is down, and whether it comes back cannot be told yet".to_owned()
    } else if let Some(share) = course.share.filter(|share| is_open(*share, frame.rule.needed)) {
        format!(
            "{:.1} % of the requests ended well (between {:.1} and {:.1} %), and {:.1} % are needed",
            share.value * 100.0,
            share.low * 100.0,
            share.high * 100.0,
            frame.rule.needed * 100.0
        )
    } else if course.back.is_some() && !course.settled {
        "goodput was back and has not settled".to_owned()
    } else {
        "goodput is neither back nor down beyond doubt".to_owned()
    };
    let longer =
        longer.map_or_else(String::new, |longer| format!("; run {} longer", duration(longer)));
    Doubt { kind: DoubtKind::TooShort, text: format!("{what}{longer}") }
}

/// What is told beside the verdict.
pub(crate) fn notes(seen: &Seen<'_>, verdict: Verdict) -> Vec<String> {
    let Seen { frame, course, .. } = seen;
    let mut notes = Vec::new();
    if course.dips.count > 0 {
        notes.push(format!(
            "{} {} below the band, {} s in all, the lowest at {:.1} %: too short or too shallow to be \
             judged",
            course.dips.count,
            if course.dips.count == 1 { "dip" } else { "dips" },
            course.dips.seconds,
            course.dips.lowest * 100.0
        ));
    }
    if frame.admitted_only {
        let turned_away = frame.series.turned_away(frame.start(), frame.end);
        let since = if frame.trigger.is_some() { "trigger" } else { "baseline" };
        notes.push(format!(
            "a lever still turns users away: {turned_away} requests since the {since}; the share is of \
             those who are admitted"
        ));
    }
    let (before, end) = (frame.load.before, frame.load.end);
    if verdict != Verdict::Steady && (end > MORE_LOAD * before || end * MORE_LOAD < before) {
        notes.push(format!(
            "the load is not as before: {end:.1} requests a second at the end, {before:.1} in the baseline"
        ));
    }
    if !course.down && amplifies(seen) && grows(seen) {
        notes.push(
            "attempts per request and what is in flight grow although goodput holds: retries pile up"
                .to_owned(),
        );
    }
    if let Some(note) = health(seen, verdict) {
        notes.push(note);
    }
    notes
}

/// Whether what is in flight at the end is clearly more than half-way through the tail.
fn grows(seen: &Seen<'_>) -> bool {
    let frame = &seen.frame;
    let (start, end) = (frame.start(), frame.end);
    let half = start + end.saturating_sub(start) / 2;
    let average = |from, to| {
        let windows = frame.series.slice(from, to);
        let sum: u64 = windows.iter().map(|window| window.client.requests_in_flight).sum();
        sum as f64 / windows.len().max(1) as f64
    };
    let (earlier, later) = (average(start, half), average(half, end));
    later > 1.2 * earlier + 3.0 * earlier.max(1.0).sqrt()
}

/// Whether every health check passed: the control planes answered throughout. Worth a word where goodput
/// did not.
fn health(seen: &Seen<'_>, verdict: Verdict) -> Option<String> {
    let failed = matches!(
        verdict,
        Verdict::SlowRecovery | Verdict::Unstable | Verdict::Metastable | Verdict::NotRecovered
    );
    let windows = seen.frame.series.slice(0, seen.frame.series.seconds);
    let watched = windows.iter().all(|window| !window.tiers.is_empty()) && !windows.is_empty();
    let on_sockets = seen.frame.log.meta.engine == EngineKind::Rig;
    (failed && watched && on_sockets).then(|| {
        "every health check passed throughout: the control planes answered each poll".to_owned()
    })
}

/// From the last lever before goodput was back until it was; none where no lever was pulled.
pub(crate) fn since_lever(frame: &Frame<'_>, course: &Course) -> Option<f64> {
    let back = course.back? as f64;
    let pulled = frame.log.events.iter().filter(|event| {
        matches!(event.kind, EventKind::LeverPulled { .. })
            && event.at.as_secs_f64() >= frame.origin
    });
    let last = pulled.map(|event| event.at.as_secs_f64()).rfind(|at| *at <= back + 1.0)?;
    Some((back - last).max(0.0))
}

fn since_trigger(seen: &Seen<'_>, second: Option<u64>) -> f64 {
    second.map_or(0.0, |second| (second as f64 - seen.frame.origin).max(0.0))
}

/// A span of time for people.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 600.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7_200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.0} h", seconds / 3_600.0)
    }
}
