//! A manually driven follower, for simulations.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use super::{
    FollowerClient,
    session::{ConnectionError, Session},
};

/// The follower's side of its connections, which starts no thread and never blocks. Its owner transports the
/// bytes and schedules each iteration. An `Err` is the reason for which the connection ended.
pub struct ManualFollower {
    client: Arc<FollowerClient>,
    session: Session,
}

impl ManualFollower {
    /// Creates the driver of `client`; `None` if it has one.
    pub fn new(client: Arc<FollowerClient>) -> Option<Self> {
        Some(Self { session: Session::new(client.clone())?, client })
    }

    /// Returns the greeting of a new connection.
    pub fn greet(&mut self) -> Result<Vec<u8>, ConnectionError> {
        let hello = self.session.hello();
        hello.map_err(|broken| self.lose(broken))
    }

    /// Runs one iteration of the receiving thread: reads a frame, complete in `input`, or the end of the
    /// stream.
    pub fn receive(&mut self, mut input: &mut dyn Read) -> Result<(), ConnectionError> {
        let received = self.session.receive(&mut input);
        received.map_err(|broken| self.lose(broken))
    }

    /// Runs one iteration of the sending thread, which starts after the sequencer's greeting.
    pub fn send_due(&mut self, out: &mut dyn Write) -> Result<(), ConnectionError> {
        if !self.session.is_greeted() {
            return Ok(());
        }
        let frames = self.client.outbox.drain_frames(&self.client.sequencer);
        out.write_all(&frames).map_err(|error| self.lose(ConnectionError::Io(error)))
    }

    /// Records that connecting failed with this error.
    pub fn connection_failed(&mut self, error: std::io::Error) {
        self.lose(ConnectionError::Io(error));
    }

    fn lose(&mut self, broken: ConnectionError) -> ConnectionError {
        self.client.close();
        let ended = self.session.end(&broken);
        self.client.note_end(&ended);
        broken
    }

    /// Returns the sequence number of the append that it applies next; `None` before it has a chain.
    pub fn next(&self) -> Option<u64> {
        self.session.next()
    }

    /// Returns `true` if the follower is up to date and publishes new views.
    pub fn is_live(&self) -> bool {
        self.session.is_live()
    }
}
