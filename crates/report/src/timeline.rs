//! `timeline.csv`: a row a second and run, for spreadsheets and notebooks. Times are seconds of
//! scenario time; the tier is the last one, the order-status server.

use std::fmt::Write as _;

use goodput_runlog::{TierWindow, Window};

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
    ];
    let lag = client.send_lag;
    let latency = client.latency;
    let durations = [latency.p50, latency.p99, lag.p50, lag.p99];
    let tier = window.tiers.last().map_or_else(|| ",".repeat(TIER_COLUMNS - 1), tier_columns);
    let figures: Vec<_> = figures.iter().map(ToString::to_string).collect();
    let durations: Vec<_> = durations.iter().map(ToString::to_string).collect();
    writeln!(csv, "{arm},{},{},{},{tier}", window.second, figures.join(","), durations.join(","))
        .expect("writing to a String cannot fail");
}

fn tier_columns(tier: &TierWindow) -> String {
    let capacity = tier.capacity.map(|capacity| capacity.to_string()).unwrap_or_default();
    let refused: u64 = tier.refused.values().sum();
    let columns: [String; TIER_COLUMNS] = [
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
        tier.queue_delay.p50.to_string(),
        tier.queue_delay.p99.to_string(),
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

const TIER_COLUMNS: usize = 12;

const HEADER: &str = "arm,second,offered,good,late,failed,unsent,attempts,retries,\
attempts_in_flight,requests_in_flight,connections,connects,latency_p50_s,latency_p99_s,\
send_lag_p50_s,send_lag_p99_s,tier,received,served,refused,cancelled,busy_useful_s,busy_wasted_s,\
queued,slots,capacity_per_second,queue_delay_p50_s,queue_delay_p99_s\n";

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn fields_are_quoted_and_never_formulas() {
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
