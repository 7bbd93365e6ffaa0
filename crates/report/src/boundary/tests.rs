use goodput_experiment::{Band, Curve, Flip, Forms, Measured, Measurement, Outcome, Point};
use goodput_verdict::Verdict;

use super::*;
use crate::answer::{Answer, BoundaryReport};

fn point(value: f64, failed: u32) -> Point {
    Point {
        value,
        runs: 100,
        recovered: 100 - failed,
        metastable: failed,
        slow_recovery: 0,
        unstable: 0,
        not_recovered: 0,
        inconclusive: 0,
        share: Some(f64::from(failed) / 100.0),
        low: 0.0,
        high: 1.0,
        time_to_recover: (failed < 100).then_some(4.0),
        doubt: None,
    }
}

fn flip() -> Flip {
    let band = Some(Band { five: Some(9.6), ninety_five: Some(11.5) });
    Flip { recovers: 10.4, fails: 10.5, boundary: 10.44, band, more: 0 }
}

fn measured(value: f64, verdict: Verdict, doubt: Option<&str>) -> Measured {
    let outcome = |verdict| Outcome {
        verdict,
        cause: None,
        time_to_recover: (verdict == Verdict::Recovered).then_some(4.0),
        doubt: doubt.map(str::to_owned),
    };
    let predicted = if value < 10.45 { Verdict::Recovered } else { Verdict::Metastable };
    Measured { value, seed: 1, measured: outcome(verdict), predicted: Some(outcome(predicted)) }
}

/// An answer of both engines.
fn answer() -> Boundary {
    let runs = vec![
        measured(9.6, Verdict::Recovered, None),
        measured(11.5, Verdict::Metastable, None),
        measured(10.55, Verdict::Inconclusive, Some("the generator was late\u{1b}[2J")),
        measured(10.3, Verdict::Recovered, None),
    ];
    let points =
        vec![point(9.0, 0), point(9.6, 5), point(10.44, 50), point(11.5, 95), point(12.0, 100)];
    let curve = Curve { points, flip: Some(flip()), throughout: None, cut_short: false };
    Boundary {
        schema: Boundary::SCHEMA,
        scenario: "database-failover".to_owned(),
        arm: Some("naive".to_owned()),
        path: "fault.for".to_owned(),
        unit: "s".to_owned(),
        written: Some(20.0),
        from: 2.0,
        to: 40.0,
        seeds: 100,
        seed: 1,
        prediction: Some(curve),
        same_arrivals: Some(Flip { band: None, ..flip() }),
        measurement: Some(Measurement::of(10.0, runs, true, Some((9.6, 11.5)), false)),
        closed_forms: Some(Forms {
            load: 80.0,
            capacity: 100.0,
            capacity_during: 40.0,
            amplification: 4.0,
            stable_load: 25.0,
            defence: None,
            safe_trigger: Some(9.5),
            amplified_trigger: Some(10.75),
            sure_trigger: Some(12.0),
            recovers: Some(9.5),
            sticks: Some(12.0),
        }),
        command: "goodput boundary database-failover --vary fault.for".to_owned(),
        version: "0.1.0".to_owned(),
        exit: Exit::Held,
        exit_code: 0,
    }
}

#[test]
fn text_sets_prediction_measurement_and_arithmetic_side_by_side() {
    let text = text(&answer(), TextStyle::default());
    for part in [
        "database-failover, arm naive: fault.for from 2 s to 40 s",
        "half of the runs fail at 10.44 s",
        "5 % fail at 9.6 s, 95 % at 11.5 s",
        "boundary at 10.9 s: recovered up to 10.3 s, failed from 11.5 s on",
        "inside the predicted band",
        "3 of 3 conclusive runs as predicted",
        "inconclusive at 10.55 s: the generator was late [2J",
        "C / k = 100/s / 4 = 25/s",
        "trigger of 10.75 s: amplification reaches C / load = 1.25",
        "prediction    10.44 s (5–95 %: 9.6 s to 11.5 s)",
        "measurement   10.9 s (10.3 s to 11.5 s)",
        "closed forms  recovers up to 9.5 s, sticks from 12 s on",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_row_of_the_table_is_a_value_or_a_run() {
    let csv = csv(&answer());
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 1 + 5 + 4);
    assert!(rows.iter().all(|row| row.matches(',').count() == 14), "{csv}");
    assert_eq!(rows[3], "simulator,10.44,,100,50,0,0,50,0,0,,0.5,0,1,4");
    assert_eq!(rows[6], "rig,9.6,1,1,1,0,0,0,0,0,,,,,4");
}

#[test]
fn failed_runs_are_called_by_their_verdicts() {
    let mut mixed = answer();
    if let Some(point) = mixed.prediction.as_mut().map(|curve| &mut curve.points[2]) {
        (point.metastable, point.unstable, point.not_recovered) = (30, 15, 5);
    }
    if let Some(run) = mixed.measurement.as_mut().map(|measurement| &mut measurement.runs[1]) {
        run.measured.verdict = Verdict::NotRecovered;
        run.measured.cause = Some(Cause::Down);
    }
    let text = text(&mixed, TextStyle::default());
    assert!(text.contains("15 unstable, 30 metastable, 5 not-recovered"), "{text}");
    assert!(text.contains("not-recovered: down"), "{text}");
    let csv = csv(&mixed);
    assert!(csv.contains("\nsimulator,10.44,,100,50,0,15,30,5,0,,0.5,"), "{csv}");
    assert!(csv.contains("\nrig,11.5,1,1,0,0,0,0,1,0,down,,,,"), "{csv}");
}

#[test]
fn the_page_stands_alone_and_the_picture_is_one_of_xml() {
    let html = html(&answer());
    assert!(html.contains("<svg") && html.contains("Measured as predicted"));
    let loaded = ["src=", "href=", "@import", "url("];
    assert!(!loaded.iter().any(|part| html.contains(part)));
    let svg = svg(&answer());
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(svg.matches("<circle").count(), 5 + 4);
    assert!(!svg.contains("NaN") && !svg.contains('\u{1b}'), "{svg}");
}

#[test]
fn an_answer_without_a_prediction_or_of_an_interruption_is_written_too() {
    let mut rig_alone = answer();
    (rig_alone.prediction, rig_alone.same_arrivals, rig_alone.seeds) = (None, None, 0);
    let mut interrupted = answer();
    (interrupted.measurement, interrupted.closed_forms) = (None, None);
    if let Some(curve) = &mut interrupted.prediction {
        (curve.flip, curve.cut_short) = (None, true);
        curve.points.truncate(1);
    }
    (interrupted.exit, interrupted.exit_code) = (Exit::Interrupted, 4);
    for answer in [rig_alone, interrupted] {
        let report = BoundaryReport(&answer);
        assert!(report.to_text(TextStyle { colour: true }).contains("repeat it"));
        assert!(!report.to_svg().contains("NaN"));
        let read: Boundary = serde_json::from_str(&report.to_json().unwrap()).unwrap();
        assert_eq!(read, answer);
    }
}
