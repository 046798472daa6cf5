//! A node whose clock the test owns.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod memory_history;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_journal::{Disk, RealDisk};
use foreseal_node::{
    Clock, FinalityDepth, Node, NodeError, Now, Producer, Production, ProductionError, Settings,
    Surroundings, SystemClock, View,
};
use foreseal_pool::PoolConfig;
use foreseal_testkit::{Wallet, test_genesis};

/// Time that only moves when told to. Both clocks move together; the wall clock starts at a million seconds.
#[derive(Debug, Default)]
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Now {
        let elapsed = Duration::from_millis(self.0.load(Ordering::SeqCst));
        Now { unix: Duration::from_secs(1_000_000) + elapsed, monotonic: elapsed }
    }
}

/// A node, its clock and its producer.
pub struct Bench {
    pub node: Arc<Node>,
    pub clock: Arc<TestClock>,
    pub producer: Producer,
}

pub const STEP: Duration = Duration::from_millis(200);

pub fn settings(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings {
        datadir: datadir.to_owned(),
        genesis: Some(test_genesis(wallets)),
        production: Production::default(),
        produce: true,
        finality: FinalityDepth::default(),
        pool: PoolConfig::default(),
        segment_bytes: 1 << 20,
    }
}

/// A node on the machine's clock and disk, not started.
pub fn open_node(settings: Settings) -> Result<Node, NodeError> {
    let surroundings = Surroundings {
        clock: Arc::new(SystemClock::default()),
        randomness: Box::new(|| B256::ZERO),
        disk: Arc::new(RealDisk),
    };
    Node::open(settings, surroundings)
}

impl Bench {
    pub fn new(datadir: &Path, wallets: &[Wallet]) -> Self {
        let clock = Arc::new(TestClock::default());
        Self::open(settings(datadir, wallets), clock, Arc::new(RealDisk)).unwrap()
    }

    /// Starts on a clock that may have run before.
    pub fn open(settings: Settings, clock: Arc<TestClock>, disk: Arc<dyn Disk>) -> Result<Self, NodeError> {
        let mut count = 0_u64;
        let randomness = Box::new(move || {
            count += 1;
            B256::from(alloy_primitives::U256::from(count))
        });
        let node = Node::open(settings, Surroundings { clock: clock.clone(), randomness, disk })?;
        let producer = node.start_stepped()?.expect("the settings say that blocks are produced");
        Ok(Self { node: Arc::new(node), clock, producer })
    }

    pub fn view(&self) -> Arc<View> {
        self.node.view().expect("the node has started")
    }

    /// One step later: one tick.
    pub fn tick(&mut self) {
        self.try_tick().unwrap();
    }

    pub fn try_tick(&mut self) -> Result<(), ProductionError> {
        self.clock.advance(STEP);
        self.producer.tick(self.clock.now(), &mut || true)
    }

    /// Ticks until the block being built now is sealed.
    pub fn seal(&mut self) {
        let number = self.view().pending().number();
        while self.view().latest().number() < number {
            self.tick();
        }
    }
}
