//! Every form of a report says what the run was, whatever stands in the scenario.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use goodput_clock::Seed;
use goodput_report::{Report, RunFolder, TextStyle, read_run_folder, write_run_folder};
use goodput_runlog::RunLog;
use goodput_verdict::{Doubt, DoubtKind, Judgement, Verdict, judge};

#[test]
fn hostile_names_are_escaped_and_cannot_steer_a_terminal() {
    let hostile = "</script><script>alert(1)</script>\"'&\u{1b}[31m|";
    let (mut scenario, mut log) = support::naive();
    scenario.description = hostile.to_owned();
    log.meta.scenario = hostile.to_owned();
    log.meta.command = hostile.to_owned();
    log.meta.parameters = serde_json::json!({ hostile: hostile });
    for window in &mut log.windows {
        window.client.failed.insert(hostile.to_owned(), 1);
        window.tiers[0].name = hostile.to_owned();
    }
    let judgement = Judgement { summary: hostile.to_owned(), ..judge(&log, &scenario) };
    let report = Report::run(&scenario, &log, &judgement);
    let html = report.to_html();
    assert_eq!(html.matches("</script>").count(), 2, "the page's own two scripts");
    assert!(!html.contains("<script>alert"));
    assert!(!report.to_text(TextStyle::default()).contains('\u{1b}'));
    let junit = report.to_junit().unwrap();
    assert!(!junit.contains("<script>") && !junit.contains('\u{1b}'), "{junit}");
}

#[test]
fn a_page_loads_nothing_and_a_comparison_of_seven_arms_stays_below_a_megabyte() {
    let compared = support::compared();
    let html = compared.report().to_html();
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    for loader in ["http:", "https:", "src=", "<link", "@import", "url("] {
        assert!(!html.contains(loader), "{loader}");
    }
    for arm in &compared.plan.arms {
        assert!(html.contains(&arm.name), "{}", arm.name);
    }
}

#[test]
fn runs_without_windows_tiers_or_figures_are_drawn_all_the_same() {
    let (scenario, log) = support::naive();
    let blind = |mut log: RunLog| {
        log.windows.iter_mut().for_each(|window| window.tiers.clear());
        log
    };
    let empty = RunLog { windows: Vec::new(), events: Vec::new(), ..log.clone() };
    let one = RunLog { windows: log.windows[..1].to_vec(), ..log.clone() };
    for log in [blind(log), empty, one] {
        let judgement = judge(&log, &scenario);
        let report = Report::run(&scenario, &log, &judgement);
        let html = report.to_html();
        assert!(!html.contains("NaN") && !html.contains("inf"), "a figure that is none");
        assert!(report.to_junit().is_ok() && report.to_result().to_json().is_ok());
    }
}

#[test]
fn a_doubt_is_an_error_and_a_broken_expectation_a_failure() {
    let (scenario, log) = support::naive();
    let sound =
        Judgement { verdict: Verdict::Recovered, doubts: Vec::new(), ..judge(&log, &scenario) };
    let junit = Report::run(&scenario, &log, &sound).to_junit().unwrap();
    assert!(junit.contains("failures=\"1\" errors=\"0\""), "{junit}");
    assert!(junit.contains("recovered, expected metastable"), "{junit}");
    let doubt = Doubt { kind: DoubtKind::GeneratorLate, text: "80 ms above 50 ms".to_owned() };
    let doubted = Judgement { verdict: Verdict::Inconclusive, doubts: vec![doubt], ..sound };
    let junit = Report::run(&scenario, &log, &doubted).to_junit().unwrap();
    assert!(junit.contains("failures=\"0\" errors=\"1\""), "{junit}");
    assert!(junit.contains("80 ms above 50 ms"), "{junit}");
}

#[test]
fn a_seed_above_two_to_the_fifty_third_is_exact_as_text() {
    let (scenario, mut log) = support::naive();
    log.meta.seed = Seed(u64::MAX);
    let judgement = judge(&log, &scenario);
    let result = Report::run(&scenario, &log, &judgement).to_result();
    assert_eq!(result.runs[0].seed_text, "18446744073709551615");
}

#[test]
fn text_is_aligned_and_coloured_only_on_request() {
    let compared = support::compared();
    let report = compared.report();
    let text = report.to_text(TextStyle::default());
    assert!(!text.contains('\u{1b}'));
    assert!(report.to_text(TextStyle { colour: true }).contains('\u{1b}'));
    let lines: Vec<&str> = text.lines().take(compared.plan.arms.len() + 1).collect();
    let at = |line: &str, word: &str| line.find(word).map(|at| line[..at].chars().count());
    let column = at(lines[0], "verdict").unwrap();
    for (line, row) in lines[1..].iter().zip(&compared.comparison.rows) {
        assert_eq!(at(line, &format!("{} ", row.verdict.name())), Some(column), "{text}");
    }
    assert!(text.contains(support::COMPARE));
    for line in text.lines() {
        assert!(line.chars().count() <= 80 || line.starts_with("repeat it: "), "{line}");
    }
}

#[test]
fn a_folder_is_read_back_as_it_was_written_and_never_overwritten() {
    let parent = tempfile::tempdir().unwrap();
    let compared = support::compared();
    let report = compared.report();
    let content = RunFolder {
        report: &report,
        scenario_file: support::SCENARIO,
        audit: b"{\"who\":\"x\"}\n",
    };
    let first = write_run_folder(parent.path(), &content).unwrap();
    let second = write_run_folder(parent.path(), &content).unwrap();
    assert!(first.ends_with("20261130T091502Z-database-failover"), "{}", first.display());
    assert!(second.ends_with("20261130T091502Z-database-failover-2"), "{}", second.display());
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 2, "nothing else is left");
    let saved = read_run_folder(&first).unwrap();
    assert_eq!(&saved.plan, compared.plan);
    let read: Vec<_> = saved.arms.iter().map(|saved| &saved.log).collect();
    assert_eq!(read, compared.finished.iter().map(|arm| arm.log).collect::<Vec<_>>());
    assert_eq!(saved.scenario(&saved.arms[3]), &compared.plan.arms[3].scenario);
    assert_eq!(std::fs::read(first.join("audit.jsonl")).unwrap(), b"{\"who\":\"x\"}\n");
}

#[test]
fn a_folder_with_more_run_logs_than_it_was_written_with_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let compared = support::compared();
    let report = compared.report();
    let content = RunFolder { report: &report, scenario_file: support::SCENARIO, audit: b"" };
    let folder = write_run_folder(parent.path(), &content).unwrap();
    assert!(!folder.join("audit.jsonl").exists(), "there is no such log");
    let first = folder.join(format!("runlog-{}.json", compared.plan.arms[0].name));
    std::fs::copy(&first, folder.join("runlog-copy.json")).unwrap();
    let error = read_run_folder(&folder).unwrap_err().to_string();
    assert!(error.contains("runlog-copy.json") && error.contains("of the same arm"), "{error}");
    let text = std::fs::read_to_string(&first).unwrap();
    let mut above = RunLog::from_json(&text).unwrap();
    above.meta.arm = None;
    std::fs::write(folder.join("runlog-copy.json"), above.to_json().unwrap()).unwrap();
    let error = read_run_folder(&folder).unwrap_err().to_string();
    assert!(error.contains("runlog-copy.json") && error.contains("above the arms"), "{error}");
}

#[test]
fn a_place_that_is_no_folder_is_named_in_the_error() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("taken");
    std::fs::write(&file, "").unwrap();
    let (scenario, log) = support::naive();
    let judgement = judge(&log, &scenario);
    let report = Report::run(&scenario, &log, &judgement);
    let content = RunFolder { report: &report, scenario_file: "", audit: b"" };
    let error = write_run_folder(&file.join("runs"), &content).unwrap_err().to_string();
    assert!(error.contains("taken"), "{error}");
    let error = read_run_folder(parent.path()).unwrap_err().to_string();
    assert!(error.contains("holds no scenario.toml"), "{error}");
    let error = read_run_folder(&parent.path().join("nowhere")).unwrap_err().to_string();
    assert!(error.contains("nowhere"), "{error}");
}
