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
    error::ReplicationError,
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
