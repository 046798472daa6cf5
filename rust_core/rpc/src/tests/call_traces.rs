//! `debug_traceCall`, after a block and inside it.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use foreseal_primitives::{Change, Override};
use foreseal_testkit::{Contract, Fees};
use serde_json::{Value, json};

use super::{Bench, data};
use crate::context::limits::Limits;

fn trace(bench: &Bench, call: &Value, block: &str, config: &Value) -> Value {
    bench.call("debug_traceCall", &format!("[{call},{block},{config}]"))
}

fn to(contract: Contract) -> Value {
    json!({"to": contract.address()})
}

/// Sends a call in its own step.
fn send(bench: &mut Bench, nonce: u64, to: Address, input: Bytes) -> B256 {
    let to = TxKind::Call(to);
    let hash =
        bench.submit(&bench.wallets[0].eip1559(nonce, to, U256::from(7), 200_000, input, Fees::default()));
    bench.tick();
    hash
}

/// Returns the first slot of the counter before the call.
fn counted(bench: &Bench, block: &str, config: Value) -> Value {
    let mut config = config;
    config["tracer"] = json!("prestateTracer");
    let counter = Contract::Counter.address();
    let prestate = trace(bench, &to(Contract::Counter), block, &config);
    prestate[&format!("{counter:#x}")]["storage"][&B256::ZERO.to_string()].clone()
}

fn uint256(value: u8) -> Value {
    json!(B256::with_last_byte(value))
}

#[test]
fn a_call_is_traced_as_the_transaction_that_follows() {
    let mut bench = Bench::new(1);
    let sender = bench.wallets[0].address;
    let configs = [
        json!({"enableMemory": true, "enableReturnData": true}),
        json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}}),
        json!({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": true}}),
        json!({"tracer": "4byteTracer"}),
        json!({"tracer": "flatCallTracer"}),
        json!({"tracer": "noopTracer"}),
        json!({"tracer": "muxTracer", "tracerConfig": {"callTracer": null, "4byteTracer": null}}),
    ];
    for (nonce, contract) in (0..).zip(Contract::ALL) {
        let input = Bytes::from(vec![nonce; 36]);
        let call = json!({"from": sender, "to": contract.address(), "gas": "0x30d40", "value": "0x7",
            "input": input, "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x0"});
        let before = configs.each_ref().map(|config| trace(&bench, &call, "\"pending\"", config));
        let hash = send(&mut bench, nonce.into(), contract.address(), input);
        for (config, before) in configs.iter().zip(before) {
            let mut after = bench.call("debug_traceTransaction", &format!("[\"{hash}\",{config}]"));
            for frame in after.as_array_mut().into_iter().flatten() {
                frame["blockHash"] = Value::Null;
                frame["blockNumber"] = json!(0);
                frame["transactionHash"] = Value::Null;
                frame["transactionPosition"] = json!(0);
            }
            assert_eq!(before, after, "{contract:?} {config}");
        }
    }
}

#[test]
fn a_call_sees_state_after_block_or_before_transaction() {
    let mut bench = Bench::new(1);
    bench.seal();
    for nonce in 0..3 {
        send(&mut bench, nonce, Contract::Counter.address(), Bytes::new());
    }
    let number = bench.view().pending().number();
    let check = |bench: &Bench, block: &str| {
        assert_eq!(counted(bench, block, json!({})), uint256(3));
        for index in 0..3_u8 {
            assert_eq!(counted(bench, block, json!({"txIndex": format!("{index:#x}")})), uint256(index));
        }
        let error = bench.error("debug_traceCall", &format!("[{{}},{block},{{\"txIndex\":\"0x3\"}}]"));
        assert_eq!(error.code, -32000);
        assert!(
            error.message.starts_with("transaction index 3 out of range for block 0x"),
            "{}",
            error.message
        );
    };
    check(&bench, "\"pending\"");
    let step = format!("{{\"blockNumber\":\"{number:#x}\",\"flashblockIndex\":\"0x2\"}}");
    assert_eq!(counted(&bench, &step, json!({})), uint256(2));
    bench.seal();
    check(&bench, &format!("\"{number:#x}\""));
    assert_eq!(counted(&bench, "\"latest\"", json!({})), uint256(3));
    assert_eq!(counted(&bench, "null", json!({})), uint256(3), "no block is the latest");
    // A block without transactions accepts index 0.
    assert_eq!(counted(&bench, "\"pending\"", json!({"txIndex": "0x0"})), uint256(3));
    let error = bench.error("debug_traceCall", "[{},\"pending\",{\"txIndex\":\"0x1\"}]");
    assert_eq!(error.code, -32000);
    let error = bench.error("debug_traceCall", "[{},\"earliest\",{\"txIndex\":\"0x0\"}]");
    assert_eq!((error.code, error.message.as_str()), (-32000, "genesis is not traceable"));
}

#[test]
fn a_call_inside_a_block_sees_its_earlier_writes() {
    let mut bench = Bench::developing(1);
    let counter = Contract::Counter.address();
    send(&mut bench, 0, counter, Bytes::new());
    let change = Change::Slot { slot: U256::ZERO, value: U256::from(0x50) };
    bench
        .api
        .node()
        .develop(|development| development.write(&Override { address: counter, change }))
        .unwrap();
    send(&mut bench, 1, counter, Bytes::new());
    let at = |index: &str| counted(&bench, "\"pending\"", json!({"txIndex": index}));
    assert_eq!([at("0x0"), at("0x1")], [uint256(0), uint256(0x50)]);
    assert_eq!(counted(&bench, "\"pending\"", json!({})), uint256(0x51));
}

#[test]
fn a_traced_call_sees_its_overrides() {
    let mut bench = Bench::new(1);
    bench.seal();
    let counter = Contract::Counter.address();
    let state = json!({counter.to_string(): {"stateDiff": {"0x0": "0x9"}}});
    assert_eq!(counted(&bench, "\"latest\"", json!({"stateOverrides": state})), uint256(9));
    let environment = to(Contract::Environment);
    let config = json!({"blockOverrides": {"number": "0x77", "time": "0x7fffffff"}});
    let traced = trace(&bench, &environment, "\"latest\"", &config);
    let stored: Vec<&Value> = traced["structLogs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["op"] == "SSTORE")
        .map(|step| &step["stack"][0])
        .collect();
    assert_eq!(stored[..2], [&json!("0x7fffffff"), &json!("0x77")]);
    // A call that reverts, or that a contract at another address answers, is a trace and not an error.
    let code = json!({"stateOverrides": {counter.to_string(): {"code": "0x5f5ffd"}}, "tracer": "callTracer"});
    let traced = trace(&bench, &to(Contract::Counter), "\"latest\"", &code);
    assert_eq!((&traced["error"], &traced["to"]), (&json!("execution reverted"), &json!(counter)));
    assert_eq!(traced["gas"], json!("0x17d78400"), "the limit when none is named");
}

#[test]
fn a_call_that_cannot_be_executed_is_an_error() {
    let bench = Bench::new(1);
    let error = |params: &str| {
        let error = bench.error("debug_traceCall", params);
        (error.code, error.message)
    };
    let (code, message) = error("[{\"value\":\"0xffffffffffffffffffffffff\"},\"latest\"]");
    assert_eq!(code, -32000);
    assert!(message.starts_with("insufficient funds for gas * price + value"), "{message}");
    let (code, message) = error("[{\"gas\":\"0x1\"},\"pending\"]");
    assert_eq!(code, -32000);
    assert!(message.starts_with("intrinsic gas too low"), "{message}");
    assert_eq!(error("[{},\"0x99\"]"), (-32001, "block not found".to_owned()));
    assert_eq!(error("[{},\"0x99\",{\"txIndex\":\"0x0\"}]"), (-32001, "block not found".to_owned()));
    let (code, message) = error("[{\"chainId\":\"0x9999\"}]");
    assert_eq!(code, -32602);
    assert!(message.starts_with("invalid argument 0 (transaction.chainId)"), "{message}");
}

#[test]
fn calls_are_limited_in_time_and_size() {
    let code = json!({"0x00000000000000000000000000000000000000aa": {"code": "0x5b5f56"}});
    let call = json!({"to": "0x00000000000000000000000000000000000000aa"});
    let bench = Bench::with_limits(1, Limits { trace_bytes: 2000, ..Limits::default() });
    let limit = |bench: &Bench, config: Value| {
        let mut config = config;
        config["stateOverrides"] = code.clone();
        let error = bench.error("debug_traceCall", &format!("[{call},\"pending\",{config}]"));
        assert_eq!(error.code, -32005, "{error:?}");
        data(&error)["limit"].clone()
    };
    assert_eq!(limit(&bench, json!({})), json!("bytes"));
    assert_eq!(limit(&bench, json!({"timeout": "0s", "tracer": "noopTracer"})), json!("milliseconds"));
    assert_eq!(limit(&bench, json!({"timeout": "0s", "txIndex": "0x0"})), json!("milliseconds"));
    let bench = Bench::with_limits(1, Limits { call_time: Duration::ZERO, ..Limits::default() });
    // A request may shorten the time limit, not extend it.
    assert_eq!(limit(&bench, json!({"timeout": "1h", "tracer": "callTracer"})), json!("milliseconds"));
}
