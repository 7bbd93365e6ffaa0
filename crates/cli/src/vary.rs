//! How a number and its range are written on the command line: `fault.for=1s..60s:50`.

use goodput_scenario::numbers::{Number, Numbers, Unit};

use crate::exit::Failure;
use crate::output;

/// A path with a range, as it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Written {
    /// The path, such as `fault.for`.
    pub(crate) path: String,
    /// The ends, as text.
    pub(crate) ends: Option<(String, String)>,
    /// How many values.
    pub(crate) count: Option<usize>,
}

/// Reads `PATH`, `PATH=FROM..TO` or `PATH=FROM..TO:N`.
pub(crate) fn written(text: &str) -> Result<Written, String> {
    let hint = "write a path and a range, such as fault.for=1s..60s or load.rate=10..95:50";
    let Some((path, range)) = text.split_once('=') else {
        return Ok(Written { path: text.trim().to_owned(), ends: None, count: None });
    };
    let (range, count) = match range.rsplit_once(':') {
        Some((range, count)) => {
            let count = count.trim().parse().ok().filter(|count| (2..=MOST_VALUES).contains(count));
            let wrong = || format!("`{text}`: not 2 to {MOST_VALUES} values; {hint}");
            (range, Some(count.ok_or_else(wrong)?))
        }
        None => (range, None),
    };
    let (from, to) = range.split_once("..").ok_or_else(|| format!("`{text}`: no range; {hint}"))?;
    let ends = Some((from.trim().to_owned(), to.trim().to_owned()));
    Ok(Written { path: path.trim().to_owned(), ends, count })
}

/// A number with its range.
#[derive(Clone, Debug)]
pub(crate) struct Varied<'a> {
    /// What is varied.
    pub(crate) number: &'a Number,
    /// The least value.
    pub(crate) from: f64,
    /// The greatest value.
    pub(crate) to: f64,
    /// How many values were asked for.
    pub(crate) count: Option<usize>,
}

impl Written {
    /// Finds the number and reads its range in the number's unit. Without a range, `default` gives one.
    pub(crate) fn find<'a>(
        &self,
        flag: &str,
        numbers: &'a Numbers,
        default: impl FnOnce(&Number) -> Option<(f64, f64)>,
    ) -> Result<Varied<'a>, Failure> {
        let wrong = |problem: String| Failure::usage(format!("{flag} {problem}"));
        let number = numbers.find(&self.path).map_err(|error| wrong(error.to_string()))?;
        let (from, to) = match &self.ends {
            Some((from, to)) => {
                (number.read(from).map_err(wrong)?, number.read(to).map_err(wrong)?)
            }
            None => default(number).ok_or_else(|| wrong(needs_a_range(number)))?,
        };
        let show = |value| number.unit.show(value);
        if from >= to {
            let kind = if from > to { "reversed" } else { "empty" };
            return Err(wrong(format!(
                "{}={}..{}: the range is {kind}; write the lesser value first, such as {}",
                self.path,
                show(from),
                show(to),
                example(number)
            )));
        }
        Ok(Varied { number, from, to, count: self.count })
    }
}

impl Varied<'_> {
    /// Says where the simulator does not carry out what is varied.
    pub(crate) fn warn_of_ignored(&self, flag: &str) {
        if let Some(instead) = self.number.ignored_by_the_simulator() {
            let path = &self.number.path;
            output::warning(format_args!(
                "{flag} `{path}` has no effect in the simulator: {instead}"
            ));
        }
    }

    /// Equally distant values over the range, each once.
    pub(crate) fn values(&self, default_count: usize) -> Vec<f64> {
        let steps = self.count.unwrap_or(default_count).max(2) - 1;
        let grain = if self.number.unit.is_whole() { 1.0 } else { 1e6 };
        let at = |step: usize| self.from + (self.to - self.from) * step as f64 / steps as f64;
        let mut values: Vec<f64> =
            (0..=steps).map(|step| (at(step) * grain).round() / grain).collect();
        values.dedup();
        values
    }

    /// The unit after a value.
    pub(crate) fn unit(&self) -> &'static str {
        match self.number.unit {
            Unit::Duration => "s",
            Unit::Rate => "/s",
            Unit::Ratio | Unit::Count | Unit::Plain => "",
        }
    }

    /// The path and the range as the command line takes them.
    pub(crate) fn text(&self) -> String {
        let show = |value| self.number.unit.show(value);
        let count = self.count.map_or_else(String::new, |count| format!(":{count}"));
        format!("{}={}..{}{count}", self.number.path, show(self.from), show(self.to))
    }
}

/// The range of a number that is given without one: around what the file says.
pub(crate) fn around_written(number: &Number) -> Option<(f64, f64)> {
    let written = number.written.filter(|written| *written > 0.0)?;
    let (from, to) = match number.unit {
        Unit::Ratio => (written.min(0.5) / 10.0, 1.0),
        Unit::Count => (0.0, (written * 2.0).max(4.0)),
        Unit::Duration | Unit::Rate | Unit::Plain => (written / 10.0, written * 2.0),
    };
    (to > from).then_some((from, to))
}

fn needs_a_range(number: &Number) -> String {
    format!(
        "{}: the file says nothing to start from; give a range, such as {}",
        number.path,
        example(number)
    )
}

fn example(number: &Number) -> String {
    let range = match number.unit {
        Unit::Duration => "1s..60s",
        Unit::Rate => "10..95",
        Unit::Ratio => "10%..90%",
        Unit::Count => "0..10",
        Unit::Plain => "1..10",
    };
    format!("{}={range}", number.path)
}

/// The most values of one axis.
const MOST_VALUES: usize = 1_000;

#[cfg(test)]
mod tests {
    use goodput_scenario::builtin;

    use super::*;

    fn numbers() -> Numbers {
        Numbers::of("test.toml", builtin::DATABASE_FAILOVER.text, None).unwrap()
    }

    fn varied(text: &str) -> Result<(f64, f64, Vec<f64>), String> {
        let numbers = numbers();
        let written = written(text)?;
        let varied = written.find("--vary", &numbers, around_written).map_err(|e| e.message)?;
        Ok((varied.from, varied.to, varied.values(3)))
    }

    #[test]
    fn a_range_reads_in_the_unit_of_its_number() {
        assert_eq!(varied("fault.for=1s..1m"), Ok((1.0, 60.0, vec![1.0, 30.5, 60.0])));
        assert_eq!(varied("fault.to=10%..90%:2"), Ok((0.1, 0.9, vec![0.1, 0.9])));
        assert_eq!(varied("client.layer.retries=0..3:9"), Ok((0.0, 3.0, vec![0.0, 1.0, 2.0, 3.0])));
        assert_eq!(varied("fault.for"), Ok((2.0, 40.0, vec![2.0, 21.0, 40.0])));
    }

    #[test]
    fn what_is_wrong_with_a_range_is_said_with_one_that_is_right() {
        for (text, parts) in [
            ("fault.for=9s..9s", ["empty", "fault.for=1s..60s"]),
            ("fault.for=9s..8s", ["reversed", "fault.for=1s..60s"]),
            ("fault.for=9..10", ["`9` is not a duration", "5s"]),
            ("fault.for=9s", ["no range", "fault.for=1s..60s"]),
            ("fault.for=1s..9s:1", ["2 to 1000 values", "load.rate=10..95:50"]),
            ("fault.fro=1s..9s", ["did you mean `fault.for`", "load.rate (80/s)"]),
            ("tier.queue_limit", ["says nothing to start from", "tier.queue_limit=0..10"]),
        ] {
            let error = varied(text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }

    #[test]
    fn a_range_is_repeated_as_it_is_read() {
        let numbers = numbers();
        let written = written("fault.cut.for=1.5s..1m:50").unwrap();
        let varied = written.find("--x", &numbers, |_| None).unwrap();
        assert_eq!(varied.text(), "fault.for=1.5s..60s:50");
        assert_eq!(super::written(&varied.text()).unwrap().count, Some(50));
    }
}
