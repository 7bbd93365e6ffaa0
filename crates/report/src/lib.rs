//! What a run was, for people and for machines: terminal text, JSON, JUnit and one HTML file.
//!
//! Reports read run logs and judgements; they never call an engine, and they speak scenario time. A
//! [`Report`] is one run or one comparison; each form is a pure function of it, and
//! [`write_run_folder`] puts them all on disk together with what is needed to judge and draw the run
//! again ([`read_run_folder`]).

mod answer;
mod boundary;
mod criteria;
mod drill;
mod fold;
mod folder;
mod format;
mod html;
mod hysteresis;
mod junit;
mod map;
mod plane;
mod report;
mod result;
mod table;
mod text;
mod timeline;
mod told;

pub use answer::{
    Answer, BoundaryReport, MapReport, boundary_schema, map_schema, write_answer_folder,
};
pub use criteria::{Criterion, CriterionOutcome};
pub use drill::drill_text;
pub use folder::{FolderError, RunFolder, SavedArm, SavedRun, read_run_folder, write_run_folder};
pub use hysteresis::hysteresis_text;
pub use report::{Report, ReportedRun};
pub use result::{
    RESULT_SCHEMA, ResultFile, RunResult, RunStatus, drill_schema, hysteresis_schema,
    result_schema, run_log_schema,
};
pub use text::TextStyle;
