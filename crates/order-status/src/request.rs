//! What a caller says about itself in headers.

use std::borrow::Cow;
use std::time::Duration;

use goodput_client::WallClock;
use goodput_clock::Timestamp;
use goodput_policy::deadline::{
    ATTEMPT_COUNT, ENVOY_TIMEOUT, GRPC_TIMEOUT, HeaderError, parse_attempt_count, parse_remaining,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// A caller's deadline and the number of its attempt.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Caller {
    /// How long an answer is of use, in wall time; none where it is for ever.
    pub(crate) remaining: Option<Duration>,
    /// The number of the attempt, from 1; none where the caller does not count.
    pub(crate) attempt: Option<u32>,
}

impl Caller {
    /// Reads the headers; where both deadlines are there, the shorter holds.
    ///
    /// # Errors
    ///
    /// Where one of them is there and cannot be read, or stands more than once: none is a list.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, HeaderError> {
        let (grpc, envoy) = (text(headers, &GRPC), text(headers, &ENVOY));
        let attempt = text(headers, &ATTEMPT);
        Ok(Self {
            remaining: parse_remaining(grpc.as_deref(), envoy.as_deref())?,
            attempt: attempt.map(|attempt| parse_attempt_count(&attempt)).transpose()?,
        })
    }

    /// The deadline of a request that arrives now; [`Timestamp::MAX`] for none.
    pub(crate) fn deadline(self, clock: &WallClock) -> Timestamp {
        self.remaining
            .map_or(Timestamp::MAX, |remaining| clock.now() + clock.scale().to_scenario(remaining))
    }

    /// Whether this attempt is known to be a retry.
    pub(crate) fn is_retry(self) -> bool {
        self.attempt.is_some_and(|attempt| attempt > 1)
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Cow<'a, str>> {
    let mut values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
    let first = String::from_utf8_lossy(values.next()?);
    // Several lines are one value with commas (RFC 9110, section 5.3), which no reader takes.
    Some(values.fold(first, |all, next| all + ", " + String::from_utf8_lossy(next)))
}

// Names that are not parsed anew for each request.
static GRPC: HeaderName = HeaderName::from_static(GRPC_TIMEOUT);
static ENVOY: HeaderName = HeaderName::from_static(ENVOY_TIMEOUT);
static ATTEMPT: HeaderName = HeaderName::from_static(ATTEMPT_COUNT);

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &'static str, value: &str) -> Result<Caller, HeaderError> {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        Caller::read(&headers)
    }

    #[test]
    fn attempts_count_from_one() {
        assert_eq!(Caller::read(&HeaderMap::new()).unwrap(), Caller::default());
        assert!(!caller(ATTEMPT_COUNT, "1").unwrap().is_retry());
        assert!(caller(ATTEMPT_COUNT, "2").unwrap().is_retry());
        assert_eq!(caller(ATTEMPT_COUNT, "0").unwrap_err().header, ATTEMPT_COUNT);
    }

    #[test]
    fn a_deadline_that_cannot_be_read_is_refused_even_where_the_other_can() {
        let mut headers = HeaderMap::new();
        headers.insert(GRPC_TIMEOUT, "100m".parse().unwrap());
        headers.insert(ENVOY_TIMEOUT, "soon".parse().unwrap());
        assert_eq!(Caller::read(&headers).unwrap_err().header, ENVOY_TIMEOUT);
    }

    #[test]
    fn a_header_that_stands_twice_is_refused() {
        for (name, value) in [(ATTEMPT_COUNT, "2"), (GRPC_TIMEOUT, "1S"), (ENVOY_TIMEOUT, "5")] {
            let mut headers = HeaderMap::new();
            headers.append(name, value.parse().unwrap());
            assert!(Caller::read(&headers).is_ok());
            headers.append(name, value.parse().unwrap());
            assert_eq!(Caller::read(&headers).unwrap_err().header, name);
        }
    }

    #[test]
    fn the_shorter_deadline_holds() {
        let mut headers = HeaderMap::new();
        headers.insert(ENVOY_TIMEOUT, "250".parse().unwrap());
        let remaining = |headers: &HeaderMap| Caller::read(headers).unwrap().remaining;
        assert_eq!(remaining(&headers), Some(Duration::from_millis(250)));
        headers.insert(GRPC_TIMEOUT, "1500u".parse().unwrap());
        assert_eq!(remaining(&headers), Some(Duration::from_micros(1_500)));
    }
}
