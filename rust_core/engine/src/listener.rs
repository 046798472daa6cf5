//! A TCP listener with a maximum number of connections, on threads of its own.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::Duration,
};

use tokio::{
    net::TcpStream,
    runtime::{Builder, Runtime},
    time::timeout,
};

use crate::connection_places::{ConnectionPlace, ConnectionPlaces};

/// Number of threads that read and write.
const IO_THREADS: usize = 1;
/// Maximum time for work in progress when the listener ends.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
/// Pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Options of a listener.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListenerOptions {
    /// Name of the threads, and of the listener in logs.
    pub name: &'static str,
    /// Maximum number of connections. Beyond it, the oldest that has not earned its place is closed; if all have,
    /// others wait.
    pub max_connections: usize,
    /// Time in which a connection must earn its place: see [`ConnectionPlace::retain`].
    pub stranger_time: Duration,
    /// Maximum number of threads for work that blocks.
    pub blocking_threads: usize,
}

/// Running listener. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Listener {
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Listener {
    /// Listens at `address`, and serves each connection with `serve`.
    ///
    /// # Errors
    /// Returns an error if the address cannot be used, or if no thread can be started.
    pub fn start<F, C>(address: SocketAddr, options: ListenerOptions, serve: F) -> io::Result<Self>
    where
        F: Fn(TcpStream, Arc<ConnectionPlace>) -> C + Send + 'static,
        C: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(IO_THREADS)
            .max_blocking_threads(options.blocking_threads)
            .thread_name(options.name)
            .enable_all()
            .build()?;
        let guard = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener)?;
        drop(guard);
        runtime.spawn(accept(listener, options, serve));
        Ok(Self { address, runtime: Some(runtime) })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until `future` completes, at most as long as work in progress has when the listener ends.
    pub fn wait_for(&self, future: impl Future) {
        if let Some(runtime) = &self.runtime {
            // The timer of the runtime is available inside of it only.
            runtime.block_on(async { timeout(STOP_TIMEOUT, future).await.ok() });
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Work in progress holds the node, whose data directory the next process may want at once.
            runtime.shutdown_timeout(STOP_TIMEOUT);
        }
    }
}

async fn accept<F, C>(listener: tokio::net::TcpListener, options: ListenerOptions, serve: F)
where
    F: Fn(TcpStream, Arc<ConnectionPlace>) -> C,
    C: Future<Output = ()> + Send + 'static,
{
    let places = ConnectionPlaces::new(options.max_connections, options.stranger_time);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, say: others may be closed meanwhile.
                tracing::warn!(%error, listener = options.name, "a listener cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let place = places.enter().await;
        let served = serve(stream, place.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = served => {}
                () = place.lost() => tracing::debug!(listener = options.name, "a stranger lost its connection"),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use std::{
        io::{Read as _, Write as _},
        net::TcpStream as Socket,
    };

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const PLACES: usize = 4;
    /// Time after which a test fails instead of waiting for ever.
    const PATIENCE: Duration = Duration::from_mins(1);

    /// Answers each byte with itself; a `k` earns the connection its place.
    async fn echo(mut stream: TcpStream, place: Arc<ConnectionPlace>) {
        let mut byte = [0];
        while stream.read_exact(&mut byte).await.is_ok() {
            if byte == *b"k" {
                place.retain();
            }
            stream.write_all(&byte).await.unwrap();
        }
    }

    fn listener(stranger_time: Duration) -> Listener {
        let options =
            ListenerOptions { name: "test", max_connections: PLACES, stranger_time, blocking_threads: 1 };
        Listener::start("127.0.0.1:0".parse().unwrap(), options, echo).unwrap()
    }

    fn connect(listener: &Listener) -> Socket {
        let socket = Socket::connect(listener.address()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    }

    fn is_answered(socket: &mut Socket, byte: u8) -> bool {
        let mut answer = [0];
        socket.write_all(&[byte]).is_ok() && socket.read_exact(&mut answer).is_ok() && answer == [byte]
    }

    fn is_closed(socket: &mut Socket) -> bool {
        matches!(socket.read(&mut [0]), Ok(0) | Err(_))
    }

    #[test]
    fn strangers_make_room_in_the_order_of_their_arrival() {
        let listener = listener(PATIENCE);
        let mut strangers: Vec<_> = (0..3 * PLACES).map(|_| connect(&listener)).collect();
        let mut caller = connect(&listener);
        assert!(is_answered(&mut caller, b'k'));
        let closed = strangers.len() - (PLACES - 1);
        assert!(strangers[..closed].iter_mut().all(is_closed));
        assert!(strangers[closed..].iter_mut().all(|stranger| is_answered(stranger, b's')));
    }

    #[test]
    fn earned_places_outlast_any_number_of_strangers() {
        let listener = listener(PATIENCE);
        let mut callers: Vec<_> = (1..PLACES).map(|_| connect(&listener)).collect();
        assert!(callers.iter_mut().all(|caller| is_answered(caller, b'k')));
        let mut strangers: Vec<_> = (0..5 * PLACES).map(|_| connect(&listener)).collect();
        let (newest, others) = strangers.split_last_mut().unwrap();
        assert!(is_answered(newest, b's') && others.iter_mut().all(is_closed));
        assert!(callers.iter_mut().all(|caller| is_answered(caller, b'c')));
    }

    #[test]
    fn connections_beyond_earned_places_wait() {
        let listener = listener(PATIENCE);
        let mut callers: Vec<_> = (0..PLACES).map(|_| connect(&listener)).collect();
        assert!(callers.iter_mut().all(|caller| is_answered(caller, b'k')));
        let mut waiting = connect(&listener);
        drop(callers.pop());
        assert!(is_answered(&mut waiting, b's'));
        assert!(callers.iter_mut().all(|caller| is_answered(caller, b'c')));
    }

    #[test]
    fn stranger_is_closed_after_its_time() {
        let listener = listener(Duration::from_millis(50));
        // A slow machine may need more than one attempt to earn a place in time.
        let mut caller = loop {
            let mut caller = connect(&listener);
            if is_answered(&mut caller, b'k') {
                break caller;
            }
        };
        let mut stranger = connect(&listener);
        assert!(is_closed(&mut stranger));
        assert!(is_answered(&mut caller, b'c'), "the caller has its place for longer than a stranger");
    }
}
