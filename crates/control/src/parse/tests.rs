//! Tests of the bodies: what is read, what is refused and how, and 100,000 bodies of noise a function.

use proptest::prelude::*;
use serde_json::json;

use goodput_policy::lever::Lever;

use super::levers::lever_example;
use super::*;

fn message<T: std::fmt::Debug>(read: Result<T, ApiError>) -> String {
    let error = read.unwrap_err();
    assert_eq!(error.status.as_u16(), 400, "{error}");
    error.message
}

#[test]
fn a_fault_is_read_with_its_defaults() {
    let read = fault(FAULT_EXAMPLE.as_bytes()).unwrap();
    assert_eq!((read.name.as_str(), read.lease), ("failover", Duration::from_secs(10)));
    let body = br#"{"name":"f","fault":{"kind":"stall"},"by":"me","reason":"drill"}"#;
    let read = fault(body).unwrap();
    assert_eq!((read.fault, read.lease), (FaultKind::Stall, default_lease()));
    assert_eq!((read.by.as_str(), read.reason.as_str()), ("me", "drill"));
}

#[test]
fn what_is_wrong_with_a_fault_is_named_with_an_example() {
    for (body, field) in [
        (json!({}), "name"),
        (json!({"name": "", "fault": {"kind": "stall"}}), "`name`"),
        (json!({"name": "..", "fault": {"kind": "stall"}}), "`name`"),
        (json!({"name": "a\nb", "fault": {"kind": "stall"}}), "`name`"),
        (json!({"name": 5, "fault": {"kind": "stall"}}), "`name`"),
        (json!({"name": "f"}), "fault"),
        (json!({"name": "f", "fault": "stall"}), "`fault`"),
        (json!({"name": "f", "fault": {}}), "`fault.kind`"),
        (json!({"name": "f", "fault": {"kind": "latency"}}), "`fault.kind`"),
        (json!({"name": "f", "fault": {"kind": "stall", "to": 0.4}}), "`fault.to`"),
        (json!({"name": "f", "fault": {"kind": "capacity"}}), "`to`"),
        (json!({"name": "f", "fault": {"kind": "capacity", "to": 0}}), "`fault.to`"),
        (json!({"name": "f", "fault": {"kind": "capacity", "to": 0.000_009}}), "`fault.to`"),
        (json!({"name": "f", "fault": {"kind": "capacity", "to": 1.5}}), "`fault.to`"),
        (json!({"name": "f", "fault": {"kind": "capacity", "to": -1}}), "`fault.to`"),
        (
            json!({"name": "f", "fault": {"kind": "capacity", "to": 0.4, "mode": "x"}}),
            "`fault.mode",
        ),
        (json!({"name": "f", "fault": {"kind": "stall"}, "lease": 10}), "`lease`"),
        (json!({"name": "f", "fault": {"kind": "stall"}, "lease": "99ms"}), "`lease`"),
        (json!({"name": "f", "fault": {"kind": "stall"}, "lease": "61m"}), "`lease`"),
        (json!({"name": "f", "fault": {"kind": "stall"}, "durration": "9s"}), "`durration`"),
        (json!({"name": "f", "fault": {"kind": "stall"}, "by": 5}), "`by`"),
        (json!({"name": "f", "fault": {"kind": "stall"}, "by": "x".repeat(101)}), "`by`"),
    ] {
        let message = message(fault(body.to_string().as_bytes()));
        assert!(message.contains(field), "{body}: {message}");
        assert!(message.contains("such as {"), "{body}: {message}");
    }
    for body in ["", "[]", "null", "{", "\u{feff}{}"] {
        assert!(message(fault(body.as_bytes())).contains("such as {"), "{body}");
    }
}

#[test]
fn a_field_that_stands_twice_is_refused_at_any_depth() {
    let twice = br#"{"name":"f","fault":{"kind":"capacity","to":0.4,"to":0.9}}"#;
    let refused = message(fault(twice));
    assert!(refused.contains("`to` stands twice") && refused.contains("such as {"), "{refused}");
    assert!(message(limiter(br#"{"slots":5,"slots":6}"#)).contains("`slots` stands twice"));
}

#[test]
fn every_lever_is_read_from_its_own_example() {
    for name in Lever::NAMES {
        let example = lever_example(name).unwrap();
        let (lever, _) = lever(name, example.as_bytes()).unwrap();
        assert_eq!(lever.name(), name);
    }
    assert_eq!(lever("shed-queue", b"").unwrap().0, Lever::ShedQueue);
}

#[test]
fn a_lever_written_as_json_reads_back_by_its_name_and_fields() {
    for name in Lever::NAMES {
        let (pulled, _) = lever(name, lever_example(name).unwrap().as_bytes()).unwrap();
        let mut written = serde_json::to_value(&pulled).unwrap();
        written.as_object_mut().unwrap().remove("lever");
        let (read, _) = lever(name, written.to_string().as_bytes()).unwrap();
        assert_eq!(read, pulled);
    }
}

#[test]
fn what_is_wrong_with_a_lever_is_named() {
    for (name, body, field) in [
        ("shed-queue", json!({"share": 0.2}), "`share`"),
        ("restart", json!({"lever": "restart"}), "`lever`"),
        ("admit", json!({}), "`share`"),
        ("admit", json!({"share": 2}), "`share`"),
        ("admit", json!({"share": 0.2, "for": 5}), "`for`"),
        ("admit", json!({"share": 0.2, "ramp": "5s"}), "`ramp`"),
        ("admit", json!({"share": 0.2, "ramp": "-5s"}), "`ramp`"),
        ("limiter", json!({}), "`limiter`"),
        ("limiter", json!({"slots": 0}), "`slots`"),
        ("limiter", json!({"slots": 1_000_001}), "`slots`"),
        ("admit", json!({"share": 0.2, "for": "0s"}), "`for`"),
        ("admit", json!({"share": 0.2, "for": "25h"}), "`for`"),
        ("limiter", json!({"slots": null}), "`slots`"),
        ("limiter", json!({"slots": -1}), "`slots`"),
        ("limiter", json!({"queue_limit": 2_000_000}), "`queue_limit`"),
        ("limiter", json!({"capacity": 0}), "`capacity`"),
        ("budget", json!({}), "`budget`"),
        ("budget", json!({"budget": {"kind": "sre-ratio", "ratio": 7}}), "budget"),
        ("retries", json!({"retries": -1}), "`retries`"),
        ("retries", json!({"retries": 101}), "`retries`"),
        ("rate", json!({"rate": 0}), "`rate`"),
        ("rate", json!({"rate": 1e9}), "`rate`"),
    ] {
        let message = message(lever(name, body.to_string().as_bytes()));
        assert!(message.contains(field), "{name} {body}: {message}");
        assert!(message.contains("such as {"), "{name} {body}: {message}");
    }
    let unknown = lever("lower-the-shields", b"").unwrap_err();
    assert_eq!(unknown.status.as_u16(), 404);
    assert!(unknown.message.contains("shed-queue"), "{unknown}");
}

#[test]
fn a_value_of_a_wrong_type_is_told_in_words() {
    let wrong = [json!(5), json!("x"), json!(true), json!([1]), json!({"a": 1}), json!(null)];
    for name in Lever::NAMES {
        let example: Value = serde_json::from_str(lever_example(name).unwrap()).unwrap();
        for field in example.as_object().unwrap().keys() {
            for value in &wrong {
                let mut body = example.clone();
                body[field] = value.clone();
                let Err(error) = lever(name, body.to_string().as_bytes()) else { continue };
                for word in ["struct", "enum", "variant", "u32", "f64", "i64", "invalid type"] {
                    assert!(!error.message.contains(word), "{name} {body}: {error}");
                }
            }
        }
    }
}

#[test]
fn renewals_and_removals_say_which_fault_they_mean() {
    let read = renewal(br#"{"id":"1a2b-1"}"#).unwrap();
    assert_eq!((read.id.as_str(), read.lease), ("1a2b-1", default_lease()));
    assert_eq!(renewal(br#"{"id":"any","lease":"5s"}"#).unwrap().lease, Duration::from_secs(5));
    assert!(message(renewal(br#"{"id":"1","lease":"2h"}"#)).contains("`lease`"));
    assert_eq!(
        removal(br#"{"id":"1","by":"me"}"#).unwrap(),
        ("1".to_owned(), Cause::new("me", ""))
    );
    for body in [&b""[..], b"{}", br#"{"by":"me"}"#] {
        for said in [message(renewal(body)), message(removal(body))] {
            assert!(said.contains("`id` is missing") && said.contains("`GET /faults`"), "{said}");
            assert!(said.contains("\"any\"") && said.contains(r#"{"id":"1a2b-1""#), "{said}");
        }
    }
}

#[test]
fn runs_leases_and_resets_are_read() {
    let read = run(br#"{"run":"r-1","name":"steady","lease":"5s","by":"me"}"#).unwrap();
    assert_eq!(
        (read.run.as_str(), read.lease, read.by.as_str()),
        ("r-1", Duration::from_secs(5), "me")
    );
    assert_eq!(read.cause().run.as_deref(), Some("r-1"));
    assert!(message(run(br#"{"name":"steady"}"#)).contains("`run` is missing"));
    assert!(message(run(br#"{"run":"a\u0000b","name":"steady"}"#)).contains("`run`"));
    assert_eq!(lease(b"").unwrap().0, default_lease());
    assert_eq!(reset(b"").unwrap().0, ResetScope::Own);
    assert_eq!(reset(br#"{"scope":"all"}"#).unwrap().0, ResetScope::All);
    assert!(message(reset(br#"{"scope":"most"}"#)).contains("`scope`"));
}

#[test]
fn causes_may_be_empty_but_not_wrong() {
    assert_eq!(cause(b"").unwrap(), Cause::default());
    assert_eq!(cause(CAUSE_EXAMPLE.as_bytes()).unwrap(), Cause::new("me", "game day"));
    assert!(message(cause(br#"{"why":"?"}"#)).contains("`why`"));
}

/// Any JSON, with the words of the bodies among its keys and texts, so that the readers get past the
/// first field.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "name",
        "fault",
        "kind",
        "capacity",
        "stall",
        "to",
        "mode",
        "slow",
        "slots",
        "lease",
        "by",
        "reason",
        "share",
        "for",
        "ramp",
        "layer",
        "budget",
        "retries",
        "rate",
        "queue",
        "lifo",
        "queue_limit",
        "unbounded",
        "drop_expired",
        "on_disconnect",
        "cancel",
        "sre-ratio",
        "window",
        "ratio",
        "10s",
        "-1s",
        "1e400s",
        "99999999999999999999y",
        "40%",
        "30k/m",
        "unlimited",
        "",
        "finagle",
        "min_per_second",
        "credit",
        "success",
        "..",
        "\u{0}",
        "é",
    ]);
    let number = prop_oneof![
        any::<i64>().prop_map(|n| json!(n)),
        any::<u64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|n| json!(n)),
        (0.0..2.0).prop_map(|n: f64| json!(n)),
        (0..200).prop_map(|n: i32| json!(n)),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 6, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            4 => prop::collection::vec((word.clone(), inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

/// A body: JSON, JSON with one byte changed or cut off, or noise.
fn any_body() -> impl Strategy<Value = Vec<u8>> {
    let written = any_json().prop_map(|json| json.to_string().into_bytes()).boxed();
    let damaged = (written.clone(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    prop_oneof![
        4 => written,
        1 => damaged.prop_map(|(mut bytes, at, byte, cut)| {
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            bytes
        }),
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ]
}

/// A refusal is a 400 with a message (a 404 for a lever that is not there), never anything else.
fn refused_well<T>(read: Result<T, ApiError>) -> Result<(), TestCaseError> {
    if let Err(error) = read {
        prop_assert!(matches!(error.status.as_u16(), 400 | 404), "{error:?}");
        prop_assert!(!error.message.is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]

    #[test]
    fn no_body_of_a_fault_panics_and_what_is_read_is_in_range(body in any_body()) {
        if let Ok(read) = fault(&body) {
            prop_assert!((LeaseKeeper::SHORTEST..=LeaseKeeper::LONGEST).contains(&read.lease));
            let again = fault(&serde_json::to_vec(&read).unwrap());
            prop_assert_eq!(again, Ok(read));
        }
        refused_well(fault(&body))?;
    }

    #[test]
    fn no_body_of_a_renewal_a_run_or_a_cause_panics(body in any_body()) {
        refused_well(renewal(&body))?;
        refused_well(removal(&body))?;
        refused_well(run(&body))?;
        refused_well(lease(&body))?;
        refused_well(reset(&body))?;
        refused_well(cause(&body))?;
    }

    #[test]
    fn no_body_of_a_lever_or_a_limiter_panics(
        name in prop::sample::select(Lever::NAMES.to_vec()),
        body in any_body(),
    ) {
        refused_well(limiter(&body))?;
        if let Ok((read, _)) = lever(name, &body) {
            prop_assert_eq!(read.name(), name);
            // What was read can be put into wall time and back at any speed.
            for speed in [0.1, 1.0, 100.0] {
                let scale = goodput_clock::Scale::new(speed).unwrap();
                crate::wall::lever_to_scenario(&crate::wall::lever_to_wall(&read, scale), scale);
            }
        }
        refused_well(lever(name, &body))?;
    }
}
