//! State that all connections to followers share, and the registration of a follower.

use std::{ops::Range, sync::Arc};

use foreseal_chain::Clock;
use foreseal_journal::{Identity, JournalReader};
use foreseal_pool::Pool;
use parking_lot::Mutex;

use super::{
    FrameLog, Pace, SequencerBackend,
    peers::{Peer, Peers},
};
use crate::wire::Welcome;

/// Inputs of a feed.
pub struct FeedConfig {
    pub identity: Identity,
    /// Reader of the journal, for followers that are behind.
    pub past: JournalReader,
    /// Sequence numbers of appends that a repair has discarded: followers may have seen them.
    pub discarded: Range<u64>,
    pub log: Arc<FrameLog>,
    pub pool: Arc<Pool>,
    /// Clock of the chain.
    pub clock: Arc<dyn Clock>,
    pub backend: Arc<dyn SequencerBackend>,
    pub welcome: Welcome,
    pub pace: Pace,
}

/// State that all connections share.
pub struct FeedSource {
    pub(super) identity: Identity,
    pub(super) past: JournalReader,
    pub(super) discarded: Range<u64>,
    pub(super) log: Arc<FrameLog>,
    pub(super) pool: Arc<Pool>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) backend: Arc<dyn SequencerBackend>,
    pub(super) welcome: Welcome,
    pub(super) pace: Pace,
    pub(super) peers: Peers,
    /// Number of connections that listen to the pool, locked while it changes.
    listeners: Mutex<usize>,
}

impl FeedSource {
    pub fn new(config: FeedConfig) -> Self {
        let FeedConfig { identity, past, discarded, log, pool, clock, backend, welcome, pace } = config;
        let (peers, listeners) = (Peers::default(), Mutex::default());
        Self { identity, past, discarded, log, pool, clock, backend, welcome, pace, peers, listeners }
    }
}

/// Registration of a connected follower; dropping it unregisters the follower.
pub(super) struct Registration {
    pub source: Arc<FeedSource>,
    pub peer: Arc<Peer>,
}

impl Registration {
    pub fn new(source: &Arc<FeedSource>, peer: Arc<Peer>) -> Self {
        source.log.attach();
        {
            let mut listeners = source.listeners.lock();
            *listeners += 1;
            if *listeners == 1 {
                source.pool.set_sink(Some(source.log.clone()));
            }
        }
        source.peers.add(peer.clone());
        Self { source: source.clone(), peer }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        {
            let mut listeners = self.source.listeners.lock();
            *listeners -= 1;
            if *listeners == 0 {
                self.source.pool.set_sink(None);
            }
        }
        self.source.log.detach();
        self.source.peers.remove(&self.peer);
    }
}
