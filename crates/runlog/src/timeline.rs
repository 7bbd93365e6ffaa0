use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodput_clock::Timestamp;

use crate::model::{TierWindow, Window};
use crate::phase::Phase;

/// Writes windows as comma-separated values, a header and one row a second.
///
/// The first column is the second since the start (scenario time), the second one the phase against the
/// trigger. The client's columns follow, named as the fields of [`crate::ClientWindow`], then those of
/// each tier, named as the fields of [`TierWindow`] behind the tier's name and a dot. Counts by class or
/// reason are summed. Times are seconds of scenario time, with `_p50`, `_p99` and `_max` where there
/// are quantiles; rates are per second of scenario time. A cell is empty where there is nothing to
/// say: a tier without a view, an unlimited capacity.
pub fn timeline_csv(windows: &[Window], trigger: Option<(Timestamp, Timestamp)>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for tier in windows.iter().flat_map(|window| &window.tiers) {
        if !names.contains(&tier.name.as_str()) {
            names.push(&tier.name);
        }
    }
    let mut text = CLIENT.join(",");
    for name in &names {
        for column in TIER {
            let _ = write!(text, ",{}.{column}", plain(name));
        }
    }
    text.push('\n');
    for window in windows {
        client(&mut text, window, Phase::of(window.second, trigger));
        for name in &names {
            match window.tiers.iter().find(|tier| tier.name == *name) {
                Some(tier) => self::tier(&mut text, tier),
                None => text.extend(std::iter::repeat_n(',', TIER.len())),
            }
        }
        text.push('\n');
    }
    text
}

fn client(text: &mut String, window: &Window, phase: Phase) {
    let w = &window.client;
    let _ = write!(text, "{},{}", window.second, phase.name());
    let counts = [
        w.offered,
        w.good,
        w.late,
        sum(&w.failed),
        w.unsent,
        w.attempts,
        w.retries,
        sum(&w.attempts_failed),
        sum(&w.suppressed),
        w.attempts_in_flight,
        w.requests_in_flight,
        w.connections,
        w.connects,
    ];
    for count in counts {
        let _ = write!(text, ",{count}");
    }
    for quantiles in [&w.latency, &w.send_lag] {
        let _ = write!(text, ",{:.6},{:.6},{:.6}", quantiles.p50, quantiles.p99, quantiles.max);
    }
}

fn tier(text: &mut String, tier: &TierWindow) {
    let TierWindow { received, served, cancelled, errors, .. } = tier;
    let _ = write!(text, ",{received},{served},{},{cancelled},{errors}", sum(&tier.refused));
    let _ = write!(text, ",{:.6},{:.6}", tier.busy_useful, tier.busy_wasted);
    let _ = write!(text, ",{},{},{},", tier.queued, tier.in_service, tier.slots);
    for gauge in [tier.capacity, tier.admitted] {
        if let Some(value) = gauge {
            let _ = write!(text, "{value:.6}");
        }
        text.push(',');
    }
    let delay = &tier.queue_delay;
    let _ = write!(text, "{:.6},{:.6},{:.6}", delay.p50, delay.p99, delay.max);
    let _ = write!(text, ",{:.6}", tier.oldest_age);
}

fn sum(counts: &BTreeMap<String, u64>) -> u64 {
    counts.values().sum()
}

/// A name without what would end a cell.
fn plain(name: &str) -> String {
    name.chars().map(|c| if matches!(c, ',' | '"' | '\n' | '\r') { '_' } else { c }).collect()
}

const CLIENT: [&str; 21] = [
    "second",
    "phase",
    "offered",
    "good",
    "late",
    "failed",
    "unsent",
    "attempts",
    "retries",
    "attempts_failed",
    "suppressed",
    "attempts_in_flight",
    "requests_in_flight",
    "connections",
    "connects",
    "latency_p50",
    "latency_p99",
    "latency_max",
    "send_lag_p50",
    "send_lag_p99",
    "send_lag_max",
];

const TIER: [&str; 16] = [
    "received",
    "served",
    "refused",
    "cancelled",
    "errors",
    "busy_useful",
    "busy_wasted",
    "queued",
    "in_service",
    "slots",
    "capacity",
    "admitted",
    "queue_delay_p50",
    "queue_delay_p99",
    "queue_delay_max",
    "oldest_age",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_the_columns_of_the_header() {
        let tier = |name: &str, capacity| TierWindow {
            name: name.to_owned(),
            served: 80,
            capacity,
            refused: BTreeMap::from([("queue-full".to_owned(), 3), ("shed".to_owned(), 4)]),
            ..TierWindow::default()
        };
        let window = |second, tiers| Window { second, tiers, ..Window::default() };
        let windows = [
            window(0, vec![tier("gate,way", None), tier("order-status", Some(100.0))]),
            window(1, vec![]),
            window(2, vec![tier("order-status", Some(40.0))]),
        ];
        let trigger = Some((Timestamp::from_secs(1), Timestamp::from_secs(2)));
        let text = timeline_csv(&windows, trigger);
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 4);
        assert!(rows.iter().all(|row| row.len() == 21 + 2 * 16), "{text}");
        let cell = |row: usize, column: &str| {
            rows[row][rows[0].iter().position(|name| *name == column).unwrap()]
        };
        let phases: Vec<_> = (1..4).map(|row| cell(row, "phase")).collect();
        assert_eq!(phases, ["baseline", "fault", "after"]);
        assert_eq!(cell(1, "order-status.capacity"), "100.000000");
        assert_eq!((cell(1, "gate_way.capacity"), cell(2, "order-status.served")), ("", ""));
        assert_eq!((cell(3, "order-status.refused"), cell(3, "gate_way.served")), ("7", ""));
    }
}
