//! Addresses of the sequencer, and the connection to one of them.

use std::{io, net::Shutdown, os::unix::net::UnixStream, path::PathBuf};

use parking_lot::Mutex;

use crate::transport::{FeedAddress, FeedConnector};

/// Addresses under which a follower finds the sequencer, and the connector for them.
pub struct Upstream {
    /// Addresses in the order in which they are tried.
    pub addresses: Vec<FeedAddress>,
    pub connector: FeedConnector,
}

impl Upstream {
    /// Returns the upstream with the Unix socket at `path` as its only address.
    pub fn unix(path: PathBuf) -> Self {
        Self { addresses: vec![FeedAddress::Unix(path)], connector: FeedConnector::default() }
    }
}

/// The upstream of a running follower.
pub(super) struct UpstreamConnection {
    connector: FeedConnector,
    targets: Mutex<Targets>,
}

#[derive(Debug)]
struct Targets {
    addresses: Vec<FeedAddress>,
    /// Index of the address that is tried next.
    next: usize,
    /// The open connection, so that it can be shut down.
    connected: Option<(FeedAddress, UnixStream)>,
}

impl UpstreamConnection {
    pub fn new(upstream: Upstream) -> Self {
        let targets = Targets { addresses: upstream.addresses, next: 0, connected: None };
        Self { connector: upstream.connector, targets: Mutex::new(targets) }
    }

    /// Connects to the address whose turn it is; the following attempt uses the next one.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let address = self.advance()?;
        let stream = self.connector.connect(&address)?;
        let own = stream.try_clone()?;
        let mut targets = self.targets.lock();
        if !targets.addresses.contains(&address) {
            return Err(io::Error::other(format!("{address} is no longer an address of the sequencer")));
        }
        targets.connected = Some((address, own));
        Ok(stream)
    }

    /// Returns the address whose turn it is.
    fn advance(&self) -> io::Result<FeedAddress> {
        let mut targets = self.targets.lock();
        let count = targets.addresses.len();
        let next = targets.next;
        let address = targets.addresses.get(next).cloned();
        targets.next = if next + 1 < count { next + 1 } else { 0 };
        address.ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotConnected, "the sequencer has no address at present")
        })
    }

    /// Replaces the addresses. Ends a connection to an address that is not among the new ones.
    pub fn set_addresses(&self, addresses: Vec<FeedAddress>) {
        let mut targets = self.targets.lock();
        if addresses == targets.addresses {
            return;
        }
        if let Some((_, stream)) = targets.connected.take_if(|(address, _)| !addresses.contains(address)) {
            let _ = stream.shutdown(Shutdown::Both);
        }
        (targets.addresses, targets.next) = (addresses, 0);
    }

    /// Returns `true` if there is an address to connect to.
    pub fn has_addresses(&self) -> bool {
        !self.targets.lock().addresses.is_empty()
    }

    /// Returns the addresses in the order in which they are tried.
    pub fn addresses(&self) -> Vec<FeedAddress> {
        self.targets.lock().addresses.clone()
    }

    /// Returns the address of the open connection.
    pub fn connected(&self) -> Option<FeedAddress> {
        self.targets.lock().connected.as_ref().map(|(address, _)| address.clone())
    }

    /// Shuts the open connection down.
    pub fn disconnect(&self) {
        if let Some((_, stream)) = self.targets.lock().connected.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read, os::unix::net::UnixListener};

    use super::*;

    fn addresses(paths: &[PathBuf]) -> Vec<FeedAddress> {
        paths.iter().cloned().map(FeedAddress::Unix).collect()
    }

    fn upstream(addresses: Vec<FeedAddress>) -> UpstreamConnection {
        UpstreamConnection::new(Upstream { addresses, connector: FeedConnector::default() })
    }

    #[test]
    fn addresses_are_tried_in_turn() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["first", "second", "third"].map(|name| folder.path().join(name));
        let _second = UnixListener::bind(&paths[1]).unwrap();
        let upstream = upstream(addresses(&paths));
        for _ in 0..2 {
            assert_eq!(upstream.connect().unwrap_err().kind(), io::ErrorKind::NotFound);
            upstream.connect().unwrap();
            assert_eq!(upstream.connected(), Some(FeedAddress::Unix(paths[1].clone())));
            assert!(upstream.connect().is_err());
        }
    }

    #[test]
    fn a_connection_to_a_removed_address_ends() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["first", "second"].map(|name| folder.path().join(name));
        let _listeners = paths.clone().map(|path| UnixListener::bind(path).unwrap());
        let upstream = upstream(addresses(&paths));
        let mut stream = upstream.connect().unwrap();
        upstream.set_addresses(addresses(&paths[..1]));
        assert!(upstream.connected().is_some(), "its address is still listed");
        upstream.set_addresses(addresses(&paths[1..]));
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        assert!(upstream.connected().is_none());
        upstream.set_addresses(Vec::new());
        assert_eq!(upstream.connect().unwrap_err().kind(), io::ErrorKind::NotConnected);
    }
}
