//! Nodes that follow another node and write what they receive to a data directory of their own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{path::Path, sync::Arc};

use alloy_primitives::B256;
use foreseal_chain::SteppedClock;
use foreseal_journal::RealDisk;
use foreseal_node::{ClusterRole, ControlError, Node, NodeEnvironment, Role, Settings};
use foreseal_replication::{FeedAddress, Phase};
use foreseal_testkit::{TransactionKinds, Wallet, Workload, wait_for};
use support::{
    Bench, fingerprint,
    pair::{caught_up, follow_here, serving, socket},
    settings,
};

/// Settings of a replica in `datadir` of the node in `upstream`. It serves followers of its own.
fn replica_settings(datadir: &Path, upstream: &Path, wallets: &[Wallet]) -> Settings {
    let role =
        Role::Replica { feed: Some(socket(datadir)), upstream: vec![FeedAddress::Unix(socket(upstream))] };
    Settings { role, ..settings(datadir, wallets) }
}

fn open(settings: &Settings, clock: &Arc<SteppedClock>) -> Arc<Node> {
    let environment = NodeEnvironment {
        clock: clock.clone(),
        randomness: Box::new(|| B256::ZERO),
        secret: Box::new(|| B256::ZERO),
        disk: Arc::new(RealDisk),
    };
    Arc::new(Node::open(settings.clone(), environment).unwrap())
}

fn start(settings: &Settings, clock: &Arc<SteppedClock>) -> Arc<Node> {
    let node = open(settings, clock);
    node.start();
    node
}

fn pooled(node: &Node) -> Vec<B256> {
    node.pool().all().iter().map(|transaction| transaction.hash()).collect()
}

/// A sequencer, a replica of it, a replica of that replica, and a worker of the last.
struct Tree {
    folders: [tempfile::TempDir; 3],
    wallets: Vec<Wallet>,
    clock: Arc<SteppedClock>,
}

impl Tree {
    fn new() -> Self {
        let folders = std::array::from_fn(|_| tempfile::tempdir().unwrap());
        Self { folders, wallets: Wallet::some(4), clock: Arc::default() }
    }

    fn sequencer(&self) -> Bench {
        let settings = serving(self.folders[0].path(), &self.wallets);
        Bench::open(settings, self.clock.clone(), Arc::new(RealDisk)).unwrap()
    }

    fn replica_settings(&self, number: usize) -> Settings {
        replica_settings(self.folders[number].path(), self.folders[number - 1].path(), &self.wallets)
    }

    fn replica(&self, number: usize) -> Arc<Node> {
        start(&self.replica_settings(number), &self.clock)
    }
}

#[test]
fn a_tree_of_replicas_shows_the_same_after_restarts() {
    let tree = Tree::new();
    let mut sequencer = tree.sequencer();
    let mut workload = Workload::new(tree.wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    let (mut first, mut second) = (tree.replica(1), tree.replica(2));
    for round in 0..40 {
        for _ in 0..round % 5 {
            sequencer.node.submit(&workload.next_transaction()).unwrap();
        }
        sequencer.tick();
        for _ in 0..round % 3 {
            sequencer.node.submit(&workload.next_transaction()).unwrap();
        }
        for replica in [&first, &second] {
            let view = caught_up(&sequencer.node, replica);
            assert_eq!(fingerprint(&view), fingerprint(&sequencer.view()));
            wait_for("its pool is the same", || pooled(replica) == pooled(&sequencer.node));
            assert_eq!(replica.pool().counts(), sequencer.node.pool().counts());
        }
        match round {
            5 | 20 => {
                first.stop();
                assert_eq!(first.status().phase, Phase::Stopped);
                drop(first);
                first = tree.replica(1);
            }
            // Without a clean stop.
            11 | 26 => {
                drop(second);
                sequencer.tick();
                second = tree.replica(2);
            }
            15 | 30 => {
                drop(sequencer);
                wait_for("it notices", || matches!(first.status().phase, Phase::Disconnected(_)));
                sequencer = tree.sequencer();
            }
            _ => {}
        }
    }
    let status = second.status();
    assert_eq!((status.produces, status.signer), (true, sequencer.node.status().signer));
    assert_eq!(status.following.unwrap().lag, 0);
}

#[test]
fn a_starting_replica_shows_its_role_and_cluster() {
    let tree = Tree::new();
    let node = open(&tree.replica_settings(1), &tree.clock);
    let status = node.status();
    assert_eq!(status.phase, Phase::Replaying { records: 0 });
    assert_eq!(status.cluster.unwrap().role, ClusterRole::Replica);
    assert_eq!(status.following.unwrap().lag, 0);
}

#[test]
fn a_submission_at_the_end_of_a_tree_reaches_the_sequencer() {
    let tree = Tree::new();
    let mut sequencer = tree.sequencer();
    let (first, second) = (tree.replica(1), tree.replica(2));
    caught_up(&sequencer.node, &second);
    let worker_settings = Settings { ..tree.replica_settings(2) };
    let worker = follow_here(&worker_settings, tree.clock.clone());
    sequencer.tick();
    caught_up(&sequencer.node, &worker);
    let mut workload = Workload::new(tree.wallets.clone(), TransactionKinds::WithoutBlobs, 5);
    for node in [&worker, &second, &first] {
        let hash = node.submit(&workload.next_transaction()).unwrap();
        for everywhere in [&sequencer.node, &first, &second] {
            // The response passes through all of them, after the transaction.
            if Arc::ptr_eq(everywhere, node) || !Arc::ptr_eq(everywhere, &second) {
                assert!(pooled(everywhere).contains(&hash) || Arc::ptr_eq(node, &first));
            }
        }
        assert!(pooled(&sequencer.node).contains(&hash) && pooled(node).contains(&hash));
    }
    sequencer.tick();
    let view = caught_up(&sequencer.node, &worker);
    assert_eq!(fingerprint(&view), fingerprint(&sequencer.view()));
    assert_eq!(view.pending().block.transactions.len(), 3);
    drop(sequencer);
    wait_for("the end notices", || worker.submit(&workload.next_transaction()).is_err());
}

#[test]
fn a_replica_executes_no_command_of_the_writer() {
    let tree = Tree::new();
    let mut sequencer = tree.sequencer();
    let replica = tree.replica(1);
    sequencer.tick();
    caught_up(&sequencer.node, &replica);
    let refused = replica.control(|writer| writer.set_finality(Some(0), None));
    assert!(matches!(refused, Err(ControlError::Follower)), "{refused:?}");
    sequencer.node.control(|writer| writer.set_finality(Some(0), None)).unwrap();
    caught_up(&sequencer.node, &replica);
}

#[test]
fn a_replica_continues_alone_from_its_own_data() {
    let tree = Tree::new();
    let mut sequencer = tree.sequencer();
    let replica = tree.replica(1);
    let mut workload = Workload::new(tree.wallets.clone(), TransactionKinds::WithoutBlobs, 7);
    for _ in 0..30 {
        sequencer.node.submit(&workload.next_transaction()).unwrap();
        sequencer.tick();
    }
    let shown = fingerprint(&caught_up(&sequencer.node, &replica));
    drop(sequencer);
    replica.stop();
    drop(replica);
    let replica = tree.replica(1);
    wait_for("it serves its own data", || replica.view().is_some());
    assert_eq!(fingerprint(&replica.view().unwrap()), shown);
    assert!(replica.status().ready(replica.tick_limit()).is_ok() || !replica.status().shown);
}
