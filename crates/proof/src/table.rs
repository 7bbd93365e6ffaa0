use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodput_statistics::wilson;
use goodput_verdict::Verdict;

use crate::counting::Class;
use crate::draft::Family;
use crate::measure::{Outcome, Said, TAILS};
use crate::miss::Miss;

/// Cases added up.
#[derive(Clone, Debug, Default)]
pub struct Table {
    outcomes: Vec<Outcome>,
}

impl Table {
    /// The table of these cases, in the order of their numbers.
    pub fn new(mut outcomes: Vec<Outcome>) -> Self {
        outcomes.sort_by_key(|outcome| outcome.number);
        Self { outcomes }
    }

    /// The cases.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// How many cases, away from a boundary, have this miss on any of the five lengths.
    pub fn misses(&self, miss: Miss) -> u32 {
        self.count(|outcome| {
            far(outcome) && outcome.said.iter().any(|said| said.miss == Some(miss))
        })
    }

    /// Cases in which something was said that can never be.
    pub fn broken(&self) -> u32 {
        self.count(|outcome| !outcome.broken.is_empty())
    }

    /// Cases away from a boundary whose verdict changes between recovered and metastable.
    pub fn flips(&self) -> u32 {
        self.count(|outcome| far(outcome) && outcome.flipped)
    }

    /// Inconclusive verdicts and all verdicts that were due, on all lengths, away from a boundary.
    pub fn inconclusive(&self) -> (u32, u32) {
        self.due(|_| true)
    }

    /// The share of cases that is left out as near a boundary, from the random sample: near and
    /// all.
    pub fn left_out(&self) -> (u32, u32) {
        let judged = |outcome: &Outcome| outcome.class.is_told();
        let sampled = |outcome: &Outcome| outcome.sampled && judged(outcome);
        let near = |outcome: &Outcome| sampled(outcome) && outcome.near == Some(true);
        (self.count(near), self.count(sampled))
    }

    /// The table in Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text);
        text
    }

    fn count(&self, of: impl Fn(&Outcome) -> bool) -> u32 {
        self.outcomes.iter().filter(|outcome| of(outcome)).count() as u32
    }

    fn due(&self, length: impl Fn(usize) -> bool) -> (u32, u32) {
        let (mut held_back, mut due) = (0, 0);
        for outcome in self.outcomes.iter().filter(|o| far(o) && o.class.is_told()) {
            for (_, said) in
                outcome.said.iter().enumerate().filter(|(at, said)| length(*at) && said.due)
            {
                due += 1;
                held_back += u32::from(said.verdict == Verdict::Inconclusive);
            }
        }
        (held_back, due)
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        self.write_claims(text)?;
        for index in [0, TAILS.len() - 1] {
            let tails = TAILS[index];
            writeln!(text, "\nVerdicts on a tail of {tails} × its length, by counted truth:\n")?;
            self.write_confusion(text, index)?;
        }
        writeln!(text, "\nCounted truth by recipe:\n")?;
        self.write_families(text)
    }

    fn write_claims(&self, text: &mut String) -> std::fmt::Result {
        let judged = self.count(|outcome| outcome.class.is_told());
        let far_cases = self.count(|outcome| outcome.class.is_told() && far(outcome));
        let near = self.count(|outcome| outcome.near == Some(true));
        let all = self.outcomes.len();
        let (left_out, sampled) = self.left_out();
        writeln!(text, "| what | count | of | 95 % interval |\n|---|---|---|---|")?;
        writeln!(text, "| cases | {all} | | |")?;
        let alone = self.count(|outcome| outcome.class == Class::FallsByItself);
        writeln!(text, "| fall by themselves (the twin does too) | {alone} | {all} | |")?;
        let withheld = self.count(|outcome| outcome.class == Class::Withheld);
        writeln!(text, "| trigger withheld by the gate | {withheld} | {all} | |")?;
        writeln!(
            text,
            "| near a boundary, of a random sample | {left_out} | {sampled} | {} |",
            interval(left_out, sampled)
        )?;
        writeln!(
            text,
            "| near a boundary, of those judged otherwise or held back | {near} | {judged} | |"
        )?;
        for miss in Miss::ALL {
            let count = self.misses(miss);
            let bold = if matches!(miss, Miss::FalseRecovered | Miss::FalseMetastable) {
                "**"
            } else {
                ""
            };
            writeln!(
                text,
                "| {bold}{}{bold} | {count} | {far_cases} | {} |",
                miss.name(),
                interval(count, far_cases)
            )?;
        }
        let flips = self.flips();
        writeln!(
            text,
            "| changes between recovered and metastable | {flips} | {far_cases} | {} |",
            interval(flips, far_cases)
        )?;
        let broken = self.broken();
        writeln!(
            text,
            "| breaks the physics | {broken} | {all} | {} |",
            interval(broken, all as u32)
        )?;
        for (name, (held, due)) in [
            ("inconclusive where due, tail as drawn", self.due(|at| at == 0)),
            ("inconclusive where due, five lengths", self.inconclusive()),
        ] {
            writeln!(text, "| {name} | {held} | {due} | {} |", interval(held, due))?;
        }
        Ok(())
    }

    fn write_confusion(&self, text: &mut String, index: usize) -> std::fmt::Result {
        let mut counts: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for outcome in &self.outcomes {
            let Some(said) = outcome.said.get(index) else { continue };
            let truth = if far(outcome) { outcome.class.name() } else { NEAR };
            *counts.entry((truth, said.verdict.name())).or_default() += 1;
        }
        let columns: Vec<&str> = Verdict::ALL
            .map(Verdict::name)
            .into_iter()
            .filter(|verdict| counts.keys().any(|(_, said)| said == verdict))
            .collect();
        writeln!(text, "| truth | {} |", columns.join(" | "))?;
        writeln!(text, "|---{}|", "|---".repeat(columns.len()))?;
        for truth in Class::ALL.map(Class::name).into_iter().chain([NEAR]) {
            write!(text, "| {truth} |")?;
            for verdict in &columns {
                write!(text, " {} |", counts.get(&(truth, *verdict)).copied().unwrap_or_default())?;
            }
            writeln!(text)?;
        }
        Ok(())
    }

    fn write_families(&self, text: &mut String) -> std::fmt::Result {
        writeln!(text, "| recipe | {} |", Class::ALL.map(Class::name).join(" | "))?;
        writeln!(text, "|---{}|", "|---".repeat(Class::ALL.len()))?;
        for family in FAMILIES {
            write!(text, "| {} |", family.name())?;
            for class in Class::ALL {
                write!(text, " {} |", self.count(|o| o.family == family && o.class == class))?;
            }
            writeln!(text)?;
        }
        Ok(())
    }
}

/// Whether no boundary is known to be near.
fn far(outcome: &Outcome) -> bool {
    outcome.near != Some(true)
}

/// Wilson's interval; the rule of three where nothing was hit.
fn interval(hits: u32, of: u32) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    if hits == 0 {
        return format!("≤ 3 ÷ {of} = {:.3} %", 300.0 / f64::from(of));
    }
    let (low, high) = wilson(hits, of);
    format!("{:.2} to {:.2} %", 100.0 * low, 100.0 * high)
}

impl Outcome {
    /// A line for a table of all cases, with tabs.
    pub fn line(&self) -> String {
        let near = match self.near {
            Some(true) => "near",
            Some(false) => "far",
            None => "-",
        };
        let said = |said: &Said| {
            let miss = said.miss.map_or("", Miss::name);
            let due = if said.due { "" } else { "~" };
            format!("{due}{}{}{miss}", said.verdict, if miss.is_empty() { "" } else { "!" })
        };
        let said: Vec<String> = self.said.iter().map(said).collect();
        let (family, class) = (self.family.name(), self.class.name());
        format!(
            "{}\t{family}\t{class}\t{near}\t{}\t{}",
            self.number,
            said.join("\t"),
            self.broken.join("; ")
        )
    }
}

const NEAR: &str = "near a boundary";
const FAMILIES: [Family; 7] = [
    Family::Metastable,
    Family::Recovered,
    Family::ComesAndGoes,
    Family::Overloaded,
    Family::Slow,
    Family::Untouched,
    Family::Free,
];
