//! The windows of a load: summed up as they end, so that a load of days needs no more memory than one of
//! minutes, and appended to a file where one was asked for.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use goodput_runlog::ClientWindow;
use serde::Serialize;

use crate::exit::Failure;
use crate::output;

/// What the windows so far add up to.
#[derive(Debug, Default)]
pub(super) struct Windows {
    /// Requests that were answered after their deadline.
    pub(super) late: u64,
    /// Requests that failed, by the class of the last failure.
    pub(super) failed: BTreeMap<String, u64>,
    /// Attempts sent.
    pub(super) attempts: u64,
    /// Attempts that failed, by class.
    pub(super) attempts_failed: BTreeMap<String, u64>,
    /// Retries that were not sent, by reason.
    pub(super) suppressed: BTreeMap<String, u64>,
    /// The number of windows up to the last one with an arrival; those after it belong to the drain.
    pub(super) sent: u64,
    count: u64,
    file: Option<WindowFile>,
}

/// Where each window goes as a line of JSON.
#[derive(Debug)]
struct WindowFile {
    file: File,
    path: PathBuf,
    failed: bool,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    /// When it was written, UTC, RFC 3339.
    when: String,
    second: u64,
    #[serde(flatten)]
    window: &'a ClientWindow,
}

impl Windows {
    /// No windows yet; each will be appended to `file`.
    pub(super) fn new(file: Option<&Path>) -> Result<Self, Failure> {
        let file = file.map(WindowFile::open).transpose()?;
        Ok(Self { file, ..Self::default() })
    }

    /// Takes the window that began at this second in.
    pub(super) fn add(&mut self, second: u64, window: &ClientWindow) {
        self.late += window.late;
        self.attempts += window.attempts;
        for (sums, counts) in [
            (&mut self.failed, &window.failed),
            (&mut self.attempts_failed, &window.attempts_failed),
            (&mut self.suppressed, &window.suppressed),
        ] {
            for (name, count) in counts {
                *sums.entry(name.clone()).or_insert(0) += count;
            }
        }
        self.count += 1;
        if window.offered > 0 {
            self.sent = self.count;
        }
        if let Some(file) = &mut self.file {
            file.append(second, window);
        }
    }
}

impl WindowFile {
    fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            Failure::usage(format!(
                "--windows {}: cannot append to the file: {error}; give one in a folder that can \
                 be written, such as --windows windows.jsonl",
                path.display()
            ))
        })?;
        Ok(Self { file, path: path.to_owned(), failed: false })
    }

    /// Appends a line at once, so that nothing is lost with the process. A full disk is told once, and
    /// does not stop the load.
    fn append(&mut self, second: u64, window: &ClientWindow) {
        let line = Line { when: jiff::Timestamp::now().to_string(), second, window };
        let written = serde_json::to_vec(&line).map_err(io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        match written {
            Err(error) if !self.failed => {
                self.failed = true;
                output::error(format_args!(
                    "--windows {}: from second {second} on windows are missing: {error}",
                    self.path.display()
                ));
            }
            Err(_) | Ok(()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_add_up_and_the_drain_is_not_part_of_the_load() {
        let window = |offered, failed: u64| ClientWindow {
            offered,
            failed: BTreeMap::from([("timeout".to_owned(), failed)]),
            attempts: offered + failed,
            ..ClientWindow::default()
        };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("windows.jsonl");
        let mut windows = Windows::new(Some(&path)).unwrap();
        for (second, window) in [window(80, 0), window(70, 2), window(0, 5)].iter().enumerate() {
            windows.add(second as u64, window);
        }
        assert_eq!((windows.sent, windows.attempts, windows.failed["timeout"]), (2, 157, 7));
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 3);
        assert_eq!((&lines[1]["second"], &lines[1]["offered"]), (&1.into(), &70.into()));
        assert!(lines[1]["when"].as_str().unwrap().ends_with('Z'));
    }
}
