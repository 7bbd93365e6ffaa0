//! What retry layers have done, as metrics: the same names at a load generator and at a gateway.

use goodput_clock::{Scale, Timestamp};
use goodput_policy::attempt::FailureClass;
use goodput_policy::retry::{LayerConfig, Layers, StopReason};
use prometheus::core::Collector;
use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry};

/// The children of one layer.
#[derive(Debug)]
struct LayerChildren {
    first: IntCounter,
    retries: IntCounter,
    succeeded: IntCounter,
    cut: IntCounter,
    failed: [IntCounter; FailureClass::ALL.len()],
    stopped: [IntCounter; StopReason::ALL.len()],
    tokens: Gauge,
}

/// The metrics of retry layers. They count nothing themselves: whoever has the layers brings them up
/// to date.
#[derive(Debug)]
pub struct LayerMetrics {
    layers: Vec<LayerChildren>,
    max_attempts: Gauge,
    sustained_attempts: Gauge,
}

impl LayerMetrics {
    /// Registers the families with a child for each layer.
    ///
    /// # Errors
    ///
    /// Where the registry refuses one.
    pub fn new(
        registry: &Registry,
        configs: &[LayerConfig],
        scale: Scale,
    ) -> prometheus::Result<Self> {
        let counters = |name: &str, help: &str, label: &str| {
            registered(registry, IntCounterVec::new(Opts::new(name, help), &["layer", label]))
        };
        let gauges = |name: &str, help: &str| {
            registered(registry, GaugeVec::new(Opts::new(name, help), &["layer"]))
        };
        let tries = counters("rig_client_attempts_total", TRIES, "kind")?;
        let ends = counters("rig_client_attempts_finished_total", ENDS, "outcome")?;
        let stops = counters("rig_client_retries_suppressed_total", STOPS, "reason")?;
        let tokens = gauges("rig_client_retry_budget_tokens", TOKENS)?;
        let timeouts = gauges("rig_client_attempt_timeout_seconds", TIMEOUTS)?;
        let gauge = |name: &str, help: &str| registered(registry, Gauge::new(name, help));
        let children = |config: &LayerConfig| {
            let name = config.name.as_str();
            let wall = |timeout| scale.to_wall(timeout).as_secs_f64();
            let timeout = config.timeout.map_or(f64::INFINITY, wall);
            timeouts.with_label_values(&[name]).set(timeout);
            LayerChildren {
                first: tries.with_label_values(&[name, "first"]),
                retries: tries.with_label_values(&[name, "retry"]),
                succeeded: ends.with_label_values(&[name, "ok"]),
                cut: ends.with_label_values(&[name, "cut"]),
                failed: FailureClass::ALL
                    .map(|class| ends.with_label_values(&[name, class.name()])),
                stopped: StopReason::ALL.map(|why| stops.with_label_values(&[name, why.name()])),
                tokens: tokens.with_label_values(&[name]),
            }
        };
        Ok(Self {
            layers: configs.iter().map(children).collect(),
            max_attempts: gauge("rig_client_max_attempts_per_request", MAX_ATTEMPTS)?,
            sustained_attempts: gauge("rig_client_sustained_attempts_per_request", SUSTAINED)?,
        })
    }

    /// Takes over what the layers have counted, and what they allow at so many requests per second of
    /// scenario time.
    pub fn update(&self, now: Timestamp, layers: &Layers, requests_per_second: f64) {
        self.max_attempts.set(layers.max_attempts() as f64);
        self.sustained_attempts.set(layers.sustained_attempts(requests_per_second));
        for (index, (children, counters)) in self.layers.iter().zip(layers.counters()).enumerate() {
            raise(&children.first, counters.first);
            raise(&children.retries, counters.retries);
            raise(&children.succeeded, counters.succeeded);
            raise(&children.cut, counters.cut);
            for (counter, total) in children.failed.iter().zip(counters.failed) {
                raise(counter, total);
            }
            for (counter, total) in children.stopped.iter().zip(counters.stopped) {
                raise(counter, total);
            }
            children.tokens.set(layers.tokens(now, index));
        }
    }
}

/// Registers a family of metrics and hands it back.
///
/// # Errors
///
/// Where it could not be made, or the registry has one of its name already.
pub fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    family: prometheus::Result<C>,
) -> prometheus::Result<C> {
    let family = family?;
    registry.register(Box::new(family.clone()))?;
    Ok(family)
}

/// Counts up to `total`, which never falls.
fn raise(counter: &IntCounter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

const TRIES: &str =
    "Tries that a retry layer sent; those of the innermost layer are attempts on the wire";
const ENDS: &str =
    "Tries of a retry layer that ended, by result; cut by the time-out of an outer layer";
const STOPS: &str = "Failures after which a layer did not retry, by reason";
const TOKENS: &str = "Retries that the budgets of a layer would allow";
const TIMEOUTS: &str = "Time-out of a try of a layer, +Inf where off";
const MAX_ATTEMPTS: &str = "Product of the attempt limits of all layers";
const SUSTAINED: &str =
    "Attempts per request that limits and budgets of all layers allow in the long run";
