use goodput_runlog::{Cohort, RunLog, Window};

/// The whole seconds of a run that are judged, with sums over any span of them.
pub(crate) struct Series<'a> {
    windows: &'a [Window],
    /// Seconds that are judged: `0..seconds`.
    pub(crate) seconds: u64,
    /// What became of the requests of each second.
    cohorts: Vec<Cohort>,
    /// Sums over all seconds before a second.
    sums: Vec<Sums>,
    /// Seconds without a window.
    pub(crate) missing: u64,
}

/// Sums over the seconds before one.
#[derive(Clone, Copy, Default)]
struct Sums {
    arrived: u64,
    turned_away: u64,
    good: u64,
    /// Requests that ended well, by the second of their end.
    ended_good: u64,
    offered: u64,
    attempts: u64,
}

impl<'a> Series<'a> {
    /// The first `planned` seconds of a run, or as many as it has.
    pub(crate) fn new(log: &'a RunLog, planned: u64) -> Self {
        let judged = log.windows.partition_point(|window| window.second < planned);
        let windows = &log.windows[..judged];
        let seconds = windows.last().map_or(0, |window| window.second + 1);
        // A log from outside can claim any second; sums are kept only for those that a log may have.
        let seconds = seconds.min(RunLog::WINDOWS_MAX as u64);
        let missing = seconds.saturating_sub(windows.len() as u64);
        let mut cohorts = vec![Cohort::default(); seconds as usize];
        let mut counts = vec![Sums::default(); seconds as usize + 1];
        for window in windows.iter().filter(|window| window.second < seconds) {
            let (second, client) = (window.second as usize, &window.client);
            cohorts[second] = client.cohort;
            counts[second + 1] = Sums {
                arrived: client.cohort.arrived,
                turned_away: client.cohort.turned_away,
                good: client.cohort.good,
                ended_good: client.good,
                offered: client.offered,
                attempts: client.attempts,
            };
        }
        let mut before = Sums::default();
        for sums in &mut counts {
            before = before.and(sums);
            *sums = before;
        }
        Self { windows, seconds, cohorts, sums: counts, missing }
    }

    /// The windows of `from..to`.
    pub(crate) fn slice(&self, from: u64, to: u64) -> &'a [Window] {
        let index = |second| self.windows.partition_point(|window| window.second < second);
        let (from, to) = (index(from), index(to));
        &self.windows[from..to.max(from)]
    }

    /// What became of the requests of a second.
    pub(crate) fn cohort(&self, second: u64) -> Cohort {
        self.cohorts.get(second as usize).copied().unwrap_or_default()
    }

    /// Requests that arrived in `from..to`.
    pub(crate) fn arrived(&self, from: u64, to: u64) -> u64 {
        self.between(from, to, |sums| sums.arrived)
    }

    /// Of these, requests that a lever turned away.
    pub(crate) fn turned_away(&self, from: u64, to: u64) -> u64 {
        self.between(from, to, |sums| sums.turned_away)
    }

    /// Requests that arrived in `from..to` and ended well.
    pub(crate) fn good(&self, from: u64, to: u64) -> u64 {
        self.between(from, to, |sums| sums.good)
    }

    /// Requests that ended well in `from..to`, whenever they had arrived.
    pub(crate) fn ended_good(&self, from: u64, to: u64) -> u64 {
        self.between(from, to, |sums| sums.ended_good)
    }

    /// Requests that were issued in `from..to`.
    pub(crate) fn offered(&self, from: u64, to: u64) -> u64 {
        self.between(from, to, |sums| sums.offered)
    }

    /// Attempts per request in `from..to`; none where nothing was offered.
    pub(crate) fn attempts_per_request(&self, from: u64, to: u64) -> Option<f64> {
        let offered = self.offered(from, to);
        let attempts = self.between(from, to, |sums| sums.attempts);
        (offered > 0).then(|| attempts as f64 / offered as f64)
    }

    fn between(&self, from: u64, to: u64, of: fn(&Sums) -> u64) -> u64 {
        let at = |second: u64| of(&self.sums[(second as usize).min(self.sums.len() - 1)]);
        at(to).saturating_sub(at(from))
    }
}

impl Sums {
    fn and(self, more: &Self) -> Self {
        Self {
            arrived: self.arrived.saturating_add(more.arrived),
            turned_away: self.turned_away.saturating_add(more.turned_away),
            good: self.good.saturating_add(more.good),
            ended_good: self.ended_good.saturating_add(more.ended_good),
            offered: self.offered.saturating_add(more.offered),
            attempts: self.attempts.saturating_add(more.attempts),
        }
    }
}
