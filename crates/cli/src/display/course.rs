//! The course of a run so far, in at most as many shares of its time as a terminal has columns, so that
//! a run of days takes no more memory than one of an hour.

use crate::display::board::Second;

/// Means over equal shares of a run.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    duration: f64,
    /// How long a share is, in seconds.
    share: f64,
    shares: Vec<Share>,
}

/// What a share of the run saw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    /// New requests a second.
    pub(crate) offered: Mean,
    /// Good requests a second.
    pub(crate) goodput: Mean,
    /// Attempts that the last tier served a second; nothing where there is no view of it.
    pub(crate) throughput: Mean,
}

/// A mean that grows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn append(&mut self, other: Self) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// The mean; none over nothing.
    pub(crate) fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Course {
    /// The course of a run of so many seconds that has not begun.
    pub(crate) fn new(duration: f64) -> Self {
        let share = (duration / MOST_SHARES as f64).max(1.0);
        Self { duration, share, shares: Vec::new() }
    }

    /// Adds a second. Those after the run's end count to its last share.
    pub(crate) fn add(&mut self, second: &Second) {
        let index = ((second.at / self.share) as usize).min(MOST_SHARES - 1);
        if index >= self.shares.len() {
            self.shares.resize_with(index + 1, Share::default);
        }
        let share = &mut self.shares[index];
        share.offered.add(second.offered);
        share.goodput.add(second.goodput);
        if let Some(throughput) = second.throughput {
            share.throughput.add(throughput);
        }
    }

    /// Whether nothing was seen.
    pub(crate) fn is_empty(&self) -> bool {
        self.shares.is_empty()
    }

    /// The mean of a figure over all.
    pub(crate) fn mean(&self, figure: impl Fn(&Share) -> Mean) -> Option<f64> {
        let mut all = Mean::default();
        self.shares.iter().for_each(|share| all.append(figure(share)));
        all.get()
    }

    /// Means of a figure over `count` equal parts of the run, as far as it has come, each with the
    /// middle of its part in seconds. Parts in which nothing was seen are left out.
    pub(crate) fn means(&self, count: usize, figure: impl Fn(&Share) -> Mean) -> Vec<(f64, f64)> {
        let part = (self.duration / count.max(1) as f64).max(1.0);
        let mut parts: Vec<(usize, Mean)> = Vec::new();
        for (index, share) in self.shares.iter().enumerate() {
            let place = (index as f64 * self.share / part) as usize;
            match parts.last_mut() {
                Some((last, mean)) if *last == place => mean.append(figure(share)),
                _ => parts.push((place, figure(share))),
            }
        }
        let middle = |place: usize| (place as f64 + 0.5) * part;
        parts.into_iter().filter_map(|(place, mean)| Some((middle(place), mean.get()?))).collect()
    }
}

/// More than a terminal has columns.
const MOST_SHARES: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;

    fn course(duration: u32, goodput: impl Fn(u32) -> f64) -> Course {
        let mut course = Course::new(f64::from(duration));
        for at in 0..duration {
            let goodput = goodput(at);
            course.add(&Second { at: f64::from(at), goodput, offered: 80.0, ..Second::default() });
        }
        course
    }

    #[test]
    fn means_are_over_equal_parts_of_the_run() {
        let course = course(240, |at| if at < 60 { 80.0 } else { 0.0 });
        let means = course.means(4, |share| share.goodput);
        assert_eq!(means, [(30.0, 80.0), (90.0, 0.0), (150.0, 0.0), (210.0, 0.0)]);
        assert_eq!(course.mean(|share| share.goodput), Some(20.0));
        assert!(course.means(4, |share| share.throughput).is_empty());
    }

    #[test]
    fn a_run_of_days_takes_no_more_memory_and_keeps_its_means() {
        let days = 3 * 86_400;
        let course = course(days, |at| f64::from(at % 2) * 80.0);
        assert!(course.shares.len() <= MOST_SHARES);
        let means = course.means(100, |share| share.goodput);
        assert_eq!(means.len(), 100);
        assert!(means.iter().all(|(_, mean)| (mean - 40.0).abs() < 0.5), "{means:?}");
    }
}
