//! Automine: a receipt that a reader gets is in a block that is `latest` for it.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, B256};
use foreseal_chain::ReadMode;
use foreseal_node::Development;
use foreseal_testkit::Fees;
use serde_json::{Value, json};

use super::{Bench, raw_params};
use crate::request::api::Api;

const OTHER_ACCOUNT: Address = Address::repeat_byte(0x77);
/// Transactions of each sender.
const TRANSACTIONS: u64 = 60;

fn bench(wallets: u64) -> Bench {
    let development = Development { automine: true, mined: 5, ..Development::default() };
    Bench::with_development(wallets, development)
}

/// Calls a method with the view that is newest now, as a transport does for each request.
fn call(api: &Api, method: &str, params: &str) -> Value {
    let view = api.node().view().unwrap();
    let answer = api.call(Some(&view), method, params.as_bytes());
    serde_json::from_slice(&answer.unwrap_or_else(|error| panic!("{method} {params}: {error:?}"))).unwrap()
}

fn quantity(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// Asserts that `latest` includes the transaction, by every method that reads it.
fn assert_latest(api: &Api, sender: Address, nonce: u64, receipt: &Value) {
    let block = quantity(&receipt["blockNumber"]);
    assert!(quantity(&call(api, "eth_blockNumber", "[]")) >= block, "{receipt}");
    let latest = call(api, "eth_getBlockByNumber", "[\"latest\",false]");
    assert!(quantity(&latest["number"]) >= block, "{receipt}");
    let by_number = call(api, "eth_getBlockByNumber", &format!("[{},false]", receipt["blockNumber"]));
    assert_eq!(by_number["hash"], receipt["blockHash"]);
    let count = call(api, "eth_getTransactionCount", &format!("[\"{sender}\",\"latest\"]"));
    assert!(quantity(&count) > nonce, "{count} is not above {nonce}");
}

/// Polls for the receipts of a sender in order until it has all, and checks `latest` after each. `sent` is
/// `true` once every transaction is sent.
fn read_receipts(api: &Api, sender: Address, hashes: &[B256], sent: &AtomicBool) {
    for (hash, nonce) in hashes.iter().zip(0..) {
        let receipt = loop {
            let ended = sent.load(Ordering::Acquire);
            let receipt = call(api, "eth_getTransactionReceipt", &format!("[\"{hash}\"]"));
            if !receipt.is_null() {
                break receipt;
            }
            assert!(!ended, "{hash} has no receipt");
            std::thread::yield_now();
        };
        assert_latest(api, sender, nonce, &receipt);
    }
}

#[test]
fn concurrent_readers_find_every_receipt_in_latest() {
    let bench = bench(2);
    let transactions: Vec<(Address, Vec<Vec<u8>>)> = bench
        .wallets
        .iter()
        .map(|wallet| {
            let transfer = |nonce| wallet.transfer(nonce, OTHER_ACCOUNT, 1, Fees::default()).to_vec();
            (wallet.address, (0..TRANSACTIONS).map(transfer).collect())
        })
        .collect();
    let (api, sent) = (&bench.api, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let senders: Vec<_> = transactions
            .iter()
            .map(|(sender, raw)| {
                let hashes: Vec<B256> = raw.iter().map(alloy_primitives::keccak256).collect();
                scope.spawn(move || read_receipts(api, *sender, &hashes, sent));
                scope.spawn(move || {
                    for (raw, nonce) in raw.iter().zip(0..) {
                        let hash = call(api, "eth_sendRawTransaction", &raw_params(raw));
                        let receipt = call(api, "eth_getTransactionReceipt", &format!("[{hash}]"));
                        assert_latest(api, *sender, nonce, &receipt);
                    }
                })
            })
            .collect();
        // Blocks that are mined on request meanwhile include transactions of the pool as well.
        scope.spawn(move || {
            while !sent.load(Ordering::Acquire) {
                call(api, "evm_mine", "[]");
                let pending = call(api, "eth_getBlockByNumber", "[\"pending\",false]");
                assert_eq!(pending["transactions"], json!([]), "an unsealed step was shown");
            }
        });
        let results: Vec<_> = senders.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        sent.store(true, Ordering::Release);
        for result in results {
            result.unwrap();
        }
    });
    let sum = call(&bench.api, "eth_getBalance", &format!("[\"{OTHER_ACCOUNT}\",\"latest\"]"));
    assert_eq!(quantity(&sum), 2 * TRANSACTIONS);
}

#[test]
fn enabling_automine_seals_what_is_pending_before_it_returns() {
    let mut bench = Bench::developing(1);
    let from = bench.wallets[0].address;
    let send = |bench: &Bench| {
        let transaction = format!("[{{\"from\":\"{from}\",\"to\":\"{OTHER_ACCOUNT}\",\"value\":\"0x1\"}}]");
        bench.call("eth_sendTransaction", &transaction)
    };
    let preconfirmed = send(&bench);
    bench.tick();
    let pooled = send(&bench);
    assert_eq!(bench.call("eth_blockNumber", "[]"), json!("0x0"));
    bench.call("evm_setAutomine", "[true]");
    for (hash, nonce) in [preconfirmed, pooled].iter().zip(0..) {
        let receipt = bench.call("eth_getTransactionReceipt", &format!("[{hash}]"));
        assert_latest(&bench.api, from, nonce, &receipt);
    }
    let sent = send(&bench);
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[{sent}]"));
    assert_latest(&bench.api, from, 2, &receipt);
}

/// Asserts that an endpoint's `latest` is the sealed block, by tag, without a tag and by number.
fn assert_sealed_is_latest(api: &Api) {
    let number = quantity(&call(api, "eth_blockNumber", "[]"));
    let block = |id: &str| call(api, "eth_getBlockByNumber", &format!("[{id},false]"));
    assert_eq!(quantity(&block("\"latest\"")["number"]), number);
    assert_eq!(block(&format!("\"{:#x}\"", number + 1)), Value::Null);
}

/// hardhat-network-helpers 1.1 and titanoboa 0.2.8 compare `latest` with the block that they just mined.
#[test]
fn the_empty_block_after_a_mined_one_is_latest_at_no_endpoint() {
    let mut bench = Bench::developing(1);
    let api = bench.api.in_mode(ReadMode::Preconfirmed);
    let from = bench.wallets[0].address;
    let send = format!("[{{\"from\":\"{from}\",\"to\":\"{OTHER_ACCOUNT}\",\"value\":\"0x1\"}}]");
    call(&api, "eth_sendTransaction", &send);
    bench.tick();
    let open = call(&api, "eth_getBlockByNumber", "[\"latest\",false]");
    assert_eq!((quantity(&open["number"]), quantity(&call(&api, "eth_blockNumber", "[]"))), (1, 0));
    let filter = call(&api, "eth_newBlockFilter", "[]");
    call(&api, "evm_setAutomine", "[true]");
    assert_sealed_is_latest(&api);
    for _ in 0..3 {
        call(&api, "eth_sendTransaction", &send);
        assert_sealed_is_latest(&api);
        call(&api, "evm_mine", "[]");
        assert_sealed_is_latest(&api);
    }
    let blocks = call(&api, "eth_getFilterChanges", &format!("[{filter}]"));
    assert_eq!(blocks.as_array().unwrap().len(), 7);
    call(&api, "evm_setAutomine", "[false]");
    let open = call(&api, "eth_getBlockByNumber", "[\"latest\",false]");
    assert_eq!((quantity(&open["number"]), quantity(&call(&api, "eth_blockNumber", "[]"))), (8, 7));
}
