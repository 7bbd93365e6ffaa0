//! `goodput drill`: which recovery actions work, and what is the least that does.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use clap::Args;
use goodput_clock::Seed;
use goodput_control::Audit;
use goodput_experiment::{
    Action, Drill, DrillError, DrillRow, Terms, drill_action, without_action,
};
use goodput_report::drill_text;
use goodput_runlog::{Cancel, RunLog};
use goodput_scenario::Scenario;
use goodput_verdict::Verdict;

use crate::args::{AnswerArgs, ChosenArgs, Engine};
use crate::engine::{self, Run};
use crate::exit::{Exit, Failure};
use crate::progress::Progress;
use crate::sweep::{self, Sweep};
use crate::{help, output, publish, signals, values};

/// Arguments of `goodput drill`.
#[derive(Args, Debug)]
#[command(after_help = help::DRILL)]
pub(crate) struct DrillArgs {
    #[command(flatten)]
    chosen: ChosenArgs,
    /// An action to try, such as budget+shed-queue or block=?; repeat it for more [default: a list]
    #[arg(long = "action", value_name = "ACTION")]
    actions: Vec<Action>,
    /// How long after the trigger's end an action begins
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = values::duration_of_a_run)]
    after: Duration,
    /// How long goodput may take to be back after an action [default: 15m; on the rig 2m]
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration_of_a_run)]
    within: Option<Duration>,
    /// The longest time that is tried where a time is sought, from 2s to 24h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = longest)]
    longest: Duration,
    /// How many seeds an action must work with, from the first on [default: 3; on the rig 1]
    #[arg(long, value_name = "N", value_parser = |text: &str| values::whole::<u16>(text, 1..=1000, 3))]
    seeds: Option<u16>,
    /// The tier at which levers of a server are pulled [default: the one that the fault hits]
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Tries every action.
pub(crate) fn run(args: &DrillArgs) -> Result<Exit, Failure> {
    args.chosen.check()?;
    publish::check_answer(&args.answer)?;
    let (asked, arm, scenario) = args.chosen.scenario()?;
    let actions = args.actions()?;
    let terms = args.terms(&scenario);
    let cancel = signals::cancel_on_signal(signals::REVERTING)?;
    let range = Range {
        args,
        asked: &asked,
        arm: arm.as_deref(),
        cancel: &cancel,
        audit: Audit::memory(),
        unreverted: AtomicBool::new(false),
    };
    let engine = |scenario: &Scenario| range.carry_out(scenario);
    let without = without_action(&scenario, &terms, &engine).map_err(failure)?;
    let (rows, mut exits) = range.rows(&scenario, &actions, &terms)?;
    if range.unreverted.load(Ordering::Relaxed) {
        exits.push(Exit::CleanUpUnconfirmed);
    }
    exits.push(outcome(&rows));
    let exit = Exit::worst(exits);
    let drill = Drill {
        schema: Drill::SCHEMA,
        scenario: scenario.name.clone(),
        arm: arm.clone(),
        command: args.command(arm.as_deref(), &terms),
        engine: args.chosen.kind(),
        seeds: terms.seeds.iter().map(|seed| seed.0).collect(),
        after: terms.after.as_secs_f64(),
        within: terms.within.as_secs_f64(),
        without,
        rows,
        exit,
        exit_code: exit.code(),
    };
    publish::answer(&args.answer, &drill_text(&drill), &drill)?;
    Ok(exit)
}

fn outcome(rows: &[DrillRow]) -> Exit {
    if rows.iter().any(|row| row.verdict == Verdict::Inconclusive) {
        Exit::Inconclusive
    } else if rows.iter().any(|row| row.works) {
        Exit::Held
    } else {
        Exit::NotHeld
    }
}

fn failure(error: DrillError<Failure>) -> Failure {
    match error {
        DrillError::Engine(failure) => failure,
        // It is a control that did not fail.
        DrillError::NotMetastable { .. } => {
            Failure { exit: Exit::Inconclusive, message: error.to_string() }
        }
        DrillError::NoTrigger | DrillError::NoTier { .. } | DrillError::Unlimited(_) => {
            Failure::usage(error)
        }
    }
}

/// Where actions are tried.
struct Range<'a> {
    args: &'a DrillArgs,
    asked: &'a str,
    arm: Option<&'a str>,
    cancel: &'a Cancel,
    audit: Audit,
    /// Whether a fault could not be confirmed to have ended.
    unreverted: AtomicBool,
}

impl Range<'_> {
    /// Tries the actions, side by side in virtual time; an interruption keeps what is done.
    fn rows(
        &self,
        scenario: &Scenario,
        actions: &[Action],
        terms: &Terms,
    ) -> Result<(Vec<DrillRow>, Vec<Exit>), Failure> {
        let threads = match self.args.chosen.engine {
            Engine::Rig => 1,
            Engine::Simulator => sweep::cores(),
        };
        let sweep = Sweep { threads, cancel: self.cancel, progress: &Progress::quiet() };
        let found = sweep.over(actions, |action| {
            let engine = |scenario: &Scenario| self.carry_out(scenario);
            let row = drill_action(scenario, action, terms, &engine);
            self.tell(&row);
            Some(row)
        });
        let (mut rows, mut exits) = (Vec::new(), Vec::new());
        for row in found {
            match row.map(|row| row.map_err(failure)) {
                Some(Ok(row)) => rows.push(row),
                None => exits.push(Exit::Interrupted),
                Some(Err(failure)) if failure.exit == Exit::Interrupted => exits.push(failure.exit),
                Some(Err(failure)) => return Err(failure),
            }
        }
        Ok((rows, exits))
    }

    fn carry_out(&self, scenario: &Scenario) -> Result<RunLog, Failure> {
        if self.cancel.is_cancelled() {
            return Err(interrupted());
        }
        let run = Run {
            asked: self.asked,
            engine: self.args.chosen.engine,
            scenario,
            arm: self.arm,
            speed: self.args.chosen.scale(),
            target: None,
            load_control: None,
        };
        let (_levers, none) = channel();
        let log = engine::carry_out(&run, &mut (), none, self.cancel, &self.audit)?;
        if !log.integrity.faults_unreverted.is_empty() {
            self.unreverted.store(true, Ordering::Relaxed);
        }
        if self.cancel.is_cancelled() { Err(interrupted()) } else { Ok(log) }
    }

    fn tell(&self, row: &Result<DrillRow, DrillError<Failure>>) {
        let Ok(row) = row else { return };
        if !self.args.answer.quiet {
            let works = if row.works { "works" } else { "does not work" };
            output::note(format_args!("{}: {works}", row.tried));
        }
    }
}

fn interrupted() -> Failure {
    Failure { exit: Exit::Interrupted, message: "interrupted".to_owned() }
}

impl DrillArgs {
    /// What is tried. On the rig each action is one run, so that its numbers must be given.
    fn actions(&self) -> Result<Vec<Action>, Failure> {
        if self.chosen.engine == Engine::Rig {
            if self.actions.is_empty() {
                return Err(Failure::usage(
                    "--engine rig tries the actions that it is given; name one, such as \
                     --action budget+shed-queue",
                ));
            }
            if let Some(sought) = self.actions.iter().find(|action| action.sought().is_some()) {
                return Err(Failure::usage(format!(
                    "--action {sought}: a number is sought by many runs, which the simulator does; \
                     give the rig the number that it finds, such as --action block=300s"
                )));
            }
        }
        if self.actions.is_empty() {
            let all = Action::ALL.iter().map(|text| text.parse().map_err(Failure::usage));
            return all.collect();
        }
        Ok(self.actions.clone())
    }

    fn terms(&self, scenario: &Scenario) -> Terms {
        let (within, seeds) = match self.chosen.engine {
            Engine::Simulator => (Duration::from_mins(15), 3),
            Engine::Rig => (Duration::from_mins(2), 1),
        };
        let seeds = u64::from(self.seeds.unwrap_or(seeds));
        Terms {
            after: self.after,
            within: self.within.unwrap_or(within),
            longest: self.longest,
            seeds: (0..seeds).map(|more| Seed(scenario.seed.0.saturating_add(more))).collect(),
            tier: self.tier.clone(),
        }
    }

    /// The command with every flag that its outcome depends on.
    fn command(&self, arm: Option<&str>, terms: &Terms) -> String {
        let mut command = self.chosen.command("drill", arm);
        for action in &self.actions {
            // A shell would take a `?` for a pattern.
            let quote = if action.sought().is_some() { "'" } else { "" };
            let _ = write!(command, " --action {quote}{action}{quote}");
        }
        let say = goodput_clock::text::format_duration;
        for (flag, time) in
            [("after", terms.after), ("within", terms.within), ("longest", terms.longest)]
        {
            let _ = write!(command, " --{flag} {}", say(time).replace(' ', ""));
        }
        let _ = write!(command, " --seeds {}", terms.seeds.len());
        if let Some(tier) = &terms.tier {
            let _ = write!(command, " --tier {tier}");
        }
        command
    }
}

fn longest(text: &str) -> Result<Duration, String> {
    let longest = values::positive_duration(text)?;
    if (2..=86_400).contains(&longest.as_secs()) {
        Ok(longest)
    } else {
        Err(format!("`{text}` is not from 2s to 24h; write such as 10m"))
    }
}
