//! The fault injector as a process with an API.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use goodput_control::api::{Cause, Owner, RunRequest};
use goodput_control::{Audit, ClientError, ControlClient, Guard};
use goodput_fault_injector::{Injector, InjectorConfig, LoadTarget, Targets};
use goodput_test_support::{SHORT_CUT, ToldServer, Wire, any_port, block_on, client, wait_for};
use http::Method;
use serde_json::{Value, json};

use crate::support::short_terms;

struct Lab {
    server: ToldServer,
    injector: Injector,
    audit: Audit,
    client: ControlClient,
}

fn lab() -> Lab {
    let server = ToldServer::start();
    let client = server.client();
    lab_with(server, client)
}

/// A lab whose injector reaches the server by `tier`.
fn lab_with(server: ToldServer, tier: ControlClient) -> Lab {
    let audit = Audit::memory();
    let tiers = vec![("order-status".to_owned(), tier)];
    let injector = Injector::start(InjectorConfig {
        bind: any_port(),
        guard: Guard::loopback(),
        targets: Targets::new(tiers, LoadTarget::None),
        terms: short_terms(),
        audit: audit.clone(),
    })
    .unwrap();
    let client = client(injector.addr());
    Lab { server, injector, audit, client }
}

fn stall(name: &str, length: &str) -> Value {
    json!({"name": name, "fault": {"kind": "stall"}, "for": length, "by": "me"})
}

impl Lab {
    fn ask(&self, method: Method, path: &[&str], body: Value) -> Result<Value, ClientError> {
        block_on(self.client.ask(method, path, (!body.is_null()).then_some(body)))
    }
}

#[test]
fn a_fault_that_comes_over_http_is_held_past_its_lease_and_ends_on_time() {
    let lab = lab();
    let held = lab.ask(Method::POST, &["faults"], stall("f", "2500ms")).unwrap();
    assert_eq!((&held["tier"], &held["fault"]["kind"]), (&"order-status".into(), &"stall".into()));
    assert!(lab.server.is_hurt());
    let state = lab.ask(Method::GET, &["state"], Value::Null).unwrap();
    assert_eq!(state["faults"][0]["name"], "f");
    let metrics = block_on(lab.client.metrics()).unwrap();
    assert!(metrics.contains("rig_injector_faults_held{tier=\"order-status\"} 1"), "{metrics}");
    wait_for("the end", || !lab.server.is_hurt());
    let lasted = lab.server.first_fault().1;
    assert!(
        lasted.abs_diff(Duration::from_millis(2_500)) < Duration::from_millis(250),
        "{lasted:?}"
    );
    let entry = &lab.audit.entries()[0];
    assert_eq!((entry.command.as_str(), entry.by.as_str()), ("POST /faults", "me"));
    wait_for("the injector to let go", || {
        block_on(lab.client.metrics()).unwrap().contains("rig_injector_faults_injected_total 1")
    });
}

#[test]
fn it_is_ended_by_id_and_by_reset_as_read_back() {
    let lab = lab();
    let held = lab.ask(Method::POST, &["faults"], stall("a", "5m")).unwrap();
    lab.ask(Method::POST, &["faults"], stall("b", "5m")).unwrap();
    let theirs = json!({"name": "c", "fault": {"kind": "stall"}, "for": "5m", "by": "you"});
    lab.ask(Method::POST, &["faults"], theirs).unwrap();
    let conflict = lab.ask(Method::POST, &["faults"], stall("a", "5m")).unwrap_err();
    assert_eq!(conflict.status().unwrap().as_u16(), 409);
    let unnamed = lab.ask(Method::DELETE, &["faults", "a"], Value::Null).unwrap_err();
    assert!(unnamed.to_string().contains("`id` is missing"), "{unnamed}");
    let end = |id: &Value| lab.ask(Method::DELETE, &["faults", "a"], json!({ "id": id })).unwrap();
    assert_eq!(end(&json!("another"))["removed"], Value::Null);
    assert_eq!(end(&held["id"])["removed"]["name"], "a");
    assert_eq!(end(&held["id"])["removed"], Value::Null);
    let reset = lab.ask(Method::POST, &["reset"], json!({"by": "me"})).unwrap();
    assert_eq!(reset["tiers"]["order-status"]["faults"][0]["name"], "c");
    assert_eq!(reset["state"]["faults"].as_array().unwrap().len(), 1);
    assert!(lab.server.is_hurt());
    let all = json!({"by": "me", "scope": "all"});
    let reset = lab.ask(Method::POST, &["reset"], all).unwrap();
    assert_eq!(reset["tiers"]["order-status"]["faults"], json!([]));
    assert!(!lab.server.is_hurt());
    assert_eq!(reset["state"]["unconfirmed"], json!([]));
}

#[test]
fn what_is_wrong_is_a_4xx_and_an_unreachable_tier_a_502() {
    let lab = lab();
    for body in [
        json!({"name": "f", "fault": {"kind": "stall"}}),
        json!({"name": "f", "fault": {"kind": "stall"}, "for": "0s"}),
        json!({"name": "f", "fault": {"kind": "stall"}, "for": "25h"}),
        json!({"name": "f", "fault": {"kind": "stall"}, "for": "1s", "tier": "front"}),
        json!({"name": "f", "fault": {"kind": "capacity", "to": 0}, "for": "1s"}),
    ] {
        let error = lab.ask(Method::POST, &["faults"], body.clone()).unwrap_err();
        assert_eq!(error.status().map(|status| status.as_u16()), Some(400), "{body}: {error}");
    }
    for body in [
        json!({"scenario": "nonsense"}),
        json!({"scenario": "", "speed": 1e9}),
        json!({"scenario": long_cut(), "arm": "no-such"}),
    ] {
        let error = lab.ask(Method::POST, &["timeline"], body.clone()).unwrap_err();
        assert_eq!(error.status().map(|status| status.as_u16()), Some(400), "{body}: {error}");
    }
    let none = lab.ask(Method::GET, &["timeline"], Value::Null).unwrap_err();
    assert_eq!(none.status().unwrap().as_u16(), 404);
    assert!(!lab.server.is_hurt());
    let Lab { server, injector: _injector, client, .. } = lab;
    drop(server);
    let ordered = stall("f", "1s");
    let error = block_on(client.ask::<Value>(Method::POST, &["faults"], Some(ordered)));
    let error = error.unwrap_err();
    assert_eq!(error.status().unwrap().as_u16(), 502, "{error}");
}

#[test]
fn a_command_is_in_the_audit_log_though_whoever_gave_it_has_hung_up() {
    let server = ToldServer::start();
    let wire = Wire::to(server.addr());
    let tier = client(wire.addr).with_timeout(Duration::from_millis(300));
    let lab = lab_with(server, tier);
    lab.ask(Method::POST, &["faults"], stall("f", "5m")).unwrap();
    // The end takes as long as it cannot be confirmed.
    wire.cut();
    let mut caller = TcpStream::connect(lab.injector.addr()).unwrap();
    let body = r#"{"id":"any"}"#;
    write!(
        caller,
        "DELETE /faults/f HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        lab.injector.addr(),
        body.len()
    )
    .unwrap();
    // Nothing shows that the command has begun; it goes on for longer than this.
    std::thread::sleep(Duration::from_millis(200));
    drop(caller);
    wire.mend();
    wait_for("the entry", || {
        lab.audit.entries().iter().any(|entry| {
            entry.command == "DELETE /faults/f" && entry.outcome == "ended, as read back"
        })
    });
}

#[test]
fn a_scenario_is_played_and_can_be_ended() {
    let lab = lab();
    let body = json!({"scenario": long_cut(), "speed": 20});
    let played = lab.ask(Method::POST, &["timeline"], body.clone()).unwrap();
    assert_eq!(played["timeline"]["playing"], true);
    let twice = lab.ask(Method::POST, &["timeline"], body).unwrap_err();
    assert_eq!(twice.status().unwrap().as_u16(), 409);
    wait_for("the fault", || lab.server.is_hurt());
    let state = block_on(lab.server.client().server_state()).unwrap();
    let run = state.run.unwrap();
    assert_eq!((run.name.as_str(), &state.faults[0].owner), ("short-cut", &Owner::Run(run.id)));
    let began = Instant::now();
    let ended = lab.ask(Method::DELETE, &["timeline"], Value::Null).unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(!lab.server.is_hurt());
    assert_eq!(ended["timeline"]["report"]["interrupted"], true, "{ended}");
    assert_eq!(ended["timeline"]["report"]["unreverted"], json!([]));
    assert_eq!(ended["timeline"]["events"].as_array().unwrap().len(), 2, "{ended}");
    assert_eq!(block_on(lab.server.client().server_state()).unwrap().run, None);
}

#[test]
fn a_shutdown_ends_every_fault_and_confirms_it() {
    let lab = lab();
    lab.ask(Method::POST, &["faults"], stall("a", "5m")).unwrap();
    let left = lab.injector.shutdown();
    assert!(left.is_empty(), "{left:?}");
    assert!(!lab.server.is_hurt());
}

#[test]
fn a_scenario_is_not_played_where_another_run_goes_on() {
    let lab = lab();
    let theirs = Cause::new("host", "").of_run("theirs");
    let request = RunRequest::new("steady", Duration::from_mins(1), &theirs);
    block_on(lab.server.client().take_lease(&request)).unwrap();
    let body = json!({"scenario": long_cut(), "speed": 20});
    let refused = lab.ask(Method::POST, &["timeline"], body.clone()).unwrap_err();
    assert_eq!(refused.status().unwrap().as_u16(), 409);
    assert!(refused.to_string().contains("`steady` (theirs) of host"), "{refused}");
    assert!(!lab.server.is_hurt());
    // The run itself may have it played.
    let mut own = body;
    own["run"] = json!("theirs");
    lab.ask(Method::POST, &["timeline"], own).unwrap();
    wait_for("the fault", || lab.server.is_hurt());
    lab.ask(Method::DELETE, &["timeline"], Value::Null).unwrap();
    let run = block_on(lab.server.client().server_state()).unwrap().run;
    assert_eq!(run.unwrap().id, "theirs", "it is the run's own to give back");
}

/// A cut of 200 s.
fn long_cut() -> String {
    SHORT_CUT.replace("\"40s\"", "\"240s\"").replace("for = \"5s\"", "for = \"200s\"")
}
