//! The writing thread: replays the journal, then produces or only serves, then saves the pool.

use std::{
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use foreseal_chain::datadir::{DataDir, SavedPool};
use foreseal_journal::{Identity, JournalReader};
use foreseal_primitives::ChainSpec;
use foreseal_replication::{
    FeedConfig, FeedServer, FeedSource, FrameLog, Pace, Phase, PoolStart, RingLimits, wire::Welcome,
};
use foreseal_store::Store;
use parking_lot::Mutex;

use crate::{
    NodeEnvironment, NodeError, Producer, Role, Settings, StepSigner,
    control::Control,
    sequencer::{BlockInputs, Sequencer},
    sequencer_backend::FeedBackend,
    shared_state::SharedState,
    start::start,
};

/// Maximum lag, in appends, at which a follower receives the pool in a simulation, whose chains are short.
const MANUAL_NEAR: u64 = 2;

/// State of the writing thread.
pub(crate) struct Writer {
    pub(crate) spec: Arc<ChainSpec>,
    pub(crate) settings: Settings,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) datadir: Arc<DataDir>,
    pub(crate) control: Arc<Control>,
    pub(crate) store: Store,
    /// Signer of new steps.
    pub(crate) signer: Option<Arc<StepSigner>>,
    /// Server that feeds followers, once the journal is replayed.
    pub(crate) server: Arc<Mutex<Option<FeedServer>>>,
    /// Size of the ring from which a simulation serves followers without sockets.
    pub(crate) manual: Option<RingLimits>,
    /// FeedSource from which followers are served.
    pub(crate) source: Arc<OnceLock<Arc<FeedSource>>>,
}

impl Writer {
    pub(crate) fn run(self, surroundings: NodeEnvironment) -> Result<(), NodeError> {
        let producer = self.begin(surroundings)?;
        match producer {
            Some(producer) => self.produce(producer)?,
            None => self.serve(),
        }
        self.finish()
    }

    /// Replays the journal, publishes the first view and restores the pool. Returns the producer if blocks
    /// are to be produced.
    pub(crate) fn begin(&self, surroundings: NodeEnvironment) -> Result<Option<Producer>, NodeError> {
        let mut report = |records| self.shared.set_phase(Phase::Replaying { records });
        let files = (self.store.clone(), surroundings.disk, self.shared.store_observers());
        let started = start(&self.datadir, self.spec.clone(), &self.settings, files, &mut report)?;
        self.shared.set_gauge(started.store_writer.gauge());
        let (past, discarded) = (started.journal.reader(), started.journal.discarded());
        if let Some(room) = self.room() {
            let log = FrameLog::new(started.journal.next_sequence(), room);
            self.shared.set_frames(Arc::new(log));
        }
        let makes = BlockInputs { random: surroundings.randomness, signer: self.signer.clone() };
        let sequencer = Sequencer::start(started, self.shared.clone(), self.settings.clone(), makes)?;
        let sequencer = Arc::new(Mutex::new(sequencer));
        self.restore_pool()?;
        let produces = self.settings.produce;
        self.shared.set_phase(if produces { Phase::Producing } else { Phase::Serving });
        self.control.open(sequencer.clone());
        self.serve_followers(past, discarded)?;
        Ok(produces.then(|| Producer::new(sequencer)))
    }

    fn feed(&self) -> Option<&Path> {
        match &self.settings.role {
            Role::Sequencer { feed } => feed.as_deref(),
            Role::Follower { .. } => None,
        }
    }

    /// Returns the capacity of the ring of frames, if followers are to be served.
    fn room(&self) -> Option<RingLimits> {
        self.manual.or_else(|| self.feed().map(|_| RingLimits::default()))
    }

    /// Serves followers, if configured. `past` reads the journal.
    fn serve_followers(&self, past: JournalReader, discarded: Range<u64>) -> Result<(), NodeError> {
        let Some(log) = self.shared.frames() else { return Ok(()) };
        let manual = |_| Pace::manual(self.shared.clock.clone(), MANUAL_NEAR);
        let Settings { produce, ref production, finality, .. } = self.settings;
        let backend = FeedBackend {
            shared: self.shared.clone(),
            datadir: self.datadir.path().to_owned(),
            signer: self.signer.as_ref().map(|signer| signer.address()),
        };
        let config = FeedConfig {
            identity: Identity { chain_id: self.spec.chain_id(), genesis: self.store.options().genesis },
            past,
            discarded,
            log: log.clone(),
            pool: self.shared.pool.clone(),
            clock: self.shared.clock.clone(),
            backend: Arc::new(backend),
            welcome: Welcome { produces: produce, production: production.clone(), depth: finality },
            pace: self.manual.map(manual).unwrap_or_default(),
        };
        let source = self.source.get_or_init(|| Arc::new(FeedSource::new(config)));
        let mut server = self.server.lock();
        // A stop that came before this point found no server to end, so none may start after it.
        if let Some(path) = self.feed()
            && !self.shared.stopping()
        {
            *server = Some(FeedServer::start(path, source.clone())?);
        }
        Ok(())
    }

    /// Saves the pool, records the end of the journal and drains the store's queue, for the next start.
    pub(crate) fn finish(&self) -> Result<(), NodeError> {
        self.datadir.save_pool(&self.shared.pool.save())?;
        self.control.close_journal()?;
        Ok(self.control.drain()?)
    }

    /// Notifies the pool of the fees of the first view, and restores the pool that a clean stop saved.
    fn restore_pool(&self) -> Result<(), NodeError> {
        let view = self.shared.view().expect("a view was just published");
        let header = &view.pending().block.header;
        let (pool, (base_fee, blob_base_fee)) = (&self.shared.pool, self.spec.base_fees(header));
        pool.on_fees(base_fee, blob_base_fee);
        let start = match self.datadir.load_pool()? {
            SavedPool::None => PoolStart::New,
            SavedPool::Lost => PoolStart::LostInCrash,
            SavedPool::Bytes(bytes) => {
                match pool.restore(&bytes, &pool.rules(&self.spec, header), || view.clone()) {
                    Ok(restored) => {
                        self.shared.feed.arrived();
                        PoolStart::Restored(restored.added)
                    }
                    // Transactions that were only in the pool were never pre-confirmed, so they do not
                    // prevent a start.
                    Err(error) => {
                        tracing::warn!(%error, "ignoring the saved pool");
                        PoolStart::LostInCrash
                    }
                }
            }
        };
        self.shared.set_pool_start(start);
        Ok(())
    }

    /// Ticks until the node is stopped. Ticks are paced by the monotonic clock; missed ticks are not made up
    /// for.
    fn produce(&self, mut producer: Producer) -> Result<(), NodeError> {
        let clock = &self.shared.clock;
        let step = self.settings.production.step;
        let mut next = clock.now().monotonic + step;
        while !self.shared.stopping() {
            let now = clock.now();
            if now.monotonic < next {
                self.shared.sleep(clock.real(next.saturating_sub(now.monotonic)));
                continue;
            }
            let until = now.monotonic + producer.budget();
            producer.tick(now, &mut || clock.monotonic() < until)?;
            next = (next + step).max(clock.now().monotonic);
        }
        Ok(())
    }

    /// Waits until the node is stopped: a node that does not produce has published its only view.
    fn serve(&self) {
        while !self.shared.stopping() {
            self.shared.sleep(Duration::from_hours(1));
        }
    }
}
