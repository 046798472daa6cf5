//! A manually driven connection to a follower, for simulations.

use std::{
    io::{BufWriter, Read, Write},
    sync::Arc,
};

use super::{
    ConnectionOrigin, FeedSource,
    disconnect_reason::dismissing,
    feed_source::Registration,
    follower_session::{FollowerSession, admit, read_first},
    peers::Peer,
    request_reader::RequestReader,
};

type FrameWriter = BufWriter<Box<dyn Write>>;

/// The sequencer's side of a connection, which starts no thread and never blocks. Its owner transports the
/// bytes and schedules each iteration.
pub struct ManualServer {
    source: Arc<FeedSource>,
    peer: Arc<Peer>,
    requests: Arc<RequestReader>,
    session: FollowerSession<FrameWriter>,
}

impl ManualServer {
    /// Reads the greeting, which must be complete in `input`. Returns the reason as `Err` if the follower is
    /// rejected.
    pub fn greet(
        source: &Arc<FeedSource>,
        mut input: &mut dyn Read,
        out: Box<dyn Write>,
    ) -> Result<Self, String> {
        let mut out = BufWriter::new(out);
        let admitted = read_first(&mut input).and_then(|first| admit(source, first, ConnectionOrigin::Local));
        let peer = dismissing(admitted, &mut out).map_err(|left| left.to_string())?;
        let (registration, requests) =
            (Registration::new(source, peer.clone()), Arc::<RequestReader>::default());
        let session = FollowerSession::new(registration, out, requests.clone());
        Ok(Self { source: source.clone(), peer, requests, session })
    }

    /// Runs one iteration of the sending thread. Returns the reason as `Err` if the connection has ended.
    pub fn run_once(&mut self) -> Result<(), String> {
        self.session.run_once().map_err(|left| left.to_string())
    }

    /// Runs one iteration of the receiving thread: reads a frame, complete in `input`, or the end of the
    /// stream. Returns `true` if there may be another frame.
    pub fn receive(&mut self, mut input: &mut dyn Read) -> bool {
        let open = self.requests.receive(&mut input, &self.source, &self.peer);
        if !open {
            self.requests.end(&self.source);
        }
        open
    }

    /// Returns `true` if the follower has been sent the whole backlog.
    pub fn is_live(&self) -> bool {
        self.session.is_live()
    }
}
