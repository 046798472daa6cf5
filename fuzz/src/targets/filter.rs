//! Log filters, compared with a search that is independent of the node's implementation.

use std::sync::LazyLock;

use bytes::Bytes;
use foreseal_rpc::RpcError;
use serde_json::Value;

use super::methods::{CHAIN, check_answer};
use crate::{Memory, Target, TestChain};

pub const TARGET: Target = Target {
    name: "filter",
    longest: 384,
    memory: Memory { fixed: 1 << 20, each: 4096 },
    prepare: || {
        LazyLock::force(&LOGS);
    },
    run,
};

/// Every log of the chain, as returned by `eth_getBlockReceipts`.
static LOGS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let chain = CHAIN.lock().expect("no run failed");
    let mut logs = Vec::new();
    for number in 0..=chain.view().pending().number() {
        let answer = ask(&chain, "eth_getBlockReceipts", &format!("[\"{number:#x}\"]")).unwrap_or_default();
        let receipts: Vec<Value> = serde_json::from_slice(&answer).unwrap_or_default();
        logs.extend(receipts.iter().filter_map(|receipt| receipt["logs"].as_array()).flatten().cloned());
    }
    let answer = ask(&chain, "eth_getBlockReceipts", "[\"pending\"]").expect("there is a pending block");
    let receipts: Vec<Value> = serde_json::from_slice(&answer).expect("receipts are JSON");
    logs.extend(receipts.iter().filter_map(|receipt| receipt["logs"].as_array()).flatten().cloned());
    assert!(logs.len() > 3, "the chain has logs");
    logs
});

/// Checks a log filter, which is the input. `eth_getLogs`, an installed filter and pages of one log each
/// return the same logs, and all of them match.
fn run(input: &[u8]) {
    let Ok(filter) = std::str::from_utf8(input) else { return };
    let chain = CHAIN.lock().expect("no run failed");
    let logs = ask(&chain, "eth_getLogs", &format!("[{filter}]"));
    check_answer(&logs);
    let by_filter = ask(&chain, "eth_newFilter", &format!("[{filter}]")).and_then(|id| {
        let id = format!("[{}]", String::from_utf8_lossy(&id));
        let logs = ask(&chain, "eth_getFilterLogs", &id);
        let _ = ask(&chain, "eth_uninstallFilter", &id);
        logs
    });
    check_answer(&by_filter);
    let Ok(logs) = logs else { return };
    if let Ok(by_filter) = by_filter {
        assert_eq!(by_filter, logs, "a filter finds what a search finds");
    }
    let Ok(asked) = serde_json::from_str::<Value>(filter) else { return };
    let logs: Vec<Value> = serde_json::from_slice(&logs).expect("an answer is JSON");
    check_logs(&asked, &logs);
    check_pages(&chain, filter, &logs);
}

fn ask(chain: &TestChain, method: &str, params: &str) -> Result<Bytes, RpcError> {
    chain.api.call(Some(&chain.view()), method, params.as_bytes())
}

/// Checks that each found log matches and is on the chain, and that no block with a found log lacks a match.
fn check_logs(asked: &Value, logs: &[Value]) {
    for log in logs {
        assert!(matches(asked, log), "{log} does not match {asked}");
        assert!(LOGS.contains(log), "{log} is not on the chain");
    }
    for log in LOGS.iter().filter(|log| matches(asked, log)) {
        let block = &log["blockHash"];
        if logs.iter().any(|other| other["blockHash"] == *block) {
            assert!(logs.contains(log), "{log} is missing");
        }
    }
}

/// Returns `true` if address and topics of a log match the filter. Reads nothing but the JSON of both.
fn matches(asked: &Value, log: &Value) -> bool {
    let same = |wanted: &Value, have: &Value| {
        let text = |value: &Value| value.as_str().map(str::to_ascii_lowercase);
        text(wanted) == text(have)
    };
    let any = |wanted: &Value, have: &Value| match wanted {
        Value::Null => true,
        Value::Array(list) if list.is_empty() => true,
        Value::Array(list) => list.iter().any(|one| one.is_null() || same(one, have)),
        one => same(one, have),
    };
    let topics = asked["topics"].as_array().map_or(&[][..], Vec::as_slice);
    let has = log["topics"].as_array().map_or(&[][..], Vec::as_slice);
    any(&asked["address"], &log["address"])
        && topics.len() <= has.len()
        && topics.iter().zip(has).all(|(wanted, have)| any(wanted, have))
}

/// Checks that pages of one log each contain the same logs as the search.
fn check_pages(chain: &TestChain, filter: &str, logs: &[Value]) {
    let (mut read, mut cursor) = (Vec::new(), String::new());
    for _ in 0..=logs.len() + 4 {
        let query = format!("[{{\"filter\":{filter},\"limit\":\"0x1\"{cursor}}}]");
        let Ok(page) = ask(chain, "foreseal_getLogs", &query) else { return };
        let page: Value = serde_json::from_slice(&page).expect("an answer is JSON");
        read.extend(page["logs"].as_array().expect("a page has logs").iter().cloned());
        match page["cursor"].as_str() {
            Some(next) if read.len() < logs.len() => cursor = format!(",\"cursor\":\"{next}\""),
            _ => break,
        }
    }
    assert_eq!(read, logs, "pages hold what a search finds");
}
