use goodput_verdict::Verdict;

use super::*;

fn outcome(verdict: Verdict) -> Outcome {
    let doubt = (verdict == Verdict::Inconclusive).then(|| "late".to_owned());
    Outcome {
        verdict,
        cause: None,
        time_to_recover: (verdict == Verdict::Recovered).then_some(3.0),
        doubt,
    }
}

fn search(from: f64, to: f64, seeds: u64) -> Search {
    Search { from, to, whole: false, resolution: 0.05, grid: 17, seeds: (1..=seeds).collect() }
}

/// A model whose threshold is that of its seed.
fn by_threshold(
    threshold: impl Fn(u64) -> f64,
    above: Verdict,
    below: Verdict,
) -> impl FnMut(&[Trial]) -> Vec<Option<Outcome>> {
    move |trials| {
        let verdict =
            |trial: &Trial| if trial.value >= threshold(trial.seed) { above } else { below };
        trials.iter().map(|trial| Some(outcome(verdict(trial)))).collect()
    }
}

/// Thresholds from 9.5 to 11.5, equally spread over the seeds 1 to 100 in no order.
fn spread(seed: u64) -> f64 {
    9.5 + 2.0 * ((seed * 37) % 100) as f64 / 100.0
}

#[test]
fn one_seed_is_narrowed_to_the_resolution() {
    let mut run = by_threshold(|_| 10.27, Verdict::Metastable, Verdict::Recovered);
    let curve = trace(&search(2.0, 40.0, 1), &mut run);
    let flip = curve.flip.unwrap();
    assert!(flip.recovers < 10.27 && flip.fails >= 10.27, "{flip:?}");
    assert!(flip.fails - flip.recovers <= 0.05 && flip.fails_above(), "{flip:?}");
    assert_eq!((flip.band, flip.more, curve.cut_short), (None, 0, false));
    assert!(curve.points.is_sorted_by(|a, b| a.value < b.value));
}

#[test]
fn a_number_whose_lesser_values_fail_is_followed_downwards() {
    let mut run = by_threshold(|_| 0.53, Verdict::Recovered, Verdict::Metastable);
    let narrow = Search { resolution: 0.001, ..search(0.1, 0.9, 1) };
    let flip = trace(&narrow, &mut run).flip.unwrap();
    assert!(!flip.fails_above() && (flip.boundary - 0.53).abs() < 0.001, "{flip:?}");
    let mut run = by_threshold(spread, Verdict::Recovered, Verdict::Metastable);
    let flip = trace(&search(2.0, 40.0, 100), &mut run).flip.unwrap();
    let band = flip.band.unwrap();
    assert!((band.five.unwrap() - 11.4).abs() < 0.1, "{band:?}");
    assert!((band.ninety_five.unwrap() - 9.6).abs() < 0.1, "{band:?}");
    assert_eq!(band.ends(2.0, 40.0, false), (band.ninety_five.unwrap(), band.five.unwrap()));
}

#[test]
fn whole_numbers_are_narrowed_to_neighbours() {
    let mut run = by_threshold(|_| 3.0, Verdict::Metastable, Verdict::Recovered);
    let whole = Search { whole: true, ..search(0.0, 10.0, 1) };
    let curve = trace(&whole, &mut run);
    let flip = curve.flip.unwrap();
    assert_eq!((flip.recovers, flip.fails), (2.0, 3.0));
    assert!(curve.points.iter().all(|point| point.value.fract() == 0.0));
}

#[test]
fn over_seeds_the_band_is_where_5_and_95_percent_fail() {
    let mut run = by_threshold(spread, Verdict::Metastable, Verdict::Recovered);
    let curve = trace(&search(2.0, 40.0, 100), &mut run);
    let flip = curve.flip.unwrap();
    let band = flip.band.unwrap();
    assert!((flip.boundary - 10.5).abs() < 0.1, "{flip:?}");
    assert!((band.five.unwrap() - 9.6).abs() < 0.1, "{band:?}");
    assert!((band.ninety_five.unwrap() - 11.4).abs() < 0.1, "{band:?}");
    for point in &curve.points {
        let share = point.share.unwrap();
        assert!(point.low <= share && share <= point.high, "{point:?}");
        assert_eq!(point.recovered + point.metastable, point.runs);
    }
    // The same question again asks for the same runs and finds the same.
    let mut again = by_threshold(spread, Verdict::Metastable, Verdict::Recovered);
    let second = trace(&search(2.0, 40.0, 100), &mut again);
    assert_eq!(second.points, curve.points);
}

#[test]
fn a_verdict_that_does_not_flip_is_told_with_its_side() {
    for (verdict, side) in [
        (Verdict::Recovered, Some(Side::Recovers)),
        (Verdict::Steady, Some(Side::Recovers)),
        (Verdict::Metastable, Some(Side::Fails)),
        (Verdict::SlowRecovery, Some(Side::Fails)),
        (Verdict::Inconclusive, None),
    ] {
        let mut run = by_threshold(|_| 0.0, verdict, verdict);
        let curve = trace(&search(1.0, 5.0, 3), &mut run);
        assert_eq!((curve.throughout, curve.flip), (side, None), "{verdict}");
        assert_eq!(curve.points.len(), 17);
    }
}

#[test]
fn an_island_of_failure_is_entered_from_the_side_that_recovers() {
    let mut run = |trials: &[Trial]| {
        let verdict = |trial: &Trial| match trial.value {
            4.0..6.0 => Verdict::Metastable,
            _ => Verdict::Recovered,
        };
        trials.iter().map(|trial| Some(outcome(verdict(trial)))).collect::<Vec<_>>()
    };
    let flip = trace(&search(1.0, 10.0, 1), &mut run).flip.unwrap();
    assert!((flip.boundary - 4.0).abs() < 0.05, "{flip:?}");
    assert_eq!(flip.more, 1);
}

#[test]
fn inconclusive_values_are_left_out_and_told() {
    let mut run = |trials: &[Trial]| {
        let verdict = |trial: &Trial| match trial.value {
            value if value > 20.0 => Verdict::Inconclusive,
            value if value > 10.0 => Verdict::Metastable,
            _ => Verdict::Recovered,
        };
        trials.iter().map(|trial| Some(outcome(verdict(trial)))).collect::<Vec<_>>()
    };
    let curve = trace(&search(1.0, 40.0, 1), &mut run);
    assert!((curve.flip.unwrap().boundary - 10.0).abs() < 0.05);
    let last = curve.points.last().unwrap();
    assert_eq!((last.runs, last.inconclusive, last.share), (0, 1, None));
    assert_eq!(last.doubt.as_deref(), Some("late"));
}

#[test]
fn what_has_been_run_is_kept_when_runs_are_cut_short() {
    let mut left = 30;
    let mut run = |trials: &[Trial]| {
        let answer = |trial: &Trial| {
            left -= 1;
            let verdict =
                if trial.value >= 10.27 { Verdict::Metastable } else { Verdict::Recovered };
            (left >= 0).then(|| outcome(verdict))
        };
        trials.iter().map(answer).collect::<Vec<_>>()
    };
    let curve = trace(&search(2.0, 40.0, 100), &mut run);
    assert!(curve.cut_short);
    assert_eq!(curve.points.iter().map(|point| point.runs).sum::<u32>(), 30);
    assert_eq!(curve.throughout, None);
}

#[test]
fn two_values_are_the_least_grid_and_the_ends_of_it() {
    let mut asked = Vec::new();
    let mut run = |trials: &[Trial]| {
        asked.extend(trials.iter().map(|trial| trial.value));
        let verdict = |trial: &Trial| {
            if trial.value >= 10.27 { Verdict::Metastable } else { Verdict::Recovered }
        };
        trials.iter().map(|trial| Some(outcome(verdict(trial)))).collect::<Vec<_>>()
    };
    let coarse = Search { grid: 2, resolution: 1.0, ..search(8.0, 12.0, 1) };
    assert!(trace(&coarse, &mut run).flip.is_some());
    assert_eq!(asked, [8.0, 12.0, 10.0, 11.0]);
}
