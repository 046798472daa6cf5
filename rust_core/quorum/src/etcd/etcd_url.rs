//! Address of an etcd cluster.

use foreseal_primitives::is_loopback;

/// Path of a URL without one.
const DEFAULT_PREFIX: &str = "/foreseal";

/// Endpoints of an etcd cluster and the prefix of all keys: `etcd://host:port,host:port/prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdUrl {
    /// Addresses of the members, each as `host:port`.
    pub endpoints: Vec<String>,
    /// Prefix of all keys, with a leading and without a trailing slash.
    pub prefix: String,
}

/// Faults of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEtcdUrl {
    #[error("URL must begin with etcd://, as in etcd://host:2379,host:2379/foreseal, got {url:?}")]
    Scheme { url: String },
    #[error("URL must name at least one endpoint, as in etcd://host:2379/foreseal")]
    NoEndpoint,
    #[error("endpoint {endpoint:?} must be host:port, as in 10.0.0.1:2379 or [::1]:2379: {reason}")]
    Endpoint { endpoint: String, reason: &'static str },
    #[error("endpoint {endpoint:?} occurs twice")]
    Repeated { endpoint: String },
    #[error("URL must not contain a user or password: use the settings of user and password file")]
    Credentials,
    #[error("prefix {prefix:?} must have only letters, digits, '-', '_', '.' and single slashes")]
    Prefix { prefix: String },
}

impl EtcdUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn parse(url: &str) -> Result<Self, InvalidEtcdUrl> {
        let rest =
            url.strip_prefix("etcd://").ok_or_else(|| InvalidEtcdUrl::Scheme { url: url.to_owned() })?;
        let (hosts, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if hosts.contains('@') {
            return Err(InvalidEtcdUrl::Credentials);
        }
        if hosts.is_empty() {
            return Err(InvalidEtcdUrl::NoEndpoint);
        }
        let mut endpoints: Vec<String> = Vec::new();
        for endpoint in hosts.split(',') {
            check_endpoint(endpoint)
                .map_err(|reason| InvalidEtcdUrl::Endpoint { endpoint: endpoint.to_owned(), reason })?;
            if endpoints.iter().any(|other| other == endpoint) {
                return Err(InvalidEtcdUrl::Repeated { endpoint: endpoint.to_owned() });
            }
            endpoints.push(endpoint.to_owned());
        }
        Ok(Self { endpoints, prefix: parse_prefix(path)? })
    }

    /// Returns an endpoint that may be on another machine.
    pub(super) fn remote_endpoint(&self) -> Option<&str> {
        let is_remote = |endpoint: &&String| {
            let host = endpoint.rsplit_once(':').map_or(endpoint.as_str(), |(host, _)| host);
            !is_loopback(host.trim_start_matches('[').trim_end_matches(']'))
        };
        self.endpoints.iter().find(is_remote).map(String::as_str)
    }
}

fn check_endpoint(endpoint: &str) -> Result<(), &'static str> {
    let (host, port) = endpoint.rsplit_once(':').ok_or("the port is missing")?;
    match port.parse::<u16>() {
        Ok(0) | Err(_) => return Err("the port must be a number from 1 to 65535"),
        Ok(_) => {}
    }
    if host.is_empty() {
        return Err("the host is missing");
    }
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if let Some(address) = address {
        return address.parse::<std::net::Ipv6Addr>().map(|_| ()).map_err(|_| "the IPv6 address is invalid");
    }
    let is_valid = host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'));
    if is_valid { Ok(()) } else { Err("the host has an invalid character") }
}

fn parse_prefix(path: &str) -> Result<String, InvalidEtcdUrl> {
    let prefix = path.trim_end_matches('/');
    if prefix.is_empty() {
        return Ok(DEFAULT_PREFIX.to_owned());
    }
    let is_valid = prefix.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '.' | '_'));
    if is_valid && !prefix.contains("//") {
        Ok(prefix.to_owned())
    } else {
        Err(InvalidEtcdUrl::Prefix { prefix: prefix.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_and_prefix_are_parsed() {
        let url = EtcdUrl::parse("etcd://a:2379,10.0.0.2:1,[::1]:65535/some/prefix/").unwrap();
        assert_eq!(url.endpoints, ["a:2379", "10.0.0.2:1", "[::1]:65535"]);
        assert_eq!(url.prefix, "/some/prefix");
        for url in ["etcd://a:1", "etcd://a:1/"] {
            assert_eq!(EtcdUrl::parse(url).unwrap().prefix, DEFAULT_PREFIX);
        }
    }

    #[test]
    fn each_fault_of_a_url_is_named() {
        for (url, message) in [
            ("http://a:1", "must begin with etcd://"),
            ("etcd:///prefix", "at least one endpoint"),
            ("etcd://a:1,", "the port is missing"),
            ("etcd://a", "the port is missing"),
            ("etcd://a:0", "from 1 to 65535"),
            ("etcd://a:70000", "from 1 to 65535"),
            ("etcd://:1", "the host is missing"),
            ("etcd://a b:1", "invalid character"),
            ("etcd://::1:1", "invalid character"),
            ("etcd://[::g]:1", "IPv6 address is invalid"),
            ("etcd://a:1,a:1", "occurs twice"),
            ("etcd://user:secret@a:1", "must not contain a user"),
            ("etcd://a:1/a//b", "single slashes"),
            ("etcd://a:1/a?b", "single slashes"),
        ] {
            let error = EtcdUrl::parse(url).unwrap_err().to_string();
            assert!(error.contains(message), "{url}: {error}");
        }
    }
}
