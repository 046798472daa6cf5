//! State that all connections to followers share, and the registration of a follower.

use std::{
    ops::Range,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use foreseal_chain::Clock;
use foreseal_journal::{Identity, JournalReader};
use foreseal_pool::Pool;
use parking_lot::Mutex;

use super::{
    DirectoryCopySource, FrameLog, Pace, SequencerBackend,
    peers::{Peer, Peers},
};
use crate::log_limiter::LogLimiter;

/// Minimum time between two log lines about followers that contradict the journal.
const CONTRADICTION_LOG_INTERVAL: Duration = Duration::from_mins(1);

/// Inputs of a feed.
pub struct FeedConfig {
    pub identity: Identity,
    /// Reader of the journal, for followers that are behind.
    pub journal_reader: JournalReader,
    /// Sequence numbers of appends that a repair has discarded: followers may have seen them.
    pub discarded: Range<u64>,
    pub log: Arc<FrameLog>,
    pub pool: Arc<Pool>,
    /// Clock of the chain.
    pub clock: Arc<dyn Clock>,
    pub backend: Arc<dyn SequencerBackend>,
    pub pace: Pace,
    /// Source of copies of the data directory for new machines; `None` sends none.
    pub copies: Option<Arc<dyn DirectoryCopySource>>,
    /// Maximum number of copies of the data directory that are sent at a time.
    pub max_copies: u32,
}

impl FeedConfig {
    /// Default of `max_copies`: each reads the whole store.
    pub const MAX_COPIES: u32 = 2;
}

/// State that all connections share.
pub struct FeedSource {
    pub(super) config: FeedConfig,
    pub(super) peers: Peers,
    /// Number of copies of the data directory that are being sent.
    pub(super) sending: AtomicU32,
    /// Limits the log of followers that contradict the journal.
    pub(super) contradictions: LogLimiter,
    /// Number of connections that listen to the pool, locked while it changes.
    listeners: Mutex<usize>,
}

impl FeedSource {
    pub fn new(config: FeedConfig) -> Self {
        Self {
            config,
            peers: Peers::default(),
            sending: AtomicU32::new(0),
            contradictions: LogLimiter::new(CONTRADICTION_LOG_INTERVAL),
            listeners: Mutex::default(),
        }
    }
}

/// Registration of a connected follower; dropping it unregisters the follower.
pub(super) struct Registration {
    pub source: Arc<FeedSource>,
    pub peer: Arc<Peer>,
}

impl Registration {
    pub fn new(source: &Arc<FeedSource>, peer: Arc<Peer>) -> Self {
        source.config.log.attach();
        {
            let mut listeners = source.listeners.lock();
            *listeners += 1;
            if *listeners == 1 {
                source.config.pool.set_sink(Some(source.config.log.clone()));
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
                self.source.config.pool.set_sink(None);
            }
        }
        self.source.config.log.detach();
        self.source.peers.remove(&self.peer);
    }
}
