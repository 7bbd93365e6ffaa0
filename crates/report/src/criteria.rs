//! What a run has to meet, each with its value and its threshold: the rows of `result.json`, the test
//! cases of `junit.xml`, and a table of the HTML report.

use goodput_runlog::{Ending, Figures};
use goodput_scenario::ExpectedVerdict;
use goodput_verdict::DoubtKind::{
    self, BaselineNotHealthy, ByOthers, CapacityNotRestored, Engine, FaultDidNotBite,
    FaultUnreverted, ForeignLoad, GeneratorLate, Interrupted, MissingWindows, OfferedOffSchedule,
    PastTheTier, ServerRestarted, TooFewSamples, TooShort, Unsent, Withheld,
};
use goodput_verdict::limits::{HEALTHY, LATE, OFF_SCHEDULE, UNSENT};
use goodput_verdict::{Cause, Exit, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::ReportedRun;
use crate::{format, told};

/// One thing that a run has to meet.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Criterion {
    /// Its name in files, such as `generator-punctual`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The value; absent where it could not be measured, or is no number.
    pub value: Option<f64>,
    /// The threshold; absent where there is none.
    pub threshold: Option<f64>,
    /// The unit of both: `ratio`, `s`, `/s`, `count`, or empty.
    pub unit: String,
    /// Whether it was met.
    pub outcome: CriterionOutcome,
    /// Value against threshold in words.
    pub text: String,
}

/// Whether a criterion was met.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CriterionOutcome {
    /// It was.
    Met,
    /// It was not.
    NotMet,
    /// It was not, and for that the run cannot be trusted.
    Untrusted,
    /// It does not apply, was not seen, or could not be judged.
    Skipped,
}

/// The criteria of a run, those that put trust in it first.
pub(crate) fn criteria(run: &ReportedRun<'_>) -> Vec<Criterion> {
    let mut criteria = vec![completed(run), baseline(run), schedule(run), sent(run), punctual(run)];
    if run.scenario.trigger_span().is_some() {
        criteria.push(put_in(run));
    }
    if !run.scenario.faults.is_empty() {
        criteria.extend([fault_bit(run), reverted(run)]);
    }
    criteria.extend([kept_running(run), alone(run), no_other_hand(run), long_enough(run)]);
    criteria.push(nothing_else(run));
    if run.scenario.expect.verdict == ExpectedVerdict::Recovered {
        criteria.push(in_time(run));
    }
    criteria.push(as_expected(run));
    if run.control {
        criteria.push(control_failed(run));
    }
    criteria
}

fn completed(run: &ReportedRun<'_>) -> Criterion {
    let seconds = run.log.windows.len() as f64;
    let wanted = run.scenario.duration.as_secs_f64().floor();
    let text = match run.log.ending {
        Ending::Completed => format!("{seconds} s of {wanted} s were seen"),
        Ending::Interrupted => format!("interrupted after {seconds} s of {wanted} s"),
        Ending::Withheld => format!("ended before its trigger, after {seconds} s of {wanted} s"),
    };
    trust(run, "run-completed", "The run was completed", &[Interrupted, MissingWindows], text)
        .unless(run.log.ending == Ending::Withheld)
        .measured(Some(seconds), Some(wanted), "s")
}

fn baseline(run: &ReportedRun<'_>) -> Criterion {
    let ratio = run.judgement.baseline.map(|baseline| baseline.ratio);
    let text = match run.judgement.baseline {
        Some(baseline) => format!(
            "{} of {}/s offered were good before the trigger, at least {} is healthy",
            format::percent(baseline.ratio),
            format::number(baseline.offered),
            format::percent(HEALTHY)
        ),
        None => "there is nothing to compare goodput with".to_owned(),
    };
    trust(run, "baseline-healthy", "The baseline was healthy", &[BaselineNotHealthy], text)
        .seen(ratio.is_some())
        // What the gate claims is not doubted a second time.
        .unless(run.log.ending == Ending::Withheld && ratio.is_some_and(|ratio| ratio < HEALTHY))
        .measured(ratio, Some(HEALTHY), "ratio")
}

fn schedule(run: &ReportedRun<'_>) -> Criterion {
    let integrity = &run.log.integrity;
    let off = share(integrity.offered.abs_diff(integrity.scheduled), integrity.scheduled);
    let text = format!(
        "{} issued, {} on the schedule: {} off, at most {}",
        format::thousands(integrity.offered as f64),
        format::thousands(integrity.scheduled as f64),
        format::percent(off),
        format::percent(OFF_SCHEDULE)
    );
    trust(
        run,
        "offered-on-schedule",
        "Offered load kept to the schedule",
        &[OfferedOffSchedule],
        text,
    )
    .seen(integrity.scheduled > 0)
    .measured(Some(off), Some(OFF_SCHEDULE), "ratio")
}

fn sent(run: &ReportedRun<'_>) -> Criterion {
    let integrity = &run.log.integrity;
    let unsent = share(integrity.unsent, integrity.offered);
    let text = format!(
        "{} of {} found no connection in time by the generator's own caps: {}, at most {}",
        format::thousands(integrity.unsent as f64),
        format::thousands(integrity.offered as f64),
        format::percent(unsent),
        format::percent(UNSENT)
    );
    trust(run, "requests-sent", "Requests found a connection", &[Unsent], text)
        .seen(integrity.offered > 0)
        .measured(Some(unsent), Some(UNSENT), "ratio")
}

fn punctual(run: &ReportedRun<'_>) -> Criterion {
    let integrity = &run.log.integrity;
    let limit = integrity.smallest_timeout_wall * LATE;
    let text = format!(
        "send lag p99 {} of wall time, at most {}, a tenth of the smallest time-out",
        format::seconds(integrity.send_lag_p99_wall),
        format::seconds(limit)
    );
    trust(run, "generator-punctual", "The load generator was punctual", &[GeneratorLate], text)
        .seen(integrity.offered > 0)
        .measured(Some(integrity.send_lag_p99_wall), Some(limit), "s")
}

fn put_in(run: &ReportedRun<'_>) -> Criterion {
    let begins = run.scenario.trigger_span().map(|(from, _)| from.as_secs_f64());
    let reached = begins.is_some_and(|from| run.log.windows.len() as f64 > from);
    let text = if reached {
        "the trigger went in".to_owned()
    } else {
        "the run ended before its trigger".to_owned()
    };
    trust(run, "trigger-put-in", "The trigger went in", &[Withheld], text).seen(reached)
}

fn fault_bit(run: &ReportedRun<'_>) -> Criterion {
    let goodput = |figures: Option<Figures>| {
        figures.map_or_else(|| "–".to_owned(), |figures| format::number(figures.goodput))
    };
    let phases = &run.judgement.phases;
    let text = format!(
        "goodput {}/s before and {}/s during the trigger",
        goodput(phases.before),
        goodput(phases.during)
    );
    trust(run, "fault-bit", "The fault bit", &[FaultDidNotBite], text).seen(phases.during.is_some())
}

fn reverted(run: &ReportedRun<'_>) -> Criterion {
    let left = run.log.integrity.faults_unreverted.len() as f64;
    let text = "every fault was seen to have ended".to_owned();
    trust(
        run,
        "faults-reverted",
        "Faults were reverted",
        &[FaultUnreverted, CapacityNotRestored],
        text,
    )
    .seen(run.judgement.phases.during.is_some())
    .measured(Some(left), Some(0.0), "count")
}

fn kept_running(run: &ReportedRun<'_>) -> Criterion {
    let name = "The server kept running";
    if run.judgement.cause == Some(Cause::Down) {
        let text = format!("nobody answers: {}", run.judgement.summary);
        return outcome(run, "server-kept-running", name, false, text);
    }
    let seen = seen(run);
    let text = if seen == run.log.windows.len() {
        "no server started anew by itself".to_owned()
    } else {
        format!("{NO_VIEW}{}", seconds_of(seen, run))
    };
    let throughout = seen > 0 && seen == run.log.windows.len();
    trust(run, "server-kept-running", name, &[ServerRestarted], text).seen(throughout)
}

fn alone(run: &ReportedRun<'_>) -> Criterion {
    let name = "The load was this run's, and passed where it was watched";
    let seen = seen(run) > 0;
    let text = if seen { "what was sent is what was received" } else { NO_VIEW };
    trust(run, "load-reconciled", name, &[ForeignLoad, PastTheTier], text.to_owned()).seen(seen)
}

fn no_other_hand(run: &ReportedRun<'_>) -> Criterion {
    let seen = seen(run) > 0;
    let text = if seen { "no lever or fault of somebody else was seen" } else { NO_VIEW };
    let name = "Nobody else had a hand in it";
    trust(run, "nobody-else", name, &[ByOthers], text.to_owned()).seen(seen)
}

fn long_enough(run: &ReportedRun<'_>) -> Criterion {
    let seconds = run.log.windows.len() as f64;
    let lacks = run.judgement.run_longer;
    let text = lacks.map_or_else(|| format!("{seconds} s were enough to tell"), told::longer);
    trust(run, "long-enough", "The run was long enough", &[TooShort], text)
        .seen(run.log.ending != Ending::Withheld)
        .unless(lacks.is_some())
        .measured(Some(seconds), lacks.map(|lacks| seconds + lacks), "s")
}

/// How many seconds had a view of every tier of the scenario.
fn seen(run: &ReportedRun<'_>) -> usize {
    let tiers = run.scenario.tiers.len().max(1);
    run.log.windows.iter().filter(|window| window.tiers.len() >= tiers).count()
}

fn seconds_of(seen: usize, run: &ReportedRun<'_>) -> String {
    match (seen, run.log.windows.len()) {
        (0, _) => String::new(),
        (seen, all) => format!(" in {} of {all} s", all - seen),
    }
}

fn nothing_else(run: &ReportedRun<'_>) -> Criterion {
    let kinds = [TooFewSamples, Engine];
    let text = "nothing else puts the run in doubt".to_owned();
    trust(run, "nothing-else-in-doubt", "Nothing else is in doubt", &kinds, text)
}

fn in_time(run: &ReportedRun<'_>) -> Criterion {
    let within = run.scenario.expect.within.as_secs_f64();
    let judgement = run.judgement;
    // Where goodput was lost again it is the last return that counts.
    let took = match judgement.relapsed {
        Some(_) => judgement.settled,
        None => judgement.time_to_recover,
    };
    let back = judgement.verdict == Verdict::Recovered && took.is_some_and(|took| took <= within);
    let limit = format::moment(within);
    let text = match judgement.time_to_recover {
        Some(_) => format!(
            "goodput was back after {}; it must be back for good within {limit} of the trigger's end",
            told::lasting_time_to_recover(judgement)
        ),
        None => format!("goodput was never back; it must be within {limit} of the trigger's end"),
    };
    let name = format!("Recovered within {limit}");
    outcome(run, "recovered-within", &name, back, text).measured(took, Some(within), "s")
}

fn as_expected(run: &ReportedRun<'_>) -> Criterion {
    let expected = Verdict::from(run.scenario.expect.verdict);
    let text = format!("{}, expected {expected}", run.verdict());
    outcome(run, "verdict-as-expected", "The verdict is as expected", run.held(), text)
}

fn control_failed(run: &ReportedRun<'_>) -> Criterion {
    let void = run.exit() == Exit::Inconclusive;
    let text = format!("{}; a control that does not fail makes the comparison void", run.verdict());
    Criterion {
        outcome: if void { CriterionOutcome::Untrusted } else { CriterionOutcome::Met },
        ..outcome(run, "control-failed", "The control failed", !void, text)
    }
}

/// A criterion that trust in the run depends on: it is met unless one of these doubts was raised.
fn trust(
    run: &ReportedRun<'_>,
    id: &str,
    name: &str,
    kinds: &[DoubtKind],
    mut text: String,
) -> Criterion {
    let doubts = run.judgement.doubts.iter().filter(|doubt| kinds.contains(&doubt.kind));
    let reasons: Vec<_> = doubts.map(|doubt| doubt.text.as_str()).collect();
    let outcome = if reasons.is_empty() {
        CriterionOutcome::Met
    } else {
        text = reasons.join("; ");
        CriterionOutcome::Untrusted
    };
    Criterion {
        id: id.to_owned(),
        name: name.to_owned(),
        value: None,
        threshold: None,
        unit: String::new(),
        outcome,
        text,
    }
}

/// A criterion of the outcome, which a run that cannot be trusted says nothing about.
fn outcome(run: &ReportedRun<'_>, id: &str, name: &str, met: bool, text: String) -> Criterion {
    let outcome = match met {
        _ if run.judgement.verdict == Verdict::Inconclusive => CriterionOutcome::Skipped,
        true => CriterionOutcome::Met,
        false => CriterionOutcome::NotMet,
    };
    Criterion { outcome, ..trust(run, id, name, &[], text) }
}

impl Criterion {
    /// Leaves it open whether it was met where that was not seen, unless a doubt says that it was not.
    fn seen(self, seen: bool) -> Self {
        match self.outcome {
            CriterionOutcome::Met if !seen => Self { outcome: CriterionOutcome::Skipped, ..self },
            CriterionOutcome::Met
            | CriterionOutcome::NotMet
            | CriterionOutcome::Untrusted
            | CriterionOutcome::Skipped => self,
        }
    }

    /// Makes the run untrusted for it where this is so, whether or not there is a doubt that says it.
    fn unless(self, so: bool) -> Self {
        if so { Self { outcome: CriterionOutcome::Untrusted, ..self } } else { self }
    }

    fn measured(self, value: Option<f64>, threshold: Option<f64>, unit: &str) -> Self {
        Self { value, threshold, unit: unit.to_owned(), ..self }
    }
}

/// Why nothing can be said of the server.
const NO_VIEW: &str = "there was no view of every tier's control plane";

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
