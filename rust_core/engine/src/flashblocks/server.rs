//! The listener, on threads of its own.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use foreseal_node::Node;
use tokio::{net::TcpStream, sync::Semaphore};
use tokio_tungstenite::{accept_hdr_async_with_config, tungstenite::protocol::WebSocketConfig};

use super::{
    connection::ReaderConnection,
    handshake::{HandshakeRules, ReaderPermit},
    publisher::FlashblockPublisher,
    reader_queue::{DisconnectReason, JoiningReaders, ReaderQueue},
};
use crate::{
    connection_places::ConnectionPlace,
    listener::{Listener, ListenerOptions},
};

/// Maximum number of readers. Readers are the proxies of the chain, which serve all others.
const MAX_READERS: u32 = 64;
/// Maximum number of connections: readers, and connections in their handshake, of which the oldest makes room.
const MAX_CONNECTIONS: usize = MAX_READERS as usize + 32;
/// Maximum time for the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a message of a reader, in bytes. Readers send only pings and pongs.
const MAX_INCOMING: usize = 4096;

/// Running listener. It ends when this value is dropped.
pub struct FlashblocksServer {
    listener: Listener,
    node: Arc<Node>,
    stopping: Arc<AtomicBool>,
    publisher: Option<JoinHandle<()>>,
    readers: Arc<Semaphore>,
}

/// Shared state of the connections.
struct ReaderRegistry {
    node: Arc<Node>,
    joining: JoiningReaders,
    /// Places of the readers.
    readers: Arc<Semaphore>,
}

impl FlashblocksServer {
    /// Listens at `address` for readers of the payloads of `node`.
    ///
    /// # Errors
    /// Returns an error if the address cannot be used, or if no thread can be started.
    pub fn start(node: Arc<Node>, address: SocketAddr) -> io::Result<Self> {
        let (joining, stopping) = (JoiningReaders::default(), Arc::new(AtomicBool::new(false)));
        let readers = Arc::new(Semaphore::new(MAX_READERS as usize));
        let registry = Arc::new(ReaderRegistry {
            node: node.clone(),
            joining: joining.clone(),
            readers: readers.clone(),
        });
        let options = ListenerOptions {
            name: "foreseal-flashblocks",
            max_connections: MAX_CONNECTIONS,
            stranger_time: HANDSHAKE_TIMEOUT,
            blocking_threads: 1,
        };
        let listener =
            Listener::start(address, options, move |stream, place| serve(stream, place, registry.clone()))?;
        let publisher = FlashblockPublisher {
            node: node.clone(),
            joining,
            stopping: stopping.clone(),
            readers: Vec::new(),
            newest: None,
        };
        let thread = std::thread::Builder::new().name("foreseal-flashblock-publisher".to_owned());
        let publisher = Some(thread.spawn(move || publisher.run())?);
        Ok(Self { listener, node, stopping, publisher, readers })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }
}

impl Drop for FlashblocksServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        self.node.payloads().wake();
        if let Some(publisher) = self.publisher.take() {
            // The thread catches its own panics, so joining cannot fail.
            let _ = publisher.join();
        }
        // The readers receive their close frames, unless they do not read.
        self.listener.wait_for(self.readers.acquire_many(MAX_READERS));
    }
}

/// Serves one connection until it ends.
async fn serve(stream: TcpStream, place: Arc<ConnectionPlace>, registry: Arc<ReaderRegistry>) {
    // A small message must not wait for the next one.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a reader of flashblocks is gone");
        return;
    }
    let permit = ReaderPermit::default();
    let rules = HandshakeRules { readers: registry.readers.clone(), permit: permit.clone() };
    let config = WebSocketConfig::default()
        .read_buffer_size(MAX_INCOMING)
        .max_message_size(Some(MAX_INCOMING))
        .max_frame_size(Some(MAX_INCOMING));
    let accepted = accept_hdr_async_with_config(stream, rules, Some(config));
    let socket = match accepted.await {
        Ok(socket) => socket,
        Err(error) => {
            tracing::debug!(%error, "the handshake of a flashblocks reader failed");
            return;
        }
    };
    place.retain();
    let queue = Arc::new(ReaderQueue::default());
    registry.joining.lock().push(queue.clone());
    registry.node.payloads().wake();
    let reason = ReaderConnection { socket, queue: &queue }.run().await;
    match reason {
        DisconnectReason::TooSlow => tracing::warn!("a slow reader of flashblocks was disconnected"),
        reason => tracing::debug!(?reason, "a reader of flashblocks is gone"),
    }
    drop(permit);
}
