//! `foreseal_getLogs` returns in pages the result of `eth_getLogs`, across new blocks, unwinds and reorgs.

use std::sync::Arc;

use foreseal_node::Development;
use foreseal_primitives::Transaction;
use foreseal_testkit::{Contract, TransactionKinds, Wallet, Workload};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::{Bench, data, settings};
use crate::context::limits::Limits;

pub fn developing(wallets: u64, limits: Limits) -> Bench {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(wallets);
    let settings = foreseal_node::Settings {
        development: Some(Development::default()),
        ..settings(datadir.path(), &wallets)
    };
    Bench::open(datadir, settings, wallets, limits)
}

/// Returns the identity of a log, independent of the step at which it was seen.
fn key(log: &Value) -> (Value, Value, Value) {
    (log["blockNumber"].clone(), log["transactionHash"].clone(), log["logIndex"].clone())
}

/// Client that stores the logs of a filter and the cursor, and no other state.
struct Client {
    filter: Value,
    cursor: Value,
    received: Vec<Value>,
    removed: usize,
}

impl Client {
    fn new(filter: Value) -> Self {
        Self { filter, cursor: Value::Null, received: Vec::new(), removed: 0 }
    }

    /// Reads one page. Returns the number of logs in it.
    fn read(&mut self, bench: &Bench, limit: u64) -> usize {
        let query = json!([{"filter":self.filter,"cursor":self.cursor,"limit":format!("{limit:#x}")}]);
        let mut page = bench.call("foreseal_getLogs", &query.to_string());
        self.cursor = page["cursor"].take();
        let logs = page["logs"].as_array().unwrap();
        assert!(logs.len() as u64 <= limit);
        for log in logs {
            if log["removed"] == json!(true) {
                let last = self.received.pop().expect("only what was seen is removed");
                assert_eq!(key(&last), key(log), "the last one first");
                self.removed += 1;
            } else {
                self.received.push(log.clone());
            }
        }
        logs.len()
    }

    /// Reads until a page is empty. The stored logs must then equal those of the chain.
    fn catch_up(&mut self, bench: &Bench, limit: u64) {
        // Without a cursor the query would restart.
        while self.read(bench, limit) > 0 && !self.cursor.is_null() {}
        let mut filter = self.filter.clone();
        let expected = bench.call("eth_getLogs", &json!([filter.take()]).to_string());
        let keys = |logs: &[Value]| logs.iter().map(key).collect::<Vec<_>>();
        assert_eq!(keys(&self.received), keys(expected.as_array().unwrap()), "{}", self.filter);
    }
}

fn clients() -> Vec<Client> {
    let logger = Contract::Logger.address();
    vec![
        Client::new(json!({"fromBlock":"earliest","toBlock":"pending"})),
        Client::new(json!({"fromBlock":"0x1","toBlock":"latest","address":logger})),
        Client::new(json!({"fromBlock":"0x0","toBlock":"pending","address":Contract::Erc20.address()})),
        Client::new(json!({"fromBlock":"earliest","topics":[null]})),
    ]
}

#[test]
fn pages_of_any_size_concatenate_to_the_full_result() {
    let mut bench = Bench::new(4);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    for _ in 0..5 {
        for _ in 0..20 {
            bench.submit(&workload.next_transaction());
        }
        bench.seal();
    }
    for limit in [1, 2, 7, 1000] {
        for mut client in clients() {
            client.catch_up(&bench, limit);
            assert!(client.received.len() > 3 && client.removed == 0, "{}", client.filter);
            assert!(client.cursor.is_string(), "a range up to a name never ends");
        }
    }
    // A range up to a number ends with it; a range ahead of the chain stays open.
    let mut bounded = Client::new(json!({"fromBlock":"0x2","toBlock":"0x3"}));
    bounded.catch_up(&bench, 1000);
    assert!(!bounded.received.is_empty() && bounded.cursor.is_null());
    let mut ahead = Client::new(json!({"fromBlock":"0x7","toBlock":"0x7"}));
    assert_eq!(ahead.read(&bench, 10), 0);
    assert!(ahead.cursor.is_string());
    for _ in 0..2 {
        bench.submit(&workload.next_transaction());
        bench.seal();
    }
    assert_eq!(bench.view().latest().number(), 7);
    ahead.catch_up(&bench, 1000);
    assert!(ahead.cursor.is_null());
}

/// Applies a random change to the chain between two pages.
fn happen(bench: &mut Bench, workload: &mut Workload, random: &mut StdRng) -> bool {
    let latest = bench.view().latest().number();
    match random.random_range(0..12) {
        0..=5 => {
            for _ in 0..random.random_range(0..4) {
                bench.submit(&workload.next_transaction());
            }
            bench.tick();
        }
        6..=8 => bench.seal(),
        9 => {
            let to = latest - random.random_range(0..=latest.min(4));
            bench.api.node().control(|writer| writer.unwind(to)).unwrap();
            return true;
        }
        10 => {
            let depth = random.random_range(0..=latest.min(3));
            let mut next = || Arc::new(Transaction::decode(&workload.next_transaction()).unwrap());
            let blocks: Vec<_> = (0..depth).map(|_| vec![next(), next()]).collect();
            bench.api.node().develop(|development| development.reorg(&blocks)).unwrap();
            return depth > 0;
        }
        _ => {
            let position = bench.api.node().develop(|development| development.snapshot()).unwrap();
            for _ in 0..3 {
                bench.submit(&workload.next_transaction());
            }
            bench.seal();
            assert!(bench.api.node().develop(|development| development.revert(position)).unwrap());
            return true;
        }
    }
    false
}

#[test]
fn a_client_following_pages_always_matches_the_chain() {
    let mut removed = 0;
    for seed in 0..12 {
        let mut bench = developing(4, Limits::default());
        let mut random = StdRng::seed_from_u64(seed);
        let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, seed);
        let mut clients = clients();
        let mut went_back = 0;
        for _ in 0..100 {
            went_back += u64::from(happen(&mut bench, &mut workload, &mut random));
            for client in &mut clients {
                match random.random_range(0..6) {
                    // The chain may change again in the middle of a sequence of pages.
                    0..=2 => _ = client.read(&bench, random.random_range(1..5)),
                    3 => client.catch_up(&bench, random.random_range(1..50)),
                    _ => {}
                }
            }
        }
        assert!(went_back > 3);
        for client in &mut clients {
            client.catch_up(&bench, 3);
            removed += client.removed;
        }
    }
    assert!(removed > 100, "{removed} logs were removed");
}

#[test]
fn a_block_hash_filter_is_paged() {
    let mut bench = Bench::new(3);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 8);
    for _ in 0..25 {
        bench.submit(&workload.next_transaction());
    }
    bench.seal();
    let mut client = Client::new(json!({"blockHash":bench.view().latest().block.hash}));
    assert_eq!(client.read(&bench, 2), 2);
    assert!(client.cursor.is_string());
    while !client.cursor.is_null() {
        client.read(&bench, 2);
    }
    let expected = bench.call("eth_getLogs", &json!([client.filter]).to_string());
    assert_eq!(Value::Array(client.received), expected);
}

#[test]
fn an_incomplete_cursor_or_one_of_another_filter_is_rejected() {
    let bench = Bench::new(1);
    let page = bench.call("foreseal_getLogs", r#"[{"filter":{"fromBlock":"earliest"}}]"#);
    let cursor = page["cursor"].as_str().unwrap();
    let message = |filter: Value, cursor: &str| {
        let error = bench.error("foreseal_getLogs", &json!([{"filter":filter,"cursor":cursor}]).to_string());
        assert_eq!(error.code, -32602);
        error.message
    };
    let other = message(json!({"address":Contract::Erc20.address()}), cursor);
    assert_eq!(other, "invalid argument 0 (query.cursor): is the cursor of another filter");
    for broken in ["0x", "0x00", &cursor[..cursor.len() - 2], &format!("{cursor}00")] {
        let message = message(json!({"fromBlock":"earliest"}), broken);
        assert_eq!(message, "invalid argument 0 (query.cursor): is not a cursor of this method", "{broken}");
    }
    let error = bench.error("foreseal_getLogs", r#"[{"filter":{"fromBlock":"0x5","toBlock":"0x4"}}]"#);
    assert_eq!((error.code, error.message.as_str()), (-32602, "invalid block range params"));
}

#[test]
fn a_cursor_of_an_unknown_block_names_the_restart_position() {
    let mut bench = developing(2, Limits::default());
    let mut other = developing(2, Limits::default());
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 8);
    for _ in 0..8 {
        for _ in 0..3 {
            let transaction = workload.next_transaction();
            bench.submit(&transaction);
            other.submit(&transaction);
        }
        bench.seal();
        other.seal();
    }
    // The two chains diverge from block 8 on.
    bench.submit(&workload.next_transaction());
    bench.seal();
    other.seal();
    let query = |cursor: &Value| json!([{"filter":{"fromBlock":"0x1"},"cursor":cursor}]).to_string();
    let page = bench.call("foreseal_getLogs", &query(&Value::Null));
    let finalized = bench.view().finalized();
    assert!(finalized > 1);
    let error = other.error("foreseal_getLogs", &query(&page["cursor"]));
    assert_eq!(error.code, -32001, "{}", error.message);
    assert_eq!(data(&error), json!({"fromBlock": format!("{:#x}", finalized + 1)}));
}

#[test]
fn a_cursor_survives_a_restart_without_repeated_logs() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(3);
    let settings = || settings(datadir.path(), &wallets);
    let open = || Bench::open(tempfile::tempdir().unwrap(), settings(), wallets.clone(), Limits::default());
    let mut bench = open();
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 21);
    let mut clients = clients();
    let mut run = |bench: &mut Bench| {
        for _ in 0..6 {
            for _ in 0..6 {
                bench.submit(&workload.next_transaction());
            }
            bench.tick();
            for client in &mut clients {
                client.catch_up(bench, 4);
            }
        }
    };
    run(&mut bench);
    assert!(bench.view().pending().block.receipts.len() > 6, "the cursor is inside the block being built");
    drop(bench);
    let mut bench = open();
    run(&mut bench);
    bench.seal();
    run(&mut bench);
    assert!(clients.iter().all(|client| client.removed == 0 && client.received.len() > 3));
}
