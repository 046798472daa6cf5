//! Feed and followers without sockets and threads, for a simulation that carries the bytes itself.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use foreseal_replication::{ManualFollower, ManualServer, RingLimits};

use crate::{Node, NodeError, Producer, Watcher, node::NodeRole};

impl Node {
    /// Starts the node like [`Self::start_watched`], with the caller driving the connections. A sequencer
    /// serves followers from a ring of this size ([`Self::serve_manual`]); a follower is driven with
    /// [`Self::follow_manual`].
    pub fn start_manual(
        &self,
        watcher: Arc<dyn Watcher>,
        ring: RingLimits,
    ) -> Result<Option<Producer>, NodeError> {
        self.shared.set_watcher(watcher);
        match &self.part {
            NodeRole::Writer(writing) => self.begin(writing, Some(ring)),
            NodeRole::Follower(_) => Ok(None),
        }
    }

    /// Accepts a follower whose greeting is the next frame of `input`, and sends frames to `out`.
    ///
    /// # Errors
    /// Returns the reason if the follower is rejected or none are served.
    pub fn serve_manual(&self, input: &mut dyn Read, out: Box<dyn Write>) -> Result<ManualServer, String> {
        match &self.part {
            NodeRole::Writer(writing) => {
                let source = writing.source.get().ok_or("no followers are served")?;
                ManualServer::greet(source, input, out)
            }
            NodeRole::Follower(_) => Err("a follower cannot serve followers".to_owned()),
        }
    }

    /// Returns the driver of a follower; `None` on a sequencer.
    pub fn follow_manual(&self) -> Option<ManualFollower> {
        match &self.part {
            NodeRole::Writer(_) => None,
            NodeRole::Follower(following) => Some(ManualFollower::new(following.clone())),
        }
    }

    /// Returns the number of appends up to the newest view; `None` if followers are not served.
    pub fn appends(&self) -> Option<u64> {
        Some(self.shared.frames()?.status().next)
    }
}
