//! Requests in flight at one level, in memory that is used again.

use goodput_clock::Timestamp;
use goodput_policy::attempt::{AttemptResult, Reply};
use goodput_policy::limiter::JobId;
use goodput_policy::retry::{Call, Layers, Step};

use crate::simulation::Answer;

/// Names an attempt or a wait of a request: the request's slot, and which of those that had the slot.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key {
    pub(crate) slot: u32,
    pub(crate) serial: u32,
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct Running {
    call: Call,
    /// Grows with every step, so that what belongs to an earlier one is seen to be void.
    serial: u32,
    pub(crate) client: u32,
    pub(crate) phase: Phase,
    /// When it began, which is when the schedule wanted it sent.
    pub(crate) intended: Timestamp,
    /// When the last attempt was sent.
    pub(crate) sent: Timestamp,
    /// For a gateway's request: the attempt that it is for.
    pub(crate) parent: Option<Key>,
    /// What its last attempt was answered with.
    pub(crate) last: Answer,
}

/// What the last attempt of a request was answered with before it made any.
const NOTHING_YET: Answer =
    Answer { result: AttemptResult::Success, reply: Reply::Status(200), turned_away: false };

/// What a request waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// Nothing: its slot is free.
    Ended,
    /// The end of a backoff.
    Backoff,
    /// An answer; the tier may not have the attempt yet.
    Sent,
    /// An answer to the attempt that is this job of the tier's.
    Accepted(JobId),
}

/// The requests in flight of one level.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    slots: Vec<Running>,
    free: Vec<u32>,
}

impl Calls {
    /// How many are in flight.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Begins a request.
    pub(crate) fn begin(
        &mut self,
        now: Timestamp,
        client: u32,
        deadline: Timestamp,
        parent: Option<Key>,
        layers: &mut Layers,
    ) -> (u32, Step) {
        if let Some(slot) = self.free.pop() {
            let running = &mut self.slots[slot as usize];
            let step = running.call.begin_again(now, client, deadline, layers);
            (running.client, running.parent) = (client, parent);
            (running.intended, running.sent) = (now, now);
            running.last = NOTHING_YET;
            return (slot, step);
        }
        let (call, step) = Call::begin(now, client, deadline, layers);
        let phase = Phase::Backoff;
        let slot = self.slots.len() as u32;
        self.slots.push(Running {
            call,
            serial: 0,
            client,
            phase,
            intended: now,
            sent: now,
            parent,
            last: NOTHING_YET,
        });
        (slot, step)
    }

    /// Moves a request on to its next phase; whatever its last step had put off is void.
    pub(crate) fn turn(&mut self, slot: u32, phase: Phase) -> Key {
        let running = &mut self.slots[slot as usize];
        running.serial = running.serial.wrapping_add(1);
        running.phase = phase;
        Key { slot, serial: running.serial }
    }

    /// Ends a request, whose slot is free then.
    pub(crate) fn end(&mut self, slot: u32) {
        self.turn(slot, Phase::Ended);
        self.free.push(slot);
    }

    /// The request in this slot.
    pub(crate) fn get(&mut self, slot: u32) -> &mut Running {
        &mut self.slots[slot as usize]
    }

    /// The request whose running step this is; none where that is over.
    pub(crate) fn current(&mut self, key: Key) -> Option<&mut Running> {
        self.slots.get_mut(key.slot as usize).filter(|running| running.serial == key.serial)
    }

    /// Whether this step still runs.
    pub(crate) fn is_current(&self, key: Key) -> bool {
        self.slots.get(key.slot as usize).is_some_and(|running| running.serial == key.serial)
    }

    /// How many wait for an answer.
    #[cfg(test)]
    pub(crate) fn attempts(&self) -> usize {
        let waits = |running: &&Running| matches!(running.phase, Phase::Sent | Phase::Accepted(_));
        self.slots.iter().filter(waits).count()
    }
}

impl Running {
    /// The key of the running step of the request in this slot.
    pub(crate) const fn key(&self, slot: u32) -> Key {
        Key { slot, serial: self.serial }
    }

    pub(crate) const fn call(&mut self) -> &mut Call {
        &mut self.call
    }

    pub(crate) const fn attempts(&self) -> u32 {
        self.call.attempts()
    }
}
