//! What the refusal tests share: one valid scenario, and what is said of it once a line is wrong.

use goodput_scenario::{Plan, Problem, ScenarioError};

/// A valid scenario; a case replaces one of its lines.
pub(crate) const VALID: &str = r#"name = "case"
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

pub(crate) fn refused(text: &str) -> ScenarioError {
    match Plan::parse("case.toml", text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error,
    }
}

/// The only problem after `line` is replaced by `wrong` in the valid scenario.
pub(crate) fn problem(line: &str, wrong: &str) -> Problem {
    assert!(VALID.contains(line), "no line {line}");
    let error = refused(&VALID.replacen(line, wrong, 1));
    assert_eq!(error.file, "case.toml");
    assert_eq!(error.problems.len(), 1, "{error}");
    error.problems[0].clone()
}

/// Checks the line, the key, a part of the message and the example of the only problem.
pub(crate) fn check(line: &str, wrong: &str, at: usize, key: &str, message: &str, example: &str) {
    let problem = problem(line, wrong);
    assert_eq!((problem.line, problem.key.as_str()), (at, key), "{wrong}: {problem}");
    assert!(problem.message.contains(message), "{wrong}: {problem}");
    assert_eq!(problem.example, example, "{wrong}: {problem}");
}
