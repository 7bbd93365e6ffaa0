//! How durations, rates and ratios are written in scenario files, on command lines and in JSON.
//!
//! A duration is text with a unit (`"5s"`, `"1m 30s"`, `"1.5s"`, `"200ms"`), a ratio is a number from
//! 0 to 1 or text with a percent sign (`0.4`, `"40%"`), a rate is a number per second or text with
//! a unit (`80`, `"80/s"`, `"30k/m"`).

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::quantity::{Rate, Ratio};

/// Reads a duration such as `5s`, `1m 30s`, `1.5s` or `200ms`.
///
/// # Errors
///
/// Where the text has no unit, an unknown one, a negative number, or a value past 100 years.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const HINT: &str = "write a number and a unit, such as \"5s\", \"1m 30s\" or \"200ms\"";
    let text = text.trim();
    if text.starts_with('-') {
        return Err(format!("`{text}` is negative; {HINT}"));
    }
    let duration =
        parse_spans(text).ok_or_else(|| format!("`{text}` is not a duration; {HINT}"))?;
    if duration > LONGEST {
        return Err(format!("`{text}` is longer than 100 years; {HINT}"));
    }
    Ok(duration)
}

/// A hundred years.
const LONGEST: Duration = Duration::from_hours(100 * 366 * 24);

/// Sums the spans of a duration, each with a decimal number, which `humantime` alone refuses.
fn parse_spans(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| c.is_alphabetic())?;
        let after = rest[unit_at..]
            .find(|c: char| !c.is_alphabetic())
            .map_or(rest.len(), |length| unit_at + length);
        let number = rest[..unit_at].trim();
        if !number.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        let unit = humantime::parse_duration(&format!("1{}", &rest[unit_at..after])).ok()?;
        let nanos = number.parse::<f64>().ok()? * unit.as_nanos() as f64;
        total = total.checked_add(Duration::try_from_secs_f64((nanos / 1e9).min(1e11)).ok()?)?;
        rest = rest[after..].trim_start();
    }
    Some(total)
}

/// Writes a duration as [`parse_duration`] reads it.
pub fn format_duration(duration: Duration) -> String {
    humantime::format_duration(duration).to_string()
}

/// Says in words what serde says about a value of a wrong type; another message is left as it is.
pub fn type_in_words(message: &str) -> String {
    let given = ["invalid type: ", "invalid value: "];
    let given = given.iter().find_map(|prefix| message.strip_prefix(prefix));
    let Some((given, expected)) = given.and_then(|rest| rest.split_once(", expected ")) else {
        return message.to_owned();
    };
    let expected = match expected {
        "i64" => "a whole number",
        "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "text",
        "a sequence" => "a list",
        "a map" => "a table",
        other => other,
    };
    format!("{given} is not {expected}")
}

/// A number of a file as an error repeats it: `1e308` in five characters, not in 309.
pub fn float_in_words(value: f64) -> String {
    format!("floating point `{value:?}`")
}

/// Reads a ratio such as `0.4` or `40%`.
///
/// # Errors
///
/// Where the text is no number or the ratio is outside 0 to 1.
pub fn parse_ratio(text: &str) -> Result<Ratio, String> {
    const HINT: &str = "write a ratio from 0 to 1, such as 0.4 or \"40%\"";
    let trimmed = text.trim();
    let value = match trimmed.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().map(|p| p / 100.0),
        None => trimmed.parse::<f64>(),
    };
    let value = value.map_err(|_| format!("`{text}` is not a ratio; {HINT}"))?;
    Ratio::new(value).map_err(|_| format!("`{text}` is outside 0 to 1; {HINT}"))
}

/// Reads a rate such as `80`, `80/s`, `30k/m` or `1.5k`.
///
/// # Errors
///
/// Where the text is no rate, or the rate is not above 0 and at most [`Rate::MAX`].
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    const HINT: &str = "write requests per second above 0, such as 80, \"80/s\" or \"30k/m\"";
    let (count, per) = match text.trim().split_once('/') {
        None => (text.trim(), 1.0),
        Some((count, "s" | "1s")) => (count, 1.0),
        Some((count, "m" | "1m")) => (count, 60.0),
        Some((count, "h" | "1h")) => (count, 3600.0),
        Some(_) => return Err(format!("`{text}` has an unknown unit; {HINT}")),
    };
    let (count, factor) = match count.trim().strip_suffix('k') {
        Some(thousands) => (thousands, 1000.0),
        None => (count.trim(), 1.0),
    };
    let count: f64 = count.parse().map_err(|_| format!("`{text}` is not a rate; {HINT}"))?;
    Rate::new(count * factor / per)
        .map_err(|_| format!("`{text}` is not above 0 and at most {} a second; {HINT}", Rate::MAX))
}

macro_rules! deserialize_quantity {
    ($type:ty, $parse:path, $new:path, $expecting:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct QuantityVisitor;
                impl Visitor<'_> for QuantityVisitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_f64<E: Error>(self, value: f64) -> Result<$type, E> {
                        $new(value).map_err(|_| {
                            E::invalid_value(Unexpected::Other(&float_in_words(value)), &self)
                        })
                    }

                    fn visit_i64<E: Error>(self, value: i64) -> Result<$type, E> {
                        $new(value as f64)
                            .map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
                    }

                    fn visit_u64<E: Error>(self, value: u64) -> Result<$type, E> {
                        $new(value as f64)
                            .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
                    }

                    fn visit_str<E: Error>(self, value: &str) -> Result<$type, E> {
                        $parse(value).map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(QuantityVisitor)
            }
        }
    };
}

deserialize_quantity!(
    Rate,
    parse_rate,
    Rate::new,
    "a rate above 0 and at most 10000000 per second, such as 80 or \"80/s\""
);
deserialize_quantity!(
    Ratio,
    parse_ratio,
    Ratio::new,
    "a ratio from 0 to 1, such as 0.4 or \"40%\""
);

/// Reads and writes a [`Duration`] as text, for `#[serde(with = "goodput_clock::text::duration")]`.
pub mod duration {
    use super::{Duration, Error, Visitor, fmt, format_duration, parse_duration};
    use serde::{Deserializer, Serializer};

    /// Reads text such as `"5s"`.
    ///
    /// # Errors
    ///
    /// As [`parse_duration`]; a bare number is refused since it has no unit.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        deserializer.deserialize_any(DurationVisitor)
    }

    /// Writes text that [`deserialize`] reads.
    ///
    /// # Errors
    ///
    /// As the serializer's.
    pub fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_duration(*value))
    }

    struct DurationVisitor;

    impl Visitor<'_> for DurationVisitor {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a duration with its unit, such as \"5s\", \"1m 30s\" or \"200ms\"")
        }

        fn visit_str<E: Error>(self, value: &str) -> Result<Duration, E> {
            parse_duration(value).map_err(E::custom)
        }
    }
}

/// The same for an optional duration: absent where the key is absent.
pub mod optional_duration {
    use super::{Duration, duration};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize, Serialize)]
    struct Wrapped(#[serde(with = "duration")] Duration);

    /// Reads text such as `"5s"`, or null.
    ///
    /// # Errors
    ///
    /// As [`duration::deserialize`].
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Wrapped>::deserialize(deserializer)?.map(|wrapped| wrapped.0))
    }

    /// Writes text that [`deserialize`] reads, or null.
    ///
    /// # Errors
    ///
    /// As the serializer's.
    pub fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.map(Wrapped).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_write_them() {
        for (text, millis) in
            [("5s", 5_000), ("1m 30s", 90_000), ("1m30s", 90_000), ("1.5s", 1_500), ("200ms", 200)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "5", "-5s", "5 parsecs", "1e3s", "NaNs", "infs", "99999999y", "s", "1..2s"]
        {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for duration in [Duration::ZERO, Duration::from_millis(1_500), Duration::from_secs(86_399)]
        {
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }

    #[test]
    fn ratios_and_rates_keep_their_ranges() {
        assert_eq!(parse_ratio("40%").unwrap().get().to_bits(), 0.4_f64.to_bits());
        assert_eq!(parse_rate("30k/m").unwrap().per_second().to_bits(), 500.0_f64.to_bits());
        for text in ["-0.1", "101%", "NaN", "much"] {
            assert!(parse_ratio(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "inf", "1e9", "5/parsec"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_huge_number_does_not_push_the_rule_out_of_the_message() {
        use serde::de::IntoDeserializer;
        use serde::de::value::{Error, F64Deserializer};
        let huge: F64Deserializer<Error> = 1e308.into_deserializer();
        let message = type_in_words(&Rate::deserialize(huge).unwrap_err().to_string());
        assert!(message.starts_with("floating point `1e308` is not a rate above 0"), "{message}");
    }
}
