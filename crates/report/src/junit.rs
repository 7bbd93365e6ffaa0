//! `junit.xml`: the outcome for continuous integration.

use crate::report::Report;

pub(crate) fn write(report: &Report<'_>) -> Result<String, quick_junit::SerializeError> {
    let _ = report;
    quick_junit::Report::new("goodput").to_string()
}
