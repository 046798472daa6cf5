//! Import of chain files into an empty data directory: blocks of 5, 100 and 1,000 transfers, of ether and of tokens.
//!
//! Each chain is made and exported once, then imported `ROUNDS` times, in turn with the others. The fastest round
//! counts. The figures go to `target/tmp/import.json`. `FORESEAL_IMPORT` names a folder that retains the chain
//! files, so that several builds can import the same ones.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, Bytes, U256, keccak256};
use foreseal_benches::sized;
use foreseal_chain::{Clock, SteppedClock};
use foreseal_journal::RealDisk;
use foreseal_node::{Node, NodeEnvironment, Producer, Settings, StoreSettings, export_chain, import_chain};
use foreseal_replication::Production;
use foreseal_testkit::{Contract, Fees, Wallet, counting, erc20_transfer, test_genesis};
use serde_json::{Value, json};

/// Accounts that send.
const SENDERS: u64 = 1_000;
/// Accounts that receive.
const RECEIVERS: u64 = 10_000;
/// Far above what 1,000 transfers of tokens need.
const GAS_LIMIT: u64 = 400_000_000;
const BLOCK_SIZES: [u64; 3] = [5, 100, 1_000];

/// Kind of the transactions of a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Native,
    Erc20,
}

impl Transfer {
    fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Erc20 => "erc20",
        }
    }

    /// Signs the transfer number `at` of the chain.
    fn sign(self, at: u64, wallets: &[Wallet]) -> Bytes {
        let wallet = &wallets[usize::try_from(at % SENDERS).expect("few senders")];
        let receiver = Address::from_word(keccak256((at.wrapping_mul(7_919) % RECEIVERS).to_be_bytes()));
        let nonce = at / SENDERS;
        match self {
            Self::Native => {
                wallet.eip1559(nonce, receiver.into(), U256::from(1), 21_000, Bytes::new(), Fees::default())
            }
            Self::Erc20 => {
                let data = erc20_transfer(receiver, U256::from(1));
                let token = Contract::Erc20.address().into();
                wallet.eip1559(nonce, token, U256::ZERO, 100_000, data, Fees::default())
            }
        }
    }
}

/// A chain to import.
struct Case {
    transfer: Transfer,
    block_size: u64,
    transactions: u64,
    file: PathBuf,
    rounds: Vec<Round>,
}

/// Cost of one import.
struct Round {
    seconds: f64,
    processor_seconds: f64,
}

impl Case {
    fn new(transfer: Transfer, block_size: u64, folder: &Path) -> Self {
        let transactions = sized(30_000, 2 * block_size).next_multiple_of(block_size);
        let file = folder.join(format!("{}-{block_size}-{transactions}.rlp", transfer.name()));
        Self { transfer, block_size, transactions, file, rounds: Vec::new() }
    }

    /// Makes the chain on a node and exports it, unless the file exists.
    fn make(&self, wallets: &[Wallet]) {
        if self.file.exists() {
            return;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = settings(folder.path(), wallets);
        let clock = Arc::new(SteppedClock::default());
        let environment = NodeEnvironment {
            clock: clock.clone(),
            randomness: counting(),
            secret: Box::new(|| alloy_primitives::B256::repeat_byte(1)),
            disk: Arc::new(RealDisk),
        };
        let node = Node::open(settings.clone(), environment).expect("the node opens");
        let mut producer = node.start_stepped().expect("the node starts").expect("it produces");
        for at in 0..self.transactions {
            node.submit(&self.transfer.sign(at, wallets)).expect("a valid transaction is admitted");
            if (at + 1) % self.block_size == 0 {
                tick(&mut producer, &clock);
            }
        }
        tick(&mut producer, &clock);
        node.drain().expect("the store takes all");
        let counts = node.pool().counts();
        assert_eq!(counts.pooled + counts.queued, 0, "every transaction is in a block");
        drop((producer, node));
        export_chain(&settings, Arc::new(RealDisk), &self.file, &mut |_| true)
            .expect("the chain is exported");
    }

    fn import(&mut self, wallets: &[Wallet]) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = settings(folder.path(), wallets);
        let (started, processor) = (Instant::now(), processor_seconds());
        import_chain(&settings, Arc::new(RealDisk), &self.file, &mut |_| true)
            .expect("the chain is imported");
        let seconds = started.elapsed().as_secs_f64();
        self.rounds.push(Round { seconds, processor_seconds: processor_seconds() - processor });
    }

    /// Returns the figures: the fastest round by the clock, and the smallest processor time.
    fn report(&self) -> Value {
        let least = |of: fn(&Round) -> f64| self.rounds.iter().map(of).fold(f64::INFINITY, f64::min);
        let (seconds, processor) = (least(|round| round.seconds), least(|round| round.processor_seconds));
        let transactions = f64::from(u32::try_from(self.transactions).expect("not that many"));
        json!({
            "transfer": self.transfer.name(),
            "transactions_per_block": self.block_size,
            "transactions": self.transactions,
            "file_bytes": fs::metadata(&self.file).expect("the file exists").len(),
            "seconds": round(seconds, 1e3),
            "transactions_per_second": round(transactions / seconds, 1.0),
            "cpu_us_per_transaction": round(processor / transactions * 1e6, 10.0),
        })
    }
}

fn settings(folder: &Path, wallets: &[Wallet]) -> Settings {
    let production = Production {
        block_time: 1,
        step: Duration::from_secs(1),
        gas_limit: Some(GAS_LIMIT),
        ..Production::default()
    };
    let genesis = Some(test_genesis(wallets));
    // The chain is made faster than the builder's throttle allows; an import does not use this limit.
    let store = StoreSettings::default();
    Settings { genesis, production, store, ..Settings::new(folder.to_owned()) }
}

fn tick(producer: &mut Producer, clock: &SteppedClock) {
    clock.advance(Duration::from_secs(1));
    producer.tick(clock.now(), &mut || true).expect("production goes on");
}

/// Returns the processor time of this process so far, in seconds.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    f64::from(ticks) / 100.0
}

fn round(number: f64, scale: f64) -> f64 {
    (number * scale).round() / scale
}

fn main() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let folder = std::env::var_os("FORESEAL_IMPORT").map_or(temporary.path().to_owned(), PathBuf::from);
    // Words select cases: `erc20`, `native-100`, ...
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wallets = Wallet::some(SENDERS);
    let mut cases = Vec::new();
    for block_size in BLOCK_SIZES {
        for transfer in [Transfer::Native, Transfer::Erc20] {
            let name = format!("{}-{block_size}", transfer.name());
            if words.is_empty() || words.contains(&name) {
                cases.push(Case::new(transfer, block_size, &folder));
            }
        }
    }
    for case in &cases {
        case.make(&wallets);
    }
    for _ in 0..sized(3, 1) {
        for case in &mut cases {
            case.import(&wallets);
        }
    }
    let report: Vec<Value> = cases.iter().map(Case::report).collect();
    for row in &report {
        println!("{row}");
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import.json");
    fs::write(&path, json!({ "import": report }).to_string()).expect("the figures are written");
}
