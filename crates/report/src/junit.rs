//! `junit.xml`: the outcome for continuous integration. A suite a run, a test case a criterion; what
//! cannot be trusted is an error, what did not hold a failure, and what was not seen is skipped.
//!
//! Times are wall time. The criteria of a run are judged together, so the first case of its suite has
//! the run's time and the others none; a run in virtual time took none either.

use std::time::Duration;

use goodput_runlog::EngineKind;
use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::criteria::{self, Criterion, CriterionOutcome};
use crate::report::{Report, ReportedRun};
use crate::told;

pub(crate) fn write(report: &Report<'_>) -> Result<String, SerializeError> {
    let mut junit = quick_junit::Report::new("goodput");
    for run in report.runs() {
        junit.add_test_suite(suite(run));
    }
    if let Report::Comparison { comparison, .. } = report {
        junit.add_test_suite(comparable(&comparison.scenario, &comparison.void));
    }
    junit.set_time(report.runs().iter().map(wall_time).sum());
    junit.to_string()
}

fn suite(run: &ReportedRun<'_>) -> TestSuite {
    let meta = &run.log.meta;
    let name = match &meta.arm {
        Some(arm) => format!("{}.{arm}", meta.scenario),
        None => meta.scenario.clone(),
    };
    let mut suite = TestSuite::new(name.as_str());
    suite.add_property(("command", meta.command.as_str()));
    suite.add_property(("seed", meta.seed.0.to_string().as_str()));
    suite.add_property(("verdict", run.judgement.verdict.name()));
    if let Some(cause) = run.judgement.cause {
        suite.add_property(("cause", cause.name()));
    }
    let took = wall_time(run);
    suite.set_time(took);
    // A run in virtual time has no start. The schemas of JUnit have a time stamp for a suite alone.
    suite.timestamp = meta.started.parse().ok();
    for (index, criterion) in criteria::criteria(run).into_iter().enumerate() {
        let mut case = TestCase::new(criterion.id.as_str(), status(run, &criterion));
        case.set_classname(name.as_str());
        case.set_time(if index == 0 { took } else { Duration::ZERO });
        suite.add_test_case(case);
    }
    suite
}

/// How long a run took; nothing in virtual time.
fn wall_time(run: &ReportedRun<'_>) -> Duration {
    let meta = &run.log.meta;
    match meta.engine {
        EngineKind::Rig => {
            let seconds = run.log.windows.len() as f64 / meta.speed;
            Duration::try_from_secs_f64(seconds).unwrap_or_default()
        }
        EngineKind::Simulator => Duration::ZERO,
    }
}

/// Whether the arms can be compared at all, as a suite of one case.
fn comparable(scenario: &str, void: &[String]) -> TestSuite {
    let status = if void.is_empty() {
        TestCaseStatus::success()
    } else {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(void.join("; ")).set_type("void");
        status
    };
    let mut case = TestCase::new("arms-comparable", status);
    case.set_classname(scenario).set_time(Duration::ZERO);
    let mut suite = TestSuite::new(format!("{scenario}.comparison"));
    suite.set_time(Duration::ZERO);
    suite.add_test_case(case);
    suite
}

fn status(run: &ReportedRun<'_>, criterion: &Criterion) -> TestCaseStatus {
    let (mut status, kind) = match criterion.outcome {
        CriterionOutcome::Met => return TestCaseStatus::success(),
        CriterionOutcome::NotMet => {
            (TestCaseStatus::non_success(NonSuccessKind::Failure), "not-met")
        }
        CriterionOutcome::Untrusted => {
            (TestCaseStatus::non_success(NonSuccessKind::Error), "untrusted")
        }
        CriterionOutcome::Skipped => (TestCaseStatus::skipped(), "skipped"),
    };
    status.set_message(criterion.text.as_str()).set_type(kind);
    if criterion.outcome != CriterionOutcome::Skipped {
        status.set_description(description(run, criterion));
    }
    status
}

/// What whoever reads the build's log needs to know: what was found, and how attempts ended.
fn description(run: &ReportedRun<'_>, criterion: &Criterion) -> String {
    let judgement = run.judgement;
    let mut lines = vec![criterion.text.clone()];
    lines.push(format!("{}: {}", run.verdict(), judgement.summary));
    lines.extend(judgement.notes.iter().cloned());
    let told = told::figures(judgement).into_iter();
    lines.extend(told.map(|(name, value)| format!("{name}: {value}")));
    lines.push(format!("repeat it: {}", run.log.meta.command));
    lines.join("\n")
}
