//! Windows put together into longer ones, so that a picture has as many points as a screen can show.

use std::collections::BTreeMap;

use goodput_runlog::{ClientWindow, Quantiles, TierWindow, Window};

/// The most points that a series of a chart has.
const POINTS_MAX: usize = 480;

/// How many windows go into one point so that there are at most [`POINTS_MAX`].
pub(crate) fn windows_per_point(windows: usize) -> usize {
    windows.div_ceil(POINTS_MAX).max(1)
}

/// Puts each `per_point` windows together: counts are added up; what was read at the end of a window
/// is that of the last; medians are weighted, higher quantiles are the largest.
pub(crate) fn fold(windows: &[Window], per_point: usize) -> Vec<Window> {
    windows.chunks(per_point.max(1)).map(sum).collect()
}

fn sum(windows: &[Window]) -> Window {
    let mut total = windows.first().cloned().unwrap_or_default();
    for window in windows.iter().skip(1) {
        add_client(&mut total.client, &window.client);
        for tier in &window.tiers {
            match total.tiers.iter_mut().find(|known| known.name == tier.name) {
                Some(known) => add_tier(known, tier),
                None => total.tiers.push(tier.clone()),
            }
        }
    }
    total
}

fn add_client(total: &mut ClientWindow, next: &ClientWindow) {
    total.offered += next.offered;
    total.good += next.good;
    total.late += next.late;
    add_counts(&mut total.failed, &next.failed);
    total.unsent += next.unsent;
    total.attempts += next.attempts;
    total.retries += next.retries;
    add_counts(&mut total.attempts_failed, &next.attempts_failed);
    add_counts(&mut total.suppressed, &next.suppressed);
    add_counts(&mut total.outcomes, &next.outcomes);
    total.cohort.arrived += next.cohort.arrived;
    total.cohort.good += next.cohort.good;
    total.cohort.failed += next.cohort.failed;
    total.cohort.turned_away += next.cohort.turned_away;
    total.attempts_in_flight = next.attempts_in_flight;
    total.requests_in_flight = next.requests_in_flight;
    total.connections = next.connections;
    total.connects += next.connects;
    add_quantiles(&mut total.latency, next.latency);
    add_quantiles(&mut total.send_lag, next.send_lag);
}

fn add_tier(total: &mut TierWindow, next: &TierWindow) {
    total.received += next.received;
    total.served += next.served;
    add_counts(&mut total.refused, &next.refused);
    total.cancelled += next.cancelled;
    total.errors += next.errors;
    total.busy_useful += next.busy_useful;
    total.busy_wasted += next.busy_wasted;
    total.queued = next.queued;
    total.in_service = next.in_service;
    total.slots = next.slots;
    total.capacity = next.capacity;
    total.admitted = next.admitted;
    add_quantiles(&mut total.queue_delay, next.queue_delay);
    total.oldest_age = next.oldest_age;
    total.sample_gap = total.sample_gap.max(next.sample_gap);
}

fn add_counts(total: &mut BTreeMap<String, u64>, next: &BTreeMap<String, u64>) {
    for (name, count) in next {
        *total.entry(name.clone()).or_default() += count;
    }
}

fn add_quantiles(total: &mut Quantiles, next: Quantiles) {
    let count = total.count + next.count;
    if count > 0 {
        let weighted = total.p50 * total.count as f64 + next.p50 * next.count as f64;
        total.p50 = weighted / count as f64;
    }
    total.count = count;
    total.p99 = total.p99.max(next.p99);
    total.max = total.max.max(next.max);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(second: u64, good: u64, p99: f64, queued: u64) -> Window {
        let latency = Quantiles { count: good, p50: p99 / 2.0, p99, max: p99 };
        let client = ClientWindow { offered: 10, good, latency, ..ClientWindow::default() };
        let tier = TierWindow { name: "t".into(), served: good, queued, ..TierWindow::default() };
        Window { second, client, tiers: vec![tier] }
    }

    #[test]
    fn counts_add_up_and_states_are_the_last() {
        let folded = fold(&[window(0, 10, 1.0, 3), window(1, 0, 0.0, 9), window(2, 5, 2.0, 1)], 2);
        assert_eq!(folded.len(), 2);
        assert_eq!((folded[0].second, folded[1].second), (0, 2));
        assert_eq!((folded[0].client.offered, folded[0].client.good), (20, 10));
        assert_eq!((folded[0].tiers[0].served, folded[0].tiers[0].queued), (10, 9));
        assert!((folded[0].client.latency.p50 - 0.5).abs() < 1e-9);
        assert!((folded[0].client.latency.p99 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn an_hour_fits_the_points_of_a_screen() {
        assert_eq!(windows_per_point(0), 1);
        assert_eq!(windows_per_point(240), 1);
        assert!(3600_usize.div_ceil(windows_per_point(3600)) <= POINTS_MAX);
    }
}
