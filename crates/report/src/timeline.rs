//! `timeline.csv`: a row a second and run, for spreadsheets and notebooks. Times are seconds of
//! scenario time, and empty where nothing was seen; the tier is the last one, the order-status server.
//! Columns that begin with `arrived_` are of the requests that arrived in the second, whenever they
//! ended; all others are of what happened in it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodput_runlog::{Quantiles, TierWindow, Window};

use crate::report::ReportedRun;

pub(crate) fn write(runs: &[ReportedRun<'_>]) -> String {
    let mut csv = String::from(HEADER);
    for run in runs {
        let name = quoted(run.log.meta.arm.as_deref().unwrap_or(""));
        for window in &run.log.windows {
            row(&mut csv, &name, window);
        }
    }
    csv
}

fn row(csv: &mut String, arm: &str, window: &Window) {
    let client = &window.client;
    let failed: u64 = client.failed.values().sum();
    let figures = [
        client.offered,
        client.good,
        client.late,
        failed,
        client.unsent,
        client.attempts,
        client.retries,
        client.attempts_in_flight,
        client.requests_in_flight,
        client.connections,
        client.connects,
        client.cohort.good,
        client.cohort.failed,
        client.cohort.open(),
        client.cohort.turned_away,
    ];
    let durations = [client.latency, client.send_lag].map(quantiles);
    let outcomes = quoted(&ended(&client.outcomes));
    let tier = window.tiers.last().map_or_else(|| ",".repeat(TIER_FIELDS), tier_columns);
    let figures: Vec<_> = figures.iter().map(ToString::to_string).collect();
    let (figures, durations) = (figures.join(","), durations.join(","));
    writeln!(csv, "{arm},{},{figures},{outcomes},{durations},{tier}", window.second)
        .expect("writing to a String cannot fail");
}

/// Median and 99th percentile as two fields, empty where nothing was seen.
fn quantiles(quantiles: Quantiles) -> String {
    match quantiles.count {
        0 => ",".to_owned(),
        _ => format!("{},{}", quantiles.p50, quantiles.p99),
    }
}

/// How attempts ended, in one field: `200=80 503=12`.
fn ended(outcomes: &BTreeMap<String, u64>) -> String {
    // A name with a space in it must not look like two.
    let pair = |(name, count): (&String, &u64)| format!("{}={count}", name.replace(' ', "-"));
    outcomes.iter().map(pair).collect::<Vec<_>>().join(" ")
}

fn tier_columns(tier: &TierWindow) -> String {
    let capacity = tier.capacity.map(|capacity| capacity.to_string()).unwrap_or_default();
    let refused: u64 = tier.refused.values().sum();
    let columns: [String; TIER_FIELDS] = [
        quoted(&tier.name),
        tier.received.to_string(),
        tier.served.to_string(),
        refused.to_string(),
        tier.cancelled.to_string(),
        tier.busy_useful.to_string(),
        tier.busy_wasted.to_string(),
        tier.queued.to_string(),
        tier.slots.to_string(),
        capacity,
        quantiles(tier.queue_delay),
    ];
    columns.join(",")
}

/// A field as CSV holds it. One that a spreadsheet would take for a formula is led by a quote.
fn quoted(text: &str) -> String {
    let text = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Fields of a tier, of which the last is two columns.
const TIER_FIELDS: usize = 11;

const HEADER: &str = "arm,second,offered,good,late,failed,unsent,attempts,retries,\
attempts_in_flight,requests_in_flight,connections,connects,arrived_good,arrived_failed,\
arrived_open,arrived_turned_away,attempts_ended,latency_p50_s,latency_p99_s,\
send_lag_p50_s,send_lag_p99_s,tier,received,served,refused,cancelled,busy_useful_s,busy_wasted_s,\
queued,slots,capacity_per_second,queue_delay_p50_s,queue_delay_p99_s\n";

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_runlog::Cohort;

    #[test]
    fn every_row_has_a_field_a_column_with_and_without_a_view_of_the_server() {
        let columns = HEADER.trim_end().split(',').count();
        let mut window = Window::default();
        for tiers in [vec![], vec![TierWindow::default()]] {
            window.tiers = tiers;
            let mut csv = String::new();
            row(&mut csv, "a", &window);
            assert_eq!(csv.trim_end().split(',').count(), columns);
        }
    }

    fn field(window: &Window, column: &str) -> String {
        let mut csv = String::new();
        row(&mut csv, "a", window);
        let place = HEADER.trim_end().split(',').position(|name| name == column).unwrap();
        csv.trim_end().split(',').nth(place).unwrap().to_owned()
    }

    #[test]
    fn a_second_without_a_latency_has_none() {
        let mut window = Window { tiers: vec![TierWindow::default()], ..Window::default() };
        for column in ["latency_p50_s", "latency_p99_s", "send_lag_p99_s", "queue_delay_p50_s"] {
            assert_eq!(field(&window, column), "", "{column}");
        }
        let seen = Quantiles { count: 1, p50: 0.0, p99: 0.25, max: 0.25 };
        (window.client.latency, window.tiers[0].queue_delay) = (seen, seen);
        assert_eq!(field(&window, "latency_p50_s"), "0");
        assert_eq!(field(&window, "queue_delay_p99_s"), "0.25");
    }

    #[test]
    fn a_row_says_what_became_of_who_arrived_and_how_attempts_ended() {
        let mut window = Window::default();
        window.client.cohort = Cohort { arrived: 80, good: 60, failed: 15, turned_away: 4 };
        let outcomes = [("200", 60), ("502 upstream-refused", 3), ("timeout", 7)];
        window.client.outcomes =
            outcomes.map(|(name, count)| (name.to_owned(), count)).into_iter().collect();
        assert_eq!(field(&window, "arrived_good"), "60");
        assert_eq!(field(&window, "arrived_open"), "5");
        assert_eq!(field(&window, "arrived_turned_away"), "4");
        assert_eq!(field(&window, "attempts_ended"), "200=60 502-upstream-refused=3 timeout=7");
    }

    #[test]
    fn fields_are_quoted_and_never_formulas() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
