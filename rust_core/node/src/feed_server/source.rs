//! State that all connections to followers share, and the registration of a follower.

use std::{ops::Range, path::PathBuf, sync::Arc};

use alloy_primitives::Address;
use foreseal_journal::{Identity, JournalReader};
use parking_lot::Mutex;

use super::{
    FrameLog, Pace,
    peers::{Peer, Peers},
};
use crate::{shared::Shared, wire::Welcome};

/// State that all connections share.
pub(crate) struct FeedSource {
    pub identity: Identity,
    pub past: JournalReader,
    pub log: Arc<FrameLog>,
    pub shared: Arc<Shared>,
    pub welcome: Welcome,
    pub signer: Option<Address>,
    pub pace: Pace,
    pub peers: Peers,
    /// Number of connections that listen to the pool, locked while it changes.
    pub listeners: Mutex<usize>,
    /// The data directory.
    pub datadir: PathBuf,
    /// Sequence numbers of appends that a repair has discarded: followers may have seen them.
    pub discarded: Range<u64>,
}

/// Registration of a connected follower; dropping it unregisters the follower.
pub(super) struct Attached {
    pub source: Arc<FeedSource>,
    pub peer: Arc<Peer>,
}

impl Attached {
    pub fn to(source: &Arc<FeedSource>, peer: Arc<Peer>) -> Self {
        source.log.attach();
        {
            let mut listeners = source.listeners.lock();
            *listeners += 1;
            if *listeners == 1 {
                source.shared.pool.listen(Some(source.log.clone()));
            }
        }
        source.peers.add(peer.clone());
        Self { source: source.clone(), peer }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        {
            let mut listeners = self.source.listeners.lock();
            *listeners -= 1;
            if *listeners == 0 {
                self.source.shared.pool.listen(None);
            }
        }
        self.source.log.detach();
        self.source.peers.remove(&self.peer);
    }
}
