use goodput_runlog::{Integrity, RunLog};
use goodput_scenario::Scenario;

/// What a run of `seconds` would have logged, from the log of a longer one that began alike.
///
/// A run watches on for a request's life ([`Scenario::watch`]) while its load goes on. Where
/// no request lives longer, the cohorts of the longer run's first seconds are those of the shorter
/// run. Where one may, only a run of that length can say: see [`can_be_cut`]. The totals are the
/// longer run's; verdicts read windows and events.
pub fn prefix(log: &RunLog, seconds: u64) -> RunLog {
    let windows = log.windows.partition_point(|window| window.second < seconds);
    let windows = log.windows[..windows].to_vec();
    let before = |at: f64| at < seconds as f64;
    let events = log.events.iter().filter(|event| before(event.at.as_secs_f64()));
    let offered = windows.iter().map(|window| window.client.offered).sum();
    RunLog {
        schema: log.schema,
        meta: log.meta.clone(),
        windows,
        events: events.cloned().collect(),
        totals: log.totals.clone(),
        integrity: Integrity { offered, scheduled: offered, ..log.integrity.clone() },
        ending: log.ending,
    }
}

/// Whether a prefix of a longer log is what a shorter run would have logged: whether no request
/// lives longer than a run watches on.
pub fn can_be_cut(scenario: &Scenario) -> bool {
    scenario.life() <= Scenario::WATCH_MOST
}
