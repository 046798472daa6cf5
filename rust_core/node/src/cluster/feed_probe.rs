//! Probe of the feed of a silent owner.

use std::{
    io::{self, ErrorKind},
    net::{TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    sync::mpsc::{self, Receiver, SyncSender},
    time::Duration,
};

use foreseal_quorum::FeedPort;
use foreseal_replication::FeedAddress;

/// Time for an answer; a host that is gone does not answer at all.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum number of addresses of a name that are tried.
const MAX_ADDRESSES: usize = 4;

/// Probes on a thread of its own: a slow name lookup must not delay the reads of the owner, whose gaps restart the
/// count of its silence.
pub(crate) struct FeedProbe {
    /// `None` if the thread could not be started.
    requests: Option<SyncSender<FeedAddress>>,
    results: Receiver<(FeedAddress, FeedPort)>,
    /// `true` while the thread works on a request.
    busy: bool,
}

impl FeedProbe {
    /// Starts the thread, which ends with this value.
    pub fn start() -> Self {
        let (requests, requested) = mpsc::sync_channel::<FeedAddress>(1);
        let (send, results) = mpsc::channel();
        let run = move || {
            for address in requested {
                let port = probe(&address);
                if send.send((address, port)).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("foreseal-probe".to_owned()).spawn(run);
        if let Err(error) = &thread {
            tracing::warn!(%error, "cannot start the thread that probes feeds");
        }
        Self { requests: thread.is_ok().then_some(requests), results, busy: false }
    }

    /// Returns `Refused` if the machine of the feed answers in time that nothing listens there.
    pub fn probe(&mut self, address: &FeedAddress) -> FeedPort {
        let Some(requests) = &self.requests else { return FeedPort::Unknown };
        if !self.busy {
            self.busy = requests.try_send(address.clone()).is_ok();
        }
        let Ok((probed, port)) = self.results.recv_timeout(TIMEOUT) else { return FeedPort::Unknown };
        self.busy = false;
        if probed == *address { port } else { FeedPort::Unknown }
    }
}

fn probe(address: &FeedAddress) -> FeedPort {
    match address {
        FeedAddress::Unix(path) => judge(&[UnixStream::connect(path).err()]),
        FeedAddress::Tcp { host, port } | FeedAddress::Tls { host, port } => {
            let Ok(addresses) = (host.as_str(), *port).to_socket_addrs() else { return FeedPort::Unknown };
            let connect = |address| TcpStream::connect_timeout(&address, TIMEOUT).err();
            judge(&addresses.take(MAX_ADDRESSES).map(connect).collect::<Vec<_>>())
        }
    }
}

/// Returns `Refused` if every attempt, of at least one, was refused.
fn judge(attempts: &[Option<io::Error>]) -> FeedPort {
    let is_refused = |error: &Option<io::Error>| {
        error.as_ref().is_some_and(|error| error.kind() == ErrorKind::ConnectionRefused)
    };
    if !attempts.is_empty() && attempts.iter().all(is_refused) {
        FeedPort::Refused
    } else {
        FeedPort::Unknown
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Repeats a probe until it has a result: the thread may be slow.
    fn probed(address: &FeedAddress) -> FeedPort {
        let mut probe = FeedProbe::start();
        for _ in 0..600 {
            let port = probe.probe(address);
            if !probe.busy {
                return port;
            }
        }
        panic!("the probe has no result");
    }

    #[test]
    fn a_port_without_a_listener_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address =
            FeedAddress::Tcp { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
        assert_eq!(probed(&address), FeedPort::Unknown);
        drop(listener);
        assert_eq!(probed(&address), FeedPort::Refused);
    }

    #[test]
    fn a_name_is_refused_if_all_its_addresses_are() {
        let refused = || Some(io::Error::from(ErrorKind::ConnectionRefused));
        assert_eq!(judge(&[refused(), refused()]), FeedPort::Refused);
        assert_eq!(judge(&[refused(), None]), FeedPort::Unknown);
        assert_eq!(judge(&[refused(), Some(io::Error::from(ErrorKind::TimedOut))]), FeedPort::Unknown);
        assert_eq!(judge(&[]), FeedPort::Unknown);
    }
}
