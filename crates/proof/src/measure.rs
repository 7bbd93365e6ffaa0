//! One case: its long run, its twin, the verdicts on five lengths of it, and whether a boundary is
//! near.

use std::fmt::Write as _;

use goodput_runlog::{Cancel, Event, EventKind, RunLog};
use goodput_scenario::Scenario;
use goodput_simulator::{RunOptions, run};
use goodput_verdict::{Judgement, Verdict, judge};

use crate::counting::{Class, Cohorts, Course, course};
use crate::draft::{Draft, Family, Variant};
use crate::miss::{Miss, miss, physics};
use crate::prefix::{can_be_cut, prefix};

/// The lengths of a run's tail that are judged, in tails of the draft; the truth is that of the
/// last.
pub const TAILS: [f64; 5] = [1.0, 1.5, 2.5, 5.0, 10.0];
/// How near to the edge that decides a share may be, away from a boundary.
pub const EDGE: f64 = 0.02;

/// What was measured of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its place in the distribution.
    pub number: u64,
    /// The recipe that it came from.
    pub family: Family,
    /// The counted truth.
    pub class: Class,
    /// Whether a boundary is near; none where that was not measured.
    pub near: Option<bool>,
    /// Whether it was measured for the share that is left out, rather than for its verdict.
    pub sampled: bool,
    /// What was said of each length, shortest first.
    pub said: Vec<Said>,
    /// Whether a verdict changed between recovered and metastable.
    pub flipped: bool,
    /// What can never be, and was said.
    pub broken: Vec<String>,
    /// The scenario file of the shortest length.
    pub toml: String,
    /// The counted course in words.
    pub course: String,
    /// What the simulator had to do, in requests.
    pub requests: u64,
}

/// The verdict on one length.
#[derive(Clone, Debug)]
pub struct Said {
    /// The verdict.
    pub verdict: Verdict,
    /// How it differs from the truth.
    pub miss: Option<Miss>,
    /// Whether an answer may be asked for: a healthy baseline, something that bit, 300 requests and
    /// three lives in the tail.
    pub due: bool,
    /// The verdict in words, with its evidence.
    pub words: String,
}

/// Measures a case; `sample` asks for the nearness of a boundary whatever the verdict.
///
/// # Errors
///
/// Where the draft is no scenario; the distribution has no such case.
pub fn measure(draft: &Draft, sample: bool) -> Result<Outcome, String> {
    let long = Long::run(draft, &Variant::PLAIN, None)?;
    let class = long.class();
    let mut said = Vec::new();
    let mut broken = Vec::new();
    for tails in TAILS {
        let variant = Variant { tails, ..Variant::PLAIN };
        let scenario = draft.scenario(&variant)?;
        let seconds = draft.duration(&variant);
        let shorter =
            if can_be_cut(&scenario) { prefix(&long.log, seconds) } else { simulate(&scenario) };
        let judgement = judge(&shorter, &scenario);
        let verdict = judgement.verdict;
        let at = seconds as usize;
        broken.extend(physics(draft, &long, verdict, at));
        if class == Class::Withheld && verdict != Verdict::Inconclusive {
            broken.push(format!("{verdict} at {at} s: the trigger was withheld"));
        }
        said.push(Said {
            verdict,
            miss: miss(class, &long.course, &judgement, at),
            due: long.bite.felt() && long.healthy && enough(draft, tails),
            words: words(&judgement),
        });
    }
    let has = |verdict| said.iter().any(|said: &Said| said.verdict == verdict);
    let mut outcome = Outcome {
        number: draft.number,
        family: draft.family,
        class,
        near: None,
        sampled: sample,
        flipped: class.is_told() && has(Verdict::Recovered) && has(Verdict::Metastable),
        said,
        broken,
        toml: draft.toml(&Variant::PLAIN),
        course: long.words(),
        requests: long.log.integrity.offered,
    };
    if class.is_told() && (sample || asks_for_boundary(&outcome)) {
        measure_boundary(draft, &long, &mut outcome)?;
    }
    Ok(outcome)
}

/// Whether the verdict differs from the truth, or was held back where one was due.
fn asks_for_boundary(outcome: &Outcome) -> bool {
    let asks =
        |said: &Said| said.miss.is_some() || said.due && said.verdict == Verdict::Inconclusive;
    outcome.flipped || outcome.said.iter().any(asks)
}

/// Whether the tail holds 300 requests and three lives.
fn enough(draft: &Draft, tails: f64) -> bool {
    let tail = draft.tail * tails;
    tail * draft.rate.min(draft.last_rate()) >= 300.0 && tail >= 3.0 * draft.life()
}

/// Runs the variants, and says whether the truth changes; *metastable* of what comes back stands
/// where no other seed does.
fn measure_boundary(draft: &Draft, long: &Long, outcome: &mut Outcome) -> Result<(), String> {
    let mut why = Vec::new();
    for (whose, course) in [("run", &long.course), ("twin", &long.twin)] {
        if course.margin < EDGE {
            why.push(format!("{whose} {:.4} from the edge", course.margin));
        }
    }
    let judged = missed(outcome);
    let mut others = Vec::new();
    for variant in VARIANTS {
        // Where a boundary is near already, only the other seeds are of interest.
        if !why.is_empty() && variant.seed == 0 {
            continue;
        }
        let same_twin = (variant.load - 1.0).abs() < 1e-9 && variant.seed == 0;
        let other = Long::run(draft, &variant, same_twin.then_some(long))?;
        if other.class() != long.class() {
            why.push(format!("{variant:?}: {}", other.class().name()));
        }
        for (index, miss) in &judged {
            let at = |length: f64| {
                let tails = TAILS[*index];
                draft.duration(&Variant { length, tails, ..Variant::PLAIN }) as usize
            };
            if !miss.is_truth_of(&other.course, at(variant.length)) {
                why.push(format!("{variant:?}: no {} at {}", miss.name(), at(1.0)));
            }
        }
        if variant.seed > 0 {
            others.push(other);
        }
    }
    outcome.near = Some(!why.is_empty());
    for reason in why {
        let _ = writeln!(outcome.course, "near: {reason}");
    }
    for (index, said) in outcome.said.iter_mut().enumerate() {
        let at = draft.duration(&Variant { tails: TAILS[index], ..Variant::PLAIN }) as usize;
        let alone = !others.iter().any(|other| other.course.comes_back_after(at));
        if said.miss == Some(Miss::FalseMetastable) && alone {
            said.miss = None;
        }
    }
    Ok(())
}

fn missed(outcome: &Outcome) -> Vec<(usize, Miss)> {
    let missed = |(index, said): (usize, &Said)| said.miss.map(|miss| (index, miss));
    outcome.said.iter().enumerate().filter_map(missed).collect()
}

const VARIANTS: [Variant; 6] = [
    Variant { length: 0.95, ..LONG },
    Variant { length: 1.05, ..LONG },
    Variant { load: 0.97, ..LONG },
    Variant { load: 1.03, ..LONG },
    Variant { seed: 1, ..LONG },
    Variant { seed: 2, ..LONG },
];
const LONG: Variant = Variant { tails: TAILS[TAILS.len() - 1], ..Variant::PLAIN };

/// A long run and its twin, counted.
pub(crate) struct Long {
    log: RunLog,
    pub(crate) cohorts: Cohorts,
    pub(crate) course: Course,
    twin: Course,
    twin_log: RunLog,
    healthy: bool,
    bite: Bite,
    baseline: f64,
}

impl Long {
    /// Runs a variant of the draft; its twin too, unless it is that of `like`.
    fn run(draft: &Draft, variant: &Variant, like: Option<&Self>) -> Result<Self, String> {
        let variant = Variant { tails: LONG.tails, ..*variant };
        let scenario = draft.scenario(&variant)?;
        let log = simulate(&scenario);
        let twin_log = match like {
            Some(like) => like.twin_log.clone(),
            None if draft.triggers.is_empty() => log.clone(),
            None => simulate(&draft.scenario(&Variant { trigger: false, ..variant })?),
        };
        let (cohorts, twin) = (Cohorts::of(&log, &scenario), Cohorts::of(&twin_log, &scenario));
        let (start, end) = draft.span(variant.length);
        let slowest = draft.rate.min(draft.last_rate());
        let block = draft.hold.max(100.0 / slowest).ceil() as usize;
        // Later cohorts may live into the trigger.
        let calm = (start - draft.life().min(30.0) - 1.0) as usize;
        let baseline = cohorts.share(WARM_UP, calm);
        let from = end.ceil() as usize;
        let lasting = twin.share(from, twin.decided());
        let last_block = cohorts.share(calm.saturating_sub(block), calm);
        Ok(Self {
            course: course(&cohorts, from, block, draft.ratio * baseline.min(lasting)),
            twin: course(&twin, from, block, draft.ratio * baseline),
            healthy: baseline >= 0.95 && last_block >= 0.90,
            bite: Bite::of(&log, &twin_log, start as usize, from + 2),
            log,
            cohorts,
            twin_log,
            baseline,
        })
    }

    fn class(&self) -> Class {
        let withheld = |event: &Event| matches!(event.kind, EventKind::TriggerWithheld { .. });
        if self.log.events.iter().any(withheld) {
            return Class::Withheld;
        }
        let up = self.twin.class == Some(Class::Returns)
            && self.twin.collapses.is_empty()
            && self
                .twin
                .ups
                .first()
                .is_some_and(|(from, _)| *from <= self.twin.from + 2 * self.twin.block);
        match self.course.class {
            Some(class) if up => class,
            Some(_) | None => Class::FallsByItself,
        }
    }

    fn words(&self) -> String {
        let Course { theta, block, from, ups, collapses, settled, share, margin, .. } =
            &self.course;
        format!(
            "truth: {}; baseline {:.4}, theta {theta:.4}, blocks of {block} s from {from} s; share \
             {share:.4}, margin {margin:.4}, settled {settled:?}\nups {ups:?}\ncollapses \
             {collapses:?}\nblocks {}\nfelt: {:?}\ntwin: share {:.4}, margin {:.4}, \
             collapses {:?}, class {:?}\n",
            self.class().name(),
            self.baseline,
            shares(&self.course.blocks),
            self.bite,
            self.twin.share,
            self.twin.margin,
            self.twin.collapses,
            self.twin.class,
        )
    }
}

fn shares(blocks: &[f64]) -> String {
    let shares: Vec<String> = blocks.iter().map(|share| format!("{share:.2}")).collect();
    shares.join(" ")
}

/// Runs a scenario in virtual time.
pub(crate) fn simulate(scenario: &Scenario) -> RunLog {
    run(&RunOptions::new(scenario.clone()), &mut (), &mut |_| None, &Cancel::new())
}

/// What the clients felt of the trigger.
#[derive(Clone, Copy, Debug)]
struct Bite {
    /// Requests that arrived while it lasted and ended well, in the run and in its twin.
    good: (u64, u64),
    /// The worst second's 99th percentile of latency: while it lasted, and before it.
    late: (f64, f64),
}

impl Bite {
    fn of(log: &RunLog, twin: &RunLog, from: usize, to: usize) -> Self {
        let slice = |log: &RunLog, from: usize, to: usize| {
            let count = log.windows.len();
            log.windows[from.min(count)..to.min(count)].to_vec()
        };
        let good = |log: &RunLog| {
            let windows = slice(log, from, to);
            windows.iter().map(|window| window.client.cohort.good).sum::<u64>()
        };
        let late = |from: usize, to: usize| {
            let windows = slice(log, from, to);
            windows.iter().map(|window| window.client.latency.p99).fold(0.0, f64::max)
        };
        Self { good: (good(log), good(twin)), late: (late(from, to), late(WARM_UP, from)) }
    }

    /// Five requests and a hundredth less, or a second twice as late as the worst before.
    fn felt(self) -> bool {
        let (ours, theirs) = self.good;
        let fewer = ours + 5 <= theirs && (ours as f64) < 0.99 * theirs as f64;
        fewer || self.late.0 > 2.0 * self.late.1
    }
}

fn words(judgement: &Judgement) -> String {
    let mut words = judgement.summary.clone();
    if let Some(cause) = judgement.cause {
        words = format!("{cause}: {words}");
    }
    for note in &judgement.notes {
        words.push_str("\n    + ");
        words.push_str(note);
    }
    for evidence in &judgement.evidence {
        words.push_str("\n    - ");
        words.push_str(&evidence.text);
    }
    words
}

/// Seconds at the start that belong to no baseline.
const WARM_UP: usize = 5;
