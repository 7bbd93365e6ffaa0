//! The same scenario and seed give the same bytes; another seed does not.

use std::time::Duration;

use goodput_clock::{Seed, Timestamp};
use goodput_policy::lever::Lever;
use goodput_runlog::{
    Cancel, Cohort, Ending, EngineKind, Event, EventKind, Observer, RunLog, Window,
};
use goodput_scenario::{Scenario, builtin};
use goodput_simulator::{Network, RunOptions, run};

use crate::support::{log_of, plan, with_cut};

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_gives_others() {
    for builtin in builtin::ALL {
        let scenario = plan(builtin).scenario;
        let text = |seed| log_of(&scenario, seed).to_json().unwrap();
        assert_eq!(text(7), text(7), "{}", builtin.name);
        assert_ne!(text(7), text(8), "{}", builtin.name);
    }
}

#[test]
fn two_threads_give_the_bytes_of_one() {
    let scenario = plan(builtin::SHORT_DIP).scenario;
    let sweep = |seeds: std::ops::Range<u64>| -> Vec<String> {
        seeds.map(|seed| log_of(&scenario, seed).to_json().unwrap()).collect()
    };
    let halves = std::thread::scope(|scope| {
        let halves = [scope.spawn(|| sweep(0..20)), scope.spawn(|| sweep(20..40))];
        halves.map(|half| half.join().unwrap()).concat()
    });
    assert!(sweep(0..40) == halves, "a run knows nothing of its neighbours");
}

#[test]
fn a_log_reads_back_as_it_was_and_tells_nothing_of_wall_time() {
    let log = log_of(&plan(builtin::SHORT_DIP).scenario, 1);
    let read = RunLog::from_json(&log.to_json().unwrap()).unwrap();
    assert!(read == log, "a figure was read back as another");
    assert_eq!((log.meta.engine, log.meta.started.as_str()), (EngineKind::Simulator, ""));
    assert_eq!(log.integrity.scheduled, log.integrity.offered);
}

#[test]
fn a_network_of_random_delays_changes_little() {
    let scenario = plan(builtin::SHORT_DIP).scenario;
    let network = Network::Lognormal { mean: Duration::from_millis(1), sigma: 1.0 };
    let options = RunOptions { network, ..RunOptions::new(scenario.clone()) };
    let log = run(&options, &mut (), &mut |_| None, &Cancel::new());
    let judgement = goodput_verdict::judge(&log, &scenario);
    assert_eq!(judgement.verdict, goodput_verdict::Verdict::Recovered);
}

/// Collects what it is handed, and raises a flag at the end of a window.
struct Watcher {
    windows: Vec<Window>,
    events: Vec<Event>,
    cancel: (u64, Cancel),
}

impl Observer for Watcher {
    fn on_window(&mut self, window: &Window) {
        self.windows.push(window.clone());
        if window.second == self.cancel.0 {
            self.cancel.1.cancel();
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.events.push(event.clone());
    }
}

/// Windows as they are handed out while a run goes on: what becomes of their requests is not known yet.
fn as_handed_out(log: &RunLog) -> Vec<Window> {
    let mut windows = log.windows.clone();
    for window in &mut windows {
        window.client.cohort = Cohort::default();
    }
    windows
}

#[test]
fn the_observer_is_handed_every_window_and_event_of_the_log() {
    let options = RunOptions::new(plan(builtin::STALL_AND_PUT_BACK).scenario);
    let cancel = (u64::MAX, Cancel::new());
    let mut watcher = Watcher { windows: Vec::new(), events: Vec::new(), cancel };
    let log = run(&options, &mut watcher, &mut |_| None, &Cancel::new());
    assert_eq!((log.windows.len(), log.ending), (240, Ending::Completed));
    assert_eq!((watcher.windows, &watcher.events), (as_handed_out(&log), &log.events));
}

#[test]
fn a_cancelled_run_ends_its_faults_and_yields_the_log_so_far() {
    let options = RunOptions::new(plan(builtin::DATABASE_FAILOVER).scenario);
    let cancel = Cancel::new();
    let mut watcher =
        Watcher { windows: Vec::new(), events: Vec::new(), cancel: (70, cancel.clone()) };
    let log = run(&options, &mut watcher, &mut |_| None, &cancel);
    assert_eq!(log.ending, Ending::Interrupted);
    assert!((71..=73).contains(&log.windows.len()), "{}", log.windows.len());
    let last = log.events.last().unwrap();
    assert!(matches!(&last.kind, EventKind::FaultEnded { name, .. } if name == "cut"), "{last:?}");
    assert_eq!(watcher.windows, as_handed_out(&log));
}

#[test]
fn a_lever_pulled_by_hand_acts_and_is_noted() {
    let scenario = with_cut(plan(builtin::DATABASE_FAILOVER).scenario, 20.0, 60);
    let options = RunOptions { seed: Seed(1), ..RunOptions::new(scenario) };
    let mut pulled = false;
    let mut levers = |now: Timestamp| {
        let due = now >= Timestamp::from_secs(100)
            && !std::mem::replace(&mut pulled, now >= Timestamp::from_secs(100));
        due.then_some(Lever::ShedQueue)
    };
    let log = run(&options, &mut (), &mut levers, &Cancel::new());
    let noted = log.events.iter().find(|event| matches!(event.kind, EventKind::LeverPulled { .. }));
    assert_eq!(noted.unwrap().at, Timestamp::from_secs(100));
    assert!(log.windows[98].tiers[0].queued > 1_000);
    assert!(log.windows[100].tiers[0].queued < 500);
    assert!(log.windows[100].tiers[0].refused["shed"] > 1_000);
}

#[test]
fn a_shorter_run_is_a_prefix_of_a_longer_one_down_to_what_became_of_each_request() {
    let plan = plan(builtin::DATABASE_FAILOVER);
    let long = plan.arm("naive").unwrap().scenario.clone();
    let short = Scenario { duration: Duration::from_secs(150), ..long.clone() };
    assert!(short.life() <= Scenario::WATCH_MOST, "the watch sees every request to its end");
    let of = |scenario| run(&RunOptions::new(scenario), &mut (), &mut |_| None, &Cancel::new());
    let (long, short) = (of(long), of(short));
    assert_eq!(short.windows.len(), 150);
    assert_eq!(short.windows, long.windows[..150]);
}

#[test]
fn the_watch_sees_what_the_end_left_open_and_counts_nothing_else() {
    let scenario = plan(builtin::DATABASE_FAILOVER).arm("naive").unwrap().scenario.clone();
    let log = run(&RunOptions::new(scenario), &mut (), &mut |_| None, &Cancel::new());
    assert_eq!(log.windows.len(), 240);
    for Window { second, client, .. } in &log.windows {
        assert_eq!(client.cohort.arrived, client.offered, "second {second}");
        assert_eq!(client.cohort.open(), 0, "second {second}");
    }
    let arrived: u64 = log.windows.iter().map(|window| window.client.cohort.arrived).sum();
    assert_eq!((log.integrity.offered, log.integrity.scheduled), (arrived, arrived));
    assert_eq!(log.totals.attempts_per_request.values().sum::<u64>(), arrived);
    let good: u64 = log.windows.iter().map(|window| window.client.cohort.good).sum();
    assert_eq!(log.totals.latency.iter().map(|(_, count)| count).sum::<u64>(), good);
}
