//! Leaves what a run was: on stdout, in its folder, and in the files that were asked for.

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use goodput_report::{Answer, Report, RunFolder, TextStyle, write_answer_folder, write_run_folder};
use serde::Serialize;

use crate::args::{AnswerArgs, Format, FormsArgs, OutputArgs, ResultArgs};
use crate::display::Display;
use crate::exit::{Exit, Failure};
use crate::output;

/// The place of --out, found writable. Folders that were made for it and are still empty in the end
/// go away again.
#[derive(Debug)]
pub(crate) struct Place {
    /// What was made, outermost first.
    made: Vec<PathBuf>,
}

impl Drop for Place {
    fn drop(&mut self) {
        for folder in self.made.iter().rev() {
            // One that holds something stays, and so do those around it.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Checks that all places can be written that the flags name, before a run is spent on them. Keep what
/// is returned until everything is written.
pub(crate) fn check(args: &OutputArgs) -> Result<Place, Failure> {
    check_results(&args.results)?;
    place_at(&args.out)
}

/// The same for an answer in every form.
pub(crate) fn check_forms(args: &FormsArgs) -> Result<Place, Failure> {
    let FormsArgs { out, json, csv, svg, html, .. } = args;
    check_files(&[("--json", json), ("--csv", csv), ("--svg", svg), ("--html", html)])?;
    place_at(out)
}

fn place_at(out: &Path) -> Result<Place, Failure> {
    let missing = out.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    let mut made: Vec<_> =
        missing.take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    made.reverse();
    let failed = |error: io::Error| {
        Failure::usage(format!("--out {}: cannot write there: {error}", out.display()))
    };
    fs::create_dir_all(out).map_err(failed)?;
    let place = Place { made };
    let trial = out.join(format!(".goodput-{}", std::process::id()));
    fs::create_dir(&trial).and_then(|()| fs::remove_dir(&trial)).map_err(failed)?;
    Ok(place)
}

/// Checks that the files that the flags name can be written, and that no two are one.
pub(crate) fn check_results(args: &ResultArgs) -> Result<(), Failure> {
    let ResultArgs { json, html, junit, .. } = args;
    check_files(&[("--json", json), ("--html", html), ("--junit", junit)])
}

/// Checks that the answer's file can be written, before runs are spent on it.
pub(crate) fn check_answer(args: &AnswerArgs) -> Result<(), Failure> {
    check_files(&[("--json", &args.json)])
}

fn check_files(named: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    let named = named.iter().filter_map(|(flag, path)| Some((*flag, path.as_deref()?)));
    let mut known: Vec<(&str, PathBuf)> = Vec::new();
    for (flag, path) in named {
        check_file(path).map_err(|error| {
            Failure::usage(format!(
                "{flag} {}: cannot write the file: {error}; name one in a folder that exists, such as \
                 {flag} result{}",
                path.display(),
                flag.replace("--", ".").replace("junit", "xml")
            ))
        })?;
        let place = place_of(path);
        if let Some((other, _)) = known.iter().find(|(_, known)| *known == place) {
            return Err(Failure::usage(format!(
                "{other} and {flag} both name {}; give each a file of its own",
                path.display()
            )));
        }
        known.push((flag, place));
    }
    Ok(())
}

/// Opens a file for writing without changing what it holds; one that was not there is not there after.
fn check_file(path: &Path) -> io::Result<()> {
    let is_new = path.symlink_metadata().is_err();
    fs::OpenOptions::new().append(true).create(true).open(path)?;
    if is_new { fs::remove_file(path) } else { Ok(()) }
}

/// Where a path leads, whatever it is called.
fn place_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    path.canonicalize()
        .ok()
        .or_else(|| Some(folder.ok()?.join(path.file_name()?)))
        .unwrap_or_else(|| path.to_path_buf())
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
    let exit = results(&args.results, report);
    if !args.progress.quiet {
        output::note(format_args!("report: {}", folder.join("report.html").display()));
    }
    exit
}

/// Prints the answer to a question, and writes the file that its flag names.
pub(crate) fn answer(
    args: &AnswerArgs,
    text: &str,
    answer: &impl Serialize,
) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(answer).map_err(Failure::usage)? + "\n";
    let shown = output::result(match args.format {
        Format::Text => text,
        Format::Json => &json,
    });
    shown.and(write("--json", args.json.as_deref(), || Ok(json)))
}

/// Prints the result and writes the files that the flags name; returns how the command ends.
pub(crate) fn results(args: &ResultArgs, report: &Report<'_>) -> Result<Exit, Failure> {
    let shown = match args.format {
        Format::Text => output::result(&report.to_text(style())),
        Format::Json => json(report).and_then(|json| output::result(&json)),
    };
    let junit = || report.to_junit().map_err(Failure::usage);
    // One place that fails keeps nothing from the others.
    let written = [
        shown,
        write("--json", args.json.as_deref(), || json(report)),
        write("--html", args.html.as_deref(), || Ok(report.to_html())),
        write("--junit", args.junit.as_deref(), junit),
    ];
    written.into_iter().collect::<Result<(), Failure>>()?;
    Ok(report.exit())
}

/// Leaves the folder of an answer, prints it and writes the files that the flags name.
pub(crate) fn forms(
    args: &FormsArgs,
    answer: &dyn Answer,
    scenario_file: &str,
) -> Result<(), Failure> {
    let folder = write_answer_folder(&args.out, answer, scenario_file).map_err(Failure::usage)?;
    let json = || answer.to_json().map_err(Failure::usage);
    let shown = match args.format {
        Format::Text => output::result(&answer.to_text(style())),
        Format::Json => json().and_then(|json| output::result(&json)),
    };
    let written = [
        shown,
        write("--json", args.json.as_deref(), json),
        write("--csv", args.csv.as_deref(), || Ok(answer.to_csv())),
        write("--svg", args.svg.as_deref(), || Ok(answer.to_svg())),
        write("--html", args.html.as_deref(), || Ok(answer.to_html())),
    ];
    if !args.progress.quiet {
        output::note(format_args!("report: {}", folder.join("report.html").display()));
    }
    written.into_iter().collect()
}

impl FormsArgs {
    /// Where progress of runs on the rig is shown.
    pub(crate) fn display(&self) -> Display {
        Display::choose(self.progress, self.format == Format::Json)
    }
}

impl OutputArgs {
    /// Where progress is shown.
    pub(crate) fn display(&self) -> Display {
        Display::choose(self.progress, self.results.format == Format::Json)
    }
}

/// Writes a form of the result into the file that a flag names, where it names one.
fn write(
    flag: &str,
    path: Option<&Path>,
    form: impl FnOnce() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, form()?).map_err(|error| {
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
