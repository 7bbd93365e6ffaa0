//! The handle of a client.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goodput_clock::Timestamp;
use goodput_policy::retry::Layers;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::alarm::Alarm;
use crate::clock::WallClock;
use crate::config::ClientConfig;
use crate::core::{Begin, Core};
use crate::observer::Observer;
use crate::pool::Pool;
use crate::request::{CallEnd, Request, Template};
use crate::timers::Ticket;

/// Sends requests through retry layers over a pool of connections.
///
/// Time-outs and backoffs are driven from outside: either [`Client::drive`] runs as a task, or
/// whoever has an alarm of its own calls [`Client::on_wakeup`] when [`Client::next_wakeup`] says so
/// and whenever [`Client::changed`] returns. To drop a client closes its connections.
#[derive(Debug)]
pub struct Client<O: Observer> {
    shared: Arc<Shared<O>>,
}

/// What the handle and the connections' tasks share.
#[derive(Debug)]
pub(crate) struct Shared<O> {
    pub(crate) runtime: Handle,
    pub(crate) address: SocketAddr,
    pub(crate) http2: bool,
    pub(crate) keep_answers: Option<usize>,
    /// The next wake-up has come closer.
    pub(crate) changed: Notify,
    core: Mutex<Core<O>>,
}

impl<O> Shared<O> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Core<O>> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much a client has on its hands.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ClientStatus {
    /// Requests that have not ended.
    pub requests_in_flight: u64,
    /// Attempts on the wire or waiting for a connection.
    pub attempts_in_flight: u64,
    /// Connections open or being opened.
    pub connections: u64,
    /// Connections that have been established so far.
    pub connects: u64,
}

impl<O: Observer> Client<O> {
    /// A client whose connections live on the current runtime.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime; where there is no layer, no client, or the innermost layer has no
    /// time-out.
    pub fn new(config: ClientConfig, clock: WallClock, observer: O) -> Self {
        let http2 = config.protocol.streams() > 1;
        let layers =
            Layers::new(config.layers, config.clients, config.seed.stream("client-backoff"));
        let pool = Pool::new(
            config.clients,
            config.pool,
            config.protocol.streams(),
            config.max_connections.max(1),
            config.connect_rate,
        );
        let template = Template::new(config.target.authority(), http2);
        let core = Core::new(clock, layers, pool, template, http2, observer);
        let shared = Shared {
            runtime: Handle::current(),
            address: config.target.address(),
            http2,
            keep_answers: config.keep_answers,
            changed: Notify::new(),
            core: Mutex::new(core),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Begins a request of the client instance `client` and returns at once; the observer learns how
    /// it ends. `deadline` bounds all its attempts ([`Timestamp::MAX`] for none).
    ///
    /// It is for whoever drives the client: [`Client::next_wakeup`] is to be asked afterwards.
    pub fn send(&self, client: u32, intended: Timestamp, deadline: Timestamp, request: Request) {
        let mut core = self.shared.lock();
        core.hold_alarm();
        let now = core.clock.now();
        let begin = Begin { client, intended, deadline, request, reply: None };
        core.begin(&self.shared, now, begin);
    }

    /// Carries a request to its end. To drop the future gives the request up: over HTTP/1.1 its
    /// connection closes, over HTTP/2 its stream is reset.
    pub async fn call(&self, client: u32, deadline: Timestamp, request: Request) -> CallEnd {
        let (reply, answer) = oneshot::channel();
        let name = {
            let mut core = self.shared.lock();
            let now = core.clock.now();
            let begin = Begin { client, intended: now, deadline, request, reply: Some(reply) };
            core.begin(&self.shared, now, begin)
        };
        let _abandoned = Abandon { shared: &self.shared, name };
        match answer.await {
            Ok(end) => end,
            // The sender lives in the core until the request ends.
            Err(_) => std::future::pending().await,
        }
    }

    /// Drives time-outs and backoffs by `alarm`, for as long as it is polled.
    pub async fn drive(&self, mut alarm: Alarm) {
        loop {
            let (clock, next) = {
                let mut core = self.shared.lock();
                core.hold_alarm();
                let now = core.clock.now();
                core.on_wakeup(&self.shared, now);
                (core.clock, core.next_wakeup(now))
            };
            tokio::select! {
                biased;
                () = alarm.until(clock.instant_of(next)) => {}
                () = self.changed() => {}
            }
        }
    }

    /// When [`Client::on_wakeup`] is due.
    pub fn next_wakeup(&self) -> Timestamp {
        let mut core = self.shared.lock();
        let now = core.clock.now();
        core.next_wakeup(now)
    }

    /// Times attempts out and ends backoffs. [`Client::next_wakeup`] is to be asked afterwards.
    pub fn on_wakeup(&self) {
        let mut core = self.shared.lock();
        core.hold_alarm();
        let now = core.clock.now();
        core.on_wakeup(&self.shared, now);
    }

    /// Returns when the next wake-up has come closer than [`Client::next_wakeup`] said.
    pub async fn changed(&self) {
        self.shared.changed.notified().await;
    }

    /// Gives access to layers, budgets and their counters, and to the observer beside them.
    pub fn with_layers<R>(&self, look: impl FnOnce(&mut Layers, &mut O) -> R) -> R {
        let mut core = self.shared.lock();
        let core = &mut *core;
        look(&mut core.layers, &mut core.observer)
    }

    /// How much there is to do.
    pub fn status(&self) -> ClientStatus {
        let core = self.shared.lock();
        ClientStatus {
            requests_in_flight: core.requests_in_flight() as u64,
            attempts_in_flight: core.attempts_in_flight(),
            connections: core.pool.len() as u64,
            connects: core.pool.established(),
        }
    }
}

impl<O: Observer> Drop for Client<O> {
    fn drop(&mut self) {
        self.shared.lock().pool.close();
    }
}

/// Gives a call up when it is dropped; one that has ended is not there any more.
struct Abandon<'a, O: Observer> {
    shared: &'a Arc<Shared<O>>,
    name: Ticket,
}

impl<O: Observer> Drop for Abandon<'_, O> {
    fn drop(&mut self) {
        let mut core = self.shared.lock();
        let now = core.clock.now();
        core.cancel(self.shared, now, self.name);
    }
}
