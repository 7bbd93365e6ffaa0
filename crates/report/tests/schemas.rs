//! The published JSON schemas are those of the code, and what is written meets them.
//!
//! To write them anew: `GOODPUT_WRITE_SCHEMAS=1 cargo test -p goodput-report --test schemas`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod support;

use std::path::PathBuf;

use goodput_experiment::FinishedArm;
use goodput_report::{
    Report, boundary_schema, drill_schema, hysteresis_schema, map_schema, result_schema,
    run_log_schema,
};
use goodput_verdict::judge;
use serde_json::Value;

#[test]
fn the_committed_schemas_are_those_of_the_code() {
    for (name, schema) in [
        ("drill", drill_schema()),
        ("hysteresis", hysteresis_schema()),
        ("boundary", boundary_schema()),
        ("map", map_schema()),
        ("result", result_schema()),
        ("runlog", run_log_schema()),
    ] {
        let path = schema_path(name);
        let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("GOODPUT_WRITE_SCHEMAS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &generated).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == generated,
            "{} differs from the code; write it anew with GOODPUT_WRITE_SCHEMAS=1 cargo test -p \
             goodput-report --test schemas",
            path.display()
        );
    }
}

#[test]
fn what_is_written_meets_the_committed_schemas() {
    let result = validator("result");
    let runlog = validator("runlog");
    let compared = support::compared();
    for FinishedArm { arm, log } in &compared.finished {
        let judgement = judge(log, &arm.scenario);
        let report = Report::run(&arm.scenario, log, &judgement);
        meets(&result, &report.to_result().to_json().unwrap());
        meets(&runlog, &log.to_json().unwrap());
    }
    meets(&result, &compared.report().to_result().to_json().unwrap());
}

#[test]
fn a_result_without_its_verdict_or_with_another_type_of_seed_does_not_meet_the_schema() {
    let (scenario, log) = support::naive();
    let judgement = judge(&log, &scenario);
    let result = Report::run(&scenario, &log, &judgement).to_result();
    let validator = validator("result");
    let mut value = serde_json::to_value(&result).unwrap();
    assert!(validator.is_valid(&value));
    value["runs"][0]["seed_text"] = 42.into();
    assert!(!validator.is_valid(&value));
    let mut value = serde_json::to_value(&result).unwrap();
    value["runs"][0].as_object_mut().unwrap().remove("verdict");
    assert!(!validator.is_valid(&value));
}

fn meets(validator: &jsonschema::Validator, json: &str) {
    let value: Value = serde_json::from_str(json).unwrap();
    let errors: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn validator(name: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(schema_path(name)).unwrap();
    jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
}

fn schema_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema")
        .join(format!("{name}.schema.json"))
}
