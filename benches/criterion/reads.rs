//! Reads of a chain of 10,000 blocks at random heights, JSON in and JSON out: from blocks in memory, from the
//! store, and from a store outside the page cache. Also the speed of an import of the same chain.
//!
//! `FORESEAL_READS` sets the number of blocks. Single-pass measurements without criterion go to
//! `target/tmp/reads.json`.

use std::{
    fs,
    hint::black_box,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_genesis::Genesis;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use criterion::Criterion;
use foreseal_benches::sized;
use foreseal_chain::{BlockWindow, Clock, SteppedClock};
use foreseal_journal::RealDisk;
use foreseal_node::{Node, NodeEnvironment, Producer, Settings, StoreSettings, export_chain, import_chain};
use foreseal_replication::Production;
use foreseal_rpc::{Api, Limits};
use foreseal_testkit::{Contract, Fees, Wallet, counting, erc20_balance_slot, erc20_transfer, test_genesis};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde_json::{Value, json};

const TRANSACTIONS_PER_BLOCK: u64 = 5;
/// The first block with transactions: those submitted before a tick are in the block that the next one seals.
const FIRST: u64 = 2;
const SENDERS: u64 = 100;
/// Accounts that receive tokens.
const RECEIVERS: u64 = 2_000;
/// Blocks of one log search.
const RANGE: u64 = 100;
/// Requests that criterion's iterations cycle through.
const REQUESTS: usize = 4_096;
/// Requests to a cold store, each for a different height.
const COLD_REQUESTS: usize = 500;
/// All blocks stay in memory.
const ALL: BlockWindow = BlockWindow {
    blocks: usize::MAX,
    transactions: usize::MAX,
    bytes: usize::MAX,
    reorged_bytes: usize::MAX,
};

/// A chain in a folder.
struct Site {
    genesis: Genesis,
    clock: Arc<SteppedClock>,
    folder: tempfile::TempDir,
}

impl Site {
    fn settings(&self, folder: &Path, recent: BlockWindow) -> Settings {
        let production = Production { block_time: 1, step: Duration::from_secs(1), ..Production::default() };
        // The blocks arrive faster than any store can write them: without these limits the builder would
        // throttle.
        let store =
            StoreSettings { recent, backlog: usize::MAX, proofs: u64::MAX, ..StoreSettings::default() };
        let genesis = Some(self.genesis.clone());
        Settings { genesis, production, store, ..Settings::new(folder.to_owned()) }
    }

    fn open(&self, recent: BlockWindow) -> Opened {
        let environment = NodeEnvironment {
            clock: self.clock.clone(),
            randomness: counting(),
            secret: Box::new(|| B256::repeat_byte(1)),
            disk: Arc::new(RealDisk),
        };
        let settings = self.settings(self.folder.path(), recent);
        let node = Node::open(settings, environment).expect("the node opens");
        let producer = node.start_stepped().expect("the node starts").expect("it produces");
        Opened { api: Api::new(Arc::new(node), Limits::default(), B256::ZERO), producer }
    }

    /// Drops the store's file, which is not open, from the page cache.
    fn cool(&self) {
        let input = format!("if={}", self.store_file().display());
        let output = format!("of={}", self.store_file().display());
        let drop_cache = |arguments: &[&str]| {
            let done = Command::new("dd").args(arguments).arg("status=none").status();
            assert!(done.expect("dd starts").success(), "dd {arguments:?}");
        };
        // Only pages that are on disk can be dropped.
        drop_cache(&[&output, "count=0", "conv=notrunc,fdatasync"]);
        drop_cache(&[&input, "count=0", "iflag=nocache"]);
    }

    fn store_file(&self) -> PathBuf {
        let below = |folder: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).expect("a folder can be read");
            entries.map(|entry| entry.expect("an entry can be read").path()).collect()
        };
        let folders = below(self.folder.path()).into_iter().filter(|path| path.is_dir());
        let mut files = folders.flat_map(|folder| below(&folder));
        files.find(|path| path.ends_with("data.mdb")).expect("there is a store")
    }
}

/// A node on a chain.
struct Opened {
    api: Api,
    producer: Producer,
}

impl Opened {
    /// Makes the chain: an empty block, then this many blocks of token transfers, each with a log and two
    /// slots written.
    fn grow(&mut self, blocks: u64, wallets: &[Wallet], clock: &SteppedClock) {
        let node = self.api.node().clone();
        for at in 0..blocks * TRANSACTIONS_PER_BLOCK {
            let wallet = &wallets[usize::try_from(at % SENDERS).expect("few senders")];
            let data = erc20_transfer(receiver(at.wrapping_mul(7919)), U256::from(1));
            let token = Contract::Erc20.address().into();
            let raw = wallet.eip1559(at / SENDERS, token, U256::ZERO, 100_000, data, Fees::default());
            node.submit(&raw).expect("a valid transaction is admitted");
            if (at + 1) % TRANSACTIONS_PER_BLOCK == 0 {
                self.tick(clock);
            }
        }
        while node.view().expect("the node has started").latest().number() < FIRST + blocks - 1 {
            self.tick(clock);
        }
        node.drain().expect("the store takes all");
        let counts = node.pool().counts();
        assert_eq!(counts.pooled + counts.queued, 0, "every transaction is in a block");
    }

    fn tick(&mut self, clock: &SteppedClock) {
        clock.advance(Duration::from_secs(1));
        self.producer.tick(clock.now(), &mut || true).expect("production goes on");
    }

    fn ask(&self, method: &str, params: &str) -> bytes::Bytes {
        let view = self.api.node().view();
        self.api.call(view.as_ref(), method, params.as_bytes()).expect("the request is answered")
    }
}

fn receiver(at: u64) -> Address {
    Address::from_word(keccak256((at % RECEIVERS).to_be_bytes()))
}

/// A request for one height.
struct Question {
    method: &'static str,
    params: fn(u64, &mut StdRng) -> Value,
    /// Blocks that one request covers, the minimum distance between heights without overlap.
    blocks: u64,
}

const QUESTIONS: [Question; 6] = [
    Question { method: "eth_getBlockByNumber", params: |at, _| json!([hex(at), true]), blocks: 1 },
    Question { method: "eth_getBlockReceipts", params: |at, _| json!([hex(at)]), blocks: 1 },
    Question { method: "eth_getLogs", params: logs, blocks: RANGE },
    Question { method: "eth_getStorageAt", params: slot, blocks: 1 },
    Question { method: "eth_call", params: balance, blocks: 1 },
    Question { method: "eth_estimateGas", params: transfer, blocks: 1 },
];

fn hex(number: u64) -> String {
    format!("{number:#x}")
}

fn logs(at: u64, _: &mut StdRng) -> Value {
    let last = hex(at + RANGE - 1);
    json!([{"address": Contract::Erc20.address(), "fromBlock": hex(at), "toBlock": last}])
}

fn slot(at: u64, random: &mut StdRng) -> Value {
    json!([Contract::Erc20.address(), erc20_balance_slot(receiver(random.random())), hex(at)])
}

fn balance(at: u64, random: &mut StdRng) -> Value {
    let data = [&[0x70, 0xa0, 0x82, 0x31], &receiver(random.random()).into_word()[..]].concat();
    json!([{"to": Contract::Erc20.address(), "data": Bytes::from(data)}, hex(at)])
}

fn transfer(at: u64, random: &mut StdRng) -> Value {
    let from = Wallet::numbered(random.random_range(0..SENDERS)).address;
    let data = erc20_transfer(receiver(random.random()), U256::from(1));
    json!([{"from": from, "to": Contract::Erc20.address(), "data": data}, hex(at)])
}

impl Question {
    /// Returns requests for heights of the chain that share no block, as long as there are such heights.
    fn requests(&self, blocks: u64, count: usize) -> Vec<String> {
        let mut random = StdRng::seed_from_u64(7);
        let mut heights: Vec<u64> = (0..blocks / self.blocks).map(|at| FIRST + at * self.blocks).collect();
        heights.shuffle(&mut random);
        heights.truncate(count);
        heights.into_iter().map(|at| (self.params)(at, &mut random).to_string()).collect()
    }
}

fn warm(criterion: &mut Criterion, setting: &str, opened: &Opened, blocks: u64) {
    let mut group = criterion.benchmark_group(format!("reads {setting}"));
    for question in &QUESTIONS {
        let requests = question.requests(blocks, REQUESTS);
        for request in &requests {
            let answer = opened.ask(question.method, request);
            assert!(answer != "null" && answer != "[]", "{} {request}", question.method);
        }
        let mut next = requests.iter().cycle();
        group.bench_function(question.method, |bencher| {
            bencher.iter(|| {
                let request = next.next().expect("the requests go round");
                black_box(opened.ask(question.method, request))
            });
        });
    }
    group.finish();
}

/// Sends all requests once to a node freshly opened on a store outside the page cache.
fn cold(site: &Site, question: &Question, blocks: u64) -> Value {
    site.cool();
    let opened = site.open(BlockWindow::default());
    let requests = question.requests(blocks, COLD_REQUESTS);
    let (before, mut times) = (disk_bytes(), Vec::with_capacity(requests.len()));
    for request in &requests {
        let begun = Instant::now();
        black_box(opened.ask(question.method, request));
        times.push(begun.elapsed());
    }
    let read = disk_bytes() - before;
    let sum: Duration = times.iter().sum();
    times.sort_unstable();
    let micros = |share: usize| round(times[(times.len() - 1) * share / 100].as_secs_f64() * 1e6);
    json!({
        "method": question.method,
        "reads": times.len(),
        "per_second": rate(times.len() as u64, sum),
        "median_us": micros(50),
        "p99_us": micros(99),
        "disk_bytes": read,
    })
}

/// Returns the bytes that this process read from disks.
fn disk_bytes() -> u64 {
    let counts = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = counts.lines().find_map(|line| line.strip_prefix("read_bytes: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn rate(count: u64, time: Duration) -> f64 {
    round(f64::from(u32::try_from(count).expect("not that many")) / time.as_secs_f64())
}

fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Exports the chain to a file and imports that file into an empty folder.
fn import(site: &Site, blocks: u64) -> Value {
    let (other, disk) = (tempfile::tempdir().expect("a temporary folder"), Arc::new(RealDisk));
    let file = other.path().join("chain.rlp");
    let from = site.settings(site.folder.path(), BlockWindow::default());
    let exported = export_chain(&from, disk.clone(), &file, &mut |_| true).expect("the chain is exported");
    let to = site.settings(&other.path().join("data"), BlockWindow::default());
    let begun = Instant::now();
    let imported = import_chain(&to, disk, &file, &mut |_| true).expect("the chain is imported");
    let elapsed = begun.elapsed();
    assert_eq!((imported.blocks, imported.hash), (exported.blocks, exported.hash));
    assert_eq!(imported.blocks, FIRST + blocks - 1);
    let transactions = blocks * TRANSACTIONS_PER_BLOCK;
    json!({
        "blocks": imported.blocks,
        "transactions": transactions,
        "seconds": round(elapsed.as_secs_f64()),
        "transactions_per_second": rate(transactions, elapsed),
    })
}

fn main() {
    let blocks = std::env::var("FORESEAL_READS")
        .map_or(sized(10_000, 700), |number| number.parse().expect("a number of blocks"));
    let mut criterion = Criterion::default().configure_from_args();
    let wallets = Wallet::some(SENDERS);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let site = Site { genesis: test_genesis(&wallets), clock: Arc::default(), folder };

    let (begun, mut opened) = (Instant::now(), site.open(ALL));
    opened.grow(blocks, &wallets, &site.clock);
    let built = begun.elapsed();
    warm(&mut criterion, "memory", &opened, blocks);
    drop(opened);
    let opened = site.open(BlockWindow::default());
    warm(&mut criterion, "store", &opened, blocks);
    drop(opened);

    let cold: Vec<Value> = QUESTIONS.iter().map(|question| cold(&site, question, blocks)).collect();
    let store_bytes = fs::metadata(site.store_file()).expect("there is a store").len();
    let report = json!({
        "blocks": blocks,
        "transactions": blocks * TRANSACTIONS_PER_BLOCK,
        "built_in_seconds": round(built.as_secs_f64()),
        "store_bytes": store_bytes,
        "cold": cold,
        "import": import(&site, blocks),
    });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reads.json");
    fs::write(&path, report.to_string()).expect("the figures are written");
    criterion.final_summary();
}
