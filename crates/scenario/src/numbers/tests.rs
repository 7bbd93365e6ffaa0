use std::time::Duration;

use goodput_clock::Rate;
use goodput_policy::limiter::{Capacity, QueueLimit};

use super::*;
use crate::builtin;

fn numbers(text: &str, arm: Option<&str>) -> Numbers {
    Numbers::of("test.toml", text, arm).unwrap_or_else(|error| panic!("{error}"))
}

fn headline(arm: Option<&str>) -> Numbers {
    numbers(builtin::DATABASE_FAILOVER.text, arm)
}

fn with(numbers: &Numbers, path: &str, value: f64) -> Result<Scenario, ScenarioError> {
    let number = numbers.find(path).unwrap_or_else(|error| panic!("{error}"));
    numbers.with(&[(number, value)])
}

#[test]
fn every_number_of_a_shipped_scenario_can_be_set_to_what_it_is() {
    for builtin in builtin::ALL {
        let plan = Plan::parse(builtin.file, builtin.text).unwrap();
        let arms = plan.arms.iter().map(|arm| (Some(arm.name.as_str()), &arm.scenario));
        for (arm, scenario) in arms.chain([(None, &plan.scenario)]) {
            let numbers = numbers(builtin.text, arm);
            assert_eq!(numbers.with(&[]).as_ref(), Ok(scenario), "{} {arm:?}", builtin.name);
            for number in numbers.all() {
                let Some(written) = number.written else { continue };
                let same = numbers.with(&[(number, written)]);
                assert_eq!(same.as_ref(), Ok(scenario), "{}", number.path);
                assert_eq!(numbers.find(&number.path), Ok(number));
                assert_eq!(number.read(&number.unit.show(written)), Ok(written), "{}", number.path);
            }
        }
    }
}

#[test]
fn a_path_is_what_an_arm_sets_and_names_may_be_left_out() {
    let numbers = headline(Some("naive"));
    for path in ["fault.cut.for", "fault.for"] {
        let scenario = with(&numbers, path, 11.5).unwrap();
        assert_eq!(scenario.faults[0].length, Duration::from_millis(11_500), "{path}");
        assert_eq!(scenario.duration, Duration::from_mins(4), "{path}");
    }
    assert_eq!(with(&numbers, "client.layer.client.retries", 1.0).unwrap().max_attempts(), 2);
    assert_eq!(with(&numbers, "client.layer.retries", 0.0).unwrap().max_attempts(), 1);
    let capacity = with(&numbers, "tier.order-status.capacity", 90.5).unwrap();
    let limited = Capacity::Limited(Rate::new(90.5).unwrap());
    assert_eq!(capacity.tiers[0].limiter.capacity, limited);
    let limit = with(&numbers, "tier.queue_limit", 150.0).unwrap();
    assert_eq!(limit.tiers[0].limiter.queue_limit, QueueLimit::Bounded(150));
    let rate = Rate::new(81.0).unwrap();
    assert_eq!(with(&numbers, "load.rate", 81.0).unwrap().load.rate, rate);
    // What hangs on a number is worked out anew.
    assert_eq!(with(&numbers, "load.rate", 40.0).unwrap().client.max_connections, 1_200);
}

#[test]
fn a_number_that_an_arm_sets_is_found_in_that_arm() {
    let budget = headline(Some("retry-budget"));
    let path = "client.layer.budget.ratio";
    assert_eq!(budget.find(path).unwrap().written, Some(0.1));
    assert!(with(&budget, path, 0.2).is_ok());
    assert!(headline(Some("naive")).find(path).is_err());
    let bounded = headline(Some("bounded-queue"));
    assert_eq!(bounded.find("tier.queue_limit").unwrap().written, Some(150.0));
}

#[test]
fn a_longer_trigger_makes_the_run_longer() {
    let numbers = headline(None);
    let scenario = with(&numbers, "fault.for", 60.0).unwrap();
    assert_eq!(scenario.duration, Duration::from_secs(280));
    let ends = scenario.faults[0].ends().elapsed();
    assert_eq!(scenario.duration.checked_sub(ends), Some(Duration::from_secs(160)));
    let fixed = [numbers.find("fault.for").unwrap(), numbers.find("duration").unwrap()];
    let scenario = numbers.with(&[(fixed[0], 30.0), (fixed[1], 300.0)]).unwrap();
    assert_eq!(scenario.duration, Duration::from_mins(5));
}

#[test]
fn a_path_that_leads_nowhere_is_answered_with_those_that_do() {
    let numbers = headline(None);
    let error = numbers.find("fault.fro").unwrap_err().to_string();
    assert!(error.starts_with("`fault.fro` is no number of the scenario; did you mean"), "{error}");
    for path in
        ["fault.for (20s)", "load.rate (80/s)", "client.layer.retries (3)", "fault.to (40%)"]
    {
        assert!(error.contains(&format!("\n    {path}\n")), "{path}\n{error}");
    }
    for path in ["", ".", "fault", "fault.cut", "fault..for", "name", "seed", "fault.cut.cut.for"] {
        assert!(numbers.find(path).is_err(), "{path}");
    }
    let layers = self::numbers(builtin::RETRY_LAYERS.text, None);
    let error = layers.find("client.layer.retries").unwrap_err();
    assert!(error.several);
    let error = error.to_string();
    assert!(error.contains("client.layer.library.retries (3)"), "{error}");
    assert!(layers.find("client.layer.proxy.retries").is_ok());
}

#[test]
fn a_value_that_cannot_be_is_refused_with_its_key() {
    let numbers = headline(None);
    for (path, value, part) in [
        ("fault.for", 0.0, "longer than 0"),
        ("fault.to", 0.0, "from 0.00001 to 1"),
        ("load.rate", 0.0, "rate"),
        ("client.layer.retries", 1e6, "whole number"),
        ("tier.capacity", -1.0, "is not a capacity"),
        ("expect.within", 1e5, "cannot be seen"),
    ] {
        let error = with(&numbers, path, value).unwrap_err().to_string();
        assert!(error.contains(part), "{path}: {error}");
    }
}

#[test]
fn changes_of_the_load_are_numbered() {
    let text = "name = \"x\"\nduration = \"100s\"\nload.rate = 10\n\
        [[load.change]]\nat = \"30s\"\nrate = 20\n[[load.change]]\nat = \"40s\"\nrate = 10\n\
        [[client.layer]]\ntimeout = \"5s\"\n[[tier]]\nname = \"a\"\ncapacity = 100\n";
    let numbers = numbers(text, None);
    assert!(numbers.find("load.change.rate").unwrap_err().several);
    let scenario = with(&numbers, "load.change.1.rate", 30.0).unwrap();
    assert_eq!(scenario.load.changes[0].rate, Rate::new(30.0).unwrap());
    // A section that the file leaves out is there with its defaults.
    assert_eq!(with(&numbers, "expect.hold", 12.0).unwrap().expect.hold, Duration::from_secs(12));
}
