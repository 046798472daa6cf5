//! A follower that is served by whoever carries its bytes: for simulations.

use std::{
    io::{BufWriter, Read, Write},
    sync::Arc,
};

use super::{
    Source,
    connection::{Attached, Talk, greet},
    ears::Ears,
    peers::Peer,
};

type Out = BufWriter<Box<dyn Write>>;

/// The sequencer's side of a connection, which starts no thread and never waits: its owner says who has a turn.
pub struct Serves {
    source: Arc<Source>,
    peer: Arc<Peer>,
    ears: Arc<Ears>,
    talk: Talk<Out>,
}

impl Serves {
    /// Reads the greeting, all of which has come.
    pub(crate) fn greet(
        source: &Arc<Source>,
        mut input: &mut dyn Read,
        out: Box<dyn Write>,
    ) -> Result<Self, String> {
        let mut out = BufWriter::new(out);
        let greeted = greet(source, &mut input, &mut out);
        let (hello, peer) = greeted.map_err(|left| left.to_string())?;
        let (attached, ears) = (Attached::to(source, peer.clone()), Arc::<Ears>::default());
        let talk = Talk::new(attached, out, ears.clone(), hello.cursor);
        Ok(Self { source: source.clone(), peer, ears, talk })
    }

    /// The turn of the thread that talks. `Err` says why the connection is over.
    pub fn turn(&mut self) -> Result<(), String> {
        self.talk.turn().map_err(|left| left.to_string())
    }

    /// The turn of the thread that hears: a frame, all of which has come, or the end of the stream. Whether there may be
    /// another.
    pub fn hear(&mut self, mut input: &mut dyn Read) -> bool {
        let open = self.ears.hear(&mut input, &self.source, &self.peer);
        if !open {
            self.ears.end(&self.source);
        }
        open
    }

    /// Whether everything before now has been sent.
    pub fn is_live(&self) -> bool {
        self.talk.is_live()
    }
}
