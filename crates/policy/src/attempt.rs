//! What can become of one attempt, and which failures a layer retries.
//!
//! One rule says what an answer is worth, for the load, for a gateway and for what a gateway counts:
//! [`AttemptResult::of_status`]. A success is 2xx and nothing else, so a redirect is an error to all of
//! them.

use serde::{Deserialize, Serialize};

/// Why an attempt failed.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureClass {
    /// No answer within the attempt's time-out.
    Timeout,
    /// The connection could not be made, or broke before the answer was whole.
    Connect,
    /// The server refused the attempt, since it has too much to do (503) or its caller asks too much
    /// (429).
    Overloaded,
    /// The server dropped the attempt, which could not have met its deadline (504).
    Expired,
    /// Any other answer that is not a success.
    Error,
}

impl FailureClass {
    /// All classes, in the order of their declaration.
    pub const ALL: [Self; 5] =
        [Self::Timeout, Self::Connect, Self::Overloaded, Self::Expired, Self::Error];

    /// The name in files and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Connect => "connect",
            Self::Overloaded => "overloaded",
            Self::Expired => "expired",
            Self::Error => "error",
        }
    }

    /// What the caller of a gateway sees where the gateway's own call failed so. It cannot tell work
    /// that was dropped from work that came too late: either way there was no answer in time.
    #[must_use]
    pub const fn through_a_gateway(self) -> Self {
        match self {
            Self::Timeout | Self::Expired => Self::Expired,
            Self::Connect | Self::Overloaded | Self::Error => self,
        }
    }
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AttemptResult {
    /// Answered successfully inside its time-out.
    Success,
    /// Not answered, or not with a success.
    Failure(FailureClass),
}

impl AttemptResult {
    /// What an answer tells by its HTTP status, and by the reason in its
    /// [`REFUSAL_REASON`](crate::deadline::REFUSAL_REASON), where it gives one.
    pub fn of_status(status: u16, reason: Option<&str>) -> Self {
        match status {
            200..300 => Self::Success,
            502 => Self::Failure(match Transport::at_upstream(reason) {
                Some(transport) => transport.class(),
                None => FailureClass::Error,
            }),
            429 | 503 => Self::Failure(FailureClass::Overloaded),
            504 => Self::Failure(FailureClass::Expired),
            _ => Self::Failure(FailureClass::Error),
        }
    }
}

/// What an attempt was answered with, as its caller can name it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reply {
    /// An answer of this HTTP status.
    Status(u16),
    /// The answer (502) of a gateway whose upstream gave it none that made sense; what came in its
    /// place.
    Upstream(Transport),
    /// No answer.
    None(Transport),
}

impl Reply {
    /// What an answer of this HTTP status and with this reason is.
    pub fn of_answer(status: u16, reason: Option<&str>) -> Self {
        match Transport::at_upstream(reason) {
            Some(transport) if status == 502 => Self::Upstream(transport),
            _ => Self::Status(status),
        }
    }

    /// What the caller of a gateway is answered where the gateway's last attempt failed so: an answer
    /// is passed on; where none came in time it is 504, and where none came at all 502.
    #[must_use]
    pub const fn through_a_gateway(self) -> Self {
        match self {
            Self::Status(_) | Self::Upstream(_) => self,
            Self::None(Transport::Timeout) => Self::Status(504),
            Self::None(transport) => Self::Upstream(transport),
        }
    }

    /// What an engine without sockets has in the place of an answer: the status or the error that
    /// stands for this result.
    pub const fn of(result: AttemptResult) -> Self {
        match result {
            AttemptResult::Success => Self::Status(200),
            AttemptResult::Failure(class) => match class {
                FailureClass::Timeout => Self::None(Transport::Timeout),
                FailureClass::Connect => Self::None(Transport::Reset),
                FailureClass::Overloaded => Self::Status(503),
                FailureClass::Expired => Self::Status(504),
                FailureClass::Error => Self::Status(500),
            },
        }
    }
}

/// Why an attempt got no answer.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Transport {
    /// None came within the attempt's time-out.
    Timeout,
    /// Nobody listens where the attempt was to go.
    Refused,
    /// The host or its network cannot be reached.
    Unreachable,
    /// The peer reset the connection.
    Reset,
    /// The connection was closed before the answer was whole.
    Closed,
    /// What came is no HTTP.
    Malformed,
    /// The answer was larger than the caller may keep.
    TooLarge,
    /// This process's own limits, such as on open files or ports, allowed no connection.
    OwnLimit,
}

impl Transport {
    /// All of them, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Timeout,
        Self::Refused,
        Self::Unreachable,
        Self::Reset,
        Self::Closed,
        Self::Malformed,
        Self::TooLarge,
        Self::OwnLimit,
    ];

    /// The name in files and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::Reset => "reset",
            Self::Closed => "closed",
            Self::Malformed => "malformed",
            Self::TooLarge => "too-large",
            Self::OwnLimit => "own-limit",
        }
    }

    /// The name where it happened to a gateway on the way to its upstream: the status that the gateway
    /// answers with, and its reason.
    pub const fn name_at_upstream(self) -> &'static str {
        match self {
            Self::Timeout => "504 upstream-timeout",
            Self::Refused => "502 upstream-refused",
            Self::Unreachable => "502 upstream-unreachable",
            Self::Reset => "502 upstream-reset",
            Self::Closed => "502 upstream-closed",
            Self::Malformed => "502 upstream-malformed",
            Self::TooLarge => "502 upstream-too-large",
            Self::OwnLimit => "502 upstream-own-limit",
        }
    }

    /// The reason that a gateway gives for it in
    /// [`REFUSAL_REASON`](crate::deadline::REFUSAL_REASON).
    pub fn upstream_reason(self) -> &'static str {
        let name = self.name_at_upstream();
        name.split_once(' ').map_or(name, |(_, reason)| reason)
    }

    /// What a reason of a gateway says of its upstream; none where it is no such reason.
    fn at_upstream(reason: Option<&str>) -> Option<Self> {
        let reason = reason?;
        Self::ALL.into_iter().find(|transport| transport.upstream_reason() == reason)
    }

    /// The class that layers are told.
    pub const fn class(self) -> FailureClass {
        match self {
            Self::Timeout => FailureClass::Timeout,
            Self::Refused | Self::Unreachable | Self::Reset | Self::Closed | Self::OwnLimit => {
                FailureClass::Connect
            }
            Self::Malformed | Self::TooLarge => FailureClass::Error,
        }
    }
}

/// The set of failure classes that a layer retries.
///
/// By default `timeout`, `connect`, `overloaded` and `expired`, so that no defence of a server wins
/// by the silence of its clients.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
#[serde(from = "Vec<FailureClass>", into = "Vec<FailureClass>")]
pub struct RetryOn([bool; FailureClass::ALL.len()]);

impl RetryOn {
    /// Whether failures of this class are retried.
    pub const fn contains(self, class: FailureClass) -> bool {
        self.0[class as usize]
    }
}

impl Default for RetryOn {
    fn default() -> Self {
        FailureClass::ALL.into_iter().filter(|class| *class != FailureClass::Error).collect()
    }
}

impl FromIterator<FailureClass> for RetryOn {
    fn from_iter<I: IntoIterator<Item = FailureClass>>(classes: I) -> Self {
        let mut set = Self([false; FailureClass::ALL.len()]);
        for class in classes {
            set.0[class as usize] = true;
        }
        set
    }
}

impl From<Vec<FailureClass>> for RetryOn {
    fn from(classes: Vec<FailureClass>) -> Self {
        classes.into_iter().collect()
    }
}

impl From<RetryOn> for Vec<FailureClass> {
    fn from(set: RetryOn) -> Self {
        FailureClass::ALL.into_iter().filter(|class| set.contains(*class)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_and_its_reason_tell_the_class() {
        let failed = |class| AttemptResult::Failure(class);
        for (status, reason, result) in [
            (200, None, AttemptResult::Success),
            (299, Some("x"), AttemptResult::Success),
            (301, None, failed(FailureClass::Error)),
            (404, None, failed(FailureClass::Error)),
            (502, None, failed(FailureClass::Error)),
            (401, None, failed(FailureClass::Error)),
            (429, None, failed(FailureClass::Overloaded)),
            (502, Some("upstream-malformed"), failed(FailureClass::Error)),
            (502, Some("upstream-too-large"), failed(FailureClass::Error)),
            (502, Some("upstream-refused"), failed(FailureClass::Connect)),
            (502, Some("upstream-closed"), failed(FailureClass::Connect)),
            (502, Some("something-else"), failed(FailureClass::Error)),
            (503, Some("upstream-refused"), failed(FailureClass::Overloaded)),
            (503, None, failed(FailureClass::Overloaded)),
            (504, None, failed(FailureClass::Expired)),
        ] {
            assert_eq!(AttemptResult::of_status(status, reason), result, "{status} {reason:?}");
        }
    }

    #[test]
    fn what_happened_at_an_upstream_is_told_apart_through_any_number_of_gateways() {
        for transport in Transport::ALL {
            let told = Reply::None(transport).through_a_gateway();
            assert_eq!(told.through_a_gateway(), told, "{transport:?}");
            if transport == Transport::Timeout {
                assert_eq!(told, Reply::Status(504));
                continue;
            }
            let reason = transport.upstream_reason();
            assert_eq!(reason, format!("upstream-{}", transport.name()));
            assert_eq!(Reply::of_answer(502, Some(reason)), told);
            let class = AttemptResult::of_status(502, Some(reason));
            assert_eq!(class, AttemptResult::Failure(transport.class()));
        }
        assert_eq!(Reply::of_answer(502, None), Reply::Status(502));
        assert_eq!(Reply::of_answer(503, Some("upstream-refused")), Reply::Status(503));
        assert_eq!(Reply::Status(404).through_a_gateway(), Reply::Status(404));
    }
}
