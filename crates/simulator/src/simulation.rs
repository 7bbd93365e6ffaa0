//! The loop: what is due next, and who takes it.

use std::time::Duration;

use goodput_clock::{Stream, Timestamp};
use goodput_policy::attempt::{AttemptResult, FailureClass, Reply};
use goodput_policy::lever::Lever;
use goodput_policy::limiter::JobId;
use goodput_policy::retry::StopReason;
use goodput_runlog::{Cancel, ClientRecorder, Ending, Observer, RunLog};
use goodput_scenario::Protocol;
use goodput_scenario::schedule::Schedule;

use crate::RunOptions;
use crate::call::Key;
use crate::caller::Caller;
use crate::network::Network;
use crate::queue::Agenda;
use crate::record::Ledger;
use crate::server::Tier;
use crate::timeline::Timeline;

/// One run in virtual time.
#[derive(Debug)]
pub(crate) struct Simulation<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) now: Timestamp,
    /// When the run ends; what is left open then is watched for a while.
    end: Timestamp,
    /// When the trigger starts, until the gate has been asked.
    pub(crate) gate: Timestamp,
    /// Whether the trigger was withheld.
    pub(crate) withheld: bool,
    /// How many arrivals the schedule had asked for by the run's end.
    scheduled: Option<u64>,
    schedule: Schedule,
    /// When the next arrival is due.
    arrival: Timestamp,
    pub(crate) deadline: Option<Duration>,
    pub(crate) clients: u32,
    pub(crate) next_client: u32,
    /// Who calls the tier of the same index: the load's clients, then each gateway.
    pub(crate) callers: Vec<Caller>,
    /// Outermost first.
    pub(crate) tiers: Vec<Tier>,
    /// When the first service of all tiers ends.
    pub(crate) service: Timestamp,
    /// Time-outs of attempts: for each caller, nearly always one constant.
    pub(crate) timeouts: Agenda<Timer, 2>,
    /// Ends of backoffs: a constant a retry, where they have no jitter.
    pub(crate) waits: Agenda<Timer, 4>,
    /// Messages: with a constant delay two constants, of which one is for new connections.
    pub(crate) wire: Agenda<Message, 2>,
    network: Network,
    random: Stream,
    pub(crate) timeline: Timeline,
    pub(crate) recorder: ClientRecorder,
    pub(crate) ledger: Ledger,
    /// When the running window ends.
    window_ends: Timestamp,
    events: u64,
}

/// A step of a request that ends with time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) key: Key,
    pub(crate) level: u8,
}

/// What is on its way between a caller and the tier of the same level.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message {
    /// An attempt, with the nanoseconds that an answer is of use for ([`u64::MAX`] for ever).
    Request { level: u8, key: Key, remaining: u64 },
    /// What became of an attempt.
    Answer { level: u8, key: Key, answer: Answer },
    /// The caller of a job has closed its connection.
    HungUp { level: u8, job: JobId },
    /// The caller of an attempt that a gateway may be forwarding has closed its connection.
    Abandoned { level: u8, key: Key },
}

/// What an attempt is answered with, or what takes the place of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) result: AttemptResult,
    pub(crate) reply: Reply,
    /// Whether a lever turned the attempt away at a server's edge.
    pub(crate) turned_away: bool,
}

impl Answer {
    pub(crate) const fn of(result: AttemptResult) -> Self {
        Self { result, reply: Reply::of(result), turned_away: false }
    }
}

/// What can be due, in the order of precedence at one instant.
#[derive(Clone, Copy, Debug)]
enum Due {
    WindowEnds,
    Timeline,
    Timeout,
    WaitOver,
    Arrival,
    Message,
    ServiceEnds,
}

impl<'a> Simulation<'a> {
    /// A run before its beginning.
    pub(crate) fn new(options: &'a RunOptions) -> Self {
        let RunOptions { scenario, seed, network, .. } = options;
        let client = &scenario.client;
        let clients = client.clients.max(1);
        let load =
            Caller::new(client.layers.clone(), clients, client.protocol, *seed, "client-backoff");
        let gateways = scenario.tiers.iter().filter(|tier| !tier.layers.is_empty()).map(|tier| {
            let name = format!("{}-backoff", tier.name);
            Caller::new(tier.layers.clone(), 1, Protocol::Http1, *seed, &name)
        });
        let classes = FailureClass::ALL.map(FailureClass::name);
        // The load goes on while the run watches on: one that stops heals the system.
        let watched = scenario.duration + scenario.watch();
        let mut schedule = Schedule::new(&scenario.load, watched, *seed);
        let end = Timestamp::ZERO + scenario.duration;
        let reasons = StopReason::ALL.map(StopReason::name);
        Self {
            options,
            now: Timestamp::ZERO,
            end,
            gate: scenario.trigger_span().map_or(Timestamp::MAX, |(start, _)| start),
            withheld: false,
            scheduled: None,
            arrival: schedule.peek().unwrap_or(Timestamp::MAX),
            schedule,
            deadline: client.deadline,
            clients,
            next_client: 0,
            callers: std::iter::once(load).chain(gateways).collect(),
            tiers: scenario.tiers.iter().map(|tier| Tier::new(tier, *seed)).collect(),
            service: Timestamp::MAX,
            timeouts: Agenda::new(),
            waits: Agenda::new(),
            wire: Agenda::new(),
            network: *network,
            random: seed.stream("network"),
            timeline: Timeline::of(scenario),
            recorder: ClientRecorder::new(&classes, &reasons)
                .with_life(scenario.life())
                .ending(end),
            ledger: Ledger::default(),
            window_ends: SECOND,
            events: 0,
        }
    }

    /// Carries the run out; see [`run`](crate::run).
    pub(crate) fn run(
        &mut self,
        observer: &mut dyn Observer,
        levers: &mut dyn FnMut(Timestamp) -> Option<Lever>,
        cancel: &Cancel,
    ) -> RunLog {
        while let Some(window_ended) = self.step(observer) {
            if !window_ended {
                continue;
            }
            while let Some(lever) = levers(self.now) {
                self.pull_by_hand(&lever, observer);
            }
            if cancel.is_cancelled() {
                self.revert(observer);
                return self.log(Ending::Interrupted, observer);
            }
        }
        let ending = if self.withheld { Ending::Withheld } else { Ending::Completed };
        self.log(ending, observer)
    }

    /// How many events there have been; see [`run_counted`](crate::run_counted).
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    /// Carries out what is due next, and says whether that was the end of a window; none at the run's
    /// end, or where the trigger is due and withheld.
    pub(crate) fn step(&mut self, observer: &mut dyn Observer) -> Option<bool> {
        let (at, due) = self.next();
        if at >= self.end && self.watched_enough(at, matches!(due, Due::WindowEnds)) {
            return None;
        }
        if at >= self.gate && self.is_withheld(at, matches!(due, Due::WindowEnds), observer) {
            return None;
        }
        self.now = at;
        let happened = match due {
            Due::WindowEnds => {
                self.end_window(observer);
                return Some(true);
            }
            Due::Timeline => self.on_timeline(observer),
            Due::Timeout => match self.timeouts.pop() {
                Some(timer) => self.on_timeout(timer),
                None => false,
            },
            Due::WaitOver => match self.waits.pop() {
                Some(timer) => self.on_wait_over(timer),
                None => false,
            },
            Due::Arrival => {
                self.on_arrival();
                true
            }
            Due::Message => match self.wire.pop() {
                Some(message) => self.on_message(message),
                None => false,
            },
            Due::ServiceEnds => {
                self.on_service_ends();
                false
            }
        };
        self.events += u64::from(happened);
        Some(false)
    }

    /// Whether the run ends before what is due at `at`: it is over, and of what it left open nothing is
    /// left, or it was watched for as long as it may be.
    ///
    /// What is left is counted at the end and then once a second.
    fn watched_enough(&mut self, at: Timestamp, look: bool) -> bool {
        let look = look || self.scheduled.is_none();
        self.scheduled.get_or_insert(self.schedule.taken());
        let watched = self.end + self.options.scenario.watch();
        let nothing_left = || self.recorder.open_before(self.end.elapsed().as_secs()) == 0;
        let over = at >= watched || (look && nothing_left());
        if over {
            self.now = self.now.max(self.end).min(watched);
        }
        over
    }

    /// Takes the arrival that is due off the schedule.
    pub(crate) fn take_arrival(&mut self) {
        self.schedule.next();
        self.look_for_arrival();
    }

    /// Changes the rate from this moment on.
    pub(crate) fn set_rate(&mut self, rate: goodput_clock::Rate) {
        self.schedule.set_rate(self.now, rate);
        self.look_for_arrival();
    }

    /// How many arrivals the schedule has asked for within the run.
    pub(crate) fn issued(&self) -> u64 {
        self.scheduled.unwrap_or_else(|| self.schedule.taken())
    }

    /// How many arrivals there have been, those of the watch after the run's end among them.
    #[cfg(test)]
    pub(crate) const fn arrivals(&self) -> u64 {
        self.schedule.taken()
    }

    /// The whole seconds of the run so far, without those that it is only watched for.
    pub(crate) fn seconds(&self) -> u64 {
        self.now.min(self.end).elapsed().as_secs()
    }

    /// How long the next message takes.
    pub(crate) fn network_delay(&mut self) -> Duration {
        self.network.delay(&mut self.random)
    }

    /// Counts an end of service or another end that a limiter told.
    pub(crate) const fn count_event(&mut self) {
        self.events += 1;
    }

    fn next(&self) -> (Timestamp, Due) {
        let mut next = (self.window_ends, Due::WindowEnds);
        for (at, due) in [
            (self.timeline.next_at(), Due::Timeline),
            (self.timeouts.next_at(), Due::Timeout),
            (self.waits.next_at(), Due::WaitOver),
            (self.arrival, Due::Arrival),
            (self.wire.next_at(), Due::Message),
            (self.service, Due::ServiceEnds),
        ] {
            if at < next.0 {
                next = (at, due);
            }
        }
        next
    }

    fn on_message(&mut self, message: Message) -> bool {
        match message {
            Message::Request { level, key, remaining } => {
                self.on_request(usize::from(level), key, remaining);
                true
            }
            Message::Answer { level, key, answer } => {
                self.on_answer(usize::from(level), key, answer)
            }
            Message::HungUp { level, job } => {
                self.on_hung_up(usize::from(level), job);
                true
            }
            Message::Abandoned { level, key } => {
                self.on_abandoned(usize::from(level), key);
                true
            }
        }
    }

    fn look_for_arrival(&mut self) {
        self.arrival = self.schedule.peek().map_or(Timestamp::MAX, |at| at.max(self.now));
    }

    fn end_window(&mut self, observer: &mut dyn Observer) {
        self.close_tier_windows();
        let counted = self.end.elapsed().as_secs();
        while let Some((second, client)) = self.recorder.next_window(self.now) {
            if second < counted {
                self.ledger.window(second, client, observer);
            }
        }
        while let Some((second, cohort)) = self.recorder.next_cohort() {
            self.ledger.cohort(second, cohort);
        }
        self.window_ends += Duration::from_secs(1);
    }
}

const SECOND: Timestamp = Timestamp::from_secs(1);

#[cfg(test)]
mod tests;
