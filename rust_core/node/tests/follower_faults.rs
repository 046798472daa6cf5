//! Faults between a follower and its sequencer: both sides detect them, and each fault has an effect only
//! once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    io::{self, Write},
    os::unix::net::UnixListener,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use alloy_primitives::Bytes;
use foreseal_chain::{FinalityDepth, SteppedClock, changes};
use foreseal_journal::{Identity, RealDisk};
use foreseal_node::{Development, InspectionPoint, Node, QueryHandler, Watcher, export_chain, import_chain};
use foreseal_pool::{Pool, PoolConfig};
use foreseal_primitives::wire;
use foreseal_replication::{
    Phase, Production, RingLimits, SubmitError,
    wire::{
        Cursor, FollowerRole, Hello, MAX_REQUEST_SIZE, MAX_RESPONSE_SIZE, Request, Response, Welcome,
        read_frame, write_numbered,
    },
};
use foreseal_testkit::{Fees, MAX_WAIT, TransactionKinds, Wallet, Workload, wait_for};
use support::{
    Bench, fingerprint,
    pair::{caught_up, follow_here, follower_of, serving, socket},
};

/// Greets the next follower like a sequencer with an empty pool, and closes the connection after a
/// submission. Returns the cursor of the follower and that submission.
fn lose_a_submission(path: &Path) -> JoinHandle<(Cursor, Bytes)> {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let hear = || {
            let (kind, body) = read_frame(&mut &stream, MAX_REQUEST_SIZE).unwrap().unwrap();
            Request::decode(kind, &body).unwrap()
        };
        let Request::Hello(hello) = hear() else { panic!("the first frame is a greeting") };
        let (production, depth) = (Production::default(), FinalityDepth::default());
        let pool = Pool::new(PoolConfig::default()).whole_pool_event(|event| wire::to_vec(&event));
        let welcome = Response::Welcome(Welcome { produces: true, production, depth });
        (&stream).write_all(&welcome.encode()).unwrap();
        write_numbered(&mut &stream, &Response::Pool(pool.into()).encode(), 0).unwrap();
        let submission = loop {
            if let Request::Submit { submission, .. } = hear() {
                break submission;
            }
        };
        stream.flush().unwrap();
        (hello.cursor, submission)
    })
}

/// The submission may have been admitted or not: the error reports that, and the same bytes can be sent
/// again.
#[test]
fn a_submission_with_a_lost_answer_has_an_unknown_outcome() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let settings = serving(datadir.path(), &wallets);
    let clock = Arc::<SteppedClock>::default();
    let open = || Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    let sequencer = open();
    let follower = follow_here(&settings, clock.clone());
    let view = caught_up(&sequencer.node, &follower);
    sequencer.node.stop();
    drop(sequencer);
    let raw = wallets[0].transfer(0, wallets[1].address, 1, Fees::default());
    let hash = follower.decode(&raw).unwrap().hash();
    let away = || matches!(follower.status().phase, Phase::Disconnected(_));
    wait_for("it notices", away);
    assert_eq!(follower.submit(&raw), Err(SubmitError::Away), "nothing was sent");
    let lost = lose_a_submission(&socket(datadir.path()));
    wait_for("it follows again", || follower.status().phase == Phase::Following);
    let answer = follower.submit(&raw);
    assert_eq!(answer, Err(SubmitError::Unknown { hash }));
    let (cursor, submission) = lost.join().unwrap();
    assert!(matches!(cursor, Cursor::After { .. }), "{cursor:?}");
    assert!(!submission.is_empty());
    wait_for("it notices", away);
    assert_eq!(follower.view().unwrap().cursor(), view.cursor(), "reads go on");
    // The socket file that was left behind has no listener.
    assert!(socket(datadir.path()).exists());
    let mut sequencer = open();
    caught_up(&sequencer.node, &follower);
    assert_eq!(follower.submit(&raw), Ok(hash));
    sequencer.tick();
    assert_eq!(caught_up(&sequencer.node, &follower).pending().block.transactions[0].hash(), hash);
}

/// Bytes that a follower is sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<u8>>>);

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A follower receives the effects of a submission before the response, even if both are available at once.
#[test]
fn an_answer_follows_the_pool_events_of_its_submission() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let node = support::open_node(support::settings(datadir.path(), &wallets)).unwrap();
    let _producer = node.start_manual(Arc::<Armed>::default(), RingLimits::default()).unwrap();
    let genesis = node.view().unwrap().sealed(0).unwrap().unwrap().block.hash;
    let identity = Identity { chain_id: node.spec().chain_id(), genesis };
    let hello = Hello {
        identity,
        name: String::new(),
        role: FollowerRole::Worker,
        run_id: [0; 16],
        version: String::new(),
        rpc: String::new(),
        cursor: Cursor::From { sequence: 0 },
    };
    let sent = Sent::default();
    let mut serves =
        node.serve_manual(&mut Request::Hello(hello).encode().as_slice(), Box::new(sent.clone())).unwrap();
    while !serves.is_live() {
        serves.run_once().unwrap();
    }
    serves.run_once().unwrap();
    sent.0.lock().unwrap().clear();
    let raw = wallets[0].transfer(0, wallets[0].address, 1, Fees::default());
    let submission = wire::to_vec(&node.decode(&raw).unwrap().verify().unwrap());
    let submit = Request::Submit { number: 7, runnable: false, submission: submission.into() };
    assert!(serves.receive(&mut submit.encode().as_slice()));
    serves.run_once().unwrap();
    serves.run_once().unwrap();
    let sent = sent.0.lock().unwrap().clone();
    let mut sent = sent.as_slice();
    let mut received = Vec::new();
    while let Some((kind, mut body)) = read_frame(&mut sent, MAX_RESPONSE_SIZE).unwrap() {
        // The frame number is checked by other tests.
        body.truncate(body.len() - 4);
        match Response::decode(kind, body).unwrap() {
            Response::Pool(_) => received.push("pool"),
            Response::Answer { number: 7, .. } => received.push("answer"),
            _ => {}
        }
    }
    assert_eq!(received, ["pool", "answer"]);
}

/// Panics on an empty request, and echoes any other.
struct Stumbling;

impl QueryHandler for Stumbling {
    fn answer(&self, query: &[u8], _: &Pool, _: Duration) -> Option<Vec<u8>> {
        assert!(!query.is_empty(), "a panic that a test wants");
        Some(query.to_vec())
    }
}

#[test]
fn a_panic_in_an_answer_ends_only_that_connection() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let settings = serving(datadir.path(), &wallets);
    let clock = Arc::<SteppedClock>::default();
    let sequencer = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    sequencer.node.answer_with(Arc::new(Stumbling));
    let follower = follow_here(&settings, clock);
    caught_up(&sequencer.node, &follower);
    assert_eq!(follower.query(b"who".to_vec(), MAX_WAIT), Some(b"who".to_vec()));
    assert_eq!(follower.query(Vec::new(), MAX_WAIT), None);
    wait_for("it is heard again", || follower.query(b"now".to_vec(), MAX_WAIT) == Some(b"now".to_vec()));
    caught_up(&sequencer.node, &follower);
}

/// Panics just before a view is published, once it is armed.
#[derive(Default)]
struct Armed(AtomicBool);

impl Watcher for Armed {
    fn reached(&self, point: InspectionPoint) {
        assert!(
            point != InspectionPoint::BeforePublish || !self.0.load(Ordering::Acquire),
            "a panic that a test wants"
        );
    }
}

#[test]
fn a_panicked_follower_reports_it_and_serves_reads() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let settings = serving(datadir.path(), &wallets);
    let clock = Arc::<SteppedClock>::default();
    let mut sequencer = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
    let follower = follower_of(&settings, clock, Arc::new(RealDisk));
    let armed = Arc::<Armed>::default();
    follower.start_watched(armed.clone()).unwrap();
    let view = caught_up(&sequencer.node, &follower);
    armed.0.store(true, Ordering::Release);
    let raw = wallets[0].transfer(0, wallets[1].address, 1, Fees::default());
    sequencer.node.submit(&raw).unwrap();
    sequencer.tick();
    let failed = |node: &Node| matches!(node.status().phase, Phase::Failed(_));
    wait_for("it says so", || failed(&follower));
    assert!(matches!(follower.submit(&raw), Err(SubmitError::Stopped(_))));
    assert_eq!(follower.view().unwrap().cursor(), view.cursor());
    wait_for("the sequencer lets go of it", || sequencer.node.followers().is_empty());
}

#[test]
fn a_server_stopped_before_its_start_accepts_no_follower() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let node = support::open_node(serving(datadir.path(), &wallets)).unwrap();
    node.stop();
    node.start_stepped().unwrap();
    assert!(!socket(datadir.path()).exists());
}

/// Blocks imported while the sequencer was stopped reach a follower that was connected before, and its own
/// follower too.
#[test]
fn imported_blocks_are_followed() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let path_of = |name: &str| folder.path().join(name);
    let (clock, disk) = (Arc::<SteppedClock>::default(), Arc::new(RealDisk));
    let settings = |name: &str| {
        let development = Some(Development::default());
        foreseal_node::Settings { development, ..serving(&path_of(name), &wallets) }
    };
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    {
        let mut other = Bench::open(settings("other"), clock.clone(), disk.clone()).unwrap();
        for _ in 0..5 {
            other.node.submit(&workload.next_transaction()).unwrap();
            other.seal();
        }
        // More blocks than fit into one append.
        other.node.develop(|development| development.mine(70, None)).unwrap();
    }
    let file = path_of("chain.rlp");
    let exported = export_chain(&settings("other"), disk.clone(), &file, &mut |_| true).unwrap();
    assert!(exported.blocks > 64);
    let sequencer = Bench::open(settings("own"), clock.clone(), disk.clone()).unwrap();
    let follower = follow_here(&settings("own"), clock.clone());
    let before = caught_up(&sequencer.node, &follower);
    let (seen, shown) = (before.cursor(), fingerprint(&before));
    drop(sequencer);
    let imported = import_chain(&settings("own"), disk.clone(), &file, &mut |_| true).unwrap();
    assert_eq!((imported.blocks, imported.hash), (exported.blocks, exported.hash));
    let mut sequencer = Bench::open(settings("own"), clock, disk).unwrap();
    let view = caught_up(&sequencer.node, &follower);
    assert_eq!(fingerprint(&view), fingerprint(&sequencer.view()));
    assert_eq!(view.sealed(imported.head).unwrap().unwrap().block.hash, imported.hash);
    assert_eq!((view.safe(), view.finalized()), (imported.head, imported.head));
    assert_eq!(follower.status().following.unwrap().chain_loads, 1, "it went on by its cursor");
    assert_eq!(fingerprint(&before), shown, "what was shown stays what it was");
    let mut received = Vec::new();
    let end = changes(&view, seen, &mut |change, _| {
        received.push(change);
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(end.unwrap(), view.cursor(), "who was there goes on from there");
    assert!(received.len() as u64 > imported.blocks);
    sequencer.node.submit(&workload.next_transaction()).unwrap();
    sequencer.tick();
    let view = caught_up(&sequencer.node, &follower);
    assert_eq!(view.pending().block.transactions.len(), 1);
}
