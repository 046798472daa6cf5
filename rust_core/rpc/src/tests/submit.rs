//! Submission errors of the specification, and the life cycle of a transaction.

use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use foreseal_replication::SubmitError;
use foreseal_testkit::{Fees, Wallet};
use serde_json::{Value, json};

use super::{Bench, data, raw_params};
use crate::{
    errors::{error::Error, rpc_error::RpcError},
    request::table::method,
    streams::wait::Reply,
};

const TO: Address = Address::repeat_byte(0xaa);

fn rejection(bench: &Bench, raw: &[u8]) -> RpcError {
    let error = bench.error("eth_sendRawTransaction", &raw_params(raw));
    assert_eq!(error.code, -32000, "{error:?}");
    error
}

fn transfer(wallet: &Wallet, nonce: u64) -> Bytes {
    wallet.transfer(nonce, TO, 1, Fees::default())
}

#[test]
fn the_four_errors_have_the_specified_messages_and_data() {
    let mut bench = Bench::new(2);
    let [a, b] = [bench.wallets[0].clone(), bench.wallets[1].clone()];
    let first = transfer(&a, 0);
    bench.submit(&first);
    assert_eq!(rejection(&bench, &first).message, "already known");
    let underpriced = rejection(&bench, &a.transfer(0, TO, 2, Fees::default()));
    assert_eq!(underpriced.message, "replacement transaction underpriced");
    assert_eq!(data(&underpriced)["maxFeePerGas"], json!("0x2540be400"));
    let poor = b.eip1559(0, TO.into(), U256::MAX >> 8, 21_000, Bytes::new(), Fees::default());
    let poor = rejection(&bench, &poor);
    assert_eq!(poor.message, "insufficient funds for gas * price + value");
    assert!(data(&poor)["have"].is_string() && data(&poor)["want"].is_string());
    bench.tick();
    assert_eq!(rejection(&bench, &first).message, "already known", "pre-confirmed");
    let low = rejection(&bench, &a.transfer(0, TO, 2, Fees::default()));
    assert_eq!(
        (low.message.as_str(), data(&low)),
        ("nonce too low", json!({"have":"0x0","want":"0x1","nextNonce":"0x1"}))
    );
    bench.seal();
    assert_eq!(rejection(&bench, &first).message, "nonce too low", "sealed");
}

#[test]
fn invalid_transaction_bytes_are_rejected_without_data() {
    let bench = Bench::new(1);
    for raw in [&[][..], &[0x02], &[0xc0], &[0x05, 0xc0], &[0xff; 40]] {
        let error = rejection(&bench, raw);
        assert!(error.message.contains("EIP-2718"), "{raw:?}: {error:?}");
    }
}

#[test]
fn a_transaction_is_found_pooled_preconfirmed_and_sealed() {
    let mut bench = Bench::new(2);
    let wallet = bench.wallets[0].clone();
    let hash = bench.submit(&transfer(&wallet, 0));
    let params = format!("[\"{hash}\"]");
    let find = |bench: &Bench| bench.call("eth_getTransactionByHash", &params);
    let receipt = |bench: &Bench| bench.call("eth_getTransactionReceipt", &params);
    let pooled = find(&bench);
    assert_eq!((&pooled["hash"], &pooled["blockHash"]), (&json!(hash), &Value::Null));
    assert_eq!(pooled["gasPrice"], pooled["maxFeePerGas"]);
    assert_eq!(receipt(&bench), Value::Null);
    bench.tick();
    let preconfirmed = find(&bench);
    let partial = bench.call("eth_getBlockByNumber", r#"["pending",true]"#);
    assert_eq!(preconfirmed["blockHash"], partial["hash"]);
    assert_eq!(partial["transactions"], json!([preconfirmed]));
    assert_eq!(receipt(&bench)["blockHash"], partial["hash"]);
    assert_eq!(bench.call("eth_getBlockReceipts", r#"["pending"]"#), json!([receipt(&bench)]));
    let (before, receipt_before) = (find(&bench), receipt(&bench));
    bench.seal();
    assert_eq!((find(&bench), receipt(&bench)), (before, receipt_before));
    assert_eq!(bench.call("eth_getBlockByNumber", r#"["latest",true]"#), partial);
}

#[test]
fn an_older_view_finds_transactions_preconfirmed_since() {
    let mut bench = Bench::new(2);
    let old = bench.view();
    let hash = bench.submit(&transfer(&bench.wallets[0], 0));
    bench.tick();
    let params = format!("[\"{hash}\"]");
    let bytes = bench.api.call(Some(&old), "eth_getTransactionByHash", params.as_bytes()).unwrap();
    let transaction: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(transaction["blockNumber"], json!("0x1"), "neither in the old view nor in the pool");
}

#[test]
fn the_pending_nonce_counts_preconfirmed_and_pooled_transactions() {
    let mut bench = Bench::new(2);
    let wallet = bench.wallets[0].clone();
    let count = |bench: &Bench, tag: &str| {
        bench.call("eth_getTransactionCount", &format!("[\"{}\",\"{tag}\"]", wallet.address))
    };
    bench.submit(&transfer(&wallet, 0));
    bench.submit(&transfer(&wallet, 1));
    bench.submit(&transfer(&wallet, 3));
    assert_eq!((count(&bench, "latest"), count(&bench, "pending")), (json!("0x0"), json!("0x2")));
    let old = bench.view();
    bench.tick();
    assert_eq!((count(&bench, "latest"), count(&bench, "pending")), (json!("0x0"), json!("0x2")));
    bench.submit(&transfer(&wallet, 2));
    assert_eq!(count(&bench, "pending"), json!("0x4"), "the gap is closed");
    let params = format!("[\"{}\",\"pending\"]", wallet.address);
    let from_old = bench.api.call(Some(&old), "eth_getTransactionCount", params.as_bytes()).unwrap();
    assert_eq!(from_old, "\"0x4\"", "the newest view counts, not the batch's");
    bench.seal();
    assert_eq!((count(&bench, "latest"), count(&bench, "pending")), (json!("0x4"), json!("0x4")));
}

#[test]
fn a_contract_creation_names_its_contract() {
    let mut bench = Bench::new(1);
    let raw = bench.wallets[0].eip1559(0, TxKind::Create, U256::ZERO, 100_000, Bytes::new(), Fees::default());
    let hash = bench.submit(&raw);
    bench.tick();
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"));
    assert_eq!(receipt["contractAddress"], json!(bench.wallets[0].address.create(0)));
    assert_eq!(receipt["to"], Value::Null);
}

/// On a follower whose connection broke before the response.
#[test]
fn the_error_of_a_lost_answer_names_the_transaction() {
    let hash = B256::repeat_byte(5);
    let error = RpcError::from(Error::Submit(SubmitError::Unknown { hash }));
    assert_eq!((error.code, data(&error)), (-32002, json!(hash)));
    assert!(error.message.ends_with("the transaction may have been accepted"));
}

fn begin(bench: &Bench, raw: &[u8]) -> Result<Reply, RpcError> {
    let row = method("eth_sendRawTransaction").unwrap();
    bench.api.begin(Some(&bench.view()), row, raw_params(raw).as_bytes())
}

#[test]
fn a_submission_without_funds_is_rejected_before_verification() {
    let bench = Bench::new(1);
    let (rich, poor) = (bench.wallets[0].clone(), Wallet::numbered(77));
    let mut wrong = poor.blob(0, TO, 1).to_vec();
    // The last byte belongs to the last proof.
    *wrong.last_mut().unwrap() ^= 1;
    for raw in [&wrong[..], &poor.set_code(0, &rich, 0, TO)] {
        let error = begin(&bench, raw).unwrap_err();
        assert_eq!(error.message, "insufficient funds for gas * price + value");
    }
    let mut wrong = rich.blob(0, TO, 1).to_vec();
    *wrong.last_mut().unwrap() ^= 1;
    assert!(matches!(begin(&bench, &wrong), Ok(Reply::Verification(_))));
    let error = rejection(&bench, &wrong);
    assert!(error.message.starts_with("blob sidecar is invalid"), "{error:?}");
}

#[test]
fn a_verified_submission_is_checked_against_the_newest_state() {
    let mut bench = Bench::new(2);
    let [a, b] = [bench.wallets[0].clone(), bench.wallets[1].clone()];
    let row = method("eth_sendRawTransaction").unwrap();
    let list = a.set_code(0, &b, 0, TO);
    let begun = || match begin(&bench, &list) {
        Ok(Reply::Verification(pending)) => *pending,
        other => panic!("{other:?}"),
    };
    let [first, second, third] = [begun(), begun(), begun()];
    assert!(matches!(bench.api.verify(row, first), Ok(Reply::Ready(_))));
    assert_eq!(bench.api.verify(row, second).unwrap_err().message, "already known");
    assert_eq!(begin(&bench, &list).unwrap_err().message, "already known");
    bench.seal();
    assert_eq!(bench.api.verify(row, third).unwrap_err().message, "nonce too low");
}
