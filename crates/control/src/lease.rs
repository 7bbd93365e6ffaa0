use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use goodput_clock::Timestamp;
use goodput_policy::fault::{ActiveFault, Effect, FaultTable};
use serde_json::json;
use tokio::sync::Notify;

use crate::api::{ANY_FAULT, Cause, FaultRequest, FaultView, Owner};
use crate::audit::{Audit, AuditEntry};
use crate::commands::CommandLog;

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
    /// What the ids of this keeper begin with; no other keeper has it.
    prefix: String,
    table: Mutex<Table>,
    /// Wakes the task whenever a lease has changed.
    changed: Notify,
    audit: Audit,
    commands: Arc<CommandLog>,
    on_effect: Box<dyn Fn(Effect) + Send + Sync>,
}

/// The faults in force, and whose they are.
#[derive(Debug, Default)]
struct Table {
    faults: FaultTable,
    /// One for each fault in force, by its name.
    tags: BTreeMap<String, Tag>,
    /// How many faults have been put in force.
    installed: u64,
}

/// What tells a fault from another of the same name.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Tag {
    id: String,
    owner: Owner,
    ticket: Option<String>,
}

/// Why the keeper did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LeaseRefusal {
    /// A fault of that name is in force already.
    #[error(
        "a fault named `{name}` is in force already, put there by {owner} {age:.1} s ago under the id \
         {id}; end it with `DELETE /faults/{name}` and that id, or give another name"
    )]
    Conflict {
        /// The name.
        name: String,
        /// The id of the one in force.
        id: String,
        /// Whose it is.
        owner: Owner,
        /// How long it has been in force, in seconds.
        age: f64,
    },
    /// As many faults are in force as may be.
    #[error(
        "{} faults are in force, and more cannot be; end one, such as with `POST /reset`",
        LeaseKeeper::MOST
    )]
    Full,
    /// No fault of that name is in force.
    #[error("no fault named `{0}` is in force; its lease may have run out")]
    NotInForce(String),
    /// The fault of that name is another one.
    #[error(
        "the fault named `{name}` that is in force is not the one with the id {asked}: {owner} put it \
         there {age:.1} s ago, and its id is {id}"
    )]
    Another {
        /// The name.
        name: String,
        /// The id that was asked for.
        asked: String,
        /// The id of the one in force.
        id: String,
        /// Whose it is.
        owner: Owner,
        /// How long it has been in force, in seconds.
        age: f64,
    },
}

impl LeaseKeeper {
    /// The shortest lease.
    pub const SHORTEST: Duration = Duration::from_millis(100);
    /// The longest lease.
    pub const LONGEST: Duration = Duration::from_hours(1);

    /// The most faults at once, so that a state and the audit log stay readable.
    pub const MOST: usize = 64;

    /// A keeper without faults. `on_effect` is told the sum of all faults whenever it may have
    /// changed, in order; it must not call the keeper. Leases that run out are written to `audit` and
    /// kept in `commands`.
    pub fn new(
        audit: Audit,
        commands: Arc<CommandLog>,
        on_effect: impl Fn(Effect) + Send + Sync + 'static,
    ) -> Self {
        let inner = Inner {
            epoch: Instant::now(),
            prefix: prefix(),
            table: Mutex::new(Table::default()),
            changed: Notify::new(),
            audit,
            commands,
            on_effect: Box::new(on_effect),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Puts a fault in force for the length of its lease, and gives it an id.
    ///
    /// # Errors
    ///
    /// Where a fault of that name is in force, or [`MOST`](Self::MOST) others are.
    pub fn install(&self, request: &FaultRequest) -> Result<FaultView, LeaseRefusal> {
        let FaultRequest { name, fault, lease, ticket, .. } = request;
        let (mut table, now) = self.current();
        if let Some(FaultView { id, owner, age, .. }) = table.view_of(name, now) {
            return Err(LeaseRefusal::Conflict { name: name.clone(), id, owner, age });
        }
        if table.tags.len() >= Self::MOST {
            return Err(LeaseRefusal::Full);
        }
        let owner = request.cause().owner();
        table.installed += 1;
        let id = format!("{}-{}", self.inner.prefix, table.installed);
        // None of that name is in force, as was seen above.
        let _ = table.faults.install(now, name, *fault, bounded(*lease));
        table.tags.insert(name.clone(), Tag { id, owner, ticket: ticket.clone() });
        self.feel(&table);
        table.view_of(name, now).ok_or_else(|| LeaseRefusal::NotInForce(name.clone()))
    }

    /// Lets the fault of this name and id go on for `lease` from now; [`ANY_FAULT`] stands for
    /// whatever id it has.
    ///
    /// # Errors
    ///
    /// Where no such fault is in force.
    pub fn renew(&self, name: &str, id: &str, lease: Duration) -> Result<FaultView, LeaseRefusal> {
        let (mut table, now) = self.current();
        let gone = || LeaseRefusal::NotInForce(name.to_owned());
        let found = table.view_of(name, now).ok_or_else(gone)?;
        if !is(&found, id) {
            let (name, asked) = (name.to_owned(), id.to_owned());
            let FaultView { id, owner, age, .. } = found;
            return Err(LeaseRefusal::Another { name, asked, id, owner, age });
        }
        table.faults.renew(now, name, bounded(lease));
        self.inner.changed.notify_one();
        table.view_of(name, now).ok_or_else(gone)
    }

    /// Ends the fault of this name and id and says what it was; none where no such fault is in force.
    /// [`ANY_FAULT`] stands for whatever id it has.
    pub fn remove(&self, name: &str, id: &str) -> Option<FaultView> {
        let (mut table, now) = self.current();
        let found = table.view_of(name, now).filter(|found| is(found, id))?;
        table.end(name);
        self.feel(&table);
        Some(found)
    }

    /// Ends every fault of this owner and says what they were.
    pub fn remove_of(&self, owner: &Owner) -> Vec<FaultView> {
        let (mut table, now) = self.current();
        let mut found = table.views(now);
        found.retain(|fault| fault.owner == *owner);
        if !found.is_empty() {
            for fault in &found {
                table.end(&fault.name);
            }
            self.feel(&table);
        }
        found
    }

    /// Ends every fault.
    pub fn clear(&self) {
        let mut table = self.lock();
        *table = Table { installed: table.installed, ..Table::default() };
        self.feel(&table);
    }

    /// The faults in force, by name.
    pub fn faults(&self) -> Vec<FaultView> {
        let (table, now) = self.current();
        table.views(now)
    }

    /// Ends each fault as its lease runs out, for as long as it is polled (on a tokio runtime with
    /// time).
    pub async fn run(self) {
        loop {
            let next = self.current().0.faults.next_wakeup();
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
    fn current(&self) -> (MutexGuard<'_, Table>, Timestamp) {
        let mut table = self.lock();
        let now = Timestamp::from(self.inner.epoch.elapsed());
        let before = table.views(now);
        for (name, _) in table.faults.expire(now) {
            table.tags.remove(&name);
            self.feel(&table);
            let Some(ended) = before.iter().find(|fault| fault.name == name) else { continue };
            let mut cause = Cause::new("lease keeper", "nobody renewed it");
            if let Owner::Run(run) = &ended.owner {
                cause = cause.of_run(run.clone());
            }
            let command = format!("end fault {name}");
            let did = format!("fault `{name}` ended: its lease ran out");
            self.inner.commands.push(command.clone(), did, &cause);
            self.inner.audit.append(AuditEntry {
                what: crate::process::json_of(ended),
                before: json!({ "faults": before }),
                after: json!({ "faults": table.views(now) }),
                outcome: "its lease ran out".to_owned(),
                ..AuditEntry::now(cause, String::new(), command)
            });
        }
        (table, now)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.inner.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the limiter, with the table still locked so that effects arrive in order.
    fn feel(&self, table: &Table) {
        (self.inner.on_effect)(table.faults.effect());
        self.inner.changed.notify_one();
    }
}

impl Table {
    fn end(&mut self, name: &str) {
        self.faults.remove(name);
        self.tags.remove(name);
    }

    fn view_of(&self, name: &str, now: Timestamp) -> Option<FaultView> {
        let (_, fault) = self.faults.iter().find(|(other, _)| *other == name)?;
        Some(view(name, self.tags.get(name)?, fault, now))
    }

    fn views(&self, now: Timestamp) -> Vec<FaultView> {
        let faults = self.faults.iter();
        let views =
            faults.filter_map(|(name, fault)| Some(view(name, self.tags.get(name)?, fault, now)));
        views.collect()
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

fn is(fault: &FaultView, id: &str) -> bool {
    id == ANY_FAULT || fault.id == id
}

fn view(name: &str, tag: &Tag, fault: &ActiveFault, now: Timestamp) -> FaultView {
    let Tag { id, owner, ticket } = tag.clone();
    FaultView {
        id,
        name: name.to_owned(),
        owner,
        ticket,
        fault: fault.kind,
        age: now.since(fault.started).as_secs_f64(),
        lease_left: fault.lease_ends.since(now).as_secs_f64(),
    }
}

/// What no other keeper's ids begin with: the process, the nanosecond, and how many keepers there were
/// before it in this process.
fn prefix() -> String {
    static KEEPERS: AtomicU64 = AtomicU64::new(0);
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let keeper = KEEPERS.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{keeper:x}", std::process::id(), unix.as_nanos())
}

#[cfg(test)]
mod tests;
