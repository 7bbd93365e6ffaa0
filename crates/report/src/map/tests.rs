use goodput_experiment::Outcome;
use goodput_verdict::Exit;

use super::*;
use crate::answer::{Answer, MapReport};

fn outcome(verdict: Verdict, time_to_recover: Option<f64>) -> Outcome {
    Outcome { verdict, cause: None, time_to_recover, doubt: None }
}

/// Four columns and three rows: below the diagonal it recovers.
fn answer() -> Map {
    let xs = [20.0, 40.0, 60.0, 80.0];
    let ys = [5.0, 10.0, 15.0];
    let cell = |x: f64, y: f64| match x + y * 4.0 {
        sum if sum > 110.0 => Cell::from(outcome(Verdict::Metastable, None)),
        sum => Cell::from(outcome(Verdict::Recovered, Some(sum / 3.0))),
    };
    let mut cells: Vec<Vec<Cell>> =
        ys.iter().map(|y| xs.iter().map(|x| cell(*x, *y)).collect()).collect();
    cells[2][3] = Cell::default();
    let line = Line {
        name: "C / k".to_owned(),
        meaning: "the load below which no trigger sticks".to_owned(),
        segments: vec![[(25.0, 5.0), (25.0, 10.0)], [(25.0, 10.0), (25.0, 15.0)]],
    };
    Map {
        schema: Map::SCHEMA,
        scenario: "database-failover".to_owned(),
        arm: Some("naive".to_owned()),
        seed: 1,
        x: Axis { path: "load.rate".to_owned(), unit: "/s".to_owned(), values: xs.to_vec() },
        y: Axis { path: "fault.for".to_owned(), unit: "s".to_owned(), values: ys.to_vec() },
        cells,
        lines: vec![line],
        confirmed: vec![Confirmed {
            column: 3,
            row: 1,
            measured: outcome(Verdict::Metastable, None),
            predicted: Some(outcome(Verdict::Metastable, None)),
        }],
        command: "goodput map database-failover".to_owned(),
        version: "0.1.0".to_owned(),
        exit: Exit::Held,
        exit_code: 0,
    }
}

#[test]
fn text_has_a_character_a_cell_with_the_greatest_y_on_top() {
    let text = text(&answer(), TextStyle::default());
    let rows = text.lines().filter_map(|line| line.split_once('│')).map(|(_, row)| row);
    assert_eq!(rows.collect::<Vec<_>>(), [":+# ", "::+#", ":::+"], "{text}");
    for part in [
        "fault.for from 5 s to 15 s",
        "20/s",
        "C / k (the load below which no trigger sticks): load.rate = 25/s, fault.for 5 s to 15 s",
        "rig, load.rate 80/s, fault.for 10 s: metastable; simulator metastable ✓",
        "# metastable 2",
        "not run 1",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    let coloured = super::text(&answer(), TextStyle { colour: true });
    assert!(coloured.contains("\u{1b}[30;48;5;166m#\u{1b}[0m"), "{coloured}");
}

#[test]
fn what_comes_and_goes_and_what_is_down_for_a_cause_have_signs_and_counts_of_their_own() {
    let mut map = answer();
    map.cells[2][2] = Cell::from(outcome(Verdict::Unstable, None));
    let down = Outcome { cause: Some(Cause::Overloaded), ..outcome(Verdict::NotRecovered, None) };
    map.cells[2][3] = Cell::from(down);
    let text = text(&map, TextStyle::default());
    let top = text.lines().find_map(|line| line.split_once('│')).unwrap().1;
    assert_eq!(&top[2..], "~!", "{text}");
    for part in ["~ unstable 1", "# metastable 1", "! not-recovered 1"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(csv(&map).contains("\n80,15,not-recovered,overloaded,,\n"));
    let svg = svg(&map);
    assert!(svg.contains("fault.for 15 s: not-recovered: overloaded"), "{svg}");
    assert!(svg.contains("gp-swings") && svg.contains("gp-notback"));
}

#[test]
fn the_table_has_a_row_a_cell() {
    let csv = csv(&answer());
    assert_eq!(csv.lines().count(), 1 + 12);
    assert!(
        csv.starts_with("load.rate,fault.for,verdict,cause,time_to_recover,rig\n20,5,recovered,,")
    );
    assert!(csv.contains("\n80,10,metastable,,,metastable\n"), "{csv}");
    assert!(csv.ends_with("\n80,15,,,,\n"), "{csv}");
}

#[test]
fn the_picture_covers_the_plane_and_draws_the_lines_in() {
    let svg = svg(&answer());
    assert!(svg.contains(">C / k</text>") && svg.contains("gp-form"));
    assert!(svg.contains("fault.for 10 s: metastable"), "{svg}");
    assert!(!svg.contains("NaN"));
    assert_eq!(edges(&[5.0, 10.0, 15.0]), [2.5, 7.5, 12.5, 17.5]);
    assert_eq!(edges(&[3.0]), [2.5, 3.5]);
}

#[test]
fn the_page_stands_alone_and_json_reads_back() {
    let map = answer();
    let html = html(&map);
    assert!(html.contains("<svg") && html.contains("On the rig"));
    assert!(!["src=", "href=", "@import", "url("].iter().any(|part| html.contains(part)));
    let read: Map = serde_json::from_str(&MapReport(&map).to_json().unwrap()).unwrap();
    assert_eq!(read, map);
}
