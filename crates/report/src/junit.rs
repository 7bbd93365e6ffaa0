//! `junit.xml`: the outcome for continuous integration. A suite a run, a test case a criterion; what
//! cannot be trusted is an error, what did not hold a failure.

use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::criteria::{self, Criterion, CriterionOutcome};
use crate::report::{Report, ReportedRun};

pub(crate) fn write(report: &Report<'_>) -> Result<String, SerializeError> {
    let mut junit = quick_junit::Report::new("goodput");
    for run in report.runs() {
        junit.add_test_suite(suite(run));
    }
    if let Report::Comparison { comparison, .. } = report {
        junit.add_test_suite(comparable(&comparison.scenario, &comparison.void));
    }
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
    for criterion in criteria::criteria(run) {
        let mut case = TestCase::new(criterion.id.as_str(), status(&criterion));
        case.set_classname(name.as_str());
        suite.add_test_case(case);
    }
    suite
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
    case.set_classname(scenario);
    let mut suite = TestSuite::new(format!("{scenario}.comparison"));
    suite.add_test_case(case);
    suite
}

fn status(criterion: &Criterion) -> TestCaseStatus {
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
    status
}
