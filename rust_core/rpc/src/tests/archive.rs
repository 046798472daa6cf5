//! Every height of a chain beyond the in-memory window, compared with the same blocks re-executed in memory.
//! The comparison runs again after a reorg of the newest blocks, while readers hold a view from before it.
//!
//! `FORESEAL_ARCHIVE` sets the number of blocks (the default takes seconds; `make archive` runs 5,000).

mod model;

use std::{
    collections::BTreeMap,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_chain::{Clock, SteppedClock, View, datadir::stored_spec};
use foreseal_journal::RealDisk;
use foreseal_node::{Development, Node, NodeEnvironment};
use foreseal_primitives::Transaction;
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::{Bench, settings};
use crate::{context::limits::Limits, request::api::Api};
use model::{Model, Query, normalized};

/// Code of `resource not found`: also for a view that is gone, and for a pruned proof.
const NOT_FOUND: i64 = -32001;
/// Number of blocks for which proofs are retained.
const PROOFS: u64 = 1024;
/// Number of replaced blocks: more than remain in memory.
const DEPTH: u64 = 100;

fn blocks() -> u64 {
    std::env::var("FORESEAL_ARCHIVE")
        .map_or(PROOFS + 56, |number| number.parse().expect("a number of blocks"))
}

struct Archive {
    bench: Bench,
    model: Model,
    random: StdRng,
}

impl Archive {
    fn new() -> Self {
        let wallets = Wallet::some(12);
        let datadir = tempfile::tempdir().unwrap();
        let path = datadir.path().to_owned();
        let bench = open(datadir, wallets, Arc::default());
        let spec = stored_spec(&path).unwrap().unwrap();
        let model = Model::new(Arc::new(spec), &bench.wallets);
        Self { bench, model, random: StdRng::seed_from_u64(5) }
    }

    fn tick(&mut self) {
        self.bench.clock.advance(Duration::from_secs(1));
        self.bench.producer.as_mut().unwrap().tick(self.bench.clock.now(), &mut || true).unwrap();
    }

    /// Seals blocks up to this height, and re-executes each in the model.
    fn grow(&mut self, height: u64, workload: &mut Workload) {
        while self.bench.view().latest().number() < height {
            for _ in 0..self.random.random_range(0..5) {
                self.bench.submit(&workload.next_transaction());
            }
            self.tick();
            self.model.follow(&self.bench.view());
        }
    }

    /// Restarts the process: memory holds only the data read at startup.
    fn restart(&mut self) {
        self.bench.api.node().drain().unwrap();
        let clock = self.bench.clock.clone();
        let wallets = self.bench.wallets.clone();
        let other = open(tempfile::tempdir().unwrap(), Vec::new(), Arc::default());
        let Bench { api, producer, _datadir: datadir, .. } = std::mem::replace(&mut self.bench, other);
        drop((api, producer));
        self.bench = open(datadir, wallets, clock);
    }

    /// Returns random heights, including the first and the last.
    fn heights(&mut self, count: usize) -> Vec<u64> {
        let head = self.model.head();
        let random = &mut self.random;
        let mut heights: Vec<u64> = (0..count).map(|_| random.random_range(0..=head)).collect();
        heights.extend([0, 1, head - 1, head]);
        heights
    }

    fn assert_heights(&mut self, count: usize) {
        for height in self.heights(count) {
            for entry in self.model.queries(height, &mut self.random) {
                let answer = self.bench.call(entry.method, &entry.params);
                assert_eq!(normalized(entry.method, &answer), entry.answer, "{entry:?}");
            }
            self.assert_proofs(height);
        }
    }

    fn assert_proofs(&mut self, height: u64) {
        let retained = height + PROOFS > self.model.head();
        for (params, proof) in self.model.proofs(height, &mut self.random) {
            if retained {
                let answer = self.bench.call("eth_getProof", &params);
                let nodes = |slot: &Value| json!([slot["value"], slot["proof"]]);
                let slots: Vec<Value> =
                    answer["storageProof"].as_array().unwrap().iter().map(nodes).collect();
                assert_eq!(json!([answer["storageHash"], answer["accountProof"], slots]), proof, "{params}");
            } else {
                let error = self.bench.error("eth_getProof", &params);
                assert_eq!(error.code, NOT_FOUND, "{params}: {}", error.message);
                assert!(error.message.contains("no longer available"), "{}", error.message);
            }
        }
    }

    fn assert_logs(&mut self, count: usize) {
        for _ in 0..count {
            let (filter, logs) = self.model.log_query(&mut self.random);
            let answer = self.bench.call("eth_getLogs", &filter);
            assert_eq!(normalized("eth_getLogs", &answer), logs, "{filter}");
        }
    }

    fn assert_consistent(&self) {
        self.bench.api.node().drain().unwrap();
        let verified = self.bench.api.node().store().verify(&mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(verified.faults, []);
    }
}

fn open(datadir: tempfile::TempDir, wallets: Vec<Wallet>, clock: Arc<SteppedClock>) -> Bench {
    let mut settings = settings(datadir.path(), &wallets);
    (settings.production.block_time, settings.production.step) = (1, Duration::from_secs(1));
    settings.development = Some(Development::default());
    let mut count = 0_u64;
    let randomness = Box::new(move || {
        count += 1;
        B256::left_padding_from(&count.to_be_bytes())
    });
    let environment = NodeEnvironment {
        clock: clock.clone(),
        randomness,
        secret: Box::new(|| B256::repeat_byte(1)),
        disk: Arc::new(RealDisk),
    };
    let node = Node::open(settings, environment).unwrap();
    let producer = node.start_stepped().unwrap();
    let limits = Limits { log_time: Duration::from_mins(1), ..Limits::default() };
    let api = Api::new(Arc::new(node), limits, B256::ZERO);
    Bench { api, clock, producer, wallets, _datadir: datadir }
}

/// Counts of the readers' results.
#[derive(Default)]
struct Tally {
    right: AtomicU64,
    gone: AtomicU64,
    stop: AtomicBool,
}

impl Tally {
    /// Queries an old view until stopped, and then once more. Each result is unchanged, or reports that the
    /// view is gone.
    fn call_old(&self, api: &Api, view: &Arc<View>, queries: &[Query]) {
        let mut last = false;
        while !last {
            last = self.stop.load(Ordering::SeqCst);
            for Query { method, params, answer } in queries {
                match api.call(Some(view), method, params.as_bytes()) {
                    Ok(bytes) => {
                        let result: Value = serde_json::from_slice(&bytes).unwrap();
                        assert_eq!(normalized(method, &result), *answer, "{method} {params}: a mixture");
                        self.right.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(error) => {
                        assert_eq!(error.code, NOT_FOUND, "{method} {params}: {}", error.message);
                        assert_eq!(error.message, "view no longer available");
                        self.gone.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
        }
    }

    /// Queries the newest view repeatedly. Returns each head with a height and the hash at that height below
    /// it.
    fn call_new(&self, api: &Api, seed: u64) -> Vec<(B256, u64, Value)> {
        let (mut seen, mut random) = (Vec::new(), StdRng::seed_from_u64(seed));
        loop {
            let last = self.stop.load(Ordering::SeqCst);
            let view = api.node().view().unwrap();
            let (head, hash) = (view.latest().number(), view.latest().block.hash);
            let height = random.random_range(0..=head);
            let params = format!("[\"{height:#x}\",false]");
            if let Ok(bytes) = api.call(Some(&view), "eth_getBlockByNumber", params.as_bytes()) {
                let block: Value = serde_json::from_slice(&bytes).unwrap();
                seen.push((hash, height, block["hash"].clone()));
            }
            // At least one pass, however late this thread starts.
            if last {
                return seen;
            }
        }
    }
}

/// Generates the transactions of the blocks that replace the newest ones.
fn other_blocks(depth: u64, workload: &mut Workload) -> Vec<Vec<Arc<Transaction>>> {
    let mut transaction = || Arc::new(Transaction::decode(&workload.next_transaction()).unwrap());
    (0..depth).map(|at| (0..at % 5).map(|_| transaction()).collect()).collect()
}

/// Reads all pages of a cursor query. Returns its logs and the last cursor.
fn pages(bench: &Bench, filter: &Value, mut cursor: Value) -> (Vec<Value>, Value) {
    let mut logs = Vec::new();
    loop {
        let query = json!([{"filter": filter, "cursor": cursor, "limit": "0x1f4"}]);
        let mut page = bench.call("foreseal_getLogs", &query.to_string());
        cursor = page["cursor"].take();
        let Value::Array(mut page_logs) = page["logs"].take() else { panic!("{page}") };
        if page_logs.is_empty() {
            return (logs, cursor);
        }
        logs.append(&mut page_logs);
    }
}

fn identity(log: &Value) -> Value {
    json!([log["blockNumber"], log["transactionHash"], log["logIndex"], log["data"], log["topics"]])
}

#[test]
fn an_archive_equals_a_replay_before_and_after_reorg() {
    let mut archive = Archive::new();
    let (height, depth) = (blocks(), DEPTH);
    let (wallets, others) = archive.bench.wallets.split_at(8);
    let mut workload = Workload::new(wallets.to_vec(), TransactionKinds::WithoutBlobs, 21);
    let mut other_workload = Workload::new(others.to_vec(), TransactionKinds::WithoutBlobs, 22);
    archive.grow(height - depth, &mut workload);
    let common = archive.model.clone();
    archive.grow(height, &mut workload);
    archive.restart();
    archive.assert_heights(if height < 2_000 { 30 } else { 100 });
    archive.assert_logs(40);

    let filter = json!({"fromBlock": format!("{:#x}", height - depth - 5), "toBlock": "pending"});
    let (received, cursor) = pages(&archive.bench, &filter, Value::Null);
    assert!(received.len() > 20 && received.iter().all(|log| log["removed"] == json!(false)));
    let before = replace(&mut archive, depth, &mut other_workload, common);

    // Removed logs come first, newest first, then the new ones.
    let (news, _) = pages(&archive.bench, &filter, cursor);
    let reorged = received.iter().filter(|log| block_number_of(log) > height - depth).rev();
    let (removed, added): (Vec<_>, Vec<_>) = news.iter().partition(|log| log["removed"] == json!(true));
    assert!(removed.iter().map(|log| identity(log)).eq(reorged.map(identity)));
    assert!(news[..removed.len()].iter().all(|log| log["removed"] == json!(true)));
    let retained = received.iter().filter(|log| block_number_of(log) <= height - depth);
    let now = archive.bench.call("eth_getLogs", &json!([filter]).to_string());
    let now = now.as_array().unwrap().iter().map(identity);
    assert!(now.eq(retained.chain(added).map(identity)));

    archive.assert_heights(30);
    archive.assert_logs(40);
    archive.assert_moved(&before, height - depth);
    archive.assert_consistent();
    archive.restart();
    archive.grow(height + 3, &mut other_workload);
    archive.assert_heights(10);
}

fn block_number_of(log: &Value) -> u64 {
    let number = log["blockNumber"].as_str().unwrap();
    u64::from_str_radix(number.trim_start_matches("0x"), 16).unwrap()
}

/// Replaces the newest `depth` blocks while readers query views from before and after. Returns the model from
/// before.
fn replace(archive: &mut Archive, depth: u64, workload: &mut Workload, common: Model) -> Model {
    let mut queries = Vec::new();
    for height in archive.heights(20) {
        queries.extend(archive.model.queries(height, &mut archive.random));
    }
    for height in archive.model.head() - depth..=archive.model.head() {
        queries.extend(archive.model.queries(height, &mut archive.random));
    }
    let (old, tally) = (archive.bench.view(), Tally::default());
    let (api, blocks) = (&archive.bench.api, other_blocks(depth, workload));
    let seen = thread::scope(|scope| {
        scope.spawn(|| tally.call_old(api, &old, &queries));
        let fresh = scope.spawn(|| tally.call_new(api, 1));
        let done = api.node().develop(|development| development.reorg(&blocks)).map(|()| api.node().drain());
        tally.stop.store(true, Ordering::SeqCst);
        done.unwrap().unwrap();
        fresh.join().unwrap()
    });
    let (right, unavailable) = (tally.right.into_inner(), tally.gone.into_inner());
    assert!(right > 0 && unavailable > 0, "{right} right answers, {unavailable} that the view is gone");

    let before = std::mem::replace(&mut archive.model, common);
    archive.model.follow(&archive.bench.view());
    assert_eq!(archive.model.head(), before.head());
    let chains = [&before, &archive.model].map(|model| (model.hash(model.head()), model));
    let chains: BTreeMap<B256, &Model> = chains.into();
    assert_eq!(chains.len(), 2, "the head is another");
    for (head, height, hash) in &seen {
        // Intermediate heads of the reorg are not visible.
        let model = chains.get(head).expect("a view is of before or of after");
        assert_eq!(*hash, json!(model.hash(*height)), "block {height} below {head}");
    }
    assert!(!seen.is_empty());
    before
}

impl Archive {
    /// Checks that transactions of the replaced blocks are found at their new position, or not at all.
    fn assert_moved(&self, before: &Model, common: u64) {
        let mut missing = 0;
        for height in common + 1..=before.head() {
            let hash = before.hash(height);
            assert_eq!(self.bench.call("eth_getBlockByHash", &json!([hash, false]).to_string()), Value::Null);
            for transaction in before.transactions(height) {
                let receipt = self.bench.call("eth_getTransactionReceipt", &json!([transaction]).to_string());
                match receipt_position(&receipt) {
                    Some((number, index)) if number <= self.model.head() => {
                        assert_eq!(self.model.transactions(number)[index], transaction);
                    }
                    Some((number, index)) => {
                        let pending = self.bench.view().pending().clone();
                        assert_eq!(
                            (number, pending.block.transactions[index].hash()),
                            (pending.number(), transaction)
                        );
                    }
                    None => missing += 1,
                }
            }
        }
        assert!(missing > 0);
    }
}

fn receipt_position(receipt: &Value) -> Option<(u64, usize)> {
    let number = |name: &str| u64::from_str_radix(receipt[name].as_str()?.trim_start_matches("0x"), 16).ok();
    Some((number("blockNumber")?, usize::try_from(number("transactionIndex")?).ok()?))
}
