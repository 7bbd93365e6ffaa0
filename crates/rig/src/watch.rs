//! Watches one tier through its control plane: samples its state and turns it into windows.

use std::time::{Duration, Instant};

use goodput_clock::{Rate, Scale, Timestamp};
use goodput_control::api::{Commands, ServerCounters, ServerState, UPSTREAM_UNSENT};
use goodput_control::{ControlClient, wall};
use goodput_gate::TierNow;
use goodput_policy::limiter::Capacity;
use goodput_runlog::{Event, EventKind, Restarted, TierSample, TierSampler, TierWindow};

use crate::others::Others;

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
    /// The tier as it was last read, and when it answered.
    now: TierNow,
    answered: Instant,
    silent_since: Option<Instant>,
    silence_reported: bool,
    others: Others,
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

impl Watch {
    /// A watch over the tier of this name that begins with `first`, read before `epoch`, and over what
    /// others do there.
    pub(crate) fn new(
        name: &str,
        first: &Reading,
        epoch: Instant,
        scale: Scale,
        others: Others,
    ) -> Self {
        let mut watch = Self {
            name: name.to_owned(),
            scale,
            epoch,
            instance: first.state.instance.clone(),
            zero: first.server_zero().unwrap_or(first.asked),
            sampler: TierSampler::new(name),
            memory_peak: 0,
            now: TierNow {
                name: name.to_owned(),
                capacity: Capacity::Unlimited,
                slots: 0,
                queued: 0,
                received: 0,
                answers: true,
            },
            answered: first.answered,
            silent_since: None,
            silence_reported: false,
            others,
            first: Forwarded::of(&first.state),
            last: Forwarded::default(),
        };
        // What it shows that the run did not do is told with the next reading, which the run hears.
        watch.take(first);
        watch
    }

    /// Takes what was read, and says what it shows that the run did not do: a process that began anew,
    /// and what others have asked for.
    pub(crate) fn on_reading(&mut self, reading: &Reading) -> Vec<Event> {
        if reading.state.instance != self.instance {
            self.instance.clone_from(&reading.state.instance);
            self.zero = reading.server_zero().unwrap_or(reading.asked);
            self.others.begin_process();
            self.first = Forwarded::default();
        }
        self.silent_since = None;
        let (at, restarted) = self.take(reading);
        let mut news = self.news(&reading.state.commands, at);
        if let Some(Restarted { tier, seen }) = restarted {
            news.push(Event { at: seen, kind: EventKind::ServerRestarted { tier } });
        }
        news
    }

    /// Samples what was read, and says when that was and whether the process had been started anew.
    fn take(&mut self, reading: &Reading) -> (Timestamp, Option<Restarted>) {
        self.memory_peak = self.memory_peak.max(reading.state.memory);
        self.last = Forwarded::of(&reading.state);
        let sample = self.sample(&reading.state);
        self.answered = reading.answered;
        match sample.capacity.map(Rate::new) {
            None => self.now.capacity = Capacity::Unlimited,
            Some(Ok(rate)) => self.now.capacity = Capacity::Limited(rate),
            // A tier that is stalled serves nothing now, and has its capacity still.
            Some(Err(_)) => {}
        }
        self.now.slots = sample.slots;
        self.now.queued = sample.queued;
        self.now.received = self.last.received.saturating_sub(self.first.received);
        (sample.at, self.sampler.push(&sample))
    }

    /// What others have asked for by `at`, when the state was read.
    fn news(&mut self, commands: &Commands, at: Timestamp) -> Vec<Event> {
        let scale = self.scale;
        self.others.news(commands, |age| {
            Timestamp::from(at.elapsed().saturating_sub(scale.to_scenario(age)))
        })
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

    /// The tier as it was last read; it does not answer where that was long ago.
    pub(crate) fn tier_now(&self, now: Instant) -> TierNow {
        let answers = now.saturating_duration_since(self.answered) < NO_ANSWER;
        TierNow { answers, ..self.now.clone() }
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

const CALIBRATIONS: u32 = 5;
/// As for the load generator's own caps.
const UNSENT_MOST: f64 = 0.005;
/// How long ago a tier must have been read, in wall time, to count as one that does not answer: it is
/// asked once a second at least, and has two seconds to answer.
const NO_ANSWER: Duration = Duration::from_secs(3);
/// How long a tier may be silent, in wall time, before the run is in doubt.
const SILENCE: Duration = Duration::from_secs(1);
