//! Each mistake is refused with its file, line, key and a valid example.

use goodput_scenario::{Plan, Problem, ScenarioError};

/// A valid scenario; a case replaces one of its lines.
const VALID: &str = r#"name = "case"
duration = "120s"
[load]
rate = 80
arrivals = "poisson"
[[load.change]]
at = "20s"
rate = 90
[client]
clients = 2
[[client.layer]]
name = "client"
timeout = "5s"
retries = 3
backoff = { base = "1s", factor = 2 }
[[tier]]
name = "gate"
[[tier.layer]]
timeout = "6s"
[[tier]]
name = "order-status"
slots = 10
capacity = 100
queue = "fifo"
[[fault]]
name = "cut"
kind = "capacity"
to = 0.4
at = "60s"
for = "20s"
[[lever]]
name = "retries"
layer = "client"
retries = 0
at = "100s"
[expect]
verdict = "recovered"
hold = "10s"
[[arm]]
name = "naive"
control = true
expect.verdict = "metastable"
[[arm]]
name = "bounded"
set.tier.order-status.queue_limit = 150
"#;

fn refused(text: &str) -> ScenarioError {
    match Plan::parse("case.toml", text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

/// The only problem after `line` is replaced by `wrong` in the valid scenario.
fn problem(line: &str, wrong: &str) -> Problem {
    assert!(VALID.contains(line), "no line {line}");
    let error = refused(&VALID.replacen(line, wrong, 1));
    assert_eq!(error.file, "case.toml");
    assert_eq!(error.problems.len(), 1, "{error}");
    error.problems[0].clone()
}

/// Checks the line, the key, a part of the message and the example of the only problem.
fn check(line: &str, wrong: &str, at: usize, key: &str, message: &str, example: &str) {
    let problem = problem(line, wrong);
    assert_eq!((problem.line, problem.key.as_str()), (at, key), "{wrong}: {problem}");
    assert!(problem.message.contains(message), "{wrong}: {problem}");
    assert_eq!(problem.example, example, "{wrong}: {problem}");
}

#[test]
fn the_case_itself_is_accepted() {
    assert!(Plan::parse("case.toml", VALID).is_ok(), "{}", refused(VALID));
}

#[test]
fn a_problem_reads_as_file_line_column_key_message_and_example() {
    let error = refused(&VALID.replace("at = \"60s\"", "at = \"600s\""));
    assert_eq!(
        error.to_string(),
        "case.toml:29:1: `fault.at`: 10m is not before the run's end at 2m\n    \
         for example: at = \"60s\""
    );
}

#[test]
fn an_unknown_key_is_refused_with_its_near_match() {
    check(
        "rate = 80",
        "rate = 80\nrtae = 3",
        5,
        "load.rtae",
        "unknown key; did you mean `rate`?",
        "rate = 80",
    );
    check(
        "[load]",
        "colour = 3\n[load]",
        3,
        "colour",
        "unknown key; there is `name`, `description`, `duration`",
        "name = \"database-failover\"",
    );
    check(
        "backoff = { base = \"1s\", factor = 2 }",
        "backoff = { base = \"1s\", fctor = 2 }",
        15,
        "client.layer.backoff.fctor",
        "did you mean `factor`?",
        "backoff = { base = \"1s\", factor = 2, jitter = \"none\" }",
    );
}

#[test]
fn wrong_units_are_refused() {
    check(
        "timeout = \"5s\"",
        "timeout = 5",
        13,
        "client.layer.timeout",
        "integer `5` is not a duration with its unit",
        "timeout = \"5s\"",
    );
    check(
        "for = \"20s\"",
        "for = \"20\"",
        30,
        "fault.for",
        "`20` is not a duration",
        "for = \"20s\"",
    );
    check(
        "for = \"20s\"",
        "for = \"20 parsecs\"",
        30,
        "fault.for",
        "`20 parsecs` is not a duration",
        "for = \"20s\"",
    );
    check(
        "rate = 80",
        "rate = \"80 per minute\"",
        4,
        "load.rate",
        "`80 per minute` is not a rate",
        "rate = 80",
    );
}

#[test]
fn negative_and_non_finite_numbers_are_refused() {
    for (line, wrong, at, key, message, example) in [
        ("rate = 80", "rate = -80", 4, "load.rate", "`-80` is not a rate above 0", "rate = 80"),
        ("rate = 80", "rate = inf", 4, "load.rate", "`inf` is not a rate", "rate = 80"),
        ("rate = 80", "rate = nan", 4, "load.rate", "`NaN` is not a rate", "rate = 80"),
        ("to = 0.4", "to = nan", 28, "fault.to", "`NaN` is not a ratio", "to = 0.4"),
        (
            "capacity = 100",
            "capacity = -1",
            23,
            "tier.capacity",
            "`-1` is not a capacity",
            "capacity = 100",
        ),
        (
            "retries = 3",
            "retries = -1",
            14,
            "client.layer.retries",
            "-1 is not a whole number from 0 to 99999",
            "retries = 3",
        ),
        (
            "timeout = \"5s\"",
            "timeout = \"-5s\"",
            13,
            "client.layer.timeout",
            "`-5s` is negative",
            "timeout = \"5s\"",
        ),
        (
            "factor = 2 }",
            "factor = nan }",
            15,
            "client.layer.backoff.factor",
            "NaN is not from 1 to 1000",
            "backoff = { base = \"1s\", factor = 2 }",
        ),
    ] {
        check(line, wrong, at, key, message, example);
    }
}

#[test]
fn what_lies_after_the_end_of_the_run_is_refused() {
    check(
        "at = \"60s\"",
        "at = \"120s\"",
        29,
        "fault.at",
        "2m is not before the run's end at 2m",
        "at = \"60s\"",
    );
    check(
        "for = \"20s\"",
        "for = \"70s\"",
        30,
        "fault.for",
        "ends at 2m 10s, after the run's end at 2m",
        "for = \"20s\"",
    );
    check(
        "at = \"100s\"",
        "at = \"1000s\"",
        35,
        "lever.at",
        "16m 40s is not before the run's end at 2m",
        "at = \"120s\"",
    );
    check(
        "at = \"20s\"",
        "at = \"200s\"",
        7,
        "load.change.at",
        "3m 20s is not before the run's end",
        "at = \"60s\"",
    );
    check(
        "rate = 90",
        "rate = 90\nover = \"110s\"",
        9,
        "load.change.over",
        "ends at 2m 10s, after the run's end",
        "over = \"10s\"",
    );
}

#[test]
fn overlapping_faults_of_one_name_on_one_tier_are_refused_and_others_are_not() {
    let second = |name: &str, at: &str| {
        format!(
            "[[fault]]\nname = \"{name}\"\nkind = \"stall\"\nat = \"{at}\"\nfor = \"5s\"\n[[lever]]"
        )
    };
    check(
        "[[lever]]",
        &second("cut", "70s"),
        34,
        "fault.at",
        "a fault named `cut` is in force on tier `order-status` until 1m 20s",
        "at = \"60s\"",
    );
    for (name, at) in [("cut", "80s"), ("other", "70s")] {
        let text = VALID.replacen("[[lever]]", &second(name, at), 1);
        assert!(Plan::parse("case.toml", &text).is_ok(), "{name} at {at}");
    }
}

#[test]
fn a_server_without_capacity_or_slots_is_refused() {
    check(
        "capacity = 100",
        "capacity = 0",
        23,
        "tier.capacity",
        "`0` is not a capacity in requests per second, such as 100, or \"unlimited\"",
        "capacity = 100",
    );
    check(
        "slots = 10",
        "slots = 0",
        22,
        "tier.slots",
        "0 is not a whole number from 1 to 1000000",
        "slots = 10",
    );
}

#[test]
fn a_cut_to_nothing_or_to_more_than_there_is_is_refused() {
    for (to, message) in [
        ("0", "must be above 0; where nothing is left, write `kind = \"stall\"`"),
        ("1.5", "`1.5` is not a ratio from 0 to 1"),
        ("-0.1", "`-0.1` is not a ratio from 0 to 1"),
        ("\"140%\"", "`140%` is outside 0 to 1"),
    ] {
        check("to = 0.4", &format!("to = {to}"), 28, "fault.to", message, "to = 0.4");
    }
    check(
        "kind = \"capacity\"",
        "kind = \"stall\"",
        28,
        "fault.to",
        "is a key of `kind = \"capacity\"`",
        "to = 0.4",
    );
    check(
        "to = 0.4",
        "tier = \"gate\"\nto = 0.4",
        27,
        "fault.kind",
        "tier `gate` is unlimited, so a fault changes nothing there",
        "capacity = 100",
    );
}

#[test]
fn a_rate_of_nothing_or_beyond_reason_is_refused() {
    for rate in ["0", "0.0", "1e9", "\"100000k/s\""] {
        let problem = problem("rate = 80", &format!("rate = {rate}"));
        assert_eq!((problem.line, problem.key.as_str()), (4, "load.rate"));
        assert_eq!(problem.example, "rate = 80");
    }
}

#[test]
fn a_time_out_longer_than_the_run_is_refused() {
    check(
        "timeout = \"5s\"",
        "timeout = \"121s\"",
        13,
        "client.layer.timeout",
        "2m 1s is longer than the run of 2m",
        "timeout = \"5s\"",
    );
    check(
        "timeout = \"5s\"",
        "timeout = \"0s\"",
        13,
        "client.layer.timeout",
        "must be longer than 0",
        "timeout = \"5s\"",
    );
    check(
        "clients = 2",
        "clients = 2\ndeadline = \"3m\"",
        11,
        "client.deadline",
        "3m is longer than the run of 2m",
        "deadline = \"10s\"",
    );
}

#[test]
fn a_scenario_without_a_layer_or_a_tier_is_refused() {
    let error = refused("name = \"x\"\nduration = \"60s\"\n[load]\nrate = 1\n[client]\n");
    let told: Vec<_> =
        error.problems.iter().map(|p| (p.line, &*p.key, &*p.message, &*p.example)).collect();
    assert_eq!(
        told,
        [
            (
                1,
                "tier",
                "there is no tier; at least the order-status server must be there",
                "[[tier]]"
            ),
            (
                5,
                "client.layer",
                "there is no layer; the client needs at least one, with a time-out",
                "[[client.layer]]"
            ),
        ]
    );
    check(
        "timeout = \"5s\"",
        "timeout = \"off\"",
        13,
        "client.layer.timeout",
        "cannot be \"off\" at the innermost layer",
        "timeout = \"5s\"",
    );
    check(
        "[[tier.layer]]\ntimeout = \"6s\"",
        "queue = \"fifo\"",
        16,
        "tier.layer",
        "a gateway needs a layer",
        "[[tier.layer]]",
    );
    check(
        "capacity = 100\nqueue = \"fifo\"",
        "capacity = 100\n[[tier.layer]]\ntimeout = \"1s\"",
        24,
        "tier.layer",
        "the last tier calls nobody",
        "[[tier.layer]]",
    );
}

#[test]
fn names_that_are_there_twice_are_refused() {
    check(
        "name = \"gate\"",
        "name = \"order-status\"",
        21,
        "tier.name",
        "`order-status` is there twice",
        "name = \"order-status\"",
    );
    check(
        "name = \"bounded\"",
        "name = \"naive\"",
        44,
        "arm.name",
        "`naive` is there twice",
        "name = \"drop-expired\"",
    );
    check(
        "[[client.layer]]",
        "[[client.layer]]\nname = \"client\"\n[[client.layer]]",
        14,
        "client.layer.name",
        "`client` is there twice",
        "name = \"client\"",
    );
    check("rate = 80", "rate = 80\nrate = 90", 5, "load.rate", "duplicate key", "rate = 80");
}

#[test]
fn names_that_cannot_stand_in_a_path_or_a_key_are_refused() {
    for name in ["", "a b", "../x", "a.b", "Größe", &"x".repeat(65)] {
        let problem = problem("name = \"case\"", &format!("name = {name:?}"));
        assert_eq!((problem.line, problem.key.as_str()), (1, "name"), "{name}");
    }
}

#[test]
fn an_unknown_arm_is_refused_with_those_that_there_are() {
    let plan = Plan::parse("case.toml", VALID).unwrap();
    assert_eq!(plan.arm("naive").unwrap().name, "naive");
    assert_eq!(
        plan.arm("navie").unwrap_err().to_string(),
        "scenario `case` has no arm `navie`; it has naive, bounded, for example: --arm naive"
    );
}

#[test]
fn a_lever_for_an_unknown_layer_or_tier_is_refused() {
    check(
        "layer = \"client\"",
        "layer = \"cleint\"",
        33,
        "lever.layer",
        "no layer of the client is named `cleint`; did you mean `client`?",
        "layer = \"client\"",
    );
    check(
        "name = \"retries\"\nlayer = \"client\"\nretries = 0",
        "name = \"restart\"\ntier = \"gates\"",
        33,
        "lever.tier",
        "no tier is named `gates`; did you mean `gate`?",
        "tier = \"order-status\"",
    );
    check(
        "retries = 0",
        "retries = 0\ntier = \"gate\"",
        35,
        "lever.tier",
        "lever `retries` takes no such key; it has layer, retries",
        "tier = \"order-status\"",
    );
    check(
        "name = \"retries\"\nlayer = \"client\"\nretries = 0",
        "name = \"shed\"",
        32,
        "lever.name",
        "`shed` is no lever",
        "name = \"shed-queue\"",
    );
    check(
        "for = \"20s\"",
        "for = \"20s\"\ntier = \"db\"",
        31,
        "fault.tier",
        "no tier is named `db`; there is `gate`, `order-status`",
        "tier = \"order-status\"",
    );
}

#[test]
fn too_many_layers_or_attempts_are_refused() {
    let layers = "[[client.layer]]\n".repeat(8);
    check(
        "[[client.layer]]\nname = \"client\"",
        &format!("{layers}[[client.layer]]\nname = \"client\""),
        11,
        "client.layer",
        "there are 9 layers, but at most 8 nest",
        "[[client.layer]]",
    );
    check(
        "[[client.layer]]\nname = \"client\"",
        "[[client.layer]]\nretries = 30000\n[[client.layer]]\nname = \"client\"",
        11,
        "client.layer",
        "make 120004 attempts of one request, but at most 100000 can be",
        "[[client.layer]]",
    );
}

#[test]
fn a_file_over_one_mebibyte_is_refused() {
    let problem = refused(&format!("{VALID}#{}", "x".repeat(1 << 20))).problems[0].clone();
    assert_eq!((problem.line, problem.key.as_str()), (1, "file"));
    assert!(problem.message.contains("and a scenario at most 1048576"), "{problem}");
}

#[test]
fn expectations_that_cannot_be_seen_are_refused() {
    check(
        "hold = \"10s\"",
        "hold = \"50s\"",
        38,
        "expect.hold",
        "only 40s are left after the last fault, too little for a window of 50s",
        "hold = \"10s\"",
    );
    check(
        "hold = \"10s\"",
        "within = \"50s\"",
        38,
        "expect.within",
        "the run ends 40s after the last fault, so 50s cannot be seen",
        "within = \"120s\"",
    );
    check(
        "verdict = \"recovered\"",
        "verdict = \"inconclusive\"",
        37,
        "expect.verdict",
        "`inconclusive` is unknown; there is `steady`, `recovered`",
        "verdict = \"recovered\"",
    );
    check(
        "verdict = \"recovered\"",
        "verdict = \"steady\"",
        37,
        "expect.verdict",
        "`steady` is the verdict of a run without a fault or a spike",
        "verdict = \"recovered\"",
    );
    check(
        "expect.verdict = \"metastable\"",
        "expect.verdict = \"recovered\"",
        41,
        "arm.control",
        "a control must fail",
        "expect.verdict = \"metastable\"",
    );
}

#[test]
fn what_an_arm_sets_is_refused_where_the_arm_says_it() {
    let line = "set.tier.order-status.queue_limit = 150";
    let set = "set.tier.order-status.drop_expired = true";
    for (wrong, key, message, example) in [
        (
            "set.tier.order-status.queue_limt = 150",
            "tier.queue_limt",
            "did you mean `queue_limit`?",
            "queue_limit = 150",
        ),
        (
            "set.tier.order-status.queue_limit = -150",
            "tier.queue_limit",
            "`-150` is not a number of requests",
            "queue_limit = 150",
        ),
        (
            "set.tier.orders.queue_limit = 150",
            "arm.set.tier.orders",
            "no `[[tier]]` has that name; there is `gate`, `order-status`",
            set,
        ),
        ("set.seed = 3", "arm.set.seed", "share its seed", set),
        ("set.expect.hold = \"5s\"", "arm.set.expect", "write `expect` beside `set`", set),
        ("set.fault.cut.at = \"119s\"", "fault.for", "ends at 2m 19s", "for = \"20s\""),
        ("set = 3", "arm.set", "is a section, not a value", set),
    ] {
        let problem = problem(line, wrong);
        assert_eq!(problem.arm.as_deref(), Some("bounded"), "{wrong}: {problem}");
        assert_eq!(problem.key, key, "{wrong}: {problem}");
        assert!(problem.message.contains(message), "{wrong}: {problem}");
        assert_eq!(problem.example, example, "{wrong}: {problem}");
        // The last case of a fault stands at a line of the scenario above: its `for`.
        assert_eq!(problem.line, if key == "fault.for" { 30 } else { 45 }, "{wrong}: {problem}");
    }
}

#[test]
fn all_problems_of_a_file_are_told_at_once_and_once_each() {
    let text = VALID
        .replace("slots = 10", "slots = 0")
        .replace("to = 0.4", "to = 4")
        .replace("timeout = \"5s\"", "timeout = 5")
        .replace("name = \"bounded\"", "nam = \"bounded\"");
    let error = refused(&text);
    let told: Vec<_> = error.problems.iter().map(|p| (p.line, p.key.as_str())).collect();
    assert_eq!(
        told,
        [
            (13, "client.layer.timeout"),
            (22, "tier.slots"),
            (28, "fault.to"),
            (43, "arm.name"),
            (44, "arm.nam"),
        ]
    );
}

#[test]
fn the_problems_of_a_hopeless_file_are_bounded() {
    let text = (0..5_000).map(|number| format!("key{number} = 1\n")).collect::<Vec<_>>().concat();
    let error = refused(&text);
    assert_eq!(error.problems.len(), ScenarioError::MOST);
    assert!(error.left_out >= 4_980, "{}", error.left_out);
    assert!(error.to_string().ends_with("more problems"));
}

#[test]
fn broken_syntax_is_refused_with_the_key_that_it_stands_at() {
    check("capacity = 100", "capacity = = 100", 23, "tier.capacity", "", "capacity = 100");
    let error = refused("name = \"x\nduration = \"1s\"\n[load\n");
    assert_eq!(error.problems[0].line, 1);
    assert_eq!(error.problems[0].key, "name");
    for text in ["", "\u{feff}", "=", "[", "\"", "[[a]]\n[a]", "a.b = 1\na = 2", "\u{0}"] {
        assert!(refused(text).problems.iter().all(|problem| !problem.example.is_empty()));
    }
}

#[test]
fn text_of_the_file_reaches_the_terminal_without_control_characters() {
    let error = refused("\"\\u001b[2Jx\" = 1\nname = \"\\u0007\"\n");
    assert!(!error.to_string().contains(['\u{1b}', '\u{7}']), "{error:?}");
}
