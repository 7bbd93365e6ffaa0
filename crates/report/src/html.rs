//! One self-contained HTML file a run or a comparison.
//!
//! The file loads nothing, which its content security policy enforces, and is whole without its
//! script. All text goes through `maud`, which escapes it: names and descriptions come from scenario
//! files, and are input.

mod axis;
mod chart;
mod comparison;
mod data;
mod headline;
mod labels;
mod panels;
mod parameters;
mod run;
mod shape;
mod tables;
mod track;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::report::Report;
use data::Data;

/// Writes the page.
pub(crate) fn write(report: &Report<'_>) -> String {
    let mut data = Data::default();
    let (title, body) = match report {
        Report::Run(run) => (run.name(), run::page(run, &mut data)),
        Report::Comparison { comparison, runs, command } => {
            (comparison.scenario.as_str(), comparison::page(comparison, runs, command, &mut data))
        }
    };
    document(title, &body, &data).into_string()
}

/// Writes the page of an answer to a question over many runs.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    document(title, body, &Data::default()).into_string()
}

fn document(title: &str, body: &Markup, data: &Data) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · goodput" }
                style { (PreEscaped(include_str!("html/style.css"))) }
            }
            body {
                main { (body) }
                script id="data" type="application/json" { (PreEscaped(data.to_script())) }
                script { (PreEscaped(include_str!("html/script.js"))) }
            }
        }
    }
}

/// Nothing is loaded from anywhere; styles and the script stand in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";
