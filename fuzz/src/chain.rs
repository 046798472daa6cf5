//! A small chain in this process. Targets query it, and the seed inputs come from it.

use std::{path::Path, sync::Arc, time::Duration};

use alloy_primitives::{B256, Bytes};
use foreseal_chain::{Clock, FinalityDepth, SteppedClock, View};
use foreseal_journal::RealDisk;
use foreseal_keccak::keccak;
use foreseal_node::{Development, Node, NodeEnvironment, Producer, Settings, StoreSettings};
use foreseal_pool::PoolConfig;
use foreseal_replication::Production;
use foreseal_rpc::{Api, Key, Limits};
use foreseal_testkit::{TransactionKinds, Wallet, Workload, counting, test_genesis};

/// Accounts that the genesis funds and that send transactions.
const WALLETS: u64 = 3;
/// Sealed blocks of the chain, without the genesis block.
const BLOCKS: usize = 3;
/// Transactions sent before each step.
const TRANSACTIONS: usize = 6;

/// Limits low enough that inputs reach them and that no input takes long.
const LIMITS: Limits = Limits {
    logs: 20,
    log_time: Duration::from_mins(10),
    filters: 16,
    terms: 50,
    flashblocks: 3,
    flashblock_bytes: 1 << 14,
    call_gas: 150_000,
    call_time: Duration::from_mins(10),
    simulate_gas: 200_000,
    slots: 16,
    pool_transactions: 20,
    sync_time: Duration::from_millis(1),
    response: 1 << 20,
    trace_bytes: 1 << 16,
};

/// A node that steps only on demand, with its RPC methods.
pub struct TestChain {
    pub api: Api,
    /// Transactions that the node accepted, in order of submission.
    pub sent: Vec<Bytes>,
    clock: Arc<SteppedClock>,
    producer: Option<Producer>,
    datadir: tempfile::TempDir,
}

impl TestChain {
    /// Creates a chain with a few sealed blocks and a pending block. They contain transactions of every type
    /// except blob transactions (EIP-4844).
    pub fn with_blocks() -> Self {
        let mut chain = Self::make(None);
        chain.producer = chain.api.node().start_stepped().expect("a new chain starts");
        let mut workload = Workload::new(Wallet::some(WALLETS), TransactionKinds::WithoutBlobs, 1);
        for _ in 0..BLOCKS {
            let number = chain.view().pending().number();
            while chain.view().latest().number() < number {
                chain.step(&mut workload);
            }
        }
        chain.step(&mut workload);
        chain.send(workload.next_transaction());
        chain
    }

    /// Creates a development chain that never starts, with the methods of the admin listener. Methods can
    /// only parse their parameters.
    pub fn unstarted() -> Self {
        let chain = Self::make(Some(Development { snapshots: 10, mined: 2, ..Development::default() }));
        let keys = Wallet::some(WALLETS);
        let key = |wallet: &Wallet| Key { address: wallet.address, secret: wallet.secret() };
        Self { api: chain.api.with_keys(keys.iter().map(key).collect()).for_admin(), ..chain }
    }

    fn make(development: Option<Development>) -> Self {
        let datadir = tempfile::tempdir().expect("there is room for a data directory");
        let settings = Settings {
            datadir: datadir.path().to_owned(),
            genesis: Some(test_genesis(&Wallet::some(WALLETS))),
            production: Production::default(),
            finality: FinalityDepth { safe: 1, finalized: 2 },
            pool: PoolConfig {
                max_per_sender: 64,
                max_dropped_history: 64,
                max_pending_log: 64,
                ..PoolConfig::default()
            },
            segment_bytes: 1 << 20,
            store: StoreSettings { map_size: 1 << 26, ..StoreSettings::default() },
            development,
            ..Settings::new(datadir.path().to_owned())
        };
        let clock = Arc::new(SteppedClock::default());
        let randomness = counting();
        let secret = Box::new(|| B256::repeat_byte(1));
        let environment =
            NodeEnvironment { clock: clock.clone(), randomness, secret, disk: Arc::new(RealDisk) };
        let node = Node::open(settings, environment).expect("a new data directory opens");
        let api = Api::new(Arc::new(node), LIMITS, B256::ZERO);
        Self { api, sent: Vec::new(), clock, producer: None, datadir }
    }

    /// Returns the newest view.
    pub fn view(&self) -> Arc<View> {
        self.api.node().view().expect("the chain has begun")
    }

    /// Returns the receipts of the chain's pre-confirmations, as the JSON of `foreseal_preconfirmation`.
    pub fn receipts(&self) -> Vec<Vec<u8>> {
        let ask = |sent: &Bytes| {
            let params = format!("[\"{}\"]", keccak(sent));
            self.api.call(Some(&self.view()), "foreseal_preconfirmation", params.as_bytes())
        };
        let answers = self.sent.iter().filter_map(|sent| ask(sent).ok());
        answers.filter(|answer| answer != "null").map(Vec::from).collect()
    }

    /// Returns the data directory.
    pub fn datadir(&self) -> &Path {
        self.datadir.path()
    }

    fn step(&mut self, workload: &mut Workload) {
        for _ in 0..TRANSACTIONS {
            self.send(workload.next_transaction());
        }
        self.clock.advance(Duration::from_millis(400));
        let producer = self.producer.as_mut().expect("the chain has begun");
        producer.tick(self.clock.now(), &mut || true).expect("a step is made");
    }

    fn send(&mut self, transaction: Bytes) {
        // A set-code transaction (EIP-7702) may use up a nonce that the workload does not count. The pool
        // then rejects the transaction that reuses this nonce.
        if self.api.node().submit(&transaction).is_ok() {
            self.sent.push(transaction);
        }
    }
}
