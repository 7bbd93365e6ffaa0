//! How urgent a request is, by the `Priority` header.
//!
//! Its value is a structured-field dictionary, of which `u` is the urgency: 0 is the most urgent, 7 the
//! least. What cannot be read is ignored, never refused: a value of another type or out of range
//! counts as absent, and so does the whole header where any part of it is malformed.
//!
//! # Source
//!
//! RFC 9218, section 4 (unknown, out-of-range and unexpected values are ignored); RFC 8941, section
//! 4.2 (a field that fails to parse is ignored as a whole, the last of two equal keys holds).

/// The header's name.
pub const PRIORITY: &str = "priority";

/// An urgency from 0, the most urgent, to 7. Default 3.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Urgency(u8);

impl Urgency {
    /// The urgency `value`; none above 7.
    pub const fn new(value: u8) -> Option<Self> {
        if value <= 7 { Some(Self(value)) } else { None }
    }

    /// The number, 0 to 7.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Reads a `Priority` value such as `u=1, i`; several header lines are joined by commas first.
    ///
    /// ```
    /// use goodput_policy::priority::Urgency;
    ///
    /// assert_eq!(Urgency::parse("u=1, i").get(), 1);
    /// assert_eq!(Urgency::parse("u=9"), Urgency::default());
    /// ```
    pub fn parse(value: &str) -> Self {
        match Fields(value.trim_matches(' ').as_bytes()).urgency() {
            Some(Item::Integer(value)) => u8::try_from(value).ok().and_then(Self::new),
            Some(Item::Other) | None => None,
        }
        .unwrap_or_default()
    }

    /// The value of the header, such as `u=3`.
    pub fn header_value(self) -> String {
        format!("u={}", self.0)
    }
}

impl Default for Urgency {
    fn default() -> Self {
        Self(3)
    }
}

/// What is left to read of a dictionary. Each method takes its part off the front, or is none where
/// that part is malformed.
struct Fields<'a>(&'a [u8]);

/// An item, as far as it matters here.
enum Item {
    Integer(i64),
    Other,
}

impl Fields<'_> {
    /// Reads the whole dictionary and gives the last value of `u`.
    fn urgency(&mut self) -> Option<Item> {
        let mut urgency = Item::Other;
        if self.0.is_empty() {
            return Some(urgency);
        }
        loop {
            let is_urgency = self.key()? == b"u";
            let item = if self.eat(b'=') { self.item_or_list()? } else { Item::Other };
            self.parameters()?;
            if is_urgency {
                urgency = item;
            }
            self.skip(|byte| matches!(byte, b' ' | b'\t'));
            if self.0.is_empty() {
                return Some(urgency);
            }
            self.expect(b',')?;
            self.skip(|byte| matches!(byte, b' ' | b'\t'));
        }
    }

    fn key(&mut self) -> Option<&[u8]> {
        if !matches!(self.0.first()?, b'a'..=b'z' | b'*') {
            return None;
        }
        Some(
            self.skip(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*')),
        )
    }

    fn parameters(&mut self) -> Option<()> {
        while self.eat(b';') {
            self.skip(|byte| byte == b' ');
            self.key()?;
            if self.eat(b'=') {
                self.item()?;
            }
        }
        Some(())
    }

    fn item_or_list(&mut self) -> Option<Item> {
        if !self.eat(b'(') {
            return self.item();
        }
        loop {
            self.skip(|byte| byte == b' ');
            if self.eat(b')') {
                return Some(Item::Other);
            }
            self.item()?;
            self.parameters()?;
            if !matches!(self.0.first()?, b' ' | b')') {
                return None;
            }
        }
    }

    fn item(&mut self) -> Option<Item> {
        match self.0.first()? {
            b'-' | b'0'..=b'9' => return self.number(),
            b'"' => self.string()?,
            b'?' => {
                self.expect(b'?')?;
                if !self.eat(b'0') {
                    self.expect(b'1')?;
                }
            }
            b':' => {
                self.expect(b':')?;
                self.skip(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
                self.expect(b':')?;
            }
            byte if byte.is_ascii_alphabetic() || *byte == b'*' => {
                self.skip(|byte| byte.is_ascii_alphanumeric() || TOKEN.contains(&byte));
            }
            _ => return None,
        }
        Some(Item::Other)
    }

    /// An integer of at most 15 digits, or a decimal of at most 12 before and 3 after the point.
    fn number(&mut self) -> Option<Item> {
        let sign = if self.eat(b'-') { -1 } else { 1 };
        let whole = self.skip(|byte| byte.is_ascii_digit());
        let (digits, value) = (whole.len(), std::str::from_utf8(whole).ok()?);
        let integer = value.parse::<i64>().ok().filter(|_| digits <= 15)?;
        if !self.eat(b'.') {
            return Some(Item::Integer(sign * integer));
        }
        let fraction = self.skip(|byte| byte.is_ascii_digit()).len();
        (digits <= 12 && (1..=3).contains(&fraction)).then_some(Item::Other)
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' if !matches!(self.next()?, b'"' | b'\\') => return None,
                0x20..=0x7e => {}
                _ => return None,
            }
        }
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        self.0 = &self.0[usize::from(found)..];
        found
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    /// Takes the longest front of which every byte fits.
    fn skip(&mut self, fits: impl Fn(u8) -> bool) -> &[u8] {
        let end = self.0.iter().position(|byte| !fits(*byte)).unwrap_or(self.0.len());
        let (front, rest) = self.0.split_at(end);
        self.0 = rest;
        front
    }
}

/// What a token may hold besides letters and digits.
const TOKEN: &[u8] = b"!#$%&'*+-.^_`|~:/";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn urgency_is_read_among_other_members() {
        for (value, urgency) in [
            ("u=0", 0),
            ("i, u=5", 5),
            ("  u=7;x=\"a,b\" ,\ti=?0", 7),
            ("a=(1 \"u=1\" :YQ==:);p, u=2", 2),
            ("u=1, u=6", 6),
            ("b=1.5, c=tok/en, u=4", 4),
        ] {
            assert_eq!(Urgency::parse(value).get(), urgency, "{value}");
        }
    }

    #[test]
    fn what_is_out_of_range_or_malformed_counts_as_absent() {
        for value in [
            "",
            "i",
            "u",
            "u=8",
            "u=-1",
            "u=1.0",
            "u=?1",
            "u=\"1\"",
            "u=(1)",
            "u=1, u=9",
            "U=1",
            "u=1,",
            "u=1 i",
            "u= 1",
            "u=1, =",
            "u=1, a=\"",
            "u=1, a=(1",
            "u=1;",
            "u=1, a=:é:",
            "u=1, a=1234567890123456",
            "u=0000000000000001",
            "u=1, a=1.",
            "u=1,,i",
        ] {
            assert_eq!(Urgency::parse(value), Urgency::default(), "{value}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100_000))]

        #[test]
        fn no_header_makes_the_parser_panic(value in ".{0,32}") {
            prop_assert!(Urgency::parse(&value).get() <= 7);
        }

        #[test]
        fn near_dictionaries_do_not_either(value in "[ui=,; ()?0-9\"\\\\:.a*\\-]{0,32}") {
            prop_assert!(Urgency::parse(&value).get() <= 7);
        }

        #[test]
        fn what_is_written_reads_back(urgency in 0_u8..8, other in "[a-t][a-z0-9_]{0,8}(=[0-9]{1,9})?") {
            let value = format!("{other}, {}", Urgency::new(urgency).unwrap().header_value());
            prop_assert_eq!(Urgency::parse(&value).get(), urgency);
        }
    }
}
