//! Connections of followers to the feed.

use std::{
    error::Error,
    io,
    net::SocketAddr,
    os::unix::net::UnixStream,
    sync::{Arc, mpsc},
    time::Duration,
};

use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixStream as BridgeEnd, lookup_host},
    runtime::Handle,
    sync::oneshot,
    time::timeout,
};
use tokio_rustls::TlsConnector;

use super::{
    FeedAddress, FeedSecurity,
    bridge::bridge,
    feed_listener::configure,
    handshake::NetworkStream,
    network_runtime::NetworkRuntime,
    preamble::{Verdict, encode_preamble},
};

/// Time within which a connection must be admitted.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Connects to feeds. Clones share one thread, which ends with the last clone and its connections.
#[derive(Clone, Default)]
pub struct FeedConnector(Arc<ConnectorState>);

#[derive(Default)]
struct ConnectorState {
    security: FeedSecurity,
    /// The thread for the network, once it is needed.
    network: Mutex<Option<ConnectorNetwork>>,
}

struct ConnectorNetwork {
    runtime: NetworkRuntime,
    /// Dropping it ends the thread.
    stop: oneshot::Sender<()>,
}

impl FeedConnector {
    /// Returns a connector with these credentials. The default one has none and reaches Unix sockets only.
    pub fn new(security: FeedSecurity) -> Self {
        Self(Arc::new(ConnectorState { security, network: Mutex::default() }))
    }

    /// Connects to `address` and returns a stream to it, within about two seconds.
    ///
    /// # Errors
    /// Names the address and the cause. The kind is [`io::ErrorKind::ConnectionRefused`] if nothing listens
    /// there, and [`io::ErrorKind::PermissionDenied`] if the sequencer rejects the credentials.
    pub fn connect(&self, address: &FeedAddress) -> io::Result<UnixStream> {
        let connected = match address {
            FeedAddress::Unix(path) => UnixStream::connect(path),
            FeedAddress::Tcp { .. } | FeedAddress::Tls { .. } => self.connect_network(address),
        };
        connected
            .map_err(|error| io::Error::new(error.kind(), format!("cannot connect to {address}: {error}")))
    }

    fn connect_network(&self, address: &FeedAddress) -> io::Result<UnixStream> {
        self.0.security.check_connect(address)?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let (security, address) = (self.0.security.clone(), address.clone());
        self.handle()?.spawn(async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no answer within 2 s");
            let established = timeout(CONNECT_TIMEOUT, establish(&address, &security)).await;
            let opened = established.map_err(late).flatten().and_then(|network| {
                let (own, session) = UnixStream::pair()?;
                own.set_nonblocking(true)?;
                Ok((network, BridgeEnd::from_std(own)?, session))
            });
            match opened {
                Ok((network, own, session)) => {
                    if sender.send(Ok(session)).is_ok() {
                        bridge(network, own).await;
                    }
                }
                Err(error) => drop(sender.send(Err(error))),
            }
        });
        // The task responds within its own timeout, unless its thread has ended.
        let failed = |_| io::Error::other("the thread for the network does not respond");
        receiver.recv_timeout(2 * CONNECT_TIMEOUT).map_err(failed).flatten()
    }

    /// Returns the handle of the thread for the network; starts the thread if necessary.
    fn handle(&self) -> io::Result<Handle> {
        let mut network = self.0.network.lock();
        if let Some(network) = &*network {
            return Ok(network.runtime.handle.clone());
        }
        let (stop, stopped) = oneshot::channel();
        let main = async move { drop(stopped.await) };
        let runtime = NetworkRuntime::start("foreseal-follow-net", main)?;
        let handle = runtime.handle.clone();
        *network = Some(ConnectorNetwork { runtime, stop });
        Ok(handle)
    }
}

impl Drop for ConnectorState {
    fn drop(&mut self) {
        if let Some(ConnectorNetwork { runtime, stop }) = self.network.get_mut().take() {
            drop(stop);
            let _ = runtime.thread.join();
        }
    }
}

/// Connects, and waits until the listener has admitted the connection.
async fn establish(address: &FeedAddress, security: &FeedSecurity) -> io::Result<Box<dyn NetworkStream>> {
    let mut network: Box<dyn NetworkStream> = match address {
        FeedAddress::Tcp { host, port } => Box::new(connect_tcp(host, *port, true).await?),
        FeedAddress::Tls { host, port } => {
            let tcp = connect_tcp(host, *port, false).await?;
            Box::new(encrypt(tcp, host, security).await?)
        }
        FeedAddress::Unix(_) => return Err(invalid("a Unix socket is not a network address")),
    };
    network.write_all(&encode_preamble(security.token.as_ref())).await.map_err(|error| rejected(&error))?;
    network.flush().await.map_err(|error| rejected(&error))?;
    let byte = network.read_u8().await.map_err(|error| rejected(&error))?;
    match Verdict::from_byte(byte) {
        Some(Verdict::Admitted) => Ok(network),
        Some(verdict @ Verdict::Unauthorized) => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("rejected by the sequencer: {verdict}"),
        )),
        Some(verdict @ Verdict::TooManyConnections) => Err(io::Error::new(
            io::ErrorKind::ConnectionAborted,
            format!("rejected by the sequencer: {verdict}"),
        )),
        Some(Verdict::InvalidPreamble) | None => Err(invalid("the peer is not the feed of a sequencer")),
    }
}

async fn connect_tcp(host: &str, port: u16, loopback_only: bool) -> io::Result<TcpStream> {
    let resolved = lookup_host((host, port)).await?;
    let addresses: Vec<_> = resolved.filter(|address| !loopback_only || address.ip().is_loopback()).collect();
    let tcp = connect_any(&addresses).await?;
    configure(&tcp)?;
    Ok(tcp)
}

/// Returns the time for each of `count` addresses. Several leave a share for the handshake.
fn connect_share(count: usize) -> Duration {
    let shares = if count <= 1 { 1 } else { u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1) };
    CONNECT_TIMEOUT / shares
}

/// Connects to the first address that answers. An address that does not answer uses only its share of the time, so
/// that the others and the handshake have the rest.
async fn connect_any(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let share = connect_share(addresses.len());
    let mut last = None;
    for address in addresses {
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(tcp)) => return Ok(tcp),
            Ok(Err(error)) => last = Some(error),
            Err(_) => {
                let reason = format!("no answer from {address} within {} ms", share.as_millis());
                last = Some(io::Error::new(io::ErrorKind::TimedOut, reason));
            }
        }
    }
    Err(last.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host name has no address")))
}

async fn encrypt(
    tcp: TcpStream,
    host: &str,
    security: &FeedSecurity,
) -> io::Result<impl NetworkStream + 'static> {
    let config = security.client.clone().ok_or_else(|| invalid("no CA for a tls:// address"))?;
    let name = ServerName::try_from(host.to_owned()).map_err(|_| invalid("the host name is invalid"))?;
    TlsConnector::from(config).connect(name, tcp).await.map_err(|error| match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(why)) => {
            io::Error::new(error.kind(), format!("the certificate of the sequencer is not trusted: {why}"))
        }
        _ => io::Error::new(error.kind(), format!("TLS handshake failed: {error}")),
    })
}

/// Converts an error between the handshake and the verdict: in TLS 1.3 the listener checks the certificate of
/// the follower only then.
fn rejected(error: &io::Error) -> io::Error {
    match tls_error(error) {
        Some(rustls::Error::AlertReceived(alert)) => io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("the sequencer rejects the certificate of this process: {alert:?}"),
        ),
        _ => io::Error::new(error.kind(), format!("connection lost before it was admitted: {error}")),
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    let inner: &(dyn Error + 'static) = error.get_ref()?;
    inner.downcast_ref()
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use socket2::{Domain, Socket, Type};
    use tokio::runtime::Builder;

    use super::*;

    /// Returns a socket that answers no connection, with those that fill its queue.
    fn silent_listener() -> (Socket, Vec<Socket>, SocketAddr) {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let fill = |_| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_nonblocking(true).unwrap();
            // It is in progress, or waits for ever.
            let _ = socket.connect(&address);
            socket
        };
        let waiting = (0..4).map(fill).collect();
        (listener, waiting, address.as_socket().unwrap())
    }

    #[test]
    fn several_addresses_leave_time_for_the_handshake() {
        assert_eq!(connect_share(1), CONNECT_TIMEOUT);
        for count in [2, 3, 10] {
            assert!(connect_share(count) * u32::try_from(count).unwrap() < CONNECT_TIMEOUT, "{count}");
        }
    }

    #[test]
    fn silent_address_leaves_time_for_the_next_one() {
        let (_listener, _waiting, silent) = silent_listener();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let connected = runtime.block_on(connect_any(&[silent, address])).unwrap();
        assert_eq!(connected.peer_addr().unwrap(), address);
        let error = runtime.block_on(connect_any(&[silent, silent])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
