//! `goodput report`: a saved run, judged and drawn again.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use goodput_experiment::{FinishedArm, compare_finished};
use goodput_report::{Report, ReportedRun, ResultFile, SavedRun, read_run_folder};
use goodput_runlog::RunLog;
use goodput_scenario::Arm;
use goodput_verdict::judge;

use crate::args::ResultArgs;
use crate::exit::{Exit, Failure};
use crate::{help, publish};

/// Arguments of `goodput report`.
#[derive(Args, Debug)]
#[command(after_help = help::REPORT)]
pub(crate) struct ReportArgs {
    /// The folder of a run
    #[arg(value_name = "RUN")]
    run: PathBuf,
    #[command(flatten)]
    results: ResultArgs,
}

/// Reads the run and reports it.
pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    publish::check_results(&args.results)?;
    let saved = read_run_folder(&args.run).map_err(Failure::usage)?;
    match saved.arms.as_slice() {
        [single] => report_one(args, &saved, single.arm, &single.log),
        several => {
            let arms: Vec<(&Arm, _)> = several
                .iter()
                .filter_map(|saved_arm| {
                    Some((saved.plan.arms.get(saved_arm.arm?)?, &saved_arm.log))
                })
                .collect();
            let finished: Vec<_> = arms.iter().map(|(arm, log)| FinishedArm { arm, log }).collect();
            let comparison = compare_finished(&finished);
            let command = command(&saved);
            publish::results(&args.results, &Report::comparison(&comparison, &finished, &command))
        }
    }
}

fn report_one(
    args: &ReportArgs,
    saved: &SavedRun,
    arm: Option<usize>,
    log: &RunLog,
) -> Result<Exit, Failure> {
    let arm = arm.and_then(|index| saved.plan.arms.get(index));
    let scenario = arm.map_or(&saved.plan.scenario, |arm| &arm.scenario);
    let control = arm.is_some_and(|arm| arm.control);
    let judgement = judge(log, scenario);
    let run = ReportedRun { scenario, log, judgement: &judgement, control };
    publish::results(&args.results, &Report::Run(run))
}

/// The command that was given when the folder was written.
fn command(saved: &SavedRun) -> String {
    let result = fs::read(saved.dir.join("result.json")).ok();
    let result = result.and_then(|json| serde_json::from_slice::<ResultFile>(&json).ok());
    result.map_or_else(|| format!("goodput report {}", saved.dir.display()), |file| file.command)
}
