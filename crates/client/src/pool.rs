//! The connections of a client: which one is used next, and when a new one may be opened.
//!
//! Both caps hold for all instances together and stand apart from requests in flight: an attempt
//! that may not connect waits in line, first come first served, until a connection of its instance
//! is free, a cap allows a new one, or its time is up.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Duration;

use goodput_clock::{Rate, Timestamp};
use goodput_policy::pool::{IdlePool, PoolOrder};
use slab::Slab;
use tokio::task::AbortHandle;

use crate::timers::Ticket;

/// Names one connection; the serial number tells it from a later one in its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ConnectionId {
    pub(crate) index: u32,
    pub(crate) serial: u64,
}

/// One connection, from the moment that it is asked for.
#[derive(Debug)]
pub(crate) struct Connection {
    serial: u64,
    pub(crate) client: u32,
    /// Whether it is established.
    pub(crate) open: bool,
    /// Whether it has been handed an attempt after it was established.
    pub(crate) used: bool,
    /// Attempts that are assigned to it and have not ended.
    pub(crate) outstanding: u32,
    /// Of these, the ones that its task has not taken.
    pub(crate) jobs: VecDeque<Ticket>,
    /// The attempt that its task has taken, over HTTP/1.1.
    pub(crate) current: Option<Ticket>,
    /// Wakes its task where that waits for an attempt.
    pub(crate) waker: Option<Waker>,
    /// Ends its task.
    pub(crate) task: Option<AbortHandle>,
}

/// All connections of a client.
#[derive(Debug)]
pub(crate) struct Pool {
    connections: Slab<Connection>,
    instances: Vec<Instance>,
    order: PoolOrder,
    streams: u32,
    max_connections: usize,
    bucket: ConnectBucket,
    serial: u64,
    established: u64,
    /// Which instance is looked at first when a new connection may be opened.
    turn: usize,
}

#[derive(Debug)]
struct Instance {
    /// Over HTTP/1.1: connections without an attempt. Some may have closed meanwhile.
    idle: IdlePool<ConnectionId>,
    /// Over HTTP/2: all connections; the one that last ended a stream stands last.
    shared: Vec<ConnectionId>,
    /// Attempts in line. Some may have timed out meanwhile.
    waiting: VecDeque<Ticket>,
}

impl Pool {
    pub(crate) fn new(
        instances: u32,
        order: PoolOrder,
        streams: u32,
        max_connections: u32,
        connect_rate: Rate,
    ) -> Self {
        let instance = || Instance {
            idle: IdlePool::new(order),
            shared: Vec::new(),
            waiting: VecDeque::new(),
        };
        Self {
            connections: Slab::new(),
            instances: (0..instances).map(|_| instance()).collect(),
            order,
            streams,
            max_connections: max_connections as usize,
            bucket: ConnectBucket::new(connect_rate),
            serial: 0,
            established: 0,
            turn: 0,
        }
    }

    /// How many connections are open or being opened.
    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }

    /// How many have been established so far.
    pub(crate) const fn established(&self) -> u64 {
        self.established
    }

    pub(crate) fn get(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(id.index as usize).filter(|found| found.serial == id.serial)
    }

    /// Takes the connection that is next in order and has room.
    pub(crate) fn check_out(&mut self, client: u32) -> Option<ConnectionId> {
        if self.streams > 1 {
            return self.check_out_shared(client);
        }
        loop {
            let id = self.instances[client as usize].idle.take()?;
            if self.get(id).is_some() {
                return Some(id);
            }
        }
    }

    fn check_out_shared(&self, client: u32) -> Option<ConnectionId> {
        let load = |id: &&ConnectionId| self.connections[id.index as usize].outstanding;
        let mut with_room =
            self.instances[client as usize].shared.iter().filter(|id| load(id) < self.streams);
        match self.order {
            PoolOrder::Lifo => with_room.next_back(),
            PoolOrder::Fifo => with_room.next(),
            PoolOrder::LeastLoaded => with_room.min_by_key(load),
        }
        .copied()
    }

    /// Makes place for a new connection, or says that a cap forbids it.
    pub(crate) fn open(&mut self, now: Timestamp, client: u32) -> Option<ConnectionId> {
        if self.connections.len() >= self.max_connections || !self.bucket.take(now) {
            return None;
        }
        self.serial += 1;
        let index = self.connections.insert(Connection {
            serial: self.serial,
            client,
            open: false,
            used: false,
            outstanding: 0,
            jobs: VecDeque::with_capacity(1),
            current: None,
            waker: None,
            task: None,
        });
        let id = ConnectionId { index: index as u32, serial: self.serial };
        if self.streams > 1 {
            self.instances[client as usize].shared.push(id);
        }
        Some(id)
    }

    /// Notes that a connection is established; false where it is not wanted any more.
    pub(crate) fn on_established(&mut self, id: ConnectionId) -> bool {
        let Some(connection) = self.get(id) else { return false };
        connection.open = true;
        self.established += 1;
        true
    }

    /// Assigns an attempt to a connection and wakes its task.
    pub(crate) fn assign(&mut self, id: ConnectionId, ticket: Ticket) {
        let Some(connection) = self.get(id) else { return };
        connection.outstanding += 1;
        connection.jobs.push_back(ticket);
        if let Some(waker) = connection.waker.take() {
            waker.wake();
        }
    }

    /// Gives a connection back after one of its attempts has ended.
    pub(crate) fn give_back(&mut self, id: ConnectionId) {
        let streams = self.streams;
        let Some(connection) = self.get(id) else { return };
        connection.outstanding = connection.outstanding.saturating_sub(1);
        connection.current = None;
        let client = connection.client as usize;
        let instance = &mut self.instances[client];
        if streams > 1 {
            if let Some(place) = instance.shared.iter().position(|other| *other == id) {
                instance.shared.remove(place);
                instance.shared.push(id);
            }
            return;
        }
        instance.idle.put(id);
        // Connections that closed while idle stay listed until they are taken.
        if instance.idle.len() > 2 * self.connections.len() + 64 {
            let listed = |id: &ConnectionId| {
                let found = self.connections.get(id.index as usize);
                found.is_some_and(|found| found.serial == id.serial)
            };
            let mut open: Vec<_> =
                std::iter::from_fn(|| instance.idle.take()).filter(listed).collect();
            if self.order == PoolOrder::Lifo {
                open.reverse();
            }
            for id in open {
                instance.idle.put(id);
            }
        }
    }

    /// Takes a connection out for good.
    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Connection> {
        self.get(id)?;
        let connection = self.connections.remove(id.index as usize);
        let shared = &mut self.instances[connection.client as usize].shared;
        shared.retain(|other| *other != id);
        Some(connection)
    }

    /// Ends the tasks of all connections.
    pub(crate) fn close(&mut self) {
        for connection in self.connections.drain() {
            if let Some(task) = connection.task {
                task.abort();
            }
        }
    }

    /// Puts an attempt in line; `is_current` tells those that still wait from those that timed out.
    pub(crate) fn queue(
        &mut self,
        client: u32,
        ticket: Ticket,
        is_current: impl Fn(Ticket) -> bool,
    ) {
        let waiting = &mut self.instances[client as usize].waiting;
        while waiting.front().is_some_and(|front| !is_current(*front)) {
            waiting.pop_front();
        }
        waiting.push_back(ticket);
    }

    /// Takes the attempt that has waited longest for a connection of this instance.
    pub(crate) fn next_waiting(
        &mut self,
        client: u32,
        is_current: impl Fn(Ticket) -> bool,
    ) -> Option<Ticket> {
        let waiting = &mut self.instances[client as usize].waiting;
        while let Some(ticket) = waiting.pop_front() {
            if is_current(ticket) {
                return Some(ticket);
            }
        }
        None
    }

    /// The instances in turn that have attempts in line, the next one first.
    pub(crate) fn next_client_waiting(&mut self) -> Option<u32> {
        let count = self.instances.len();
        let found = (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|index| !self.instances[*index].waiting.is_empty())?;
        self.turn = (found + 1) % count;
        Some(found as u32)
    }

    /// When the rate of new connections allows the next one, where attempts wait for that.
    pub(crate) fn next_open(&self, now: Timestamp) -> Option<Timestamp> {
        let wanted = self.connections.len() < self.max_connections
            && self.instances.iter().any(|instance| !instance.waiting.is_empty());
        wanted.then(|| self.bucket.next(now))
    }
}

/// At most a second's worth of new connections at once, and the rate in the long run.
#[derive(Debug)]
struct ConnectBucket {
    rate: f64,
    tokens: f64,
    filled: Timestamp,
}

impl ConnectBucket {
    fn new(rate: Rate) -> Self {
        let rate = rate.per_second();
        Self { rate, tokens: rate.max(1.0), filled: Timestamp::ZERO }
    }

    fn tokens(&self, now: Timestamp) -> f64 {
        let earned = now.since(self.filled).as_secs_f64() * self.rate;
        (self.tokens + earned).min(self.rate.max(1.0))
    }

    fn take(&mut self, now: Timestamp) -> bool {
        self.tokens = self.tokens(now);
        self.filled = self.filled.max(now);
        let granted = self.tokens >= 1.0;
        if granted {
            self.tokens -= 1.0;
        }
        granted
    }

    /// When a whole token will be there; strictly later than `now` where there is none.
    fn next(&self, now: Timestamp) -> Timestamp {
        let missing = 1.0 - self.tokens(now);
        if missing <= 0.0 {
            return now;
        }
        now + Duration::from_secs_f64(missing / self.rate) + Duration::from_nanos(1)
    }
}

#[cfg(test)]
mod tests;
