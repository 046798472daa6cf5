//! A sequencer and its follower in one process, connected by a real socket.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_primitives::B256;
use foreseal_chain::{Clock, View};
use foreseal_journal::{Disk, RealDisk};
use foreseal_node::{Node, NodeEnvironment, Role, Settings};
use foreseal_replication::Phase;
use foreseal_testkit::{Wallet, wait_for};

use super::settings;

pub fn socket(datadir: &Path) -> PathBuf {
    datadir.join("feed.sock")
}

/// Settings of a sequencer that serves followers.
pub fn serving(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings { role: Role::Sequencer { feed: Some(socket(datadir)) }, ..settings(datadir, wallets) }
}

/// Creates a follower of the sequencer with these settings.
pub fn follower_of(settings: &Settings, clock: Arc<dyn Clock>, disk: Arc<dyn Disk>) -> Arc<Node> {
    let role = Role::Worker { feed: socket(&settings.datadir), name: "one".to_owned() };
    let settings = Settings { role, ..settings.clone() };
    let (randomness, secret) = (Box::new(|| B256::ZERO), Box::new(|| B256::ZERO));
    Arc::new(Node::open(settings, NodeEnvironment { clock, randomness, secret, disk }).unwrap())
}

/// Creates and starts a follower with settings of its own, whose sequencer has another data directory.
pub fn follow_from(
    settings: &Settings,
    sequencer: &Path,
    clock: Arc<dyn Clock>,
    disk: Arc<dyn Disk>,
) -> Arc<Node> {
    let role = Role::Worker { feed: socket(sequencer), name: "one".to_owned() };
    let settings = Settings { role, ..settings.clone() };
    let (randomness, secret) = (Box::new(|| B256::ZERO), Box::new(|| B256::ZERO));
    let node = Arc::new(Node::open(settings, NodeEnvironment { clock, randomness, secret, disk }).unwrap());
    node.start();
    node
}

/// Does the same as [`follower_of`], and starts the follower.
pub fn follow(settings: &Settings, clock: Arc<dyn Clock>, disk: Arc<dyn Disk>) -> Arc<Node> {
    let node = follower_of(settings, clock, disk);
    node.start();
    node
}

/// Creates and starts a follower on the real disk.
pub fn follow_here(settings: &Settings, clock: Arc<dyn Clock>) -> Arc<Node> {
    follow(settings, clock, Arc::new(RealDisk))
}

/// Waits until the follower has caught up with the sequencer's view; returns the follower's view.
pub fn caught_up(sequencer: &Node, follower: &Node) -> Arc<View> {
    let wanted = sequencer.view().unwrap();
    // The safe and finalized blocks change without a step.
    let at = |view: &View| (view.cursor(), view.safe(), view.finalized());
    // A connection that a restart of the sequencer ended may still be noticed afterwards, so it is checked once.
    let mut reached = None;
    wait_for("the follower is up to date", || {
        reached = follower
            .view()
            .filter(|view| at(view) == at(&wanted) && follower.status().phase == Phase::Following);
        reached.is_some()
    });
    reached.unwrap()
}
