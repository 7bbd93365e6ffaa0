//! What an attempt says about itself on the wire: how much time is left for it, and its number.
//!
//! A deadline travels as a remaining time and not as a time of day, so that no two clocks have to
//! agree. It does not shrink on the way: who receives it counts from the moment of arrival.
//!
//! All durations here are wall time; a scale stands between them and a policy.
//!
//! # Source
//!
//! `grpc-timeout` by gRPC's "PROTOCOL-HTTP2" document; `x-envoy-expected-rq-timeout-ms` and
//! `x-envoy-attempt-count` by Envoy's router filter.

use std::time::Duration;

/// gRPC's header: at most 8 digits and a unit.
pub const GRPC_TIMEOUT: &str = "grpc-timeout";
/// Envoy's header: whole milliseconds.
pub const ENVOY_TIMEOUT: &str = "x-envoy-expected-rq-timeout-ms";
/// The number of the attempt, from 1.
pub const ATTEMPT_COUNT: &str = "x-envoy-attempt-count";
/// The reason of a refusal.
pub const REFUSAL_REASON: &str = "x-goodput-reason";

/// A header that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{header}: `{value}` is not {expected}")]
pub struct HeaderError {
    /// The header's name.
    pub header: &'static str,
    /// What stood there, cut to 64 characters.
    pub value: String,
    /// What is valid, with an example.
    pub expected: &'static str,
}

/// The time left by the two deadline headers: the shorter where both are there, none where neither
/// is.
///
/// # Errors
///
/// Where one of them cannot be read.
pub fn parse_remaining(
    grpc: Option<&str>,
    envoy: Option<&str>,
) -> Result<Option<Duration>, HeaderError> {
    let grpc = grpc.map(parse_grpc_timeout).transpose()?;
    let envoy = envoy.map(parse_envoy_timeout).transpose()?;
    Ok(grpc.into_iter().chain(envoy).min())
}

/// Reads a `grpc-timeout` value such as `100m`. Zero is legal and stands for no time left.
///
/// # Errors
///
/// Where it is not 1 to 8 digits and one of the units `H M S m u n`.
///
/// ```
/// use goodput_policy::deadline::parse_grpc_timeout;
/// use std::time::Duration;
///
/// assert_eq!(parse_grpc_timeout("250m"), Ok(Duration::from_millis(250)));
/// assert!(parse_grpc_timeout("250ms").is_err());
/// ```
pub fn parse_grpc_timeout(value: &str) -> Result<Duration, HeaderError> {
    let error = || malformed(GRPC_TIMEOUT, value, "1 to 8 digits and a unit of HMSmun, as 250m");
    let (unit_at, unit) = value.char_indices().next_back().ok_or_else(error)?;
    let digits = &value[..unit_at];
    if digits.len() > 8 {
        return Err(error());
    }
    let count = parse_digits(digits).ok_or_else(error)?;
    UNITS
        .iter()
        .find(|(letter, _)| *letter == unit)
        .map(|(_, nanos)| from_nanos(u128::from(count) * nanos))
        .ok_or_else(error)
}

/// Writes a remaining time as a `grpc-timeout` value, in the finest unit that fits 8 digits, rounded
/// down. What is longer than 99,999,999 hours is written as that.
///
/// ```
/// use goodput_policy::deadline::format_grpc_timeout;
/// use std::time::Duration;
///
/// assert_eq!(format_grpc_timeout(Duration::from_micros(99_999)), "99999000n");
/// assert_eq!(format_grpc_timeout(Duration::from_secs(5)), "5000000u");
/// ```
pub fn format_grpc_timeout(remaining: Duration) -> String {
    let nanos = remaining.as_nanos();
    let fits = UNITS.iter().map(|(letter, unit)| (nanos / unit, letter));
    let (count, letter) =
        fits.into_iter().find(|(count, _)| *count <= MAX_COUNT).unwrap_or((MAX_COUNT, &'H'));
    format!("{count}{letter}")
}

/// Reads an `x-envoy-expected-rq-timeout-ms` value such as `250`. Zero stands for no time left.
///
/// # Errors
///
/// Where it is not a whole number of milliseconds below 2^64.
pub fn parse_envoy_timeout(value: &str) -> Result<Duration, HeaderError> {
    parse_digits(value)
        .map(Duration::from_millis)
        .ok_or_else(|| malformed(ENVOY_TIMEOUT, value, "a whole number of milliseconds, as 250"))
}

/// Reads an `x-envoy-attempt-count` value such as `1`.
///
/// # Errors
///
/// Where it is not a whole number from 1 to 4,294,967,295.
pub fn parse_attempt_count(value: &str) -> Result<u32, HeaderError> {
    parse_digits(value)
        .and_then(|count| u32::try_from(count).ok())
        .filter(|count| *count > 0)
        .ok_or_else(|| malformed(ATTEMPT_COUNT, value, "a whole number from 1, as 1"))
}

/// Reads digits and nothing else: no sign, no space.
fn parse_digits(text: &str) -> Option<u64> {
    let only_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    only_digits.then(|| text.parse().ok()).flatten()
}

fn from_nanos(nanos: u128) -> Duration {
    let subsec = u32::try_from(nanos % NANOS_PER_SECOND).unwrap_or_default();
    u64::try_from(nanos / NANOS_PER_SECOND)
        .map_or(Duration::MAX, |seconds| Duration::new(seconds, subsec))
}

fn malformed(header: &'static str, value: &str, expected: &'static str) -> HeaderError {
    HeaderError { header, value: value.chars().take(64).collect(), expected }
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;
/// What fits 8 digits.
const MAX_COUNT: u128 = 99_999_999;
/// gRPC's units in nanoseconds, finest first.
const UNITS: [(char, u128); 6] = [
    ('n', 1),
    ('u', 1_000),
    ('m', 1_000_000),
    ('S', NANOS_PER_SECOND),
    ('M', 60 * NANOS_PER_SECOND),
    ('H', 3600 * NANOS_PER_SECOND),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn malformed_headers_are_refused_with_a_valid_example() {
        for value in
            ["", "5", "m", "5s", "5 S", "+5S", "-1S", "1.5S", "123456789n", "5ms", "٣S", "5é"]
        {
            let error = parse_grpc_timeout(value).unwrap_err();
            assert!(error.to_string().contains("as 250m"), "{error}");
        }
        for value in ["", "+5", "-5", "5ms", " 5", "1e3", "99999999999999999999", "٣"] {
            assert!(parse_envoy_timeout(value).is_err(), "{value}");
            assert!(parse_attempt_count(value).is_err(), "{value}");
        }
        assert!(parse_attempt_count("0").is_err());
        assert!(parse_attempt_count("4294967296").is_err());
        let long = parse_envoy_timeout(&"é".repeat(5000)).unwrap_err();
        assert_eq!(long.value.chars().count(), 64);
    }

    #[test]
    fn every_unit_is_read() {
        for (value, seconds) in
            [("2H", 7200.0), ("2M", 120.0), ("2S", 2.0), ("2m", 2e-3), ("2u", 2e-6), ("2n", 2e-9)]
        {
            assert_eq!(parse_grpc_timeout(value), Ok(Duration::from_secs_f64(seconds)), "{value}");
        }
        assert_eq!(parse_grpc_timeout("0n"), Ok(Duration::ZERO));
        assert_eq!(parse_attempt_count("0064"), Ok(64));
    }

    #[test]
    fn the_finest_unit_that_fits_is_written_and_rounded_down() {
        for (nanos, text) in [
            (0, "0n"),
            (99_999_999, "99999999n"),
            (100_000_999, "100000u"),
            (99_999_999_999, "99999999u"),
            (100_000_000_000, "100000m"),
        ] {
            assert_eq!(format_grpc_timeout(Duration::from_nanos(nanos)), text);
        }
        assert_eq!(format_grpc_timeout(Duration::MAX), "99999999H");
    }

    #[test]
    fn the_shorter_of_two_deadlines_holds() {
        let parse = |grpc, envoy| parse_remaining(grpc, envoy).unwrap();
        assert_eq!(parse(None, None), None);
        assert_eq!(parse(Some("1S"), None), Some(Duration::from_secs(1)));
        assert_eq!(parse(Some("1S"), Some("250")), Some(Duration::from_millis(250)));
        assert!(parse_remaining(Some("1S"), Some("soon")).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]

        #[test]
        fn no_header_makes_a_parser_panic(value in ".{0,24}") {
            let _ = parse_grpc_timeout(&value);
            let _ = parse_envoy_timeout(&value);
            let _ = parse_attempt_count(&value);
        }

        #[test]
        fn what_nearly_is_a_timeout_reads_only_where_it_is_one(value in "[0-9]{0,10}[HMSmunhs ]{0,2}") {
            let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
            let unit = &value[digits.len()..];
            let valid = (1..=8).contains(&digits.len()) && unit.len() == 1 && "HMSmun".contains(unit);
            prop_assert_eq!(parse_grpc_timeout(&value).is_ok(), valid);
            prop_assert_eq!(parse_envoy_timeout(&value).is_ok(), unit.is_empty() && !digits.is_empty());
        }

        #[test]
        fn what_is_written_reads_back_within_one_unit(
            bits in 0_u32..64, fraction in 0_u64..u64::MAX, subsec in 0_u32..1_000_000_000,
        ) {
            let remaining = Duration::new(fraction >> bits, subsec);
            let text = format_grpc_timeout(remaining);
            let read = parse_grpc_timeout(&text).unwrap();
            let unit = UNITS.iter().find(|(letter, _)| text.ends_with(*letter)).unwrap().1;
            prop_assert!(text.len() <= 9 && read <= remaining);
            let lost = remaining.abs_diff(read).as_nanos();
            prop_assert!(lost < unit || text == "99999999H", "{} lost {}", text, lost);
        }
    }
}
