//! The state of a client: requests in flight, and what follows from each event.

mod running;

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::attempt::{AttemptResult, FailureClass};
use goodput_policy::retry::{Call, LayerCounters, Layers, Outcome, Step, StopReason};
use slab::Slab;
use tokio::task::AbortHandle;

use crate::client::Shared;
use crate::clock::WallClock;
use crate::connection;
use crate::observer::{AttemptEnd, Observer, RequestEnd};
use crate::pool::{Connection, ConnectionId, Pool};
use crate::request::{CallEnd, Template};
use crate::timers::{Ticket, Timers};

pub(crate) use running::{Begin, Ended, Job};
use running::{Phase, Running, is_current, note_lag};

/// Everything that changes while a client runs.
#[derive(Debug)]
pub(crate) struct Core<O> {
    pub(crate) clock: WallClock,
    pub(crate) layers: Layers,
    pub(crate) observer: O,
    pub(crate) pool: Pool,
    template: Template,
    http2: bool,
    calls: Slab<Running>,
    timers: Timers,
    serial: u64,
    attempts_in_flight: u64,
    /// What the layers' counters said when the observer was last told what they had refused.
    stopped: Vec<[u64; StopReason::ALL.len()]>,
    /// When whoever drives the time-outs will next look, unless woken.
    alarm: Timestamp,
}

impl<O: Observer> Core<O> {
    pub(crate) fn new(
        clock: WallClock,
        layers: Layers,
        pool: Pool,
        template: Template,
        http2: bool,
        observer: O,
    ) -> Self {
        let stopped = vec![[0; StopReason::ALL.len()]; layers.configs().len()];
        Self {
            clock,
            layers,
            observer,
            pool,
            template,
            http2,
            calls: Slab::new(),
            timers: Timers::default(),
            serial: 0,
            attempts_in_flight: 0,
            stopped,
            alarm: Timestamp::MAX,
        }
    }

    pub(crate) fn requests_in_flight(&self) -> usize {
        self.calls.len()
    }

    pub(crate) const fn attempts_in_flight(&self) -> u64 {
        self.attempts_in_flight
    }

    /// Begins a request, and names it for [`Core::cancel`].
    pub(crate) fn begin(
        &mut self,
        shared: &Arc<Shared<O>>,
        now: Timestamp,
        begin: Begin,
    ) -> Ticket {
        self.observer.on_request_begin(now, begin.intended);
        let (call, step) = Call::begin(now, begin.client, begin.deadline, &mut self.layers);
        let id = self.serial + 1;
        let slot = self.calls.insert(Running {
            id,
            call,
            request: begin.request,
            client: begin.client,
            intended: begin.intended,
            lag_known: false,
            serial: 0,
            phase: Phase::Backoff,
            until: Timestamp::MAX,
            attempt_deadline: Timestamp::MAX,
            number: 0,
            sent: None,
            began: now,
            in_line: Duration::ZERO,
            unsent: 0,
            answer: None,
            reply: begin.reply,
        });
        self.follow(shared, now, slot, step);
        Ticket { serial: id, slot: slot as u32 }
    }

    /// Drops a request whose caller is gone, where it has not ended.
    pub(crate) fn cancel(&mut self, now: Timestamp, name: Ticket) {
        let slot = name.slot as usize;
        if self.calls.get(slot).is_some_and(|running| running.id == name.serial) {
            let running = self.calls.remove(slot);
            if !matches!(running.phase, Phase::Backoff) {
                self.attempts_in_flight -= 1;
            }
            self.let_go(now, running.phase);
        }
    }

    /// Times attempts out, ends backoffs, and opens connections for those in line.
    pub(crate) fn on_wakeup(&mut self, shared: &Arc<Shared<O>>, now: Timestamp) {
        while let Some((at, ticket)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.pop();
            if !is_current(&self.calls, ticket) {
                continue;
            }
            let slot = ticket.slot as usize;
            let running = &mut self.calls[slot];
            match std::mem::replace(&mut running.phase, Phase::Backoff) {
                Phase::Backoff => {
                    let step = running.call.on_wakeup(at.max(now), &mut self.layers);
                    self.tell_refusals(now);
                    self.follow(shared, now, slot, step);
                }
                phase @ (Phase::InLine | Phase::Connection(_) | Phase::Stream(..)) => {
                    let unsent = running.is_unsent(now, &phase);
                    self.let_go(now, phase);
                    let ended = Ended { unsent, ..Ended::failed(FailureClass::Timeout) };
                    self.end_attempt(shared, now, slot, ended);
                }
            }
        }
        self.serve_line(shared, now);
    }

    /// Wakes nobody until [`Core::next_wakeup`] is asked again, which the caller is about to do.
    pub(crate) fn hold_alarm(&mut self) {
        self.alarm = Timestamp::ZERO;
    }

    /// When [`Core::on_wakeup`] is due; whoever asks is expected to call it then.
    pub(crate) fn next_wakeup(&mut self, now: Timestamp) -> Timestamp {
        while let Some((_, ticket)) = self.timers.first() {
            if is_current(&self.calls, ticket) {
                break;
            }
            self.timers.pop();
        }
        let timer = self.timers.first().map_or(Timestamp::MAX, |(at, _)| at);
        self.alarm = timer.min(self.pool.next_open(now).unwrap_or(Timestamp::MAX));
        self.alarm
    }

    /// Takes the next attempt that is assigned to a connection.
    pub(crate) fn take_job(&mut self, id: ConnectionId) -> Option<Job> {
        let http2 = self.http2;
        loop {
            let connection = self.pool.get(id)?;
            let ticket = connection.jobs.pop_front()?;
            if !is_current(&self.calls, ticket) {
                // It timed out before its connection's task came to it.
                connection.outstanding = connection.outstanding.saturating_sub(1);
                continue;
            }
            connection.used = true;
            let now = self.clock.now();
            if !http2 {
                connection.current = Some(ticket);
            }
            let running = &mut self.calls[ticket.slot as usize];
            running.sent = Some(now);
            note_lag(&mut self.observer, running, now);
            self.observer.on_attempt_sent(now, running.number);
            let remaining = self.clock.scale().to_wall(running.attempt_deadline.since(now));
            let request = self.template.attempt(&running.request, running.number, remaining);
            return Some(Job { ticket, request });
        }
    }

    /// Wakes a connection's task when it is assigned an attempt; false where the connection is gone.
    pub(crate) fn wait(&mut self, id: ConnectionId, waker: &Waker) -> bool {
        let Some(connection) = self.pool.get(id) else { return false };
        connection.waker = Some(waker.clone());
        true
    }

    /// Notes the task that reads the answer to an attempt which has just been taken.
    pub(crate) fn note_stream(&mut self, id: ConnectionId, ticket: Ticket, task: AbortHandle) {
        if is_current(&self.calls, ticket) {
            self.calls[ticket.slot as usize].phase = Phase::Stream(id, task);
        }
    }

    /// Notes that a connection's task begins to connect.
    pub(crate) fn on_connecting(&mut self, now: Timestamp, id: ConnectionId) {
        let Some(ticket) = self.pool.get(id).and_then(|found| found.jobs.front().copied()) else {
            return;
        };
        if is_current(&self.calls, ticket) {
            note_lag(&mut self.observer, &mut self.calls[ticket.slot as usize], now);
        }
    }

    /// Notes that a connection is established; false where nobody wants it any more.
    pub(crate) fn on_established(&mut self, now: Timestamp, id: ConnectionId) -> bool {
        let wanted = self.pool.on_established(id);
        if wanted {
            self.observer.on_connected(now);
        }
        wanted
    }

    /// Takes the end of an attempt, and the connection back for the next one.
    pub(crate) fn on_ended(
        &mut self,
        shared: &Arc<Shared<O>>,
        now: Timestamp,
        id: ConnectionId,
        ticket: Ticket,
        ended: Ended,
        reusable: bool,
    ) {
        if !is_current(&self.calls, ticket) {
            return;
        }
        if reusable {
            self.free(now, id);
        } else {
            self.close(now, id);
        }
        self.end_attempt(shared, now, ticket.slot as usize, ended);
        if !reusable {
            self.serve_line(shared, now);
        }
    }

    /// Takes note that a connection is gone, whatever the reason; `unsent` where this process's own
    /// limits are to blame.
    pub(crate) fn on_gone(
        &mut self,
        shared: &Arc<Shared<O>>,
        now: Timestamp,
        id: ConnectionId,
        unsent: bool,
    ) {
        let Some(connection) = self.close(now, id) else { return };
        let lost = connection.current.into_iter();
        let (failed, untouched): (Vec<_>, Vec<_>) = if connection.open && connection.used {
            (lost.collect(), connection.jobs.into_iter().collect())
        } else {
            (lost.chain(connection.jobs).collect(), Vec::new())
        };
        for ticket in failed {
            if is_current(&self.calls, ticket) {
                let ended = Ended { unsent, ..Ended::failed(FailureClass::Connect) };
                self.end_attempt(shared, now, ticket.slot as usize, ended);
            }
        }
        // Nothing of these has left the process, so they go over another connection.
        for ticket in untouched {
            if is_current(&self.calls, ticket) {
                self.place(shared, now, ticket);
            }
        }
        self.serve_line(shared, now);
    }

    /// Does what a call asks for.
    fn follow(&mut self, shared: &Arc<Shared<O>>, now: Timestamp, slot: usize, step: Step) {
        self.serial += 1;
        let ticket = Ticket { serial: self.serial, slot: slot as u32 };
        let running = &mut self.calls[slot];
        running.serial = self.serial;
        match step {
            Step::Attempt { number, until, deadline } => {
                running.number = number;
                running.until = until;
                running.attempt_deadline = deadline;
                running.sent = None;
                (running.began, running.in_line) = (now, Duration::ZERO);
                self.attempts_in_flight += 1;
                self.observer.on_attempt_begin(now, number);
                self.set_timer(shared, until, ticket);
                self.place(shared, now, ticket);
            }
            Step::Wait { until } => {
                running.phase = Phase::Backoff;
                self.set_timer(shared, until, ticket);
            }
            Step::Done(outcome) => self.end_request(now, slot, outcome),
        }
    }

    /// Finds a connection for an attempt, opens one, or puts it in line.
    fn place(&mut self, shared: &Arc<Shared<O>>, now: Timestamp, ticket: Ticket) {
        let running = &mut self.calls[ticket.slot as usize];
        let client = running.client;
        if let Some(id) = self.pool.check_out(client) {
            running.phase = Phase::Connection(id);
            self.pool.assign(id, ticket);
        } else if let Some(id) = self.pool.open(now, client) {
            running.phase = Phase::Connection(id);
            self.pool.assign(id, ticket);
            let task = connection::spawn(shared, id);
            if let Some(connection) = self.pool.get(id) {
                connection.task = Some(task);
            }
        } else {
            running.phase = Phase::InLine;
            note_lag(&mut self.observer, running, now);
            let calls = &self.calls;
            self.pool.queue(client, ticket, |ticket| is_current(calls, ticket));
            let next = self.pool.next_open(now);
            self.wake_by(shared, next.unwrap_or(Timestamp::MAX));
        }
    }

    /// Opens connections for attempts in line, as far as the caps allow.
    fn serve_line(&mut self, shared: &Arc<Shared<O>>, now: Timestamp) {
        while self.pool.next_open(now).is_some_and(|at| at <= now) {
            let Some(client) = self.pool.next_client_waiting() else { return };
            let calls = &self.calls;
            let next = self.pool.next_waiting(client, |ticket| is_current(calls, ticket));
            if let Some(ticket) = next {
                self.calls[ticket.slot as usize].leave_line(now);
                self.place(shared, now, ticket);
            }
        }
    }

    /// Gives a connection to the attempt that has waited longest, or to the pool.
    fn free(&mut self, now: Timestamp, id: ConnectionId) {
        self.pool.give_back(id);
        let Some(client) = self.pool.get(id).map(|connection| connection.client) else { return };
        let calls = &self.calls;
        let Some(ticket) = self.pool.next_waiting(client, |ticket| is_current(calls, ticket))
        else {
            return;
        };
        if let Some(id) = self.pool.check_out(client) {
            let running = &mut self.calls[ticket.slot as usize];
            running.leave_line(now);
            running.phase = Phase::Connection(id);
            self.pool.assign(id, ticket);
        }
    }

    /// Ends what an attempt holds: over HTTP/1.1 its connection closes, over HTTP/2 its stream is
    /// reset.
    fn let_go(&mut self, now: Timestamp, phase: Phase) {
        match phase {
            Phase::Connection(id) if !self.http2 => {
                if let Some(task) = self.close(now, id).and_then(|connection| connection.task) {
                    task.abort();
                }
            }
            // Over HTTP/2 a connection's task finds the ticket void when it comes to it.
            Phase::Backoff | Phase::InLine | Phase::Connection(_) => {}
            Phase::Stream(id, task) => {
                task.abort();
                self.free(now, id);
            }
        }
    }

    /// Takes a connection out for good; to end its task is left to the caller.
    fn close(&mut self, now: Timestamp, id: ConnectionId) -> Option<Connection> {
        let connection = self.pool.remove(id)?;
        if connection.open {
            self.observer.on_disconnected(now);
        }
        Some(connection)
    }

    fn end_attempt(
        &mut self,
        shared: &Arc<Shared<O>>,
        now: Timestamp,
        slot: usize,
        mut ended: Ended,
    ) {
        let running = &mut self.calls[slot];
        running.phase = Phase::Backoff;
        if now > running.until {
            ended.result = AttemptResult::Failure(FailureClass::Timeout);
        }
        running.unsent += u32::from(ended.unsent);
        running.answer = ended.answer.or(running.answer.take());
        self.attempts_in_flight -= 1;
        self.observer.on_attempt_end(&AttemptEnd {
            client: running.client,
            number: running.number,
            at: now,
            service: running.sent.map(|sent| now.since(sent)),
            result: ended.result,
            unsent: ended.unsent,
        });
        let step = running.call.on_result(now, ended.result, &mut self.layers);
        if ended.result != AttemptResult::Success {
            self.tell_refusals(now);
        }
        self.follow(shared, now, slot, step);
    }

    /// Tells the observer what the layers have refused to retry since the last time.
    fn tell_refusals(&mut self, now: Timestamp) {
        for (layer, counters) in self.layers.counters().iter().enumerate() {
            let LayerCounters { stopped, .. } = counters;
            for (reason, told) in StopReason::ALL.into_iter().zip(&mut self.stopped[layer]) {
                while *told < stopped[reason as usize] {
                    *told += 1;
                    self.observer.on_not_retried(now, layer, reason);
                }
            }
        }
    }

    fn end_request(&mut self, now: Timestamp, slot: usize, outcome: Outcome) {
        let running = self.calls.remove(slot);
        self.observer.on_request_end(&RequestEnd {
            client: running.client,
            intended: running.intended,
            at: now,
            outcome,
            attempts: running.number,
            unsent: running.unsent,
            sent: running.sent,
        });
        if let Some(reply) = running.reply {
            let end = CallEnd {
                outcome,
                attempts: running.number,
                unsent: running.unsent,
                answer: running.answer,
            };
            // A caller that has gone needs no answer.
            let _ = reply.send(end);
        }
    }

    fn set_timer(&mut self, shared: &Shared<O>, at: Timestamp, ticket: Ticket) {
        self.timers.push(at, ticket);
        self.wake_by(shared, at);
    }

    fn wake_by(&mut self, shared: &Shared<O>, at: Timestamp) {
        if at < self.alarm {
            self.alarm = at;
            shared.changed.notify_one();
        }
    }
}
