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

/// A file with every key that holds a number: two tiers with layers, each kind of budget in its turn.
fn whole_file(budget: &str) -> String {
    let layer = "timeout = \"5s\"\nretries = 3\n\
         backoff = { base = \"1s\", factor = 2, cap = \"20s\" }\n";
    format!(
        "name = \"whole\"\nduration = \"5days\"\n\
         [load]\nrate = 10\narrivals = {{ kind = \"batch\", size = 1 }}\n\
         [[load.change]]\nat = \"2h\"\nrate = 20\nover = \"1s\"\nfor = \"1h\"\n\
         [client]\nclients = 1\ndeadline = \"9h\"\nmax_connections = 100\nconnect_rate = 100\n\
         [[client.layer]]\nname = \"one\"\n{layer}budget = {budget}\n\
         [[tier]]\nname = \"gateway\"\nslots = 10\ncapacity = 100\nqueue_limit = 9\n\
         expiry_margin = \"1s\"\nservice = {{ kind = \"lognormal\", sigma = 1.0 }}\n\
         [[tier.layer]]\nname = \"two\"\n{layer}budget = {budget}\n\
         [[tier]]\nname = \"last\"\ncapacity = 100\norders = 10\n\
         [[fault]]\nname = \"cut\"\ntier = \"last\"\nkind = \"capacity\"\nto = 0.4\nat = \"5h\"\n\
         for = \"1h\"\n\
         [[lever]]\nname = \"admit\"\ntier = \"last\"\nshare = 0.5\nfor = \"1h\"\nramp = \"1s\"\n\
         at = \"8h\"\n\
         [[lever]]\nname = \"budget\"\nlayer = \"one\"\nbudget = {budget}\nat = \"9h\"\n\
         [[lever]]\nname = \"retries\"\nlayer = \"one\"\nretries = 1\nat = \"10h\"\n\
         [[lever]]\nname = \"rate\"\nrate = 10\nat = \"11h\"\n\
         [[lever]]\nname = \"limiter\"\ntier = \"last\"\nslots = 5\ncapacity = 50\nqueue_limit = 5\n\
         at = \"12h\"\n\
         [expect]\ngoodput_ratio = 0.9\nhold = \"2m\"\nwithin = \"1h\"\n"
    )
}

const BUDGETS: [&str; 5] = [
    "{ kind = \"sre-ratio\", ratio = 0.1, window = \"10s\" }",
    "{ kind = \"finagle\", ratio = 0.2, window = \"10s\", min_per_second = 10 }",
    "{ kind = \"token-bucket\", ratio = 0.1, max = 10 }",
    "{ kind = \"grpc-throttle\", max_tokens = 10, token_ratio = 0.1 }",
    "{ kind = \"aws-quota\", capacity = 500, cost = 5, timeout_cost = 10 }",
];

/// Ways in which people write numbers; some are refused for some keys, and a few everywhere.
const SPELLINGS: [&str; 37] = [
    "0", "1", "2", "3", "+3", "-1", "7", "10", "500", "1_000", "0x10", "1e3", "1e-3", "0.4", "1.5",
    "0.95", "40%", "95%", "0.5%", "150%", "-1%", "40 %", "80/s", "30k/m", "1.5k", "1.5k/s",
    "600/h", "5s", "1.5s", "1m 30s", "200ms", "1h", "90min", "5", "inf", "nan", "",
];

#[test]
fn a_range_takes_every_spelling_that_the_file_takes_and_no_other() {
    let mut keys = std::collections::BTreeMap::new();
    for budget in BUDGETS {
        let text = whole_file(budget);
        let numbers = numbers(&text, None);
        for number in numbers.all() {
            let key = number.place.to_string();
            for spelling in SPELLINGS {
                let read = number.read(spelling).ok();
                let with = read.and_then(|value| numbers.with(&[(number, value)]).ok());
                let quoted = format!("\"{spelling}\"");
                let mut files = [spelling, &quoted].into_iter().filter_map(|written| {
                    let mut tree = parse::tree_of(&text, None);
                    let value = toml::de::DeValue::parse(written).ok()?;
                    parse::put(&mut tree, &number.place, value.into_inner());
                    parse::resolve_tree("test.toml", &text, &tree, None).ok()
                });
                let file = files.next();
                let same = |scenario: Option<Scenario>| {
                    scenario.map(|scenario| Scenario { duration: Duration::ZERO, ..scenario })
                };
                assert_eq!(same(with), same(file), "{key} = {spelling}");
                if read.is_some() {
                    keys.entry(key.clone()).or_insert_with(Vec::new).push(spelling);
                }
            }
        }
    }
    for (key, units) in [
        ("client.layer.budget.token_ratio", ["40%", "0.4"]),
        ("fault.to", ["40%", "0.4"]),
        ("load.rate", ["30k/m", "1_000"]),
        ("tier.capacity", ["1.5k", "500"]),
        ("fault.for", ["1m 30s", "200ms"]),
        ("tier.queue_limit", ["1_000", "0x10"]),
        ("client.layer.budget.cost", ["7", "1"]),
    ] {
        assert!(
            units.iter().all(|spelling| keys[key].contains(spelling)),
            "{key}: {:?}",
            keys[key]
        );
    }
    let missing: Vec<_> = parse::KEYS.iter().filter(|(key, ..)| !keys.contains_key(*key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
