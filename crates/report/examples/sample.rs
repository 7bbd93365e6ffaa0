//! Writes sample reports of a run and of a comparison into a folder, to be looked at:
//! `cargo run -p goodput-report --example sample -- target/sample`.

#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;

use goodput_experiment::{FinishedArm, compare_finished};
use goodput_report::{Report, RunFolder, TextStyle, write_run_folder};
use goodput_verdict::judge;

fn main() -> Result<(), Box<dyn Error>> {
    let parent = PathBuf::from(std::env::args().nth(1).ok_or("name a folder to write into")?);
    let plan = support::plan();
    let logs = support::logs(&plan);
    let write = |report: &Report<'_>| -> Result<(), Box<dyn Error>> {
        let content = RunFolder { report, scenario_file: support::SCENARIO, audit: b"" };
        let folder = write_run_folder(&parent, &content)?;
        let text = report.to_text(TextStyle::default());
        Ok(writeln!(std::io::stdout(), "{text}written to {}\n", folder.display())?)
    };
    for (arm, log) in plan.arms.iter().zip(&logs) {
        write(&Report::run(&arm.scenario, log, &judge(log, &arm.scenario)))?;
    }
    let finished: Vec<_> =
        plan.arms.iter().zip(&logs).map(|(arm, log)| FinishedArm { arm, log }).collect();
    let comparison = compare_finished(&finished);
    write(&Report::comparison(&comparison, &finished, support::COMPARE))
}
