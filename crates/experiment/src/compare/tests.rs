use std::convert::Infallible;

use goodput_clock::Seed;
use goodput_runlog::{ClientWindow, Cohort, Ending, Integrity, RunLog, TierWindow, Window};
use goodput_scenario::{Arm, Plan};
use goodput_verdict::{DoubtKind, Exit, Verdict};

use super::{Comparison, compare};

const PLAN: &str = "name = \"test\"\nduration = \"240s\"\n[load]\nrate = 80\n\
    [[client.layer]]\ntimeout = \"5s\"\nretries = 3\n\
    [[tier]]\nname = \"order-status\"\nslots = 10\ncapacity = 100\n\
    [[fault]]\nkind = \"capacity\"\nto = 0.4\nat = \"60s\"\nfor = \"20s\"\n\
    [expect]\nverdict = \"recovered\"\nhold = \"10s\"\nwithin = \"60s\"\n\
    [[arm]]\nname = \"naive\"\ncontrol = true\nexpect.verdict = \"metastable\"\n\
    [[arm]]\nname = \"drop-expired\"\nset.tier.order-status.drop_expired = true\n";

fn arms() -> Vec<Arm> {
    Plan::parse("test.toml", PLAN).unwrap_or_else(|error| panic!("{error}")).arms
}

/// A run with so much goodput a second from the fault's end on.
fn log(after: u64) -> RunLog {
    let windows = (0..240).map(|second| {
        let good = match second {
            0..60 => 80,
            60..80 => 20,
            _ => after,
        };
        let fault = (60..80).contains(&second);
        let attempts = if good == 80 { 80 } else { 320 };
        let tier = TierWindow {
            name: "order-status".to_owned(),
            received: attempts,
            served: if good == 80 { 80 } else { 100 },
            busy_useful: good as f64 / 10.0,
            busy_wasted: 10.0 - good as f64 / 10.0,
            queued: 600,
            slots: 10,
            capacity: Some(if fault { 40.0 } else { 100.0 }),
            ..TierWindow::default()
        };
        let cohort = Cohort { arrived: 80, good, failed: 80 - good, turned_away: 0 };
        let client =
            ClientWindow { offered: 80, good, attempts, cohort, ..ClientWindow::default() };
        Window { second, client, tiers: vec![tier] }
    });
    let (scheduled, offered) = (240 * 80, 240 * 80);
    RunLog {
        windows: windows.collect(),
        integrity: Integrity { scheduled, offered, ..Integrity::default() },
        ..RunLog::default()
    }
}

/// Compares a run of the control with one of the defence, after a change to the latter.
fn compared(control: u64, defence: u64, change: impl Fn(&mut RunLog)) -> Comparison {
    let engine = |arm: &Arm| {
        let mut log = log(if arm.control { control } else { defence });
        if !arm.control {
            change(&mut log);
        }
        Ok::<_, Infallible>(log)
    };
    compare(&arms(), engine).unwrap_or_else(|error| match error {})
}

#[test]
fn a_control_that_fails_and_a_defence_that_recovers_hold() {
    let comparison = compared(0, 80, |_| {});
    assert_eq!((comparison.exit, comparison.seed), (Exit::Held, Some(Seed(1))));
    assert_eq!(comparison.void, Vec::<String>::new());
    let [naive, defence] = comparison.rows.as_slice() else { panic!("{comparison:#?}") };
    assert_eq!((naive.verdict, naive.held), (Verdict::Metastable, true), "{naive:#?}");
    assert_eq!((defence.verdict, defence.held), (Verdict::Recovered, true), "{defence:#?}");
    assert_eq!(naive.goodput.before, Some(80.0));
    assert_eq!((naive.goodput.during, naive.goodput.after), (Some(20.0), Some(0.0)));
    assert_eq!((naive.attempts_per_request, naive.wasted_share), (Some(4.0), Some(1.0)));
    assert_eq!((naive.time_to_recover, defence.time_to_recover), (None, Some(0.0)));
}

#[test]
fn a_defence_that_fails_does_not_hold() {
    let comparison = compared(0, 40, |_| {});
    assert_eq!((comparison.exit, comparison.rows[1].held), (Exit::NotHeld, false));
}

#[test]
fn a_control_that_recovers_makes_the_comparison_void() {
    let comparison = compared(80, 40, |_| {});
    assert_eq!((comparison.exit, comparison.exit.code()), (Exit::Inconclusive, 3));
    assert!(comparison.void[0].contains("the control `naive` did not fail: recovered"));
}

#[test]
fn arms_that_saw_other_arrivals_cannot_be_compared() {
    let seed = compared(0, 80, |log| log.meta.seed = Seed(2));
    assert_eq!((seed.exit, seed.seed), (Exit::Inconclusive, None));
    let count = compared(0, 80, |log| {
        log.integrity.scheduled += 1;
        log.integrity.offered += 1;
    });
    assert!(count.void[0].contains("19201 requests were scheduled instead of 19200"), "{count:?}");
    let shifted = compared(0, 80, |log| {
        for pair in log.windows.chunks_mut(2).take(60) {
            pair[0].client.offered -= 4;
            pair[1].client.offered += 4;
        }
    });
    assert!(shifted.void[0].contains("480 of 19200 requests"), "{:?}", shifted.void);
}

#[test]
fn the_worst_exit_of_all_arms_counts() {
    let interrupted = compared(80, 80, |log| log.ending = Ending::Interrupted);
    assert_eq!(interrupted.exit.code(), 4);
    let unreverted = compared(80, 80, |log| {
        log.ending = Ending::Interrupted;
        log.integrity.faults_unreverted.push("cut".to_owned());
    });
    assert_eq!(unreverted.exit.code(), 5);
    let doubts = &unreverted.rows[1].judgement.doubts;
    assert!(doubts.iter().any(|doubt| doubt.kind == DoubtKind::FaultUnreverted));
}

#[test]
fn a_comparison_reads_back_from_json_and_an_engine_error_is_handed_on() {
    let comparison = compared(0, 80, |_| {});
    let json = serde_json::to_string(&comparison).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), comparison);
    assert_eq!(compare(&arms(), |_| Err("no port")), Err("no port"));
    assert_eq!(super::compare_finished(&[]).exit, Exit::Inconclusive);
}
