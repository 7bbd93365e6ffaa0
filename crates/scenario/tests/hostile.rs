//! Files that mean harm: deep, long and repetitive ones are refused in bounded time.

use std::time::Duration;

use goodput_scenario::{Plan, ScenarioError};

/// Repeats `text` until it is as long as a scenario can be.
fn filled(text: &str) -> String {
    text.repeat(Plan::LONGEST / text.len())
}

fn refused(text: &str) -> ScenarioError {
    Plan::parse("hostile.toml", text).expect_err("a hostile file is accepted")
}

/// Checks that the file is refused within ten seconds, of which it needs less than one.
#[expect(clippy::disallowed_types, reason = "a bound on time needs a clock")]
fn refused_soon(name: &str, text: &str) {
    let begun = std::time::Instant::now();
    let error = refused(text);
    let took = begun.elapsed();
    assert!(error.problems.len() <= ScenarioError::MOST, "{name}");
    assert!(took < Duration::from_secs(10), "{name} took {took:?}");
}

#[test]
fn deep_nesting_is_refused_without_a_deep_stack() {
    let line = |text: &str| text.repeat(Plan::LONGEST / text.len() - 8);
    for (name, text) in [
        ("brackets", line("[")),
        ("dots", format!("{}a = 1", line("a."))),
        ("arrays", format!("a = {}", line("["))),
        ("tables", format!("a = {}", line("{a="))),
    ] {
        refused_soon(name, &text);
    }
}

#[test]
fn garbage_of_full_length_is_refused_in_bounded_time() {
    for text in ["=", "\"", "'''", "\n=", "a\n", "\u{0}", "é", "#\r", "[a]\n", "a=1\n", "[[arm]]\n"]
    {
        refused_soon(&format!("{text:?}"), &filled(text));
    }
}

#[test]
fn thousands_of_unknown_keys_and_list_entries_are_refused_in_bounded_time() {
    let lines =
        |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let keys = lines(60_000, |number| format!("k{number:05} = 1\n"));
    refused_soon("keys", &keys);
    let faults = lines(900, |number| format!("[[fault]]\nname = \"f{number}\"\nkind = 1\n"));
    let arms = lines(64, |number| {
        format!("[[arm]]\nname = \"a{number}\"\nset.fault.f1.kind = {number}\n")
    });
    refused_soon("faults and arms", &(faults + &arms));
}
