//! A follower whose bytes are carried by somebody else: for simulations.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use super::{
    Following,
    connection::{Break, Session},
};

/// The follower's side of its connections, which starts no thread and never waits: its owner connects it, and says who has
/// a turn. An `Err` says why the connection is over.
pub struct Follows {
    following: Arc<Following>,
    session: Session,
}

impl Follows {
    pub(crate) fn new(following: Arc<Following>) -> Self {
        Self { session: Session::new(following.clone()), following }
    }

    /// The greeting of a new connection.
    pub fn greet(&mut self) -> Result<Vec<u8>, String> {
        let hello = self.session.hello();
        hello.map_err(|broken| self.lose(&broken))
    }

    /// The turn of the thread that listens: a frame, all of which has come, or the end of the stream.
    pub fn hear(&mut self, mut input: &mut dyn Read) -> Result<(), String> {
        let heard = self.session.hear(&mut input);
        heard.map_err(|broken| self.lose(&broken))
    }

    /// The turn of the thread that sends, which begins with the sequencer's greeting.
    pub fn say(&mut self, out: &mut dyn Write) -> Result<(), String> {
        if !self.session.is_greeted() {
            return Ok(());
        }
        let frames = self.following.outbox.take(&self.following.known);
        out.write_all(&frames).map_err(|error| self.lose(&Break::Io(error)))
    }

    /// Nobody can be connected to, for this reason.
    pub fn find_nobody(&mut self, error: std::io::Error) {
        self.lose(&Break::Io(error));
    }

    fn lose(&mut self, broken: &Break) -> String {
        self.following.close();
        let ended = self.session.end(broken);
        self.following.note_end(&ended);
        broken.to_string()
    }

    /// Sequence number of the append that it applies next; `None` before it has a chain.
    pub fn next(&self) -> Option<u64> {
        self.session.next()
    }

    /// Whether it is up to date, and shows what comes.
    pub fn is_live(&self) -> bool {
        self.session.is_live()
    }
}
