//! The folder that a run leaves.
//!
//! ```text
//! runs/20261130T091502Z-database-failover/
//!     scenario.toml   as it was given
//!     result.json     the outcome for machines
//!     junit.xml       the outcome for continuous integration
//!     report.html     the outcome for people, one file that needs nothing else
//!     timeline.csv    a row a second (and run)
//!     audit.jsonl     every command to a control plane, where the run kept that log
//!     runlog.json     what the run saw; of a comparison runlog-<arm>.json, one an arm
//! ```
//!
//! The folder is written under a temporary name beside its final one and renamed when it is whole:
//! an interruption leaves no folder with a missing or half-written file.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use goodput_runlog::RunLog;
use goodput_scenario::{Plan, Scenario};

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
/// A folder of that name that exists already is left alone: the new one gets a numbered suffix.
///
/// # Errors
///
/// Where the place cannot be written, or a form of the report cannot.
pub fn write_run_folder(parent: &Path, content: &RunFolder<'_>) -> Result<PathBuf, FolderError> {
    let mut files = forms(content.report)?;
    files.extend(logs(content.report)?);
    files.push((SCENARIO.to_owned(), content.scenario_file.as_bytes().to_vec()));
    if !content.audit.is_empty() {
        files.push((AUDIT.to_owned(), content.audit.to_vec()));
    }
    write_folder(parent, &folder_name(content.report), &files)
}

/// Reads a folder that [`write_run_folder`] wrote, to judge and draw the run again.
///
/// # Errors
///
/// Where it cannot be read, or does not hold a run.
pub fn read_run_folder(dir: &Path) -> Result<SavedRun, FolderError> {
    let not_a_run = |reason: String| FolderError::NotARun { path: dir.to_owned(), reason };
    let path = dir.join(SCENARIO);
    let scenario_file = read(dir, &path)?;
    let plan = Plan::parse(&path.to_string_lossy(), &scenario_file)
        .map_err(|error| not_a_run(error.to_string()))?;
    let mut arms = Vec::new();
    for path in log_paths(dir)? {
        let log = RunLog::from_json(&read(dir, &path)?)
            .map_err(|error| not_a_run(format!("{}: {error}", path.display())))?;
        let arm = match &log.meta.arm {
            None => None,
            Some(name) => {
                let place = plan.arms.iter().position(|arm| arm.name == *name);
                let missing =
                    || format!("{} is of arm `{name}`, which {SCENARIO} has not", path.display());
                Some(place.ok_or_else(|| not_a_run(missing()))?)
            }
        };
        arms.push((path, SavedArm { arm, log }));
    }
    if arms.is_empty() {
        return Err(not_a_run(format!("it holds no {LOG}.json")));
    }
    arms.sort_by_key(|(_, saved)| saved.arm);
    for ((first, one), (second, other)) in arms.iter().zip(arms.iter().skip(1)) {
        let several = match (one.arm, other.arm) {
            (None, _) => "a run above the arms, which no comparison holds",
            (one, other) if one == other => "of the same arm",
            _ => continue,
        };
        let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        return Err(not_a_run(format!(
            "beside {} it holds {}: {several}; move one elsewhere",
            name(second),
            name(first)
        )));
    }
    let arms = arms.into_iter().map(|(_, saved)| saved).collect();
    Ok(SavedRun { dir: dir.to_owned(), scenario_file, plan, arms })
}

impl SavedRun {
    /// The scenario that one of its runs carried out.
    pub fn scenario(&self, saved: &SavedArm) -> &Scenario {
        saved
            .arm
            .and_then(|arm| self.plan.arms.get(arm))
            .map_or(&self.plan.scenario, |a| &a.scenario)
    }
}

/// Writes files into a new folder `name` inside `parent`, as [`write_run_folder`] does.
pub(crate) fn write_folder(
    parent: &Path,
    name: &str,
    files: &[(String, Vec<u8>)],
) -> Result<PathBuf, FolderError> {
    fs::create_dir_all(parent).map_err(io("make the folder", parent))?;
    let partial = parent.join(format!(".{name}.partial-{}", std::process::id()));
    let written = write_all(&partial, files).and_then(|()| settle(&partial, parent, name));
    if written.is_err() {
        // What is left of it is of no use; the first error is the one to tell.
        let _ = fs::remove_dir_all(&partial);
    }
    written
}

/// The files that a report has forms for.
fn forms(report: &Report<'_>) -> Result<Vec<(String, Vec<u8>)>, FolderError> {
    let result = report.to_result().to_json().map_err(|error| form("result.json", &error))?;
    let junit = report.to_junit().map_err(|error| form("junit.xml", &error))?;
    let named = |(name, text): (&str, String)| (name.to_owned(), text.into_bytes());
    let files = [
        ("result.json", result),
        ("junit.xml", junit),
        ("report.html", report.to_html()),
        ("timeline.csv", report.to_timeline()),
    ];
    Ok(files.map(named).into())
}

fn logs(report: &Report<'_>) -> Result<Vec<(String, Vec<u8>)>, FolderError> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for run in report.runs() {
        let mut name = match (report, &run.log.meta.arm) {
            (Report::Comparison { .. }, Some(arm)) => format!("{LOG}-{}.json", safe(arm)),
            _ => format!("{LOG}.json"),
        };
        if files.iter().any(|(taken, _)| *taken == name) {
            name = format!("{LOG}-{}.json", files.len() + 1);
        }
        let json = run.log.to_json().map_err(|error| form(&name, &error))?;
        files.push((name, json.into_bytes()));
    }
    Ok(files)
}

fn write_all(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), FolderError> {
    // One left behind by a process of the same id is in nobody's use.
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).map_err(io("make the folder", folder))?;
    files.iter().try_for_each(|(name, bytes)| write_file(&folder.join(name), bytes))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let mut file = fs::File::create(path).map_err(io("create", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(io("write", path))
}

/// Gives the whole folder its name, or the first numbered one that is free.
fn settle(partial: &Path, parent: &Path, name: &str) -> Result<PathBuf, FolderError> {
    let mut last = None;
    for number in 1..=FOLDERS_MAX {
        let path = match number {
            1 => parent.join(name),
            number => parent.join(format!("{name}-{number}")),
        };
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match fs::rename(partial, &path) {
            Ok(()) => return Ok(path),
            // Another run may have taken the name just now: then the next number is tried.
            Err(source) if path.exists() => last = Some((path, source)),
            Err(source) => return Err(FolderError::Io { action: "name the folder", path, source }),
        }
    }
    let (path, source) =
        last.unwrap_or_else(|| (parent.join(name), ErrorKind::AlreadyExists.into()));
    Err(FolderError::Io { action: "name the folder", path, source })
}

/// `<time>-<scenario>`, where the time is when the first run began, or the present one.
fn folder_name(report: &Report<'_>) -> String {
    let meta = report.runs().first().map(|run| &run.log.meta);
    let began = meta.and_then(|meta| meta.started.parse::<jiff::Timestamp>().ok());
    let name = meta.map_or("run", |meta| meta.scenario.as_str());
    named(began.unwrap_or_else(jiff::Timestamp::now), name)
}

/// `<time>-<name>`, in characters that every file system takes.
pub(crate) fn named(time: jiff::Timestamp, name: &str) -> String {
    format!("{}-{}", time.strftime("%Y%m%dT%H%M%SZ"), safe(name))
}

/// A name that every file system takes, and that leads nowhere else.
fn safe(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().take(80).map(keep).collect();
    let name = name.trim_matches('.');
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

fn log_paths(dir: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(io("read", dir))? {
        let path = entry.map_err(io("read", dir))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = name.strip_suffix(".json");
        if stem.is_some_and(|stem| stem == LOG || stem.starts_with(&format!("{LOG}-"))) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read(dir: &Path, path: &Path) -> Result<String, FolderError> {
    fs::read_to_string(path).map_err(|source| {
        if source.kind() != ErrorKind::NotFound {
            return FolderError::Io { action: "read", path: path.to_owned(), source };
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let reason =
            if dir.exists() { format!("it holds no {name}") } else { "it is not there".into() };
        FolderError::NotARun { path: dir.to_owned(), reason }
    })
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { action, path, source }
}

pub(crate) fn form(file: &str, error: &dyn std::error::Error) -> FolderError {
    FolderError::Form { file: file.to_owned(), reason: error.to_string() }
}

pub(crate) const SCENARIO: &str = "scenario.toml";
const AUDIT: &str = "audit.jsonl";
const LOG: &str = "runlog";
/// How many folders of one second and scenario there may be.
const FOLDERS_MAX: u32 = 10_000;
