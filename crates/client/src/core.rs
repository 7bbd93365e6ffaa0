//! The state of a client: requests in flight, and what follows from each event.

mod connections;
mod running;

use std::sync::Arc;
use std::time::Duration;

use goodput_clock::Timestamp;
use goodput_policy::attempt::{AttemptResult, FailureClass, Reply, Transport};
use goodput_policy::retry::{Call, LayerCounters, Layers, Outcome, Step, StopReason};
use slab::Slab;

use crate::client::Shared;
use crate::clock::WallClock;
use crate::observer::{AttemptEnd, Observer, RequestEnd};
use crate::pool::Pool;
use crate::request::{CallEnd, Template};
use crate::timers::{Ticket, Timers};

pub(crate) use running::{Begin, Ended, Job};
use running::{NO_ATTEMPT, Phase, Running, is_current};

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
            last: NO_ATTEMPT,
            turned_away: false,
            answer: None,
            reply: begin.reply,
        });
        self.follow(shared, now, slot, step);
        Ticket { serial: id, slot: slot as u32 }
    }

    /// Drops a request whose caller is gone, where it has not ended.
    pub(crate) fn cancel(&mut self, shared: &Arc<Shared<O>>, now: Timestamp, name: Ticket) {
        let slot = name.slot as usize;
        if self.calls.get(slot).is_some_and(|running| running.id == name.serial) {
            let running = self.calls.remove(slot);
            if !matches!(running.phase, Phase::Backoff) {
                self.attempts_in_flight -= 1;
            }
            self.let_go(now, running.phase);
            // The place of a connection that closed is for whoever stands in line.
            self.serve_line(shared, now);
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
                    let ended = Ended { unsent, ..Ended::without_answer(Transport::Timeout) };
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
            (ended.reply, ended.turned_away) = (Reply::None(Transport::Timeout), false);
        }
        running.last = (ended.result, ended.reply);
        running.turned_away = ended.turned_away;
        running.unsent += u32::from(ended.unsent);
        running.answer = ended.answer.or(running.answer.take());
        self.attempts_in_flight -= 1;
        self.observer.on_attempt_end(&AttemptEnd {
            client: running.client,
            number: running.number,
            at: now,
            service: running.sent.map(|sent| now.since(sent)),
            result: ended.result,
            reply: ended.reply,
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
            turned_away: running.turned_away,
        });
        if let Some(reply) = running.reply {
            let end = CallEnd {
                outcome,
                attempts: running.number,
                unsent: running.unsent,
                last: running.last,
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
