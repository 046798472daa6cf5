//! A new machine gets the data directory of a sequencer that produces meanwhile.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    io::Write,
    ops::ControlFlow,
    os::unix::net::UnixStream,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use foreseal_backup::{BackupError, CopyTarget, DataDirCopySource, Manifest, receive_copy};
use foreseal_chain::{Clock, StepCursor, SteppedClock, SystemClock, View, datadir::CopyProgress};
use foreseal_journal::{Identity, RealDisk, check};
use foreseal_node::{Node, Producer, Role, Settings, StoreSettings};
use foreseal_replication::{DirectoryCopyError, DirectoryCopySource, fetch_directory_copy, wire::Ending};
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use parking_lot::Mutex;
use support::{
    Bench, STEP, environment, fingerprint,
    pair::{caught_up, follow_from, follow_here, serving, socket},
};

/// Time that is only exceeded if something hangs.
const LONG: Duration = Duration::from_mins(1);

/// A sequencer that serves followers and snapshots.
struct Leader {
    node: Arc<Node>,
    producer: Producer,
    clock: Arc<SteppedClock>,
    settings: Settings,
    workload: Workload,
}

impl Leader {
    fn new(
        datadir: &Path,
        retention: u64,
        snapshots: impl FnOnce(&Node) -> Arc<dyn DirectoryCopySource>,
    ) -> Self {
        let wallets = Wallet::some(3);
        let store = StoreSettings { retention, ..StoreSettings::default() };
        let settings = Settings { store, segment_bytes: 1 << 16, ..serving(datadir, &wallets) };
        let clock = Arc::<SteppedClock>::default();
        let node = Node::open(settings.clone(), environment(clock.clone())).unwrap();
        node.serve_directory_copies(snapshots(&node));
        let producer = node.start_stepped().unwrap().unwrap();
        let workload = Workload::new(wallets, TransactionKinds::WithoutBlobs, 5);
        Self { node: Arc::new(node), producer, clock, settings, workload }
    }

    /// Creates a leader that sends its own data directory.
    fn sending(datadir: &Path, retention: u64) -> Self {
        Self::new(datadir, retention, |node| {
            Arc::new(DataDirCopySource {
                datadir: datadir.to_owned(),
                store: node.store().clone(),
                limit: None,
                clock: Arc::new(SystemClock::default()),
            })
        })
    }

    fn tick(&mut self) {
        for _ in 0..3 {
            self.node.submit(&self.workload.next_transaction()).unwrap();
        }
        self.clock.advance(STEP);
        self.producer.tick(self.clock.now(), &mut || true).unwrap();
    }

    fn make_blocks(&mut self, blocks: u64) {
        let until = self.node.view().unwrap().latest().number() + blocks;
        while self.node.view().unwrap().latest().number() < until {
            self.tick();
        }
        self.node.drain().unwrap();
    }

    fn identity(&self) -> Identity {
        Identity { chain_id: self.node.spec().chain_id(), genesis: self.node.store().options().genesis }
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(socket(&self.settings.datadir)).unwrap()
    }
}

fn fetch(
    stream: &UnixStream,
    datadir: &Path,
    watch: &mut dyn FnMut(CopyProgress) -> ControlFlow<()>,
) -> Result<Manifest, BackupError> {
    fetch_directory_copy(stream, None, |identity, input| {
        let map_size = StoreSettings::default().map_size;
        receive_copy(input, &CopyTarget { datadir, map_size, identity: Some(identity) }, watch)
    })
    .unwrap()
}

/// Fetches a snapshot in the middle of which the leader makes `blocks` blocks.
fn fetch_while_producing(leader: &mut Leader, datadir: &Path, blocks: u64) -> Manifest {
    let (begun, made) = (channel(), channel());
    let (stream, mut first) = (leader.connect(), true);
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let (begun, made): (Sender<()>, Receiver<()>) = (begun.0, made.1);
            fetch(&stream, datadir, &mut |_| {
                if std::mem::take(&mut first) {
                    begun.send(()).unwrap();
                    made.recv_timeout(LONG).unwrap();
                }
                ControlFlow::Continue(())
            })
        });
        begun.1.recv_timeout(LONG).unwrap();
        leader.make_blocks(blocks);
        made.0.send(()).unwrap();
        receiving.join().unwrap().unwrap()
    })
}

/// Asserts that a follower continues from the received folder by its cursor.
fn assert_followed(leader: &mut Leader, datadir: &Path) {
    let settings = Settings { datadir: datadir.to_owned(), ..leader.settings.clone() };
    let clock: Arc<dyn Clock> = leader.clock.clone();
    let follower = follow_from(&settings, &leader.settings.datadir, clock, Arc::new(RealDisk));
    for _ in 0..3 {
        let view = caught_up(&leader.node, &follower);
        assert_eq!(fingerprint(&view), fingerprint(&leader.node.view().unwrap()));
        leader.tick();
    }
    assert_eq!(follower.status().following.unwrap().chain_loads, 1, "its first cursor was valid");
    follower.stop();
}

/// Opens a node on the received folder, and asserts that it has the leader's blocks.
fn assert_replayed(leader: &Leader, datadir: &Path, manifest: &Manifest) -> StepCursor {
    assert!(!datadir.join("sequencer.key").exists());
    let settings = Settings { datadir: datadir.to_owned(), role: Role::default(), ..leader.settings.clone() };
    let node = support::open_node(Settings { produce: false, ..settings }).unwrap();
    node.start_stepped().unwrap();
    let (received, own) = (node.view().unwrap(), leader.node.view().unwrap());
    let number = received.latest().number();
    assert!(number >= manifest.head.unwrap().number);
    let sealed = |view: &View| -> Vec<_> {
        let blocks = manifest.head.unwrap().number..=number;
        blocks.map(|number| view.sealed(number).unwrap().unwrap().block.hash).collect()
    };
    assert_eq!(sealed(&received), sealed(&own));
    node.stop();
    received.cursor()
}

#[test]
fn a_snapshot_of_an_idle_leader_has_its_head() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = Leader::sending(&folder.path().join("leader"), 1_024);
    leader.make_blocks(6);
    leader.tick();
    let datadir = folder.path().join("new");
    let manifest = fetch(&leader.connect(), &datadir, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(assert_replayed(&leader, &datadir, &manifest), leader.node.view().unwrap().cursor());
    assert_followed(&mut leader, &datadir);
}

#[test]
fn a_snapshot_is_complete_while_the_leader_produces() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = Leader::sending(&folder.path().join("leader"), 1_024);
    let follower = follow_here(&leader.settings, leader.clock.clone());
    leader.make_blocks(10);
    let head = leader.node.view().unwrap().latest().number();
    let manifest = fetch_while_producing(&mut leader, &folder.path().join("new"), 8);
    assert!(manifest.head.unwrap().number <= leader.node.view().unwrap().latest().number());
    assert!(leader.node.view().unwrap().latest().number() >= head + 8);
    let view = caught_up(&leader.node, &follower);
    assert_eq!(fingerprint(&view), fingerprint(&leader.node.view().unwrap()), "others follow meanwhile");
    assert_replayed(&leader, &folder.path().join("new"), &manifest);
    assert_followed(&mut leader, &folder.path().join("new"));
}

#[test]
fn segments_removed_during_a_snapshot_are_still_sent() {
    let folder = tempfile::tempdir().unwrap();
    // The journal is removed as soon as the store has it.
    let mut leader = Leader::sending(&folder.path().join("leader"), 0);
    leader.make_blocks(30);
    let datadir = folder.path().join("new");
    let manifest = fetch_while_producing(&mut leader, &datadir, 30);
    let own = check(&leader.settings.datadir.join("journal"), Arc::new(RealDisk)).unwrap();
    assert!(own.first_sequence > manifest.journal_first, "the leader removed segments of the snapshot");
    assert!(manifest.journal_first <= manifest.journal_sequence);
    assert_replayed(&leader, &datadir, &manifest);
}

/// A source whose snapshots wait for the test.
struct Waiting(Mutex<Receiver<()>>);

impl DirectoryCopySource for Waiting {
    fn send(&self, out: &mut dyn Write) -> Result<(), String> {
        out.write_all(b"begun").and_then(|()| out.flush()).map_err(|error| error.to_string())?;
        let released = self.0.lock().recv_timeout(LONG);
        released.map_err(|error| error.to_string())
    }
}

#[test]
fn more_snapshots_than_the_maximum_are_rejected_until_one_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (release, waiting) = channel();
    let mut leader =
        Leader::new(&folder.path().join("leader"), 1_024, |_| Arc::new(Waiting(Mutex::new(waiting))));
    leader.make_blocks(2);
    let begin = |stream: &UnixStream| {
        fetch_directory_copy(&stream.try_clone().unwrap(), None, |_, input| {
            let mut bytes = [0; 5];
            input.read_exact(&mut bytes).unwrap();
            bytes
        })
    };
    // A connection that is closed while its snapshot waits still counts until the source ends.
    for _ in 0..2 {
        assert_eq!(&begin(&leader.connect()).unwrap(), b"begun");
    }
    let error = begin(&leader.connect()).unwrap_err();
    assert!(matches!(error, DirectoryCopyError::Ended(Ending::Busy { limit: 2 })), "{error}");
    assert!(error.is_temporary());
    let follower = follow_here(&leader.settings, leader.clock.clone());
    leader.tick();
    caught_up(&leader.node, &follower);
    release.send(()).unwrap();
    foreseal_testkit::wait_for("a snapshot ends", || begin(&leader.connect()).is_ok());
    drop(release);
    leader.node.stop();
}

#[test]
fn a_request_for_another_chain_or_without_source_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let leader = Leader::sending(&folder.path().join("leader"), 1_024);
    let other = Identity { chain_id: 9, ..leader.identity() };
    let error = fetch_directory_copy(&leader.connect(), Some(other), |_, _| ()).unwrap_err();
    assert!(!error.is_temporary() && error.to_string().contains("the sequencer has chain"), "{error}");
    fetch_directory_copy(&leader.connect(), Some(leader.identity()), |_, _| ()).unwrap();
    let wallets = Wallet::some(1);
    let settings = serving(&folder.path().join("other"), &wallets);
    let _without = Bench::open(settings.clone(), Arc::default(), Arc::new(RealDisk)).unwrap();
    let stream = UnixStream::connect(socket(&settings.datadir)).unwrap();
    let error = fetch_directory_copy(&stream, None, |_, _| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rejected by the sequencer: the sequencer sends no snapshots: restore a backup instead"
    );
}
