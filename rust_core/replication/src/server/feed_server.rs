//! The socket that followers connect to.

use std::{
    fs, io,
    net::Shutdown,
    os::{
        fd::OwnedFd,
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::{UnixListener, UnixStream},
        },
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use super::{FeedSource, FollowerStatus, follower_session::serve};
use crate::ReplicationError;

/// Grace period at shutdown for connections that are still being served.
const FAREWELL: Duration = Duration::from_secs(2);
/// Interval at which the shutdown checks those connections.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Delay after a connection could not be accepted, for example because file descriptors ran out.
const PAUSE: Duration = Duration::from_millis(100);

/// The listening socket, and a thread for each follower.
pub struct FeedServer {
    source: Arc<FeedSource>,
    path: PathBuf,
    listener: UnixListener,
    stopping: Arc<AtomicBool>,
    accepting: Mutex<Option<JoinHandle<()>>>,
    served: Arc<Mutex<Vec<Served>>>,
}

struct Served {
    stream: UnixStream,
    thread: JoinHandle<()>,
}

impl FeedServer {
    /// Listens at `path`, accessible only to the owner of this process.
    pub fn start(path: &Path, source: Arc<FeedSource>) -> Result<Self, ReplicationError> {
        let failed = |error: io::Error| ReplicationError::io("listen for followers at", path, &error);
        let listener = listen(path).map_err(failed)?;
        let server = Self {
            source,
            path: path.to_owned(),
            listener: listener.try_clone().map_err(failed)?,
            stopping: Arc::default(),
            accepting: Mutex::default(),
            served: Arc::default(),
        };
        let (source, served, stopping) =
            (server.source.clone(), server.served.clone(), server.stopping.clone());
        let run = move || {
            while !stopping.load(Ordering::Acquire) {
                let taken = listener.accept().and_then(|(stream, _)| accept(&source, &served, stream));
                // A connection that cannot be served is closed; the follower connects again.
                if let Err(error) = taken
                    && !stopping.load(Ordering::Acquire)
                {
                    tracing::warn!(%error, "cannot serve a follower");
                    std::thread::sleep(PAUSE);
                }
            }
        };
        let thread = std::thread::Builder::new().name("foreseal-feed-in".to_owned()).spawn(run);
        *server.accepting.lock() = Some(thread.map_err(failed)?);
        Ok(server)
    }

    /// Returns the status of the connected followers.
    pub fn followers(&self) -> Vec<FollowerStatus> {
        let next = self.source.config.log.status().next;
        self.source.peers.status(next, self.source.config.clock.now().monotonic)
    }

    /// Stops accepting connections, notifies the connected followers, and ends. A second call does nothing.
    pub fn stop(&self) {
        let Some(accepting) = self.accepting.lock().take() else { return };
        self.stopping.store(true, Ordering::Release);
        self.source.config.log.close();
        if let Ok(listener) = self.listener.try_clone() {
            // Shutting down a listening socket wakes the thread that blocks in `accept`.
            let _ = UnixStream::from(OwnedFd::from(listener)).shutdown(Shutdown::Both);
        }
        let _ = accepting.join();
        let _ = fs::remove_file(&self.path);
        let until = Instant::now() + FAREWELL;
        for Served { stream, thread } in self.served.lock().drain(..) {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(POLL_INTERVAL);
            }
            let _ = stream.shutdown(Shutdown::Both);
            let _ = thread.join();
        }
    }
}

impl Drop for FeedServer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn accept(source: &Arc<FeedSource>, served: &Mutex<Vec<Served>>, stream: UnixStream) -> io::Result<()> {
    let own = stream.try_clone()?;
    let source = source.clone();
    let run = move || {
        if let Err(error) = serve(&source, &own) {
            tracing::info!(%error, "follower disconnected");
        }
        let _ = own.shutdown(Shutdown::Both);
    };
    let thread = std::thread::Builder::new().name("foreseal-feed-out".to_owned()).spawn(run)?;
    let mut served = served.lock();
    served.retain(|one| !one.thread.is_finished());
    served.push(Served { stream, thread });
    Ok(())
}

/// Creates a socket that no other user can ever connect to: it is renamed into place after its permissions
/// are set.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file there is not a socket"));
        }
        _ => {}
    }
    let draft = path.with_extension("new");
    // Leftover of a process that was killed.
    let _ = fs::remove_file(&draft);
    let listener = UnixListener::bind(&draft)?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))?;
    fs::rename(&draft, path)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use alloy_primitives::B256;
    use foreseal_chain::{FinalityDepth, SystemClock};
    use foreseal_journal::{Identity, JournalReader, RealDisk};
    use foreseal_pool::{Admission, Pool, PoolConfig};
    use foreseal_store::DamageReport;

    use super::*;
    use crate::{
        Phase, PoolStart, Production, SequencerBackend, SubmitError,
        server::{FeedConfig, FrameLog, Pace, RingLimits},
        wire::{Cursor, Hello, MAX_RESPONSE_SIZE, Request, SequencerReport, Welcome, read_frame},
    };

    /// A sequencer that only serves.
    struct Idle;

    impl SequencerBackend for Idle {
        fn phase(&self) -> Phase {
            Phase::Serving
        }

        fn report(&self) -> SequencerReport {
            SequencerReport { phase: Phase::Serving, pool_start: PoolStart::New, signer: None, store: None }
        }

        fn age(&self) -> Duration {
            Duration::ZERO
        }

        fn latest(&self) -> u64 {
            0
        }

        fn admit(&self, _: &[u8], _: bool) -> Result<Admission, SubmitError> {
            Err(SubmitError::Starting)
        }

        fn answer(&self, _: &[u8]) -> Option<Vec<u8>> {
            None
        }

        fn confirm_damage(&self, _: &DamageReport, _: &str) {}

        fn end_for_lost_append(&self, _: u64, _: String) {}
    }

    fn source(folder: &Path) -> FeedSource {
        let identity = Identity { chain_id: 1, genesis: B256::ZERO };
        let (production, depth) = (Production::default(), FinalityDepth::default());
        FeedSource::new(FeedConfig {
            identity,
            past: JournalReader::new(folder.to_owned(), Arc::new(RealDisk), identity, 0),
            discarded: 0..0,
            log: Arc::new(FrameLog::new(0, RingLimits::default())),
            pool: Arc::new(Pool::new(PoolConfig::default())),
            clock: Arc::new(SystemClock::default()),
            backend: Arc::new(Idle),
            welcome: Welcome { produces: true, production, depth },
            pace: Pace::default(),
        })
    }

    #[test]
    fn followers_are_accepted_after_a_failed_accept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("feed.sock");
        let server = FeedServer::start(&path, Arc::new(source(folder.path()))).unwrap();
        // Without a waiting follower the next accept fails.
        server.listener.set_nonblocking(true).unwrap();
        for _ in 0..3 {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let identity = Identity { chain_id: 2, genesis: B256::ZERO };
            let hello = Hello { identity, name: String::new(), cursor: Cursor::From { sequence: 0 } };
            stream.write_all(&Request::Hello(hello).encode()).unwrap();
            read_frame(&mut stream, MAX_RESPONSE_SIZE)
                .unwrap()
                .expect("it is told that it follows another chain");
        }
        server.stop();
    }
}
