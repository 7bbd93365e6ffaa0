//! The scenarios in `/scenarios` parse, are embedded, and say what the project's numbers say.

use goodput_scenario::Plan;
use goodput_scenario::builtin::{self, Builtin};

fn plan(builtin: Builtin) -> Plan {
    match Plan::parse(builtin.file, builtin.text) {
        Ok(plan) => plan,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_file_of_the_folder_is_embedded_and_parses() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|file| file.strip_suffix(".toml").map(str::to_owned))
        .collect();
    files.sort();
    let mut embedded: Vec<_> = builtin::ALL.iter().map(|builtin| builtin.name.to_owned()).collect();
    embedded.sort();
    assert_eq!(files, embedded);
    for builtin in builtin::ALL {
        let plan = plan(builtin);
        assert_eq!(plan.scenario.name, builtin.name);
        assert_eq!(builtin::by_name(builtin.name), Some(builtin));
        for arm in &plan.arms {
            assert!(arm.description.ends_with('.'), "{}: {}", builtin.name, arm.name);
            assert_eq!(arm.scenario.seed, plan.scenario.seed);
        }
    }
}
