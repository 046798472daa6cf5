//! The connections that are being served, with a thread for each.

use std::{
    io,
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{ConnectionOrigin, FeedSource, follower_session::serve};

/// Grace period at shutdown for connections that are still being served.
const FAREWELL: Duration = Duration::from_secs(2);
/// Interval at which the shutdown checks those connections.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Connections of all listeners of a server.
pub(super) struct ServedConnections {
    source: Arc<FeedSource>,
    /// `None` once the server stops.
    served: Mutex<Option<Vec<Served>>>,
}

struct Served {
    stream: UnixStream,
    thread: JoinHandle<()>,
}

impl ServedConnections {
    pub fn new(source: Arc<FeedSource>) -> Self {
        Self { source, served: Mutex::new(Some(Vec::new())) }
    }

    /// Serves a follower on a thread of its own. Fails once the server stops.
    pub fn serve(&self, stream: UnixStream, origin: ConnectionOrigin) -> io::Result<()> {
        let mut served = self.served.lock();
        let served = served.as_mut().ok_or(io::ErrorKind::ConnectionAborted)?;
        let (own, source) = (stream.try_clone()?, self.source.clone());
        let run = move || {
            if let Err(error) = serve(&source, &own, origin) {
                tracing::info!(%error, "follower disconnected");
            }
            let _ = own.shutdown(Shutdown::Both);
        };
        let thread = std::thread::Builder::new().name("foreseal-feed-out".to_owned()).spawn(run)?;
        served.retain(|one| !one.thread.is_finished());
        served.push(Served { stream, thread });
        Ok(())
    }

    /// Ends all connections; those that do not end in time by themselves are shut down.
    pub fn close(&self) {
        let served = self.served.lock().take();
        let until = Instant::now() + FAREWELL;
        for Served { stream, thread } in served.into_iter().flatten() {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(POLL_INTERVAL);
            }
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}
