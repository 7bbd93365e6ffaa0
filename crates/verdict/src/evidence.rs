use goodput_runlog::Figures;

use crate::bottleneck::smallest_timeout;
use crate::judge::Seen;
use crate::model::{Evidence, PhaseFigures};

/// The figures that speak for or against a sustained failure, at the run's end and before the
/// trigger; those of a server only where there is a view of it.
pub(crate) fn all(seen: &Seen<'_>, phases: &PhaseFigures) -> Vec<Evidence> {
    let (Some(end), Some(before)) = (phases.end, phases.before) else {
        return Vec::new();
    };
    let mut evidence = client(seen, &before, &end);
    evidence.extend(server(&before, &end));
    evidence.extend(queue_delay(seen));
    evidence.extend(balance(seen));
    let convergence = &seen.convergence;
    let slope = convergence.slope.unwrap_or_default();
    evidence.push(Evidence {
        name: "backlog change".to_owned(),
        value: slope,
        against: Some(0.0),
        unit: "/s".to_owned(),
        text: match convergence.slope {
            Some(slope) => format!(
                "{:.0} requests are to be worked off at the end, changing by {slope:+.1} a second",
                convergence.backlog
            ),
            None => format!("{:.0} requests are to be worked off at the end", convergence.backlog),
        },
    });
    evidence
}

/// What reaches the bottleneck against what it can serve.
fn balance(seen: &Seen<'_>) -> Option<Evidence> {
    let (bottleneck, attempts) = (seen.bottleneck.as_ref()?, seen.convergence.attempts?);
    Some(Evidence {
        name: "attempts at the bottleneck".to_owned(),
        value: attempts.value,
        against: Some(bottleneck.capacity).filter(|capacity| capacity.is_finite()),
        unit: "/s".to_owned(),
        text: format!(
            "{:.1} attempts a second (between {:.1} and {:.1}) reach `{}`, which can serve {:.1}",
            attempts.value, attempts.low, attempts.high, bottleneck.name, bottleneck.capacity
        ),
    })
}

fn client(seen: &Seen<'_>, before: &Figures, end: &Figures) -> Vec<Evidence> {
    let mut evidence = vec![
        compared("goodput", "/s", end.goodput, Some(before.goodput)),
        compared("offered load", "/s", end.offered, Some(before.offered)),
    ];
    if let (Some(ratio), Some(_)) = (seen.course.last, seen.frame.baseline) {
        evidence.push(Evidence {
            name: "good ÷ offered".to_owned(),
            value: ratio.value,
            against: Some(seen.frame.rule.needed),
            unit: String::new(),
            text: format!(
                "{:.3} of the requests that arrived last ended well (between {:.3} and {:.3}); {:.3} is \
                 needed to be back",
                ratio.value, ratio.low, ratio.high, seen.frame.rule.needed
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
fn queue_delay(seen: &Seen<'_>) -> Option<Evidence> {
    let bottleneck = seen.bottleneck.as_ref()?;
    let (delay, timeout) = (bottleneck.delay, smallest_timeout(seen.frame.scenario));
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
