//! The writing thread: replays the journal, then produces or only serves, then saves the pool.

use std::{
    ops::Range,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use foreseal_chain::{
    GenesisBlock,
    datadir::{DataDir, SavedPool},
};
use foreseal_journal::{Identity, JournalReader};
use foreseal_primitives::ChainSpec;
use foreseal_quorum::{Owner, QuorumKeys, QuorumLog, QuorumWriter, RunId};
use foreseal_replication::{
    DirectoryCopySource, FeedAddress, FeedConfig, FeedConnector, FeedSecurity, FeedServer, FeedSource,
    FollowerClient, FollowerConfig, FollowerProfile, FrameLog, ListenerLimits, Pace, Phase, PoolStart,
    RingLimits, Upstream,
    wire::{FollowerRole, Welcome},
};
use foreseal_store::Store;
use parking_lot::Mutex;

use crate::{
    cluster::{
        busy_beat::BusyBeat,
        cluster_monitor::ClusterMonitor,
        feed_backend::FeedBackend,
        feed_probe::FeedProbe,
        interval_thread::IntervalThread,
        member::{ClusterMember, MemberParts},
        member_loop::MemberLoop,
        mirror_chain::MirrorChain,
        quorum_watch::QuorumWatch,
        replica_appends::AppendCheck,
    },
    control::{
        producer::Producer,
        sequencer::{BlockInputs, Sequencer},
        sequencer_access::SequencerAccess,
    },
    errors::node_error::NodeError,
    process::production_loop::{MemberWork, run_until_stopped},
    produce::step_signer::StepSigner,
    settings::{
        Role, Settings,
        environment::{NodeEnvironment, Randomness},
    },
    shared::shared_state::SharedState,
    store::{opened_chain::ChainOrigin, start::start},
};

/// Part of a step's time after which a transaction is stopped: half of the time for selecting transactions.
const TRANSACTION_SHARE: u32 = 4;
/// Maximum lag, in appends, at which a follower receives the pool in a simulation, whose chains are short.
const MANUAL_NEAR: u64 = 2;

/// State of the writing thread.
pub(crate) struct ChainThread {
    pub(crate) spec: Arc<ChainSpec>,
    /// Genesis block of a new chain, until the journal is replayed.
    pub(crate) genesis: Mutex<Option<GenesisBlock>>,
    pub(crate) settings: Settings,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) datadir: Arc<DataDir>,
    pub(crate) control: Arc<SequencerAccess>,
    pub(crate) store: Store,
    /// Signer of new steps.
    pub(crate) signer: Option<Arc<StepSigner>>,
    /// Server that feeds followers, once the journal is replayed.
    pub(crate) server: Arc<Mutex<Option<FeedServer>>>,
    /// Size of the ring from which a simulation serves followers without sockets.
    pub(crate) manual: Option<RingLimits>,
    /// FeedSource from which followers are served.
    pub(crate) source: Arc<OnceLock<Arc<FeedSource>>>,
    /// Client that follows another machine.
    pub(crate) upstream: Arc<OnceLock<Arc<FollowerClient>>>,
    /// Status of a member of a cluster.
    pub(crate) monitor: Arc<OnceLock<Arc<ClusterMonitor>>>,
    /// Credentials for other machines.
    pub(crate) security: FeedSecurity,
    /// Source of copies of the data directory for new machines.
    pub(crate) copies: Option<Arc<dyn DirectoryCopySource>>,
}

/// Work of a started writer.
pub(crate) enum Begun {
    /// Readers are served; another thread follows, if any.
    Serving,
    Producing(Producer),
    Member(Box<MemberLoop>),
}

impl ChainThread {
    pub(crate) fn run(self, environment: NodeEnvironment) -> Result<(), NodeError> {
        match self.begin(environment)? {
            Begun::Serving => self.serve(),
            Begun::Producing(producer) => self.produce(producer)?,
            Begun::Member(member_loop) => self.run_member(*member_loop)?,
        }
        self.finish()
    }

    /// Replays the journal and publishes the first view. Returns the work that remains for the role.
    pub(crate) fn begin(&self, mut environment: NodeEnvironment) -> Result<Begun, NodeError> {
        let mut report = |records| self.shared.health.set_phase(Phase::Replaying { records });
        let files = (self.store.clone(), environment.disk, self.shared.store_observers());
        let origin = ChainOrigin { spec: self.spec.clone(), genesis: self.genesis.lock().take() };
        let started = start(&self.datadir, origin, &self.settings, files, &mut report)?;
        self.shared.health.set_gauge(started.store_writer.gauge());
        let (journal_reader, discarded) = (started.journal.reader(), started.journal.discarded());
        if let Some(room) = self.room() {
            let log = FrameLog::new(started.journal.next_sequence(), room);
            self.shared.publication.set_frames(Arc::new(log));
        }
        let run_id = self.run_id(&mut environment.randomness);
        let quorum = self.quorum();
        let inputs = BlockInputs {
            random: environment.randomness,
            signer: self.signer.clone(),
            quorum: quorum.as_ref().map(|(_, writer)| writer.clone()),
        };
        let sequencer = Sequencer::start(started, self.shared.clone(), self.settings.clone(), inputs)?;
        let sequencer = Arc::new(Mutex::new(sequencer));
        let chain = MirrorChain {
            sequencer: sequencer.clone(),
            shared: self.shared.clone(),
            journal_reader: journal_reader.clone(),
            check: if quorum.is_some() { AppendCheck::Execution } else { AppendCheck::Roots },
            begun: false,
        };
        if let Role::Replica { upstream, .. } = &self.settings.role {
            let profile = self.profile(run_id, FollowerRole::Replica, None);
            self.follow(chain, upstream.clone(), profile)?;
            self.serve_followers(journal_reader, discarded)?;
            self.control.open(sequencer);
            return Ok(Begun::Serving);
        }
        self.restore_pool()?;
        self.control.open(sequencer.clone());
        if let Some((log, writer)) = quorum {
            let mut owner = self.owner(run_id);
            self.follow(chain, Vec::new(), self.profile(run_id, FollowerRole::Standby, Some(&owner)))?;
            let bound = self.serve_followers(journal_reader.clone(), discarded)?;
            owner.feed = self.advertised(bound);
            let monitor = Arc::new(ClusterMonitor::new(owner.name.clone(), writer.lock().health()));
            self.monitor.get_or_init(|| monitor.clone());
            let member = ClusterMember::new(MemberParts {
                log,
                writer,
                sequencer: sequencer.clone(),
                client: self.upstream.get().expect("follow has set it").clone(),
                shared: self.shared.clone(),
                monitor,
                journal_reader,
                profile: owner,
                standby: self.settings.cluster.quorum.as_ref().is_some_and(|quorum| quorum.standby),
                probe: self.manual.is_none().then(FeedProbe::start),
            });
            let member_loop = MemberLoop::new(member, Producer::new(sequencer));
            return Ok(Begun::Member(Box::new(member_loop)));
        }
        let produces = self.settings.produce;
        self.shared.health.set_phase(if produces { Phase::Producing } else { Phase::Serving });
        self.serve_followers(journal_reader, discarded)?;
        Ok(if produces { Begun::Producing(Producer::new(sequencer)) } else { Begun::Serving })
    }

    /// Returns a random identity of this run, if other machines need one.
    fn run_id(&self, randomness: &mut Randomness) -> RunId {
        let mut id = [0; 16];
        if !self.settings.works_alone() {
            id.copy_from_slice(&randomness()[..16]);
        }
        RunId(id)
    }

    /// Returns the quorum journal and its writer, if the settings have one.
    fn quorum(&self) -> Option<(QuorumLog, Arc<Mutex<QuorumWriter>>)> {
        let settings = self.settings.cluster.quorum.as_ref()?;
        let log = QuorumLog::new(settings.store.clone(), QuorumKeys::new(&settings.prefix, &self.identity()));
        let shared = self.shared.clone();
        let stop = Box::new(move || shared.stop.is_stopping());
        let metrics = self.shared.metrics.clone();
        let on_append = Box::new(move |time| metrics.quorum_append.add(time));
        let writer = QuorumWriter::new(log.clone(), self.shared.clock.clone(), stop, on_append);
        Some((log, Arc::new(Mutex::new(writer))))
    }

    fn owner(&self, run_id: RunId) -> Owner {
        let cluster = &self.settings.cluster;
        Owner {
            run_id,
            epoch: 0,
            name: cluster.name.clone(),
            feed: String::new(),
            rpc: cluster.rpc.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            successor: None,
            released: false,
        }
    }

    /// Returns the address of the feed that other machines use, given the address that is listened at.
    fn advertised(&self, bound: Option<FeedAddress>) -> String {
        let address = self.settings.cluster.advertise.clone().or(bound);
        address
            .or_else(|| self.feed().map(|path| FeedAddress::Unix(path.to_owned())))
            .map(|address| address.to_string())
            .unwrap_or_default()
    }

    fn profile(&self, run_id: RunId, role: FollowerRole, owner: Option<&Owner>) -> FollowerProfile {
        let cluster = &self.settings.cluster;
        FollowerProfile {
            name: owner.map_or_else(|| cluster.name.clone(), |owner| owner.name.clone()),
            role,
            run_id: run_id.0,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rpc: cluster.rpc.clone(),
        }
    }

    /// Starts to follow another machine.
    fn follow(
        &self,
        chain: MirrorChain,
        addresses: Vec<FeedAddress>,
        profile: FollowerProfile,
    ) -> Result<(), NodeError> {
        let connector = FeedConnector::new(self.security.clone());
        let config = FollowerConfig {
            identity: self.identity(),
            upstream: Upstream { addresses, connector },
            profile,
            pool: self.shared.pool.clone(),
            backend: self.shared.clone(),
            shared_store: None,
        };
        self.shared.health.set_phase(Phase::Disconnected("not connected yet".to_owned()));
        let client = self.upstream.get_or_init(|| Arc::new(FollowerClient::new(config, Box::new(chain))));
        if self.manual.is_none() {
            client.start()?;
        }
        Ok(())
    }

    fn identity(&self) -> Identity {
        Identity { chain_id: self.spec.chain_id(), genesis: self.store.options().genesis }
    }

    fn feed(&self) -> Option<&Path> {
        match &self.settings.role {
            Role::Sequencer { feed } | Role::Replica { feed, .. } => feed.as_deref(),
            Role::Worker { .. } => None,
        }
    }

    /// Returns the capacity of the ring of frames, if followers are to be served.
    fn room(&self) -> Option<RingLimits> {
        let is_served = self.feed().is_some() || self.settings.cluster.listen.is_some();
        self.manual.or_else(|| is_served.then(|| self.settings.store.memory.ring_limits()))
    }

    /// Serves followers, if configured. `journal_reader` reads the journal. Returns the address for other machines.
    fn serve_followers(
        &self,
        journal_reader: JournalReader,
        discarded: Range<u64>,
    ) -> Result<Option<FeedAddress>, NodeError> {
        let Some(log) = self.shared.publication.frames() else { return Ok(None) };
        let manual = |_| Pace::manual(self.shared.clock.clone(), MANUAL_NEAR);
        let Settings { produce, ref production, .. } = self.settings;
        let backend = FeedBackend {
            shared: self.shared.clone(),
            datadir: self.datadir.path().to_owned(),
            spec: self.spec.clone(),
            signer: self.signer.as_ref().map(|signer| signer.address()),
            welcome: Welcome {
                // A driver may leave no block open, which followers then show as well.
                produces: produce && !self.settings.driver,
                production: production.clone(),
                depth: self.settings.finality_depth(),
            },
            upstream: self.upstream.clone(),
            monitor: self.monitor.clone(),
        };
        let config = FeedConfig {
            identity: self.identity(),
            journal_reader,
            discarded,
            log: log.clone(),
            pool: self.shared.pool.clone(),
            clock: self.shared.clock.clone(),
            backend: Arc::new(backend),
            pace: self.manual.map(manual).unwrap_or_default(),
            copies: self.copies.clone(),
            max_copies: FeedConfig::MAX_COPIES,
        };
        let source = self.source.get_or_init(|| Arc::new(FeedSource::new(config)));
        let mut server = self.server.lock();
        // A stop that came before this point found no server to end, so none may start after it.
        if self.shared.stop.is_stopping() || self.manual.is_some() {
            return Ok(None);
        }
        let started = server.insert(FeedServer::new(source.clone()));
        let cluster = &self.settings.cluster;
        if let Some(path) = self.feed() {
            let address = FeedAddress::Unix(path.to_owned());
            started.listen(&address, &FeedSecurity::default(), ListenerLimits::default())?;
        }
        let Some(address) = &cluster.listen else { return Ok(None) };
        Ok(Some(started.listen(address, &self.security, cluster.limits)?))
    }

    /// Saves the pool, records the end of the journal and drains the store's queue, for the next start.
    pub(crate) fn finish(&self) -> Result<(), NodeError> {
        if !matches!(self.settings.role, Role::Replica { .. }) {
            self.datadir.save_pool(&self.shared.pool.save())?;
        }
        self.control.close_journal()?;
        Ok(self.control.drain()?)
    }

    /// Notifies the pool of the fees of the first view, and restores the pool that a clean stop saved.
    fn restore_pool(&self) -> Result<(), NodeError> {
        let view = self.shared.publication.view().expect("a view was just published");
        let header = &view.pending().block.header;
        let (pool, (base_fee, blob_base_fee)) = (&self.shared.pool, self.spec.base_fees(header));
        pool.on_fees(base_fee, blob_base_fee);
        let start = match self.datadir.load_pool()? {
            SavedPool::None => PoolStart::New,
            SavedPool::Lost => PoolStart::LostInCrash,
            SavedPool::Bytes(bytes) => {
                match pool.restore(&bytes, &pool.rules(&self.spec, header), || view.clone()) {
                    Ok(restored) => {
                        self.shared.publication.feed.arrived();
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
        self.shared.health.set_pool_start(start);
        Ok(())
    }

    /// Produces until the node is stopped.
    fn produce(&self, mut producer: Producer) -> Result<(), NodeError> {
        let step = self.settings.production.step;
        producer.limit_transaction_time(step / TRANSACTION_SHARE);
        let first = self.shared.clock.monotonic() + step;
        run_until_stopped(&mut producer, &self.shared, step, first)
    }

    /// Produces while this member is the leader, and follows the leader otherwise. A member that fails gives the
    /// ownership up.
    fn run_member(&self, mut member_loop: MemberLoop) -> Result<(), NodeError> {
        let step = self.settings.production.step;
        member_loop.limit_transaction_time(step / TRANSACTION_SHARE);
        let busy = BusyBeat::start(member_loop.beats(), self.shared.clock.clone());
        let watch = self.watch_quorum();
        let mut work = MemberWork { member_loop: &mut member_loop, busy };
        let ended = run_until_stopped(&mut work, &self.shared, step, self.shared.clock.monotonic());
        drop((watch, work));
        if let Err(error) = &ended {
            member_loop.resign(&error.to_string());
        }
        member_loop.unregister();
        ended
    }

    /// Starts the checks of the quorum store's members.
    fn watch_quorum(&self) -> Option<IntervalThread> {
        let store = self.settings.cluster.quorum.as_ref()?.store.clone();
        let watch = QuorumWatch::new(store, self.monitor.get()?.clone());
        Some(watch.start(self.shared.clock.clone()))
    }

    /// Waits until the node is stopped: a node that does not produce has published its only view.
    fn serve(&self) {
        while !self.shared.stop.is_stopping() {
            self.shared.stop.sleep(Duration::from_hours(1));
        }
    }
}
