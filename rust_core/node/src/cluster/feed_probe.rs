//! Probe of the feed of a silent owner.

use std::{
    io::ErrorKind,
    net::{TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    time::Duration,
};

use foreseal_replication::{FeedAddress, quorum::FeedPort};

/// Time for an answer; a host that is gone does not answer at all.
const TIMEOUT: Duration = Duration::from_millis(50);

/// Returns `Refused` if the machine of the feed answers that nothing listens there.
pub(super) fn probe(address: &FeedAddress) -> FeedPort {
    let error = match address {
        FeedAddress::Unix(path) => UnixStream::connect(path).err(),
        FeedAddress::Tcp { host, port } | FeedAddress::Tls { host, port } => {
            let resolved = (host.as_str(), *port).to_socket_addrs().ok().and_then(|mut found| found.next());
            resolved.and_then(|address| TcpStream::connect_timeout(&address, TIMEOUT).err())
        }
    };
    match error.map(|error| error.kind()) {
        Some(ErrorKind::ConnectionRefused) => FeedPort::Refused,
        _ => FeedPort::Unknown,
    }
}
