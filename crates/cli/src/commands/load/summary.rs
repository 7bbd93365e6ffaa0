//! What became of a load, in figures. Times and rates are scenario time unless they say otherwise.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodput_clock::Seed;
use goodput_load_generator::GeneratorReport;
use goodput_runlog::{Integrity, bucket_quantile};
use goodput_scenario::Scenario;
use goodput_verdict::{Doubt, DoubtKind, generator_doubts};
use serde::Serialize;

use super::LoadArgs;
use super::windows::Windows;
use crate::control::compact;
use crate::display::seconds;
use crate::exit::Exit;

/// What became of a load.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    /// Where it went.
    target: String,
    /// The seed that repeats its arrivals.
    seed: u64,
    /// Scenario seconds per wall second.
    speed: f64,
    /// How long requests were sent, in seconds.
    duration: f64,
    /// How arrivals were spread.
    arrivals: serde_json::Value,
    /// Requests that the schedule asked for.
    scheduled: u64,
    /// Requests that were sent.
    offered: u64,
    /// New requests per second.
    offered_per_second: f64,
    /// Requests that ended well and in time.
    good: u64,
    /// Good requests per second.
    goodput_per_second: f64,
    /// Requests that were answered after their deadline.
    late: u64,
    /// Requests that failed, by the class of the last failure.
    failed: BTreeMap<String, u64>,
    /// Requests that found no connection because of the load's own caps.
    unsent: u64,
    /// Attempts sent.
    attempts: u64,
    /// Attempts ÷ requests.
    attempts_per_request: Option<f64>,
    /// Attempts that failed, by class.
    attempts_failed: BTreeMap<String, u64>,
    /// Retries that were not sent, by reason.
    suppressed: BTreeMap<String, u64>,
    /// Connections that were established.
    connects: u64,
    /// From the intended send time to the end, of good requests.
    response: Latency,
    /// From the actual send time of the successful attempt to its answer.
    service: Latency,
    /// The actual send time minus the intended one.
    send_lag: Latency,
    /// The 99th percentile of the send lag in seconds of wall time.
    send_lag_p99_wall: f64,
    /// The largest resident memory of the process, in bytes.
    memory_peak: u64,
    /// Whether it was interrupted.
    interrupted: bool,
    /// Why the figures cannot be trusted; empty where they can.
    pub(super) doubts: Vec<String>,
}

/// Quantiles of a latency in seconds; absent where nothing was measured.
#[derive(Clone, Copy, Debug, Serialize)]
struct Latency {
    count: u64,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    p999: Option<f64>,
    max: Option<f64>,
}

impl Summary {
    /// Sums a load up.
    pub(super) fn new(
        scenario: &Scenario,
        args: &LoadArgs,
        seed: Seed,
        windows: &Windows,
        report: &GeneratorReport,
        interrupted: bool,
    ) -> Self {
        let duration = scenario.duration.as_secs_f64().min((windows.sent as f64).max(1.0));
        let attempts = windows.attempts;
        let offered = report.offered;
        Self {
            target: args.target.origin.clone(),
            seed: seed.0,
            speed: args.speed.speed(),
            duration,
            arrivals: serde_json::to_value(scenario.load.arrivals).unwrap_or_default(),
            scheduled: report.scheduled,
            offered,
            offered_per_second: offered as f64 / duration,
            good: report.good,
            goodput_per_second: report.good as f64 / duration,
            late: windows.late,
            failed: windows.failed.clone(),
            unsent: report.unsent,
            attempts,
            attempts_per_request: (offered > 0).then(|| attempts as f64 / offered as f64),
            attempts_failed: windows.attempts_failed.clone(),
            suppressed: windows.suppressed.clone(),
            connects: report.connects,
            response: Latency::of(&report.totals.latency),
            service: Latency::of(&report.totals.service),
            send_lag: Latency::of(&report.totals.send_lag),
            send_lag_p99_wall: report.send_lag_p99_wall,
            memory_peak: report.memory_peak,
            interrupted,
            doubts: doubts(scenario, args, report),
        }
    }

    /// How the command ends.
    pub(super) fn exit(&self) -> Exit {
        if self.interrupted {
            Exit::Interrupted
        } else if self.doubts.is_empty() {
            Exit::Held
        } else {
            Exit::Inconclusive
        }
    }

    /// The figures for people.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(text, "{name:<12} {value}");
        };
        line(
            "load",
            format!(
                "{} for {} to {}, seed {}, speed {}",
                compact(&self.arrivals),
                seconds(self.duration),
                self.target,
                self.seed,
                self.speed
            ),
        );
        line("offered", format!("{:.1}/s: {} requests", self.offered_per_second, self.offered));
        line(
            "goodput",
            format!(
                "{:.1}/s: {} good, {} late, {}",
                self.goodput_per_second,
                self.good,
                self.late,
                failures(&self.failed)
            ),
        );
        line(
            "attempts",
            format!(
                "{} per request: {} sent, {}",
                self.attempts_per_request
                    .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
                self.attempts,
                failures(&self.attempts_failed)
            ),
        );
        line("connections", format!("{} opened", self.connects));
        line("memory", format!("{:.1} MB at most", self.memory_peak as f64 / 1e6));
        let _ = writeln!(text, "\n{LATENCY_HEAD}");
        for (name, latency) in
            [("response", self.response), ("service", self.service), ("send lag", self.send_lag)]
        {
            let _ = writeln!(text, "{name:<12} {}", latency.to_text());
        }
        text
    }
}

impl Latency {
    fn of(buckets: &[(f64, u64)]) -> Self {
        let quantile = |share| bucket_quantile(buckets, share);
        Self {
            count: buckets.iter().map(|(_, count)| count).sum(),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: quantile(1.0),
        }
    }

    fn to_text(self) -> String {
        [self.p50, self.p90, self.p99, self.p999, self.max]
            .map(|value| format!("{:>9}", value.map_or_else(|| "-".to_owned(), precise)))
            .join(" ")
    }
}

/// Microseconds where a latency is short.
fn precise(value: f64) -> String {
    if value < 0.01 { format!("{:.2} ms", value * 1e3) } else { seconds(value) }
}

/// `12 failed (timeout 10, connect 2)`.
fn failures(failed: &BTreeMap<String, u64>) -> String {
    let total: u64 = failed.values().sum();
    if total == 0 {
        return "0 failed".to_owned();
    }
    let classes: Vec<_> = failed.iter().map(|(class, count)| format!("{class} {count}")).collect();
    format!("{total} failed ({})", classes.join(", "))
}

/// What makes the figures those of the generator, not of the target.
fn doubts(scenario: &Scenario, args: &LoadArgs, report: &GeneratorReport) -> Vec<String> {
    let timeout = args.speed.to_wall(scenario.smallest_timeout());
    let integrity = Integrity {
        scheduled: report.scheduled,
        offered: report.offered,
        unsent: report.unsent,
        send_lag_p99_wall: report.send_lag_p99_wall,
        smallest_timeout_wall: timeout.as_secs_f64(),
        ..Integrity::default()
    };
    let told = |Doubt { kind, text }| {
        let unsent = kind == DoubtKind::Unsent;
        let more = "; give more with --max-connections or --connect-rate";
        text + if unsent { more } else { "" }
    };
    generator_doubts(&integrity).into_iter().map(told).collect()
}

const LATENCY_HEAD: &str = "latency            p50       p90       p99     p99.9       max";
