use crate::series::Series;

/// Where the backlog is, and where it goes.
pub(crate) struct Backlog {
    /// What waits at the end of the run, on the fitted line.
    pub(crate) level: f64,
    /// Its change per second.
    pub(crate) slope: f64,
    /// Whether it falls at a rate that ends it.
    pub(crate) falls: bool,
    /// Whether it is the servers' queue; otherwise it is the client's attempts in flight.
    pub(crate) queue: bool,
}

impl Backlog {
    /// Fits a line through the backlog of the run's last [`SPAN`] seconds, or of what is left of the
    /// run since `origin`.
    ///
    /// It falls where the line falls, explains most of what is seen ([`FIT`]), loses a visible share over
    /// the span ([`FALL`]) and ends within [`HORIZON`]: the noise of a stationary queue does none of it
    /// for half a minute.
    pub(crate) fn over(series: &Series<'_>, origin: f64) -> Self {
        let end = series.seconds;
        let windows = series.slice((origin.ceil() as u64).max(end.saturating_sub(SPAN)), end);
        let queue = !windows.is_empty() && windows.iter().all(|window| !window.tiers.is_empty());
        let points = windows.iter().map(|window| {
            let waiting = if queue {
                window.tiers.iter().map(|tier| tier.queued).sum()
            } else {
                window.client.attempts_in_flight
            };
            (window.second as f64, waiting as f64)
        });
        let Some(line) = Line::fit(&points.collect::<Vec<_>>()) else {
            return Self { level: 0.0, slope: 0.0, falls: false, queue };
        };
        let falls = line.slope < 0.0
            && line.last >= 1.0
            && line.explained >= FIT
            && line.first - line.last >= FALL * line.first
            && line.last / -line.slope <= HORIZON;
        Self { level: line.last.max(0.0), slope: line.slope, falls, queue }
    }
}

/// A line of least squares.
struct Line {
    slope: f64,
    /// Its value at the first and at the last point.
    first: f64,
    last: f64,
    /// The share of the variance that it explains.
    explained: f64,
}

impl Line {
    fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let (&(begin, _), &(end, _)) = (points.first()?, points.last()?);
        let count = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
        let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
        let sum = |of: fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|(x, y)| of(x - mean_x, y - mean_y)).sum()
        };
        let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
        if points.len() < POINTS_MIN || xx <= 0.0 {
            return None;
        }
        let slope = xy / xx;
        let at = |x: f64| mean_y + slope * (x - mean_x);
        let explained = if yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 };
        Some(Self { slope, first: at(begin), last: at(end), explained })
    }
}

/// Over how long the backlog is watched, in seconds.
const SPAN: u64 = 30;
/// Fewer points than this show no direction.
const POINTS_MIN: usize = 10;
const FIT: f64 = 0.8;
const FALL: f64 = 0.02;
/// In seconds.
const HORIZON: f64 = 3_600.0;
