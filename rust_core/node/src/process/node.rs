//! A node: data directory, pool, newest view, and the writing thread.

use std::{
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{Arc, OnceLock},
    thread::JoinHandle,
    time::Duration,
};

use foreseal_cache::CacheMetrics;
use foreseal_chain::datadir::{DataDir, record_summary};
use foreseal_chain::{ArchiveCaches, ClockReading, Feed, GenesisBlock, View};
use foreseal_journal::Identity;
use foreseal_pool::Pool;
use foreseal_primitives::ChainSpec;
use foreseal_replication::{
    CatchingUp, DirectoryCopySource, FeedSecurity, FeedServer, FeedSource, FollowerClient, FollowerConfig,
    FollowerProfile, FollowerStatus, Phase, RingLimits, SharedStoreChain, Upstream, WorkerChainConfig,
};
use foreseal_store::Store;
use parking_lot::Mutex;

use crate::{
    cluster::{cluster_monitor::ClusterMonitor, member_loop::MemberLoop},
    control::{producer::Producer, sequencer::Sequencer, sequencer_access::SequencerAccess},
    development::development_control::DevelopmentControl,
    driver::payload_builder::PayloadBuilder,
    errors::{node_error::NodeError, production_error::ControlError, store_failed::StoreFailed},
    observe::{changes::Changes, points::Watcher, writer_metrics::NodeMetrics},
    process::{
        chain_thread::{Begun, ChainThread},
        follower_status::follower_status,
        status::{FollowingStatus, Status},
    },
    produce::{signer::admit_signer, step_signer::StepSigner},
    repair::scrubber::{ScrubOwner, Scrubber},
    settings::{Role, Settings, SettingsError, environment::NodeEnvironment, memory_budget::MemoryBudget},
    shared::{payload_feed::PayloadFeed, request_handler::QueryHandler, shared_state::SharedState},
    store::{
        opened_chain::{ChainOrigin, OpenedChain},
        store_files::WorkerDataDir,
    },
};

/// A node. Reads are served from [`Node::view`]; writes happen on a thread of their own.
pub struct Node {
    spec: Arc<ChainSpec>,
    settings: Settings,
    pub(crate) shared: Arc<SharedState>,
    store: Store,
    /// Thread that scrubs the store in the background.
    scrub: Mutex<Option<JoinHandle<()>>>,
    pub(crate) part: NodeRole,
}

/// Role of the process with its state.
pub(crate) enum NodeRole {
    Writer(Box<WriterState>),
    Worker(Arc<FollowerClient>),
}

/// State of the process that writes the chain.
pub(crate) struct WriterState {
    datadir: Arc<DataDir>,
    pub(crate) control: Arc<SequencerAccess>,
    signer: Option<Arc<StepSigner>>,
    environment: Mutex<Option<NodeEnvironment>>,
    /// Genesis block of a new chain, until the start.
    genesis: Mutex<Option<GenesisBlock>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    server: Arc<Mutex<Option<FeedServer>>>,
    /// FeedSource that feeds followers; set once the journal is replayed, if followers are served.
    pub(crate) source: Arc<OnceLock<Arc<FeedSource>>>,
    /// Client that follows another machine; set once the journal is replayed, if the role has one.
    pub(crate) upstream: Arc<OnceLock<Arc<FollowerClient>>>,
    /// Status of a member of a cluster; set once the journal is replayed, if there is a quorum journal.
    pub(crate) monitor: Arc<OnceLock<Arc<ClusterMonitor>>>,
    /// Credentials for other machines.
    security: FeedSecurity,
    /// Source of copies of the data directory for new machines, set before the start.
    copies: OnceLock<Arc<dyn DirectoryCopySource>>,
}

impl Node {
    /// Checks the settings, locks the data directory, reads the genesis and opens the store. If steps are to
    /// be made, also reads or creates the key that signs them; it must belong to the signer whose steps the
    /// directory holds. Starts no thread. A worker takes no lock and creates nothing.
    pub fn open(settings: Settings, environment: NodeEnvironment) -> Result<Self, NodeError> {
        settings.production.check().map_err(SettingsError::from)?;
        settings.store.check()?;
        settings.check_driver()?;
        match &settings.role {
            Role::Sequencer { .. } => Self::open_writer(settings, environment),
            // A replica makes no steps, so it needs no key.
            Role::Replica { .. } => {
                Self::open_writer(Settings { produce: false, development: None, ..settings }, environment)
            }
            Role::Worker { feed, name } => {
                let (feed, name) = (feed.clone(), name.clone());
                Self::open_worker(settings, environment, feed, name)
            }
        }
    }

    fn open_worker(
        settings: Settings,
        environment: NodeEnvironment,
        feed: PathBuf,
        name: String,
    ) -> Result<Self, NodeError> {
        let WorkerDataDir { spec, store, journal } =
            WorkerDataDir::open(&settings.datadir, settings.genesis.as_ref(), &settings.store)?;
        // Development methods write the chain, which only the sequencer can do.
        let settings = Settings { development: None, ..settings };
        let pool = Arc::new(Pool::new(settings.pool.clone()));
        let shared = Arc::new(SharedState::new(pool, environment.clock, settings.store.memory));
        shared.health.set_store(store.clone());
        let (spec, window) = (Arc::new(spec), settings.store.recent);
        let caches = Arc::new(ArchiveCaches::new(&settings.store.caches));
        let chain_config = WorkerChainConfig {
            spec: spec.clone(),
            store: store.clone(),
            journal,
            disk: environment.disk,
            window,
            caches,
        };
        shared.leadership.set_leads(false);
        let config = FollowerConfig {
            identity: Identity { chain_id: spec.chain_id(), genesis: store.options().genesis },
            upstream: Upstream::unix(feed),
            profile: FollowerProfile::worker(name),
            pool: shared.pool.clone(),
            backend: shared.clone(),
            shared_store: Some(store.clone()),
        };
        let chain = SharedStoreChain::new(chain_config, shared.clone());
        let part = NodeRole::Worker(Arc::new(FollowerClient::new(config, Box::new(chain))));
        Ok(Self { spec, settings, shared, store, scrub: Mutex::default(), part })
    }

    fn open_writer(mut settings: Settings, mut environment: NodeEnvironment) -> Result<Self, NodeError> {
        let datadir = DataDir::lock(&settings.datadir)?;
        let now = environment.clock.now();
        // A large allocation is in memory once, and only until its state is computed.
        let given = settings.genesis.take();
        let OpenedChain { origin, store } = OpenedChain::open(&datadir, given, &settings, Some(now))?;
        let ChainOrigin { spec, genesis } = origin;
        let signer = admit_signer(&datadir, &settings, &spec, &store, &mut environment)?;
        record_summary(datadir.path(), &spec, store.options().genesis)?;
        let pool = Arc::new(Pool::new(settings.pool.clone()));
        let shared = Arc::new(SharedState::new(pool, environment.clock.clone(), settings.store.memory));
        shared.health.set_store(store.clone());
        shared.leadership.set_leads(settings.works_alone());
        if settings.cluster.quorum.is_some() {
            shared.leadership.set_uses_quorum(settings.production.step);
        }
        let security = settings.cluster.credentials.load()?;
        let part = NodeRole::Writer(Box::new(WriterState {
            datadir: Arc::new(datadir),
            control: Arc::default(),
            signer: signer.map(Arc::new),
            environment: Mutex::new(Some(environment)),
            genesis: Mutex::new(genesis),
            thread: Mutex::new(None),
            server: Arc::default(),
            source: Arc::default(),
            upstream: Arc::default(),
            monitor: Arc::default(),
            security,
            copies: OnceLock::new(),
        }));
        Ok(Self { spec, settings, shared, store, scrub: Mutex::default(), part })
    }

    /// Sets the source of the copies of the data directory that followers may request. Call it once, before the start;
    /// later calls and calls on a worker have no effect.
    pub fn serve_directory_copies(&self, source: Arc<dyn DirectoryCopySource>) {
        if let NodeRole::Writer(writing) = &self.part {
            // The first source stays.
            let _ = writing.copies.set(source);
        }
    }

    /// Starts the writing thread, which replays the journal and then produces blocks or only serves. On a
    /// worker, starts the thread that follows the sequencer. Returns at once.
    pub fn start(&self) {
        let writing = match &self.part {
            NodeRole::Writer(writing) => writing,
            NodeRole::Worker(following) => {
                if let Err(error) = following.start() {
                    self.shared.health.set_phase(Phase::Failed(error.to_string()));
                }
                return self.start_scrub(ScrubOwner::Worker);
            }
        };
        let Some(environment) = writing.environment.lock().take() else { return };
        let writer = self.chain_thread(writing, None);
        let shared = self.shared.clone();
        let run = move || {
            let ended = std::panic::catch_unwind(AssertUnwindSafe(|| writer.run(environment)));
            let phase = match ended {
                Ok(Ok(())) => Phase::Stopped,
                Ok(Err(error)) => Phase::Failed(error.to_string()),
                Err(_) => Phase::Failed("internal error in the writing thread".to_owned()),
            };
            if let Phase::Failed(reason) = &phase {
                tracing::error!(reason, "production stopped");
            }
            shared.health.set_phase(phase);
        };
        let thread = std::thread::Builder::new().name("foreseal-writer".to_owned()).spawn(run);
        match thread {
            Ok(handle) => *writing.thread.lock() = Some(handle),
            Err(error) => self.shared.health.set_phase(Phase::Failed(error.to_string())),
        }
        self.start_scrub(ScrubOwner::Sequencer);
    }

    fn start_scrub(&self, owner: ScrubOwner) {
        let mut thread = self.scrub.lock();
        if thread.is_some() || self.shared.stop.is_stopping() {
            return;
        }
        let settings = self.settings.store.scrub;
        let scrubber = Scrubber::new(self.store.clone(), self.shared.clone(), settings, owner);
        match scrubber.start() {
            Ok(started) => *thread = started,
            Err(error) => tracing::warn!(%error, "cannot start the scrub"),
        }
    }

    fn join_scrub(&self) {
        let thread = self.scrub.lock().take();
        if let Some(thread) = thread {
            // The thread ends after the portion that it is reading.
            let _ = thread.join();
        }
    }

    /// Replays the journal on the caller's thread and returns the producer, which the caller ticks. Returns
    /// `None` for a node that only serves. Intended for callers that own the clock. A worker still starts
    /// its thread.
    pub fn start_stepped(&self) -> Result<Option<Producer>, NodeError> {
        let writing = match &self.part {
            NodeRole::Writer(writing) => writing,
            NodeRole::Worker(following) => {
                following.start()?;
                return Ok(None);
            }
        };
        self.begin(writing, None)
    }

    /// Replays like [`Self::start_stepped`], for a simulation: `watcher` is notified of every
    /// [`crate::InspectionPoint`], and no thread is started for the store. The store is written when the caller calls
    /// [`Self::write_store`], or when the chain cannot proceed without it. A worker still starts its thread;
    /// `start_manual` starts none.
    pub fn start_watched(&self, watcher: Arc<dyn Watcher>) -> Result<Option<Producer>, NodeError> {
        self.shared.publication.set_watcher(watcher);
        self.start_stepped()
    }

    pub(crate) fn begin(
        &self,
        writing: &WriterState,
        manual: Option<RingLimits>,
    ) -> Result<Option<Producer>, NodeError> {
        Ok(match self.begin_writer(writing, manual)? {
            Some(Begun::Producing(producer)) => Some(producer),
            Some(Begun::Serving | Begun::Member(..)) | None => None,
        })
    }

    /// Begins to write or follow like [`Self::start_stepped`], as a member of a cluster. Returns the loop,
    /// which the caller runs; `None` for a node without a quorum journal.
    pub fn start_member(&self) -> Result<Option<MemberLoop>, NodeError> {
        self.begin_member(None)
    }

    pub(crate) fn begin_member(&self, manual: Option<RingLimits>) -> Result<Option<MemberLoop>, NodeError> {
        let NodeRole::Writer(writing) = &self.part else { return Ok(None) };
        Ok(match self.begin_writer(writing, manual)? {
            Some(Begun::Member(member_loop)) => Some(*member_loop),
            Some(Begun::Serving | Begun::Producing(_)) | None => None,
        })
    }

    fn begin_writer(
        &self,
        writing: &WriterState,
        manual: Option<RingLimits>,
    ) -> Result<Option<Begun>, NodeError> {
        let Some(environment) = writing.environment.lock().take() else { return Ok(None) };
        self.chain_thread(writing, manual).begin(environment).map(Some)
    }

    /// Writes one batch to a store that has no thread. Returns `true` if there was work.
    pub fn write_store(&self) -> bool {
        match &self.part {
            NodeRole::Writer(writing) => writing.control.write_store(),
            NodeRole::Worker(_) => false,
        }
    }

    /// Waits until the store holds every block sealed so far.
    pub fn drain(&self) -> Result<(), StoreFailed> {
        match &self.part {
            NodeRole::Writer(writing) => writing.control.drain(),
            NodeRole::Worker(_) => Ok(()),
        }
    }

    /// Returns the store of the chain.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Saves the pool for the next start. A started node does so itself on a clean stop.
    pub fn save(&self) -> Result<(), NodeError> {
        match &self.part {
            NodeRole::Writer(writing) => self.chain_thread(writing, None).finish(),
            NodeRole::Worker(_) => Ok(()),
        }
    }

    /// Stops production, notifies followers, saves the pool and closes the journal. Blocks until that is
    /// done; a second call does nothing.
    pub fn stop(&self) {
        let writing = match &self.part {
            NodeRole::Writer(writing) => writing,
            NodeRole::Worker(following) => {
                self.shared.stop.stop();
                following.stop();
                return self.join_scrub();
            }
        };
        if writing.monitor.get().is_some() && self.shared.leadership.leads() {
            // A standby continues at once instead of after the usual silence.
            if let Err(error) = self.hand_over() {
                tracing::warn!(%error, "the chain was not handed over");
            }
        }
        self.shared.stop.stop();
        if let Some(following) = writing.upstream.get() {
            following.stop();
        }
        // The lock is released first, so that readers of the follower list do not wait for the farewell to
        // followers.
        let server = writing.server.lock().take();
        if let Some(server) = server {
            // The server stops before the pool is saved: later submissions from followers would be lost.
            server.stop();
        }
        self.join_scrub();
        let thread = writing.thread.lock().take();
        if let Some(thread) = thread {
            // The thread catches its own panics, so joining cannot fail.
            let _ = thread.join();
        }
        writing.control.close();
    }

    fn chain_thread(&self, writing: &WriterState, manual: Option<RingLimits>) -> ChainThread {
        ChainThread {
            spec: self.spec.clone(),
            genesis: Mutex::new(writing.genesis.lock().take()),
            settings: self.settings.clone(),
            shared: self.shared.clone(),
            datadir: writing.datadir.clone(),
            control: writing.control.clone(),
            store: self.store.clone(),
            signer: writing.signer.clone(),
            server: writing.server.clone(),
            manual,
            source: writing.source.clone(),
            upstream: writing.upstream.clone(),
            monitor: writing.monitor.clone(),
            security: writing.security.clone(),
            copies: writing.copies.get().cloned(),
        }
    }

    /// Returns the client that follows another process; `None` while this one writes the chain.
    pub(crate) fn following(&self) -> Option<&Arc<FollowerClient>> {
        match &self.part {
            NodeRole::Writer(writing) => writing.upstream.get().filter(|_| !self.shared.leadership.leads()),
            NodeRole::Worker(following) => Some(following),
        }
    }

    /// Returns `true` if submissions are answered by another process.
    pub fn forwards_submissions(&self) -> bool {
        !self.shared.leadership.leads()
    }

    /// Returns the connected followers; empty if none are served.
    pub fn followers(&self) -> Vec<FollowerStatus> {
        match &self.part {
            NodeRole::Writer(writing) => {
                writing.server.lock().as_ref().map(FeedServer::followers).unwrap_or_default()
            }
            NodeRole::Worker(_) => Vec::new(),
        }
    }

    /// Sends the metrics of this follower to the sequencer, which lists them in [`Self::followers`]. Does
    /// nothing on the sequencer.
    pub fn report(&self, metrics: Vec<u8>) {
        if let Some(following) = self.following() {
            following.report(metrics);
        }
    }

    /// Returns `true` if this node reads the store of a sequencer in another process.
    pub fn is_worker(&self) -> bool {
        matches!(self.part, NodeRole::Worker(_))
    }

    /// Runs `act` as the writer on this thread, with exclusive write access. Its result is returned once the
    /// change is durable and published.
    ///
    /// # Errors
    /// Returns the errors of the [`Sequencer`]'s methods. Also fails while the node starts, after it stopped,
    /// and once production failed.
    pub fn control<T>(
        &self,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        match &self.part {
            NodeRole::Writer(writing) => writing.control.run(&self.shared, act),
            NodeRole::Worker(_) => Err(ControlError::Follower),
        }
    }

    /// Runs `act` like [`Self::control`], on a development chain. The methods that change the chain fail with
    /// [`ControlError::NotDevelopment`] on another one.
    pub fn develop<T>(
        &self,
        act: impl FnOnce(&mut DevelopmentControl<'_>) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        self.control(|sequencer| act(&mut sequencer.development()))
    }

    /// Runs `act` like [`Self::control`], for a driver. The methods that change the chain fail with
    /// [`ControlError::NoDriver`] on a node without one.
    pub fn drive<T>(
        &self,
        act: impl FnOnce(&mut PayloadBuilder<'_>) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        self.control(|sequencer| act(&mut sequencer.payloads()))
    }

    /// Returns the newest view; `None` until the journal is replayed.
    pub fn view(&self) -> Option<Arc<View>> {
        self.shared.publication.view()
    }

    /// Returns the transaction pool.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.shared.pool
    }

    /// Returns the rules of the chain.
    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    /// Returns the settings that the node was opened with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the feed of views, ticks and pool arrivals, in order, for a single consumer.
    pub fn feed(&self) -> &Feed {
        &self.shared.publication.feed
    }

    /// Returns the counter that callers wait on for a newer view. The end of production wakes them too.
    pub fn changes(&self) -> &Changes {
        &self.shared.publication.changes
    }

    /// Returns the visible steps of a driver's payloads, for a single reader.
    pub fn payloads(&self) -> &PayloadFeed {
        &self.shared.payloads
    }

    /// Returns the number of answers to forwarded submissions that have arrived from the sequencer.
    /// Submitters can wait for it to change.
    pub fn answers(&self) -> u64 {
        match &self.part {
            NodeRole::Writer(writing) => writing.upstream.get().map_or(0, |client| client.answers()),
            NodeRole::Worker(following) => following.answers(),
        }
    }

    /// Returns the metrics of the node.
    pub fn metrics(&self) -> NodeMetrics {
        let work = self.shared.metrics.clone();
        NodeMetrics { work, pool: self.pool().metrics(), store: self.store.size(), caches: self.caches() }
    }

    /// Returns the metrics of the caches and of other data of the chain in memory.
    pub fn caches(&self) -> Vec<CacheMetrics> {
        let archive = self.view().and_then(|view| view.caches());
        let caches = self.store.caches().into_iter().chain(archive.into_iter().flatten());
        caches.chain(self.shared.memory_metrics()).collect()
    }

    /// Returns the memory budget of this process.
    pub fn memory(&self) -> MemoryBudget {
        self.shared.memory()
    }

    /// Returns the current status of the node.
    pub fn status(&self) -> Status {
        let writing = match &self.part {
            NodeRole::Writer(writing) => writing,
            NodeRole::Worker(following) => {
                let cluster = self.cluster_status();
                return Status { cluster, ..follower_status(following, &self.shared) };
            }
        };
        if let Some(following) = self.following() {
            let (store, cluster) = (self.shared.health.store_status(), self.cluster_status());
            return Status { store, cluster, ..follower_status(following, &self.shared) };
        }
        Status {
            phase: self.shared.health.phase(),
            age: self.shared.publication.age(),
            pool_start: self.shared.health.pool_start(),
            produces: self.settings.produce,
            driver: self.settings.driver,
            signer: writing.signer.as_ref().map(|signer| signer.address()),
            damage: self.shared.health.damage(),
            store: self.shared.health.store_status(),
            shown: self.view().is_some(),
            following: (!self.shared.leadership.leads())
                .then(|| FollowingStatus::starting(self.shared.publication.time_since_frame())),
            cluster: self.cluster_status(),
            clock_lead: self.shared.clock_lead.get(),
        }
    }

    /// Returns how far the node is behind its sequencer; `None` if it is up to date or has no sequencer.
    pub fn catching_up(&self) -> Option<CatchingUp> {
        self.following()?.catching_up()
    }

    /// Reads the node's clocks.
    pub fn now(&self) -> ClockReading {
        self.shared.clock.now()
    }

    /// Returns the time since the last tick.
    pub fn age(&self) -> Duration {
        self.shared.publication.age()
    }

    /// Registers `handler` as the handler for the queries of this node's followers.
    pub fn answer_with(&self, handler: Arc<dyn QueryHandler>) {
        self.shared.query_handler.register(handler);
    }

    /// Sends a query to the sequencer and waits for the answer, at most for `timeout` of real time. Returns
    /// `None` if no answer arrives, or if this node is no follower. On return, this node shows at least the
    /// view that the sequencer showed when it answered.
    pub fn query(&self, query: Vec<u8>, timeout: Duration) -> Option<Vec<u8>> {
        match &self.part {
            NodeRole::Writer(_) => None,
            NodeRole::Worker(following) => following.query(query, timeout),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}
