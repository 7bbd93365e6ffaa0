use std::fmt;
use std::hint::black_box;

/// A bearer token. It is never shown by `Debug` and compared in constant time.
#[derive(Clone)]
pub struct Token(String);

/// A text that cannot be a token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "a control token has 16 to 512 visible ASCII characters and no spaces; \
     `head -c 24 /dev/urandom | base64` makes one"
)]
pub struct TokenError;

impl Token {
    /// The token `text`, without white space around it.
    ///
    /// # Errors
    ///
    /// Where it is shorter than 16 characters, longer than 512, or not visible ASCII.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (16..=512).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(TokenError)
        }
    }

    /// Whether `presented` is this token. How long that takes tells only the length.
    pub fn matches(&self, presented: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let mut difference = u8::from(own.len() != presented.len());
        for (index, byte) in own.iter().enumerate() {
            difference |= byte ^ presented.get(index).copied().unwrap_or(0);
        }
        black_box(difference) == 0
    }

    /// The text, for the header of a client.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_matches() {
        let token = Token::new("0123456789abcdef\n").unwrap();
        assert!(token.matches(b"0123456789abcdef"));
        for other in ["", "0", "0123456789abcdeg", "0123456789abcdef0", "1123456789abcdef"] {
            assert!(!token.matches(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_weak_token_is_refused_and_a_token_is_not_shown() {
        for weak in ["", "secret", "0123456789 abcdef", "0123456789abcdé-", &"x".repeat(513)] {
            assert_eq!(Token::new(weak).err(), Some(TokenError), "{weak}");
        }
        let shown = format!("{:?}", Token::new("0123456789abcdef").unwrap());
        assert!(!shown.contains("0123"), "{shown}");
    }
}
