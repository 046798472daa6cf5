//! The pool methods, and the status of a transaction.

use alloy_primitives::{Address, B256, TxKind, U256};
use foreseal_testkit::{Fees, Wallet};
use serde_json::{Value, json};

use super::{Bench, data};
use crate::context::limits::Limits;

/// Creates two senders: one with a nonce gap after its first transaction, one with a contract creation.
fn bench() -> (Bench, [Wallet; 2]) {
    let bench = Bench::new(2);
    let [a, b] = [bench.wallets[0].clone(), bench.wallets[1].clone()];
    bench.submit(&a.transfer(0, b.address, 7, Fees::default()));
    bench.submit(&a.transfer(10, b.address, 7, Fees::default()));
    bench.submit(&a.transfer(9, b.address, 7, Fees::default()));
    bench.submit(&b.legacy(0, TxKind::Create, U256::ZERO, 90_000, [0x00].into(), 5_000_000_000));
    (bench, [a, b])
}

fn nonces(content: &Value) -> Vec<u64> {
    let mut nonces: Vec<u64> =
        content.as_object().unwrap().keys().map(|nonce| nonce.parse().unwrap()).collect();
    nonces.sort_unstable();
    nonces
}

#[test]
fn content_has_every_transaction_by_sender_and_nonce() {
    let (bench, [a, b]) = bench();
    let content = bench.call("txpool_content", "[]");
    let (first, second) = (a.address.to_checksum(None), b.address.to_checksum(None));
    let pending = content["pending"].as_object().unwrap();
    assert_eq!(pending.len(), 2);
    assert_eq!((nonces(&pending[&first]), nonces(&pending[&second])), (vec![0], vec![0]));
    assert_eq!(content["queued"].as_object().unwrap().len(), 1);
    assert_eq!(nonces(&content["queued"][&first]), [9, 10]);
    let one = &content["queued"][&first]["9"];
    assert_eq!(*one, bench.call("eth_getTransactionByHash", &format!("[{}]", one["hash"])));
    assert_eq!((&one["nonce"], &one["blockHash"]), (&json!("0x9"), &Value::Null));
    assert_eq!(bench.call("txpool_status", "[]"), json!({"pending":"0x2","queued":"0x2"}));
}

#[test]
fn content_of_one_sender_equals_its_entry_in_the_content() {
    let (bench, wallets) = bench();
    let content = bench.call("txpool_content", "[]");
    for wallet in wallets {
        let from = bench.call("txpool_contentFrom", &format!("[\"{}\"]", wallet.address));
        for list in ["pending", "queued"] {
            let entries = &content[list][wallet.address.to_checksum(None)];
            assert_eq!(from[list], if entries.is_null() { json!({}) } else { entries.clone() });
        }
    }
    let unknown = bench.call("txpool_contentFrom", &format!("[\"{}\"]", Address::ZERO));
    assert_eq!(unknown, json!({"pending":{},"queued":{}}));
}

#[test]
fn an_inspection_has_one_line_for_each() {
    let (bench, [a, b]) = bench();
    let lines = bench.call("txpool_inspect", "[]");
    let to = b.address.to_checksum(None);
    assert_eq!(
        lines["pending"][a.address.to_checksum(None)]["0"],
        json!(format!("{to}: 7 wei + 21000 gas × 10000000000 wei"))
    );
    assert_eq!(lines["pending"][&to]["0"], json!("contract creation: 0 wei + 90000 gas × 5000000000 wei"));
}

#[test]
fn a_preconfirmed_transaction_has_left_the_pool() {
    let (mut bench, _) = bench();
    bench.tick();
    assert_eq!(bench.call("txpool_status", "[]"), json!({"pending":"0x0","queued":"0x2"}));
    assert_eq!(bench.call("txpool_content", "[]")["pending"], json!({}));
}

#[test]
fn a_pool_above_the_limit_is_not_listed_but_counted() {
    let limits = Limits { pool_transactions: 1, ..Limits::default() };
    let bench = Bench::with_limits(1, limits);
    let wallet = bench.wallets[0].clone();
    bench.submit(&wallet.transfer(0, wallet.address, 0, Fees::default()));
    assert!(bench.call("txpool_content", "[]")["pending"].is_object());
    bench.submit(&wallet.transfer(1, wallet.address, 0, Fees::default()));
    for method in ["txpool_content", "txpool_inspect"] {
        let error = bench.error(method, "[]");
        assert_eq!(error.code, -32005, "{method}");
        assert_eq!(data(&error), json!({"limit":"pool_transactions","max":1}));
    }
    assert_eq!(bench.call("txpool_status", "[]")["pending"], json!("0x2"));
}

fn status(bench: &Bench, hash: B256) -> Value {
    bench.call("foreseal_transactionStatus", &format!("[\"{hash}\"]"))
}

fn is_known(bench: &Bench, hash: B256) -> bool {
    let answer = bench.call("base_transactionStatus", &format!("[\"{hash}\"]"));
    match answer["status"].as_str().unwrap() {
        "Known" => true,
        "Unknown" => false,
        other => panic!("{other}"),
    }
}

#[test]
fn a_transaction_is_followed_from_pool_to_sealed_block() {
    let mut bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    let ahead = bench.submit(&wallet.transfer(1, wallet.address, 0, Fees::default()));
    assert_eq!(
        status(&bench, ahead),
        json!({"status":"queued","reason":"waits for the transaction with nonce 0"})
    );
    bench.submit(&wallet.transfer(0, wallet.address, 0, Fees::default()));
    assert_eq!(status(&bench, ahead), json!({"status":"pooled"}));
    assert!(is_known(&bench, ahead));
    bench.tick();
    let preconfirmed = json!({"status":"preconfirmed","blockNumber":"0x1","flashblockIndex":"0x1"});
    assert_eq!(status(&bench, ahead), preconfirmed);
    bench.seal();
    assert_eq!(status(&bench, ahead)["status"], json!("sealed"));
    assert_eq!(status(&bench, ahead)["blockNumber"], json!("0x1"));
    assert!(is_known(&bench, ahead));
}

#[test]
fn a_dropped_transaction_has_a_reason() {
    let mut bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    let outbid = bench.submit(&wallet.transfer(0, wallet.address, 0, Fees::default()));
    let dear = Fees { max_fee: 20_000_000_000, tip: 2_000_000_000 };
    let by = bench.submit(&wallet.transfer(0, wallet.address, 0, dear));
    assert_eq!(status(&bench, outbid), json!({"status":"replaced","replacedBy":by}));
    assert!(!is_known(&bench, outbid));
    bench.tick();
    assert_eq!(status(&bench, by)["status"], json!("preconfirmed"));
    let hash = bench.submit(&wallet.transfer(1, wallet.address, 0, Fees::default()));
    let reason = foreseal_pool::DropReason::Rejected("for a test".to_owned());
    bench.api.node().pool().discard(&hash, reason);
    assert_eq!(status(&bench, hash), json!({"status":"dropped","reason":"rejected: for a test"}));
    assert_eq!(status(&bench, B256::ZERO), json!({"status":"unknown"}));
    assert!(!is_known(&bench, B256::ZERO));
}

#[test]
fn a_transaction_status_in_a_batch_uses_the_newest_view() {
    let mut bench = Bench::new(1);
    let old = bench.view();
    let wallet = bench.wallets[0].clone();
    let hash = bench.submit(&wallet.transfer(0, wallet.address, 0, Fees::default()));
    bench.tick();
    let params = format!("[\"{hash}\"]");
    let answer = bench.api.call(Some(&old), "foreseal_transactionStatus", params.as_bytes()).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["status"], json!("preconfirmed"), "neither in the old view nor in the pool");
}
