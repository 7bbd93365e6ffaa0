//! What came of a drill, for a terminal.

use std::fmt::Write as _;

use goodput_experiment::{Drill, DrillRow, Sought};
use goodput_runlog::EngineKind;

use crate::text::plain;
use crate::{format, table, told};

/// The table of a drill's actions; ends with a line break.
pub fn drill_text(drill: &Drill) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n", introduction(drill));
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(drill.rows.iter().map(|row| columns(row, drill.seeds.len())));
    text += &table::draw(&rows, &[0, 1, 2, 5]);
    let _ = writeln!(text, "\n{LEGEND}");
    for row in &drill.rows {
        for doubt in &row.doubts {
            let _ = writeln!(text, "  ? {}: {}", plain(&row.tried), plain(doubt));
        }
    }
    let _ = writeln!(text, "\n{}", conclusion(drill));
    let _ = writeln!(text, "\nrepeat it: {}", plain(&drill.command));
    text
}

fn introduction(drill: &Drill) -> String {
    let arm = drill.arm.as_ref().map(|arm| format!(", arm {arm}")).unwrap_or_default();
    let engine = match drill.engine {
        EngineKind::Rig => "on the rig",
        EngineKind::Simulator => "in virtual time",
    };
    let seeds: Vec<_> = drill.seeds.iter().map(u64::to_string).collect();
    let without = &drill.without;
    format!(
        "{}{arm}, {engine}, seeds {}\n\
         without an action: goodput {} a second instead of {}, {} attempts a request\n\
         an action begins {} after the trigger's end, when {} attempts wait;\n\
         goodput may take {} to be back",
        plain(&drill.scenario),
        seeds.join(", "),
        format::number(without.goodput_at_end),
        format::number(without.goodput_before),
        format::number(without.attempts_per_request),
        format::seconds(drill.after),
        format::thousands(without.queued),
        format::seconds(drill.within),
    )
}

fn columns(row: &DrillRow, seeds: usize) -> Vec<String> {
    let mark = if row.works { "✓" } else { "✗" };
    let least = match row.sought {
        Some(Sought { least: Some(least), unit, .. }) => unit.format(least),
        Some(Sought { least: None, .. }) => "none".to_owned(),
        None => "–".to_owned(),
    };
    let dash = || "–".to_owned();
    vec![
        plain(&row.action),
        format!("{mark} {} of {seeds}", row.worked),
        least,
        row.time_to_recover.map_or_else(|| "never".to_owned(), format::moment),
        row.goodput_lost.map_or_else(dash, format::thousands),
        otherwise(row),
    ]
}

/// What happens where an action does not work.
fn otherwise(row: &DrillRow) -> String {
    let Some(seconds) = row.goodput_seconds else { return String::new() };
    let most = row.sought.map_or_else(String::new, |sought| {
        format!(" even at {}", sought.unit.format(sought.strongest))
    });
    let verdict = match row.run_longer {
        Some(seconds) => format!("not long enough ({})", told::longer(seconds)),
        None => row.name(),
    };
    format!("{verdict}{most}, with goodput for {}", format::moment(seconds))
}

fn conclusion(drill: &Drill) -> String {
    let working = drill.rows.iter().filter(|row| row.works);
    let lost = |row: &&DrillRow| row.goodput_lost.unwrap_or(f64::INFINITY);
    let best = working.min_by(|a, b| lost(a).total_cmp(&lost(b)));
    match best {
        Some(row) => format!(
            "fewest requests lost: {} ({}, back after {})",
            plain(&row.tried),
            format::thousands(row.goodput_lost.unwrap_or_default()),
            format::moment(row.time_to_recover.unwrap_or_default()),
        ),
        None if drill.rows.is_empty() => "no action was tried".to_owned(),
        None => "no action works".to_owned(),
    }
}

/// Short, so that the table fits into 100 columns.
const HEAD: [&str; 6] = ["action", "works", "least", "recovery", "lost", "otherwise"];
/// What the columns hold, where their names are too short to say it.
const LEGEND: &str = "works: with how many seeds; least: the least that works with all of them;\n\
    recovery: from the action's first step; lost: requests of the usual goodput until then";

#[cfg(test)]
mod tests {
    use goodput_experiment::{Unit, Without};
    use goodput_verdict::{Cause, Exit, Verdict};

    use super::*;

    fn row(action: &str, works: bool, sought: Option<Sought>) -> DrillRow {
        DrillRow {
            action: action.to_owned(),
            tried: action.replace('?', "143s"),
            sought,
            works,
            worked: u32::from(works),
            verdict: if works { Verdict::Recovered } else { Verdict::Metastable },
            cause: None,
            run_longer: None,
            doubts: Vec::new(),
            time_to_recover: works.then_some(147.0),
            goodput_lost: works.then_some(11_760.0),
            goodput_seconds: (!works).then_some(5.5),
        }
    }

    fn drill(rows: Vec<DrillRow>) -> Drill {
        Drill {
            schema: Drill::SCHEMA,
            scenario: "database-failover".to_owned(),
            arm: Some("naive".to_owned()),
            command: "goodput drill database-failover".to_owned(),
            engine: EngineKind::Simulator,
            seeds: vec![1],
            after: 60.0,
            within: 900.0,
            without: Without {
                goodput_before: 79.5,
                goodput_at_end: 0.0,
                attempts_per_request: 4.0,
                queued: 13_210.0,
            },
            rows,
            exit: Exit::Held,
            exit_code: 0,
        }
    }

    #[test]
    fn the_table_says_what_works_what_is_the_least_and_what_happens_otherwise() {
        let sought = |least| Sought {
            unit: Unit::Seconds,
            mildest: 1.0,
            strongest: 600.0,
            step: 1.0,
            least,
        };
        let rows = vec![
            row("restart", false, None),
            row("block=?", true, Some(sought(Some(143.0)))),
            row("admit=20%:?", false, Some(sought(None))),
        ];
        let text = drill_text(&drill(rows));
        for part in [
            "when 13,210 attempts wait",
            "restart      ✗ 0 of 1  –         never       –  metastable, with goodput for 5.5 s",
            "block=?      ✓ 1 of 1  143s      147 s  11,760\n",
            "metastable even at 600s",
            "fewest requests lost: block=143s (11,760, back after 147 s)",
            "repeat it: goodput drill database-failover",
        ] {
            assert!(text.contains(part), "no `{part}` in\n{text}");
        }
    }

    #[test]
    fn what_does_not_work_is_told_from_what_was_not_seen_for_long_enough() {
        let down = DrillRow {
            verdict: Verdict::NotRecovered,
            cause: Some(Cause::Down),
            ..row("restart", false, None)
        };
        let short = DrillRow {
            verdict: Verdict::Inconclusive,
            run_longer: Some(340.0),
            ..row("load=5%:600s", false, None)
        };
        let text = drill_text(&drill(vec![down, short]));
        assert!(text.contains("not-recovered: down, with goodput for 5.5 s"), "{text}");
        assert!(text.contains("not long enough (run 340 s longer), with goodput"), "{text}");
    }

    #[test]
    fn a_drill_in_which_nothing_works_says_so() {
        let text = drill_text(&drill(vec![row("restart", false, None)]));
        assert!(text.contains("no action works"), "{text}");
    }
}
