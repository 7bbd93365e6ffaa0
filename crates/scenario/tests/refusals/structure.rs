//! Names, layers, tiers, arms, and whole files.

use goodput_scenario::{Plan, ScenarioError};

use super::case::*;

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
        "scenario `case` has no arm `navie`; it has naive, bounded, for example: naive"
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
        &format!(
            "{}[[client.layer]]\nname = \"client\"",
            "[[client.layer]]\nretries = 100\n".repeat(3)
        ),
        11,
        "client.layer",
        "make 4121204 attempts of one request, but at most 100000 can be",
        "[[client.layer]]",
    );
}

#[test]
fn a_file_over_one_mebibyte_is_refused() {
    let problem = refused(&format!("{VALID}#{}", "x".repeat(1 << 20))).problems[0].clone();
    assert_eq!((problem.line, problem.key.as_str()), (1, "file"));
    assert!(problem.message.contains("more than the 1048576 bytes"), "{problem}");
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
