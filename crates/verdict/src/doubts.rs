//! Every reason why a run cannot be trusted. A doubt needs a claim: the noise of a count is none.

mod bite;
mod capacity;
mod counts;

use goodput_runlog::{Ending, EventKind, TierWindow, Window};

use crate::frame::Frame;
use crate::generator::generator_doubts;
use crate::judge::{Seen, is_whole};
use crate::limits::{HEALTHY, HEALTHY_LAST, REQUESTS_MIN};
use crate::model::{Doubt, DoubtKind};
use crate::words::{duration, tally};

/// Every reason why this run cannot be trusted.
pub(crate) fn all(seen: &Seen<'_>) -> Vec<Doubt> {
    let frame = &seen.frame;
    let mut doubts = Vec::new();
    ending(frame, &mut doubts);
    // A run that ended before its trigger has nothing after it to judge.
    if frame.log.ending != Ending::Withheld {
        windows(frame, &mut doubts);
        samples(seen, &mut doubts);
        healthy_baseline(frame, &mut doubts);
        bite::doubts(frame, &mut doubts);
        capacity::doubts(frame, &mut doubts);
    }
    // Somebody else's load may be why a trigger was withheld.
    counts::doubts(frame, &mut doubts);
    doubts.extend(generator_doubts(&frame.log.integrity));
    for event in &frame.log.events {
        match &event.kind {
            EventKind::Doubt { what } => {
                raise(&mut doubts, DoubtKind::Engine, format!("at {}: {what}", event.at));
            }
            EventKind::ServerRestarted { tier } => {
                let text =
                    format!("the server `{tier}` started anew by itself, seen at {}", event.at);
                raise(&mut doubts, DoubtKind::ServerRestarted, text);
            }
            EventKind::ByOthers { tier, what, by } => {
                let by = if by.is_empty() { "somebody else" } else { by };
                let text =
                    format!("at {}: {by} acted on `{tier}`, and not this run: {what}", event.at);
                raise(&mut doubts, DoubtKind::ByOthers, text);
            }
            EventKind::FaultStarted { .. }
            | EventKind::FaultEnded { .. }
            | EventKind::LeverPulled { .. }
            | EventKind::TriggerWithheld { .. } => {}
        }
    }
    doubts
}

fn raise(doubts: &mut Vec<Doubt>, kind: DoubtKind, text: String) {
    doubts.push(Doubt { kind, text });
}

fn ending(frame: &Frame<'_>, doubts: &mut Vec<Doubt>) {
    for fault in &frame.log.integrity.faults_unreverted {
        let text = format!("the fault `{fault}` could not be confirmed to have ended");
        raise(doubts, DoubtKind::FaultUnreverted, text);
    }
    match frame.log.ending {
        Ending::Completed => {}
        Ending::Interrupted => {
            let text = format!("it was interrupted after {} s", frame.series.seconds);
            raise(doubts, DoubtKind::Interrupted, text);
        }
        Ending::Withheld => {
            let reasons = frame.log.events.iter().rev().find_map(|event| {
                let EventKind::TriggerWithheld { reason } = &event.kind else { return None };
                Some(reason.as_str())
            });
            let reason = reasons.unwrap_or("the run does not say why");
            raise(doubts, DoubtKind::Withheld, format!("the trigger was withheld: {reason}"));
        }
    }
}

/// Whether every window is there, and complete.
fn windows(frame: &Frame<'_>, doubts: &mut Vec<Doubt>) {
    let series = &frame.series;
    let planned = frame.scenario.duration.as_secs();
    let lacking = series.missing + planned.saturating_sub(series.seconds);
    if lacking > 0 && is_whole(frame.log) {
        let text = format!("{lacking} of the {planned} windows of one second are missing");
        raise(doubts, DoubtKind::MissingWindows, text);
    }
    let all = series.slice(0, series.seconds);
    let tiers_most = all.iter().map(|window| window.tiers.len()).max().unwrap_or_default();
    let blind = all.iter().filter(|window| window.tiers.len() < tiers_most).count();
    if blind > 0 {
        let text = format!("a server was not seen in {blind} of {} windows", all.len());
        raise(doubts, DoubtKind::MissingWindows, text);
    }
    let gap = tiers(all).map(|tier| tier.sample_gap).fold(0.0, f64::max);
    if gap > frame.rule.hold {
        let text = format!(
            "a server was not read for {gap:.0} s, longer than `hold` ({:.0} s)",
            frame.rule.hold
        );
        raise(doubts, DoubtKind::MissingWindows, text);
    }
}

/// Whether there is enough time, and enough requests in it.
fn samples(seen: &Seen<'_>, doubts: &mut Vec<Doubt>) {
    let frame = &seen.frame;
    let block = frame.block as f64;
    let calm = frame.baseline.map_or(0.0, |baseline| baseline.span.to - baseline.span.from);
    if calm + 1.0 < block {
        let text = format!(
            "there are {calm:.0} s for a baseline, and a block of {block:.0} s is needed{}",
            why_long(frame)
        );
        raise(doubts, DoubtKind::TooFewSamples, text);
    }
    let requests = frame.baseline.map_or(0.0, |b| b.offered * (b.span.to - b.span.from));
    if requests < REQUESTS_MIN {
        let text = format!("the baseline has {requests:.0} requests; {REQUESTS_MIN} are needed");
        raise(doubts, DoubtKind::TooFewSamples, text);
    }
    let Some(lacking) = seen.lacking().filter(|_| is_whole(frame.log)) else { return };
    let tail = frame.tail();
    let triggered = frame.trigger.is_some();
    let after = if triggered { "the trigger" } else { "the baseline" };
    let (life, within) = (frame.rule.life, frame.rule.within);
    // Only a trigger is waited for to be over for whoever met it.
    let why = if triggered && life > within.max(3.0 * block) {
        format!("a request may live {}", duration(life))
    } else if triggered && within > 3.0 * block {
        format!("`within` is {}", duration(within))
    } else {
        let blocks = if frame.trigger.is_some() { "three" } else { "two" };
        format!("{blocks} blocks of {block:.0} s are needed{}", why_long(frame))
    };
    let text = format!(
        "{} were judged after {after}, and {why}; run {} longer",
        duration(tail),
        duration(lacking)
    );
    raise(doubts, DoubtKind::TooShort, text);
}

/// Why a block is longer than `hold`, where it is.
fn why_long(frame: &Frame<'_>) -> String {
    if frame.block as f64 > frame.rule.hold {
        format!(
            " ({:.1} requests a second, a hundred a block)",
            frame.load.before.min(frame.load.end)
        )
    } else {
        String::new()
    }
}

/// Whether the baseline is claimed to be unhealthy.
fn healthy_baseline(frame: &Frame<'_>, doubts: &mut Vec<Doubt>) {
    let Some(baseline) = frame.baseline else { return };
    let (from, to) = (baseline.span.from as u64, baseline.span.to as u64);
    let last = to.saturating_sub(frame.block).max(from);
    let high = |from, to| frame.share(from, to).map_or(1.0, |share| share.high);
    let (whole, end) = (high(from, to), high(last, to));
    if whole >= HEALTHY && end >= HEALTHY_LAST {
        return;
    }
    let (good, arrived) = frame.counts(last, to);
    let text = format!(
        "the baseline is not healthy: {:.1} % of its requests ended well (at least {:.0} % are needed), \
         and {:.1} % in its last {:.0} s (at least {:.0} %); attempts ended: {}",
        baseline.ratio * 100.0,
        HEALTHY * 100.0,
        good / arrived.max(1.0) * 100.0,
        to - last,
        HEALTHY_LAST * 100.0,
        tally(frame.calm().iter().flat_map(|window| &window.client.outcomes))
    );
    raise(doubts, DoubtKind::BaselineNotHealthy, text);
}

pub(crate) fn tiers(windows: &[Window]) -> impl Iterator<Item = &TierWindow> {
    windows.iter().flat_map(|window| &window.tiers)
}
