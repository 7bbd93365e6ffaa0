//! Tests of the lease keeper, with leases far longer or shorter than what they wait for.

use std::sync::Mutex as StdMutex;

use goodput_clock::Ratio;
use goodput_policy::fault::{CapacityMode, FaultKind};
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
    let keeper = LeaseKeeper::new(audit.clone(), Arc::default(), move |effect| {
        told.lock().unwrap().push(effect);
    });
    (keeper, effects, audit)
}

/// Puts a fault in force for somebody called `me`.
fn install(
    keeper: &LeaseKeeper,
    name: &str,
    fault: FaultKind,
    lease: Duration,
) -> Result<FaultView, LeaseRefusal> {
    keeper.install(&FaultRequest::new(name, fault, lease, &Cause::new("me", "a test")))
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
        install(&keeper, "failover", cut(), SHORT).unwrap();
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
        install(&keeper, "long", FaultKind::Stall, LONG).unwrap();
        install(&keeper, "short", cut(), SHORT).unwrap();
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
        install(&keeper, "failover", cut(), Duration::from_secs(1)).unwrap();
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(100));
            keeper.renew("failover", ANY_FAULT, Duration::from_secs(1)).unwrap();
        }
        assert_eq!(effects.lock().unwrap().len(), 1, "it was in force without a gap for 2 s");
        let paused = wait_for("its end", || effects.lock().unwrap().last() == Some(&Effect::NONE));
        assert!((0.8..2.0).contains(&paused.as_secs_f64()), "{paused:?}");
        let late = keeper.renew("failover", ANY_FAULT, LONG);
        assert_eq!(late, Err(LeaseRefusal::NotInForce("failover".to_owned())));
    });
}

#[test]
fn without_its_task_each_call_still_ends_what_has_run_out() {
    let (keeper, effects, _) = keeper();
    install(&keeper, "failover", cut(), Duration::from_millis(100)).unwrap();
    std::thread::sleep(Duration::from_millis(150));
    assert!(keeper.faults().is_empty());
    assert_eq!(effects.lock().unwrap().last(), Some(&Effect::NONE));
    install(&keeper, "failover", cut(), LONG).unwrap();
}

#[test]
fn a_second_fault_of_one_name_conflicts_and_others_add_up() {
    let (keeper, effects, _) = keeper();
    install(&keeper, "one", cut(), LONG).unwrap();
    let again = install(&keeper, "one", FaultKind::Stall, LONG);
    assert!(matches!(again, Err(LeaseRefusal::Conflict { name, .. }) if name == "one"));
    install(&keeper, "two", cut(), LONG).unwrap();
    assert!((effects.lock().unwrap().last().unwrap().speed - 0.16).abs() < 1e-9);
    assert_eq!(keeper.remove("one", ANY_FAULT).unwrap().name, "one");
    assert_eq!(keeper.remove("one", ANY_FAULT), None);
    keeper.clear();
    assert_eq!(effects.lock().unwrap().last(), Some(&Effect::NONE));
    assert!(keeper.faults().is_empty());
}

#[test]
fn a_lease_stays_within_its_bounds_whoever_asks() {
    let (keeper, ..) = keeper();
    let view = install(&keeper, "one", cut(), Duration::MAX).unwrap();
    assert!((3_599.0..=3_600.0).contains(&view.lease_left), "{}", view.lease_left);
    let view = keeper.renew("one", ANY_FAULT, Duration::ZERO).unwrap();
    assert!(view.lease_left > 0.0 && view.lease_left <= 0.1, "{}", view.lease_left);
}

#[test]
fn the_faults_in_force_at_once_are_bounded() {
    let (keeper, _, _) = keeper();
    let names: Vec<_> = (0..LeaseKeeper::MOST).map(|number| format!("fault-{number}")).collect();
    for name in &names {
        install(&keeper, name, cut(), LONG).unwrap();
    }
    assert_eq!(install(&keeper, "one-more", cut(), LONG), Err(LeaseRefusal::Full));
    let again = install(&keeper, &names[0], cut(), LONG);
    assert!(matches!(again, Err(LeaseRefusal::Conflict { name, .. }) if name == names[0]));
    keeper.remove(&names[0], ANY_FAULT);
    assert!(install(&keeper, "one-more", cut(), LONG).is_ok());
}

#[test]
fn a_fault_is_known_by_its_id_and_not_by_its_name() {
    let (keeper, effects, _) = keeper();
    let mine = install(&keeper, "cut", cut(), LONG).unwrap();
    assert_eq!(mine.owner, Owner::By("me".to_owned()));
    assert!(keeper.remove("cut", &mine.id).is_some());
    let cause = Cause::new("somebody", "").of_run("their-run");
    let request = FaultRequest {
        ticket: Some("t".to_owned()),
        ..FaultRequest::new("cut", FaultKind::Stall, LONG, &cause)
    };
    let theirs = keeper.install(&request).unwrap();
    assert_eq!(
        (&theirs.owner, theirs.ticket.as_deref()),
        (&Owner::Run("their-run".to_owned()), Some("t"))
    );
    assert_ne!(mine.id, theirs.id);
    let late = keeper.renew("cut", &mine.id, SHORT).unwrap_err();
    let LeaseRefusal::Another { asked, id, .. } = &late else { panic!("{late}") };
    assert_eq!((asked, id), (&mine.id, &theirs.id));
    assert!(late.to_string().contains("the run their-run"), "{late}");
    assert_eq!(keeper.remove("cut", &mine.id), None);
    assert!(effects.lock().unwrap().last().unwrap().stalled, "theirs is left alone");
    assert!(keeper.faults()[0].lease_left > SHORT.as_secs_f64());
    keeper.renew("cut", &theirs.id, LONG).unwrap();
    assert_eq!(keeper.remove_of(&Owner::By("me".to_owned())), []);
    assert_eq!(keeper.remove_of(&theirs.owner).len(), 1);
    assert_eq!(effects.lock().unwrap().last(), Some(&Effect::NONE));
}

#[test]
fn no_two_processes_give_the_same_id() {
    let ids = [(); 2].map(|()| install(&keeper().0, "cut", cut(), LONG).unwrap().id);
    assert_ne!(ids[0], ids[1]);
}
