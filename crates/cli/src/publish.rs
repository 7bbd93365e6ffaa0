//! Leaves what a run was: on stdout, in its folder, and in the files that were asked for.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use goodput_report::{Report, RunFolder, TextStyle, write_run_folder};
use serde::Serialize;

use crate::args::{AnswerArgs, Format, OutputArgs, ResultArgs};
use crate::display::Display;
use crate::exit::{Exit, Failure};
use crate::output;

/// Whether all places can be written that the flags name, before a run is spent on them.
pub(crate) fn check(args: &OutputArgs) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.out).map_err(|error| {
        Failure::usage(format!("--out {}: cannot make the folder: {error}", args.out.display()))
    })?;
    let ResultArgs { json, html, junit, .. } = &args.results;
    check_files([("--json", json), ("--html", html), ("--junit", junit)])
}

/// Whether the answer's file can be written, before runs are spent on it.
pub(crate) fn check_answer(args: &AnswerArgs) -> Result<(), Failure> {
    check_files([("--json", &args.json)])
}

fn check_files<const N: usize>(files: [(&str, &Option<PathBuf>); N]) -> Result<(), Failure> {
    for (flag, path) in files {
        let Some(path) = path else { continue };
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if path.is_dir() || parent.is_some_and(|parent| !parent.is_dir()) {
            return Err(Failure::usage(format!(
                "{flag} {}: not a file in a folder that exists, such as {flag} result{}",
                path.display(),
                flag.replace("--", ".").replace("junit", "xml")
            )));
        }
    }
    Ok(())
}

/// Leaves the folder, prints the result and writes the files that the flags name; returns how the
/// command ends.
pub(crate) fn all(
    args: &OutputArgs,
    report: &Report<'_>,
    scenario_file: &str,
    audit: &[u8],
) -> Result<Exit, Failure> {
    let content = RunFolder { report, scenario_file, audit };
    let folder = write_run_folder(&args.out, &content).map_err(Failure::usage)?;
    let exit = results(&args.results, report)?;
    if !args.progress.quiet {
        output::note(format_args!("report: {}", folder.join("report.html").display()));
    }
    Ok(exit)
}

/// Prints the answer to a question, and writes the file that its flag names.
pub(crate) fn answer(
    args: &AnswerArgs,
    text: &str,
    answer: &impl Serialize,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(answer).map_err(Failure::usage)? + "\n";
    match args.format {
        Format::Text => output::result(text)?,
        Format::Json => output::result(&json)?,
    }
    args.json.as_ref().map_or(Ok(()), |path| write("--json", path, &json))
}

/// Prints the result and writes the files that the flags name; returns how the command ends.
pub(crate) fn results(args: &ResultArgs, report: &Report<'_>) -> Result<Exit, Failure> {
    match args.format {
        Format::Text => output::result(&report.to_text(style()))?,
        Format::Json => output::result(&json(report)?)?,
    }
    if let Some(path) = &args.json {
        write("--json", path, &json(report)?)?;
    }
    if let Some(path) = &args.html {
        write("--html", path, &report.to_html())?;
    }
    if let Some(path) = &args.junit {
        write("--junit", path, &report.to_junit().map_err(Failure::usage)?)?;
    }
    Ok(report.exit())
}

impl OutputArgs {
    /// Where progress is shown.
    pub(crate) fn display(&self) -> Display {
        Display::choose(self.progress, self.results.format == Format::Json)
    }
}

fn write(flag: &str, path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        Failure::usage(format!("{flag} {}: cannot write the file: {error}", path.display()))
    })
}

fn json(report: &Report<'_>) -> Result<String, Failure> {
    report.to_result().to_json().map_err(Failure::usage)
}

fn style() -> TextStyle {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    TextStyle { colour: wanted && !dumb && io::stdout().is_terminal() }
}
