//! `eth_sendRawTransactionSync`: the receipt, or the error.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, hex};
use foreseal_testkit::{Fees, Wallet};
use serde_json::{Value, json};

use super::{Bench, data, raw_params};
use crate::{
    errors::rpc_error::RpcError,
    methods::method::Method,
    streams::wait::{PendingCall, Reply},
};

const NAME: &str = "eth_sendRawTransactionSync";
const TO: Address = Address::repeat_byte(0xaa);

fn method() -> &'static Method {
    crate::method(NAME).unwrap()
}

fn transfer(wallet: &Wallet, nonce: u64) -> Bytes {
    wallet.transfer(nonce, TO, 1, Fees::default())
}

fn begin(bench: &Bench, params: &str) -> Result<Reply, RpcError> {
    bench.api.begin(Some(&bench.view()), method(), params.as_bytes())
}

/// Returns the wait of a transaction that was pooled.
fn wait(bench: &Bench, params: &str) -> PendingCall {
    match begin(bench, params) {
        Ok(Reply::Later(wait)) => wait,
        other => panic!("{other:?}"),
    }
}

fn poll(bench: &Bench, wait: &PendingCall) -> Option<Result<Value, RpcError>> {
    let answer = bench.api.poll(method(), wait).transpose()?;
    Some(answer.map(|json| serde_json::from_slice(&json).unwrap()))
}

fn ready(bench: &Bench, params: &str) -> Value {
    match begin(bench, params) {
        Ok(Reply::Ready(json)) => serde_json::from_slice(&json).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn advance(bench: &Bench, milliseconds: u64) {
    bench.clock.advance(Duration::from_millis(milliseconds));
}

#[test]
fn the_receipt_arrives_with_the_step_and_on_resubmission() {
    let mut bench = Bench::new(1);
    let raw = transfer(&bench.wallets[0], 0);
    let wait = wait(&bench, &raw_params(&raw));
    assert!(poll(&bench, &wait).is_none(), "pooled only");
    bench.tick();
    let receipt = poll(&bench, &wait).unwrap().unwrap();
    let hash = &receipt["transactionHash"];
    assert_eq!(receipt, bench.call("eth_getTransactionReceipt", &format!("[{hash}]")));
    assert_eq!((&receipt["status"], &receipt["blockNumber"]), (&json!("0x1"), &json!("0x1")));
    assert_eq!(ready(&bench, &raw_params(&raw)), receipt, "pre-confirmed");
    bench.seal();
    assert_eq!(ready(&bench, &raw_params(&raw)), receipt, "sealed");
}

#[test]
fn the_same_pooled_bytes_wait_for_the_same_receipt() {
    let mut bench = Bench::new(1);
    let raw = transfer(&bench.wallets[0], 0);
    let hash = bench.submit(&raw);
    let waits = [wait(&bench, &raw_params(&raw)), wait(&bench, &raw_params(&raw))];
    bench.tick();
    for wait in waits {
        assert_eq!(poll(&bench, &wait).unwrap().unwrap()["transactionHash"], json!(hash));
    }
}

#[test]
fn a_time_out_is_code_4_with_the_hash() {
    let mut bench = Bench::new(1);
    let raw = transfer(&bench.wallets[0], 0);
    let hash = alloy_primitives::keccak256(&raw);
    for (time, waits) in [
        ("", 2000),
        (",null", 2000),
        (",500", 500),
        (",\"0x1f4\"", 500),
        (",30000", 30_000),
        (",30001", 2000),
        (",0", 2000),
        (",-5", 2000),
        (",\"soon\"", 2000),
        (",{}", 2000),
    ] {
        let wait = wait(&bench, &format!("[\"0x{}\"{time}]", hex::encode(&raw)));
        advance(&bench, waits - 1);
        assert!(poll(&bench, &wait).is_none(), "{time}");
        advance(&bench, 1);
        let error = poll(&bench, &wait).unwrap().unwrap_err();
        assert_eq!((error.code, data(&error)), (4, json!(hash)), "{time}");
    }
    assert!(bench.api.node().pool().contains(&hash));
    bench.tick();
    assert_eq!(ready(&bench, &raw_params(&raw))["transactionHash"], json!(hash));
}

#[test]
fn a_receipt_takes_precedence_over_a_time_out() {
    let mut bench = Bench::new(1);
    let wait = wait(&bench, &raw_params(&transfer(&bench.wallets[0], 0)));
    bench.tick();
    advance(&bench, 60_000);
    assert!(poll(&bench, &wait).unwrap().is_ok());
}

#[test]
fn a_nonce_gap_is_code_6_with_the_expected_nonce() {
    let mut bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    bench.submit(&transfer(&wallet, 0));
    let ahead = transfer(&wallet, 2);
    let error = begin(&bench, &raw_params(&ahead)).unwrap_err();
    assert_eq!((error.code, data(&error)), (6, json!("0x1")));
    assert!(!bench.api.node().pool().contains(&alloy_primitives::keccak256(&ahead)));
    bench.submit(&ahead);
    let error = begin(&bench, &raw_params(&ahead)).unwrap_err();
    assert_eq!((error.code, data(&error)), (6, json!("0x1")), "pooled in another way, it still waits");
    bench.tick();
    let next = wait(&bench, &raw_params(&transfer(&wallet, 1)));
    bench.tick();
    assert!(poll(&bench, &next).unwrap().is_ok());
}

#[test]
fn another_unexecutable_transaction_is_code_5_with_the_hash() {
    let bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    let cheap = wallet.transfer(0, TO, 1, Fees { max_fee: 1, tip: 0 });
    let error = begin(&bench, &raw_params(&cheap)).unwrap_err();
    let hash = alloy_primitives::keccak256(&cheap);
    assert_eq!((error.code, data(&error)), (5, json!(hash)));
    assert!(error.message.contains("base fee"), "{}", error.message);
    assert!(!bench.api.node().pool().contains(&hash));
}

#[test]
fn a_transaction_replaced_during_the_wait_returns_its_replacement() {
    let bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    let first = transfer(&wallet, 0);
    let wait = wait(&bench, &raw_params(&first));
    let dear = Fees { max_fee: 20_000_000_000, tip: 2_000_000_000 };
    let second = bench.submit(&wallet.transfer(0, TO, 1, dear));
    let error = poll(&bench, &wait).unwrap().unwrap_err();
    assert_eq!((error.code, data(&error)), (5, json!(alloy_primitives::keccak256(&first))));
    assert!(error.message.contains(&second.to_string()), "{}", error.message);
}

#[test]
fn submission_errors_equal_those_of_send_raw_transaction() {
    let mut bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    bench.submit(&transfer(&wallet, 0));
    bench.tick();
    let low = wallet.transfer(0, TO, 2, Fees::default());
    let plain = bench.error("eth_sendRawTransaction", &raw_params(&low));
    assert_eq!(begin(&bench, &raw_params(&low)).unwrap_err(), plain);
    assert_eq!((plain.code, plain.message.as_str()), (-32000, "nonce too low"));
    assert_eq!(begin(&bench, "[\"0x02\"]").unwrap_err().code, -32000);
    assert_eq!(begin(&bench, "[\"02\"]").unwrap_err().code, -32602);
}

#[test]
fn a_caller_that_cannot_wait_times_out_at_once() {
    let bench = Bench::new(1);
    let raw = transfer(&bench.wallets[0], 0);
    let hash: B256 = alloy_primitives::keccak256(&raw);
    let error = bench.error(NAME, &raw_params(&raw));
    assert_eq!((error.code, data(&error)), (4, json!(hash)));
    assert!(bench.api.node().pool().contains(&hash));
}

#[test]
fn a_waiting_caller_is_woken_by_the_step() {
    let mut bench = Bench::new(1);
    let wait = wait(&bench, &raw_params(&transfer(&bench.wallets[0], 0)));
    let node = bench.api.node().clone();
    let seen = node.changes().count();
    std::thread::scope(|scope| {
        let woken = scope.spawn(|| {
            node.changes().wait(seen, Duration::from_mins(1));
            node.changes().count()
        });
        bench.tick();
        assert!(woken.join().unwrap() > seen);
    });
    assert!(poll(&bench, &wait).unwrap().is_ok());
}
