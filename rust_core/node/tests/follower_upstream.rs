//! A follower that reaches its sequencer over the network, at one of several addresses.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    fs, io,
    net::{Shutdown, TcpListener},
    os::unix::net::UnixStream,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use foreseal_chain::{ArchiveCaches, SteppedClock, View};
use foreseal_journal::{Identity, RealDisk, journal_folder};
use foreseal_node::Node;
use foreseal_pool::{Pool, PoolConfig};
use foreseal_replication::{
    FeedAddress, FeedConnector, FeedCredentials, FeedListener, FeedSecurity, FollowerBackend, FollowerClient,
    FollowerConfig, FollowerProfile, ListenerLimits, Phase, SharedStoreChain, Upstream, WorkerChainConfig,
    wire::{FollowerRole, Heartbeat},
};
use foreseal_testkit::{Wallet, wait_for};
use support::{
    Bench, fingerprint,
    pair::{serving, socket},
};

/// The state of a follower without a node.
#[derive(Default)]
struct Reader {
    view: Mutex<Option<Arc<View>>>,
    phase: Mutex<Option<Phase>>,
    stopping: AtomicBool,
}

impl FollowerBackend for Reader {
    fn view(&self) -> Option<Arc<View>> {
        self.view.lock().unwrap().clone()
    }

    fn publish(&self, view: Arc<View>) {
        *self.view.lock().unwrap() = Some(view);
    }

    fn set_phase(&self, phase: Phase) {
        *self.phase.lock().unwrap() = Some(phase);
    }

    fn frame_arrived(&self) {}

    fn record_heartbeat(&self, _: &Heartbeat) {}

    fn pool_changed(&self) {}

    fn wake_waiters(&self) {}

    fn is_following(&self) -> bool {
        true
    }

    fn run_following(&self, work: &mut dyn FnMut()) {
        work();
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn sleep(&self, wait: Duration) {
        std::thread::sleep(wait);
    }
}

impl Reader {
    fn is_following(&self, sequencer: &Node) -> bool {
        let same = self.view().is_some_and(|view| view.cursor() == sequencer.view().unwrap().cursor());
        same && *self.phase.lock().unwrap() == Some(Phase::Following)
    }
}

/// Starts a listener whose connections continue at the sequencer's socket.
fn relay(security: &FeedSecurity, socket: &Path) -> FeedListener {
    let socket = socket.to_owned();
    let admit = move |follower: UnixStream| {
        let sequencer = UnixStream::connect(&socket)?;
        for (from, to) in [(&follower, &sequencer), (&sequencer, &follower)] {
            let (mut from, mut to) = (from.try_clone()?, to.try_clone()?);
            std::thread::Builder::new().spawn(move || {
                let _ = io::copy(&mut from, &mut to);
                let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
            })?;
        }
        Ok(())
    };
    let address = FeedAddress::parse("tcp://127.0.0.1:0").unwrap();
    FeedListener::start(&address, security, ListenerLimits::default(), admit).unwrap()
}

fn follower(sequencer: &Node, folder: &Path, upstream: Upstream, reader: Arc<Reader>) -> Arc<FollowerClient> {
    let replica = WorkerChainConfig {
        spec: sequencer.spec().clone(),
        store: sequencer.store().clone(),
        journal: journal_folder(folder).unwrap(),
        disk: Arc::new(RealDisk),
        window: support::settings(folder, &[]).store.recent,
        caches: Arc::new(ArchiveCaches::new(&support::settings(folder, &[]).store.caches)),
    };
    let profile = FollowerProfile {
        role: FollowerRole::Replica,
        run_id: [9; 16],
        ..FollowerProfile::worker("replica".to_owned())
    };
    let genesis = sequencer.store().options().genesis;
    let config = FollowerConfig {
        identity: Identity { chain_id: sequencer.spec().chain_id(), genesis },
        upstream,
        profile,
        pool: Arc::new(Pool::new(PoolConfig::default())),
        backend: reader.clone(),
        shared_store: None,
    };
    let chain = SharedStoreChain::new(replica, reader);
    let client = Arc::new(FollowerClient::new(config, Box::new(chain)));
    client.start().unwrap();
    client
}

#[test]
fn a_follower_changes_to_an_address_that_works() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let (settings, folder) = (serving(datadir.path(), &wallets), datadir.path());
    let mut sequencer = Bench::open(settings, Arc::<SteppedClock>::default(), Arc::new(RealDisk)).unwrap();
    let token = folder.join("token");
    fs::write(&token, "correct horse battery").unwrap();
    let security = FeedCredentials { token: Some(token), ..FeedCredentials::default() }.load().unwrap();
    let [first, second] = [(); 2].map(|()| relay(&security, &socket(folder)));
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dead = FeedAddress::parse(&format!("tcp://{dead}")).unwrap();
    let addresses = vec![dead.clone(), first.address().clone()];
    let upstream = Upstream { addresses, connector: FeedConnector::new(security) };
    let reader = Arc::<Reader>::default();
    let client = follower(&sequencer.node, folder, upstream, reader.clone());
    let follows = |node: &Node, listener: &FeedListener| {
        wait_for("it follows at the address", || {
            reader.is_following(node) && client.connected_address().as_ref() == Some(listener.address())
        });
        assert_eq!(fingerprint(&reader.view().unwrap()), fingerprint(&node.view().unwrap()));
    };
    follows(&sequencer.node, &first);
    let listed = sequencer.node.followers();
    assert_eq!((listed[0].role, listed[0].run_id), (FollowerRole::Replica, [9; 16]));
    // An address that is no longer listed is left, and the follower resumes from its cursor.
    client.set_addresses(vec![dead.clone(), second.address().clone()]);
    sequencer.seal();
    follows(&sequencer.node, &second);
    client.set_addresses(vec![first.address().clone(), second.address().clone()]);
    assert_eq!(client.connected_address().as_ref(), Some(second.address()));
    // The listener that served it ends.
    second.stop();
    sequencer.tick();
    follows(&sequencer.node, &first);
    assert_eq!(client.chain_loads(), 1);
    reader.stopping.store(true, Ordering::Release);
    client.stop();
    assert_eq!(*reader.phase.lock().unwrap(), Some(Phase::Stopped));
}
