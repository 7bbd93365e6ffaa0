//! Progress for a pipe: one plain line a run and second of wall time, in stable columns.

use crate::display::board::{Figures, Run, Stage};

/// The head of the columns.
pub(crate) const HEAD: &str =
    "    time  phase      offered  goodput  throughput  attempts/request  queue delay  run";

/// The line of a run that goes on; none before its first second.
pub(crate) fn line(run: &Run) -> Option<String> {
    let figures = run.figures()?;
    let phase = match run.stage {
        Stage::Waiting | Stage::Running => run.phase(),
        Stage::Ended { .. } => "ended",
    };
    Some(format!("{:>6.0} s  {phase:<8}  {}  {}", figures.time, columns(&figures), run.label))
}

fn columns(figures: &Figures) -> String {
    format!(
        "{:>6.0}/s  {:>5.0}/s  {:>10}  {:>16}  {:>11}",
        figures.offered,
        figures.goodput,
        or_dash(figures.throughput, |value| format!("{value:.0}/s")),
        or_dash(figures.attempts_per_request, |value| format!("{value:.2}")),
        or_dash(figures.queue_delay, seconds),
    )
}

/// A figure, or a dash where there is none.
pub(crate) fn or_dash(value: Option<f64>, write: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), write)
}

/// A duration of a few milliseconds to some minutes, with its unit.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        value if value < 0.9995 => format!("{:.0} ms", value * 1e3),
        value if value < 99.95 => format!("{value:.1} s"),
        value => format!("{value:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::display::board::Second;

    #[test]
    fn every_line_has_the_columns_of_the_head() {
        let mut run = Run::new("naive", 240.0, None, 1.0);
        run.add(Second {
            at: 72.0,
            offered: 80.0,
            goodput: 0.0,
            throughput: Some(100.0),
            attempts: 312.0,
            queue_delay: Some(12.34),
        });
        let line = line(&run).unwrap();
        assert_eq!(
            line,
            "    73 s  baseline      80/s      0/s       100/s              3.90       12.3 s  naive"
        );
        assert_eq!(HEAD.find("run"), line.find("naive"));
        for column in ["offered", "goodput", "throughput", "attempts/request", "queue delay"] {
            let end = HEAD.find(column).unwrap() + column.len();
            assert_ne!(&line[end - 1..end], " ", "{column}");
            assert_eq!(&line[end..=end], " ", "{column}");
        }
    }

    #[test]
    fn durations_keep_their_unit_near() {
        assert_eq!(seconds(0.0042), "4 ms");
        assert_eq!(seconds(0.9996), "1.0 s");
        assert_eq!(seconds(312.4), "312 s");
    }
}
