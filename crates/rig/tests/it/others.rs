//! Whose load and whose levers they are: a second run, a load that is there already, and what others do
//! while a run goes on.

use std::time::Duration;

use goodput_clock::Rate;
use goodput_control::api::{ANY_FAULT, Cause, FaultRequest, Owner, ServerState};
use goodput_control::{ClientError, ControlClient};
use goodput_load_generator::{ControlConfig, Generator, GeneratorConfig};
use goodput_order_status::Server;
use goodput_policy::fault::FaultKind;
use goodput_policy::lever::Lever;
use goodput_policy::limiter::LimiterPatch;
use goodput_rig::{LoadControl, RigError, RunOptions, Target};
use goodput_runlog::EventKind;
use goodput_test_support::{CALM, SHORT_CUT, alone, any_port, wait_for};

use crate::support::{Ran, ask, options, remote, run_with, scenario, server, state, try_run};

const SPEED: f64 = 10.0;

fn target(server: &Server) -> Target {
    remote(server.data_addr(), Some(server.control_addr()))
}

fn guest() -> Cause {
    Cause::new("guest", "a drill of their own")
}

/// What others did, as the run log has it: who, where and what.
fn by_others(ran: &Ran) -> Vec<(&str, &str, &str)> {
    let told = ran.log.events.iter().filter_map(|event| {
        let EventKind::ByOthers { tier, what, by } = &event.kind else { return None };
        Some((by.as_str(), tier.as_str(), what.as_str()))
    });
    told.collect()
}

fn refused(options: RunOptions) -> String {
    match try_run(options, |_, _, _| {}) {
        Err(RigError::Target(said)) => said,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_run_is_refused_by_the_name_of_the_first_which_goes_on() {
    let _turn = alone();
    let scenario = scenario(CALM);
    let server = server(&scenario, SPEED);
    let mut said = String::new();
    let ran = run_with(options(&scenario, SPEED, target(&server)), |second, _, _| {
        if second == 8 {
            let guest =
                RunOptions { by: "guest".to_owned(), ..options(&scenario, SPEED, target(&server)) };
            said = std::thread::scope(|scope| scope.spawn(|| refused(guest)).join().unwrap());
        }
    });
    for words in ["tier `order-status`", "409", "the run `calm`", "of a test", "since 20"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(by_others(&ran), [], "who is refused leaves no trace");
    let doubted = ran.when(|kind| matches!(kind, EventKind::Doubt { .. }));
    assert_eq!((doubted, ran.log.windows.len()), (None, 20));
    assert_eq!(state(server.control_addr()).run, None);
    let next = run_with(options(&scenario, SPEED, target(&server)), |_, _, cancel| cancel.cancel());
    assert_eq!(next.exit(), 4);
}

#[test]
fn a_load_that_is_there_already_is_refused_with_its_rate() {
    let _turn = alone();
    let calm = scenario(CALM);
    let server = server(&calm, SPEED);
    let long = scenario(&CALM.replace("\"20s\"", "\"600s\""));
    let config = GeneratorConfig::new(long, format!("http://{}", server.data_addr()));
    let generator = Generator::start(config).unwrap();
    let control = server.control_addr();
    wait_for("the load", || state(control).counters.received > 0);
    let before = state(control);
    let said = refused(options(&calm, SPEED, target(&server)));
    let rate: f64 = said
        .split_once("receives ")
        .and_then(|(_, rest)| rest.split(' ').next())
        .and_then(|rate| rate.parse().ok())
        .unwrap_or_else(|| panic!("{said}"));
    assert!((35.0..45.0).contains(&rate), "40 a second are sent: {said}");
    assert!(said.contains("docker compose stop load-generator"), "{said}");
    let after = state(control);
    assert_eq!((after.limiter, after.run), (before.limiter, None), "nothing was set");
    generator.stop();
    drop(generator);
    let next = run_with(options(&calm, SPEED, target(&server)), |_, _, cancel| cancel.cancel());
    assert_eq!(next.exit(), 4);
}

/// Runs a calm minute, at whose second 20 a guest does `what`.
fn visited(server: &Server, what: impl AsyncFn(&ControlClient, &Cause) + Send + Sync) -> Ran {
    let scenario = scenario(&CALM.replace("\"20s\"", "\"60s\""));
    let control = server.control_addr();
    run_with(options(&scenario, SPEED, target(server)), |second, _, _| {
        if second == 20 {
            ask(control, async |client| what(client, &guest()).await);
        }
    })
}

#[test]
fn a_strangers_lever_becomes_an_event_with_name_and_time() {
    let _turn = alone();
    let server = server(&scenario(CALM), SPEED);
    let patch = LimiterPatch { drop_expired: Some(true), ..LimiterPatch::default() };
    let ran = visited(&server, async |client, cause| {
        client.pull_at_server(&Lever::Limiter(patch), cause).await.unwrap();
    });
    let what = "lever limiter: the limiter now has drop_expired = true";
    assert_eq!(by_others(&ran), [("guest", "order-status", what)]);
    let at = ran.when(|kind| matches!(kind, EventKind::ByOthers { .. })).unwrap();
    assert!((20.0..25.0).contains(&at), "{at}");
    assert_eq!(ran.exit(), 3, "{}", ran.judgement.summary);
    assert_eq!(state(server.control_addr()).limiter["drop_expired"], true, "it is theirs");
}

#[test]
fn a_lever_of_the_run_says_what_it_turned_and_who_pulled_it() {
    let _turn = alone();
    let scenario = scenario(CALM);
    let server = server(&scenario, SPEED);
    let patch = LimiterPatch { slots: Some(9), ..LimiterPatch::default() };
    let ran = run_with(options(&scenario, SPEED, target(&server)), |second, levers, _| {
        if second == 8 {
            levers.send(Lever::Limiter(patch)).unwrap();
        }
    });
    let pulled = ran.log.events.iter().find_map(|event| {
        let EventKind::LeverPulled { what, keys, by, .. } = &event.kind else { return None };
        Some((what.clone(), keys.clone(), by.clone()))
    });
    let what = "the limiter now has slots = 9".to_owned();
    assert_eq!(pulled, Some((what, vec!["slots".to_owned()], "a test".to_owned())));
    assert_eq!(by_others(&ran), []);
    assert_eq!(state(server.control_addr()).slots, 10, "it ends with the run");
}

#[test]
fn a_strangers_lever_at_the_runs_own_load_generator_becomes_an_event_too() {
    let _turn = alone();
    let scenario = scenario(CALM);
    let server = server(&scenario, SPEED);
    let (bound, addr) = std::sync::mpsc::channel();
    let config = ControlConfig { bind: any_port(), ..ControlConfig::default() };
    let options = RunOptions {
        load_control: Some(LoadControl { config, bound: Some(bound) }),
        ..options(&scenario, SPEED, target(&server))
    };
    let ran = run_with(options, |second, _, _| {
        if second == 8 {
            let rate = Lever::Rate { rate: Rate::new(300.0).unwrap() };
            ask(addr.recv().unwrap(), async |client| {
                client.pull_at_load(&rate, &guest()).await.unwrap();
            });
        }
    });
    let told = by_others(&ran);
    assert_eq!((told.len(), told[0].0, told[0].1), (1, "guest", "load generator"));
    assert!(told[0].2.starts_with("lever rate: rate is now "), "{told:?}");
}

#[test]
fn anothers_fault_of_the_same_name_is_neither_renewed_nor_removed() {
    let _turn = alone();
    let scenario = scenario(&SHORT_CUT.replace("for = \"5s\"", "for = \"10s\""));
    let server = server(&scenario, SPEED);
    let control = server.control_addr();
    let mut theirs = String::new();
    let ran = run_with(options(&scenario, SPEED, target(&server)), |second, _, _| {
        if second == 17 {
            theirs = ask(control, async |client| {
                let own = client.faults().await.unwrap().remove(0);
                assert!(matches!(own.owner, Owner::Run(_)), "{own:?}");
                client.remove("cut", ANY_FAULT, &guest()).await.unwrap();
                let minute = Duration::from_mins(1);
                let request = FaultRequest::new("cut", FaultKind::Stall, minute, &guest());
                client.install(&request).await.unwrap().id
            });
        }
    });
    let left = state(control).faults;
    assert_eq!((left.len(), &left[0].id), (1, &theirs));
    let whole = left[0].age + left[0].lease_left;
    assert!((whole - 60.0).abs() < 0.1, "nobody has renewed it: {whole}");
    let what: Vec<_> = by_others(&ran).into_iter().map(|(_, _, what)| what).collect();
    assert!(
        what[0].starts_with("fault `cut` of the run ") && what[0].ends_with(" ended"),
        "{what:?}"
    );
    assert_eq!(what[1..], ["fault `cut` in force: full stall"]);
    assert_eq!(ran.exit(), 3, "{}", ran.judgement.summary);
}

#[test]
fn a_run_leaves_the_limiter_as_it_was_and_no_queue() {
    let _turn = alone();
    let overloaded = scenario(&CALM.replace("capacity = 100", "capacity = 20"));
    let server = server(&scenario(CALM), SPEED);
    let control = server.control_addr();
    let slots = LimiterPatch { slots: Some(7), ..LimiterPatch::default() };
    ask(control, async |client| client.patch_limiter(&slots, &guest()).await.unwrap());
    let before = state(control);
    let ran = run_with(options(&overloaded, SPEED, target(&server)), |_, _, _| {});
    let queued = ran.log.windows.last().unwrap().tiers[0].queued;
    assert!(queued > 100, "20 a second pile up for 20 s: {queued}");
    let after = state(control);
    assert_eq!((after.limiter, after.queued), (before.limiter, 0));
}

#[test]
fn a_server_whose_lease_ends_in_mid_run_is_told() {
    let _turn = alone();
    let server = server(&scenario(CALM), SPEED);
    let ran = visited(&server, async |client, cause| {
        let run = client.server_state().await.unwrap().run.unwrap().id;
        let released: Result<ServerState, ClientError> = client.release_lease(&run, cause).await;
        released.unwrap();
    });
    let what: Vec<_> = by_others(&ran).into_iter().map(|(_, _, what)| what).collect();
    assert!(what[0].starts_with("the run calm is over: put back capacity"), "{what:?}");
    let doubted =
        |kind: &EventKind| matches!(kind, EventKind::Doubt { what } if what.contains("lease"));
    assert!(ran.when(doubted).is_some(), "{:?}", ran.log.events);
}
