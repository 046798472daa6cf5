//! Transactions that geth traced, with geth's results: the test data of its own tracers.
//!
//! Each file has an allocation, a block, a transaction and the result. The files are not part of this
//! repository; `FORESEAL_GETH_TRACES` is their folder (`eth/tracers/internal/tracetest/testdata` of
//! go-ethereum).

use std::{
    fs,
    path::{Path, PathBuf},
};

use alloy_consensus::Header;
use alloy_primitives::{B256, Bytes, U256};
use foreseal_evm::TransactionReplay;
use foreseal_primitives::{ChainSpec, SpecId, Transaction, parse_genesis};
use foreseal_state::{NoBlockHashes, State};
use serde_json::{Value, json, value::RawValue};

use crate::{
    json::{call_frame::TracePosition, trace::TraceWriter},
    params::{invalid::Param, trace::TraceConfig},
};

/// Folders of the supported tracers.
const TRACERS: [(&str, &str); 5] = [
    ("call_tracer", "callTracer"),
    ("call_tracer_withLog", "callTracer"),
    ("call_tracer_flat", "flatCallTracer"),
    ("prestate_tracer", "prestateTracer"),
    ("prestate_tracer_with_diff_mode", "prestateTracer"),
];

/// Files with a different result here, with the reason.
const OTHERWISE: &[(&str, &str)] = &[(
    "callcode_precompiled_throw.json",
    "why a precompiled contract fails is not known here: `precompiled failed`",
)];

/// Parses a number that geth writes in decimal or hex, with or without quotes.
fn number(value: &Value) -> U256 {
    match value {
        Value::String(text) => text.parse().unwrap(),
        other => U256::from(other.as_u64().unwrap_or_default()),
    }
}

fn header(spec: &ChainSpec, test: &Value) -> Header {
    let context = &test["context"];
    let mut header = Header {
        number: number(&context["number"]).to(),
        timestamp: number(&context["timestamp"]).to(),
        difficulty: number(&context["difficulty"]),
        gas_limit: number(&context["gasLimit"]).to(),
        beneficiary: context["miner"].as_str().unwrap().parse().unwrap(),
        ..Header::default()
    };
    let base_fee = &context["baseFeePerGas"];
    header.base_fee_per_gas = (!base_fee.is_null()).then(|| number(base_fee).to());
    if spec.fork(&header).is_enabled_in(SpecId::CANCUN) {
        header.parent_beacon_block_root = Some(B256::ZERO);
        header.excess_blob_gas = Some(test["genesis"].get("excessBlobGas").map_or(0, |gas| number(gas).to()));
    }
    header
}

fn trace(test: &Value, tracer: &str) -> Value {
    let mut genesis = test["genesis"].clone();
    // Go matches field names without regard to case.
    let config = genesis["config"].as_object_mut().unwrap();
    if let Some(istanbul) = config.remove("IstanbulBlock") {
        config.insert("istanbulBlock".to_owned(), istanbul);
    }
    for account in genesis["alloc"].as_object_mut().unwrap().values_mut() {
        account.as_object_mut().unwrap().remove("codeHash");
    }
    let spec = ChainSpec::new(parse_genesis(&genesis.to_string()).unwrap()).unwrap();
    let state = State::from_genesis(spec.genesis());
    let config = json!({"tracer": tracer, "tracerConfig": test.get("tracerConfig")});
    let config = RawValue::from_string(config.to_string()).unwrap();
    let config = TraceConfig::read(&config).unwrap();
    let raw: Bytes = test["input"].as_str().unwrap().parse().unwrap();
    let transaction = Transaction::decode(&raw).unwrap();
    let writer = TraceWriter::new(usize::MAX);
    let mut replay =
        TransactionReplay::new(&spec, &state, &NoBlockHashes, &header(&spec, test), writer).unwrap();
    let trace = replay.trace(&transaction, &config.tracer.tracer(), usize::MAX).unwrap();
    replay.sink().write(&config.tracer, &trace, TracePosition::default()).unwrap();
    serde_json::from_slice(&replay.sink().out).unwrap()
}

/// Removes the fields of recorded flat traces that geth does not write, and the position of the transaction,
/// which they lack. Geth's own test compares the rest.
fn comparable(tracer: &str, mut trace: Value) -> Value {
    if tracer == "callTracer" {
        number_logs(&mut trace);
    }
    if tracer != "flatCallTracer" {
        return trace;
    }
    for frame in trace.as_array_mut().unwrap() {
        let kind = frame["type"].as_str().unwrap().to_owned();
        let frame = frame.as_object_mut().unwrap();
        for field in ["blockHash", "blockNumber", "transactionHash", "transactionPosition"] {
            frame.remove(field);
        }
        let shown = match kind.as_str() {
            "suicide" => ["address", "balance", "refundAddress", "", "", ""],
            "create" => ["creationMethod", "from", "gas", "init", "value", ""],
            _ => ["callType", "from", "gas", "input", "to", "value"],
        };
        let action = frame["action"].as_object_mut().unwrap();
        action.retain(|name, value| shown.contains(&name.as_str()) && *value != "0x");
        if let Some(result) = frame.get_mut("result").and_then(Value::as_object_mut) {
            let shown = ["address", "code", "gasUsed", "output"];
            let shown = if kind == "create" { &shown[..] } else { &shown[2..] };
            result.retain(|name, value| shown.contains(&name.as_str()) && *value != "0x");
        }
        if frame.get("result").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty) {
            frame.remove("result");
        }
    }
    trace
}

/// A recorded log without an index has index zero.
fn number_logs(frame: &mut Value) {
    for log in frame.get_mut("logs").and_then(Value::as_array_mut).into_iter().flatten() {
        log.as_object_mut().unwrap().entry("index").or_insert(json!("0x0"));
    }
    frame.get_mut("calls").and_then(Value::as_array_mut).into_iter().flatten().for_each(number_logs);
}

#[test]
fn recorded_geth_traces_are_reproduced() {
    let Some(folder) = std::env::var_os("FORESEAL_GETH_TRACES").map(PathBuf::from) else {
        println!("skipped: FORESEAL_GETH_TRACES does not name a folder with geth's traces");
        return;
    };
    let (mut tried, mut wrong) = (0, Vec::new());
    for (name, tracer) in TRACERS {
        for file in files(&folder.join(name)) {
            let test: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            let got = trace(&test, tracer);
            let otherwise = OTHERWISE.iter().any(|(name, _)| file.ends_with(name));
            let (got, want) = (comparable(tracer, got), comparable(tracer, test["result"].clone()));
            if (got == want) == otherwise {
                wrong.push(format!("{}\n  got  {got}\n  want {want}", file.display()));
            }
            tried += 1;
        }
    }
    println!("{tried} transactions traced");
    assert!(wrong.is_empty(), "{} of {tried} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tried >= 50, "only {tried} were found");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    files
}
