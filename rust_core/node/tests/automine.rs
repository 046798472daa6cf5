//! Automine: no reader sees a step without its sealed block.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_chain::{Change as FeedChange, Clock, EventKind, SteppedClock, changes};
use foreseal_node::{Development, InspectionPoint, Mining, Node, Producer, Settings, Watcher};
use foreseal_primitives::{Change, Override};
use foreseal_testkit::{Fees, Wallet};
use parking_lot::Mutex;
use support::{OTHER_ACCOUNT, STEP, balance, environment, settings};

/// Number of the newest sealed block and index of the pending step, in each published view.
type Published = Vec<(u64, u64)>;

/// Records every view at the moment of its publication.
#[derive(Default)]
struct ViewLog {
    node: OnceLock<Weak<Node>>,
    published: Mutex<Published>,
}

impl Watcher for ViewLog {
    fn reached(&self, point: InspectionPoint) {
        if point == InspectionPoint::Published {
            let node = self.node.get().and_then(Weak::upgrade).unwrap();
            let view = node.view().unwrap();
            self.published.lock().push((view.latest().number(), view.pending_index()));
        }
    }
}

/// A node whose published views are recorded.
struct WatchedNode {
    node: Arc<Node>,
    clock: Arc<SteppedClock>,
    producer: Producer,
    log: Arc<ViewLog>,
}

impl WatchedNode {
    fn start(datadir: &Path, wallets: &[Wallet], automine: bool) -> Self {
        let development = Some(Development { automine, ..Development::default() });
        let settings = Settings { development, ..settings(datadir, wallets) };
        let clock = Arc::new(SteppedClock::default());
        let node = Arc::new(Node::open(settings, environment(clock.clone())).unwrap());
        let log = Arc::new(ViewLog::default());
        log.node.set(Arc::downgrade(&node)).unwrap();
        let producer = node.start_watched(log.clone()).unwrap().unwrap();
        Self { node, clock, producer, log }
    }

    fn tick(&mut self) {
        self.clock.advance(STEP);
        self.producer.tick(self.clock.now(), &mut || true).unwrap();
    }

    fn submit(&self, wallet: &Wallet, nonce: u64) -> B256 {
        self.node.submit(&wallet.transfer(nonce, OTHER_ACCOUNT, 7, Fees::default())).unwrap()
    }

    fn set_mining(&self, mining: Mining) {
        self.node.develop(|development| development.set_mining(mining)).unwrap();
    }

    /// Returns the number of the block of a transaction.
    fn block_of(&self, hash: &B256) -> Option<u64> {
        self.node.view().unwrap().transaction(hash).unwrap().map(|(block, _)| block.number())
    }

    fn latest(&self) -> u64 {
        self.node.view().unwrap().latest().number()
    }

    /// Returns the views published since the last call.
    fn published(&self) -> Published {
        std::mem::take(&mut self.log.published.lock())
    }

    /// Asserts that views were published, each without an unsealed step.
    fn assert_atomic(&self, act: &str) {
        let published = self.published();
        assert!(!published.is_empty(), "{act} published nothing");
        assert!(
            published.iter().all(|(_, index)| *index == 0),
            "{act} showed an unsealed step: {published:?}"
        );
    }
}

/// Raises the nonce of `wallet`, so that pooled transactions from that nonce on can run.
fn set_nonce(node: &Node, wallet: &Wallet, nonce: u64) {
    let change = Override { address: wallet.address, change: Change::Nonce(nonce) };
    node.develop(|development| development.write(&change)).unwrap();
}

#[test]
fn each_change_under_automine_publishes_sealed_blocks_only() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let mut watched = WatchedNode::start(datadir.path(), &wallets, true);
    watched.assert_atomic("a start");

    let first = watched.submit(&wallets[0], 0);
    assert_eq!((watched.block_of(&first), watched.latest()), (Some(1), 1));
    watched.assert_atomic("a submission");

    watched.node.develop(|development| development.write(&balance(1_000))).unwrap();
    assert_eq!(watched.latest(), 2);
    watched.assert_atomic("an override");

    let queued = watched.submit(&wallets[1], 1);
    assert_eq!((watched.block_of(&queued), watched.latest()), (None, 2), "its nonce is too high");
    set_nonce(&watched.node, &wallets[1], 1);
    watched.node.develop(|development| development.mine(1, None)).unwrap();
    assert_eq!(watched.block_of(&queued), Some(watched.latest()));
    watched.assert_atomic("mining on request");

    let queued = watched.submit(&wallets[1], 3);
    set_nonce(&watched.node, &wallets[1], 3);
    watched.tick();
    assert_eq!(watched.block_of(&queued), Some(watched.latest()));
    watched.assert_atomic("a tick");

    watched.node.control(|writer| writer.unwind(0)).unwrap();
    assert_eq!((watched.block_of(&first), watched.latest()), (None, 0), "it is in the pool again");
    watched.assert_atomic("an unwind");
    watched.tick();
    assert_eq!((watched.block_of(&first), watched.latest()), (Some(1), 1));
    watched.assert_atomic("the tick after an unwind");

    watched.node.develop(|development| development.reorg(&[Vec::new()])).unwrap();
    assert_eq!((watched.block_of(&first), watched.latest()), (None, 1), "an empty block is in its place");
    watched.assert_atomic("a reorg");
    watched.tick();
    assert_eq!((watched.block_of(&first), watched.latest()), (Some(2), 2));
    watched.assert_atomic("the tick after a reorg");
}

/// Subscribers receive the step before its seal, and can read both in the view that they come from.
#[test]
fn the_feed_has_step_and_seal_of_a_submission_in_one_view() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let watched = WatchedNode::start(datadir.path(), &wallets, true);
    let before = watched.node.view().unwrap().cursor();
    watched.node.feed().drain(Duration::ZERO);
    let hash = watched.submit(&wallets[0], 0);
    let entries = watched.node.feed().drain(Duration::ZERO);
    let views = entries.into_iter().filter_map(|entry| match entry.what {
        EventKind::View(view) => Some(view),
        _ => None,
    });
    let mut events = Vec::new();
    for view in views {
        changes(&view, before, &mut |change, _| {
            events.push(match change {
                FeedChange::Step(step) => format!("step {} of {}", step.index, step.block.header.number),
                FeedChange::Sealed(block) => {
                    assert_eq!(block.transactions[0].hash(), hash);
                    assert_eq!(view.latest().block.hash, block.hash);
                    format!("sealed {}", block.header.number)
                }
                FeedChange::Removed(_) | FeedChange::Unsealed(_) => "removed".to_owned(),
            });
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    assert_eq!(events, ["step 1 of 1", "sealed 1", "step 0 of 2"]);
}

#[test]
fn enabling_automine_seals_pending_steps_and_the_pool() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut watched = WatchedNode::start(datadir.path(), &wallets, false);
    let preconfirmed = watched.submit(&wallets[0], 0);
    watched.tick();
    let pooled = watched.submit(&wallets[0], 1);
    assert_eq!((watched.latest(), watched.node.pool().counts().pooled), (0, 1));
    watched.published();
    watched.set_mining(Mining::Automatic);
    assert_eq!((watched.block_of(&preconfirmed), watched.block_of(&pooled)), (Some(1), Some(2)));
    assert_eq!((watched.latest(), watched.node.pool().counts().pooled), (2, 0));
    watched.assert_atomic("the change of the mode");
}

#[test]
fn a_snapshot_with_steps_is_restored_sealed_under_automine() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut watched = WatchedNode::start(datadir.path(), &wallets, false);
    let preconfirmed = watched.submit(&wallets[0], 0);
    watched.tick();
    let pooled = watched.submit(&wallets[0], 1);
    let snapshot = watched.node.develop(|development| development.snapshot()).unwrap();
    watched.set_mining(Mining::Automatic);
    watched.submit(&wallets[0], 2);
    watched.published();
    assert!(watched.node.develop(|development| development.revert(snapshot)).unwrap());
    assert_eq!((watched.block_of(&preconfirmed), watched.block_of(&pooled)), (Some(1), None));
    assert_eq!((watched.latest(), watched.node.pool().counts().pooled), (1, 1));
    watched.assert_atomic("a revert");
    watched.tick();
    assert_eq!((watched.latest(), watched.block_of(&pooled)), (2, Some(2)));
    watched.assert_atomic("the tick after a revert");
}

#[test]
fn a_start_with_automine_seals_the_steps_of_the_journal() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut before = WatchedNode::start(datadir.path(), &wallets, false);
    let preconfirmed = before.submit(&wallets[0], 0);
    before.tick();
    let hash = before.node.view().unwrap().pending().block.hash;
    drop(before);
    let watched = WatchedNode::start(datadir.path(), &wallets, true);
    let view = watched.node.view().unwrap();
    assert_eq!((view.latest().number(), view.latest().block.hash), (1, hash), "the step stays as it was");
    assert_eq!(watched.block_of(&preconfirmed), Some(1));
    watched.assert_atomic("a start");
    drop((view, watched));
    let again = WatchedNode::start(datadir.path(), &wallets, false);
    assert_eq!(again.node.view().unwrap().latest().block.hash, hash, "and the block is durable");
}

/// Mining on request makes one append and one view of a step and its seal, in every mode.
#[test]
fn a_block_mined_on_request_appears_with_its_step() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut watched = WatchedNode::start(datadir.path(), &wallets, false);
    let first = watched.submit(&wallets[0], 0);
    watched.tick();
    let second = watched.submit(&wallets[0], 1);
    watched.published();
    watched.node.develop(|development| development.mine(2, None)).unwrap();
    assert_eq!((watched.block_of(&first), watched.block_of(&second)), (Some(1), Some(1)));
    assert_eq!(watched.published(), [(1, 0), (2, 0)]);
}
