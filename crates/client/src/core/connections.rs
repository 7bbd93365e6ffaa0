//! What happens between attempts and connections: an attempt finds its connection, is sent, and ends
//! with its answer or with the connection.

use std::sync::Arc;
use std::task::Waker;

use goodput_clock::Timestamp;
use goodput_policy::attempt::Transport;
use tokio::task::AbortHandle;

use super::running::{Phase, is_current, note_lag};
use super::{Core, Ended, Job};
use crate::client::Shared;
use crate::connection;
use crate::observer::Observer;
use crate::pool::{Connection, ConnectionId};
use crate::timers::Ticket;

impl<O: Observer> Core<O> {
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

    /// Takes note that a connection is gone, and why.
    pub(crate) fn on_gone(
        &mut self,
        shared: &Arc<Shared<O>>,
        now: Timestamp,
        id: ConnectionId,
        why: Transport,
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
                self.end_attempt(shared, now, ticket.slot as usize, Ended::without_answer(why));
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

    /// Finds a connection for an attempt, opens one, or puts it in line.
    pub(super) fn place(&mut self, shared: &Arc<Shared<O>>, now: Timestamp, ticket: Ticket) {
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
    pub(super) fn serve_line(&mut self, shared: &Arc<Shared<O>>, now: Timestamp) {
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
    pub(super) fn let_go(&mut self, now: Timestamp, phase: Phase) {
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
}
