//! The boundary of a scenario in one number: predicted, measured, and by arithmetic.

use goodput_scenario::closed_form::{ClosedForms, Forecast};
use goodput_verdict::{Exit, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::curve::{Curve, Flip, Point};
use crate::outcome::{Outcome, Side};

/// What `goodput boundary` found.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Boundary {
    /// The version of this shape.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The arm; absent where the scenario was run as written above its arms.
    pub arm: Option<String>,
    /// The path of what is varied.
    pub path: String,
    /// Its unit after a value: `s`, `/s`, or empty.
    pub unit: String,
    /// What the file says.
    pub written: Option<f64>,
    /// The least value.
    pub from: f64,
    /// The greatest value.
    pub to: f64,
    /// How many seeds the simulator ran, from `seed` on.
    pub seeds: u32,
    /// The first seed.
    pub seed: u64,
    /// What the simulator found; absent where it was not asked.
    pub prediction: Option<Curve>,
    /// The boundary of the first seed alone in the simulator: the arrivals that the rig sees.
    pub same_arrivals: Option<Flip>,
    /// What the rig found; absent where it was not asked.
    pub measurement: Option<Measurement>,
    /// What arithmetic says.
    pub closed_forms: Option<Forms>,
    /// The command that repeats it.
    pub command: String,
    /// The version of goodput.
    pub version: String,
    /// How the command ends.
    pub exit: Exit,
    /// The same as a number.
    pub exit_code: u8,
}

/// What the rig found.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Measurement {
    /// Scenario seconds per wall second.
    pub speed: f64,
    /// Every run, in its order.
    pub runs: Vec<Measured>,
    /// The last value at which a run recovered, on the way from the recovering to the failing side.
    pub recovers: Option<f64>,
    /// The first value at which one failed on that way; before `recovers` where runs of several seeds mix.
    pub fails: Option<f64>,
    /// The boundary: halfway between the two; absent where one side was not seen.
    pub boundary: Option<f64>,
    /// How far the boundary lies outside the predicted band; 0 inside.
    pub outside: Option<f64>,
    /// How many conclusive runs had the verdict that the simulator gives for the same value and seed.
    pub as_predicted: u32,
    /// How many runs can be trusted.
    pub conclusive: u32,
    /// Whether the time given ended before the runs that were wanted.
    pub cut_short: bool,
}

/// One run on the rig.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Measured {
    /// The value.
    pub value: f64,
    /// The seed.
    pub seed: u64,
    /// What the rig saw.
    pub measured: Outcome,
    /// What the simulator gives for the same value and seed.
    pub predicted: Option<Outcome>,
}

/// What the closed forms say; see `goodput_scenario::closed_form`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct Forms {
    /// Offered load λ, per second.
    pub load: f64,
    /// Capacity C, per second.
    pub capacity: f64,
    /// What the trigger leaves of it.
    pub capacity_during: f64,
    /// Attempts of a request that keeps failing, k.
    pub amplification: f64,
    /// C / k: no trigger sticks below, and no failure stays.
    pub stable_load: f64,
    /// Why no trigger sticks above it; absent where one may.
    pub defence: Option<String>,
    /// Seconds, a lower bound: in a shorter trigger nobody times out.
    pub safe_trigger: Option<f64>,
    /// Seconds, an estimate: amplification reaches C / λ while the trigger lasts.
    pub amplified_trigger: Option<f64>,
    /// Seconds, an upper bound: in a longer trigger everybody times out until all retries of it have come.
    pub sure_trigger: Option<f64>,
    /// The greatest value, from the recovering side, up to which the forms say that it recovers.
    pub recovers: Option<f64>,
    /// The least value from which they say that it sticks.
    pub sticks: Option<f64>,
}

impl Boundary {
    /// The version of the shape that this crate writes.
    pub const SCHEMA: u32 = 2;
    /// How far the measured boundary may lie outside the predicted band, or from the boundary that the
    /// simulator has for the same arrivals, as a share of the predicted boundary.
    pub const TOLERANCE: f64 = 0.05;
}

impl Forms {
    /// The closed forms of the scenario as written, and where they flip among values in ascending
    /// order with their forms. `fails_above` says on which side failure is.
    pub fn of(
        written: &ClosedForms,
        values: &[(f64, Option<ClosedForms>)],
        fails_above: bool,
    ) -> Self {
        let mut ordered: Vec<(f64, Option<Forecast>)> =
            values.iter().map(|(value, forms)| (*value, forms.map(|f| f.forecast()))).collect();
        if !fails_above {
            ordered.reverse();
        }
        let recovers = |forecast: &Option<Forecast>| *forecast == Some(Forecast::Recovers);
        let up_to = ordered.iter().take_while(|(_, forecast)| recovers(forecast)).last();
        let sticks = ordered.iter().find(|(_, forecast)| *forecast == Some(Forecast::Sticks));
        Self {
            load: written.load,
            capacity: written.capacity,
            capacity_during: written.capacity_during,
            amplification: written.amplification,
            stable_load: written.stable_load,
            defence: written.defence.map(str::to_owned),
            safe_trigger: written.safe_trigger,
            amplified_trigger: written.amplified_trigger,
            sure_trigger: written.sure_trigger,
            recovers: up_to.map(|(value, _)| *value),
            sticks: sticks.map(|(value, _)| *value),
        }
    }
}

impl Measurement {
    /// What the runs of the rig say together. The predicted band is `(least, greatest)`.
    pub fn of(
        speed: f64,
        runs: Vec<Measured>,
        fails_above: bool,
        band: Option<(f64, f64)>,
        cut_short: bool,
    ) -> Self {
        let sides = runs.iter().filter_map(|run| Some((run.value, run.measured.side()?)));
        let sides: Vec<(f64, Side)> = sides.collect();
        let (recovers, fails) = edges(&sides, fails_above);
        let boundary = recovers.zip(fails).map(|(a, b)| f64::midpoint(a, b));
        let outside = |(low, high): (f64, f64)| {
            boundary.map(|boundary| (low - boundary).max(boundary - high).max(0.0))
        };
        let as_predicted = |run: &&Measured| {
            let predicted = run.predicted.as_ref().and_then(Outcome::side);
            predicted.is_some() && predicted == run.measured.side()
        };
        Self {
            speed,
            recovers,
            fails,
            boundary,
            outside: band.and_then(outside),
            as_predicted: runs.iter().filter(as_predicted).count() as u32,
            conclusive: sides.len() as u32,
            cut_short,
            runs,
        }
    }

    /// How a command ends that measured this, against the predicted boundary over all seeds, and
    /// against the one for the same arrivals. A run of one seed in ten lies outside the band by
    /// chance: it is as predicted where it lies by the boundary of its own arrivals.
    pub fn exit(&self, predicted: Option<f64>, same_arrivals: Option<f64>) -> Exit {
        let Some(boundary) = self.boundary else { return Exit::Inconclusive };
        let close = |distance: f64, to: f64| distance <= Boundary::TOLERANCE * to.abs();
        let by_the_band = self.outside.zip(predicted).is_none_or(|(d, to)| close(d, to));
        let by_its_arrivals = self.one_seed()
            && same_arrivals.is_some_and(|same| close((boundary - same).abs(), same));
        if by_the_band || by_its_arrivals { Exit::Held } else { Exit::NotHeld }
    }

    /// The value that tells most about the boundary next: halfway between the two sides, where they lie
    /// further apart than the tolerance. None where they do not, where only one was seen, and where
    /// they mix.
    pub fn halfway(&self, fails_above: bool) -> Option<f64> {
        let (boundary, gap) = (self.boundary?, self.fails? - self.recovers?);
        let gap = if fails_above { gap } else { -gap };
        (gap > Boundary::TOLERANCE * boundary.abs()).then_some(boundary)
    }

    fn one_seed(&self) -> bool {
        self.runs.windows(2).all(|pair| pair[0].seed == pair[1].seed)
    }
}

/// The last value at which a run recovered and the first at which one failed, from the recovering side.
/// Where runs of several seeds mix, the two are the other way round, and the boundary still lies
/// between them.
fn edges(sides: &[(f64, Side)], fails_above: bool) -> (Option<f64>, Option<f64>) {
    let along = |value: f64| if fails_above { value } else { -value };
    let of = |wanted: Side| {
        sides.iter().filter(move |(_, side)| *side == wanted).map(move |(value, _)| along(*value))
    };
    let recovers = of(Side::Recovers).max_by(f64::total_cmp);
    let fails = of(Side::Fails).min_by(f64::total_cmp);
    (recovers.map(along), fails.map(along))
}

/// The values at which the rig confirms a band, the most telling first: its ends, then halves, then
/// quarters, as many as are asked for.
pub fn confirmation(from: f64, to: f64, whole: bool, count: usize) -> Vec<f64> {
    let grain = if whole { 1.0 } else { 1e3 };
    let mut values: Vec<f64> = Vec::new();
    let mut add = |part: f64| {
        let value = ((from + (to - from) * part) * grain).round() / grain;
        if values.len() < count && !values.contains(&value) {
            values.push(value);
        }
    };
    add(0.0);
    add(1.0);
    for parts in [2, 4, 8, 16_u32] {
        for part in (1..parts).step_by(2) {
            add(f64::from(part) / f64::from(parts));
        }
    }
    values
}

/// The verdict of most runs at a point, for tables.
pub fn commonest(point: &Point) -> Verdict {
    let counts = [
        (point.recovered, Verdict::Recovered),
        (point.metastable, Verdict::Metastable),
        (point.slow_recovery, Verdict::SlowRecovery),
        (point.unstable, Verdict::Unstable),
        (point.not_recovered, Verdict::NotRecovered),
        (point.inconclusive, Verdict::Inconclusive),
    ];
    let first = (0, Verdict::Inconclusive);
    counts.into_iter().fold(first, |best, next| if next.0 > best.0 { next } else { best }).1
}

#[cfg(test)]
mod tests {
    use goodput_scenario::builtin;
    use goodput_scenario::numbers::Numbers;

    use super::*;

    fn measured(value: f64, verdict: Verdict, predicted: Verdict) -> Measured {
        let outcome =
            |verdict| Outcome { verdict, cause: None, time_to_recover: None, doubt: None };
        let (measured, predicted) = (outcome(verdict), Some(outcome(predicted)));
        Measured { value, seed: 1, measured, predicted }
    }

    #[test]
    fn the_measured_boundary_lies_between_the_last_recovery_and_the_first_failure() {
        use Verdict::{Inconclusive, Metastable, Recovered};
        let runs = vec![
            measured(9.6, Recovered, Recovered),
            measured(11.4, Metastable, Metastable),
            measured(10.5, Recovered, Metastable),
            measured(10.9, Inconclusive, Metastable),
        ];
        let found = Measurement::of(10.0, runs.clone(), true, Some((9.6, 11.4)), false);
        assert_eq!((found.recovers, found.fails), (Some(10.5), Some(11.4)));
        assert_eq!((found.as_predicted, found.conclusive, found.outside), (2, 3, Some(0.0)));
        assert_eq!(found.exit(Some(10.4), None), Exit::Held);
        let off = Measurement::of(10.0, runs.clone(), true, Some((8.0, 9.0)), false);
        assert!((off.outside.unwrap() - 1.95).abs() < 1e-9);
        assert_eq!(off.exit(Some(8.5), None), Exit::NotHeld);
        assert_eq!(off.exit(Some(8.5), Some(10.5)), Exit::Held);
        assert_eq!(off.exit(Some(8.5), Some(10.3)), Exit::NotHeld);
        let mut seeds = runs.clone();
        seeds[0].seed = 2;
        let off = Measurement::of(10.0, seeds, true, Some((8.0, 9.0)), false);
        assert_eq!(off.exit(Some(8.5), Some(10.5)), Exit::NotHeld);
        let one_side = Measurement::of(10.0, runs[..1].to_vec(), true, None, true);
        assert_eq!((one_side.boundary, one_side.exit(None, None)), (None, Exit::Inconclusive));
    }

    #[test]
    fn where_runs_of_several_seeds_mix_the_boundary_lies_between_the_outermost() {
        use Verdict::{Metastable, Recovered};
        let runs = vec![
            measured(9.0, Recovered, Recovered),
            measured(10.0, Metastable, Recovered),
            measured(11.0, Recovered, Metastable),
            measured(12.0, Metastable, Metastable),
        ];
        let found = Measurement::of(10.0, runs, true, None, false);
        assert_eq!((found.recovers, found.fails), (Some(11.0), Some(10.0)));
        assert_eq!((found.boundary, found.as_predicted), (Some(10.5), 2));
    }

    #[test]
    fn where_lesser_values_fail_the_edges_are_mirrored() {
        use Verdict::{Metastable, Recovered};
        let runs = vec![
            measured(0.3, Metastable, Metastable),
            measured(0.5, Metastable, Metastable),
            measured(0.7, Recovered, Recovered),
        ];
        let found = Measurement::of(1.0, runs, false, None, false);
        assert_eq!((found.recovers, found.fails), (Some(0.7), Some(0.5)));
    }

    #[test]
    fn the_two_sides_are_narrowed_to_the_tolerance() {
        use Verdict::{Metastable, Recovered};
        let between = |low, high, fails_above| {
            let (below, above) =
                if fails_above { (Recovered, Metastable) } else { (Metastable, Recovered) };
            let runs = vec![measured(low, below, below), measured(high, above, above)];
            Measurement::of(1.0, runs, fails_above, None, false).halfway(fails_above)
        };
        assert_eq!(between(4.0, 5.0, true), Some(4.5));
        assert_eq!(between(4.0, 5.0, false), Some(4.5));
        assert_eq!(between(4.4, 4.6, true), None);
        let mixed = vec![measured(5.0, Recovered, Recovered), measured(4.0, Metastable, Recovered)];
        assert_eq!(Measurement::of(1.0, mixed, true, None, false).halfway(true), None);
    }

    #[test]
    fn a_band_is_confirmed_from_its_ends_inwards() {
        assert_eq!(confirmation(9.6, 11.6, false, 5), [9.6, 11.6, 10.6, 10.1, 11.1]);
        assert_eq!(confirmation(2.0, 4.0, true, 9), [2.0, 4.0, 3.0]);
        assert_eq!(confirmation(2.0, 4.0, false, 2), [2.0, 4.0]);
    }

    #[test]
    fn the_closed_forms_flip_where_their_bounds_are() {
        let numbers = Numbers::of("test.toml", builtin::DATABASE_FAILOVER.text, None).unwrap();
        let length = numbers.find("fault.for").unwrap();
        let at = |value| ClosedForms::of(&numbers.with(&[(length, value)]).unwrap());
        let values: Vec<_> = (1..=60).map(|i| f64::from(i) / 2.0).map(|v| (v, at(v))).collect();
        let forms = Forms::of(&at(20.0).unwrap(), &values, true);
        assert_eq!((forms.recovers, forms.sticks), (Some(9.5), Some(12.0)));
    }
}
