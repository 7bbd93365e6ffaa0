//! What `demo` and `compare` share: arms side by side, one table, one folder.

use goodput_clock::{Scale, Seed};
use goodput_control::Audit;
use goodput_experiment::{FinishedArm, compare_judged};
use goodput_report::Report;
use goodput_runlog::Cancel;
use goodput_scenario::Arm;

use crate::args::{ArmsArgs, Engine, EngineArgs, OutputArgs};
use crate::engine::{self, Run};
use crate::exit::{Exit, Failure};
use crate::scenarios::Loaded;
use crate::session::{self, Batch, Outcomes, Task};
use crate::{output, publish, signals, sweep};

/// What is compared, and how.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// The command as it was given, such as `goodput compare steady`; flags are added to repeat it.
    pub(crate) command: String,
    /// The scenario.
    pub(crate) loaded: &'a Loaded,
    /// Which arms.
    pub(crate) arms: &'a ArmsArgs,
    /// What carries them out.
    pub(crate) engine: &'a EngineArgs,
    /// The speed where the command names none.
    pub(crate) speed: Scale,
    /// Where it all goes.
    pub(crate) output: &'a OutputArgs,
}

/// Runs the arms, prints the table and leaves the folder.
pub(crate) fn answer(question: &Question<'_>) -> Result<Exit, Failure> {
    question.engine.check()?;
    let mut arms = question.loaded.arms(&question.arms.arms)?;
    let _place = publish::check(question.output)?;
    let seed = question.engine.seed_or(&question.loaded.plan.scenario);
    if question.engine.engine == Engine::Simulator {
        question.loaded.warn_of_ignored(arms.iter().map(|arm| Some(arm.name.as_str())));
    }
    for arm in &mut arms {
        arm.scenario.seed = seed;
    }
    let cancel = signals::cancel_on_signal(signals::REVERTING)?;
    let audit = Audit::memory();
    let outcomes = run_arms(question, &arms, &cancel, &audit);
    let command = repeat(question, seed);
    publish_all(question, &arms, outcomes, &engine::audit_lines(&audit), &command)
}

fn run_arms(question: &Question<'_>, arms: &[Arm], cancel: &Cancel, audit: &Audit) -> Outcomes {
    let speed = question.engine.speed.unwrap_or(question.speed);
    let tasks: Vec<Task<'_>> = arms.iter().map(task).collect();
    let jobs = match (question.arms.jobs, question.engine.engine) {
        (Some(jobs), _) => usize::from(jobs),
        (None, Engine::Rig) => session::jobs_that_fit(&tasks, speed),
        (None, Engine::Simulator) => sweep::cores(),
    };
    let jobs = jobs.min(tasks.len());
    let count = match tasks.len() {
        1 => "1 arm".to_owned(),
        more => format!("{more} arms, {jobs} at a time"),
    };
    let title = format!(
        "{}: {count}, {}",
        question.loaded.plan.scenario.name,
        question.engine.describe(speed)
    );
    let batch = Batch {
        title: &title,
        tasks: &tasks,
        jobs,
        speed,
        display: question.output.display(),
        cancel,
    };
    session::run_all(&batch, &|index, observer, levers| {
        let chosen = &arms[index];
        let run = Run {
            asked: &question.loaded.asked,
            engine: question.engine.engine,
            scenario: &chosen.scenario,
            arm: Some(&chosen.name),
            speed,
            target: None,
            load_control: None,
        };
        engine::carry_out(&run, observer, levers, cancel, audit)
    })
}

fn publish_all(
    question: &Question<'_>,
    arms: &[Arm],
    outcomes: Outcomes,
    audit: &[u8],
    command: &str,
) -> Result<Exit, Failure> {
    let mut exits = Vec::new();
    let mut finished = Vec::new();
    let mut judgements = Vec::new();
    for (arm, outcome) in arms.iter().zip(outcomes) {
        match outcome {
            Some(Ok(run)) => {
                finished.push((arm, run.log));
                judgements.push(run.judgement);
            }
            Some(Err(failure)) => {
                output::error(format_args!("arm {}: {failure}", arm.name));
                exits.push(failure.exit);
            }
            None => exits.push(Exit::Interrupted),
        }
    }
    if !finished.is_empty() {
        let finished: Vec<_> = finished.iter().map(|(arm, log)| FinishedArm { arm, log }).collect();
        let comparison = compare_judged(&finished, judgements);
        let report = Report::comparison(&comparison, &finished, command);
        exits.push(publish::all(question.output, &report, &question.loaded.text, audit)?);
    }
    Ok(Exit::worst(exits))
}

fn task(arm: &Arm) -> Task<'_> {
    Task { label: &arm.name, scenario: &arm.scenario, control: arm.control }
}

/// The command with every flag that its outcome depends on.
fn repeat(question: &Question<'_>, seed: Seed) -> String {
    let scale = question.engine.speed.unwrap_or(question.speed);
    let engine = match question.engine.engine {
        Engine::Rig => format!(" --speed {}", scale.speed()),
        Engine::Simulator => " --engine simulator".to_owned(),
    };
    let names = &question.arms.arms;
    let only =
        if names.is_empty() { String::new() } else { format!(" --arms {}", names.join(",")) };
    format!("{}{only}{engine} --seed {}", question.command, seed.0)
}
