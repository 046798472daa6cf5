//! `eth_call` and `eth_estimateGas`.

use std::time::Duration;

use foreseal_testkit::{Contract, Fees, deploy_code};
use serde_json::json;

use super::{Bench, data};
use crate::context::limits::Limits;

fn to(contract: Contract) -> String {
    format!("\"to\":\"{}\"", contract.address())
}

/// Revert output of the test contract: `Error("no")`.
const NO: &str = "0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000026e6f000000000000000000000000000000000000000000000000000000000000";

#[test]
fn each_method_words_a_revert_as_clients_expect() {
    let bench = Bench::new(1);
    let params = format!("[{{{}}},\"pending\"]", to(Contract::Reverter));
    let call = bench.error("eth_call", &params);
    assert_eq!((call.code, call.message.as_str(), data(&call)), (3, "execution reverted: no", json!(NO)));
    let estimate = bench.error("eth_estimateGas", &params);
    assert_eq!(
        (estimate.code, estimate.message.as_str(), data(&estimate)),
        (-32000, "execution reverted", json!(NO))
    );
}

#[test]
fn a_revert_without_bytes_still_has_data() {
    let bench = Bench::new(1);
    let params = format!("[{{{},\"data\":\"0x01020304\"}}]", to(Contract::Erc20));
    for (method, code) in [("eth_call", 3), ("eth_estimateGas", -32000)] {
        let error = bench.error(method, &params);
        assert_eq!(
            (error.code, error.message.as_str(), data(&error)),
            (code, "execution reverted", json!("0x"))
        );
    }
}

#[test]
fn a_halt_is_a_server_error() {
    let bench = Bench::new(1);
    let params = format!("[{{{}}}]", to(Contract::Waster));
    for method in ["eth_call", "eth_estimateGas"] {
        let error = bench.error(method, &params);
        assert_eq!(error.code, -32000, "{error:?}");
        assert!(error.data.is_none());
    }
    let params = format!("[{{{},\"gas\":\"0x55f0\"}}]", to(Contract::Counter));
    assert_eq!(bench.error("eth_call", &params).message, "out of gas");
}

#[test]
fn a_call_beyond_the_time_limit_fails() {
    let bench = Bench::with_limits(1, Limits { call_time: Duration::ZERO, ..Limits::default() });
    let params = format!("[{{{}}}]", to(Contract::Counter));
    for method in ["eth_call", "eth_estimateGas", "eth_createAccessList"] {
        let error = bench.error(method, &params);
        assert_eq!(
            (error.code, error.message.as_str()),
            (-32005, "execution takes more than the limit of 0 milliseconds")
        );
        assert_eq!(data(&error), json!({"limit":"milliseconds","max":0}));
    }
}

#[test]
fn a_plain_transfer_is_estimated_exactly_on_every_tag() {
    let bench = Bench::new(2);
    let [a, b] = [bench.wallets[0].address, bench.wallets[1].address];
    for tag in ["latest", "pending", "safe", "finalized", "earliest", "0x0"] {
        let params = format!("[{{\"from\":\"{a}\",\"to\":\"{b}\",\"value\":\"0x1\"}},\"{tag}\"]");
        assert_eq!(bench.call("eth_estimateGas", &params), json!("0x5208"), "{tag}");
    }
}

#[test]
fn insufficient_funds_are_not_reported_as_a_revert() {
    let bench = Bench::new(1);
    let poor = "0x00000000000000000000000000000000000000aa";
    let params = format!("[{{\"from\":\"{poor}\",\"to\":\"{poor}\",\"value\":\"0x1\"}}]");
    for method in ["eth_estimateGas", "eth_call"] {
        let error = bench.error(method, &params);
        assert_eq!(error.message, "insufficient funds for gas * price + value: have 0 want 1");
        assert!(error.data.is_none(), "web3.py takes an object here for a revert");
    }
}

#[test]
fn a_call_sees_preconfirmed_state_on_pending_only() {
    let mut bench = Bench::new(1);
    let wallet = bench.wallets[0].clone();
    let code = deploy_code(&Contract::Logger.code());
    let raw = wallet.eip1559(
        0,
        alloy_primitives::TxKind::Create,
        alloy_primitives::U256::ZERO,
        300_000,
        code,
        Fees::default(),
    );
    bench.submit(&raw);
    bench.tick();
    let created = wallet.address.create(0);
    let code = |tag: &str| bench.call("eth_getCode", &format!("[\"{created}\",\"{tag}\"]"));
    assert_eq!(code("latest"), json!("0x"));
    assert_eq!(code("pending"), json!(Contract::Logger.code()));
    let gas = |tag: &str| bench.call("eth_estimateGas", &format!("[{{\"to\":\"{created}\"}},\"{tag}\"]"));
    assert_eq!(gas("latest"), json!("0x5208"));
    assert_ne!(gas("pending"), json!("0x5208"));
}

#[test]
fn the_chain_id_of_a_call_is_checked() {
    let bench = Bench::new(1);
    assert_eq!(
        bench.call("eth_call", r#"[{"to":"0x00000000000000000000000000000000000000aa","chainId":"0x7a69"}]"#),
        json!("0x")
    );
    let error = bench.error("eth_call", r#"[{"chainId":"0x1"}]"#);
    assert_eq!(error.code, -32602);
    assert_eq!(
        error.message,
        "invalid argument 0 (transaction.chainId): is not the chain's, which is 0x7a69"
    );
}

#[test]
fn an_unknown_block_is_an_error() {
    let bench = Bench::new(1);
    for method in ["eth_call", "eth_estimateGas"] {
        let error = bench.error(method, "[{},\"0x3e8\"]");
        assert_eq!((error.code, error.message.as_str()), (-32001, "block not found"));
    }
}
