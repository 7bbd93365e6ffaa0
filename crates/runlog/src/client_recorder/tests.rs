use std::time::Duration;

use goodput_clock::{Seed, Timestamp};

use super::{ClientRecorder, Recorded, RequestEnd, RequestEnded};
use crate::model::ClientWindow;
use crate::outcomes::OutcomeKey;

const CLASSES: [&str; 3] = ["timeout", "connect", "overloaded"];
const REASONS: [&str; 2] = ["exhausted", "budget"];

fn recorder() -> ClientRecorder {
    ClientRecorder::new(&CLASSES, &REASONS)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn ended(end: RequestEnd, intended: Timestamp, sent: Timestamp, attempts: u32) -> RequestEnded {
    RequestEnded { end, intended, sent, attempts, turned_away: false }
}

fn drain(recorder: &mut ClientRecorder, now: Timestamp) -> Vec<(u64, ClientWindow)> {
    std::iter::from_fn(|| recorder.next_window(now)).collect()
}

#[test]
fn each_fact_counts_in_the_second_in_which_it_happens() {
    let mut recorder = recorder();
    recorder.connection_opened(at(5));
    recorder.offered(at(10), at(10));
    recorder.attempt_began(at(10));
    recorder.attempt_sent(at(11), 1);
    recorder.send_lag(at(11), Duration::from_millis(1));
    recorder.attempt_ended(at(1_100), Some(0), OutcomeKey::Transport("timeout"));
    recorder.suppressed(at(1_100), 1);
    recorder.attempt_began(at(2_000));
    recorder.attempt_sent(at(2_000), 2);
    recorder.attempt_ended(at(2_500), None, OutcomeKey::Status(200));
    recorder.request_ended(at(2_500), &ended(RequestEnd::Good, at(10), at(2_000), 2));
    recorder.connection_closed(at(2_600));
    let Recorded { windows, totals, .. } = recorder.finish(at(3_000));
    let windows: Vec<_> = windows.into_iter().map(|(_, window)| window).collect();
    let [first, second, third] = windows.as_slice() else { panic!("{windows:?}") };
    assert_eq!((first.offered, first.attempts, first.retries, first.connects), (1, 1, 0, 1));
    assert_eq!((first.attempts_in_flight, first.requests_in_flight, first.connections), (1, 1, 1));
    assert_eq!(first.send_lag.count, 1);
    assert_eq!(second.attempts_failed["timeout"], 1);
    assert_eq!((second.outcomes["timeout"], third.outcomes["200"]), (1, 1));
    assert_eq!(second.suppressed["budget"], 1);
    assert_eq!((second.attempts_in_flight, second.requests_in_flight), (0, 1));
    assert_eq!((third.good, third.attempts, third.retries), (1, 1, 1));
    assert_eq!((third.requests_in_flight, third.connections), (0, 0));
    assert!((third.latency.max - 2.49).abs() < 1e-9);
    assert_eq!(totals.attempts_per_request[&2], 1);
    assert_eq!(totals.latency.len(), 1);
    assert!((totals.service[0].0 - 0.5).abs() < 0.04);
}

#[test]
fn an_arrival_that_is_issued_late_counts_in_its_intended_second() {
    let mut recorder = recorder();
    recorder.offered(at(500), at(500));
    // The generator stood still for 700 ms across the boundary.
    assert_eq!(recorder.next_window(at(1_200)), None);
    recorder.offered(at(1_200), at(900));
    assert_eq!(recorder.next_window(at(1_200)), None);
    recorder.offered(at(1_200), at(1_150));
    let windows = drain(&mut recorder, at(1_200));
    assert_eq!(windows.len(), 1);
    assert_eq!(windows[0].1.offered, 2);
}

#[test]
fn an_arrival_for_a_window_that_is_gone_counts_in_the_oldest_that_is_left() {
    let mut recorder = recorder();
    recorder.offered(at(100), at(100));
    assert_eq!(drain(&mut recorder, at(3_500)).len(), 2);
    recorder.offered(at(3_500), at(900));
    recorder.offered(at(3_500), at(3_400));
    let Recorded { windows, .. } = recorder.finish(at(4_000));
    let offered: Vec<_> = windows.iter().map(|(s, w)| (*s, w.offered)).collect();
    assert_eq!(offered, [(2, 1), (3, 1)]);
}

#[test]
fn quiet_seconds_have_windows_and_the_last_may_be_cut_short() {
    let mut recorder = recorder();
    recorder.offered(at(100), at(100));
    let Recorded { windows, .. } = recorder.finish(at(3_500));
    assert!(windows.iter().map(|(second, _)| *second).eq(0..4));
    let Recorded { windows, .. } = self::recorder().finish(at(3_000));
    assert!(windows.iter().map(|(second, _)| *second).eq(0..3));
    assert!(self::recorder().finish(Timestamp::ZERO).windows.is_empty());
}

#[test]
fn indices_without_a_name_count_as_other() {
    let mut recorder = recorder();
    recorder.attempt_ended(at(1), Some(999), OutcomeKey::Status(418));
    recorder.suppressed(at(1), 7);
    recorder.request_ended(at(1), &ended(RequestEnd::Failed(3), at(0), at(0), 100_000));
    let Recorded { windows, totals, .. } = recorder.finish(at(2));
    let window = &windows[0].1;
    assert_eq!(window.attempts_failed["other"], 1);
    assert_eq!(window.suppressed["other"], 1);
    assert_eq!(window.failed["other"], 1);
    assert_eq!(totals.attempts_per_request.values().sum::<u64>(), 1);
}

#[test]
fn a_busy_run_adds_up_whatever_the_windows() {
    let mut random = Seed(11).stream("busy run");
    let mut recorder = recorder();
    let mut windows = Vec::new();
    let (mut now, mut offered, mut good, mut failed) = (Timestamp::ZERO, 0, 0, 0);
    for _ in 0..50_000 {
        now += Duration::from_secs_f64(random.exponential() / 2_000.0);
        let intended = now - Duration::from_micros(random.below(1_500_000));
        recorder.offered(now, intended);
        offered += 1;
        let end = if random.below(3) > 0 { RequestEnd::Good } else { RequestEnd::Failed(1) };
        good += u64::from(end == RequestEnd::Good);
        failed += u64::from(end != RequestEnd::Good);
        recorder.request_ended(now, &ended(end, intended, now, 1 + random.below(200) as u32));
        windows.extend(drain(&mut recorder, now));
    }
    assert_eq!(recorder.offered_total(), offered);
    let Recorded { windows: rest, cohorts, totals } = recorder.finish(now);
    windows.extend(rest);
    let seconds: Vec<_> = windows.iter().map(|(second, _)| *second).collect();
    assert!(seconds.iter().copied().eq(0..seconds.len() as u64));
    let sum = |of: fn(&ClientWindow) -> u64| windows.iter().map(|(_, w)| of(w)).sum::<u64>();
    assert_eq!(sum(|w| w.offered), offered);
    assert_eq!(sum(|w| w.good), good);
    assert_eq!(sum(|w| w.failed.values().sum()), failed);
    assert_eq!(sum(|w| w.latency.count), good);
    assert_eq!(totals.latency.iter().map(|(_, count)| count).sum::<u64>(), good);
    assert_eq!(totals.attempts_per_request.values().sum::<u64>(), offered);
    assert_eq!(cohorts.iter().map(|(_, cohort)| cohort.arrived).sum::<u64>(), offered);
    assert_eq!(cohorts.iter().map(|(_, cohort)| cohort.good + cohort.failed).sum::<u64>(), offered);
}

#[test]
fn what_is_due_after_the_end_is_in_no_total_and_what_was_due_before_is_seen_to_end() {
    let mut recorder = recorder().ending(at(2_700));
    for intended in [1_500, 1_900, 2_800] {
        recorder.offered(at(intended), at(intended));
    }
    assert_eq!((recorder.open_before(2), recorder.offered_total()), (2, 2));
    recorder.request_ended(at(4_000), &ended(RequestEnd::Good, at(1_900), at(1_900), 1));
    recorder.request_ended(at(4_000), &ended(RequestEnd::Good, at(2_800), at(2_800), 1));
    assert_eq!((recorder.open_before(2), recorder.good_total()), (1, 1));
    let Recorded { cohorts, totals, .. } = recorder.finish(at(5_000));
    assert_eq!((cohorts[1].1.arrived, cohorts[1].1.good, cohorts[1].1.open()), (2, 1, 1));
    assert_eq!(totals.latency.iter().map(|(_, count)| count).sum::<u64>(), 1);
    assert_eq!(totals.attempts_per_request.values().sum::<u64>(), 1);
}
