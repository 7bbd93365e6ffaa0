//! From flags to a scenario: they are written as a scenario file would be, so that defaults, checks
//! and the limits of connections are the same.

use goodput_clock::Rate;
use goodput_clock::text::format_duration;
use goodput_scenario::{Arrivals, Plan, Scenario, ScenarioError};
use serde::Serialize;
use toml::{Table, Value};

use super::LoadArgs;
use crate::exit::Failure;
use crate::input;

/// What the flags say.
pub(super) fn scenario(args: &LoadArgs) -> Result<Scenario, Failure> {
    let text = toml::to_string(&file(args)?).map_err(Failure::usage)?;
    Plan::parse("flags", &text).map(|plan| plan.scenario).map_err(|error| refusal(&error))
}

/// What is wrong by flag: the keys and the lines are of a file that nobody wrote.
fn refusal(error: &ScenarioError) -> Failure {
    let problems = error.problems.iter().map(|problem| {
        let flag = FLAGS.iter().find(|(key, ..)| problem.key.starts_with(key));
        match flag {
            Some((_, flag, example)) => {
                format!("{flag}: {}; for example: {flag} {example}", problem.message)
            }
            None => format!("`{}`: {}", problem.key, problem.message),
        }
    });
    Failure::usage(problems.collect::<Vec<_>>().join("\n"))
}

/// The flag behind each key, longer keys first where one begins with another, with an example.
const FLAGS: [(&str, &str, &str); 15] = [
    ("duration", "--duration", "30s"),
    ("load.rate", "--rate", "80"),
    ("load.arrivals", "--arrivals", "poisson"),
    ("request.path", "--target", "http://127.0.0.1:8080/orders/1"),
    ("request.method", "--method", "GET"),
    ("request.headers", "--header", "\"Accept: application/json\""),
    ("request.body", "--body", "@order.json"),
    ("client.clients", "--clients", "1"),
    ("client.deadline", "--deadline", "10s"),
    ("client.max_connections", "--max-connections", "2400"),
    ("client.connect_rate", "--connect-rate", "480"),
    ("client.layer.timeout", "--timeout", "5s"),
    ("client.layer.retries", "--retries", "3"),
    ("client.layer.backoff", "--backoff", "1s,factor=2,jitter=full"),
    ("client.layer.budget", "--budget", "sre-ratio"),
];

fn file(args: &LoadArgs) -> Result<Table, Failure> {
    let mut file = Table::new();
    let duration = args.duration.unwrap_or_default();
    put(&mut file, "name", "load");
    put(&mut file, "duration", format_duration(duration));
    put(&mut file, "load", load(args));
    put(&mut file, "request", request(args)?);
    put(&mut file, "client", client(args)?);
    // Nobody knows what serves the target; the file needs a tier all the same.
    let mut tier = Table::new();
    put(&mut tier, "name", "target");
    put(&mut file, "tier", vec![Value::Table(tier)]);
    let mut expect = Table::new();
    put(&mut expect, "verdict", "steady");
    // Nothing is judged, and the window has to fit.
    put(&mut expect, "hold", format_duration(duration));
    put(&mut file, "expect", expect);
    Ok(file)
}

fn load(args: &LoadArgs) -> Table {
    let mut load = Table::new();
    put_some(&mut load, "rate", args.rate.map(Rate::per_second));
    let arrivals = args.arrivals.map(|arrivals| match arrivals {
        Arrivals::Constant => Value::from("constant"),
        Arrivals::Poisson => Value::from("poisson"),
        Arrivals::Batch { size } => {
            let mut batch = Table::new();
            put(&mut batch, "kind", "batch");
            put(&mut batch, "size", i64::from(size));
            Value::Table(batch)
        }
    });
    put_some(&mut load, "arrivals", arrivals);
    load
}

fn request(args: &LoadArgs) -> Result<Table, Failure> {
    let mut request = Table::new();
    put_some(&mut request, "path", args.target.path.clone());
    put_some(&mut request, "method", args.method.clone());
    let mut headers = Table::new();
    for (name, value) in &args.header {
        put(&mut headers, name, value.as_str());
    }
    if !headers.is_empty() {
        put(&mut request, "headers", headers);
    }
    let body = args.body.as_deref().map(|body| match body.strip_prefix('@') {
        None => Ok(body.to_owned()),
        Some(path) => input::text(path, Plan::LONGEST)
            .map_err(|error| Failure::usage(format!("--body @{path}: cannot read it: {error}"))),
    });
    put_some(&mut request, "body", body.transpose()?);
    Ok(request)
}

fn client(args: &LoadArgs) -> Result<Table, Failure> {
    let mut client = Table::new();
    put_some(&mut client, "clients", args.clients.map(i64::from));
    put_some(&mut client, "protocol", args.http2.then_some("http/2"));
    put_some(&mut client, "deadline", args.deadline.map(format_duration));
    put_some(&mut client, "max_connections", args.max_connections.map(i64::from));
    put_some(&mut client, "connect_rate", args.connect_rate.map(Rate::per_second));
    let mut layer = Table::new();
    // A time-out may not be longer than the run.
    let standard = super::STANDARD_TIMEOUT.min(args.duration.unwrap_or_default());
    put(&mut layer, "timeout", format_duration(args.timeout.unwrap_or(standard)));
    put_some(&mut layer, "retries", args.retries.map(i64::from));
    put_some(&mut layer, "backoff", args.backoff.map(as_value).transpose()?);
    put_some(&mut layer, "budget", args.budget.map(as_value).transpose()?);
    put(&mut client, "layer", vec![Value::Table(layer)]);
    Ok(client)
}

fn as_value(value: impl Serialize) -> Result<Value, Failure> {
    Value::try_from(value).map_err(Failure::usage)
}

fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key.to_owned(), value.into());
}

fn put_some(table: &mut Table, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        put(table, key, value);
    }
}
