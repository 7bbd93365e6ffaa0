use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use goodput_clock::Timestamp;
use goodput_policy::fault::{ActiveFault, Effect, FaultKind, FaultTable};
use serde_json::json;
use tokio::sync::Notify;

use crate::api::{Cause, FaultView};
use crate::audit::{Audit, AuditEntry};

/// Holds faults for as long as somebody renews their lease, on the process's own monotonic clock.
///
/// Clones share one table. Nothing is stored: the faults are gone with the process. Whoever made it
/// must run [`LeaseKeeper::run`]; besides, each call ends what has run out before it does anything
/// else, so that a read never shows a fault past its lease.
#[derive(Clone)]
pub struct LeaseKeeper {
    inner: Arc<Inner>,
}

struct Inner {
    epoch: Instant,
    table: Mutex<FaultTable>,
    /// Wakes the task whenever a lease has changed.
    changed: Notify,
    audit: Audit,
    on_effect: Box<dyn Fn(Effect) + Send + Sync>,
}

/// Why the keeper did not do what it was asked for.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LeaseRefusal {
    /// A fault of that name is in force already.
    #[error(
        "a fault named `{0}` is in force already; renew it with `PATCH /faults/{0}`, end it with \
         `DELETE /faults/{0}`, or give another name"
    )]
    Conflict(String),
    /// As many faults are in force as may be.
    #[error(
        "{} faults are in force, and more cannot be; end one, such as with `POST /reset`",
        LeaseKeeper::MOST
    )]
    Full,
    /// No fault of that name is in force.
    #[error("no fault named `{0}` is in force; its lease may have run out")]
    NotInForce(String),
}

impl LeaseKeeper {
    /// The shortest lease.
    pub const SHORTEST: Duration = Duration::from_millis(100);
    /// The longest lease.
    pub const LONGEST: Duration = Duration::from_hours(1);

    /// The most faults at once, so that a state and the audit log stay readable.
    pub const MOST: usize = 64;

    /// A keeper without faults. `on_effect` is told the sum of all faults whenever it may have
    /// changed, in order; it must not call the keeper. Leases that run out are written to `audit`.
    pub fn new(audit: Audit, on_effect: impl Fn(Effect) + Send + Sync + 'static) -> Self {
        let inner = Inner {
            epoch: Instant::now(),
            table: Mutex::new(FaultTable::default()),
            changed: Notify::new(),
            audit,
            on_effect: Box::new(on_effect),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Puts a fault in force for the length of its lease.
    ///
    /// # Errors
    ///
    /// Where a fault of that name is in force, or [`MOST`](Self::MOST) others are.
    pub fn install(
        &self,
        name: &str,
        kind: FaultKind,
        lease: Duration,
    ) -> Result<FaultView, LeaseRefusal> {
        let (mut table, now) = self.current();
        if table.iter().count() >= Self::MOST && table.iter().all(|(other, _)| other != name) {
            return Err(LeaseRefusal::Full);
        }
        table
            .install(now, name, kind, bounded(lease))
            .map_err(|conflict| LeaseRefusal::Conflict(conflict.0))?;
        self.feel(&table);
        view_of(&table, name, now)
    }

    /// Lets a fault go on for `lease` from now.
    ///
    /// # Errors
    ///
    /// Where no fault of that name is in force.
    pub fn renew(&self, name: &str, lease: Duration) -> Result<FaultView, LeaseRefusal> {
        let (mut table, now) = self.current();
        if !table.renew(now, name, bounded(lease)) {
            return Err(LeaseRefusal::NotInForce(name.to_owned()));
        }
        self.inner.changed.notify_one();
        view_of(&table, name, now)
    }

    /// Ends a fault and says what it was; none where no such fault is in force.
    pub fn remove(&self, name: &str) -> Option<FaultView> {
        let (mut table, now) = self.current();
        let removed = table.remove(name)?;
        self.feel(&table);
        Some(view(name, &removed, now))
    }

    /// Ends every fault.
    pub fn clear(&self) {
        let mut table = self.lock();
        *table = FaultTable::default();
        self.feel(&table);
    }

    /// The faults in force, by name.
    pub fn faults(&self) -> Vec<FaultView> {
        let (table, now) = self.current();
        views(&table, now)
    }

    /// Ends each fault as its lease runs out, for as long as it is polled (on a tokio runtime with
    /// time).
    pub async fn run(self) {
        loop {
            let next = self.current().0.next_wakeup();
            let changed = self.inner.changed.notified();
            match next {
                None => changed.await,
                Some(at) => {
                    let at = tokio::time::Instant::from_std(self.inner.epoch + at.elapsed());
                    tokio::select! {
                        () = tokio::time::sleep_until(at) => {}
                        () = changed => {}
                    }
                }
            }
        }
    }

    /// The table with only what is in force, and the time of that.
    fn current(&self) -> (MutexGuard<'_, FaultTable>, Timestamp) {
        let mut table = self.lock();
        let now = Timestamp::from(self.inner.epoch.elapsed());
        let before = views(&table, now);
        for (name, fault) in table.expire(now) {
            self.feel(&table);
            self.inner.audit.append(AuditEntry {
                what: crate::process::json_of(&view(&name, &fault, now)),
                before: json!({ "faults": before }),
                after: json!({ "faults": views(&table, now) }),
                outcome: "its lease ran out".to_owned(),
                ..AuditEntry::now(
                    Cause::new("lease keeper", "nobody renewed it"),
                    String::new(),
                    format!("end fault {name}"),
                )
            });
        }
        (table, now)
    }

    fn lock(&self) -> MutexGuard<'_, FaultTable> {
        self.inner.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the limiter, with the table still locked so that effects arrive in order.
    fn feel(&self, table: &FaultTable) {
        (self.inner.on_effect)(table.effect());
        self.inner.changed.notify_one();
    }
}

impl fmt::Debug for LeaseKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseKeeper").field("faults", &*self.lock()).finish_non_exhaustive()
    }
}

fn bounded(lease: Duration) -> Duration {
    lease.clamp(LeaseKeeper::SHORTEST, LeaseKeeper::LONGEST)
}

fn view_of(table: &FaultTable, name: &str, now: Timestamp) -> Result<FaultView, LeaseRefusal> {
    let mut found = table.iter().filter(|(other, _)| *other == name);
    let (name, fault) = found.next().ok_or_else(|| LeaseRefusal::NotInForce(name.to_owned()))?;
    Ok(view(name, fault, now))
}

fn views(table: &FaultTable, now: Timestamp) -> Vec<FaultView> {
    table.iter().map(|(name, fault)| view(name, fault, now)).collect()
}

fn view(name: &str, fault: &ActiveFault, now: Timestamp) -> FaultView {
    FaultView {
        name: name.to_owned(),
        fault: fault.kind,
        age: now.since(fault.started).as_secs_f64(),
        lease_left: fault.lease_ends.since(now).as_secs_f64(),
    }
}

#[cfg(test)]
mod tests;
