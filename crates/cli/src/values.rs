//! How values are written on the command line. Every error shows a valid example.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use goodput_clock::{Rate, Ratio, Scale, text};
use goodput_policy::backoff::Backoff;
use goodput_policy::budget::BudgetConfig;
use goodput_policy::fault::{CapacityMode, FaultKind};
use goodput_policy::limiter::{Capacity, LimiterPatch, QueueLimit, ServiceTime};
use goodput_policy::retry::validate_retries;
use goodput_scenario::Arrivals;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads a duration such as `20s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    text::parse_duration(text)
}

/// Reads a duration above zero.
pub(crate) fn positive_duration(text: &str) -> Result<Duration, String> {
    let duration = text::parse_duration(text)?;
    if duration.is_zero() {
        return Err(format!("`{text}` is no time at all; write a duration above 0, such as 20s"));
    }
    Ok(duration)
}

/// Reads a duration up to the longest that a run may have: more is walked in virtual time for hours,
/// and logged second by second.
pub(crate) fn duration_of_a_run(text: &str) -> Result<Duration, String> {
    let duration = text::parse_duration(text)?;
    if duration > LONGEST_RUN {
        return Err(format!(
            "`{text}` is longer than the 7 days that a run may have; write such as 20m"
        ));
    }
    Ok(duration)
}

/// The same above zero.
pub(crate) fn positive_duration_of_a_run(text: &str) -> Result<Duration, String> {
    positive_duration(text).and_then(|_| duration_of_a_run(text))
}

/// Reads a whole number of a range.
pub(crate) fn whole<T>(text: &str, range: RangeInclusive<T>, example: T) -> Result<T, String>
where
    T: Copy + Display + FromStr + PartialOrd,
{
    text.trim().parse().ok().filter(|number| range.contains(number)).ok_or_else(|| {
        let (from, to) = range.into_inner();
        format!("`{text}` is not a whole number from {from} to {to}; write such as {example}")
    })
}

/// Reads a number of things, whose range the scenario knows.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    whole(text, 0..=u32::MAX, 100)
}

/// Reads a seed.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(text, 0..=u64::MAX, 7)
}

/// Reads a rate such as `80`, `80/s` or `30k/m`.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    text::parse_rate(text)
}

/// Reads a ratio such as `0.4` or `40%`.
pub(crate) fn ratio(text: &str) -> Result<Ratio, String> {
    text::parse_ratio(text)
}

/// Reads what a cut leaves: not nothing, which is a stall.
pub(crate) fn remaining_capacity(text: &str) -> Result<Ratio, String> {
    let ratio = text::parse_ratio(text)?;
    FaultKind::capacity(ratio, CapacityMode::default()).map(|_| ratio).map_err(|_| {
        format!(
            "`{text}` leaves nothing; use `goodput fault stall` for that, or leave some, such as 40%"
        )
    })
}

/// Reads scenario seconds per wall second.
pub(crate) fn speed(text: &str) -> Result<Scale, String> {
    let hint = format!("write a number from {} to {}, such as 10", Scale::MIN, Scale::MAX);
    let value: f64 =
        text.trim().parse().map_err(|_| format!("`{text}` is not a number; {hint}"))?;
    Scale::new(value).map_err(|_| format!("`{text}` is out of range; {hint}"))
}

/// Reads an address to listen on, such as `127.0.0.1:8080`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "`{text}` is not an address with a port; write such as 127.0.0.1:8080 or [::1]:8080"
        )
    })
}

/// Reads an `http` address such as `http://127.0.0.1:8080`, without a trailing slash.
pub(crate) fn url(text: &str) -> Result<String, String> {
    const HINT: &str = "write such as http://127.0.0.1:8080";
    // Before anything repeats the text, which may hold a password.
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    if authority.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
        return Err(format!(
            "a URL takes no user and no password, which would not be sent; {HINT}"
        ));
    }
    let rest = match text.split_once("://") {
        Some(("http", rest)) => rest,
        Some(("https", _)) => {
            return Err(format!(
                "`{text}` asks for TLS, which is not spoken here; put a proxy in front, and {HINT}"
            ));
        }
        Some((scheme, _)) => return Err(format!("`{scheme}` is not http; {HINT}")),
        None => return Err(format!("`{text}` has no scheme; {HINT}")),
    };
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || host.contains(char::is_whitespace) {
        return Err(format!("`{text}` names no host; {HINT}"));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Where a load goes: the server, and what is asked of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LoadTarget {
    /// Such as `http://127.0.0.1:8080`.
    pub(crate) origin: String,
    /// Such as `/orders/1`; none where the address names none.
    pub(crate) path: Option<String>,
}

/// Reads an `http` address that may name a path.
pub(crate) fn target(text: &str) -> Result<LoadTarget, String> {
    url(text)?;
    let start = "http://".len();
    let end = text[start..].find(['/', '?']).map_or(text.len(), |at| start + at);
    let (origin, path) = text.split_at(end);
    let path = match path {
        "" => None,
        query if query.starts_with('?') => Some(format!("/{query}")),
        path => Some(path.to_owned()),
    };
    Ok(LoadTarget { origin: origin.to_owned(), path })
}

/// Reads how arrivals are spread: `constant`, `poisson` or `batch,size=10`.
pub(crate) fn arrivals(text: &str) -> Result<Arrivals, String> {
    match text {
        "constant" => Ok(Arrivals::Constant),
        "poisson" => Ok(Arrivals::Poisson),
        _ => {
            let size = text.strip_prefix("batch,size=").and_then(|size| size.parse().ok());
            size.and_then(Arrivals::batch).ok_or_else(|| {
                format!(
                    "`{text}`: write constant, poisson or batch,size=10, with a size from 1 to {}",
                    Arrivals::LARGEST_BATCH
                )
            })
        }
    }
}

/// Reads a header such as `Accept: application/json`.
pub(crate) fn header(text: &str) -> Result<(String, String), String> {
    const HINT: &str = "write such as \"Accept: application/json\"";
    let (name, value) =
        text.split_once(':').ok_or_else(|| format!("`{text}` has no colon; {HINT}"))?;
    let name = name.trim();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("`{name}` is not the name of a header; {HINT}"));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Reads a capacity such as `100` or `unlimited`.
pub(crate) fn capacity(text: &str) -> Result<Capacity, String> {
    if text == "unlimited" {
        return Ok(Capacity::Unlimited);
    }
    text::parse_rate(text)
        .map(Capacity::Limited)
        .map_err(|error| format!("{error}, or \"unlimited\""))
}

/// Reads how many may wait, such as `150` or `unbounded`.
pub(crate) fn queue_limit(text: &str) -> Result<QueueLimit, String> {
    if text == "unbounded" {
        return Ok(QueueLimit::Unbounded);
    }
    match text.parse::<u32>() {
        Ok(limit) if limit <= QueueLimit::SAFETY_CAP => Ok(QueueLimit::Bounded(limit)),
        _ => Err(format!(
            "`{text}` is not a queue limit; write a number from 0 to {}, such as 150, or unbounded",
            QueueLimit::SAFETY_CAP
        )),
    }
}

/// Reads how service times are distributed: `constant`, `exponential` or `lognormal,sigma=1.0`.
pub(crate) fn service_time(text: &str) -> Result<ServiceTime, String> {
    named_table(text, "kind", "constant, exponential or lognormal,sigma=1.0")
}

/// Reads a retry budget: its name, and what differs from its defaults.
pub(crate) fn budget(text: &str) -> Result<BudgetConfig, String> {
    named_table(
        text,
        "kind",
        "off, sre-ratio, finagle,ratio=0.2, token-bucket, grpc-throttle or aws-quota",
    )
}

/// Reads a backoff: its base, and what differs from the defaults.
pub(crate) fn backoff(text: &str) -> Result<Backoff, String> {
    let examples = "1s or 1s,factor=2,cap=20s,jitter=full";
    let backoff: Backoff = named_table(text, "base", examples)?;
    match backoff.validate() {
        Ok(()) => Ok(backoff),
        Err(invalid) => Err(format!("`{text}`: {invalid}; write {examples}")),
    }
}

/// Reads how often a layer retries.
pub(crate) fn retries(text: &str) -> Result<u32, String> {
    let retries = text.parse().map_err(|_| format!("`{text}` is not a whole number, such as 3"))?;
    validate_retries(retries).map(|()| retries).map_err(|invalid| format!("`{text}`: {invalid}"))
}

/// Reads how many requests are served at once.
pub(crate) fn slots(text: &str) -> Result<u32, String> {
    let slots = text.parse().map_err(|_| format!("`{text}` is not a whole number, such as 10"))?;
    let patch = LimiterPatch { slots: Some(slots), ..LimiterPatch::default() };
    patch.validate().map(|()| slots).map_err(|invalid| format!("`{text}`: {invalid}"))
}

/// Reads `first,key=value,…` as the table that a scenario file would hold, so that defaults and
/// checks are the same: the part before the first comma stands under `first_key`.
fn named_table<T: DeserializeOwned>(
    text: &str,
    first_key: &str,
    examples: &str,
) -> Result<T, String> {
    let mut parts = text.split(',').map(str::trim);
    let mut table = Map::new();
    let first = parts.next().unwrap_or_default();
    // A name alone stands for its defaults.
    if first_key == "kind" && first == text.trim() {
        return serde_json::from_value(Value::from(first))
            .map_err(|error| refusal(text, &error, examples));
    }
    table.insert(first_key.to_owned(), Value::from(first));
    for part in parts {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is not key=value; write {examples}"))?;
        let value = value.trim();
        let value = value.parse::<f64>().map_or_else(|_| Value::from(value), Value::from);
        if table.insert(key.trim().to_owned(), value).is_some() {
            return Err(format!("`{}` stands twice; write {examples}", key.trim()));
        }
    }
    serde_json::from_value(Value::Object(table)).map_err(|error| refusal(text, &error, examples))
}

/// What is wrong, with the command line's example in the place of the scenario file's.
fn refusal(text: &str, error: &serde_json::Error, examples: &str) -> String {
    let error = text::type_in_words(&error.to_string());
    let problem = error.split("; write ").next().unwrap_or_default();
    format!("`{text}`: {problem}; write {examples}")
}

/// What a scenario's duration may be at most.
const LONGEST_RUN: Duration = Duration::from_hours(7 * 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_keep_their_range_and_show_one() {
        assert_eq!((seed("0"), seed("18446744073709551615")), (Ok(0), Ok(u64::MAX)));
        assert_eq!(whole::<u16>("64", 1..=64, 2), Ok(64));
        for text in ["", "x", "-1", "1.5", "1e3", "0", "65", "99999999999999999999"] {
            let refused = whole::<u16>(text, 1..=64, 2).unwrap_err();
            assert!(refused.contains("from 1 to 64; write such as 2"), "{refused}");
        }
    }

    #[test]
    fn durations_of_a_run_end_with_it() {
        assert_eq!(duration_of_a_run("0s"), Ok(Duration::ZERO));
        assert!(positive_duration_of_a_run("7days").is_ok());
        assert!(positive_duration_of_a_run("0s").unwrap_err().contains("20s"));
        assert!(positive_duration_of_a_run("169h").unwrap_err().contains("20m"));
    }

    #[test]
    fn urls_are_http_with_a_host() {
        assert_eq!(url("http://127.0.0.1:9901/").unwrap(), "http://127.0.0.1:9901");
        let credentials = ["http://me:secret@a", "https://me:secret@a", "me:secret@a"];
        let others = ["127.0.0.1:9901", "https://a", "ftp://a", "http://", "http:// a"];
        for text in credentials.into_iter().chain(others) {
            let error = url(text).unwrap_err();
            assert!(error.contains("http://127.0.0.1:8080"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(url("http://a/orders?by=me@home").is_ok());
    }

    #[test]
    fn a_target_may_name_a_path() {
        let read = |text| target(text).map(|target| (target.origin, target.path)).unwrap();
        let origin = "http://127.0.0.1:8080".to_owned();
        assert_eq!(read("http://127.0.0.1:8080"), (origin.clone(), None));
        assert_eq!(read("http://127.0.0.1:8080/"), (origin.clone(), Some("/".to_owned())));
        assert_eq!(read("http://127.0.0.1:8080?a=1"), (origin.clone(), Some("/?a=1".to_owned())));
        assert_eq!(read("http://127.0.0.1:8080/a/b"), (origin, Some("/a/b".to_owned())));
    }

    #[test]
    fn arrivals_read_as_their_kind() {
        assert_eq!(arrivals("batch,size=10"), Ok(Arrivals::Batch { size: 10 }));
        for text in ["batch", "batch,size=0", "batch,size=-1", "batch,size=100001", "uniform"] {
            assert!(arrivals(text).unwrap_err().contains("poisson"), "{text}");
        }
    }

    #[test]
    fn a_cut_leaves_something() {
        assert_eq!(remaining_capacity("40%").unwrap().get().to_bits(), 0.4_f64.to_bits());
        for text in ["0", "0.000009"] {
            assert!(remaining_capacity(text).unwrap_err().contains("fault stall"), "{text}");
        }
    }

    #[test]
    fn backoffs_read_as_a_base_and_what_differs() {
        let written = backoff("5s,jitter=full,factor=3").unwrap();
        assert_eq!(written.base, Duration::from_secs(5));
        assert_eq!(written.factor.to_bits(), 3.0_f64.to_bits());
        for text in [
            "",
            "5",
            "5s,cap=1s",
            "5s,factor=0",
            "25h,cap=26h",
            "5s,full",
            "5s,jitter=most",
            "5s,jitter=full,jitter=none",
        ] {
            assert!(backoff(text).unwrap_err().contains("1s"), "{text}");
        }
    }

    #[test]
    fn retries_and_slots_keep_to_the_policies_ranges() {
        assert_eq!((retries("100"), slots("1000000")), (Ok(100), Ok(1_000_000)));
        for text in ["-1", "101", "x", ""] {
            assert!(retries(text).unwrap_err().contains("such as 3"), "{text}");
        }
        for text in ["0", "1000001", "x", ""] {
            assert!(slots(text).unwrap_err().contains("such as 10"), "{text}");
        }
    }

    #[test]
    fn headers_have_a_name_and_a_value() {
        assert_eq!(header("Accept: a:b").unwrap(), ("Accept".to_owned(), "a:b".to_owned()));
        assert!(header("Accept").is_err());
        assert!(header(": x").is_err());
    }

    #[test]
    fn speeds_stay_in_their_range() {
        assert!(speed("10").is_ok());
        for text in ["0", "101", "NaN", "fast"] {
            assert!(speed(text).unwrap_err().contains("such as 10"), "{text}");
        }
    }
}
