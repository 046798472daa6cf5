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
    sync::Semaphore,
    time::timeout,
};

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
    /// Maximum number of connections; others wait to be accepted.
    pub max_connections: usize,
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
        F: Fn(TcpStream) -> C + Send + 'static,
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
    F: Fn(TcpStream) -> C,
    C: Future<Output = ()> + Send + 'static,
{
    let connections = Arc::new(Semaphore::new(options.max_connections));
    loop {
        let Ok(permit) = connections.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, say: others may be closed meanwhile.
                tracing::warn!(%error, listener = options.name, "a listener cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let served = serve(stream);
        tokio::spawn(async move {
            served.await;
            drop(permit);
        });
    }
}
