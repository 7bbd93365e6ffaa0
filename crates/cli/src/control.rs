//! What the commands that speak to control planes share: token, client, cause, and states as text.

use std::fmt::Write as _;
use std::future::Future;
use std::path::Path;

use goodput_control::api::{Cause, FaultView, LoadState, RunView, ServerState};
use goodput_control::{
    Audit, ClientError, ControlClient, Guard, TOKEN_FLAG, TOKEN_VARIABLE, Token,
};
use goodput_policy::fault::{CapacityMode, FaultKind};
use serde::Serialize;
use serde_json::Value;

use crate::args::{Format, TokenArgs};
use crate::display::seconds;
use crate::exit::Failure;
use crate::{input, output};

impl TokenArgs {
    /// The text of the token, read from its file where it names one.
    pub(crate) fn text(&self) -> Result<Option<String>, Failure> {
        let Some(given) = self.token.as_deref().filter(|given| !given.is_empty()) else {
            return Ok(None);
        };
        let text = match given.strip_prefix('@') {
            None => given.to_owned(),
            Some(path) => input::text(path, TOKEN_FILE_MAX)
                .map_err(|error| Failure::usage(format!("{TOKEN_FLAG} @{path}: {error}")))?,
        };
        let text = text.trim().to_owned();
        Token::new(&text).map_err(|error| Failure::usage(format!("{TOKEN_FLAG}: {error}")))?;
        Ok(Some(text))
    }

    /// Refuses a token that is on the command line and has no effect without `flag`. One in the
    /// environment may be there for another command.
    pub(crate) fn refuse_without(&self, flag: &str) -> Result<(), Failure> {
        let environment = std::env::var(TOKEN_VARIABLE).ok();
        if self.token.is_some() && self.token != environment {
            return Err(Failure::usage(format!(
                "{TOKEN_FLAG} has no effect without {flag}; add {flag}, or leave it out"
            )));
        }
        Ok(())
    }

    /// The token, read from its file where it names one.
    pub(crate) fn read(&self) -> Result<Option<Token>, Failure> {
        self.text()?.map(|text| Token::new(&text)).transpose().map_err(Failure::usage)
    }

    /// Who may speak to a control plane of this process.
    pub(crate) fn guard(&self, hosts: &[String]) -> Result<Guard, Failure> {
        let guard =
            self.read()?.map_or_else(Guard::loopback, |token| Guard::loopback().with_token(token));
        Ok(hosts.iter().fold(guard, Guard::with_host))
    }

    /// A client of the control plane at `url`.
    pub(crate) fn client(&self, url: &str) -> Result<ControlClient, Failure> {
        ControlClient::new(url, self.read()?).map_err(Failure::usage)
    }
}

/// The audit log of a process: a file, or the memory of its last commands.
pub(crate) fn audit(file: Option<&Path>) -> Result<Audit, Failure> {
    file.map_or_else(|| Ok(Audit::memory()), |path| Audit::file(path).map_err(Failure::usage))
}

/// Who asks and why, for the audit log. Whoever it is has the same name in every command, by which a
/// reset knows what is theirs.
pub(crate) fn cause(command: &str, reason: Option<&str>) -> Cause {
    let reason = reason.map_or_else(|| command.to_owned(), |reason| format!("{command}: {reason}"));
    Cause::new(user(), reason.chars().take(1_000).collect::<String>())
}

/// The name of whoever has started this process; `goodput` where the environment has none.
pub(crate) fn user() -> String {
    let named = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    let user = named("USER").or_else(|| named("LOGNAME"));
    user.map_or_else(|| "goodput".to_owned(), |user| user.chars().take(100).collect())
}

/// Waits for a short exchange with a control plane.
pub(crate) fn wait<T>(
    exchange: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, Failure> {
    runtime()?.block_on(exchange).map_err(Failure::usage)
}

/// A runtime for such exchanges.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("cannot start a runtime: {error}")))
}

/// Prints a state that was read back, as text or as the control plane's own JSON.
pub(crate) fn print<T: Serialize>(
    format: Format,
    state: &T,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    match format {
        Format::Text => output::result(&text()),
        Format::Json => {
            let json = serde_json::to_string_pretty(state).map_err(Failure::usage)?;
            output::result(&json)
        }
    }
}

/// A server's state in a few lines. Everything is wall time.
pub(crate) fn server_text(state: &ServerState) -> String {
    let mut text = String::new();
    let capacity = state.capacity.map_or_else(|| "unlimited".to_owned(), |c| format!("{c:.1}/s"));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    line("server", format!("{}, up {}", state.role, seconds(state.uptime)));
    line("capacity", format!("{capacity} in {} slots", state.slots));
    line("admitted", format!("{:.0} %", state.admitted * 100.0));
    line(
        "queue",
        format!("{} waiting, the oldest for {}", state.queued, seconds(state.oldest_age)),
    );
    line("in service", state.in_service.to_string());
    line("limiter", compact(&state.limiter));
    if let Some(run) = &state.run {
        line("run", run_text(run));
    }
    text + &faults_text(&state.faults)
}

/// The faults in force, one a line.
pub(crate) fn faults_text(faults: &[FaultView]) -> String {
    if faults.is_empty() {
        return "faults       none in force\n".to_owned();
    }
    let mut text = String::new();
    for (index, fault) in faults.iter().enumerate() {
        let head = if index == 0 { "faults" } else { "" };
        let _ = writeln!(
            text,
            "{head:<12} {}: {} by {}, for {} so far, lease ends in {}",
            fault.name,
            fault_text(&fault.fault),
            fault.owner,
            seconds(fault.age),
            seconds(fault.lease_left)
        );
    }
    text
}

/// A load generator's state in a few lines.
pub(crate) fn load_text(state: &LoadState) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<12} {value}");
    };
    let halted = if state.halted { ", halted" } else { "" };
    line("load", format!("{} to {}{halted}", state.scenario, state.target));
    line("rate", format!("{:.1}/s for {} so far", state.rate, seconds(state.elapsed)));
    line(
        "requests",
        format!("{} offered, {} good, {} in flight", state.offered, state.good, state.in_flight),
    );
    line("connections", state.connections.to_string());
    if let Some(run) = &state.run {
        line("run", run_text(run));
    }
    for layer in &state.layers {
        let field = |name| layer.get(name).map(compact).unwrap_or_default();
        line(
            "layer",
            format!(
                "{}: {} retries, time-out {}, budget {}",
                field("name"),
                field("retries"),
                field("timeout"),
                field("budget")
            ),
        );
    }
    text
}

/// The run that holds a lease, in words.
fn run_text(run: &RunView) -> String {
    format!("{} of {}, for {} so far", run.name, run.by, seconds(run.age))
}

/// What a fault does, in words.
pub(crate) fn fault_text(fault: &FaultKind) -> String {
    match fault {
        FaultKind::Capacity { to, mode } => {
            let mode = match mode {
                CapacityMode::Slow => "slower service",
                CapacityMode::Slots => "fewer slots",
            };
            format!("capacity cut to {to} ({mode})")
        }
        FaultKind::Stall => "stall".to_owned(),
    }
}

/// A value of JSON without quotes and nulls: `{"kind":"sre-ratio","ratio":0.1}` is
/// `sre-ratio,ratio=0.1`.
pub(crate) fn compact(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let named = |key: &str| key == "kind" || key == "lever";
            let kind = fields.iter().find(|(key, _)| named(key)).map(|(_, value)| compact(value));
            let rest = fields.iter().filter(|(key, _)| !named(key));
            let pairs = rest.map(|(key, value)| format!("{key}={}", compact(value)));
            kind.into_iter().chain(pairs).collect::<Vec<_>>().join(",")
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => value.to_string(),
    }
}

/// The most bytes of a file with a token in it: the longest token, and room around it.
const TOKEN_FILE_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_clock::Ratio;
    use goodput_control::api::Owner;

    #[test]
    fn faults_in_force_are_listed_with_their_lease() {
        let fault = |name: &str, fault| FaultView {
            id: "1-1".to_owned(),
            name: name.to_owned(),
            owner: Owner::By("me".to_owned()),
            ticket: None,
            fault,
            age: 3.0,
            lease_left: 7.0,
        };
        let to = Ratio::new(0.4).unwrap();
        let cut = FaultKind::Capacity { to, mode: CapacityMode::Slow };
        let text = faults_text(&[fault("cut", cut), fault("stall", FaultKind::Stall)]);
        assert_eq!(
            text,
            "faults       cut: capacity cut to 40% (slower service) by me, for 3.0 s so far, \
             lease ends in 7.0 s\n             stall: stall by me, for 3.0 s so far, \
             lease ends in 7.0 s\n"
        );
        assert_eq!(faults_text(&[]), "faults       none in force\n");
    }

    #[test]
    fn a_budget_is_shown_as_it_is_written() {
        let budget = serde_json::json!({ "kind": "sre-ratio", "ratio": 0.1 });
        assert_eq!(compact(&budget), "sre-ratio,ratio=0.1");
    }
}
