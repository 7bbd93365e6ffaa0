//! The audit log: one JSON object a line, appended, never changed.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use goodput_policy::lever::Lever;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::Cause;
use writer::Writer;

mod writer;

/// One command, refusal or expiry.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct AuditEntry {
    /// When, UTC, RFC 3339.
    pub when: String,
    /// Who, as they say themselves.
    pub by: String,
    /// Where the command came from, as address and port; empty where it came from inside.
    pub source: String,
    /// Why, as they say themselves.
    pub reason: String,
    /// The run that the command belongs to; absent for what people do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The command, such as `POST /faults`.
    pub command: String,
    /// What was asked for.
    pub what: Value,
    /// The state before.
    pub before: Value,
    /// The state after; null where nothing changed.
    pub after: Value,
    /// `done`, or why not.
    pub outcome: String,
}

impl AuditEntry {
    /// An entry of now, with nothing in it but who, where from, and the command.
    pub fn now(cause: Cause, source: String, command: String) -> Self {
        Self {
            when: jiff::Timestamp::now().to_string(),
            by: cause.by,
            source,
            reason: cause.reason,
            run: cause.run,
            command,
            what: Value::Null,
            before: Value::Null,
            after: Value::Null,
            outcome: String::new(),
        }
    }
}

/// The file of an audit log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the audit log {path}: {source}; give a file in a writable directory")]
pub struct AuditError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

/// An audit log. Clones share one sink. A write that fails, or does not end within 250 ms, is counted
/// and kept for [`Audit::failures`] and the metrics; it never stops a command or the end of a lease.
#[derive(Clone, Debug)]
pub struct Audit {
    sink: Arc<Mutex<Sink>>,
}

#[derive(Debug)]
struct Sink {
    target: Target,
    failures: u64,
    last_failure: Option<String>,
    /// Levers pulled, by [`Lever::NAMES`].
    levers: [u64; Lever::NAMES.len()],
}

#[derive(Debug)]
enum Target {
    Off,
    Memory(VecDeque<AuditEntry>),
    File(Writer),
}

impl Audit {
    /// Writes nothing down.
    pub fn off() -> Self {
        Self::to(Target::Off)
    }

    /// Keeps the last 10,000 entries in memory.
    pub fn memory() -> Self {
        Self::to(Target::Memory(VecDeque::new()))
    }

    /// Appends to a file, which is created where it is not there.
    ///
    /// # Errors
    ///
    /// Where the file cannot be opened for appending.
    pub fn file(path: &Path) -> Result<Self, AuditError> {
        let writer = Writer::open(path);
        writer
            .map(|writer| Self::to(Target::File(writer)))
            .map_err(|source| AuditError { path: path.to_owned(), source })
    }

    /// Appends an entry.
    pub fn append(&self, entry: AuditEntry) {
        let mut sink = self.lock();
        if let Some(lever) = pulled(&entry) {
            sink.levers[lever] += 1;
        }
        let failure = match &mut sink.target {
            Target::Off => None,
            Target::Memory(entries) => {
                if entries.len() == MEMORY_ENTRIES {
                    entries.pop_front();
                }
                entries.push_back(entry);
                None
            }
            Target::File(writer) => writer.write(&entry).err(),
        };
        if let Some(failure) = failure {
            sink.failures += 1;
            sink.last_failure = Some(failure);
        }
    }

    /// The entries kept in memory, oldest first; none for other sinks.
    pub fn entries(&self) -> Vec<AuditEntry> {
        match &self.lock().target {
            Target::Memory(entries) => entries.iter().cloned().collect(),
            Target::Off | Target::File(_) => Vec::new(),
        }
    }

    /// How many writes have failed, and how the last one did.
    pub fn failures(&self) -> (u64, Option<String>) {
        let sink = self.lock();
        (sink.failures, sink.last_failure.clone())
    }

    /// The log's own metrics in Prometheus's text format: lost entries, and the levers among the
    /// commands.
    pub(crate) fn metrics(&self) -> String {
        let sink = self.lock();
        let mut text = format!(
            "# HELP rig_audit_write_failures_total Entries of the audit log that were not written, or not in time.\n\
             # TYPE rig_audit_write_failures_total counter\n\
             rig_audit_write_failures_total {}\n\
             # HELP rig_levers_pulled_total Levers pulled at this process, by name.\n\
             # TYPE rig_levers_pulled_total counter\n",
            sink.failures
        );
        for (name, count) in Lever::NAMES.iter().zip(sink.levers) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "rig_levers_pulled_total{{lever=\"{name}\"}} {count}");
        }
        text
    }

    fn to(target: Target) -> Self {
        Self {
            sink: Arc::new(Mutex::new(Sink {
                target,
                failures: 0,
                last_failure: None,
                levers: [0; Lever::NAMES.len()],
            })),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which lever was pulled, where that is what the entry says.
fn pulled(entry: &AuditEntry) -> Option<usize> {
    let name = match entry.command.as_str() {
        "PATCH /limiter" => "limiter",
        command => command.strip_prefix("POST /levers/")?,
    };
    let refused = entry.outcome.starts_with("refused");
    Lever::NAMES.iter().position(|known| *known == name && !refused)
}

const MEMORY_ENTRIES: usize = 10_000;

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    use std::os::fd::AsRawFd;

    use super::*;

    fn entry(command: &str) -> AuditEntry {
        let cause = Cause::new("me", "a \"test\"\nof lines");
        AuditEntry::now(cause, "127.0.0.1:1".to_owned(), command.to_owned())
    }

    #[test]
    fn a_file_gets_one_line_an_entry_after_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for command in ["first", "second"] {
            Audit::file(&path).unwrap().append(entry(command));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let read: Vec<AuditEntry> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(read.iter().map(|e| &e.command).collect::<Vec<_>>(), ["first", "second"]);
        assert!(read[0].when.ends_with('Z'), "{}", read[0].when);
        assert!(read[0].when.parse::<jiff::Timestamp>().is_ok());
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let error = Audit::file(Path::new("/nowhere/audit.jsonl")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/audit.jsonl"), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_write_that_fails_is_counted_and_goes_on() {
        let audit = Audit::file(Path::new("/dev/full")).unwrap();
        audit.append(entry("one"));
        audit.append(entry("two"));
        let (failures, last) = audit.failures();
        assert_eq!(failures, 2);
        assert!(last.unwrap().contains("/dev/full"));
        assert!(audit.metrics().contains("rig_audit_write_failures_total 2"));
    }

    /// A pipe that nobody empties: whoever writes more than it holds waits for ever.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_write_that_does_not_end_holds_nobody_up_for_long() {
        let (reader, stalled) = std::io::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", stalled.as_raw_fd());
        let audit = Audit::file(Path::new(&path)).unwrap();
        let mut big = entry("one");
        big.what = Value::String("x".repeat(1 << 21));
        audit.append(big);
        assert!(audit.failures().1.unwrap().contains("did not end"));
        // What waits behind it is bounded, and then refused without waiting.
        (0..40).for_each(|n| audit.append(entry(&n.to_string())));
        let (failures, last) = audit.failures();
        assert_eq!(failures, 41);
        assert!(last.unwrap().contains("still wait"));
        drop(reader);
    }

    #[test]
    fn memory_keeps_the_last_entries_only() {
        let audit = Audit::memory();
        (0..=MEMORY_ENTRIES).for_each(|n| audit.append(entry(&n.to_string())));
        let entries = audit.entries();
        assert_eq!((entries.len(), entries[0].command.as_str()), (MEMORY_ENTRIES, "1"));
    }
}
