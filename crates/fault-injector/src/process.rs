mod desk;
mod routes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use goodput_control::{Audit, Guard, Listener, StartError};

use crate::targets::Targets;
use crate::terms::LeaseTerms;
use desk::Desk;

/// How a fault injector with an API of its own is started.
#[derive(Debug)]
pub struct InjectorConfig {
    /// Where its API listens; port 9903 by custom.
    pub bind: SocketAddr,
    /// Who may use it.
    pub guard: Guard,
    /// What it acts on.
    pub targets: Targets,
    /// How it leases faults, in wall time.
    pub terms: LeaseTerms,
    /// Where commands are written down.
    pub audit: Audit,
}

/// A fault injector as a process: it holds faults and plays timelines that come over HTTP.
///
/// `GET /state` · `GET|POST /faults` · `DELETE /faults/{name}` · `GET|POST|DELETE /timeline` ·
/// `POST /reset` · `GET /metrics` · `GET /healthz`. A fault has a length (`for`); its leases are the
/// injector's own affair. Dropping it, or killing the process, leaves faults to their leases.
#[derive(Debug)]
pub struct Injector {
    desk: Arc<Desk>,
    listener: Listener,
}

impl Injector {
    /// Binds and starts; returns once it listens.
    ///
    /// # Errors
    ///
    /// As [`Listener::start`].
    pub fn start(config: InjectorConfig) -> Result<Self, StartError> {
        let desk = Arc::new(Desk::new(
            config.targets.with_own_connections(),
            config.terms,
            config.audit.clone(),
        ));
        let plane = routes::plane(Arc::clone(&desk), config.audit);
        let listener = Listener::start(config.bind, config.guard, plane)?;
        Ok(Self { desk, listener })
    }

    /// Where it listens.
    pub const fn addr(&self) -> SocketAddr {
        self.listener.addr()
    }

    /// Ends every fault and the timeline, waits until that is confirmed or cannot be, and stops.
    /// Returns what may still be in force.
    pub fn shutdown(self) -> Vec<String> {
        self.desk.stop_all();
        let began = Instant::now();
        while !self.desk.not_ended().is_empty() && began.elapsed() < LONGEST_REVERT {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut left = self.desk.unconfirmed();
        left.extend(self.desk.not_ended());
        self.listener.shutdown();
        left
    }
}

/// A revert goes on for a lease and a few seconds, and a lease is an hour at most; whoever shuts
/// down waits for the usual ones.
const LONGEST_REVERT: Duration = Duration::from_mins(1);
