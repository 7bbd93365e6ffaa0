use std::cmp::Reverse;
use std::collections::BTreeMap;

use goodput_runlog::{Ending, Event, EventKind, Figures, RunLog, TierWindow, Window};
use goodput_scenario::Scenario;

use crate::generator::generator_doubts;
use crate::limits::HEALTHY;
use crate::model::{Baseline, Doubt, DoubtKind, PhaseFigures, Rule, Span};
use crate::series::Series;
use crate::trigger;

/// What is known of a run when its doubts are raised and its evidence is listed.
pub(crate) struct Case<'a> {
    pub(crate) log: &'a RunLog,
    pub(crate) scenario: &'a Scenario,
    pub(crate) series: &'a Series<'a>,
    pub(crate) rule: Rule,
    pub(crate) trigger: Option<Span>,
    pub(crate) baseline: Option<Baseline>,
    pub(crate) phases: &'a PhaseFigures,
    /// From when recovery is counted, in seconds.
    pub(crate) origin: f64,
    /// Whether the run's last `hold` is in the band.
    pub(crate) back_at_end: bool,
    pub(crate) backlog_falls: bool,
}

/// Every reason why this run cannot be trusted.
pub(crate) fn all(case: &Case<'_>) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    ending(case, &mut doubts);
    samples(case, &mut doubts);
    healthy_baseline(case, &mut doubts);
    doubts.extend(generator_doubts(&case.log.integrity));
    bite(case, &mut doubts);
    servers(case, &mut doubts);
    if !case.back_at_end {
        other_causes(case, &mut doubts);
    }
    for event in &case.log.events {
        if let EventKind::Doubt { what } = &event.kind {
            raise(&mut doubts, DoubtKind::Engine, format!("at {}: {what}", event.at));
        }
        if let EventKind::ByOthers { tier, what, by } = &event.kind {
            let by = if by.is_empty() { "somebody else" } else { by };
            let text = format!("at {}: {by} acted on `{tier}`, and not this run: {what}", event.at);
            raise(&mut doubts, DoubtKind::Engine, text);
        }
    }
    doubts
}

fn raise(doubts: &mut Vec<Doubt>, kind: DoubtKind, text: String) {
    doubts.push(Doubt { kind, text });
}

fn ending(case: &Case<'_>, doubts: &mut Vec<Doubt>) {
    for fault in &case.log.integrity.faults_unreverted {
        let text = format!("the fault `{fault}` could not be confirmed to have ended");
        raise(doubts, DoubtKind::FaultUnreverted, text);
    }
    if case.log.ending == Ending::Interrupted {
        let text = format!("it was interrupted after {} s", case.series.seconds);
        raise(doubts, DoubtKind::Interrupted, text);
    }
}

/// Whether there are enough windows, each complete, and enough requests in them.
fn samples(case: &Case<'_>, doubts: &mut Vec<Doubt>) {
    let (series, hold) = (case.series, case.rule.hold);
    let planned = case.scenario.duration.as_secs();
    let lacking = series.missing + planned.saturating_sub(series.seconds);
    if lacking > 0 && case.log.ending == Ending::Completed {
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
    if gap > hold {
        let text =
            format!("a server was not read for {gap:.0} s, longer than `hold` ({hold:.0} s)");
        raise(doubts, DoubtKind::MissingWindows, text);
    }
    let calm = case.baseline.map_or(0.0, |baseline| baseline.span.to - baseline.span.from);
    if calm < hold {
        let text = format!(
            "there are {calm:.0} s before the trigger for a baseline; `hold` ({hold:.0} s) are needed"
        );
        raise(doubts, DoubtKind::TooFewSamples, text);
    }
    let after = series.seconds as f64 - case.origin;
    if after < hold {
        let text = if case.trigger.is_some() {
            format!(
                "the run ends {:.0} s after the trigger; `hold` ({hold:.0} s) are needed",
                after.max(0.0)
            )
        } else {
            format!(
                "the run lasts {} s; twice `hold` ({:.0} s) are needed, for a baseline and for what \
                 is compared with it",
                series.seconds,
                2.0 * hold
            )
        };
        raise(doubts, DoubtKind::TooFewSamples, text);
    } else if !case.back_at_end && case.trigger.is_some() {
        long_enough(case, after, doubts);
    }
    let from = series.seconds.saturating_sub(hold as u64);
    let spans = [
        ("the baseline", case.baseline.map_or(0.0, |b| b.offered * (b.span.to - b.span.from))),
        ("the last `hold`", series.offered(from, series.seconds) as f64),
    ];
    for (name, offered) in spans.into_iter().filter(|(_, offered)| *offered < REQUESTS_MIN) {
        let text = format!("{name} has {offered:.0} requests; {REQUESTS_MIN} are needed");
        raise(doubts, DoubtKind::TooFewSamples, text);
    }
}

/// Whether goodput that is not back was given the time to come back.
fn long_enough(case: &Case<'_>, after: f64, doubts: &mut Vec<Doubt>) {
    let Rule { hold, within, .. } = case.rule;
    // A falling backlog ends some time, so that only the whole of `within` tells; one that stands is
    // seen to stand after a few lengths of the window.
    let needed = if case.backlog_falls { within } else { within.min(3.0 * hold) };
    if after < needed {
        let text = format!(
            "goodput is not back, and the run ends {after:.0} s after the trigger; \
             {needed:.0} s are needed to tell"
        );
        raise(doubts, DoubtKind::TooFewSamples, text);
    }
}

fn healthy_baseline(case: &Case<'_>, doubts: &mut Vec<Doubt>) {
    let Some(baseline) = case.baseline else { return };
    let to = baseline.span.to as u64;
    let last = case.series.ratio(to.saturating_sub(case.rule.hold as u64), to).unwrap_or_default();
    if baseline.ratio < HEALTHY || last < HEALTHY_LAST {
        let text = format!(
            "the baseline is not healthy: good ÷ offered is {:.3} (at least {HEALTHY} is needed), \
             and {last:.3} over its last `hold` (at least {HEALTHY_LAST}){}",
            baseline.ratio,
            failures(case.series.slice(baseline.span.from as u64, to))
        );
        raise(doubts, DoubtKind::BaselineNotHealthy, text);
    }
}

/// What became of the requests that were not good, the most frequent first; empty where none ended.
fn failures(windows: &[Window]) -> String {
    let mut counts = BTreeMap::new();
    for client in windows.iter().map(|window| &window.client) {
        *counts.entry("late").or_default() += client.late;
        for (class, count) in &client.failed {
            *counts.entry(class).or_default() += count;
        }
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().filter(|(_, n)| *n > 0).collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let said: Vec<_> = counts
        .into_iter()
        .map(|(class, count)| match in_words(class) {
            Some(words) => format!("{count} by {class} ({words})"),
            None => format!("{count} by {class}"),
        })
        .collect();
    if said.is_empty() { String::new() } else { format!("; requests failed: {}", said.join(", ")) }
}

/// What a class of failures means.
fn in_words(class: &str) -> Option<&'static str> {
    Some(match class {
        "timeout" => "no answer in time",
        "connect" => "no connection, or it broke before the answer was whole",
        "overloaded" => "refused with 503",
        "expired" => "dropped with 504",
        "error" => "an answer that is no success or makes no sense",
        "late" => "answered after the deadline",
        _ => return None,
    })
}

/// Whether the faults were seen, and did something.
fn bite(case: &Case<'_>, doubts: &mut Vec<Doubt>) {
    let unseen = &case.log.integrity.faults_unseen;
    for fault in unseen {
        let text = format!("the fault `{fault}` was never seen in force");
        raise(doubts, DoubtKind::FaultDidNotBite, text);
    }
    let (Some(trigger), Some(before)) = (case.trigger, case.phases.before) else { return };
    if !unseen.is_empty() || !trigger::has_fault(case.log, case.scenario) {
        return;
    }
    let from = trigger.from.ceil() as u64;
    let during = case.series.slice(from, (trigger.to.ceil() as u64).max(from + 1) + AFTERMATH);
    let calm = case.baseline.map_or(Span::default(), |baseline| baseline.span);
    let calm = case.series.slice(calm.from as u64, calm.to as u64);
    let Some(figures) = Figures::over(during) else { return };
    if fallen(calm, during).is_some() || work_fell(&before, &figures) || waits_grew(calm, during) {
        return;
    }
    let text = format!(
        "the fault changed nothing: goodput was {:.1}/s before and {:.1}/s during it, and neither \
         capacity, throughput nor latency moved",
        before.goodput, figures.goodput
    );
    raise(doubts, DoubtKind::FaultDidNotBite, text);
}

/// The first tier that shows less capacity or fewer slots than in its last window before, which comes
/// first, and the window that does.
fn fallen<'a>(before: &'a [Window], now: &'a [Window]) -> Option<(&'a TierWindow, &'a TierWindow)> {
    let capacity = |tier: &TierWindow| tier.capacity.unwrap_or(f64::INFINITY);
    before.last()?.tiers.iter().find_map(|calm| {
        let less = |tier: &&TierWindow| {
            tier.name == calm.name
                && (capacity(tier) < capacity(calm) * 0.99 || tier.slots < calm.slots)
        };
        Some((calm, tiers(now).find(less)?))
    })
}

/// Whether goodput or throughput fell by more than a tenth and three deviations of Poisson noise.
fn work_fell(before: &Figures, during: &Figures) -> bool {
    let fell = |before: f64, now: f64| {
        now < 0.9 * before - 3.0 * (before / during.seconds.max(1) as f64).sqrt()
    };
    let throughput = before.throughput.zip(during.throughput);
    // The load itself may have changed, so goodput counts against what was offered.
    let due = before.ratio.unwrap_or_default() * during.offered;
    fell(due, during.goodput)
        || throughput.is_some_and(|(before, now)| fell(before, now) && fell(due, now))
}

/// Whether latency or queue delay grew clearly.
fn waits_grew(before: &[Window], during: &[Window]) -> bool {
    let grew = |of: fn(&Window) -> f64, factor: f64| {
        let (calm, now) = (median(before, of), median(during, of));
        now > calm * factor && now > 1e-3
    };
    grew(|window| window.client.latency.p50, 1.5) || grew(|window| window.client.latency.p99, 2.0)
}

fn median(windows: &[Window], of: fn(&Window) -> f64) -> f64 {
    let mut values: Vec<f64> = windows.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn servers(case: &Case<'_>, doubts: &mut Vec<Doubt>) {
    for event in &case.log.events {
        if let EventKind::ServerRestarted { tier } = &event.kind {
            let text = format!("the server `{tier}` started anew by itself, seen at {}", event.at);
            raise(doubts, DoubtKind::ServerRestarted, text);
        }
    }
    let changed = |event: &Event| matches!(&event.kind, EventKind::LeverPulled { lever, .. } if lever == "limiter");
    if case.trigger.is_none() || case.log.events.iter().any(changed) {
        return;
    }
    let calm = case.baseline.map_or(0, |baseline| baseline.span.to as u64);
    let end = case.series.seconds;
    let last = case.series.slice(end.saturating_sub(1), end);
    if let Some((before, now)) = fallen(case.series.slice(0, calm), last) {
        let of = |tier: &TierWindow| match tier.capacity {
            Some(capacity) => format!("{capacity:.1}/s in {} slots", tier.slots),
            None => format!("unlimited in {} slots", tier.slots),
        };
        let text = format!(
            "capacity of `{}` is not as before: {} at the end, {} in the baseline",
            now.name,
            of(now),
            of(before)
        );
        raise(doubts, DoubtKind::CapacityNotRestored, text);
    }
}

/// What keeps goodput down without being the system's own doing.
fn other_causes(case: &Case<'_>, doubts: &mut Vec<Doubt>) {
    let end = case.series.seconds;
    if let (Some(baseline), Some(last)) = (case.baseline, case.phases.end) {
        let noise = 4.0 * (baseline.offered / last.seconds.max(1) as f64).sqrt();
        if last.offered > 1.1 * baseline.offered + noise {
            let text = format!(
                "the offered load is not as before: {:.1}/s at the end, {:.1}/s in the baseline",
                last.offered, baseline.offered
            );
            raise(doubts, DoubtKind::LoadNotAsBefore, text);
        }
    }
    let last = case.series.slice(end.saturating_sub(1), end);
    let admitted = tiers(last).filter_map(|tier| tier.admitted).fold(1.0, f64::min);
    if admitted < 0.99 {
        let text = format!("a lever still admits only {:.0} % of the traffic", admitted * 100.0);
        raise(doubts, DoubtKind::LeverInForce, text);
    }
}

fn tiers(windows: &[Window]) -> impl Iterator<Item = &TierWindow> {
    windows.iter().flat_map(|window| &window.tiers)
}

/// Good ÷ offered of a baseline over its last `hold`, where requests that are still under way weigh more.
const HEALTHY_LAST: f64 = 0.90;
/// Fewer requests than this in a span do not tell 95 % from 100 %.
const REQUESTS_MIN: f64 = 50.0;
/// Seconds after a fault in which its effect may still show first.
const AFTERMATH: u64 = 2;
