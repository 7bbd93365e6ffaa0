//! The client's family of metrics, in wall time.
//!
//! The hot path counts in plain numbers of its own thread ([`Hot`]); every tick folds them into the
//! shared registry, and the layers' counters with them.

use std::time::{Duration, SystemTime};

use goodput_client::{LayerMetrics, registered};
use goodput_clock::{Scale, Timestamp};
use goodput_policy::attempt::FailureClass;
use goodput_policy::retry::Layers;
use goodput_runlog::RequestEnd;
use prometheus::core::{AtomicU64, GenericLocalCounter};
use prometheus::local::LocalHistogram;
use prometheus::process_collector::ProcessCollector;
use prometheus::{
    Encoder, Gauge, GaugeVec, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts,
    Registry, TextEncoder,
};

use crate::board::LoadFigures;

/// What the hot path counts.
#[derive(Debug)]
pub(crate) struct Hot {
    started: GenericLocalCounter<AtomicU64>,
    outcomes: [GenericLocalCounter<AtomicU64>; OUTCOMES.len()],
    connects: GenericLocalCounter<AtomicU64>,
    duration: LocalHistogram,
    send_lag: LocalHistogram,
    attempts: LocalHistogram,
}

impl Hot {
    pub(crate) fn send_lag(&mut self, lag: Duration) {
        self.send_lag.observe(lag.as_secs_f64());
    }

    pub(crate) fn started(&mut self) {
        self.started.inc();
    }

    pub(crate) fn connected(&mut self) {
        self.connects.inc();
    }

    pub(crate) fn request(&mut self, end: RequestEnd, duration: Duration, attempts: u32) {
        self.outcomes[outcome(end)].inc();
        self.duration.observe(duration.as_secs_f64());
        self.attempts.observe(f64::from(attempts));
    }

    /// Puts what was counted into the registry.
    pub(crate) fn flush(&mut self) {
        self.started.flush();
        self.outcomes.iter().for_each(GenericLocalCounter::flush);
        self.connects.flush();
        self.duration.flush();
        self.send_lag.flush();
        self.attempts.flush();
    }
}

/// What is folded in at every tick.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    in_flight: IntGauge,
    connections: IntGauge,
    layers: LayerMetrics,
}

/// What is said about the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunInfo<'a> {
    pub(crate) scenario: &'a str,
    pub(crate) seed: &'a str,
    pub(crate) target: &'a str,
    /// When scenario time begins.
    pub(crate) started: SystemTime,
}

/// Makes the metrics of a client with these layers.
///
/// # Errors
///
/// Where the registry refuses one.
pub(crate) fn metrics(
    layers: &Layers,
    scale: Scale,
    run: &RunInfo<'_>,
) -> prometheus::Result<(Metrics, Hot)> {
    let registry = Registry::new();
    let to_wall = |timeout| scale.to_wall(timeout).as_secs_f64();
    let timeouts: Vec<f64> =
        layers.configs().iter().filter_map(|layer| layer.timeout).map(to_wall).collect();
    let requests = counters(&registry, "requests_total", REQUESTS_HELP, &["outcome"])?;
    let hot = Hot {
        started: counter(
            &registry,
            "requests_started_total",
            "Requests issued by the open-loop schedule (offered load)",
        )?
        .local(),
        outcomes: OUTCOMES.map(|outcome| requests.with_label_values(&[outcome]).local()),
        connects: counter(&registry, "connects_total", "Connections established")?.local(),
        duration: histogram(
            &registry,
            "request_duration_seconds",
            "From the intended send time to the final outcome",
            seconds(1e-4, &timeouts),
        )?
        .local(),
        send_lag: histogram(
            &registry,
            "send_lag_seconds",
            "Actual minus intended send time: how late the generator itself is",
            seconds(1e-5, &timeouts),
        )?
        .local(),
        attempts: histogram(
            &registry,
            "request_attempts",
            "Attempts that one request made",
            attempts(layers.max_attempts()),
        )?
        .local(),
    };
    let metrics = Metrics {
        in_flight: gauge(&registry, "requests_in_flight", "Requests that have not ended")?,
        connections: gauge(&registry, "connections_open", "Connections open or being opened")?,
        layers: LayerMetrics::new(&registry, layers.configs(), scale)?,
        registry,
    };
    about(&metrics.registry, run)?;
    Ok((metrics, hot))
}

impl Metrics {
    /// Brings everything up to date but what [`Hot`] counts.
    pub(crate) fn update(&self, now: Timestamp, layers: &Layers, load: LoadFigures) {
        self.in_flight.set(load.in_flight.cast_signed());
        self.connections.set(load.connections.cast_signed());
        self.layers.update(now, layers, load.rate);
    }

    /// Everything as Prometheus reads it.
    pub(crate) fn text(&self) -> String {
        let mut text = Vec::new();
        // Writing to memory does not fail, and what cannot be encoded is left out.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        String::from_utf8(text).unwrap_or_default()
    }
}

/// What is said about the run and the process.
fn about(registry: &Registry, run: &RunInfo<'_>) -> prometheus::Result<()> {
    let info = Opts::new("rig_run_info", "The run, as labels; always 1");
    let labels = ["run_id", "scenario", "seed", "target"];
    let info = registered(registry, GaugeVec::new(info, &labels))?;
    let started = run.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let id = format!("{}-{}", run.scenario, started.as_secs());
    info.with_label_values(&[id.as_str(), run.scenario, run.seed, run.target]).set(1.0);
    let start = Gauge::new("rig_run_start_timestamp_seconds", "When scenario time began");
    let start = registered(registry, start)?;
    start.set(started.as_secs_f64());
    registry.register(Box::new(ProcessCollector::for_self()))
}

fn outcome(end: RequestEnd) -> usize {
    match end {
        RequestEnd::Good => 0,
        RequestEnd::Late => 1,
        RequestEnd::Failed(class) => OUTCOME_OF_CLASS.get(class).copied().unwrap_or(4),
        RequestEnd::Unsent => 5,
    }
}

/// Bounds from `first` upwards, with one exactly at each time-out.
fn seconds(first: f64, timeouts: &[f64]) -> Vec<f64> {
    let mut bounds: Vec<f64> = (0..30).map(|power| first * 1.6_f64.powi(power)).collect();
    bounds.extend(timeouts.iter().filter(|timeout| timeout.is_finite() && **timeout > 0.0));
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    bounds
}

/// Bounds between the numbers of attempts, up to the most that can be.
fn attempts(most: u64) -> Vec<f64> {
    let few = (1..=most.min(8)).map(|count| count as f64 + 0.5);
    let many = (4..20).map(|power| 2_f64.powi(power) + 0.5);
    few.chain(many.take_while(|bound| *bound < most as f64 * 2.0)).collect()
}

fn counter(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntCounter> {
    registered(registry, IntCounter::new(format!("rig_client_{name}"), help))
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> prometheus::Result<IntCounterVec> {
    let opts = Opts::new(format!("rig_client_{name}"), help);
    registered(registry, IntCounterVec::new(opts, labels))
}

fn gauge(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntGauge> {
    registered(registry, IntGauge::new(format!("rig_client_{name}"), help))
}

fn histogram(
    registry: &Registry,
    name: &str,
    help: &str,
    bounds: Vec<f64>,
) -> prometheus::Result<Histogram> {
    let opts = HistogramOpts::new(format!("rig_client_{name}"), help).buckets(bounds);
    registered(registry, Histogram::with_opts(opts))
}

const REQUESTS_HELP: &str = "Requests that ended, by the outcome that the user saw; good is \
    goodput, given_up found no connection because of the generator's own caps";
const OUTCOMES: [&str; 6] = ["good", "late", "timeout", "shed", "error", "given_up"];
/// By [`FailureClass`].
const OUTCOME_OF_CLASS: [usize; FailureClass::ALL.len()] = [2, 4, 3, 3, 4];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_stands_exactly_at_each_timeout_and_bounds_rise() {
        let bounds = seconds(1e-4, &[0.5, 0.05, 0.5]);
        assert!(bounds.contains(&0.5) && bounds.contains(&0.05));
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn bounds_of_attempts_reach_the_most_that_can_be() {
        assert_eq!(attempts(4), [1.5, 2.5, 3.5, 4.5]);
        let bounds = attempts(64);
        assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{bounds:?}");
        assert!(bounds.last().is_some_and(|last| *last > 64.0), "{bounds:?}");
        assert!(!attempts(u64::MAX).is_empty());
    }
}
