//! Settings of a node in the simulation, and its opening.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_chain::{BlockWindow, FinalityDepth};
use foreseal_node::{
    ClusterSettings, Development, Node, NodeEnvironment, NodeError, Role, Settings, StoreSettings,
};
use foreseal_pool::PoolConfig;
use foreseal_replication::Production;
use foreseal_simulated_disk::SimulatedDisk;
use foreseal_testkit::{Wallet, test_genesis};
use tempfile::TempDir;

use crate::{action::Setup, world::Clocks};

/// Size of the store's memory map, in bytes; a run stores only some dozen blocks.
const MAP: usize = 64 << 20;

/// Creates a directory for the real files, in memory if `/dev/shm` exists.
pub fn temp_folder() -> Result<TempDir, String> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.map_err(|error| error.to_string())
}

pub fn settings(setup: &Setup, folder: &Path, wallets: &[Wallet]) -> Settings {
    Settings {
        datadir: folder.join("data"),
        genesis: Some(test_genesis(wallets)),
        production: Production { block_time: setup.block_time, ..Production::default() },
        // Clocks jump by more than any limit.
        max_clock_lead: Duration::MAX,
        produce: true,
        driver: false,
        finality: FinalityDepth { safe: 2, finalized: 4 },
        pool: PoolConfig::default(),
        sequencer_key: None,
        new_sequencer_key: false,
        segment_bytes: setup.segment_bytes,
        store: StoreSettings {
            map_size: MAP,
            recent: BlockWindow {
                blocks: setup.recent,
                transactions: setup.recent,
                ..BlockWindow::default()
            },
            backlog: setup.backlog,
            retention: setup.retention,
            ..StoreSettings::default()
        },
        development: setup.development.then(Development::default),
        role: Role::default(),
        cluster: ClusterSettings::default(),
    }
}

/// Opens a node on these clocks and this disk without starting it.
pub fn open(
    settings: &Settings,
    clocks: Arc<Clocks>,
    disk: SimulatedDisk,
    mixes: Arc<AtomicU64>,
) -> Result<Node, NodeError> {
    let environment = NodeEnvironment {
        clock: clocks,
        randomness: randomness(mixes),
        secret: Box::new(|| B256::repeat_byte(1)),
        disk: Arc::new(disk),
    };
    Node::open(settings.clone(), environment)
}

/// Outcome of a start.
pub enum StartOutcome {
    Yes,
    /// A fault prevented the start, with this error.
    No(String),
}

/// Returns a source of `mixHash` values that counts up.
pub fn randomness(mixes: Arc<AtomicU64>) -> Box<dyn FnMut() -> B256 + Send> {
    Box::new(move || {
        let count = mixes.fetch_add(1, Ordering::SeqCst) + 1;
        B256::from(alloy_primitives::U256::from(count))
    })
}
