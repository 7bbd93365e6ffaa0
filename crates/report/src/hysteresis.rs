//! What a walk up and down found, for a terminal.

use std::fmt::Write as _;

use goodput_experiment::{Between, Hysteresis, WalkedLoad, Way};

use crate::text::plain;
use crate::{format, table};

/// The loads of a walk, and what it found; ends with a line break.
pub fn hysteresis_text(found: &Hysteresis) -> String {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(found.loads.iter().map(columns));
    let mut text = table::draw(&rows, &[0, 7]);
    let _ = writeln!(text, "\n{}", picture(found));
    let _ = writeln!(text, "{}", conclusion(found));
    for doubt in &found.doubts {
        let _ = writeln!(text, "  ? {}", plain(doubt));
    }
    let _ = writeln!(text, "\nrepeat it: {}", plain(&found.command));
    text
}

fn columns(load: &WalkedLoad) -> Vec<String> {
    vec![
        name(load.way).to_owned(),
        format::number(load.load),
        format::seconds(load.seconds as f64),
        format::number(load.goodput),
        format::percent(load.ratio),
        format::number(load.attempts_per_request),
        format::thousands(load.queued as f64),
        if load.served { "✓ served" } else { "✗ lost" }.to_owned(),
    ]
}

/// Both ways over the same axis of loads.
fn picture(found: &Hysteresis) -> String {
    let mut axis: Vec<f64> = found.loads.iter().map(|load| load.load).collect();
    axis.sort_by(f64::total_cmp);
    axis.dedup();
    let column = |load: f64| axis.iter().position(|known| known.to_bits() == load.to_bits());
    let mut text = String::new();
    for way in [Way::Up, Way::Down] {
        let mut line = vec![' '; axis.len()];
        for walked in found.loads.iter().filter(|walked| walked.way == way) {
            if let Some(column) = column(walked.load) {
                line[column] = if walked.served { '━' } else { '·' };
            }
        }
        let line: String = line.into_iter().collect();
        let _ = writeln!(text, "  load {:<5} {}", name(way), line.trim_end());
    }
    let ends = axis.first().zip(axis.last());
    if let Some((first, last)) = ends {
        let (first, last) = (format::number(*first), format::number(*last));
        let gap = axis.len().saturating_sub(first.chars().count());
        let _ = writeln!(text, "             {first}{last:>gap$}/s   ━ served   · goodput is lost");
    }
    text
}

fn conclusion(found: &Hysteresis) -> String {
    let between = |between: Between| {
        format!("{} and {}", format::number(between.low), format::number(between.high))
    };
    let capacity = found
        .capacity
        .map_or_else(String::new, |capacity| format!(" (capacity {})", format::number(capacity)));
    let Some(lost) = found.lost_between else {
        let interrupted = if found.interrupted { "; the walk was interrupted" } else { "" };
        return format!("every load is served{capacity}{interrupted}");
    };
    let lost = format!("goodput is lost between {} a second{capacity}", between(lost));
    let safe = found.capacity.map_or_else(String::new, |capacity| {
        format!(" (capacity / k = {})", format::number(capacity / found.factor))
    });
    let (Some(back), Some(ratio)) = (found.back_between, found.ratio) else {
        let why = if found.interrupted { ": the walk was interrupted" } else { "" };
        return format!("{lost}\nand did not return down to the lowest load{safe}{why}");
    };
    format!(
        "{lost}\nand returns between {} a second{safe}: a factor of {} to {} apart, where k is {}",
        between(back),
        format::number(ratio.low),
        format::number(ratio.high),
        format::number(found.factor)
    )
}

const fn name(way: Way) -> &'static str {
    match way {
        Way::Up => "up",
        Way::Down => "down",
    }
}

const HEAD: [&str; 8] = [
    "way",
    "load",
    "held",
    "goodput",
    "good ÷ offered",
    "attempts/request",
    "queued",
    "goodput is",
];

#[cfg(test)]
mod tests {
    use goodput_runlog::EngineKind;

    use super::*;

    fn walked(way: Way, load: f64, served: bool) -> WalkedLoad {
        WalkedLoad {
            way,
            load,
            seconds: 120,
            goodput: if served { load } else { 0.0 },
            ratio: f64::from(u8::from(served)),
            attempts_per_request: if served { 1.0 } else { 4.0 },
            queued: 0,
            served,
        }
    }

    fn found() -> Hysteresis {
        Hysteresis {
            schema: Hysteresis::SCHEMA,
            scenario: "database-failover".to_owned(),
            arm: None,
            command: "goodput hysteresis database-failover".to_owned(),
            engine: EngineKind::Simulator,
            seed: 1,
            capacity: Some(100.0),
            factor: 4.0,
            loads: vec![
                walked(Way::Up, 50.0, true),
                walked(Way::Up, 100.0, true),
                walked(Way::Up, 150.0, false),
                walked(Way::Down, 100.0, false),
                walked(Way::Down, 50.0, false),
            ],
            lost_between: Some(Between { low: 100.0, high: 150.0 }),
            back_between: None,
            ratio: None,
            interrupted: false,
            doubts: Vec::new(),
        }
    }

    #[test]
    fn the_picture_shows_both_ways_over_one_axis() {
        let text = hysteresis_text(&found());
        assert!(text.contains("  load up    ━━·\n  load down  ··\n"), "{text}");
        assert!(text.contains("lost between 100 and 150 a second (capacity 100)"), "{text}");
        assert!(
            text.contains("did not return down to the lowest load (capacity / k = 25)"),
            "{text}"
        );
    }

    #[test]
    fn the_two_loads_are_set_against_k() {
        let back = Between { low: 20.0, high: 25.0 };
        let ratio = Between { low: 4.0, high: 7.5 };
        let text = hysteresis_text(&Hysteresis {
            back_between: Some(back),
            ratio: Some(ratio),
            ..found()
        });
        assert!(text.contains("returns between 20 and 25 a second"), "{text}");
        assert!(text.contains("a factor of 4 to 7.5 apart, where k is 4"), "{text}");
    }
}
