use goodput_clock::Seed;
use goodput_runlog::{Ending, EventKind, Figures, RunLog};
use goodput_scenario::Arm;
use goodput_verdict::{Cause, Exit, Judgement, Verdict, holds, judge, named};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An arm and what its run saw.
#[derive(Clone, Copy, Debug)]
pub struct FinishedArm<'a> {
    /// The arm.
    pub arm: &'a Arm,
    /// The log of its run.
    pub log: &'a RunLog,
}

/// The arms of a scenario side by side.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Comparison {
    /// The version of this shape.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The seed that the arms shared; absent where they did not.
    #[schemars(with = "Option<u64>")]
    pub seed: Option<Seed>,
    /// One row an arm, in the order of the file.
    pub rows: Vec<Row>,
    /// Why the arms cannot be compared with each other; none where they can.
    pub void: Vec<String>,
    /// How the comparison ends.
    pub exit: Exit,
}

/// One arm of a comparison.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Row {
    /// The arm's name.
    pub arm: String,
    /// What it shows.
    pub description: String,
    /// Whether it must fail.
    pub control: bool,
    /// Good requests per second.
    pub goodput: GoodputByPhase,
    /// Attempts ÷ offered over the run's last `hold`.
    pub attempts_per_request: Option<f64>,
    /// Slot time for callers who had gone ÷ busy slot time, over the run's last `hold`.
    pub wasted_share: Option<f64>,
    /// Seconds from the trigger's end until goodput was back.
    pub time_to_recover: Option<f64>,
    /// The outcome.
    pub verdict: Verdict,
    /// Why goodput is down; only of a run that has not recovered.
    pub cause: Option<Cause>,
    /// The outcome that was expected.
    pub expected: Verdict,
    /// Whether the expectation held.
    pub held: bool,
    /// How this arm ends on its own.
    pub exit: Exit,
    /// All that was found.
    pub judgement: Judgement,
}

/// Good requests per second of scenario time; absent where the phase has no whole second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct GoodputByPhase {
    /// Before the trigger, past the warm-up.
    pub before: Option<f64>,
    /// While the trigger lasted.
    pub during: Option<f64>,
    /// From the trigger's end to the end of the run.
    pub after: Option<f64>,
    /// Over the run's last `hold`.
    pub end: Option<f64>,
}

impl Row {
    /// The verdict with its cause, such as `not-recovered: down`.
    pub fn name(&self) -> String {
        named(self.verdict, self.cause)
    }
}

/// Runs every arm through an engine, one after the other, and compares them.
///
/// # Errors
///
/// The first error of the engine.
pub fn compare<E>(
    arms: &[Arm],
    mut engine: impl FnMut(&Arm) -> Result<RunLog, E>,
) -> Result<Comparison, E> {
    let logs = arms.iter().map(&mut engine).collect::<Result<Vec<_>, E>>()?;
    let finished: Vec<_> =
        arms.iter().zip(&logs).map(|(arm, log)| FinishedArm { arm, log }).collect();
    Ok(compare_finished(&finished))
}

/// Compares arms that have been run, side by side for instance.
pub fn compare_finished(arms: &[FinishedArm<'_>]) -> Comparison {
    compare_judged(arms, arms.iter().map(|arm| judge(arm.log, &arm.arm.scenario)).collect())
}

/// Compares arms that have been run and judged, each with the judgement of its place.
pub fn compare_judged(arms: &[FinishedArm<'_>], judgements: Vec<Judgement>) -> Comparison {
    let rows: Vec<Row> = arms.iter().zip(judgements).map(|(arm, found)| row(arm, found)).collect();
    let void = void_reasons(arms, &rows);
    let own = rows.iter().map(|row| row.exit);
    let exit = Exit::worst(own.chain((!void.is_empty()).then_some(Exit::Inconclusive)));
    let first = arms.first();
    let seed = first.map(|first| first.log.meta.seed);
    Comparison {
        schema: Comparison::SCHEMA,
        scenario: first.map(|first| first.arm.scenario.name.clone()).unwrap_or_default(),
        seed: seed.filter(|seed| arms.iter().all(|arm| arm.log.meta.seed == *seed)),
        rows,
        void,
        exit,
    }
}

impl Comparison {
    /// The version of the shape that this crate writes.
    pub const SCHEMA: u32 = 2;
}

fn row(finished: &FinishedArm<'_>, judgement: Judgement) -> Row {
    let arm = finished.arm;
    let expect = &arm.scenario.expect;
    let goodput = |figures: Option<Figures>| figures.map(|figures| figures.goodput);
    let phases = &judgement.phases;
    Row {
        arm: arm.name.clone(),
        description: arm.description.clone(),
        control: arm.control,
        goodput: GoodputByPhase {
            before: goodput(phases.before),
            during: goodput(phases.during),
            after: goodput(phases.after),
            end: goodput(phases.end),
        },
        attempts_per_request: phases.end.and_then(|end| end.attempts_per_request),
        wasted_share: phases.end.and_then(|end| end.wasted_share),
        time_to_recover: judgement.time_to_recover,
        verdict: judgement.verdict,
        cause: judgement.cause,
        expected: expect.verdict.into(),
        held: holds(&judgement, expect),
        exit: Exit::of(&judgement, expect, arm.control),
        judgement,
    }
}

/// Why these arms cannot be compared: a control that did not fail, or arms that did not see the same
/// arrivals although they ask for the same load.
fn void_reasons(arms: &[FinishedArm<'_>], rows: &[Row]) -> Vec<String> {
    let Some(first) = arms.first() else { return vec!["there are no arms".to_owned()] };
    let spared = rows.iter().filter(|row| row.control && row.exit == Exit::Inconclusive);
    let mut reasons: Vec<String> = spared
        .map(|row| format!("the control `{}` did not fail: {}", row.arm, row.verdict))
        .collect();
    for other in &arms[1..] {
        let name = &other.arm.name;
        if other.log.meta.seed != first.log.meta.seed {
            reasons.push(format!("the arm `{name}` ran with another seed"));
        } else if same_load(first, other) {
            reasons.extend(other_arrivals(first.log, other.log).map(|text| {
                format!("the arm `{name}` did not see the arrivals of `{}`: {text}", first.arm.name)
            }));
        }
    }
    reasons
}

/// Whether both arms ask for the same arrivals over the same time, and ran to their end.
fn same_load(one: &FinishedArm<'_>, other: &FinishedArm<'_>) -> bool {
    // A rate lever is pulled at a moment of its own in each run, even from the timeline.
    let pulled = |arm: &FinishedArm<'_>| {
        arm.log.events.iter().any(
            |event| matches!(&event.kind, EventKind::LeverPulled { lever, .. } if lever == "rate"),
        )
    };
    let whole = |arm: &FinishedArm<'_>| arm.log.ending == Ending::Completed;
    let (a, b) = (&one.arm.scenario, &other.arm.scenario);
    a.load == b.load
        && a.duration == b.duration
        && !pulled(one)
        && !pulled(other)
        && whole(one)
        && whole(other)
}

/// How the arrivals of two runs differ, where they do: the schedules' counts must be equal, the
/// offered requests of each second within [`ARRIVALS_OFF`] in sum, since a late generator may issue
/// some in a later second.
fn other_arrivals(one: &RunLog, other: &RunLog) -> Option<String> {
    let (a, b) = (one.integrity.scheduled, other.integrity.scheduled);
    if a != b {
        return Some(format!("{b} requests were scheduled instead of {a}"));
    }
    let pairs = one.windows.iter().zip(&other.windows);
    let off: u64 = pairs.map(|(x, y)| x.client.offered.abs_diff(y.client.offered)).sum();
    (off as f64 > ARRIVALS_OFF * a as f64)
        .then(|| format!("{off} of {a} requests were offered in other seconds"))
}

/// The share of requests that may be offered in another second than in another arm.
const ARRIVALS_OFF: f64 = 0.01;

#[cfg(test)]
mod tests;
