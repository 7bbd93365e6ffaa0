//! The answers to questions over many runs, in every form.

use std::path::{Path, PathBuf};

use goodput_experiment::{Boundary, Map};

use crate::folder::{self, FolderError};
use crate::text::TextStyle;
use crate::{boundary, map};

/// An answer that can be written in any form.
pub trait Answer {
    /// The command that asks for it, such as `boundary`.
    fn kind(&self) -> &'static str;
    /// The scenario's name.
    fn scenario(&self) -> &str;
    /// The answer for a terminal. Ends with a line break.
    fn to_text(&self, style: TextStyle) -> String;
    /// The answer for machines, ending with a line break.
    ///
    /// # Errors
    ///
    /// Where it cannot be written as JSON.
    fn to_json(&self) -> serde_json::Result<String>;
    /// The figures as a table of comma-separated values.
    fn to_csv(&self) -> String;
    /// The picture.
    fn to_svg(&self) -> String;
    /// The report: one file that needs nothing else.
    fn to_html(&self) -> String;
}

/// What `goodput boundary` found, ready to be written.
#[derive(Clone, Copy, Debug)]
pub struct BoundaryReport<'a>(pub &'a Boundary);

/// What `goodput map` found, ready to be written.
#[derive(Clone, Copy, Debug)]
pub struct MapReport<'a>(pub &'a Map);

impl Answer for BoundaryReport<'_> {
    fn kind(&self) -> &'static str {
        "boundary"
    }

    fn scenario(&self) -> &str {
        &self.0.scenario
    }

    fn to_text(&self, style: TextStyle) -> String {
        boundary::text(self.0, style)
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self.0).map(|json| json + "\n")
    }

    fn to_csv(&self) -> String {
        boundary::csv(self.0)
    }

    fn to_svg(&self) -> String {
        boundary::svg(self.0)
    }

    fn to_html(&self) -> String {
        boundary::html(self.0)
    }
}

impl Answer for MapReport<'_> {
    fn kind(&self) -> &'static str {
        "map"
    }

    fn scenario(&self) -> &str {
        &self.0.scenario
    }

    fn to_text(&self, style: TextStyle) -> String {
        map::text(self.0, style)
    }

    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self.0).map(|json| json + "\n")
    }

    fn to_csv(&self) -> String {
        map::csv(self.0)
    }

    fn to_svg(&self) -> String {
        map::svg(self.0)
    }

    fn to_html(&self) -> String {
        map::html(self.0)
    }
}

/// Writes the folder `<time>-<scenario>-<kind>` of an answer inside `parent`, and returns its path:
/// the scenario as it was given, the answer as JSON, table and picture, and the report.
///
/// # Errors
///
/// Where the place cannot be written, or the answer cannot be written as JSON.
pub fn write_answer_folder(
    parent: &Path,
    answer: &dyn Answer,
    scenario_file: &str,
) -> Result<PathBuf, FolderError> {
    let kind = answer.kind();
    let json_name = format!("{kind}.json");
    let json = answer.to_json().map_err(|error| folder::form(&json_name, &error))?;
    let files = [
        (folder::SCENARIO.to_owned(), scenario_file.to_owned()),
        (json_name, json),
        (format!("{kind}.csv"), answer.to_csv()),
        (format!("{kind}.svg"), answer.to_svg()),
        ("report.html".to_owned(), answer.to_html()),
    ];
    let files = files.map(|(name, text)| (name, text.into_bytes()));
    let name = format!("{}-{kind}", answer.scenario());
    folder::write_folder(parent, &folder::named(jiff::Timestamp::now(), &name), &files)
}

/// The JSON schema of `boundary.json`.
pub fn boundary_schema() -> serde_json::Value {
    schemars::schema_for!(Boundary).to_value()
}

/// The JSON schema of `map.json`.
pub fn map_schema() -> serde_json::Value {
    schemars::schema_for!(Map).to_value()
}
