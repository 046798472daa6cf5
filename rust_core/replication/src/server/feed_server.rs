//! The server that followers connect to, at one or more addresses.

use std::{
    fmt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;

use super::{
    ConnectionOrigin, FeedSource, FollowerStatus, served_connections::ServedConnections,
    socket_listener::SocketListener,
};
use crate::{
    ReplicationError,
    transport::{FeedAddress, FeedListener, FeedSecurity, ListenerLimits},
};

/// The listeners, and a thread for each follower.
pub struct FeedServer {
    source: Arc<FeedSource>,
    connections: Arc<ServedConnections>,
    listeners: Mutex<Vec<ServerListener>>,
    stopped: AtomicBool,
}

enum ServerListener {
    Socket(SocketListener),
    Network(FeedListener),
}

impl FeedServer {
    /// Returns a server of `source` that does not listen yet.
    pub fn new(source: Arc<FeedSource>) -> Self {
        let connections = Arc::new(ServedConnections::new(source.clone()));
        Self { source, connections, listeners: Mutex::default(), stopped: AtomicBool::new(false) }
    }

    /// Returns a server that listens at the Unix socket `path`, accessible only to the owner of this process.
    pub fn start(path: &Path, source: Arc<FeedSource>) -> Result<Self, ReplicationError> {
        let server = Self::new(source);
        let address = FeedAddress::Unix(path.to_owned());
        server.listen(&address, &FeedSecurity::default(), ListenerLimits::default())?;
        Ok(server)
    }

    /// Listens at a further address. Returns the address with the port that is in use.
    ///
    /// # Errors
    /// Fails if the address is in use, if the credentials do not suffice for it, and after [`Self::stop`].
    pub fn listen(
        &self,
        address: &FeedAddress,
        security: &FeedSecurity,
        limits: ListenerLimits,
    ) -> Result<FeedAddress, ReplicationError> {
        let failed = |why: &dyn fmt::Display| ReplicationError::Listen {
            address: address.clone(),
            why: why.to_string(),
        };
        let mut listeners = self.listeners.lock();
        if self.stopped.load(Ordering::Acquire) {
            return Err(failed(&"the server has stopped"));
        }
        let connections = self.connections.clone();
        let origin = match address {
            FeedAddress::Unix(_) => ConnectionOrigin::Local,
            FeedAddress::Tcp { .. } | FeedAddress::Tls { .. } => ConnectionOrigin::Network,
        };
        let admit = move |stream| connections.serve(stream, origin);
        let (bound, listener) = if let FeedAddress::Unix(path) = address {
            let listener = SocketListener::start(path, admit).map_err(|error| failed(&error))?;
            (address.clone(), ServerListener::Socket(listener))
        } else {
            let started = FeedListener::start(address, security, limits, admit);
            let listener = started.map_err(|error| failed(&error))?;
            (listener.address().clone(), ServerListener::Network(listener))
        };
        listeners.push(listener);
        Ok(bound)
    }

    /// Returns the status of the connected followers of all listeners.
    pub fn followers(&self) -> Vec<FollowerStatus> {
        let next = self.source.config.log.status().next;
        self.source.peers.status(next, self.source.config.clock.now().monotonic)
    }

    /// Stops accepting connections, notifies the connected followers, and ends. A second call does nothing.
    pub fn stop(&self) {
        let listeners = {
            let mut listeners = self.listeners.lock();
            if self.stopped.swap(true, Ordering::AcqRel) {
                return;
            }
            std::mem::take(&mut *listeners)
        };
        self.source.config.log.close();
        listeners.iter().for_each(ServerListener::stop_accepting);
        self.connections.close();
        // The bridges outlive the sessions, so that followers receive the last frame.
        drop(listeners);
    }
}

impl ServerListener {
    fn stop_accepting(&self) {
        match self {
            Self::Socket(listener) => listener.stop(),
            Self::Network(listener) => listener.stop_accepting(),
        }
    }
}

impl Drop for FeedServer {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::net::UnixStream, time::Duration};

    use alloy_primitives::{B256, Bytes};
    use foreseal_chain::{FinalityDepth, SystemClock};
    use foreseal_journal::{Identity, JournalReader, RealDisk};
    use foreseal_pool::{Pool, PoolConfig};
    use foreseal_store::DamageReport;

    use super::*;
    use crate::{
        Phase, PoolStart, Production, SequencerBackend, SubmissionCallback, SubmitError,
        server::{FeedConfig, FrameLog, Pace, RingLimits},
        wire::{
            Cursor, FollowerRole, Hello, MAX_RESPONSE_SIZE, Request, SequencerReport, Welcome, read_frame,
        },
    };

    /// A sequencer that only serves.
    struct Idle;

    impl SequencerBackend for Idle {
        fn phase(&self) -> Phase {
            Phase::Serving
        }

        fn report(&self) -> SequencerReport {
            SequencerReport {
                phase: Phase::Serving,
                pool_start: PoolStart::New,
                signer: None,
                store: None,
                owner: None,
            }
        }

        fn age(&self) -> Duration {
            Duration::ZERO
        }

        fn latest(&self) -> u64 {
            0
        }

        fn admit(&self, _: Bytes, _: bool, _: ConnectionOrigin, reply: SubmissionCallback) {
            reply(Err(SubmitError::Starting));
        }

        fn welcome(&self) -> Welcome {
            let (production, depth) = (Production::default(), FinalityDepth::default());
            Welcome { produces: true, production, depth }
        }

        fn answer(&self, _: &[u8]) -> Option<Vec<u8>> {
            None
        }

        fn confirm_damage(&self, _: &DamageReport, _: &str) {}

        fn end_for_lost_append(&self, _: u64, _: String) {}
    }

    fn source(folder: &Path) -> FeedSource {
        let identity = Identity { chain_id: 1, genesis: B256::ZERO };
        FeedSource::new(FeedConfig {
            identity,
            past: JournalReader::new(folder.to_owned(), Arc::new(RealDisk), identity, 0),
            discarded: 0..0,
            log: Arc::new(FrameLog::new(0, RingLimits::default())),
            pool: Arc::new(Pool::new(PoolConfig::default())),
            clock: Arc::new(SystemClock::default()),
            backend: Arc::new(Idle),
            pace: Pace::default(),
            snapshots: None,
            max_snapshots: FeedConfig::MAX_SNAPSHOTS,
        })
    }

    #[test]
    fn followers_are_accepted_after_a_failed_accept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("feed.sock");
        let server = FeedServer::start(&path, Arc::new(source(folder.path()))).unwrap();
        match &server.listeners.lock()[..] {
            // Without a waiting follower the next accept fails.
            [ServerListener::Socket(socket)] => socket.listener.set_nonblocking(true).unwrap(),
            _ => panic!("the server listens at one socket"),
        }
        for _ in 0..3 {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let identity = Identity { chain_id: 2, genesis: B256::ZERO };
            let hello = Hello {
                identity,
                name: String::new(),
                role: FollowerRole::Worker,
                run_id: [0; 16],
                version: String::new(),
                rpc: String::new(),
                cursor: Cursor::From { sequence: 0 },
            };
            stream.write_all(&Request::Hello(hello).encode()).unwrap();
            read_frame(&mut stream, MAX_RESPONSE_SIZE)
                .unwrap()
                .expect("it is told that it follows another chain");
        }
        server.stop();
    }
}
