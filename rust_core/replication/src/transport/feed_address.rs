//! Addresses of a feed.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

use foreseal_primitives::is_loopback;

/// Address at which a sequencer serves its feed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FeedAddress {
    /// `unix:PATH`, or a path alone: a socket on this machine.
    Unix(PathBuf),
    /// `tcp://HOST:PORT`: unencrypted, within this machine only.
    Tcp { host: String, port: u16 },
    /// `tls://HOST:PORT`.
    Tls { host: String, port: u16 },
}

/// Text that is not an address of a feed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFeedAddress {
    #[error("the address of a feed is empty: use tls://HOST:PORT or the path of a Unix socket")]
    Empty,
    #[error("feed address {address:?} has the unknown scheme {scheme:?}: use tls://, tcp:// or unix:")]
    Scheme { address: String, scheme: String },
    #[error("feed address {address:?} has no scheme: use tls://{address}")]
    NoScheme { address: String },
    #[error("feed address {address:?} must have the form {scheme}://HOST:PORT")]
    Form { address: String, scheme: &'static str },
    #[error("feed address {address:?} is not encrypted and not a loopback address: use tls://")]
    NotLoopback { address: String },
}

const TLS: &str = "tls";
const TCP: &str = "tcp";

impl FeedAddress {
    /// Parses `tls://HOST:PORT`, `tcp://HOST:PORT`, `unix:PATH` or a path. IPv6 addresses have brackets.
    pub fn parse(text: &str) -> Result<Self, InvalidFeedAddress> {
        let address = || text.to_owned();
        if let Some((scheme, rest)) = text.split_once("://") {
            return match scheme {
                TLS => host_and_port(rest)
                    .map(|(host, port)| Self::Tls { host, port })
                    .ok_or_else(|| InvalidFeedAddress::Form { address: address(), scheme: TLS }),
                TCP => parse_tcp(text, rest),
                _ => Err(InvalidFeedAddress::Scheme { address: address(), scheme: scheme.to_owned() }),
            };
        }
        let path = text.strip_prefix("unix:").unwrap_or(text);
        if path.is_empty() {
            return Err(InvalidFeedAddress::Empty);
        }
        // A path like this is a mistake far more often than a socket in the working directory.
        if path == text && !text.contains('/') && host_and_port(text).is_some() {
            return Err(InvalidFeedAddress::NoScheme { address: address() });
        }
        Ok(Self::Unix(path.into()))
    }

    /// Returns the same address with the port of `bound`, the socket that listens there.
    #[must_use]
    pub(super) fn with_port(&self, bound: SocketAddr) -> Self {
        let port = bound.port();
        match self {
            Self::Unix(path) => Self::Unix(path.clone()),
            Self::Tcp { host, .. } => Self::Tcp { host: host.clone(), port },
            Self::Tls { host, .. } => Self::Tls { host: host.clone(), port },
        }
    }
}

fn parse_tcp(text: &str, rest: &str) -> Result<FeedAddress, InvalidFeedAddress> {
    let address = || text.to_owned();
    let Some((host, port)) = host_and_port(rest) else {
        return Err(InvalidFeedAddress::Form { address: address(), scheme: TCP });
    };
    if is_loopback(&host) {
        Ok(FeedAddress::Tcp { host, port })
    } else {
        Err(InvalidFeedAddress::NotLoopback { address: address() })
    }
}

/// Splits `HOST:PORT`. The host is returned without brackets.
fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.then(|| port.parse().ok()).flatten()?;
    let host = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(ip) => ip.parse::<std::net::Ipv6Addr>().ok()?.to_string(),
        None => host.to_owned(),
    };
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let named = !host.is_empty() && host.bytes().all(valid);
    (named || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv6() && text.starts_with('[')))
        .then_some((host, port))
}

impl fmt::Display for FeedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, host, port) = match self {
            Self::Unix(path) => return write!(f, "unix:{}", path.display()),
            Self::Tcp { host, port } => (TCP, host, port),
            Self::Tls { host, port } => (TLS, host, port),
        };
        if host.contains(':') {
            write!(f, "{scheme}://[{host}]:{port}")
        } else {
            write!(f, "{scheme}://{host}:{port}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        FeedAddress::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn an_address_parses_and_prints_the_same() {
        for text in [
            "tls://feed.example.com:9000",
            "tls://10.1.2.3:9000",
            "tls://[2001:db8::1]:9000",
            "tcp://127.0.0.1:9000",
            "tcp://[::1]:9000",
            "tcp://localhost:0",
            "unix:/run/feed.sock",
            "unix:feed.sock:9000",
        ] {
            assert_eq!(FeedAddress::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(FeedAddress::parse("/run/feed.sock"), Ok(FeedAddress::Unix("/run/feed.sock".into())));
        assert_eq!(FeedAddress::parse("feed.sock"), Ok(FeedAddress::Unix("feed.sock".into())));
    }

    #[test]
    fn an_invalid_address_is_named_with_a_remedy() {
        assert!(error("").contains("empty") && error("unix:").contains("empty"));
        assert!(error("http://a:1").contains("unknown scheme \"http\""));
        assert!(error("feed.example.com:9000").contains("use tls://feed.example.com:9000"));
        for text in
            ["tls://a", "tls://:1", "tls://a:", "tls://a:65536", "tls://a:+1", "tls://a/b:1", "tls://::1:1"]
        {
            assert!(error(text).contains("must have the form tls://HOST:PORT"), "{text}");
        }
        assert!(error("tcp://[x]:1").contains("must have the form tcp://HOST:PORT"));
        for text in ["tcp://10.0.0.1:1", "tcp://[::]:1", "tcp://feed.example.com:1", "tcp://0.0.0.0:1"] {
            assert!(error(text).contains("not a loopback address"), "{text}");
        }
    }
}
