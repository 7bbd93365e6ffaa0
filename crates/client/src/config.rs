//! What a client is made of, and where it sends.

use std::net::{SocketAddr, ToSocketAddrs};

use goodput_clock::{Rate, Seed};
use goodput_policy::pool::PoolOrder;
use goodput_policy::retry::LayerConfig;
use http::Uri;
use http::uri::{Authority, PathAndQuery};

/// Which protocol a client speaks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time on a connection.
    #[default]
    Http1,
    /// HTTP/2 with prior knowledge.
    Http2 {
        /// The most requests at a time on a connection; the server may allow fewer.
        streams: u32,
    },
}

impl Protocol {
    /// HTTP/2 with the number of streams that servers commonly allow.
    pub const HTTP2: Self = Self::Http2 { streams: 100 };

    /// The most requests at a time on a connection.
    pub(crate) const fn streams(self) -> u32 {
        match self {
            Self::Http1 => 1,
            Self::Http2 { streams } => streams,
        }
    }
}

/// What a client is made of. Durations and rates are scenario time.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Where requests go.
    pub target: Target,
    /// The protocol.
    pub protocol: Protocol,
    /// Independent instances, each with its own pool and budgets; at least 1.
    pub clients: u32,
    /// The retry layers, outermost first; the innermost has a time-out.
    pub layers: Vec<LayerConfig>,
    /// In what order idle connections are reused.
    pub pool: PoolOrder,
    /// The most open connections of all instances together; at least 1.
    pub max_connections: u32,
    /// The most new connections per second of all instances together. A second's worth may come at
    /// once.
    pub connect_rate: Rate,
    /// Where the jitter of backoffs comes from.
    pub seed: Seed,
    /// Up to how many bytes of a body an answer is handed back; without it, answers are read and
    /// dropped. A longer body is a failure of the class `error`.
    pub keep_answers: Option<usize>,
}

/// A server's address, from a URL such as `http://127.0.0.1:8080`.
#[derive(Clone, Debug)]
pub struct Target {
    address: SocketAddr,
    authority: Authority,
    prefix: String,
}

/// A target that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It is not a URL of the right kind.
    #[error("target `{url}` {why}, expected a URL such as `http://127.0.0.1:8080`")]
    Malformed {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Its host has no address.
    #[error("target `{url}`: host `{host}` has no address: {source}")]
    Unresolved {
        /// What was given.
        url: String,
        /// The host.
        host: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Target {
    /// Reads a URL and resolves its host, once; a path in it goes before the path of each request.
    ///
    /// # Errors
    ///
    /// Where it is not an `http` URL or its host has no address.
    pub fn resolve(url: &str) -> Result<Self, TargetError> {
        let malformed = |why| TargetError::Malformed { url: url.to_owned(), why };
        let uri: Uri = url.parse().map_err(|_| malformed("is not a URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(malformed("asks for TLS, which is not supported")),
            Some(_) => return Err(malformed("has another scheme than `http`")),
            None => return Err(malformed("has no scheme")),
        }
        let authority = uri.authority().ok_or_else(|| malformed("has no host"))?.clone();
        if authority.as_str().contains('@') {
            return Err(malformed("has a user name"));
        }
        if uri.query().is_some() {
            return Err(malformed("has a query"));
        }
        let host = authority.host().trim_matches(['[', ']']);
        let unresolved =
            |source| TargetError::Unresolved { url: url.to_owned(), host: host.to_owned(), source };
        let port =
            port(&authority).ok_or_else(|| malformed("has a port that is not from 1 to 65535"))?;
        let address = (host, port).to_socket_addrs().map_err(unresolved)?.next();
        let address = address.ok_or_else(|| {
            unresolved(std::io::Error::new(std::io::ErrorKind::NotFound, "no address found"))
        })?;
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { address, authority, prefix })
    }

    /// The address that connections go to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Host and port as in the URL.
    pub const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// `path`, after the URL's own path.
    ///
    /// # Errors
    ///
    /// Where the path is not one that can be asked for.
    pub fn path(&self, path: &str) -> Result<PathAndQuery, http::uri::InvalidUri> {
        if self.prefix.is_empty() {
            PathAndQuery::try_from(path)
        } else {
            PathAndQuery::try_from(format!("{}{path}", self.prefix))
        }
    }
}

impl From<SocketAddr> for Target {
    fn from(address: SocketAddr) -> Self {
        let authority = Authority::try_from(address.to_string());
        Self {
            address,
            // An address is always an authority, but for a scope of IPv6.
            authority: authority.unwrap_or_else(|_| Authority::from_static("localhost")),
            prefix: String::new(),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "http://{}{}", self.authority, self.prefix)
    }
}

/// The port of an authority, 80 where it names none; none where what it names is no port.
fn port(authority: &Authority) -> Option<u16> {
    let after_host = match authority.as_str().rsplit_once(']') {
        Some((_, rest)) => rest,
        None => authority.as_str(),
    };
    match after_host.rsplit_once(':') {
        None => Some(80),
        Some((_, written)) => written.parse().ok().filter(|port| *port > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_address_host_and_prefix() {
        let target = Target::resolve("http://127.0.0.1:8080/shop/").unwrap();
        assert_eq!(target.address(), "127.0.0.1:8080".parse().unwrap());
        assert_eq!(target.path("/orders/7?x=1").unwrap(), "/shop/orders/7?x=1");
        assert_eq!(target.to_string(), "http://127.0.0.1:8080/shop");
        assert_eq!(Target::resolve("http://[::1]:9").unwrap().address().port(), 9);
        assert_eq!(Target::resolve("http://127.0.0.1").unwrap().address().port(), 80);
    }

    #[test]
    fn a_target_that_cannot_be_used_is_refused_with_an_example() {
        for url in ["", "127.0.0.1:80", "https://127.0.0.1", "ftp://x", "http://a@b", "http://x/?q"]
        {
            let error = Target::resolve(url).unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:8080"), "{error}");
        }
        assert!(Target::resolve("http://no-such-host.invalid:1").is_err());
    }

    #[test]
    fn a_port_out_of_range_is_refused_and_no_other_is_taken_for_it() {
        for url in
            ["http://127.0.0.1:99999", "http://127.0.0.1:0", "http://[::1]:x", "http://127.0.0.1:"]
        {
            assert!(Target::resolve(url).is_err(), "{url}");
        }
        assert_eq!(Target::resolve("http://127.0.0.1").unwrap().address().port(), 80);
        assert_eq!(Target::resolve("http://[::1]:8080").unwrap().address().port(), 8080);
    }
}
