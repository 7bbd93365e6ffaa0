//! The file of an audit log, written by a thread of its own: a disk that hangs holds nobody up.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::AuditEntry;

/// The file, and the thread that has it. The thread ends with its last entry once this is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    path: PathBuf,
    entries: SyncSender<Job>,
}

/// A line, and where its end is told.
struct Job {
    line: Vec<u8>,
    ended: SyncSender<io::Result<()>>,
}

impl Writer {
    /// Opens a file for appending, which is created where it is not there.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (entries, jobs) = sync_channel(WAITING);
        thread::Builder::new().name("audit".to_owned()).spawn(move || write_on(file, &jobs))?;
        Ok(Self { path: path.to_owned(), entries })
    }

    /// Appends an entry, and waits a while for it to be written; says why it was not, or not yet.
    pub(super) fn write(&self, entry: &AuditEntry) -> Result<(), String> {
        self.try_write(entry)
            .map_err(|why| format!("cannot write to {}: {why}", self.path.display()))
    }

    fn try_write(&self, entry: &AuditEntry) -> Result<(), String> {
        let mut line = serde_json::to_vec(entry).map_err(|error| error.to_string())?;
        line.push(b'\n');
        let (ended, end) = sync_channel(1);
        self.entries
            .try_send(Job { line, ended })
            .map_err(|_| format!("{WAITING} earlier entries still wait to be written"))?;
        match end.recv_timeout(PATIENCE) {
            Ok(written) => written.map_err(|error| error.to_string()),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("the write did not end within {} ms", PATIENCE.as_millis()))
            }
            Err(RecvTimeoutError::Disconnected) => Err("its thread is gone".to_owned()),
        }
    }
}

/// One write a line, so that lines of several processes in one file do not mix.
fn write_on(mut file: File, jobs: &Receiver<Job>) {
    for Job { line, ended } in jobs {
        // Whoever asked may have given up waiting.
        let _ = ended.try_send(file.write_all(&line));
    }
}

/// How many entries wait at most while one is being written.
const WAITING: usize = 8;
/// How long an entry is waited for: short against the shortest lease that an injector keeps.
const PATIENCE: Duration = Duration::from_millis(250);
