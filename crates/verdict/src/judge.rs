use goodput_runlog::{Figures, RunLog};
use goodput_scenario::Scenario;

use crate::backlog::Backlog;
use crate::doubts::{self, Case};
use crate::evidence;
use crate::model::{Baseline, Doubt, Judgement, PhaseFigures, Rule, Span, Verdict};
use crate::series::Series;
use crate::trigger;

/// Judges what a run saw against its scenario.
///
/// - **Baseline.** Good ÷ offered from 5 s (the warm-up) to the trigger's start, of which at least `hold` must
///   be left; without a trigger, over the first `hold` after the warm-up. It must be at least 0.95 over
///   the whole of it and 0.90 over its last `hold`.
/// - **In the band** is a second t where good ÷ offered over [t, t + `hold`), divided by the baseline's, is
///   at least `goodput_ratio`. Only spans wholly after the trigger's end count. The quotient follows
///   the load, so a rate that a lever changed needs no other baseline; users whom an `admit` lever
///   turns away were offered and count as not served.
/// - **Time to recover** is the first such t minus the trigger's end, with a resolution of 1 s: goodput is
///   back from t on. Good requests count when they end, and can exceed the offered ones while a
///   backlog drains.
/// - **Out of the band** is a span that is not in it, and neither is one of its neighbours, a second
///   earlier or later. A span alone can miss the band by the requests that are under way at its two
///   ends: at 12/s six of them are 5 % of what 10 s offer.
/// - **At the end**: the run's last `hold` is not out of the band.
/// - **Steady**: there was no trigger, and no span after the baseline is out of the band. Where one
///   is, the first that is stands for the trigger's end.
///
/// A run with any [`Doubt`] is inconclusive, whatever else it shows; the figures are given all the
/// same.
pub fn judge(log: &RunLog, scenario: &Scenario) -> Judgement {
    let expect = &scenario.expect;
    let hold = expect.hold.as_secs_f64().ceil().max(1.0) as u64;
    let series = Series::new(log, scenario.duration.as_secs());
    let trigger = trigger::trigger(log, scenario, series.seconds);
    let rule = Rule {
        goodput_ratio: expect.goodput_ratio.get(),
        hold: hold as f64,
        within: expect.within.as_secs_f64(),
        ..Rule::default()
    };
    let baseline = baseline(&series, trigger, hold);
    let band = Band { series: &series, hold, needed: rule.goodput_ratio, baseline };
    let outcome = band.outcome(trigger);
    let backlog = Backlog::over(&series, outcome.origin);
    let phases = phases(&series, trigger, baseline, hold);
    let case = Case {
        log,
        scenario,
        series: &series,
        rule,
        trigger,
        baseline,
        phases: &phases,
        origin: outcome.origin,
        back_at_end: outcome.at_end,
        backlog_falls: backlog.falls,
    };
    let doubts = doubts::all(&case);
    let verdict = if doubts.is_empty() {
        outcome.verdict(rule.within, backlog.falls)
    } else {
        Verdict::Inconclusive
    };
    Judgement {
        verdict,
        summary: summary(verdict, &outcome, &doubts, &backlog, rule),
        rule,
        trigger,
        baseline,
        time_to_recover: outcome.recovered,
        relapsed: outcome.relapsed,
        settled: outcome.settled,
        goodput_lost: goodput_lost(&series, trigger, baseline),
        evidence: evidence::all(&case, &backlog),
        doubts,
        phases,
        ..Judgement::default()
    }
}

/// Seconds at the start that belong to no baseline: connections are opened, caches filled.
const WARM_UP: u64 = 5;

/// The warm-up of a run without a trigger: shorter where the baseline's and the last `hold` need it.
fn warm_up(seconds: u64, hold: u64) -> u64 {
    WARM_UP.min(seconds.saturating_sub(2 * hold))
}

fn baseline(series: &Series<'_>, trigger: Option<Span>, hold: u64) -> Option<Baseline> {
    let to = match trigger {
        Some(trigger) => (trigger.from.floor() as u64).min(series.seconds),
        None => (warm_up(series.seconds, hold) + hold).min(series.seconds),
    };
    let from = match trigger {
        Some(_) => WARM_UP.min(to.saturating_sub(hold)),
        None => to.saturating_sub(hold),
    };
    let ratio = series.ratio(from, to)?;
    let seconds = (to - from) as f64;
    Some(Baseline {
        span: Span { from: from as f64, to: to as f64 },
        offered: series.offered(from, to) as f64 / seconds,
        goodput: series.good(from, to) as f64 / seconds,
        ratio: ratio.min(1.0),
    })
}

/// What the sliding window showed.
struct Outcome {
    /// From when recovery is counted: the trigger's end, or the first span out of the band where
    /// there was no trigger.
    origin: f64,
    /// Whether there was a trigger, or goodput left its band without one.
    disturbed: bool,
    recovered: Option<f64>,
    relapsed: Option<f64>,
    settled: Option<f64>,
    at_end: bool,
}

impl Outcome {
    fn verdict(&self, within: f64, backlog_falls: bool) -> Verdict {
        match self.recovered {
            _ if !self.disturbed => Verdict::Steady,
            Some(seconds) if self.at_end && seconds <= within => Verdict::Recovered,
            Some(_) if self.at_end => Verdict::SlowRecovery,
            _ if backlog_falls => Verdict::SlowRecovery,
            _ => Verdict::Metastable,
        }
    }
}

struct Band<'a> {
    series: &'a Series<'a>,
    hold: u64,
    needed: f64,
    baseline: Option<Baseline>,
}

impl Band<'_> {
    /// Whether the span of length `hold` from this second is in the band.
    fn holds(&self, from: u64) -> bool {
        let ratio = self.series.ratio(from, from + self.hold);
        match (ratio, self.baseline) {
            (Some(ratio), Some(baseline)) if baseline.ratio > 0.0 => {
                // The margin is for rounding alone: a boundary exactly met is met.
                ratio / baseline.ratio >= self.needed - 1e-9
            }
            _ => false,
        }
    }

    /// Whether this span and a neighbour of it are not in the band.
    fn lost(&self, from: u64) -> bool {
        let neighbours = [from.checked_sub(1), (from < self.last()).then_some(from + 1)];
        !self.holds(from) && neighbours.into_iter().flatten().any(|near| !self.holds(near))
    }

    /// The last second from which a whole span is left; the first where none is.
    fn last(&self) -> u64 {
        self.series.seconds.saturating_sub(self.hold)
    }

    fn outcome(&self, trigger: Option<Span>) -> Outcome {
        let last = self.last();
        let at_end = self.series.seconds >= self.hold && !self.lost(last);
        let calm = self.baseline.map_or(0, |baseline| baseline.span.to as u64);
        let origin = match trigger {
            Some(trigger) => Some(trigger.to),
            None => (calm..=last).find(|t| self.lost(*t)).map(|t| t as f64),
        };
        let Some(origin) = origin else {
            return Outcome {
                origin: calm as f64,
                disturbed: false,
                recovered: None,
                relapsed: None,
                settled: None,
                at_end,
            };
        };
        let after = origin.ceil() as u64..=last;
        let back = after.clone().find(|t| self.holds(*t));
        let out = after.rev().find(|t| back.is_some_and(|back| *t > back) && self.lost(*t));
        let left = out.map(|out| (0..=out).rev().take_while(|t| self.lost(*t)).last());
        let since = |t: u64| t as f64 - origin;
        Outcome {
            origin,
            disturbed: true,
            recovered: back.map(since),
            relapsed: left.flatten().map(since),
            settled: back.filter(|_| at_end).map(|back| since(out.map_or(back, |out| out + 1))),
            at_end,
        }
    }
}

fn phases(
    series: &Series<'_>,
    trigger: Option<Span>,
    baseline: Option<Baseline>,
    hold: u64,
) -> PhaseFigures {
    let over = |from: u64, to: u64| Figures::over(series.slice(from, to));
    let end = series.seconds;
    let calm = baseline.map_or(0, |baseline| baseline.span.to as u64);
    let (during, after) = match trigger {
        Some(trigger) => {
            let (from, to) = (trigger.from.floor() as u64, trigger.to.ceil() as u64);
            (over(from, to.min(end)), over(to, end))
        }
        None => (None, over(calm, end)),
    };
    PhaseFigures {
        before: baseline.and_then(|baseline| over(baseline.span.from as u64, calm)),
        during,
        after,
        end: over(end.saturating_sub(hold), end),
    }
}

fn goodput_lost(series: &Series<'_>, trigger: Option<Span>, baseline: Option<Baseline>) -> f64 {
    let Some(baseline) = baseline else { return 0.0 };
    let from = trigger.map_or(baseline.span.to, |trigger| trigger.from).floor() as u64;
    let due = series.offered(from, series.seconds) as f64 * baseline.ratio;
    (due - series.good(from, series.seconds) as f64).max(0.0)
}

fn summary(
    verdict: Verdict,
    outcome: &Outcome,
    doubts: &[Doubt],
    backlog: &Backlog,
    rule: Rule,
) -> String {
    let after = outcome.recovered.unwrap_or_default();
    let share = rule.goodput_ratio * 100.0;
    match verdict {
        Verdict::Steady => format!("goodput stayed at {share:.0} % of the baseline or above"),
        Verdict::Recovered => format!("goodput was back {after:.0} s after the trigger's end"),
        Verdict::SlowRecovery if outcome.at_end => {
            format!("goodput was back only {after:.0} s after the trigger's end")
        }
        Verdict::SlowRecovery => format!(
            "goodput is not back, but the backlog of {:.0} falls by {:.1} a second",
            backlog.level, -backlog.slope
        ),
        Verdict::Unstable | Verdict::NotRecovered | Verdict::Metastable => {
            "the trigger is gone, and goodput stays down with nothing that would bring it back"
                .to_owned()
        }
        Verdict::Inconclusive => {
            let texts: Vec<&str> = doubts.iter().map(|doubt| doubt.text.as_str()).collect();
            format!("the run cannot be trusted: {}", texts.join("; "))
        }
    }
}

#[cfg(test)]
mod tests;
