//! Values out of range, of the wrong unit, or after the end.

use goodput_scenario::Plan;

use super::case::*;

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
        "backoff = { base = \"1s\", factor = 2 }",
        "backoff = 3",
        15,
        "client.layer.backoff",
        "integer `3` is not a table such as { base",
        "backoff = { base = \"1s\", factor = 2, jitter = \"none\" }",
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
            "-1 is not a whole number from 0 to 100",
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
            "must be from 1 to 1000",
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
        ("0", "for no capacity at all write { kind = \"stall\" }"),
        ("0.000009", "must be from 0.00001 to 1"),
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
fn a_cut_by_slots_that_would_be_rounded_away_is_refused_and_another_is_not() {
    let message =
        "at tier `order-status`, `mode = \"slots\"` would take no slot away: 96% of the 10";
    let slots = |to: f64| format!("to = {to}\nmode = \"slots\"");
    check("to = 0.4", &slots(0.96), 29, "fault.mode", message, "mode = \"slow\"");
    for to in [0.94, 0.4, 0.001] {
        assert!(Plan::parse("case.toml", &VALID.replace("to = 0.4", &slots(to))).is_ok(), "{to}");
    }
    // The first leaves one slot of two, and the second would leave it too.
    let second = |at: &str| {
        let second = format!(
            "for = \"20s\"\n[[fault]]\nname = \"more\"\nkind = \"capacity\"\nto = 0.4\n\
             mode = \"slots\"\nat = \"{at}\"\nfor = \"5s\"\n[[lever]]"
        );
        VALID
            .replace("for = \"20s\"\n[[lever]]", &second)
            .replacen("to = 0.4", &slots(0.4), 1)
            .replace("slots = 10", "slots = 2")
    };
    let refusal = refused(&second("70s")).to_string();
    assert!(refusal.contains("no slot away: 40% of the 1 at work"), "{refusal}");
    assert!(Plan::parse("case.toml", &second("80s")).is_ok());
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
        "must be from 1us to 24h",
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
fn the_ranges_of_the_policies_hold_for_layers_and_levers() {
    let backoff = "backoff = { base = \"1s\", factor = 2 }";
    for (line, wrong, at, key, message) in [
        (
            "retries = 3",
            "retries = 101",
            14,
            "client.layer.retries",
            "101 is not a whole number from 0 to 100",
        ),
        (
            backoff,
            "backoff = { base = \"25h\", cap = \"26h\" }",
            15,
            "client.layer.backoff.base",
            "must be at most 24h",
        ),
        (backoff, "backoff = { base = \"30s\" }", 15, "client.layer.backoff", "is below `base`"),
        (
            "retries = 0",
            "retries = 101",
            34,
            "lever.retries",
            "101 is not a whole number from 0 to 100",
        ),
    ] {
        let problem = problem(line, wrong);
        assert_eq!((problem.line, problem.message.contains(message)), (at, true), "{problem}");
        assert!(problem.key.starts_with(key), "{problem}");
    }
    let lever = "name = \"retries\"\nlayer = \"client\"\nretries = 0";
    for (keys, at, key, message) in [
        ("share = 0.2\nfor = \"0s\"", 34, "lever.for", "must be above 0 and at most 24h"),
        ("share = 0.2\nramp = \"5s\"", 34, "lever.ramp", "starts at the end of `for`"),
        ("share = 0.2\nfor = \"5s\"\nramp = \"25h\"", 35, "lever.ramp", "at most 24h"),
    ] {
        let problem = problem(lever, &format!("name = \"admit\"\n{keys}"));
        assert_eq!((problem.line, problem.key.as_str()), (at, key), "{problem}");
        assert!(problem.message.contains(message), "{problem}");
    }
}
