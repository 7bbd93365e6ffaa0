use goodput_experiment::{Comparison, FinishedArm};
use goodput_runlog::RunLog;
use goodput_scenario::Scenario;
use goodput_verdict::{Exit, Judgement, holds, named};

use crate::result::ResultFile;
use crate::text::TextStyle;
use crate::{html, junit, text, timeline};

/// One run or one comparison, ready to be written in any form.
#[derive(Clone, Debug)]
pub enum Report<'a> {
    /// One run.
    Run(ReportedRun<'a>),
    /// Several arms of a scenario side by side.
    Comparison {
        /// What was found.
        comparison: &'a Comparison,
        /// The arms' runs, in the order of the comparison's rows.
        runs: Vec<ReportedRun<'a>>,
        /// The command that repeats all of it.
        command: &'a str,
    },
}

/// A run and what was found about it.
#[derive(Clone, Copy, Debug)]
pub struct ReportedRun<'a> {
    /// The scenario, or the arm of it, that was run.
    pub scenario: &'a Scenario,
    /// What the run saw.
    pub log: &'a RunLog,
    /// What it means.
    pub judgement: &'a Judgement,
    /// Whether it is an arm that must fail.
    pub control: bool,
}

impl<'a> ReportedRun<'a> {
    /// The name to tell it from other runs: its arm's, or the scenario's.
    pub fn name(&self) -> &'a str {
        self.log.meta.arm.as_deref().unwrap_or(&self.log.meta.scenario)
    }

    /// The verdict with its cause, such as `not-recovered: overloaded`.
    pub fn verdict(&self) -> String {
        named(self.judgement.verdict, self.judgement.cause)
    }

    /// Whether the verdict is the expected one.
    pub fn held(&self) -> bool {
        holds(self.judgement, &self.scenario.expect)
    }

    /// How a command ends that runs this alone.
    pub fn exit(&self) -> Exit {
        Exit::of(self.judgement, &self.scenario.expect, self.control)
    }
}

impl<'a> Report<'a> {
    /// The report of one run as it was written above the arms, or of an arm that is not a control.
    pub const fn run(scenario: &'a Scenario, log: &'a RunLog, judgement: &'a Judgement) -> Self {
        Self::Run(ReportedRun { scenario, log, judgement, control: false })
    }

    /// The report of a comparison. `arms` are those that were compared, in the same order; `command`
    /// is what repeats it.
    pub fn comparison(
        comparison: &'a Comparison,
        arms: &[FinishedArm<'a>],
        command: &'a str,
    ) -> Self {
        let runs = arms
            .iter()
            .zip(&comparison.rows)
            .map(|(finished, row)| ReportedRun {
                scenario: &finished.arm.scenario,
                log: finished.log,
                judgement: &row.judgement,
                control: finished.arm.control,
            })
            .collect();
        Self::Comparison { comparison, runs, command }
    }

    /// Every run of the report.
    pub fn runs(&self) -> &[ReportedRun<'a>] {
        match self {
            Self::Run(run) => std::slice::from_ref(run),
            Self::Comparison { runs, .. } => runs,
        }
    }

    /// How a command ends that made this.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Run(run) => run.exit(),
            Self::Comparison { comparison, .. } => comparison.exit,
        }
    }

    /// The command that repeats it.
    pub fn command(&self) -> &'a str {
        match self {
            Self::Run(run) => &run.log.meta.command,
            Self::Comparison { command, .. } => command,
        }
    }

    /// The verdict with its evidence, or the table of the arms, for a terminal. Ends with a line
    /// break.
    pub fn to_text(&self, style: TextStyle) -> String {
        text::write(self, style)
    }

    /// What `result.json` holds.
    pub fn to_result(&self) -> ResultFile {
        ResultFile::of(self)
    }

    /// What `junit.xml` holds: a test case a criterion, a suite a run.
    ///
    /// # Errors
    ///
    /// Where the XML cannot be written.
    pub fn to_junit(&self) -> Result<String, quick_junit::SerializeError> {
        junit::write(self)
    }

    /// What `report.html` holds: one file that needs nothing else.
    pub fn to_html(&self) -> String {
        html::write(self)
    }

    /// What `timeline.csv` holds: a row a second and run.
    pub fn to_timeline(&self) -> String {
        timeline::write(self.runs())
    }
}
