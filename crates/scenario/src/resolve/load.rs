use std::time::Duration;

use goodput_clock::Timestamp;

use super::{check_moment, say};
use crate::model::{Arrivals, Load, RateChange, RequestTemplate, Tier};
use crate::parse::{Path, Reader, written};

/// Resolves `[load]` and `[request]`.
pub(super) fn resolve(
    reader: &mut Reader<'_, '_>,
    run: Option<Duration>,
    tiers: Option<&[Tier]>,
) -> Option<Load> {
    let path = Path::root().key("load");
    let load: written::Load = reader.section(&path, &["change"]);
    let rate = reader.require(&path.key("rate"), load.rate);
    let changes = resolve_changes(reader, &path.key("change"), run);
    let orders = tiers.and_then(<[Tier]>::last).map_or(1, |tier| tier.orders);
    let request = resolve_request(reader, orders);
    Some(Load {
        rate: rate?,
        arrivals: load.arrivals.unwrap_or(Arrivals::Poisson),
        changes: changes?,
        request,
    })
}

fn resolve_changes(
    reader: &mut Reader<'_, '_>,
    path: &Path,
    run: Option<Duration>,
) -> Option<Vec<RateChange>> {
    let written = reader.list::<written::Change>(path, &[]);
    let changes = written.into_iter().map(|(path, change)| {
        let at = reader.require(&path.key("at"), change.at);
        let rate = reader.require(&path.key("rate"), change.rate);
        check_moment(reader, &path.key("at"), at, run);
        let over = change.over.unwrap_or_default();
        if let Some(length) = change.length
            && (length.is_zero() || length < over)
        {
            reader.problem(&path.key("for"), "must be longer than 0, and no shorter than `over`");
        }
        let at = Timestamp::from(at?);
        Some((path, RateChange { at, rate: rate?, over, length: change.length }))
    });
    let mut changes: Vec<_> = changes.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?;
    changes.sort_by_key(|(_, change)| change.at);
    check_order(reader, &changes, run);
    Some(changes.into_iter().map(|(_, change)| change).collect())
}

/// Checks that each change has ended when the next begins, and all of them inside the run.
fn check_order(reader: &mut Reader<'_, '_>, changes: &[(Path, RateChange)], run: Option<Duration>) {
    for ((_, earlier), (path, later)) in changes.iter().zip(changes.iter().skip(1)) {
        if later.at < earlier.ends() || later.at == earlier.at {
            let ends = say(earlier.ends().elapsed());
            reader.problem(
                &path.key("at"),
                format!("begins before the change before it has ended, at {ends}"),
            );
        }
    }
    for (path, change) in changes {
        if let Some(run) = run
            && change.ends().elapsed() > run
            && change.at.elapsed() < run
        {
            let key = if change.length.is_some() { "for" } else { "over" };
            let (ends, run) = (say(change.ends().elapsed()), say(run));
            reader.problem(&path.key(key), format!("ends at {ends}, after the run's end at {run}"));
        }
    }
}

fn resolve_request(reader: &mut Reader<'_, '_>, orders: u32) -> RequestTemplate {
    let path = Path::root().key("request");
    let request: written::Request = reader.section(&path, &[]);
    let method = request.method.unwrap_or_else(|| "GET".into());
    if method.is_empty() || method.len() > 32 || !method.bytes().all(is_token) {
        reader.problem(&path.key("method"), format!("{method:?} is not an HTTP method"));
    }
    let target = request.path.unwrap_or_else(|| "/orders/{order}".into());
    if !target.starts_with('/')
        || !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
    {
        reader.problem(
            &path.key("path"),
            format!(
                "{target:?} is not a path: it starts with `/` and is ASCII without spaces or `#`"
            ),
        );
    }
    let headers: Vec<_> = request.headers.unwrap_or_default().into_iter().collect();
    for (name, value) in &headers {
        check_header(reader, &path.key("headers").key(name), name, value);
    }
    let body = request.body.unwrap_or_default();
    RequestTemplate { method, path: target, headers, body, orders }
}

fn check_header(reader: &mut Reader<'_, '_>, path: &Path, name: &str, value: &str) {
    if name.is_empty() || !name.bytes().all(is_token) {
        reader.problem(path, "is not the name of a header");
    } else if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        reader.problem(path, "is written by the client itself");
    }
    if !value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        reader.problem(path, "a header's value is printable ASCII");
    }
}

/// Whether a byte may stand in an HTTP token (RFC 9110, section 5.6.2).
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Headers that the client writes: framing, the connection, and what it says about an attempt.
const OURS: [&str; 9] = [
    "connection",
    "content-length",
    "grpc-timeout",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
    "x-envoy-attempt-count",
    "x-envoy-expected-rq-timeout-ms",
];
