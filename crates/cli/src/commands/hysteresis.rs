//! `goodput hysteresis`: load up in steps and down again.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use clap::Args;
use goodput_clock::Rate;
use goodput_control::Audit;
use goodput_experiment::{Hysteresis, Ladder, Walk, Way, walked};
use goodput_policy::lever::Lever;
use goodput_report::hysteresis_text;
use goodput_runlog::{Cancel, Observer, Window};
use goodput_verdict::generator_doubts;

use crate::args::{AnswerArgs, ChosenArgs, Engine};
use crate::engine::{self, Run};
use crate::exit::{Exit, Failure};
use crate::{help, output, publish, signals, values};

/// Arguments of `goodput hysteresis`.
#[derive(Args, Debug)]
#[command(after_help = help::HYSTERESIS)]
pub(crate) struct HysteresisArgs {
    #[command(flatten)]
    chosen: ChosenArgs,
    /// The lowest load [default: 5 % of the capacity]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    from: Option<Rate>,
    /// The highest load [default: 150 % of the capacity]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    to: Option<Rate>,
    /// From one load to the next [default: 5 % of the capacity]
    #[arg(long, value_name = "RATE", value_parser = values::rate)]
    step: Option<Rate>,
    /// How long each load holds on the way up
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = values::positive_duration_of_a_run)]
    dwell: Duration,
    /// How long at most a load holds on the way down, while the backlog falls [default: 12h; rig: 10m]
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration_of_a_run)]
    patience: Option<Duration>,
    #[command(flatten)]
    answer: AnswerArgs,
}

/// Walks the loads.
pub(crate) fn run(args: &HysteresisArgs) -> Result<Exit, Failure> {
    args.chosen.check()?;
    publish::check_answer(&args.answer)?;
    let (asked, arm, scenario) = args.chosen.scenario()?;
    let patience = args.patience.unwrap_or(match args.chosen.engine {
        Engine::Simulator => Duration::from_hours(12),
        Engine::Rig => Duration::from_mins(10),
    });
    let ladder = Ladder::of(&scenario, args.from, args.to, args.step, args.dwell, patience)
        .map_err(Failure::usage)?;
    let cancel = signals::cancel_on_signal(signals::REVERTING)?;
    // What ends the run is the walk, or a person; the flags are told apart.
    let ended = Cancel::new();
    let mut walk = Walk::new(&scenario, &ladder);
    let (sender, levers) = channel();
    let mut watch = Watch { walk: &mut walk, sender, ended: &ended, asked: &cancel, args };
    let run = Run {
        asked: &asked,
        engine: args.chosen.engine,
        scenario: &walked(&scenario, &ladder),
        arm: arm.as_deref(),
        speed: args.chosen.scale(),
        target: None,
        load_control: None,
    };
    let log = engine::carry_out(&run, &mut watch, levers, &ended, &Audit::memory())?;
    let doubts = generator_doubts(&log.integrity).into_iter().map(|doubt| doubt.text);
    let found = Hysteresis {
        arm: arm.clone(),
        command: args.command(arm.as_deref(), &ladder),
        doubts: doubts.collect(),
        ..Hysteresis::of(&scenario, walk, args.chosen.kind())
    };
    publish::answer(&args.answer, &hysteresis_text(&found), &found)?;
    Ok(match found {
        Hysteresis { interrupted: true, .. } => Exit::Interrupted,
        Hysteresis { doubts, .. } if !doubts.is_empty() => Exit::Inconclusive,
        Hysteresis { .. } => Exit::Held,
    })
}

/// Hands the windows of a run to the walk, and its rates back to the run.
struct Watch<'a> {
    walk: &'a mut Walk,
    sender: Sender<Lever>,
    ended: &'a Cancel,
    asked: &'a Cancel,
    args: &'a HysteresisArgs,
}

impl Observer for Watch<'_> {
    fn on_window(&mut self, window: &Window) {
        let next = self.walk.on_window(window);
        if let Some(rate) = next {
            // Where the run has ended nobody needs the rate.
            let _ = self.sender.send(Lever::Rate { rate });
            self.tell();
        }
        if self.walk.is_done() || self.asked.is_cancelled() {
            self.ended.cancel();
        }
    }
}

impl Watch<'_> {
    fn tell(&self) {
        if !self.args.answer.quiet {
            let (load, way) = self.walk.now();
            let way = if way == Way::Up { "up" } else { "down" };
            output::note(format_args!("{way} to {load:.4}/s"));
        }
    }
}

impl HysteresisArgs {
    /// The command with every flag that its outcome depends on.
    fn command(&self, arm: Option<&str>, ladder: &Ladder) -> String {
        let say = |time| goodput_clock::text::format_duration(time).replace(' ', "");
        let Ladder { from, to, step, dwell, patience } = *ladder;
        format!(
            "{} --from {from} --to {to} --step {step} --dwell {} --patience {}",
            self.chosen.command("hysteresis", arm),
            say(dwell),
            say(patience)
        )
    }
}
