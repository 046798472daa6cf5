//! A sequencer and a follower of it in one process, over a real socket.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_primitives::B256;
use foreseal_journal::{Disk, RealDisk};
use foreseal_node::{Clock, Node, Phase, Role, Settings, Surroundings, View};
use foreseal_testkit::{Wallet, wait_for};

use super::settings;

pub fn socket(datadir: &Path) -> PathBuf {
    datadir.join("feed.sock")
}

/// Settings of a sequencer that serves followers.
pub fn serving(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings { role: Role::Sequencer { feed: Some(socket(datadir)) }, ..settings(datadir, wallets) }
}

/// A follower of the sequencer with these settings.
pub fn follower_of(settings: &Settings, clock: Arc<dyn Clock>, disk: Arc<dyn Disk>) -> Arc<Node> {
    let role = Role::Follower { feed: socket(&settings.datadir), name: "one".to_owned() };
    let settings = Settings { role, ..settings.clone() };
    let (randomness, secret) = (Box::new(|| B256::ZERO), Box::new(|| B256::ZERO));
    Arc::new(Node::open(settings, Surroundings { clock, randomness, secret, disk }).unwrap())
}

/// A started follower with settings of its own, of the sequencer in another data directory.
pub fn follow_from(
    settings: &Settings,
    sequencer: &Path,
    clock: Arc<dyn Clock>,
    disk: Arc<dyn Disk>,
) -> Arc<Node> {
    let role = Role::Follower { feed: socket(sequencer), name: "one".to_owned() };
    let settings = Settings { role, ..settings.clone() };
    let (randomness, secret) = (Box::new(|| B256::ZERO), Box::new(|| B256::ZERO));
    let node = Arc::new(Node::open(settings, Surroundings { clock, randomness, secret, disk }).unwrap());
    node.start();
    node
}

/// As [`follower_of`], started.
pub fn follow(settings: &Settings, clock: Arc<dyn Clock>, disk: Arc<dyn Disk>) -> Arc<Node> {
    let node = follower_of(settings, clock, disk);
    node.start();
    node
}

/// A follower on the real disk.
pub fn follow_here(settings: &Settings, clock: Arc<dyn Clock>) -> Arc<Node> {
    follow(settings, clock, Arc::new(RealDisk))
}

/// The follower's view, once it is as far as the sequencer's.
pub fn caught_up(sequencer: &Node, follower: &Node) -> Arc<View> {
    let wanted = sequencer.view().unwrap();
    // What is safe and finalized changes without a step.
    let at = |view: &View| (view.place(), view.safe(), view.finalized());
    let there = || {
        let view = follower.view()?;
        let same = at(&view) == at(&wanted) && follower.status().phase == Phase::Following;
        same.then_some(view)
    };
    wait_for("the follower is up to date", || there().is_some());
    there().unwrap()
}
