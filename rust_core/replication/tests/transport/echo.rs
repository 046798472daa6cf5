//! A listener whose sessions send back what they receive.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use foreseal_replication::{FeedAddress, FeedListener, FeedSecurity, ListenerLimits};

/// Time after which a test fails instead of waiting for ever.
const MAX_WAIT: Duration = Duration::from_mins(1);

pub struct Echo {
    pub listener: FeedListener,
    /// Number of connections that reached a session.
    pub sessions: Arc<AtomicUsize>,
}

impl Echo {
    pub fn start(scheme: &str, security: &FeedSecurity, limits: ListenerLimits) -> Self {
        let sessions = Arc::<AtomicUsize>::default();
        let count = sessions.clone();
        let admit = move |stream: UnixStream| {
            count.fetch_add(1, Ordering::AcqRel);
            std::thread::Builder::new().spawn(move || echo(&stream)).map(drop)
        };
        let address = FeedAddress::parse(&format!("{scheme}://127.0.0.1:0")).unwrap();
        Self { listener: FeedListener::start(&address, security, limits, admit).unwrap(), sessions }
    }

    pub fn address(&self) -> &FeedAddress {
        self.listener.address()
    }

    pub fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Acquire)
    }

    /// Opens a TCP connection that takes part in no protocol.
    pub fn open_tcp(&self) -> TcpStream {
        let (FeedAddress::Tcp { port, .. } | FeedAddress::Tls { port, .. }) = *self.address() else {
            panic!("a network listener has a port");
        };
        let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
        stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
        stream
    }
}

fn echo(stream: &UnixStream) {
    let _ = io::copy(&mut &*stream, &mut &*stream);
}

/// Checks that `bytes` return over the connection.
pub fn check_echo(stream: &UnixStream, bytes: &[u8]) {
    stream.set_read_timeout(Some(MAX_WAIT)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| (&*stream).write_all(bytes).unwrap());
        let mut returned = vec![0; bytes.len()];
        (&*stream).read_exact(&mut returned).unwrap();
        assert!(returned == bytes, "other bytes returned");
    });
}

/// Reads to the end of the stream, which may also be a reset connection.
pub fn read_to_end(mut stream: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => panic!("{error}"),
        _ => bytes,
    }
}
