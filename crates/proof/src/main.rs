//! Runs the proof: many cases on all cores, the table to standard output, and what was misjudged to
//! a folder.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use goodput_clock::Seed;
use goodput_proof::{Draft, Outcome, Sockets, Table, distribution, grid, measure};

use goodput_verdict::Verdict;

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => return say(USAGE, ExitCode::SUCCESS),
        Err(problem) => {
            return complain(&format!("{problem}\n\n{USAGE}"));
        }
    };
    match run(&options) {
        Ok(text) => say(&text, ExitCode::SUCCESS),
        Err(problem) => complain(&problem),
    }
}

fn say(text: &str, code: ExitCode) -> ExitCode {
    // A reader who has gone needs no answer.
    let _ = io::stdout().write_all(text.as_bytes());
    code
}

fn complain(text: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{text}");
    ExitCode::from(2)
}

fn run(options: &Options) -> Result<String, String> {
    if options.grid {
        return grid_text(options);
    }
    if let Some(number) = options.only {
        let outcome = one(options, number)?;
        let mut text = format!("{}\n# {}\n{}", outcome.toml, outcome.line(), outcome.course);
        for said in &outcome.said {
            let _ = writeln!(text, "  {}: {}", said.verdict, said.words);
        }
        return Ok(text);
    }
    if let Some(sockets) = options.sockets {
        return choose(options, sockets);
    }
    let numbers: Vec<u64> = (options.first..options.first + options.cases).collect();
    let outcomes = all(options.jobs, &numbers, |number| one(options, *number))?;
    let table = Table::new(outcomes);
    dump(&options.folder, &table)
        .map_err(|error| format!("{}: {error}", options.folder.display()))?;
    Ok(table.markdown())
}

fn one(options: &Options, number: u64) -> Result<Outcome, String> {
    let draft: Draft = distribution::case(Seed(options.seed), number);
    // The draft's seed has nothing to do with the verdict.
    measure(&draft, draft.seed.is_multiple_of(options.every))
}

/// Writes so many cases that sockets carry and that lie away from a boundary, each as a scenario file.
fn choose(options: &Options, sockets: Sockets) -> Result<String, String> {
    let mut drafts = (options.first..options.first.saturating_add(CHOOSE_FROM))
        .map(|number| distribution::case(Seed(options.seed), number))
        .filter(|draft| sockets.carry(draft));
    let (mut chosen, mut near, mut untold) = (Vec::new(), 0, 0);
    while (chosen.len() as u64) < options.cases {
        let some: Vec<Draft> = drafts.by_ref().take(8 * options.jobs).collect();
        if some.is_empty() {
            let found = chosen.len();
            return Err(format!("--cases {}: only {found} were found", options.cases));
        }
        let mut outcomes = all(options.jobs, &some, |draft| measure(draft, true))?;
        outcomes.sort_by_key(|outcome| outcome.number);
        for outcome in outcomes {
            let told = outcome.said.first().is_some_and(|s| s.verdict != Verdict::Inconclusive);
            match outcome.near {
                _ if chosen.len() as u64 == options.cases => break,
                Some(false) if told => chosen.push(outcome),
                Some(true) => near += 1,
                Some(false) | None => untold += 1,
            }
        }
    }
    write_scenarios(&options.folder, &chosen)
        .map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let folder = options.folder.display();
    Ok(format!(
        "{} cases in {folder}; {near} more near a boundary and {untold} without a verdict or a truth of \
         their own were passed over\n",
        chosen.len()
    ))
}

fn write_scenarios(folder: &Path, outcomes: &[Outcome]) -> io::Result<()> {
    empty(folder)?;
    for outcome in outcomes {
        let text = format!("# {}\n{}", outcome.line(), outcome.toml);
        fs::write(folder.join(format!("{}.toml", outcome.number)), text)?;
    }
    Ok(())
}

fn grid_text(options: &Options) -> Result<String, String> {
    let places = grid::places(options.cases.clamp(1, 40));
    let verdicts = all(options.jobs, &places, grid::verdict)?;
    let mut counts = std::collections::BTreeMap::new();
    for verdict in verdicts {
        *counts.entry(verdict.name()).or_insert(0_u32) += 1;
    }
    let mut text = format!("| verdict | of {} |\n|---|---|\n", places.len());
    for (verdict, count) in counts {
        let _ = writeln!(text, "| {verdict} | {count} |");
    }
    Ok(text)
}

/// Answers all questions on so many threads, or stops at the first that has no answer.
fn all<Q: Sync, A: Send>(
    jobs: usize,
    questions: &[Q],
    answer: impl Fn(&Q) -> Result<A, String> + Sync,
) -> Result<Vec<A>, String> {
    let next = AtomicU64::new(0);
    let answers = Mutex::new(Vec::with_capacity(questions.len()));
    let work = || {
        while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            let result = answer(question);
            if result.is_err() {
                next.store(questions.len() as u64, Ordering::Relaxed);
            }
            let mut answers = answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            answers.push(result);
            if answers.len() % 100 == 0 {
                let _ = writeln!(io::stderr(), "{} of {}", answers.len(), questions.len());
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).into_iter().collect()
}

/// Makes a folder, or one that is there new.
fn empty(folder: &Path) -> io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)
}

/// Writes a line a case, and each misjudged case with its scenario and what was said of it.
fn dump(folder: &Path, table: &Table) -> io::Result<()> {
    empty(folder)?;
    let lines: Vec<String> = table.outcomes().iter().map(Outcome::line).collect();
    fs::write(folder.join("cases.tsv"), lines.join("\n") + "\n")?;
    for outcome in table.outcomes() {
        let mut kinds: Vec<&str> = outcome
            .said
            .iter()
            .filter_map(|said| match said.miss {
                Some(miss) => Some(miss.name()),
                None if said.due && said.verdict == Verdict::Inconclusive => Some("inconclusive"),
                None => None,
            })
            .collect();
        if outcome.flipped {
            kinds.push("flipped");
        }
        if !outcome.broken.is_empty() {
            kinds.push("physics");
        }
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            let place = if outcome.near == Some(true) { "near" } else { "far" };
            let folder = folder.join(kind).join(place);
            fs::create_dir_all(&folder)?;
            let name = format!("{}.toml", outcome.number);
            fs::write(folder.join(name), evidence(outcome))?;
        }
    }
    Ok(())
}

fn evidence(outcome: &Outcome) -> String {
    let mut text = format!("{}\n{}\n", outcome.line(), outcome.course);
    for (said, tails) in outcome.said.iter().zip(goodput_proof::TAILS) {
        let _ = writeln!(text, "tail × {tails}: {}: {}", said.verdict, said.words);
    }
    let comments: Vec<String> = text.lines().map(|line| format!("# {line}")).collect();
    format!("{}\n\n{}", comments.join("\n"), outcome.toml)
}

struct Options {
    cases: u64,
    first: u64,
    seed: u64,
    jobs: usize,
    every: u64,
    only: Option<u64>,
    grid: bool,
    sockets: Option<Sockets>,
    folder: PathBuf,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let jobs = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut options = Self {
            cases: 10_000,
            first: 0,
            seed: 1,
            jobs,
            every: 20,
            only: None,
            grid: false,
            sockets: None,
            folder: PathBuf::from("target/proof"),
        };
        while let Some(flag) = words.next() {
            let mut number = || {
                let word = words.next().unwrap_or_default();
                let number = word.parse::<u64>();
                number
                    .map_err(|_| format!("{flag} {word}: write a whole number, such as {flag} 500"))
            };
            match flag.as_str() {
                "--cases" => options.cases = number()?,
                "--first" => options.first = number()?,
                "--seed" => options.seed = number()?,
                "--jobs" => options.jobs = number()?.clamp(1, 256) as usize,
                "--every" => options.every = number()?.max(1),
                "--only" => options.only = Some(number()?),
                "--grid" => options.grid = true,
                "--sockets" => {
                    let speed = number()?;
                    if !(1..=100).contains(&speed) {
                        return Err(format!(
                            "{flag} {speed}: write a speed from 1 to 100, such as {flag} 10"
                        ));
                    }
                    options.sockets = Some(Sockets { speed: speed as f64 });
                }
                "--folder" => {
                    let word =
                        words.next().ok_or("--folder: write a path, such as target/proof")?;
                    options.folder = PathBuf::from(word);
                }
                "-h" | "--help" => return Ok(None),
                _ => return Err(format!("{flag} is no flag")),
            }
        }
        Ok(Some(options))
    }
}

/// No more cases than these are looked at for those that are chosen.
const CHOOSE_FROM: u64 = 100_000;

const USAGE: &str = "\
Measures the judge against counted truth over random scenarios, and prints the table in Markdown.

  --cases N      how many cases (10000); with --grid, how many seeds (at most 40)
  --first N      the first case's number (0)
  --seed S       the seed of the distribution (1)
  --jobs J       how many threads (all cores)
  --every N      how near a boundary is, for one in N whatever its verdict (20)
  --only CASE    one case, with its scenario and what was said of it
  --grid         the grid without retries
  --sockets N    writes --cases scenario files, of cases that sockets carry at speed N (1 to 100) and
                 that lie away from a boundary
  --folder PATH  where misjudged cases go (target/proof); what was there is removed
";
