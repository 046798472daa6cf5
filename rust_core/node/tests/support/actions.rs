//! All changes of a development chain in random order, with restarts in between.

use std::{path::Path, sync::Arc, time::Duration};

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_chain::{BlockWindow, Clock, FinalityDepth, SteppedClock, View};
use foreseal_node::{ControlError, Development, Mining, Role, Sequencer, Settings, StoreSettings};
use foreseal_primitives::{Change, Override, Transaction};
use foreseal_simulated_disk::SimulatedDisk;
use foreseal_testkit::{Contract, TransactionKinds, Wallet, Workload};
use proptest::prelude::*;

use super::{Bench, fingerprint, pair::socket, settings};

/// A change of a development chain.
#[derive(Clone, Debug)]
pub enum Act {
    Tick { submissions: usize, ms: u64 },
    Write(Override),
    Mine { blocks: u64, interval: Option<u64> },
    IncreaseTime(u64),
    SetTime(u64),
    NextTimestamp { after: u64 },
    Unwind { depth: u64 },
    Reorg { depth: usize, transactions: usize },
    Snapshot,
    Revert { newest_but: usize },
    Finality { safe: u64, finalized: u64 },
    Mining(Mining),
    BaseFee(u64),
    Restart,
}

fn change() -> impl Strategy<Value = Override> {
    let number = prop_oneof![Just(0), 1..9_u64, Just(1_000_000_000_000_000_000)];
    let address = prop_oneof![
        (1..4_u8).prop_map(Address::repeat_byte),
        Just(Contract::Counter.address()),
        (0..3_u64).prop_map(|index| Wallet::numbered(index).address),
    ];
    (address, number, 0..4_u8).prop_map(|(address, number, kind)| {
        let change = match kind {
            0 => Change::Balance(U256::from(number)),
            1 => Change::Nonce(number % 10),
            2 => Change::Code(Bytes::from(vec![0x60; usize::try_from(number % 5).unwrap()])),
            _ => Change::Slot { slot: U256::from(number % 3), value: U256::from(number) },
        };
        Override { address, change }
    })
}

/// Returns a strategy for all changes; the common ones are more frequent.
pub fn act() -> impl Strategy<Value = Act> {
    let mining = prop_oneof![
        (1..4_u64).prop_map(|seconds| Mining::Interval { seconds }),
        Just(Mining::Automatic),
        Just(Mining::Manual)
    ];
    prop_oneof![
        12 => (0..4_usize, prop_oneof![Just(200_u64), Just(2_000), 0..5_000_u64])
            .prop_map(|(submissions, ms)| Act::Tick { submissions, ms }),
        6 => change().prop_map(Act::Write),
        2 => (0..4_u64, prop::option::of(0..100_u64)).prop_map(|(blocks, interval)| Act::Mine { blocks, interval }),
        1 => (0..10_000_u64).prop_map(Act::IncreaseTime),
        1 => (0..2_000_000_u64).prop_map(Act::SetTime),
        1 => (0..100_u64).prop_map(|after| Act::NextTimestamp { after }),
        2 => (0..6_u64).prop_map(|depth| Act::Unwind { depth }),
        1 => (0..4_usize, 0..3_usize).prop_map(|(depth, transactions)| Act::Reorg { depth, transactions }),
        2 => Just(Act::Snapshot),
        2 => (0..3_usize).prop_map(|newest_but| Act::Revert { newest_but }),
        1 => (0..10_u64, 0..10_u64).prop_map(|(safe, finalized)| Act::Finality { safe, finalized }),
        1 => mining.prop_map(Act::Mining),
        1 => (0..100_000_000_000_u64).prop_map(Act::BaseFee),
        2 => Just(Act::Restart),
    ]
}

/// Content of a view, to compare with its content when a snapshot was taken.
pub type Shown = (Vec<(u64, B256, Vec<B256>)>, u64, u64, u64);

/// Returns the content of a view.
pub fn shown(view: &View) -> Shown {
    (fingerprint(view), view.pending_index(), view.safe(), view.finalized())
}

/// A node, with the state that the test expects.
pub struct Run {
    bench: Option<Bench>,
    pub settings: Settings,
    clock: Arc<SteppedClock>,
    pub disk: SimulatedDisk,
    workload: Workload,
    snapshots: Vec<(u64, Shown, Vec<B256>)>,
}

impl Run {
    /// Creates a run. With `small` the node holds one block in memory and reads all others from the store.
    pub fn new(datadir: &Path, small: bool) -> Self {
        Self::open(datadir, small, Role::default())
    }

    /// Does the same as [`Self::new`], and serves followers.
    pub fn serving(datadir: &Path, small: bool) -> Self {
        Self::open(datadir, small, Role::Sequencer { feed: Some(socket(datadir)) })
    }

    fn open(datadir: &Path, small: bool, role: Role) -> Self {
        let wallets = Wallet::some(3);
        let recent = if small {
            BlockWindow { blocks: 1, transactions: 1, ..BlockWindow::default() }
        } else {
            BlockWindow::default()
        };
        let settings = Settings {
            development: Some(Development::default()),
            finality: FinalityDepth { safe: 2, finalized: 4 },
            role,
            store: StoreSettings { recent, ..StoreSettings::default() },
            ..settings(datadir, &wallets)
        };
        let (clock, disk) = (Arc::new(SteppedClock::default()), SimulatedDisk::default());
        let workload = Workload::new(wallets, TransactionKinds::WithoutBlobs, 9);
        let mut run = Self { bench: None, settings, clock, disk, workload, snapshots: Vec::new() };
        run.start();
        run
    }

    fn start(&mut self) {
        let disk = Arc::new(self.disk.clone());
        self.bench = Some(Bench::open(self.settings.clone(), self.clock.clone(), disk).unwrap());
        self.snapshots.clear();
    }

    /// Returns the clock of the node.
    pub fn clock(&self) -> Arc<SteppedClock> {
        self.clock.clone()
    }

    /// Returns the running node.
    pub fn bench(&mut self) -> &mut Bench {
        self.bench.as_mut().expect("it runs")
    }

    fn pooled(&mut self) -> Vec<B256> {
        self.bench().node.pool().all().iter().map(|transaction| transaction.hash()).collect()
    }

    /// Sends a control request; asserts that a rejected one changes nothing.
    fn control(&mut self, act: impl FnOnce(&mut Sequencer) -> Result<(), ControlError>) {
        let before = self.bench().view();
        let result = self.bench().node.control(act);
        if result.is_err() {
            assert_eq!(shown(&self.bench().view()), shown(&before));
        }
    }

    /// Applies a change; a rejected one changes nothing.
    pub fn act(&mut self, act: &Act) {
        match act.clone() {
            Act::Tick { submissions, ms } => {
                for _ in 0..submissions {
                    let raw = self.workload.next_transaction();
                    // The submission may be rejected after an unwind or an override.
                    let _ = self.bench().node.submit(&raw);
                }
                self.clock.advance(Duration::from_millis(ms));
                let now = self.clock.now();
                self.bench().producer.tick(now, &mut || true).unwrap();
            }
            Act::Write(change) => self.control(|writer| writer.development().write(&change)),
            Act::Mine { blocks, interval } => {
                let before = self.bench().view().latest().number();
                self.bench().node.develop(|development| development.mine(blocks, interval)).unwrap();
                assert_eq!(self.bench().view().latest().number(), before + blocks);
            }
            Act::IncreaseTime(seconds) => {
                self.control(|writer| writer.development().increase_time(seconds).map(|_| ()));
            }
            Act::SetTime(unix) => self.control(|writer| writer.development().set_time(unix).map(|_| ())),
            Act::NextTimestamp { after } => {
                let timestamp = self.bench().view().latest().block.header.timestamp + after;
                self.control(|writer| writer.development().set_next_timestamp(timestamp));
            }
            Act::Unwind { depth } => {
                let number = self.bench().view().latest().number().saturating_sub(depth);
                self.bench().node.control(|writer| writer.unwind(number)).unwrap();
                assert_eq!(self.bench().view().latest().number(), number);
            }
            Act::Reorg { depth, transactions } => {
                let mut replacement = Vec::new();
                for _ in 0..transactions {
                    replacement
                        .push(Arc::new(Transaction::decode(&self.workload.next_transaction()).unwrap()));
                }
                let blocks = vec![replacement; depth];
                self.control(|writer| writer.development().reorg(&blocks));
            }
            Act::Snapshot => {
                let id = self.bench().node.develop(|development| development.snapshot()).unwrap();
                let at = shown(&self.bench().view());
                let pooled = self.pooled();
                self.snapshots.push((id, at, pooled));
            }
            Act::Revert { newest_but } => self.revert(newest_but),
            Act::Finality { safe, finalized } => {
                self.control(|writer| writer.set_finality(Some(safe), Some(finalized)));
            }
            Act::Mining(mining) => self.control(|writer| writer.development().set_mining(mining)),
            Act::BaseFee(wei) => self.control(|writer| writer.development().set_base_fee(wei)),
            Act::Restart => self.restart(),
        }
    }

    fn revert(&mut self, newest_but: usize) {
        let Some(at) = self.snapshots.len().checked_sub(newest_but + 1) else { return };
        let (id, then, pooled) = self.snapshots[at].clone();
        self.snapshots.truncate(at);
        let done = self.bench().node.develop(|development| development.revert(id)).unwrap();
        if !done {
            return;
        }
        let mining = self.bench().node.control(|writer| Ok(writer.mining())).unwrap();
        let now = shown(&self.bench().view());
        if mining == Mining::Automatic && then.1 > 0 {
            // The block of the restored steps is sealed, and an empty one is open.
            assert_eq!((&now.0[..then.0.len()], now.1), (&then.0[..], 0));
        } else {
            assert_eq!(now, then);
        }
        assert_eq!(self.pooled(), pooled);
    }

    /// Ends the process without a clean stop and starts again.
    fn restart(&mut self) {
        let before = self.bench().view();
        self.bench = None;
        self.start();
        let after = self.bench().view();
        assert_eq!(shown(&after), shown(&before));
    }
}
