//! Watches one tier through its control plane: samples its state and turns it into windows.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use goodput_clock::{Scale, Timestamp};
use goodput_control::api::{FaultView, ServerCounters, ServerState, UPSTREAM_UNSENT};
use goodput_control::{ControlClient, wall};
use goodput_runlog::{Event, EventKind, Restarted, TierSample, TierSampler, TierWindow};

/// A state, and when it was asked for and answered.
#[derive(Debug)]
pub(crate) struct Reading {
    state: ServerState,
    asked: Instant,
    answered: Instant,
}

/// Asks a server for its state.
pub(crate) async fn read(client: &ControlClient) -> Result<Reading, String> {
    let asked = Instant::now();
    match client.server_state().await {
        Ok(state) => Ok(Reading { state, asked, answered: Instant::now() }),
        Err(error) => Err(error.to_string()),
    }
}

/// Asks a server for its state some times and returns the quickest answer, which tells best what
/// the server's clock shows.
pub(crate) async fn calibrate(client: &ControlClient) -> Result<Reading, String> {
    let mut best = read(client).await?;
    for _ in 1..CALIBRATIONS {
        let next = read(client).await?;
        if next.round_trip() < best.round_trip() {
            best = next;
        }
    }
    Ok(best)
}

impl Reading {
    fn round_trip(&self) -> Duration {
        self.answered - self.asked
    }

    /// When the server's clock showed zero, on the clock of this process.
    fn server_zero(&self) -> Option<Instant> {
        let middle = self.asked + self.round_trip() / 2;
        middle.checked_sub(Duration::try_from_secs_f64(self.state.uptime).ok()?)
    }
}

/// The watch over one tier.
#[derive(Debug)]
pub(crate) struct Watch {
    name: String,
    scale: Scale,
    epoch: Instant,
    /// The process that is watched, and when its clock showed zero.
    instance: String,
    zero: Instant,
    sampler: TierSampler,
    memory_peak: u64,
    silent_since: Option<Instant>,
    silence_reported: bool,
    /// The faults of the run itself, and those of others that have been reported.
    known_faults: BTreeSet<String>,
    restarts: Restarts,
    /// What a gateway had counted when the process was first read, and when it was last read.
    first: Forwarded,
    last: Forwarded,
}

/// What a gateway had received, and what of it its own caps on connections kept from the next tier.
#[derive(Clone, Copy, Debug, Default)]
struct Forwarded {
    received: u64,
    unsent: u64,
}

/// The `restart` lever at a tier.
#[derive(Debug, Default)]
struct Restarts {
    /// How often it had been pulled when the process was first read, and when it was last read.
    first: u64,
    last: u64,
    /// How often it had been pulled before that process, since the run began.
    before: u64,
    /// Since when more pulls are seen than are known of.
    unexplained: Option<(Instant, Timestamp)>,
    reported: u64,
}

impl Watch {
    /// A watch over the tier of this name that begins with `first`, read before `epoch`.
    ///
    /// `own_faults` are those that the run itself puts there.
    pub(crate) fn new(
        name: &str,
        first: &Reading,
        epoch: Instant,
        scale: Scale,
        own_faults: impl IntoIterator<Item = String>,
    ) -> Self {
        let mut watch = Self {
            name: name.to_owned(),
            scale,
            epoch,
            instance: first.state.instance.clone(),
            zero: first.server_zero().unwrap_or(first.asked),
            sampler: TierSampler::new(name),
            memory_peak: 0,
            silent_since: None,
            silence_reported: false,
            known_faults: own_faults.into_iter().collect(),
            restarts: Restarts { first: first.state.restarts, ..Restarts::default() },
            first: Forwarded::of(&first.state),
            last: Forwarded::default(),
        };
        // What it shows that the run did not do is told with the next reading, which the run hears.
        watch.take(first);
        watch
    }

    /// Takes what was read, and says what it shows that the run did not do: a restart, or somebody
    /// else's fault.
    pub(crate) fn on_reading(&mut self, reading: &Reading) -> Vec<Event> {
        if reading.state.instance != self.instance {
            self.instance.clone_from(&reading.state.instance);
            self.zero = reading.server_zero().unwrap_or(reading.asked);
            self.restarts.begin_process();
            self.first = Forwarded::default();
        }
        self.silent_since = None;
        let (at, restarted) = self.take(reading);
        let mut news = self.foreign_faults(&reading.state, at);
        if let Some(Restarted { tier, seen }) = restarted {
            news.push(Event { at: seen, kind: EventKind::ServerRestarted { tier } });
        }
        news
    }

    /// Samples what was read, and says when that was and whether the process had been started anew.
    fn take(&mut self, reading: &Reading) -> (Timestamp, Option<Restarted>) {
        self.restarts.last = reading.state.restarts;
        self.memory_peak = self.memory_peak.max(reading.state.memory);
        self.last = Forwarded::of(&reading.state);
        let sample = self.sample(&reading.state);
        (sample.at, self.sampler.push(&sample))
    }

    /// Takes how often the run itself has pulled the `restart` lever here, and says where somebody
    /// else has. A pull may be read before it is known of, so it is held against the run only once
    /// that has lasted, or at the run's end.
    pub(crate) fn check_restarts(&mut self, own: u64, now: Instant, at_end: bool) -> Option<Event> {
        let here = self.timestamp(now);
        let restarts = &mut self.restarts;
        let foreign = restarts.pulled().saturating_sub(own);
        if foreign <= restarts.reported {
            restarts.unexplained = None;
            return None;
        }
        let (since, at) = *restarts.unexplained.get_or_insert((now, here));
        if !at_end && now - since < NEWS_TAKES {
            return None;
        }
        restarts.reported = foreign;
        restarts.unexplained = None;
        let what = format!("somebody else pulled the lever `restart` at tier `{}`", self.name);
        Some(Event { at, kind: EventKind::Doubt { what } })
    }

    /// Says where the caps on a gateway's connections have kept more from the next tier than a run can
    /// bear.
    pub(crate) fn check_caps(&self, now: Instant) -> Option<Event> {
        let unsent = self.last.unsent.saturating_sub(self.first.unsent);
        let received = self.last.received.saturating_sub(self.first.received);
        if unsent as f64 <= UNSENT_MOST * received as f64 {
            return None;
        }
        let what = format!(
            "tier `{}` could not forward {unsent} of {received} requests: it had as many connections \
             to the next tier as it may",
            self.name
        );
        Some(Event { at: self.timestamp(now), kind: EventKind::Doubt { what } })
    }

    /// The faults in force that are not the run's, each once.
    fn foreign_faults(&mut self, state: &ServerState, at: Timestamp) -> Vec<Event> {
        let mut news = Vec::new();
        for FaultView { name, fault, .. } in &state.faults {
            if self.known_faults.insert(name.clone()) {
                let what = format!(
                    "tier `{}` has the fault `{name}` in force, which is not this run's: {fault}",
                    self.name
                );
                news.push(Event { at, kind: EventKind::Doubt { what } });
            }
        }
        news
    }

    /// Takes that the server did not answer, and says so once it has been silent for long.
    pub(crate) fn on_silence(&mut self, now: Instant, problem: &str) -> Option<Event> {
        let since = *self.silent_since.get_or_insert(now);
        if self.silence_reported || now - since < SILENCE {
            return None;
        }
        self.silence_reported = true;
        let what = format!("the control plane of tier `{}` does not answer: {problem}", self.name);
        Some(Event { at: self.timestamp(since), kind: EventKind::Doubt { what } })
    }

    /// The next window that the samples so far cover.
    pub(crate) fn next_window(&mut self) -> Option<(u64, TierWindow)> {
        self.sampler.next_window()
    }

    /// The windows that are left of a run of so many seconds.
    pub(crate) fn finish(self, seconds: u64) -> Vec<(u64, TierWindow)> {
        self.sampler.finish(seconds)
    }

    /// The tier's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The process's resident memory at its largest, in bytes.
    pub(crate) const fn memory_peak(&self) -> u64 {
        self.memory_peak
    }

    fn timestamp(&self, instant: Instant) -> Timestamp {
        self.scale.to_scenario(instant.saturating_duration_since(self.epoch)).into()
    }

    /// The state in scenario time.
    fn sample(&self, state: &ServerState) -> TierSample {
        let speed = self.scale.speed();
        let counters = &state.counters;
        let read_at = self.zero + Duration::try_from_secs_f64(state.uptime).unwrap_or_default();
        TierSample {
            at: self.timestamp(read_at),
            instance: state.instance.clone(),
            received: counters.received,
            served: counters.served,
            refused: counters.refused.clone(),
            cancelled: counters.cancelled,
            errors: counters.errors,
            busy_useful: counters.busy_useful * speed,
            busy_wasted: counters.busy_wasted * speed,
            queue_delay: wall::delays_to_scenario(&state.queue_delay, self.scale),
            queued: state.queued,
            in_service: state.in_service,
            slots: state.slots,
            capacity: state.capacity.map(|per_second| self.scale.rate_to_scenario(per_second)),
            admitted: Some(state.admitted),
            oldest_age: state.oldest_age * speed,
        }
    }
}

impl Forwarded {
    fn of(state: &ServerState) -> Self {
        let ServerCounters { received, refused, .. } = &state.counters;
        let unsent = refused.get(UPSTREAM_UNSENT).copied().unwrap_or_default();
        Self { received: *received, unsent }
    }
}

impl Restarts {
    /// How often it has been pulled since the run began, by whomever.
    const fn pulled(&self) -> u64 {
        self.before + self.last.saturating_sub(self.first)
    }

    /// A new process counts from 0.
    const fn begin_process(&mut self) {
        self.before = self.pulled();
        (self.first, self.last) = (0, 0);
    }
}

/// How long it may take, in wall time, until the run hears of a lever that it has pulled.
const NEWS_TAKES: Duration = Duration::from_secs(2);
const CALIBRATIONS: u32 = 5;
/// As for the load generator's own caps.
const UNSENT_MOST: f64 = 0.005;
/// How long a tier may be silent, in wall time, before the run is in doubt.
const SILENCE: Duration = Duration::from_secs(1);
