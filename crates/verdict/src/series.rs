use goodput_runlog::{RunLog, Window};

/// The whole seconds of a run that are judged, with sums over any span of them.
pub(crate) struct Series<'a> {
    windows: &'a [Window],
    /// Seconds that are judged: `0..seconds`.
    pub(crate) seconds: u64,
    /// Sums over all windows before a second.
    good: Vec<u64>,
    offered: Vec<u64>,
    /// Seconds without a window.
    pub(crate) missing: u64,
}

impl<'a> Series<'a> {
    /// The first `planned` seconds of a run, or as many as it has.
    pub(crate) fn new(log: &'a RunLog, planned: u64) -> Self {
        let judged = log.windows.partition_point(|window| window.second < planned);
        let windows = &log.windows[..judged];
        let seconds = windows.last().map_or(0, |window| window.second + 1);
        let (mut good, mut offered) = (vec![0], vec![0]);
        let (mut good_sum, mut offered_sum, mut second) = (0_u64, 0_u64, 0);
        for window in windows {
            // A log from outside can claim any second; sums are kept only for those it has.
            while second < window.second && good.len() <= RunLog::WINDOWS_MAX {
                good.push(good_sum);
                offered.push(offered_sum);
                second += 1;
            }
            good_sum = good_sum.saturating_add(window.client.good);
            offered_sum = offered_sum.saturating_add(window.client.offered);
            good.push(good_sum);
            offered.push(offered_sum);
            second = window.second + 1;
        }
        let missing = seconds - windows.len() as u64;
        let seconds = seconds.min(good.len() as u64 - 1);
        Self { windows, seconds, good, offered, missing }
    }

    /// The windows of `from..to`.
    pub(crate) fn slice(&self, from: u64, to: u64) -> &'a [Window] {
        let index = |second| self.windows.partition_point(|window| window.second < second);
        let (from, to) = (index(from), index(to));
        &self.windows[from..to.max(from)]
    }

    /// Requests offered in `from..to`.
    pub(crate) fn offered(&self, from: u64, to: u64) -> u64 {
        Self::between(&self.offered, from, to)
    }

    /// Good requests in `from..to`.
    pub(crate) fn good(&self, from: u64, to: u64) -> u64 {
        Self::between(&self.good, from, to)
    }

    /// Good ÷ offered in `from..to`; none where nothing was offered.
    pub(crate) fn ratio(&self, from: u64, to: u64) -> Option<f64> {
        let offered = self.offered(from, to);
        (offered > 0).then(|| self.good(from, to) as f64 / offered as f64)
    }

    fn between(sums: &[u64], from: u64, to: u64) -> u64 {
        let at = |second: u64| sums[(second as usize).min(sums.len() - 1)];
        at(to).saturating_sub(at(from))
    }
}
