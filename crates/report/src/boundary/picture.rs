//! The share of failures over what is varied, with the runs of the rig and the closed forms.

use goodput_experiment::{Boundary, Side};

use super::words::outcome_text;
use crate::plane::{Plane, PlaneAxis, Range, share, show};

/// The picture.
pub(crate) fn svg(boundary: &Boundary) -> String {
    let Boundary { path, unit, .. } = boundary;
    let x = shown(boundary);
    let mut plane =
        Plane::new(&format!("{}: share of runs that fail over {path}", boundary.scenario));
    plane.axes(
        &PlaneAxis { label: path, unit, range: x },
        &PlaneAxis {
            label: "share of runs that fail, with 95 % intervals",
            unit: "",
            range: Range { from: 0.0, to: 1.0 },
        },
    );
    let inside = |value: f64| value >= x.from && value <= x.to;
    let flip = boundary.prediction.as_ref().and_then(|curve| curve.flip.as_ref());
    if let Some((flip, band)) = flip.and_then(|flip| Some((flip, flip.band?))) {
        let (from, to) = band.ends(boundary.from, boundary.to, flip.fails_above());
        plane.rectangle((from, to), (0.0, 1.0), "gp-band", "5 to 95 % fail");
    }
    if let Some(forms) = &boundary.closed_forms {
        // At two heights, so that the words of lines that are close do not cover each other.
        let bounds = [
            (forms.recovers, 0.55, "recovers up to here"),
            (forms.sticks, 0.47, "sticks from here"),
        ];
        for (value, height, name) in bounds {
            if let Some(value) = value.filter(|value| inside(*value)) {
                plane.line(&[(value, 0.0), (value, 1.0)], "gp-form");
                plane.text((value, height), &format!("by arithmetic: {name}"));
            }
        }
    }
    let points: Vec<_> = boundary
        .prediction
        .iter()
        .flat_map(|curve| &curve.points)
        .filter_map(|point| Some((point, point.share?)))
        .filter(|(point, _)| inside(point.value))
        .collect();
    for (point, _) in &points {
        plane.line(&[(point.value, point.low), (point.value, point.high)], "gp-bar");
    }
    let curve: Vec<_> = points.iter().map(|(point, share)| (point.value, *share)).collect();
    plane.line(&curve, "gp-curve");
    for (point, found) in &points {
        let failed = point.runs - point.recovered;
        let title =
            format!("{}: {failed} of {}, {}", show(point.value, unit), point.runs, share(*found));
        let class = if *found < 0.5 { "gp-up" } else { "gp-down" };
        plane.mark((point.value, *found), class, &title);
    }
    for run in boundary.measurement.iter().flat_map(|measurement| &measurement.runs) {
        let (height, class) = match run.measured.side() {
            Some(Side::Recovers) => (0.04, "gp-up"),
            Some(Side::Fails) => (0.96, "gp-down"),
            None => (0.5, "gp-odd"),
        };
        let title = format!(
            "rig, {}, seed {}: {}",
            show(run.value, unit),
            run.seed,
            outcome_text(&run.measured)
        );
        plane.line(&[(run.value, height - 0.03), (run.value, height + 0.03)], "gp-form");
        plane.mark((run.value, height), class, &title);
    }
    let mut legend =
        vec![("gp-r2", "mostly recovers".to_owned()), ("gp-fail", "mostly fails".to_owned())];
    if boundary.measurement.is_some() {
        legend.push(("gp-form", "on a dashed stroke: a run on the rig".to_owned()));
    }
    plane.legend(&legend);
    plane.finish()
}

/// What is shown: where the share rises, with some room; the whole range where nothing does.
fn shown(boundary: &Boundary) -> Range {
    let points = boundary.prediction.iter().flat_map(|curve| &curve.points);
    let most = points.clone().map(|point| point.runs).max().unwrap_or(0);
    let whole = points.filter(|point| point.runs == most).map(|point| point.value);
    let rig = boundary.measurement.iter().flat_map(|measurement| &measurement.runs);
    let values: Vec<f64> = whole.chain(rig.map(|run| run.value)).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least >= greatest {
        return Range { from: boundary.from, to: boundary.to };
    }
    let room = (greatest - least) * 0.08;
    Range { from: (least - room).max(boundary.from), to: (greatest + room).min(boundary.to) }
}
