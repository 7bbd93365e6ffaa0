use std::time::Duration;

use http::StatusCode;
use reqwest::Url;

/// Why a command got no answer, or not the one hoped for.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is none.
    #[error("`{0}` is no address of a control plane; such as 127.0.0.1:9901 or http://host:9901")]
    Address(String),
    /// Nobody listens there.
    #[error("nobody listens for control at {0}; is the process running?")]
    Refused(Url),
    /// No answer came in time. Whether the command was carried out is not known.
    #[error("control at {url} did not answer within {} ms", .after.as_millis())]
    TimedOut {
        /// The control plane.
        url: Url,
        /// How long it had.
        after: Duration,
    },
    /// The process answered with an error.
    #[error("control at {url} says {}: {message}", .status.as_u16())]
    Status {
        /// The control plane.
        url: Url,
        /// The status.
        status: StatusCode,
        /// The process's own message.
        message: String,
    },
    /// The answer is none of a control plane's.
    #[error("what answers at {url} is no control plane of goodput: {problem}")]
    Garbage {
        /// Where.
        url: Url,
        /// What is wrong.
        problem: String,
    },
    /// The connection failed otherwise.
    #[error("cannot reach control at {url}: {problem}")]
    Unreachable {
        /// Where.
        url: Url,
        /// What is wrong.
        problem: String,
    },
}

impl ClientError {
    /// The status, where the process answered with one.
    pub const fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::Address(_)
            | Self::Refused(_)
            | Self::TimedOut { .. }
            | Self::Garbage { .. }
            | Self::Unreachable { .. } => None,
        }
    }
}
