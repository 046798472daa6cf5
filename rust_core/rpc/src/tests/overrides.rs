//! State and block overrides of calls, estimates and access lists; the gas limit.

use alloy_primitives::hex;
use foreseal_testkit::{Contract, assemble};
use serde_json::{Value, json};

use super::{Bench, data};
use crate::context::limits::Limits;

const SOMEONE: &str = "0x00000000000000000000000000000000000000aa";

fn code(source: &str) -> String {
    format!("0x{}", hex::encode(assemble(source)))
}

/// Returns a state override with this code and additional fields.
fn with_code(source: &str, more: &str) -> String {
    format!("{{\"{SOMEONE}\":{{\"code\":\"{}\"{more}}}}}", code(source))
}

fn call(bench: &Bench, tag: &str, state: &str, block: &str) -> Value {
    bench.call("eth_call", &format!("[{{\"to\":\"{SOMEONE}\"}},\"{tag}\",{state},{block}]"))
}

fn uint256(value: u64) -> Value {
    json!(format!("0x{value:064x}"))
}

#[test]
fn state_overrides_apply_to_one_call_on_every_tag() {
    let bench = Bench::new(1);
    let state = with_code("0x05 SLOAD PUSH0 MSTORE 0x20 PUSH0 RETURN", ",\"stateDiff\":{\"0x5\":\"0x2a\"}");
    for tag in ["latest", "pending", "safe", "finalized", "earliest", "0x0"] {
        assert_eq!(call(&bench, tag, &state, "null"), uint256(42), "{tag}");
    }
    assert_eq!(bench.call("eth_getCode", &format!("[\"{SOMEONE}\",\"pending\"]")), json!("0x"));
}

#[test]
fn block_overrides_apply_to_one_call() {
    let bench = Bench::new(1);
    let state = with_code("TIMESTAMP NUMBER ADD PUSH0 MSTORE 0x20 PUSH0 RETURN", "");
    let block = "{\"number\":\"0x64\",\"time\":\"0x7fffffff\"}";
    assert_eq!(call(&bench, "latest", &state, block), uint256(0x7fff_ffff + 100));
}

#[test]
fn an_estimate_uses_the_overrides() {
    let bench = Bench::new(1);
    let estimate = |state: &str| {
        let params =
            format!("[{{\"from\":\"{SOMEONE}\",\"to\":\"{SOMEONE}\",\"value\":\"0x1\"}},\"latest\",{state}]");
        bench.try_call("eth_estimateGas", &params)
    };
    assert!(estimate("{}").unwrap_err().message.starts_with("insufficient funds"));
    let rich = |more: &str| format!("{{\"{SOMEONE}\":{{\"balance\":\"0x1\"{more}}}}}");
    assert_eq!(estimate(&rich("")).unwrap(), json!("0x5208"));
    let stores = format!(",\"code\":\"{}\"", code("0x01 PUSH0 SSTORE STOP"));
    let needed = u64::from_str_radix(&estimate(&rich(&stores)).unwrap().as_str().unwrap()[2..], 16).unwrap();
    assert!(needed > 21_000 + 20_000);
}

#[test]
fn an_access_list_uses_the_overrides() {
    let bench = Bench::new(1);
    let state = with_code("0x07 SLOAD PUSH0 PUSH0 REVERT", "");
    let params = format!("[{{\"to\":\"{SOMEONE}\"}},\"pending\",{state}]");
    let slot = uint256(7);
    assert_eq!(
        bench.call("eth_createAccessList", &params),
        json!({
            "accessList": [{"address": SOMEONE, "storageKeys": [slot]}],
            "error": "execution reverted",
            "gasUsed": "0x633f",
        })
    );
}

#[test]
fn an_access_list_out_of_gas_reports_the_error() {
    let bench = Bench::new(1);
    let address = Contract::Counter.address();
    let params = format!("[{{\"to\":\"{address}\",\"gas\":\"0x6400\"}}]");
    let answer = bench.call("eth_createAccessList", &params);
    assert_eq!(answer["error"], json!("out of gas"));
    assert_eq!(answer["gasUsed"], json!("0x6400"));
}

#[test]
fn invalid_overrides_are_rejected() {
    let bench = Bench::new(1);
    let error = |state: &str| {
        let error = bench.error("eth_call", &format!("[{{}},\"latest\",{state}]"));
        (error.code, error.message)
    };
    let moved = format!("{{\"{SOMEONE}\":{{\"movePrecompileToAddress\":\"{SOMEONE}\"}}}}");
    let (code, message) = error(&moved);
    assert_eq!(code, -32000);
    assert_eq!(message, "account 0x00000000000000000000000000000000000000AA is not a precompile");
    let first = "0x0000000000000000000000000000000000000001";
    let itself = format!("{{\"{first}\":{{\"movePrecompileToAddress\":\"{first}\"}}}}");
    assert_eq!(error(&itself).0, -38022);
    let conflicting =
        format!("{{\"{first}\":{{\"movePrecompileToAddress\":\"{SOMEONE}\"}},\"{SOMEONE}\":{{}}}}");
    assert_eq!(error(&conflicting).0, -32000);
}

#[test]
fn a_call_above_the_gas_limit_names_the_limit() {
    let bench = Bench::with_limits(1, Limits { call_gas: 30_000, ..Limits::default() });
    let address = Contract::Counter.address();
    for gas in ["", ",\"gas\":\"0x989680\""] {
        for method in ["eth_call", "eth_estimateGas"] {
            let error = bench.error(method, &format!("[{{\"to\":\"{address}\"{gas}}}]"));
            assert_eq!(
                (error.code, data(&error)),
                (-32005, json!({"limit":"gas","max":30_000})),
                "{method} {gas}"
            );
            assert_eq!(error.message, "execution needs more than the limit of 30000 gas");
        }
    }
    // The gas limit of the request is not that of the node.
    let error = bench.error("eth_call", &format!("[{{\"to\":\"{address}\",\"gas\":\"0x61a8\"}}]"));
    assert_eq!((error.code, error.message.as_str()), (-32000, "out of gas"));
    let error = bench.error("eth_estimateGas", &format!("[{{\"to\":\"{address}\",\"gas\":\"0x61a8\"}}]"));
    assert_eq!((error.code, error.message.as_str()), (-32000, "gas required exceeds allowance (25000)"));
}
