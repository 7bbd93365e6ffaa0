use goodput_runlog::Figures;

use crate::backlog::Backlog;
use crate::doubts::Case;
use crate::model::Evidence;

/// The figures that speak for or against a sustained failure, at the run's end and before the
/// trigger; those of a server only where there is a view of it.
pub(crate) fn all(case: &Case<'_>, backlog: &Backlog) -> Vec<Evidence> {
    let (Some(end), Some(before)) = (case.phases.end, case.phases.before) else {
        return Vec::new();
    };
    let mut evidence = client(case, &before, &end);
    evidence.extend(server(&before, &end));
    evidence.extend(queue_delay(case));
    let waiting = if backlog.queue { "attempts queued" } else { "attempts in flight" };
    evidence.push(Evidence {
        name: "backlog change".to_owned(),
        value: backlog.slope,
        against: Some(0.0),
        unit: "/s".to_owned(),
        text: format!(
            "{:.0} {waiting} at the end, changing by {:+.1} a second",
            backlog.level, backlog.slope
        ),
    });
    evidence
}

fn client(case: &Case<'_>, before: &Figures, end: &Figures) -> Vec<Evidence> {
    let mut evidence = vec![
        compared("goodput", "/s", end.goodput, Some(before.goodput)),
        compared("offered load", "/s", end.offered, Some(before.offered)),
    ];
    if let (Some(ratio), Some(baseline)) = (end.ratio, case.baseline) {
        evidence.push(Evidence {
            name: "good ÷ offered".to_owned(),
            value: ratio,
            against: Some(baseline.ratio * case.rule.goodput_ratio),
            unit: String::new(),
            text: format!(
                "good ÷ offered is {ratio:.3} at the end; {:.3} is needed to be back",
                baseline.ratio * case.rule.goodput_ratio
            ),
        });
    }
    if let Some(now) = end.attempts_per_request {
        evidence.push(compared("attempts per request", "", now, before.attempts_per_request));
    }
    evidence
}

fn server(before: &Figures, end: &Figures) -> Vec<Evidence> {
    let pairs = [
        ("throughput", "/s", end.throughput, before.throughput),
        ("capacity", "/s", end.capacity, before.capacity),
        ("utilisation", "", end.utilisation, before.utilisation),
        ("wasted work", "", end.wasted_share, before.wasted_share),
    ];
    pairs
        .into_iter()
        .filter_map(|(name, unit, now, then)| Some(compared(name, unit, now?, then)))
        .collect()
}

/// The queue delay at the end against the smallest time-out: above it, whatever is served was waited
/// for in vain.
fn queue_delay(case: &Case<'_>) -> Option<Evidence> {
    let end = case.series.seconds;
    let windows = case.series.slice(end.saturating_sub(case.rule.hold as u64), end);
    let last = windows.iter().filter_map(|window| window.tiers.last());
    let seen = last.filter(|tier| tier.queue_delay.count > 0);
    let mut delays: Vec<f64> = seen.map(|tier| tier.queue_delay.p50).collect();
    delays.sort_by(f64::total_cmp);
    let delay = *delays.get(delays.len() / 2)?;
    let timeout = case.scenario.smallest_timeout().as_secs_f64();
    Some(Evidence {
        name: "queue delay".to_owned(),
        value: delay,
        against: Some(timeout),
        unit: "s".to_owned(),
        text: format!(
            "the median queue delay is {delay:.2} s at the end; the smallest time-out is {timeout:.2} s"
        ),
    })
}

fn compared(name: &str, unit: &str, now: f64, then: Option<f64>) -> Evidence {
    let was = then.map_or_else(String::new, |then| format!(" and was {then:.2}{unit} before"));
    Evidence {
        name: name.to_owned(),
        value: now,
        against: then,
        unit: unit.to_owned(),
        text: format!("{name} is {now:.2}{unit} at the end{was}"),
    }
}
