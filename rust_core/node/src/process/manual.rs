//! Feed and followers without sockets and threads, for a simulation that carries the bytes itself.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use foreseal_replication::{FeedAddress, FollowerClient, ManualFollower, ManualServer, RingLimits};

use crate::{
    cluster::member_loop::MemberLoop,
    control::producer::Producer,
    errors::node_error::NodeError,
    observe::points::Watcher,
    process::node::{Node, NodeRole},
};

impl Node {
    /// Starts the node like [`Self::start_watched`], with the caller driving the connections. A sequencer
    /// serves followers from a ring of this size ([`Self::serve_manual`]); a follower is driven with
    /// [`Self::follow_manual`].
    pub fn start_manual(
        &self,
        watcher: Arc<dyn Watcher>,
        ring: RingLimits,
    ) -> Result<Option<Producer>, NodeError> {
        self.shared.publication.set_watcher(watcher);
        match &self.part {
            NodeRole::Writer(writing) => self.begin(writing, Some(ring)),
            NodeRole::Worker(_) => Ok(None),
        }
    }

    /// Starts a member of a cluster like [`Self::start_member`], with the caller driving its connections as after
    /// [`Self::start_manual`]. It listens at no socket, and probes none.
    pub fn start_member_manual(
        &self,
        watcher: Arc<dyn Watcher>,
        ring: RingLimits,
    ) -> Result<Option<MemberLoop>, NodeError> {
        self.shared.publication.set_watcher(watcher);
        self.begin_member(Some(ring))
    }

    /// Returns the client that follows another process, even while it has nothing to follow.
    fn upstream(&self) -> Option<&Arc<FollowerClient>> {
        match &self.part {
            NodeRole::Writer(writing) => writing.upstream.get(),
            NodeRole::Worker(following) => Some(following),
        }
    }

    /// Returns the addresses of the feed that a member or a replica wants to follow now, in the order in which
    /// they are tried.
    pub fn follow_addresses(&self) -> Vec<FeedAddress> {
        self.upstream().map(|client| client.addresses()).unwrap_or_default()
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
            NodeRole::Worker(_) => Err("a follower cannot serve followers".to_owned()),
        }
    }

    /// Returns the loop of a follower, once; `None` on a sequencer.
    pub fn follow_manual(&self) -> Option<ManualFollower> {
        self.following().cloned().and_then(ManualFollower::new)
    }

    /// Returns the number of appends up to the newest view; `None` if followers are not served.
    pub fn appends(&self) -> Option<u64> {
        Some(self.shared.publication.frames()?.status().next)
    }
}
