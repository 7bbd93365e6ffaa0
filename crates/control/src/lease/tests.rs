//! Tests of the lease keeper, with leases far longer or shorter than what they wait for.

use std::sync::Mutex as StdMutex;

use goodput_clock::Ratio;
use goodput_policy::fault::CapacityMode;
use goodput_test_support::wait_for;

use super::*;

const LONG: Duration = Duration::from_mins(10);
const SHORT: Duration = Duration::from_millis(200);

fn cut() -> FaultKind {
    FaultKind::Capacity { to: Ratio::new(0.4).unwrap(), mode: CapacityMode::Slow }
}

fn keeper() -> (LeaseKeeper, Arc<StdMutex<Vec<Effect>>>, Audit) {
    let effects = Arc::new(StdMutex::new(Vec::new()));
    let audit = Audit::memory();
    let told = Arc::clone(&effects);
    let keeper = LeaseKeeper::new(audit.clone(), move |effect| told.lock().unwrap().push(effect));
    (keeper, effects, audit)
}

/// Runs the keeper's task on a runtime of its own for the length of `body`.
fn while_it_runs(keeper: &LeaseKeeper, body: impl FnOnce()) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    runtime.spawn(keeper.clone().run());
    body();
}

#[test]
fn a_lease_that_nobody_renews_ends_by_itself_and_the_limiter_is_told() {
    let (keeper, effects, audit) = keeper();
    while_it_runs(&keeper, || {
        keeper.install("failover", cut(), SHORT).unwrap();
        assert!((effects.lock().unwrap().last().unwrap().speed - 0.4).abs() < 1e-9);
        // Only the effects are looked at: a read of the faults would end the lease itself.
        let took = wait_for("its end", || effects.lock().unwrap().last() == Some(&Effect::NONE));
        assert!(took < Duration::from_millis(1_200), "{took:?}");
    });
    let entry = &audit.entries()[0];
    assert_eq!((entry.by.as_str(), entry.command.as_str()), ("lease keeper", "end fault failover"));
    assert_eq!(entry.outcome, "its lease ran out");
    assert_eq!(entry.before["faults"][0]["name"], "failover");
    assert_eq!(entry.after, json!({ "faults": [] }));
}

#[test]
fn a_shorter_lease_that_comes_later_ends_first() {
    let (keeper, effects, _) = keeper();
    while_it_runs(&keeper, || {
        keeper.install("long", FaultKind::Stall, LONG).unwrap();
        keeper.install("short", cut(), SHORT).unwrap();
        wait_for("the end of the short one", || {
            effects.lock().unwrap().last().is_some_and(|effect| effect.speed > 0.9)
        });
        assert!(effects.lock().unwrap().last().unwrap().stalled);
        assert_eq!(keeper.faults().len(), 1);
    });
}

#[test]
fn a_renewed_lease_goes_on_and_a_paused_renewer_loses_it() {
    let (keeper, effects, _) = keeper();
    while_it_runs(&keeper, || {
        keeper.install("failover", cut(), Duration::from_secs(1)).unwrap();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(100));
            keeper.renew("failover", Duration::from_secs(1)).unwrap();
        }
        assert_eq!(effects.lock().unwrap().len(), 1, "it was in force without a gap for 2 s");
        let paused = wait_for("its end", || effects.lock().unwrap().last() == Some(&Effect::NONE));
        assert!((0.8..2.0).contains(&paused.as_secs_f64()), "{paused:?}");
        let late = keeper.renew("failover", LONG);
        assert_eq!(late, Err(LeaseRefusal::NotInForce("failover".to_owned())));
    });
}

#[test]
fn without_its_task_each_call_still_ends_what_has_run_out() {
    let (keeper, effects, _) = keeper();
    keeper.install("failover", cut(), Duration::from_millis(100)).unwrap();
    std::thread::sleep(Duration::from_millis(150));
    assert!(keeper.faults().is_empty());
    assert_eq!(effects.lock().unwrap().last(), Some(&Effect::NONE));
    keeper.install("failover", cut(), LONG).unwrap();
}

#[test]
fn a_second_fault_of_one_name_conflicts_and_others_add_up() {
    let (keeper, effects, _) = keeper();
    keeper.install("one", cut(), LONG).unwrap();
    let again = keeper.install("one", FaultKind::Stall, LONG);
    assert_eq!(again, Err(LeaseRefusal::Conflict("one".to_owned())));
    keeper.install("two", cut(), LONG).unwrap();
    assert!((effects.lock().unwrap().last().unwrap().speed - 0.16).abs() < 1e-9);
    assert_eq!(keeper.remove("one").unwrap().name, "one");
    assert_eq!(keeper.remove("one"), None);
    keeper.clear();
    assert_eq!(effects.lock().unwrap().last(), Some(&Effect::NONE));
    assert!(keeper.faults().is_empty());
}

#[test]
fn a_lease_stays_within_its_bounds_whoever_asks() {
    let (keeper, ..) = keeper();
    let view = keeper.install("one", cut(), Duration::MAX).unwrap();
    assert!((3_599.0..=3_600.0).contains(&view.lease_left), "{}", view.lease_left);
    let view = keeper.renew("one", Duration::ZERO).unwrap();
    assert!(view.lease_left > 0.0 && view.lease_left <= 0.1, "{}", view.lease_left);
}

#[test]
fn the_faults_in_force_at_once_are_bounded() {
    let (keeper, _, _) = keeper();
    let names: Vec<_> = (0..LeaseKeeper::MOST).map(|number| format!("fault-{number}")).collect();
    for name in &names {
        keeper.install(name, cut(), LONG).unwrap();
    }
    assert_eq!(keeper.install("one-more", cut(), LONG), Err(LeaseRefusal::Full));
    let again = keeper.install(&names[0], cut(), LONG);
    assert_eq!(again, Err(LeaseRefusal::Conflict(names[0].clone())));
    keeper.remove(&names[0]);
    assert!(keeper.install("one-more", cut(), LONG).is_ok());
}
