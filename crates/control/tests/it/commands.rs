//! Every route, every 4xx, and what the audit log keeps of it.

use goodput_test_support::ToldServer;

use crate::support::{ask, ask_json, json, load};

const ANY: &str = r#"{"id":"any"}"#;
const CUT: &str = r#"{"name":"failover","fault":{"kind":"capacity","to":0.4},"lease":"1m","by":"me","reason":"drill"}"#;

#[test]
fn a_fault_is_installed_read_back_renewed_and_removed() {
    let server = ToldServer::start();
    let addr = server.addr();
    let (status, answer) = ask_json(addr, "POST", "/faults", CUT);
    let installed = json(&answer);
    assert_eq!((status, &installed["name"]), (201, &"failover".into()));
    assert_eq!(installed["owner"], serde_json::json!({"by": "me"}));
    let id = installed["id"].as_str().unwrap();
    assert!((server.effect().speed - 0.4).abs() < 1e-9);
    let state = json(&ask(addr, "GET", "/state", &[], "").1);
    assert_eq!(state["capacity"], 40.0);
    assert_eq!(
        state["faults"][0]["fault"],
        serde_json::json!({"kind":"capacity","to":0.4,"mode":"slow"})
    );
    let (status, answer) =
        ask_json(addr, "PATCH", "/faults/failover", &format!(r#"{{"id":"{id}","lease":"5m"}}"#));
    assert_eq!(status, 200);
    assert!(json(&answer)["lease_left"].as_f64().unwrap() > 60.0);
    let body = format!(r#"{{"id":"{id}"}}"#);
    let (status, answer) = ask_json(addr, "DELETE", "/faults/failover", &body);
    let removal = json(&answer);
    assert_eq!((status, &removal["removed"]["name"]), (200, &"failover".into()));
    assert_eq!(
        (&removal["state"]["capacity"], &removal["state"]["faults"]),
        (&100.0.into(), &serde_json::json!([]))
    );
    let (status, answer) = ask_json(addr, "DELETE", "/faults/failover", &body);
    assert_eq!((status, json(&answer)["removed"].clone()), (200, serde_json::Value::Null));
}

#[test]
fn a_second_fault_of_one_name_is_a_conflict() {
    let server = ToldServer::start();
    let addr = server.addr();
    assert_eq!(ask_json(addr, "POST", "/faults", CUT).0, 201);
    let (status, answer) = ask_json(addr, "POST", "/faults", CUT);
    assert_eq!(status, 409);
    assert!(answer.contains("DELETE /faults/failover"), "{answer}");
    assert_eq!(json(&ask(addr, "GET", "/faults", &[], "").1).as_array().unwrap().len(), 1);
    let entry = server.audit.entries().pop().unwrap();
    assert_eq!((entry.by.as_str(), entry.reason.as_str()), ("me", "drill"));
    assert!(entry.outcome.starts_with("refused with 409"), "{}", entry.outcome);
}

#[test]
fn a_name_with_odd_characters_can_be_ended() {
    let server = ToldServer::start();
    let addr = server.addr();
    let body = r#"{"name":"a/b c?é%","fault":{"kind":"stall"}}"#;
    assert_eq!(ask_json(addr, "POST", "/faults", body).0, 201);
    let (_, answer) = ask_json(addr, "DELETE", "/faults/a%2Fb%20c%3F%C3%A9%25", ANY);
    assert_eq!(json(&answer)["removed"]["name"], "a/b c?é%");
}

#[test]
fn a_cut_by_slots_that_takes_none_away_is_refused_and_changes_nothing() {
    let server = ToldServer::start();
    let addr = server.addr();
    let slots = |name: &str, to: &str| {
        let fault = format!(r#"{{"kind":"capacity","to":"{to}","mode":"slots"}}"#);
        ask_json(addr, "POST", "/faults", &format!(r#"{{"name":"{name}","fault":{fault}}}"#))
    };
    let (status, answer) = slots("a", "96%");
    assert_eq!(status, 409, "{answer}");
    let error = json(&answer)["error"].as_str().unwrap().to_owned();
    for part in ["`slots` would take no slot away", "96% of the 10", r#""mode":"slow""#] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!server.is_hurt());
    assert_eq!(slots("a", "10%").0, 201);
    assert!(json(&slots("b", "10%").1)["error"].as_str().unwrap().contains("of the 1 at work"));
    assert!(json(&slots("a", "10%").1)["error"].as_str().unwrap().contains("in force already"));
    assert_eq!(ask_json(addr, "PATCH", "/limiter", r#"{"slots":100}"#).0, 200);
    assert_eq!(slots("b", "10%").0, 201, "nine of ten slots are left to take");
}

#[test]
fn reset_ends_every_fault_puts_levers_back_and_reads_the_state_back() {
    let server = ToldServer::start();
    let addr = server.addr();
    for body in [
        CUT,
        r#"{"name":"slots","fault":{"kind":"capacity","to":"50%","mode":"slots"},"lease":"1m"}"#,
        r#"{"name":"stall","fault":{"kind":"stall"},"lease":"1m"}"#,
    ] {
        assert_eq!(ask_json(addr, "POST", "/faults", body).0, 201);
    }
    assert_eq!(ask_json(addr, "PATCH", "/limiter", r#"{"slots":3}"#).0, 200);
    assert_eq!(ask_json(addr, "POST", "/levers/admit", r#"{"share":"20%"}"#).0, 200);
    let before = json(&ask(addr, "GET", "/state", &[], "").1);
    assert_eq!(
        (&before["capacity"], &before["admitted"], &before["slots"]),
        (&0.0.into(), &0.2.into(), &3.into())
    );
    let (status, answer) = ask_json(addr, "POST", "/reset", r#"{"by":"me","scope":"all"}"#);
    let after = json(&answer);
    assert_eq!(status, 200);
    assert_eq!(
        (&after["capacity"], &after["admitted"], &after["slots"]),
        (&100.0.into(), &1.0.into(), &10.into())
    );
    assert_eq!(after["faults"], serde_json::json!([]));
    assert_eq!(ask(addr, "POST", "/reset", &[], "").0, 200, "it may be repeated");
}

#[test]
fn every_command_is_in_the_audit_log_with_the_state_before_and_after() {
    let server = ToldServer::start();
    let addr = server.addr();
    ask_json(addr, "POST", "/faults", CUT);
    ask_json(addr, "PATCH", "/faults/failover", r#"{"id":"any","by":"me"}"#);
    ask_json(addr, "DELETE", "/faults/failover", r#"{"id":"any","by":"me","reason":"enough"}"#);
    ask_json(addr, "PATCH", "/limiter", r#"{"queue_limit":150}"#);
    ask(addr, "POST", "/levers/shed-queue", &[], "");
    ask(addr, "POST", "/reset", &[], "");
    ask(addr, "GET", "/state", &[], "");
    let entries = server.audit.entries();
    let commands: Vec<_> = entries.iter().map(|entry| entry.command.as_str()).collect();
    assert_eq!(
        commands,
        [
            "POST /faults",
            "PATCH /faults/failover",
            "DELETE /faults/failover",
            "PATCH /limiter",
            "POST /levers/shed-queue",
            "POST /reset"
        ]
    );
    assert!(entries.iter().all(|entry| entry.outcome == "done"));
    assert_eq!(
        (&entries[0].before["capacity"], &entries[0].after["capacity"]),
        (&100.0.into(), &40.0.into())
    );
    assert_eq!(
        (&entries[2].before["capacity"], &entries[2].after["capacity"]),
        (&40.0.into(), &100.0.into())
    );
    assert_eq!((entries[2].by.as_str(), entries[2].reason.as_str()), ("me", "enough"));
    assert_eq!(entries[3].what, serde_json::json!({"queue_limit": 150}));
    assert_eq!(entries[3].after["limiter"]["queue_limit"], 150);
}

#[test]
fn what_is_wrong_is_a_4xx_in_the_one_shape_and_changes_nothing() {
    let server = ToldServer::start();
    let addr = server.addr();
    let before = json(&ask(addr, "GET", "/state", &[], "").1);
    let cases = [
        ("POST", "/faults", "", 400),
        ("POST", "/faults", "{", 400),
        ("POST", "/faults", "{}", 400),
        ("POST", "/faults", r#"{"name":"f","fault":{"kind":"capacity","to":7.5}}"#, 400),
        ("POST", "/faults", r#"{"name":"f","fault":{"kind":"stall"},"durration":"1s"}"#, 400),
        ("PATCH", "/faults/nothing", r#"{"id":"1-1","lease":"10s"}"#, 404),
        ("PATCH", "/faults/nothing", r#"{"id":"1-1","lease":"10d"}"#, 400),
        ("PATCH", "/faults/nothing", r#"{"lease":"10s"}"#, 400),
        ("PATCH", "/faults/nothing", "", 400),
        ("DELETE", "/faults/nothing", "", 400),
        ("DELETE", "/faults/nothing", r#"{"id":""}"#, 400),
        ("DELETE", "/faults/nothing", r#"{"id":1}"#, 400),
        ("DELETE", "/faults/nothing", r#"{"id":"1-1","unknown":1}"#, 400),
        ("POST", "/runs", "", 400),
        ("POST", "/runs", r#"{"name":"r"}"#, 400),
        ("POST", "/runs", r#"{"run":"","name":"r"}"#, 400),
        ("POST", "/runs", r#"{"run":"r","name":"r","lease":"1ms"}"#, 400),
        ("PATCH", "/runs/nothing", "", 404),
        ("POST", "/levers/shed-queue", r#"{"run":"nothing"}"#, 409),
        ("POST", "/reset", r#"{"scope":"most"}"#, 400),
        ("DELETE", "/faults/%ff", "", 400),
        ("PATCH", "/faults/%ff", "", 400),
        ("POST", "/levers/%ff", "", 400),
        ("PATCH", "/limiter", r#"{"slots":0}"#, 400),
        ("PATCH", "/limiter", "{}", 400),
        ("POST", "/levers/nothing", "", 404),
        ("POST", "/levers/admit", "", 400),
        ("POST", "/levers/rate", r#"{"rate":80}"#, 400),
        ("POST", "/reset", r#"{"all":true}"#, 400),
        ("GET", "/", "", 404),
        ("GET", "/faults/", "", 404),
        ("POST", "/levers/", "", 404),
        ("GET", "/debug/pprof", "", 404),
        ("GET", "/reset", "", 405),
        ("POST", "/state", "{}", 405),
        ("DELETE", "/faults", "", 405),
        ("PUT", "/limiter", "{}", 405),
        ("POST", "/metrics", "", 405),
        ("OPTIONS", "/state", "", 405),
    ];
    for (method, path, body, expected) in cases {
        let (status, answer) = ask_json(addr, method, path, body);
        assert_eq!(status, expected, "{method} {path} {body}: {answer}");
        let error = json(&answer);
        assert_eq!(error["status"], expected, "{method} {path}");
        assert!(error["error"].as_str().is_some_and(|text| text.len() > 10), "{error}");
        assert_eq!(error.as_object().unwrap().len(), 2, "{error}");
        if expected == 405 {
            assert!(answer.to_ascii_lowercase().contains("\r\nallow: "), "{answer}");
        }
    }
    assert_eq!(json(&ask(addr, "GET", "/state", &[], "").1), before);
    let refused = server.audit.entries();
    let commands = cases.iter().filter(|(method, ..)| *method != "GET").count();
    assert_eq!(refused.len(), commands, "refused commands are in the audit log");
    assert!(refused.iter().all(|entry| entry.outcome.starts_with("refused with 4")));
}

#[test]
fn metrics_carry_what_the_server_says_and_the_audit_log() {
    let server = ToldServer::start();
    let addr = server.addr();
    ask_json(addr, "POST", "/faults", r#"{"name":"f","fault":{"kind":"stall"}}"#);
    ask_json(addr, "POST", "/levers/shed-queue", "{}");
    ask_json(addr, "POST", "/levers/shed-queue", r#"{"share":2}"#);
    ask_json(addr, "PATCH", "/limiter", r#"{"slots":4}"#);
    let (status, answer) = ask(addr, "GET", "/metrics", &[], "");
    assert_eq!(status, 200);
    assert!(answer.contains("text/plain; version=0.0.4"), "{answer}");
    assert!(answer.contains("rig_stalled 1\n"), "{answer}");
    assert!(answer.contains("rig_audit_write_failures_total 0\n"), "{answer}");
    // What was refused was not pulled.
    assert!(answer.contains("rig_levers_pulled_total{lever=\"shed-queue\"} 1\n"), "{answer}");
    assert!(answer.contains("rig_levers_pulled_total{lever=\"limiter\"} 1\n"), "{answer}");
    assert!(answer.contains("rig_levers_pulled_total{lever=\"restart\"} 0\n"), "{answer}");
    assert!(answer.contains("rig_build_info{version=\""), "{answer}");
}

#[test]
fn a_load_generator_takes_its_levers_and_no_other() {
    let (listener, audit) = load();
    let addr = listener.addr();
    let (status, answer) = ask_json(addr, "POST", "/levers/rate", r#"{"rate":"40/s"}"#);
    assert_eq!((status, json(&answer)["state"]["rate"].clone()), (200, 40.0.into()));
    assert_eq!(json(&ask(addr, "POST", "/halt", &[], "").1)["halted"], true);
    assert_eq!(json(&ask(addr, "POST", "/resume", &[], "").1)["halted"], false);
    ask(addr, "POST", "/halt", &[], "");
    let reset = json(&ask(addr, "POST", "/reset", &[], "").1);
    assert_eq!((&reset["rate"], &reset["halted"]), (&80.0.into(), &false.into()));
    for (path, body, expected) in [
        ("/levers/shed-queue", "", 400),
        ("/levers/retries", r#"{"layer":"no-such","retries":0}"#, 400),
        ("/faults", CUT, 404),
    ] {
        assert_eq!(ask_json(addr, "POST", path, body).0, expected, "{path}");
    }
    assert_eq!(audit.entries().len(), 8);
    assert_eq!(audit.entries()[0].after["rate"], 40.0);
}
