//! How figures are written for people: one rule a kind of quantity, for text and HTML alike.

/// A count or a rate, to three significant digits, with thousands separated: `0`, `0.25`, `79.9`,
/// `12,500`; a dash where it is not a number.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size < 0.005 {
        "0".to_owned()
    } else if size < 9.995 {
        trimmed(&format!("{value:.2}"))
    } else if size < 99.95 {
        trimmed(&format!("{value:.1}"))
    } else {
        thousands(value)
    }
}

/// A whole number with its thousands separated.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if value < 0.0 && digits != "0" {
        out.push('−');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A ratio as a percentage: `0.6 %`, `98 %`.
pub(crate) fn percent(ratio: f64) -> String {
    if !ratio.is_finite() {
        return "–".to_owned();
    }
    let value = ratio * 100.0;
    let text = if value.abs() < 9.95 { trimmed(&format!("{value:.1}")) } else { thousands(value) };
    format!("{text} %")
}

/// A duration in its natural unit: `350 µs`, `12 ms`, `5 s`, `90 s`, `20 min`.
pub(crate) fn seconds(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let size = value.abs();
    if size < 5e-7 {
        "0 s".to_owned()
    } else if size < 9.995e-4 {
        format!("{} µs", number(value * 1e6))
    } else if size < 0.9995 {
        format!("{} ms", number(value * 1e3))
    } else if size < 600.0 {
        format!("{} s", number(value))
    } else {
        format!("{} min", number(value / 60.0))
    }
}

/// A moment of a run: `0 s`, `80 s`, `20 min`.
pub(crate) fn moment(value: f64) -> String {
    if value.abs() < 600.0 { format!("{} s", number(value)) } else { seconds(value) }
}

/// A figure in the unit that its evidence names.
pub(crate) fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "s" => seconds(value),
        "ratio" => percent(value),
        "/s" => format!("{}/s", number(value)),
        "" => number(value),
        _ => format!("{} {unit}", number(value)),
    }
}

/// A size in bytes: `512 B`, `3.2 MB`.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if value < 1000 {
        return format!("{value} B");
    }
    let mut size = value as f64;
    let mut unit = "B";
    for next in UNITS {
        if size < 999.5 {
            break;
        }
        size /= 1000.0;
        unit = next;
    }
    format!("{} {unit}", number(size))
}

fn trimmed(text: &str) -> String {
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_significant_digits() {
        let written = [0.0, 0.001, 0.25, 3.0, 3.994, 9.996, 79.94, 99.96, 12_500.4, f64::NAN];
        let expected = ["0", "0", "0.25", "3", "3.99", "10", "79.9", "100", "12,500", "–"];
        assert_eq!(written.map(number), expected);
        assert_eq!(number(-1.5), "−1.5");
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }

    #[test]
    fn durations_take_their_natural_unit() {
        let written = [0.0, 0.000_35, 0.0005, 0.012, 0.9996, 5.0, 60.0, 599.0, 1200.0];
        let expected =
            ["0 s", "350 µs", "500 µs", "12 ms", "1 s", "5 s", "60 s", "599 s", "20 min"];
        assert_eq!(written.map(seconds), expected);
    }

    #[test]
    fn shares_and_sizes_are_short() {
        assert_eq!([0.0, 0.006, 0.5, 1.0].map(percent), ["0 %", "0.6 %", "50 %", "100 %"]);
        assert_eq!([12, 3_200_000, 999_900].map(bytes), ["12 B", "3.2 MB", "1 MB"]);
    }
}
