//! A node whose clock the test controls.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod actions;
pub mod damage;
pub mod memory_history;
pub mod pair;

use std::{path::Path, sync::Arc, time::Duration};

use alloy_primitives::{Address, B256, U256};
use foreseal_chain::{
    BlockId, Chain, Clock, FinalityDepth, SteppedClock, SystemClock, View, datadir::stored_spec,
};
use foreseal_journal::{Disk, RealDisk};
use foreseal_node::{Development, Node, NodeEnvironment, NodeError, Producer, ProductionError, Settings};
use foreseal_primitives::{Change, Override};
use foreseal_testkit::{Wallet, test_genesis};

/// A node, its clock and its producer.
pub struct Bench {
    pub node: Arc<Node>,
    pub clock: Arc<SteppedClock>,
    pub producer: Producer,
}

pub const STEP: Duration = Duration::from_millis(200);

pub fn settings(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings {
        genesis: Some(test_genesis(wallets)),
        segment_bytes: 1 << 20,
        ..Settings::new(datadir.to_owned())
    }
}

/// Returns the identity of everything that a view shows: number, hash and transactions of every block and
/// step.
pub fn fingerprint(view: &View) -> Vec<(u64, B256, Vec<B256>)> {
    let blocks = (0..=view.latest().number())
        .map(|number| view.sealed(number).unwrap().unwrap())
        .chain([view.pending().clone()]);
    blocks
        .flat_map(|block| {
            let number = block.number();
            let step = |index| view.resolve(BlockId::Step { number, index: index as u64 }).unwrap();
            let steps = (0..block.steps.len()).map(step).collect::<Vec<_>>();
            [block].into_iter().chain(steps)
        })
        .map(|at| {
            assert_eq!(at.state.root(), at.block.header.state_root);
            (at.number(), at.block.hash, at.block.transactions.iter().map(|t| t.hash()).collect())
        })
        .collect()
}

/// Opens a node on the machine's clock and disk, without starting it.
pub fn open_node(settings: Settings) -> Result<Node, NodeError> {
    Node::open(settings, environment(Arc::new(SystemClock::default())))
}

/// Returns an environment with the machine's disk, and without randomness.
pub fn environment(clock: Arc<dyn Clock>) -> NodeEnvironment {
    NodeEnvironment {
        clock,
        randomness: Box::new(|| B256::ZERO),
        secret: Box::new(|| B256::repeat_byte(1)),
        disk: Arc::new(RealDisk),
    }
}

impl Bench {
    pub fn new(datadir: &Path, wallets: &[Wallet]) -> Self {
        let clock = Arc::new(SteppedClock::default());
        Self::open(settings(datadir, wallets), clock, Arc::new(RealDisk)).unwrap()
    }

    /// Creates a node with a development chain.
    pub fn developing(datadir: &Path, wallets: &[Wallet]) -> Self {
        let settings = Settings { development: Some(Development::default()), ..settings(datadir, wallets) };
        Self::open(settings, Arc::new(SteppedClock::default()), Arc::new(RealDisk)).unwrap()
    }

    /// Starts a node on a clock that may have run before.
    pub fn open(
        settings: Settings,
        clock: Arc<SteppedClock>,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, NodeError> {
        let mut count = 0_u64;
        let randomness = Box::new(move || {
            count += 1;
            B256::from(alloy_primitives::U256::from(count))
        });
        let node = Node::open(settings, NodeEnvironment { randomness, disk, ..environment(clock.clone()) })?;
        let producer = node.start_stepped()?.expect("the settings say that blocks are produced");
        Ok(Self { node: Arc::new(node), clock, producer })
    }

    pub fn view(&self) -> Arc<View> {
        self.node.view().expect("the node has started")
    }

    /// Advances the clock by one step and ticks.
    pub fn tick(&mut self) {
        self.try_tick().unwrap();
    }

    pub fn try_tick(&mut self) -> Result<(), ProductionError> {
        self.clock.advance(STEP);
        self.producer.tick(self.clock.now(), &mut || true)
    }

    /// Returns the time until the block being built is due.
    pub fn time_left(&self) -> Duration {
        let due = self.producer.due().expect("time ends blocks");
        due.saturating_sub(self.clock.elapsed())
    }

    /// Ticks until the current block being built is sealed.
    pub fn seal(&mut self) {
        let number = self.view().pending().number();
        while self.view().latest().number() < number {
            self.tick();
        }
    }
}

/// An account without a known key.
pub const OTHER_ACCOUNT: Address = Address::repeat_byte(0x77);

/// Creates a development chain with three wallets.
pub fn start() -> (tempfile::TempDir, Vec<Wallet>, Bench) {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(3));
    let bench = Bench::developing(datadir.path(), &wallets);
    (datadir, wallets, bench)
}

/// Returns a chain of the stored genesis of a node, in memory.
pub fn genesis_chain(node: &Node) -> Chain {
    let spec = stored_spec(node.store().path().parent().unwrap()).unwrap().unwrap();
    Chain::new(Arc::new(spec), FinalityDepth::default())
}

/// Returns an override of the balance of [`OTHER_ACCOUNT`].
pub fn balance(wei: u64) -> Override {
    Override { address: OTHER_ACCOUNT, change: Change::Balance(U256::from(wei)) }
}

/// Ends the process without a clean stop and starts again. Asserts that the chain is the same and continues.
pub fn restart(datadir: &tempfile::TempDir, wallets: &[Wallet], bench: Bench) -> Bench {
    // Not the view itself: it keeps the store open, and a process can open a store only once.
    let facts =
        |view: &View| (fingerprint(view), view.safe(), view.finalized(), view.pending().block.header.clone());
    let (before, clock) = (facts(&bench.view()), bench.clock.clone());
    drop(bench);
    let settings =
        Settings { development: Some(Development::default()), ..settings(datadir.path(), wallets) };
    let mut bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    assert_eq!(facts(&bench.view()), before);
    bench.seal();
    bench
}
