use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::display::board::Second;

/// A run whose goodput is gone at 64 s.
fn run(label: &str) -> Run {
    let mut run = Run::new(label, 240.0, Some((60.0, 80.0)), 10.0);
    run.stage = Stage::Running;
    for second in 0..150 {
        let up = second < 64;
        run.add(Second {
            at: f64::from(second),
            offered: 80.0,
            goodput: if up { 80.0 } else { 0.0 },
            throughput: Some(if up { 80.0 } else { 100.0 }),
            attempts: if up { 80.0 } else { 312.0 },
            queue_delay: Some(if up { 0.012 } else { 42.0 }),
        });
    }
    run
}

fn picture(runs: &[Run], width: u16, height: u16, levers: bool) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let scene = Scene {
        title: "database-failover: speed 10",
        runs,
        selected: 0,
        elapsed: 15.0,
        stopping: false,
        levers,
        notice: None,
        palette: Palette::new(false),
    };
    terminal.draw(|frame| draw(frame, &scene)).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let lines = (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect());
    lines.collect()
}

#[test]
fn a_wide_picture_has_all_five_figures_and_the_course_of_goodput() {
    let lines = picture(&[run("naive")], 120, height(1), true);
    assert!(lines[0].starts_with("database-failover: speed 10"), "{}", lines[0]);
    assert!(lines[0].ends_with("15 s of wall time"), "{}", lines[0]);
    for head in ["phase", "time", "offered", "goodput", "throughput", "att/req", "queue"] {
        assert!(lines[1].contains(head), "{head} in {}", lines[1]);
    }
    let row: Vec<_> = lines[2].split_whitespace().collect();
    let expected = ["naive", "baseline", "150", "s", "80/s", "0/s", "100/s", "3.90", "42.0", "s"];
    assert_eq!(row[..expected.len()], expected);
    assert!(row[expected.len()].starts_with("██") && row[expected.len()].ends_with("▁▁"));
    assert!(lines.iter().any(|line| line.contains("100/s│")), "{lines:#?}");
    assert!(lines.last().unwrap().contains("s shed queue"));
}

#[test]
fn seven_runs_fit_a_terminal_of_80_columns_and_24_lines() {
    let runs: Vec<_> = ["naive", "backoff-only", "no-retries", "drop-expired", "retry-budget"]
        .into_iter()
        .chain(["loose-budget", "bounded-queue"])
        .map(run)
        .collect();
    assert!(height(runs.len()) < 24);
    let lines = picture(&runs, 80, height(runs.len()), true);
    assert!(lines[2].contains("▸ naive"), "{}", lines[2]);
    assert!(lines[8].contains("bounded-queue"), "{}", lines[8]);
    assert!(lines[8].contains("42.0 s █"), "{}", lines[8]);
    assert!(lines.last().unwrap().trim_end().ends_with("x restart"), "{lines:#?}");
}

#[test]
fn a_verdict_stands_with_its_cause() {
    let mut ended = run("naive");
    let verdict = "not-recovered: overloaded".to_owned();
    ended.stage = Stage::Ended { verdict, held: false };
    for width in [80, 120] {
        let lines = picture(&[run("other"), ended.clone()], width, height(2), true);
        assert!(lines[3].contains(" not-recovered: overloaded "), "{}", lines[3]);
        assert!(lines[3].contains("42.0 s"), "{}", lines[3]);
    }
}

#[test]
fn where_there_are_no_levers_no_keys_for_them_are_shown() {
    let lines = picture(&[run("load")], 80, height(1), false);
    assert_eq!(lines.last().unwrap().trim_end(), "q stop");
}

#[test]
fn no_size_of_a_terminal_is_too_small_to_be_drawn_on() {
    for (width, height) in [(1, 1), (10, 2), (40, 5), (79, 9), (300, 3)] {
        picture(&[run("naive"), Run::new("waits", 240.0, None, 1.0)], width, height, true);
    }
}

#[test]
fn an_axis_ends_just_above_what_it_shows() {
    for (value, top) in [(1.0, 1.0), (79.0, 80.0), (101.0, 120.0), (312.0, 400.0)] {
        assert_eq!(round_up(value).to_bits(), f64::to_bits(top), "{value}");
    }
}
