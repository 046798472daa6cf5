//! The listener for followers on other machines.

use std::{
    io,
    net::{SocketAddr, TcpListener as BoundListener, ToSocketAddrs},
    os::unix::net::UnixStream,
    pin::pin,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    net::{TcpListener, TcpStream, UnixStream as BridgeEnd},
    sync::{Semaphore, watch},
    time::timeout,
};

use super::{
    FeedAddress, FeedSecurity, ListenerLimits,
    bridge::{FAREWELL, bridge},
    first_of::{FirstOf, first_of},
    handshake::{AdmittedConnection, HandshakeError, HandshakeRules},
    network_runtime::NetworkRuntime,
    pending_handshakes::PendingHandshakes,
    rejection_log::RejectionLog,
};

/// Delay after a connection could not be accepted, for example because file descriptors ran out.
const PAUSE: Duration = Duration::from_millis(100);
/// Idle time after which the system probes a connection, and its interval between probes.
const KEEPALIVE_TIME: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// A TCP or TLS listener, whose admitted connections arrive as Unix streams.
pub struct FeedListener {
    address: FeedAddress,
    phase: watch::Sender<ListenerPhase>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListenerPhase {
    Accepting,
    /// Admitted connections continue.
    Draining,
    Stopped,
}

type Admit = Box<dyn Fn(UnixStream) -> io::Result<()> + Send + Sync>;

/// State of the accepting task that its connections share.
struct ListenerState {
    rules: HandshakeRules,
    limits: ListenerLimits,
    pending: PendingHandshakes,
    rejections: RejectionLog,
    admit: Admit,
}

impl FeedListener {
    /// Listens at `address`, a `tcp://` or `tls://` address. `admit` receives each authenticated connection on
    /// the listener's thread and must not block.
    pub fn start(
        address: &FeedAddress,
        security: &FeedSecurity,
        limits: ListenerLimits,
        admit: impl Fn(UnixStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        security.check_listen(address)?;
        let bound = bind(address)?;
        bound.set_nonblocking(true)?;
        let address = address.with_port(bound.local_addr()?);
        let is_tls = matches!(address, FeedAddress::Tls { .. });
        let rules = HandshakeRules {
            tls: security.server.clone().filter(|_| is_tls),
            token: security.token.clone(),
            timeout: limits.handshake_timeout,
            connections: Arc::new(Semaphore::new(limits.connections as usize)),
        };
        let state = Arc::new(ListenerState {
            rules,
            limits,
            pending: PendingHandshakes::new(limits.handshakes),
            rejections: RejectionLog::new(Instant::now()),
            admit: Box::new(admit),
        });
        let (phase, phases) = watch::channel(ListenerPhase::Accepting);
        let main = async move {
            match TcpListener::from_std(bound) {
                Ok(listener) => state.run(listener, phases).await,
                Err(error) => tracing::error!(%error, "cannot serve followers on the network"),
            }
        };
        let runtime = NetworkRuntime::start("foreseal-feed-net", main)?;
        Ok(Self { address, phase, thread: Mutex::new(Some(runtime.thread)) })
    }

    /// Returns the address with the port that is in use.
    pub fn address(&self) -> &FeedAddress {
        &self.address
    }

    /// Stops accepting connections without waiting. Admitted ones continue.
    pub fn stop_accepting(&self) {
        self.advance(ListenerPhase::Draining);
    }

    /// Ends the listener. Blocks until the connections whose sessions have ended are closed, at most two
    /// seconds; a second call does nothing.
    pub fn stop(&self) {
        self.advance(ListenerPhase::Stopped);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }

    fn advance(&self, to: ListenerPhase) {
        self.phase.send_if_modified(|phase| {
            let advances = *phase != to && *phase != ListenerPhase::Stopped;
            if advances {
                *phase = to;
            }
            advances
        });
    }
}

impl Drop for FeedListener {
    fn drop(&mut self) {
        self.stop();
    }
}

impl ListenerState {
    async fn run(self: Arc<Self>, listener: TcpListener, mut phases: watch::Receiver<ListenerPhase>) {
        while *phases.borrow_and_update() == ListenerPhase::Accepting {
            let (mut accept, mut change) = (pin!(listener.accept()), pin!(phases.changed()));
            match first_of(accept.as_mut(), change.as_mut()).await {
                FirstOf::Left(Ok((tcp, peer))) => self.begin(tcp, peer),
                FirstOf::Left(Err(error)) => {
                    tracing::warn!(%error, "cannot accept a follower");
                    tokio::time::sleep(PAUSE).await;
                }
                FirstOf::Right(_) => {}
            }
        }
        drop(listener);
        self.pending.abort_all();
        // An error means that the sender is gone, so the listener has stopped.
        let _ = phases.wait_for(|phase| *phase == ListenerPhase::Stopped).await;
        let _ = timeout(FAREWELL, self.rules.connections.acquire_many(self.limits.connections)).await;
    }

    /// Starts the task of a new connection.
    fn begin(self: &Arc<Self>, tcp: TcpStream, peer: SocketAddr) {
        let own = self.clone();
        let evicted = self.pending.add(peer, |number| {
            tokio::spawn(async move { own.serve(tcp, peer, number).await }).abort_handle()
        });
        if let Some(evicted) = evicted {
            self.rejections.record(evicted, &"too many connections without authentication", Instant::now());
        }
    }

    async fn serve(&self, tcp: TcpStream, peer: SocketAddr, number: u64) {
        let admitted = match configure(&tcp) {
            Ok(()) => self.rules.admit(tcp).await,
            Err(error) => Err(HandshakeError::Preamble(error)),
        };
        self.pending.remove(number);
        if let Err(HandshakeError::Preamble(error)) = &admitted
            && error.kind() == io::ErrorKind::UnexpectedEof
        {
            // A standby that probes the port of a silent owner sends nothing.
            return tracing::debug!(%peer, "a connection to the feed ended before its preamble");
        }
        let served = admitted.map_err(|error| error.to_string()).and_then(|connection| {
            let end = self.deliver().map_err(|error| format!("cannot serve a follower: {error}"))?;
            Ok((connection, end))
        });
        match served {
            Ok((AdmittedConnection { network, permit }, end)) => {
                bridge(network, end).await;
                drop(permit);
            }
            Err(reason) => self.rejections.record(peer, &reason, Instant::now()),
        }
    }

    /// Passes one end of a new pair to the session; returns the other.
    fn deliver(&self) -> io::Result<BridgeEnd> {
        let (own, session) = UnixStream::pair()?;
        own.set_nonblocking(true)?;
        let own = BridgeEnd::from_std(own)?;
        (self.admit)(session)?;
        Ok(own)
    }
}

/// Sets the options of a connection of the feed.
pub(super) fn configure(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_TIME).with_interval(KEEPALIVE_INTERVAL);
    SockRef::from(tcp).set_tcp_keepalive(&keepalive)
}

fn bind(address: &FeedAddress) -> io::Result<BoundListener> {
    let (host, port, loopback_only) = match address {
        FeedAddress::Tcp { host, port } => (host, *port, true),
        FeedAddress::Tls { host, port } => (host, *port, false),
        FeedAddress::Unix(_) => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a Unix socket is not a network address",
            ));
        }
    };
    let mut addresses: Vec<SocketAddr> = (host.as_str(), port).to_socket_addrs()?.collect();
    addresses.retain(|address| !loopback_only || address.ip().is_loopback());
    BoundListener::bind(&addresses[..])
}
