//! The server's Prometheus metrics, in wall time.
//!
//! Every child is resolved at start, so that each series is there as 0 from the first scrape on and
//! no look-up stands on the path of a request. These counters are also what `GET /state` reads: there is
//! one count of everything. Gauges are set from the limiter at each scrape, so that a dropped handler
//! cannot leave one behind.

use std::time::Duration;

use goodput_client::registered;
use goodput_control::api::UPSTREAM_UNSENT;
use goodput_policy::limiter::Refusal;
use prometheus::{
    Counter, CounterVec, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter,
    IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder, exponential_buckets,
    process_collector::ProcessCollector,
};

/// What becomes of a request at the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// Served; this is throughput.
    Ok,
    /// Refused, or dropped after it had waited.
    Shed,
    /// Dropped since its deadline would have passed.
    DeadlineExceeded,
    /// Left the queue since its caller hung up.
    Cancelled,
    /// Malformed, found nothing, or failed inside.
    Error,
}

impl Outcome {
    const ALL: [Self; 5] =
        [Self::Ok, Self::Shed, Self::DeadlineExceeded, Self::Cancelled, Self::Error];

    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Shed => "shed",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }
}

/// The children of all families.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Attempts that arrived.
    pub(crate) received: IntCounter,
    /// Those among them that said that they were retries.
    pub(crate) retries_received: IntCounter,
    finished: [IntCounter; Outcome::ALL.len()],
    refused: [IntCounter; Refusal::ALL.len()],
    upstream_refused: [IntCounter; UpstreamRefusal::ALL.len()],
    busy_useful: Counter,
    busy_wasted: Counter,
    immediate: IntCounter,
    delay_admitted: Histogram,
    delay_refused: Histogram,
    service: Histogram,
    gauges: Gauges,
    faults: [FaultMetrics; FaultLabel::ALL.len()],
    phases: [IntGauge; PHASES.len()],
}

/// What is read from the limiter at each scrape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) slots: u32,
    /// Requests per wall second, infinite where unlimited.
    pub(crate) capacity: f64,
    pub(crate) in_service: usize,
    pub(crate) queued: usize,
    /// Infinite where unbounded.
    pub(crate) queue_capacity: f64,
    pub(crate) oldest_age: Duration,
    pub(crate) admitted: f64,
}

#[derive(Debug)]
struct Gauges {
    slots: IntGauge,
    capacity: Gauge,
    in_flight: IntGauge,
    queued: IntGauge,
    queue_capacity: Gauge,
    oldest_age: Gauge,
    admitted: Gauge,
}

#[derive(Debug)]
struct FaultMetrics {
    active: IntGauge,
    start: Gauge,
    end: Gauge,
    touched: IntCounter,
}

/// Which refusals of an upstream a gateway tells apart.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UpstreamRefusal {
    /// The upstream refused the attempt (503).
    Overloaded,
    /// The upstream dropped the attempt, or it ran out of time on the way (504).
    Expired,
    /// No attempt had a connection in time, because of the gateway's own caps: nothing was asked of the
    /// upstream (504).
    Unsent,
}

impl UpstreamRefusal {
    const ALL: [Self; 3] = [Self::Overloaded, Self::Expired, Self::Unsent];

    const fn name(self) -> &'static str {
        match self {
            Self::Overloaded => "upstream-overloaded",
            Self::Expired => "upstream-expired",
            Self::Unsent => UPSTREAM_UNSENT,
        }
    }
}

/// The kinds of fault, which are the values of the label `fault`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum FaultLabel {
    /// A cut of capacity.
    Capacity,
    /// A stall.
    Stall,
}

impl FaultLabel {
    /// All kinds, in the order of their declaration.
    pub(crate) const ALL: [Self; 2] = [Self::Capacity, Self::Stall];

    const fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Stall => "stall",
        }
    }
}

impl Metrics {
    /// All families in a registry of their own, with a bucket boundary at each of `timeouts` (wall
    /// time), so that the share of work that was dead at dequeue is exact.
    ///
    /// # Errors
    ///
    /// Where the registry refuses a family.
    pub(crate) fn new(timeouts: &[Duration]) -> prometheus::Result<Self> {
        let registry = Registry::new();
        let buckets = buckets(timeouts)?;
        registry.register(Box::new(ProcessCollector::for_self()))?;
        let finished = int_counters(&registry, "rig_server_requests_total", FINISHED, "outcome")?;
        let shed = int_counters(&registry, "rig_server_requests_shed_total", SHED, "reason")?;
        let busy = Opts::new("rig_server_busy_seconds_total", BUSY);
        let busy = registered(&registry, CounterVec::new(busy, &["result"]))?;
        let delay = HistogramOpts::new("rig_server_queue_delay_seconds", DELAY);
        let delay = HistogramVec::new(delay.buckets(buckets.clone()), &["admitted"]);
        let delay = registered(&registry, delay)?;
        let service = HistogramOpts::new("rig_server_service_duration_seconds", SERVICE);
        let service = registered(&registry, Histogram::with_opts(service.buckets(buckets)))?;
        Ok(Self {
            received: int_counter(&registry, "rig_server_requests_received_total", RECEIVED)?,
            retries_received: int_counter(&registry, "rig_server_retries_received_total", RETRIES)?,
            finished: Outcome::ALL.map(|outcome| finished.with_label_values(&[outcome.name()])),
            refused: Refusal::ALL.map(|reason| shed.with_label_values(&[reason.name()])),
            upstream_refused: UpstreamRefusal::ALL.map(|why| shed.with_label_values(&[why.name()])),
            busy_useful: busy.with_label_values(&["useful"]),
            busy_wasted: busy.with_label_values(&["wasted"]),
            immediate: IntCounter::new("immediate", "Not exported: served without the limiter")?,
            delay_admitted: delay.with_label_values(&["true"]),
            delay_refused: delay.with_label_values(&["false"]),
            service,
            gauges: Gauges::new(&registry)?,
            faults: fault_metrics(&registry)?,
            phases: phase_metrics(&registry)?,
            registry,
        })
    }

    /// A request's queue delay has ended, with its service where it is `admitted`, else with its
    /// refusal.
    pub(crate) fn on_waited(&self, delay: Duration, admitted: bool) {
        let delays = if admitted { &self.delay_admitted } else { &self.delay_refused };
        delays.observe(delay.as_secs_f64());
    }

    /// A request was served (or, for `Outcome::Error`, found nothing) after it had held a slot for
    /// `service`.
    pub(crate) fn on_served(&self, service: Duration, wasted: bool) {
        self.service.observe(service.as_secs_f64());
        let busy = if wasted { &self.busy_wasted } else { &self.busy_useful };
        busy.inc_by(service.as_secs_f64());
    }

    /// Where further families may be registered.
    pub(crate) const fn registry(&self) -> &Registry {
        &self.registry
    }

    /// A request was served at once, by a tier without limits.
    pub(crate) fn on_immediate(&self) {
        self.immediate.inc();
        self.delay_admitted.observe(0.0);
        self.service.observe(0.0);
    }

    /// A request ended.
    pub(crate) fn on_finished(&self, outcome: Outcome) {
        self.finished[outcome as usize].inc();
    }

    /// A request was refused, at the door or after it had waited.
    pub(crate) fn on_refused(&self, reason: Refusal) {
        self.refused[reason as usize].inc();
        self.on_finished(match reason {
            Refusal::Expired => Outcome::DeadlineExceeded,
            Refusal::QueueFull
            | Refusal::SafetyCap
            | Refusal::Shed
            | Refusal::NotAdmitted
            | Refusal::Restart => Outcome::Shed,
        });
    }

    /// A gateway's upstream refused a request for good.
    pub(crate) fn on_upstream_refusal(&self, refusal: UpstreamRefusal) {
        self.upstream_refused[refusal as usize].inc();
        self.on_finished(match refusal {
            UpstreamRefusal::Overloaded => Outcome::Shed,
            UpstreamRefusal::Expired | UpstreamRefusal::Unsent => Outcome::DeadlineExceeded,
        });
    }

    /// A request arrived while faults of these kinds were in force.
    pub(crate) fn on_touched(&self, label: FaultLabel) {
        self.faults[label as usize].touched.inc();
    }

    /// A kind of fault came into force or ended at `unix_seconds`.
    pub(crate) fn on_fault(&self, label: FaultLabel, active: bool, unix_seconds: f64) {
        let fault = &self.faults[label as usize];
        fault.active.set(i64::from(active));
        (if active { &fault.start } else { &fault.end }).set(unix_seconds);
        let phase = if self.faults.iter().any(|fault| fault.active.get() == 1) { 1 } else { 2 };
        for (index, gauge) in self.phases.iter().enumerate() {
            gauge.set(i64::from(index == phase));
        }
    }

    /// How many requests ended so.
    pub(crate) fn finished(&self, outcome: Outcome) -> u64 {
        self.finished[outcome as usize].get()
    }

    /// How many requests were served at once, without the limiter.
    pub(crate) fn immediate(&self) -> u64 {
        self.immediate.get()
    }

    /// Refusals by reason, also those that are 0.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let own = Refusal::ALL.into_iter().map(Refusal::name).zip(&self.refused);
        let upstream = UpstreamRefusal::ALL.into_iter().map(UpstreamRefusal::name);
        let upstream = upstream.zip(&self.upstream_refused);
        own.chain(upstream).map(|(name, counter)| (name, counter.get()))
    }

    /// Slot time for callers who were still there and for those who had gone, in seconds.
    pub(crate) fn busy(&self) -> (f64, f64) {
        (self.busy_useful.get(), self.busy_wasted.get())
    }

    /// The text exposition, with the gauges as in `reading`.
    ///
    /// # Errors
    ///
    /// Where a family cannot be encoded.
    pub(crate) fn render(&self, reading: Reading) -> prometheus::Result<String> {
        self.gauges.set(reading);
        let mut text = String::with_capacity(32 * 1024);
        TextEncoder::new().encode_utf8(&self.registry.gather(), &mut text)?;
        Ok(text)
    }
}

impl Gauges {
    fn new(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            slots: int_gauge(registry, "rig_server_capacity_slots", SLOTS)?,
            capacity: gauge(registry, "rig_server_capacity_requests_per_second", CAPACITY)?,
            in_flight: int_gauge(registry, "rig_server_requests_in_flight", IN_FLIGHT)?,
            queued: int_gauge(registry, "rig_server_requests_queued", QUEUED)?,
            queue_capacity: gauge(registry, "rig_server_queue_capacity_requests", QUEUE_CAPACITY)?,
            oldest_age: gauge(registry, "rig_server_queue_oldest_age_seconds", OLDEST)?,
            admitted: gauge(registry, "rig_server_admitted_ratio", ADMITTED)?,
        })
    }

    fn set(&self, reading: Reading) {
        self.slots.set(i64::from(reading.slots));
        self.capacity.set(reading.capacity);
        self.in_flight.set(reading.in_service.cast_signed() as i64);
        self.queued.set(reading.queued.cast_signed() as i64);
        self.queue_capacity.set(reading.queue_capacity);
        self.oldest_age.set(reading.oldest_age.as_secs_f64());
        self.admitted.set(reading.admitted);
    }
}

fn buckets(timeouts: &[Duration]) -> prometheus::Result<Vec<f64>> {
    let mut bounds = exponential_buckets(0.001, 1.6, 26)?;
    bounds.extend(timeouts.iter().map(Duration::as_secs_f64).filter(|bound| *bound > 0.0));
    bounds.sort_by(f64::total_cmp);
    bounds.dedup();
    Ok(bounds)
}

fn fault_metrics(registry: &Registry) -> prometheus::Result<[FaultMetrics; FaultLabel::ALL.len()]> {
    let label = &["fault"];
    let gauges =
        |name: &str, help: &str| registered(registry, GaugeVec::new(Opts::new(name, help), label));
    let active = Opts::new("rig_fault_active", FAULT_ACTIVE);
    let active = registered(registry, IntGaugeVec::new(active, label))?;
    let start = gauges("rig_fault_start_timestamp_seconds", FAULT_START)?;
    let end = gauges("rig_fault_end_timestamp_seconds", FAULT_END)?;
    let touched = int_counters(registry, "rig_fault_injections_total", FAULT_TOUCHED, label[0])?;
    Ok(FaultLabel::ALL.map(|kind| FaultMetrics {
        active: active.with_label_values(&[kind.name()]),
        start: start.with_label_values(&[kind.name()]),
        end: end.with_label_values(&[kind.name()]),
        touched: touched.with_label_values(&[kind.name()]),
    }))
}

fn phase_metrics(registry: &Registry) -> prometheus::Result<[IntGauge; PHASES.len()]> {
    let phase = IntGaugeVec::new(Opts::new("rig_phase", PHASE), &["phase"]);
    let phase = registered(registry, phase)?;
    let phases = PHASES.map(|name| phase.with_label_values(&[name]));
    phases[0].set(1);
    Ok(phases)
}

fn int_counter(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntCounter> {
    registered(registry, IntCounter::new(name, help))
}

fn int_counters(
    registry: &Registry,
    name: &str,
    help: &str,
    label: &str,
) -> prometheus::Result<IntCounterVec> {
    registered(registry, IntCounterVec::new(Opts::new(name, help), &[label]))
}

fn int_gauge(registry: &Registry, name: &str, help: &str) -> prometheus::Result<IntGauge> {
    registered(registry, IntGauge::new(name, help))
}

fn gauge(registry: &Registry, name: &str, help: &str) -> prometheus::Result<Gauge> {
    registered(registry, Gauge::new(name, help))
}

/// The names of the run log's phases.
const PHASES: [&str; 3] = ["baseline", "fault", "after"];

const RECEIVED: &str = "Requests received, before admission";
const RETRIES: &str = "Requests received whose attempt number is above 1";
const FINISHED: &str = "Requests finished, by outcome; ok is throughput";
const SHED: &str = "Requests refused or dropped, by reason";
const BUSY: &str = "Slot time spent; wasted when the caller had gone or its deadline had passed";
const DELAY: &str = "Time from arrival to a slot, or to a refusal after waiting";
const SERVICE: &str = "Time holding a slot";
const SLOTS: &str = "Slots in force, after faults";
const CAPACITY: &str = "Requests that can be served per second, after faults";
const IN_FLIGHT: &str = "Requests that hold a slot";
const QUEUED: &str = "Requests that wait for a slot";
const QUEUE_CAPACITY: &str = "Bound of the queue, +Inf when unbounded";
const OLDEST: &str = "Age of the oldest request that waits";
const ADMITTED: &str = "Share of the traffic that is admitted at the edge";
const FAULT_ACTIVE: &str = "Whether a fault of this kind is in force";
const FAULT_START: &str = "When a fault of this kind last came into force, 0 before the first";
const FAULT_END: &str = "When a fault of this kind last ended, 0 before the first";
const FAULT_TOUCHED: &str = "Requests that arrived while a fault of this kind was in force";
const PHASE: &str = "Where this server stands against its faults since it started; one is 1";
