//! What every run log must hold, whatever happened.

use goodput_runlog::{Cohort, Ending, EventKind, RunLog, Window};
use goodput_test_support::{SHORT_CUT, alone};
use goodput_verdict::{DoubtKind, Verdict};

use crate::support::{options, remote, run_trusted, run_with, scenario, server, state};

/// Retries, refusals and time-outs, and work that is under way at the end.
const OVERLOAD: &str = r#"
name = "overload"
duration = "40s"
[load]
rate = 80
[client]
[[client.layer]]
timeout = "2s"
retries = 2
backoff = { base = "500ms", jitter = "full" }
[[tier]]
name = "order-status"
slots = 10
capacity = 100
queue_limit = 400
[[fault]]
kind = "capacity"
to = 0.2
at = "12s"
for = "10s"
[expect]
verdict = "metastable"
hold = "5s"
within = "10s"
"#;

fn total(log: &RunLog, of: impl Fn(&Window) -> u64) -> u64 {
    log.windows.iter().map(of).sum()
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
fn every_offered_request_and_every_attempt_is_accounted_for() {
    let _turn = alone();
    let ran = run_trusted(&scenario(OVERLOAD), 10.0);
    let log = &ran.log;
    let seconds: Vec<_> = ran.windows.iter().map(|window| window.second).collect();
    assert_eq!(seconds, (0..40).collect::<Vec<_>>(), "each window once, in order");
    assert_eq!(ran.windows, as_handed_out(log));
    assert_eq!(ran.events.len(), log.events.len());

    let offered = total(log, |w| w.client.offered);
    assert_eq!(offered, log.integrity.offered);
    assert_eq!(offered, log.integrity.scheduled);
    let failed = total(log, |w| w.client.failed.values().sum());
    assert!(failed > 100, "time-outs and refusals leave failures: {failed}");
    let ended = failed + total(log, |w| w.client.good + w.client.late + w.client.unsent);
    let last = &log.windows[39].client;
    assert!(last.requests_in_flight > 0);
    // What was due at the very end and sent after it was offered in the last window.
    let sent_late = last.send_lag.max.max(0.1) * 80.0 * 2.0;
    let off = offered.abs_diff(ended + last.requests_in_flight) as f64;
    assert!(off <= sent_late, "{offered} offered, {ended} ended, {last:?}");

    let attempts = total(log, |w| w.client.attempts);
    let retries = total(log, |w| w.client.retries);
    assert!(attempts - retries <= offered && retries > 100, "{attempts} {retries} {offered}");
    let received = total(log, |w| w.tiers[0].received);
    let off = attempts.abs_diff(received);
    let under_way = last.attempts_in_flight + attempts / 100;
    assert!(off <= under_way, "{attempts} sent, {received} received, {last:?}");
    let served = total(log, |w| w.tiers[0].served);
    let refused = total(log, |w| w.tiers[0].refused.values().sum());
    let tier = &log.windows[39].tiers[0];
    let left = tier.queued + tier.in_service + total(log, |w| w.tiers[0].cancelled);
    let off = received.abs_diff(served + refused + left);
    assert!(off <= received / 100, "{received} received, {served} served, {refused} refused");
    assert!(refused > 100);
    let by_attempts: u64 = log.totals.attempts_per_request.values().sum();
    assert!(by_attempts >= ended && by_attempts <= offered, "{by_attempts} {ended} {offered}");
}

#[test]
fn a_saved_log_says_the_same() {
    let _turn = alone();
    let scenario = scenario(SHORT_CUT);
    let ran = run_trusted(&scenario, 10.0);
    assert_eq!(ran.judgement.verdict, Verdict::Recovered, "{}", ran.judgement.summary);
    let read = RunLog::from_json(&ran.log.to_json().unwrap()).unwrap();
    let again = goodput_verdict::judge(&read, &scenario);
    assert_eq!((again.verdict, again.doubts), (ran.judgement.verdict, ran.judgement.doubts));
    assert_eq!((again.summary, again.rule), (ran.judgement.summary, ran.judgement.rule));
}

#[test]
fn a_run_that_is_cancelled_reverts_its_fault_and_keeps_the_log_so_far() {
    let _turn = alone();
    let (text, speed) =
        (SHORT_CUT.replace("\"40s\"", "\"90s\"").replace("\"5s\"", "\"60s\""), 10.0);
    let scenario = scenario(&text.replace("hold = \"60s\"", "hold = \"5s\""));
    let server = server(&scenario, speed);
    let (data, control) = (server.data_addr(), server.control_addr());
    let mut hurt = None;
    let ran =
        run_with(options(&scenario, speed, remote(data, Some(control))), |second, _, cancel| {
            if second == 25 {
                hurt = Some(state(control));
                cancel.cancel();
            }
        });
    let (hurt, after) = (hurt.unwrap(), state(control));
    assert_eq!(hurt.faults.len(), 1);
    assert!((hurt.capacity.unwrap() - 400.0).abs() < 1.0, "wall time: {:?}", hurt.capacity);
    assert_eq!(after.faults, []);
    assert!((after.capacity.unwrap() - 1_000.0).abs() < 1.0, "{:?}", after.capacity);
    assert_eq!(ran.log.ending, Ending::Interrupted);
    let windows = ran.log.windows.len();
    assert!((26..60).contains(&windows), "{windows} windows");
    assert!(ran.when(|kind| matches!(kind, EventKind::FaultStarted { .. })).unwrap() >= 15.0);
    assert!(ran.when(|kind| matches!(kind, EventKind::FaultEnded { .. })).unwrap() >= 25.0);
    assert_eq!(ran.judgement.verdict, Verdict::Inconclusive);
    assert!(ran.doubt(DoubtKind::Interrupted).is_some(), "{}", ran.judgement.summary);
    assert_eq!(ran.exit(), 4);
}
