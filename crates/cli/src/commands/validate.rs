//! `goodput validate`: whether scenario files are right, and what is wrong with them.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use goodput_clock::text::format_duration;
use goodput_scenario::{Plan, PlannedFault, Scenario};
use goodput_verdict::{Verdict, lengths};
use serde::Serialize;

use crate::display::seconds;
use crate::exit::{Exit, Failure};
use crate::{control, help, output, scenarios};

/// Arguments of `goodput validate`.
#[derive(Args, Debug)]
#[command(after_help = help::VALIDATE)]
pub(crate) struct ValidateArgs {
    /// Scenarios: files, or names of those that come with goodput
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Print the resolved schedule of each arm too
    #[arg(short, long)]
    verbose: bool,
}

/// Checks every scenario; the wrong ones do not hide the others.
pub(crate) fn run(args: &ValidateArgs) -> Result<Exit, Failure> {
    let mut exits = Vec::new();
    for asked in &args.scenarios {
        match scenarios::load(asked) {
            Ok(loaded) => {
                let arms = loaded.plan.arms.len();
                let arms = match arms {
                    0 => "no arms".to_owned(),
                    1 => "1 arm".to_owned(),
                    more => format!("{more} arms"),
                };
                output::result(&format!("{asked}: valid, {arms}"))?;
                let arms = loaded.plan.arms.iter().map(|arm| Some(arm.name.as_str()));
                loaded.warn_of_ignored(arms.chain([None]));
                for (name, scenario) in every(&loaded.plan) {
                    for note in lengths(scenario) {
                        output::result(&format!("  {name}: {note}"))?;
                    }
                }
                if args.verbose {
                    output::result(&describe(&loaded.plan))?;
                }
            }
            Err(failure) => {
                output::error(&failure);
                exits.push(failure.exit);
            }
        }
    }
    Ok(Exit::worst(exits))
}

/// Every arm with its name; the scenario itself where it has none.
fn every(plan: &Plan) -> Vec<(&str, &Scenario)> {
    if plan.arms.is_empty() {
        return vec![("scenario", &plan.scenario)];
    }
    plan.arms.iter().map(|arm| (arm.name.as_str(), &arm.scenario)).collect()
}

/// What the scenario and each of its arms resolve to.
fn describe(plan: &Plan) -> String {
    let mut text = String::new();
    if plan.arms.is_empty() {
        describe_scenario(&mut text, &plan.scenario);
    }
    for arm in &plan.arms {
        let control = if arm.control { " (control)" } else { "" };
        let _ = writeln!(text, "  arm {}{control}: {}", arm.name, arm.description);
        describe_scenario(&mut text, &arm.scenario);
    }
    text
}

fn describe_scenario(text: &mut String, scenario: &Scenario) {
    let mut line = |at: Duration, what: String| {
        let _ = writeln!(text, "    {:>8}  {what}", seconds(at.as_secs_f64()));
    };
    let load = &scenario.load;
    line(Duration::ZERO, format!("load of {}, {}", load.rate, json(&load.arrivals)));
    for layer in &scenario.client.layers {
        let timeout = layer.timeout.map_or_else(|| "none".to_owned(), format_duration);
        line(
            Duration::ZERO,
            format!(
                "client layer {}: time-out {timeout}, {} retries, backoff {}, budget {}",
                layer.name,
                layer.retries,
                json(&layer.backoff),
                json(&layer.budget)
            ),
        );
    }
    for tier in &scenario.tiers {
        line(Duration::ZERO, format!("tier {}: {}", tier.name, json(&tier.limiter)));
    }
    for (at, what) in timeline(scenario) {
        line(at, what);
    }
    let expect = &scenario.expect;
    line(
        scenario.duration,
        format!(
            "end; expected: {}, goodput at {} of the baseline over {} within {}",
            Verdict::from(expect.verdict),
            expect.goodput_ratio,
            format_duration(expect.hold),
            format_duration(expect.within)
        ),
    );
}

/// What happens when, in order of time.
fn timeline(scenario: &Scenario) -> Vec<(Duration, String)> {
    let mut events = Vec::new();
    for change in &scenario.load.changes {
        let over = if change.over.is_zero() {
            String::new()
        } else {
            format!(" over {}", format_duration(change.over))
        };
        events.push((change.at.elapsed(), format!("load moves to {}{over}", change.rate)));
        if let Some(length) = change.length {
            events.push(((change.at + length).elapsed(), format!("load moves back{over}")));
        }
    }
    for fault in &scenario.faults {
        let what = json(&fault.kind);
        let PlannedFault { name, tier, .. } = fault;
        events.push((fault.at.elapsed(), format!("fault {name} at {tier} starts: {what}")));
        events.push((fault.ends().elapsed(), format!("fault {name} at {tier} ends")));
    }
    for lever in &scenario.levers {
        events.push((lever.at.elapsed(), format!("lever {}", json(&lever.lever))));
    }
    events.sort_by_key(|(at, _)| *at);
    events
}

/// A value as compact text, such as `capacity,to=0.4,mode=slow`.
fn json(value: &impl Serialize) -> String {
    serde_json::to_value(value).map(|value| control::compact(&value)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_of_the_load_goes_up_and_back_in_the_schedule() {
        let plan = Plan::parse(
            "spike.toml",
            "name = \"spike\"\nduration = \"120s\"\nload.rate = 40\n\
             [[load.change]]\nat = \"30s\"\nrate = 90\nover = \"5s\"\nfor = \"20s\"\n\
             [[client.layer]]\ntimeout = \"5s\"\n[[tier]]\nname = \"order-status\"\ncapacity = 50\n",
        );
        let text = describe(&plan.unwrap());
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert!(lines.contains(&"30.0 s  load moves to 90/s over 5s"), "{text}");
        assert!(lines.contains(&"50.0 s  load moves back over 5s"), "{text}");
    }
}
