//! A scenario's faults and levers at wall times.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use goodput_clock::{Rate, Ratio, Scale, Timestamp};
use goodput_fault_injector::{
    InjectorEventKind, LeaseTerms, LoadTarget, PlayOptions, PlayReport, StartPlayError, Targets,
    Timeline,
};
use goodput_policy::fault::FaultKind;
use goodput_policy::lever::Lever;
use goodput_scenario::{PlannedFault, PlannedLever};
use goodput_test_support::{ToldServer, client, nobody, wait_for};

use crate::support::cause;

fn fault(name: &str, tier: &str, at: u64, length: u64) -> PlannedFault {
    PlannedFault {
        name: name.to_owned(),
        tier: tier.to_owned(),
        kind: FaultKind::Stall,
        at: Timestamp::from_secs(at),
        length: Duration::from_secs(length),
    }
}

fn lever(lever: Lever, at: u64) -> PlannedLever {
    PlannedLever { lever, tier: None, at: Timestamp::from_secs(at) }
}

fn options(speed: f64) -> PlayOptions {
    PlayOptions {
        epoch: Instant::now(),
        scale: Scale::new(speed).unwrap(),
        terms: LeaseTerms::default(),
        cause: cause(),
    }
}

fn only(server: &ToldServer, load: LoadTarget) -> Targets {
    Targets::new(vec![("order-status".to_owned(), server.client())], load)
}

#[test]
fn faults_and_levers_come_at_their_times_at_ten_times_the_speed() {
    let server = ToldServer::start();
    let (levers, load) = mpsc::channel();
    let admit = Lever::Admit {
        share: Ratio::ONE,
        hold: Some(Duration::from_secs(20)),
        ramp: Duration::ZERO,
    };
    let rate = Lever::Rate { rate: Rate::new(80.0).unwrap() };
    let timeline = Timeline {
        faults: vec![fault("failover", "order-status", 5, 20)],
        levers: vec![lever(admit, 30), lever(rate.clone(), 32)],
    };
    let options = options(10.0);
    let epoch = options.epoch;
    let playing = timeline.start(only(&server, LoadTarget::Channel(levers)), options).unwrap();
    let (events, report) = playing.finish();
    assert_eq!(report, PlayReport::default());
    let (began, lasted) = server.first_fault();
    let close = Duration::from_millis(250);
    assert!((began - epoch).abs_diff(Duration::from_millis(500)) < close, "{:?}", began - epoch);
    assert!(lasted.abs_diff(Duration::from_secs(2)) < close, "{lasted:?}");
    let (pulled, wall) = server.told(|told| told.levers[0].clone());
    assert!((pulled - epoch).abs_diff(Duration::from_secs(3)) < close);
    let Lever::Admit { hold, .. } = wall else { panic!("{wall:?}") };
    assert_eq!(hold, Some(Duration::from_secs(2)), "the server hears wall time");
    assert_eq!(load.try_recv(), Ok(rate), "the load generator here hears scenario time");
    let told: Vec<String> = events.iter().map(|event| event.kind.to_string()).collect();
    assert_eq!(
        told,
        [
            "fault failover at order-status in force: full stall",
            "fault failover at order-status ended",
            "lever admit at order-status: pulled admit",
            "lever rate: handed to the load generator",
        ]
    );
    let ended = events[1].at.as_secs_f64();
    assert!((24.5..28.0).contains(&ended), "scenario time {ended}");
}

#[test]
fn two_tiers_may_have_a_fault_of_one_name_each() {
    let (front, back) = (ToldServer::start(), ToldServer::start());
    let tiers = vec![("front".to_owned(), front.client()), ("back".to_owned(), back.client())];
    let timeline = Timeline {
        faults: vec![fault("f", "front", 1, 5), fault("f", "back", 2, 5)],
        levers: Vec::new(),
    };
    let playing = timeline.start(Targets::new(tiers, LoadTarget::None), options(10.0)).unwrap();
    let (events, report) = playing.finish();
    assert_eq!(report, PlayReport::default());
    assert_eq!(events.len(), 4);
    assert!(front.first_fault().0 < back.first_fault().0);
}

#[test]
fn a_stop_reverts_everything_and_what_levers_left_behind() {
    let server = ToldServer::start();
    let admit = Lever::Admit { share: Ratio::ZERO, hold: None, ramp: Duration::ZERO };
    let timeline = Timeline {
        faults: vec![fault("now", "order-status", 0, 300), fault("later", "order-status", 200, 9)],
        levers: vec![lever(admit, 0), lever(Lever::ShedQueue, 250)],
    };
    let playing = timeline.start(only(&server, LoadTarget::None), options(1.0)).unwrap();
    wait_for("the fault", || server.is_hurt());
    wait_for("the lever", || server.told(|told| !told.levers.is_empty()));
    let began = Instant::now();
    playing.stop().pull();
    playing.stop().pull();
    let (events, report) = playing.finish();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(report, PlayReport { interrupted: true, ..PlayReport::default() });
    assert!(!server.is_hurt());
    assert_eq!(server.told(|told| (told.levers.len(), told.sheds)), (1, 1));
    assert!(matches!(events.last().unwrap().kind, InjectorEventKind::FaultEnded { .. }));
}

#[test]
fn a_server_that_dies_takes_its_fault_with_it() {
    let server = ToldServer::start();
    let timeline = Timeline { faults: vec![fault("f", "order-status", 0, 1)], levers: Vec::new() };
    let playing = timeline.start(only(&server, LoadTarget::None), options(1.0)).unwrap();
    wait_for("the fault", || server.is_hurt());
    drop(server);
    let (events, report) = playing.finish();
    assert_eq!(report.unreverted, [], "{report:?}");
    assert_eq!(report.faults_lost.len(), 1, "{report:?}");
    assert_eq!(report.faults_lost[0].tier.as_deref(), Some("order-status"));
    let last = &events.last().unwrap().kind;
    assert!(matches!(last, InjectorEventKind::FaultEnded { lost: true, .. }), "{last:?}");
}

#[test]
fn a_fault_and_a_lever_that_fail_are_reported_and_stop_nothing_else() {
    let server = ToldServer::start();
    let tiers =
        vec![("dead".to_owned(), client(nobody())), ("order-status".to_owned(), server.client())];
    let timeline = Timeline {
        faults: vec![fault("f", "dead", 0, 1), fault("g", "order-status", 1, 5)],
        levers: vec![PlannedLever {
            lever: Lever::Restart,
            tier: Some("dead".to_owned()),
            at: Timestamp::ZERO,
        }],
    };
    let playing = timeline.start(Targets::new(tiers, LoadTarget::None), options(10.0)).unwrap();
    let (_, report) = playing.finish();
    assert_eq!((report.faults_unseen.len(), report.levers_failed.len()), (1, 1), "{report:?}");
    assert!(report.unreverted.is_empty() && report.faults_lost.is_empty(), "{report:?}");
    assert!(server.first_fault().1 > Duration::from_millis(300));
}

#[test]
fn a_missing_control_plane_is_named_before_anything_begins() {
    let server = ToldServer::start();
    let unknown = Timeline { faults: vec![fault("f", "front", 0, 1)], levers: Vec::new() };
    let error = unknown.start(only(&server, LoadTarget::None), options(1.0)).unwrap_err();
    assert!(matches!(error, StartPlayError::Missing(_)));
    assert!(error.to_string().contains("`order-status`"), "{error}");
    let retries = lever(Lever::Retries { layer: None, retries: 0 }, 0);
    let no_load = Timeline { faults: Vec::new(), levers: vec![retries] };
    let error = no_load.start(only(&server, LoadTarget::None), options(1.0)).unwrap_err();
    assert!(error.to_string().contains("`retries`"), "{error}");
}
