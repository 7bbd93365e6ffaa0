//! The caller's side of a level: the load's clients before the first tier, a gateway before the next.

use goodput_clock::{Seed, Timestamp};
use goodput_policy::attempt::{AttemptResult, FailureClass, Reply};
use goodput_policy::retry::{LayerConfig, Layers, Outcome, Step, StopReason};
use goodput_runlog::{OutcomeKey, RequestEnd, RequestEnded};
use goodput_scenario::Protocol;

use crate::call::{Calls, Key, Phase};
use crate::simulation::{Answer, Message, Simulation, Timer};

/// Who calls the tier of the same index.
#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) layers: Layers,
    pub(crate) calls: Calls,
    pub(crate) connections: Connections,
    /// What the layers' counters said when the recorder was last told what they had refused.
    told: Vec<[u64; StopReason::ALL.len()]>,
}

impl Caller {
    pub(crate) fn new(
        layers: Vec<LayerConfig>,
        clients: u32,
        protocol: Protocol,
        seed: Seed,
        name: &str,
    ) -> Self {
        let told = vec![[0; StopReason::ALL.len()]; layers.len()];
        Self {
            layers: Layers::new(layers, clients, seed.stream(name)),
            calls: Calls::default(),
            connections: Connections::new(protocol, clients),
            told,
        }
    }
}

/// The open connections of each client instance.
#[derive(Debug)]
pub(crate) struct Connections {
    protocol: Protocol,
    /// Over HTTP/1.1 how many are idle; over HTTP/2 whether the one is open.
    idle: Vec<u32>,
}

impl Connections {
    fn new(protocol: Protocol, clients: u32) -> Self {
        Self { protocol, idle: vec![0; clients as usize] }
    }

    /// Takes a connection for an attempt; false where it has to be opened.
    fn take(&mut self, client: u32) -> bool {
        let idle = &mut self.idle[client as usize];
        match self.protocol {
            Protocol::Http1 if *idle > 0 => *idle -= 1,
            Protocol::Http2 if *idle > 0 => {}
            Protocol::Http1 => return false,
            Protocol::Http2 => {
                *idle = 1;
                return false;
            }
        }
        true
    }

    /// Takes back the connection of an attempt that has ended, `whole` where it can be used again;
    /// false where it is closed.
    fn give_back(&mut self, client: u32, whole: bool) -> bool {
        match self.protocol {
            Protocol::Http2 => true,
            Protocol::Http1 => {
                self.idle[client as usize] += u32::from(whole);
                whole
            }
        }
    }

    /// Closes those that are idle, over HTTP/2 all; says how many there were.
    pub(crate) fn drop_idle(&mut self) -> u32 {
        self.idle.iter_mut().map(std::mem::take).sum()
    }
}

impl Simulation<'_> {
    /// Issues the arrival that is due.
    pub(crate) fn on_arrival(&mut self) {
        let now = self.now;
        self.take_arrival();
        let client = self.next_client;
        self.next_client = (client + 1) % self.clients;
        self.recorder.offered(now, now);
        self.recorder.send_lag(now, std::time::Duration::ZERO);
        let deadline = self.deadline.map_or(Timestamp::MAX, |deadline| now + deadline);
        self.begin(0, client, deadline, None);
    }

    /// Begins a request at a level.
    pub(crate) fn begin(
        &mut self,
        level: usize,
        client: u32,
        deadline: Timestamp,
        parent: Option<Key>,
    ) -> u32 {
        let Caller { layers, calls, .. } = &mut self.callers[level];
        let (slot, step) = calls.begin(self.now, client, deadline, parent, layers);
        self.follow(level, slot, step);
        slot
    }

    /// A time-out is due: of an attempt, or of an outer layer.
    pub(crate) fn on_timeout(&mut self, timer: Timer) -> bool {
        let level = usize::from(timer.level);
        let Some(running) = self.callers[level].calls.current(timer.key) else { return false };
        let phase = running.phase;
        // To a tier that lets work go on this is no news: the deadline has told it already that the
        // work is wasted.
        if self.cancels(level) {
            self.hang_up(level, timer.key, phase);
        }
        let timed_out = Answer::of(AttemptResult::Failure(FailureClass::Timeout));
        self.end_attempt(level, timer.key.slot, timed_out);
        true
    }

    /// The end of a backoff is due.
    pub(crate) fn on_wait_over(&mut self, timer: Timer) -> bool {
        let level = usize::from(timer.level);
        let Caller { layers, calls, .. } = &mut self.callers[level];
        let Some(running) = calls.current(timer.key) else { return false };
        let step = running.call().on_wakeup(self.now, layers);
        self.tell_refusals(level);
        self.follow(level, timer.key.slot, step);
        true
    }

    /// An answer, or a connection's end, reaches the caller.
    pub(crate) fn on_answer(&mut self, level: usize, key: Key, answer: Answer) -> bool {
        if !self.callers[level].calls.is_current(key) {
            return false;
        }
        self.end_attempt(level, key.slot, answer);
        true
    }

    /// Drops a gateway's request whose own caller has gone.
    pub(crate) fn cancel(&mut self, level: usize, slot: u32) {
        let running = self.callers[level].calls.get(slot);
        let (key, phase, client) = (running.key(slot), running.phase, running.client);
        if phase != Phase::Backoff {
            self.hang_up(level, key, phase);
            self.callers[level].connections.give_back(client, false);
        }
        self.callers[level].calls.end(slot);
    }

    /// Does what a request's layers ask for.
    fn follow(&mut self, level: usize, slot: u32, step: Step) {
        let now = self.now;
        let level_index = level as u8;
        match step {
            Step::Attempt { number, until, deadline } => {
                let Caller { calls, connections, .. } = &mut self.callers[level];
                let key = calls.turn(slot, Phase::Sent);
                let running = calls.get(slot);
                running.sent = now;
                let open = connections.take(running.client);
                if level == 0 {
                    self.recorder.attempt_began(now);
                    self.recorder.attempt_sent(now, number);
                    if !open {
                        self.recorder.connection_opened(now);
                    }
                }
                self.timeouts.push(until, Timer { key, level: level_index });
                let mut delay = self.network_delay();
                if !open {
                    delay += self.network_delay() + self.network_delay();
                }
                let remaining = match deadline {
                    Timestamp::MAX => u64::MAX,
                    deadline => deadline.since(now).as_nanos() as u64,
                };
                self.wire
                    .push(now + delay, Message::Request { level: level_index, key, remaining });
            }
            Step::Wait { until } => {
                let key = self.callers[level].calls.turn(slot, Phase::Backoff);
                self.waits.push(until, Timer { key, level: level_index });
            }
            Step::Done(outcome) => self.end_request(level, slot, outcome),
        }
    }

    /// Takes what became of the running attempt.
    fn end_attempt(&mut self, level: usize, slot: u32, answer: Answer) {
        let Answer { result, reply, .. } = answer;
        let now = self.now;
        let whole = match result {
            AttemptResult::Success => true,
            AttemptResult::Failure(class) => {
                !matches!(class, FailureClass::Timeout | FailureClass::Connect)
            }
        };
        let Caller { layers, calls, connections, .. } = &mut self.callers[level];
        let running = calls.get(slot);
        let open = connections.give_back(running.client, whole);
        running.last = answer;
        let step = running.call().on_result(now, result, layers);
        if level == 0 {
            let failure = match result {
                AttemptResult::Success => None,
                AttemptResult::Failure(class) => Some(class as usize),
            };
            self.recorder.attempt_ended(now, failure, outcome(reply));
            if !open {
                self.recorder.connection_closed(now);
            }
            if failure.is_some() {
                self.tell_refusals(level);
            }
        }
        self.follow(level, slot, step);
    }

    /// Tells the recorder what the load's layers have refused to retry since the last time. A layer
    /// that has no retries left did what it was told to; nobody refused it one.
    fn tell_refusals(&mut self, level: usize) {
        if level > 0 {
            return;
        }
        let Caller { layers, told, .. } = &mut self.callers[level];
        for (counters, told) in layers.counters().iter().zip(told) {
            for reason in StopReason::ALL.into_iter().filter(|r| *r != StopReason::Exhausted) {
                let (told, stopped) =
                    (&mut told[reason as usize], counters.stopped[reason as usize]);
                while *told < stopped {
                    *told += 1;
                    self.recorder.suppressed(self.now, reason as usize);
                }
            }
        }
    }

    fn end_request(&mut self, level: usize, slot: u32, outcome: Outcome) {
        let running = self.callers[level].calls.get(slot);
        let last = running.last;
        if let Some(parent) = running.parent {
            self.callers[level].calls.end(slot);
            return self.on_upstream_end(level - 1, parent, outcome, last);
        }
        let end = match outcome {
            Outcome::Good => RequestEnd::Good,
            Outcome::Late => RequestEnd::Late,
            Outcome::Failed { class, .. } => RequestEnd::Failed(class as usize),
        };
        let ended = RequestEnded {
            end,
            intended: running.intended,
            sent: running.sent,
            attempts: running.attempts(),
            turned_away: last.turned_away,
        };
        self.recorder.request_ended(self.now, &ended);
        self.callers[level].calls.end(slot);
    }

    /// Tells the tier that the caller of an attempt has gone.
    fn hang_up(&mut self, level: usize, key: Key, phase: Phase) {
        let at = self.now + self.network_delay();
        let index = level as u8;
        if level + 1 < self.tiers.len() && phase != Phase::Backoff {
            self.wire.push(at, Message::Abandoned { level: index, key });
        }
        if let Phase::Accepted(job) = phase {
            self.wire.push(at, Message::HungUp { level: index, job });
        }
    }
}

/// How the run log names what an attempt ended with.
const fn outcome(reply: Reply) -> OutcomeKey {
    match reply {
        Reply::Status(status) => OutcomeKey::Status(status),
        Reply::Upstream(transport) => OutcomeKey::Transport(transport.name_at_upstream()),
        Reply::None(transport) => OutcomeKey::Transport(transport.name()),
    }
}
