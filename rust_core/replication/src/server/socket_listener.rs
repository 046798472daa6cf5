//! A Unix socket that followers on this machine connect to.

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
    time::Duration,
};

use parking_lot::Mutex;

/// Delay after a connection could not be accepted, for example because file descriptors ran out.
const PAUSE: Duration = Duration::from_millis(100);

/// A listening Unix socket with its accepting thread.
pub(super) struct SocketListener {
    path: PathBuf,
    listener: UnixListener,
    stopping: Arc<AtomicBool>,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl SocketListener {
    /// Listens at `path`, accessible only to the owner of this process, and passes each connection to `admit`.
    pub fn start(
        path: &Path,
        admit: impl Fn(UnixStream) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = listen(path)?;
        let stopping = Arc::<AtomicBool>::default();
        let (own, stop) = (listener.try_clone()?, stopping.clone());
        let run = move || {
            while !stop.load(Ordering::Acquire) {
                let accepted = own.accept().and_then(|(stream, _)| admit(stream));
                // A connection that cannot be served is closed; the follower connects again.
                if let Err(error) = accepted
                    && !stop.load(Ordering::Acquire)
                {
                    tracing::warn!(%error, "cannot serve a follower");
                    std::thread::sleep(PAUSE);
                }
            }
        };
        let thread = std::thread::Builder::new().name("foreseal-feed-in".to_owned()).spawn(run)?;
        Ok(Self { path: path.to_owned(), listener, stopping, accepting: Mutex::new(Some(thread)) })
    }

    /// Stops accepting connections and removes the socket. A second call does nothing.
    pub fn stop(&self) {
        let Some(accepting) = self.accepting.lock().take() else { return };
        self.stopping.store(true, Ordering::Release);
        if let Ok(listener) = self.listener.try_clone() {
            // Shutting down a listening socket wakes the thread that blocks in `accept`.
            let _ = UnixStream::from(OwnedFd::from(listener)).shutdown(Shutdown::Both);
        }
        let _ = accepting.join();
        let _ = fs::remove_file(&self.path);
    }
}

impl Drop for SocketListener {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Creates a socket that no other user can ever connect to: it is renamed into place after its permissions
/// are set.
fn listen(path: &Path) -> io::Result<UnixListener> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.file_type().is_socket() => {
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
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn connections_are_accepted_after_a_failed_accept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("feed.sock");
        let (admitted, connections) = mpsc::channel();
        let admit = move |stream| admitted.send(stream).map_err(io::Error::other);
        let listener = SocketListener::start(&path, admit).unwrap();
        // Without a waiting connection the next accept fails.
        listener.listener.set_nonblocking(true).unwrap();
        for _ in 0..3 {
            let _stream = UnixStream::connect(&path).unwrap();
            connections.recv_timeout(Duration::from_secs(30)).expect("the connection is accepted");
        }
        listener.stop();
        assert!(!path.exists());
    }
}
