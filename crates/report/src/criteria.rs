//! What a run has to meet, each with its value and its threshold: the rows of `result.json`, the test
//! cases of `junit.xml`, and a table of the HTML report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::ReportedRun;

/// One thing that a run has to meet.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Criterion {
    /// Its name in files, such as `generator-punctual`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The value; absent where it could not be measured, or is no number.
    pub value: Option<f64>,
    /// The threshold; absent where there is none.
    pub threshold: Option<f64>,
    /// The unit of both: `ratio`, `s`, `/s`, `count`, or empty.
    pub unit: String,
    /// Whether it was met.
    pub outcome: CriterionOutcome,
    /// Value against threshold in words.
    pub text: String,
}

/// Whether a criterion was met.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CriterionOutcome {
    /// It was.
    Met,
    /// It was not.
    NotMet,
    /// It was not, and for that the run cannot be trusted.
    Untrusted,
    /// It does not apply, or could not be judged.
    Skipped,
}

/// The criteria of a run, those that put trust in it first.
pub(crate) fn criteria(_run: &ReportedRun<'_>) -> Vec<Criterion> {
    Vec::new()
}
