//! The outcome for a terminal.

use crate::report::Report;

/// How text is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TextStyle {
    /// Whether ANSI colours may be used. Nothing is said by colour alone.
    pub colour: bool,
}

pub(crate) fn write(_report: &Report<'_>, _style: TextStyle) -> String {
    String::new()
}
