//! Feed and followers without a socket and without threads, for a simulation that carries the bytes itself.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use crate::{Follows, Node, NodeError, Producer, Room, Serves, Watcher, node::Part};

impl Node {
    /// As [`Self::start_watched`], with followers that are served by hand from a ring of this size
    /// ([`Self::serve_by_hand`]). A follower follows by hand ([`Self::follow_by_hand`]).
    pub fn start_by_hand(
        &self,
        watcher: Arc<dyn Watcher>,
        ring: Room,
    ) -> Result<Option<Producer>, NodeError> {
        self.shared.set_watcher(watcher);
        match &self.part {
            Part::Writer(writing) => self.begin(writing, Some(ring)),
            Part::Follower(_) => Ok(None),
        }
    }

    /// Takes in a follower whose greeting is the next frame of `input`; `out` takes what it is sent. `Err` says why not.
    pub fn serve_by_hand(&self, input: &mut dyn Read, out: Box<dyn Write>) -> Result<Serves, String> {
        match &self.part {
            Part::Writer(writing) => {
                let source = writing.source.get().ok_or("no followers are served")?;
                Serves::greet(source, input, out)
            }
            Part::Follower(_) => Err("a follower serves no followers".to_owned()),
        }
    }

    /// Follows by hand; `None` for a node that is followed.
    pub fn follow_by_hand(&self) -> Option<Follows> {
        match &self.part {
            Part::Writer(_) => None,
            Part::Follower(following) => Some(Follows::new(following.clone())),
        }
    }

    /// How many appends there were up to the newest view, where followers are served.
    pub fn appends(&self) -> Option<u64> {
        Some(self.shared.frames()?.standing().next)
    }
}
