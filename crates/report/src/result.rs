//! `result.json`: the outcome for machines.

use std::collections::BTreeMap;

use goodput_clock::Seed;
use goodput_experiment::{Drill, Hysteresis};
use goodput_runlog::{Ending, EngineKind, Integrity, RunLog};
use goodput_verdict::{
    Baseline, Cause, Doubt, Evidence, Exit, Interval, PhaseFigures, Rule, Span, Stretch,
    Sustaining, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::criteria::{self, Criterion};
use crate::report::{Report, ReportedRun};

/// The version of the shape of `result.json`.
pub const RESULT_SCHEMA: u32 = 2;

/// What `result.json` holds: one run, or the arms of a comparison.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct ResultFile {
    /// The version of this shape.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The command that repeats it.
    pub command: String,
    /// The version of goodput.
    pub version: String,
    /// How the command ended.
    pub exit: Exit,
    /// The exit code that goes with it.
    pub exit_code: u8,
    /// Why arms cannot be compared with each other; empty for a single run.
    pub void: Vec<String>,
    /// The runs: one, or one an arm.
    pub runs: Vec<RunResult>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct RunResult {
    /// The arm; absent where the scenario ran as written above its arms.
    pub arm: Option<String>,
    /// Whether the arm must fail, or the comparison is void.
    pub control: bool,
    /// How the run itself went.
    pub status: RunStatus,
    /// What the outcome was.
    pub verdict: Verdict,
    /// Why goodput is down; only of a run that has not recovered.
    pub cause: Option<Cause>,
    /// What it was expected to be.
    pub expected: Verdict,
    /// Whether the expectation held.
    pub held: bool,
    /// How a command ends that runs this alone.
    pub exit: Exit,
    /// The outcome in one sentence.
    pub summary: String,
    /// What is told beside the verdict, a sentence each.
    pub notes: Vec<String>,
    /// By how many seconds the run is too short to tell; absent where length is not what it lacks.
    pub run_longer: Option<f64>,
    /// By what was judged.
    pub rule: Rule,
    /// What goodput is compared with; absent where there is nothing.
    pub baseline: Option<Baseline>,
    /// What carried the run out.
    pub engine: EngineKind,
    /// The seed. A number loses digits above 2^53 where it is read as a float; see `seed_text`.
    #[schemars(with = "u64")]
    pub seed: Seed,
    /// The seed as text, exact everywhere.
    pub seed_text: String,
    /// Scenario seconds per wall second.
    pub speed: f64,
    /// When the run began, UTC, RFC 3339; empty for the simulator.
    pub started: String,
    /// From the start of the first fault or spike of the load to the end of the last, in seconds; absent
    /// where there was none.
    pub trigger: Option<Span>,
    /// Seconds from the trigger's end until goodput was back; absent where it never was.
    pub time_to_recover: Option<f64>,
    /// The same at the latest: until goodput was back beyond doubt.
    pub time_to_recover_most: Option<f64>,
    /// Seconds from the last lever that was pulled before goodput was back until it was.
    pub since_lever: Option<f64>,
    /// Seconds after the run's end at which goodput is to be back, where it converges and is not.
    pub time_left: Option<Interval>,
    /// Seconds since the trigger's end at which goodput last left its band after it had been back.
    pub relapsed: Option<f64>,
    /// Seconds from the trigger's end until goodput was back for good; absent where it was not in its
    /// band at the end.
    pub settled: Option<f64>,
    /// The share of requests that ended well since goodput was back, or after the trigger where it
    /// never was.
    pub share: Option<Interval>,
    /// Stretches in which goodput was deep below its band after it had been back.
    pub stretches: Vec<Stretch>,
    /// What keeps goodput down without the trigger, as far as it is in sight.
    pub sustaining: Vec<Sustaining>,
    /// How attempts ended after the trigger, or after the baseline where there was none: by status, or by
    /// what the transport said.
    pub outcomes: BTreeMap<String, u64>,
    /// Requests that would have been good at the baseline's ratio, and were not.
    pub goodput_lost: f64,
    /// What the run had to meet, each with its value and its threshold.
    pub criteria: Vec<Criterion>,
    /// Figures by phase.
    pub phases: PhaseFigures,
    /// What supports the verdict.
    pub evidence: Vec<Evidence>,
    /// Why the run cannot be trusted; empty where it can.
    pub doubts: Vec<Doubt>,
    /// Figures about the measurement itself.
    pub integrity: Integrity,
}

/// How a run itself went, whatever its outcome.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// It ran to its end.
    Completed,
    /// It was interrupted, and its faults reverted.
    Interrupted,
    /// It ended before its trigger, which was withheld.
    Withheld,
    /// That its faults were reverted could not be confirmed.
    CleanUpUnconfirmed,
}

impl ResultFile {
    pub(crate) fn of(report: &Report<'_>) -> Self {
        let runs = report.runs();
        let first = runs.first().map(|run| &run.log.meta);
        let (scenario, void) = match report {
            Report::Run(run) => (run.log.meta.scenario.clone(), Vec::new()),
            Report::Comparison { comparison, .. } => {
                (comparison.scenario.clone(), comparison.void.clone())
            }
        };
        Self {
            schema: RESULT_SCHEMA,
            scenario,
            command: report.command().to_owned(),
            version: first.map(|meta| meta.version.clone()).unwrap_or_default(),
            exit: report.exit(),
            exit_code: report.exit().code(),
            void,
            runs: runs.iter().map(RunResult::of).collect(),
        }
    }

    /// The file's text, ending with a line break.
    ///
    /// # Errors
    ///
    /// Where it cannot be written as JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self).map(|json| json + "\n")
    }
}

impl RunResult {
    fn of(run: &ReportedRun<'_>) -> Self {
        let (meta, judgement) = (&run.log.meta, run.judgement);
        Self {
            arm: meta.arm.clone(),
            control: run.control,
            status: RunStatus::of(run.log),
            verdict: judgement.verdict,
            cause: judgement.cause,
            expected: run.scenario.expect.verdict.into(),
            held: run.held(),
            exit: run.exit(),
            summary: judgement.summary.clone(),
            notes: judgement.notes.clone(),
            run_longer: judgement.run_longer,
            rule: judgement.rule,
            baseline: judgement.baseline,
            engine: meta.engine,
            seed: meta.seed,
            seed_text: meta.seed.0.to_string(),
            speed: meta.speed,
            started: meta.started.clone(),
            trigger: judgement.trigger,
            time_to_recover: judgement.time_to_recover,
            time_to_recover_most: judgement.time_to_recover_most,
            since_lever: judgement.since_lever,
            time_left: judgement.time_left,
            relapsed: judgement.relapsed,
            settled: judgement.settled,
            share: judgement.share,
            stretches: judgement.stretches.clone(),
            sustaining: judgement.sustaining.clone(),
            outcomes: judgement.outcomes.clone(),
            goodput_lost: judgement.goodput_lost,
            criteria: criteria::criteria(run),
            phases: judgement.phases,
            evidence: judgement.evidence.clone(),
            doubts: judgement.doubts.clone(),
            integrity: run.log.integrity.clone(),
        }
    }
}

impl RunStatus {
    fn of(log: &RunLog) -> Self {
        match log.ending {
            _ if !log.integrity.faults_unreverted.is_empty() => Self::CleanUpUnconfirmed,
            Ending::Completed => Self::Completed,
            Ending::Interrupted => Self::Interrupted,
            Ending::Withheld => Self::Withheld,
        }
    }
}

/// The JSON schema of `result.json`.
pub fn result_schema() -> serde_json::Value {
    schemars::schema_for!(ResultFile).to_value()
}

/// The JSON schema of `runlog.json`.
pub fn run_log_schema() -> serde_json::Value {
    schemars::schema_for!(RunLog).to_value()
}

/// The JSON schema of what `goodput drill` writes.
pub fn drill_schema() -> serde_json::Value {
    schemars::schema_for!(Drill).to_value()
}

/// The JSON schema of what `goodput hysteresis` writes.
pub fn hysteresis_schema() -> serde_json::Value {
    schemars::schema_for!(Hysteresis).to_value()
}
