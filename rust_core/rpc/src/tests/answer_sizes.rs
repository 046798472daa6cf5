//! Results that exceed the caller's limit are rejected before they are rendered, and logs are read in pages.

use alloy_primitives::{Bytes, TxKind, U256, hex};
use foreseal_chain::BlockWindow;
use foreseal_node::StoreSettings;
use foreseal_testkit::{Fees, Wallet};
use serde_json::{Value, json};

use super::{Bench, data, settings};
use crate::{
    context::{call_context::MAX_ATTEMPT_BYTES, limits::Limits},
    request::{attempt::InlineAttempt, table},
};

/// Emits empty logs until 65,535 gas is left.
const EMITTER: [u8; 12] = hex!("5b5f5fa061ffff5a115f5700");
const GAS: u64 = 4_000_000;
const LIMIT: usize = 1 << 20;

/// Returns a node that retains few blocks in memory and whose callers have this limit.
fn bench(response: usize) -> Bench {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let recent = BlockWindow { blocks: 2, ..BlockWindow::default() };
    let settings = foreseal_node::Settings {
        store: StoreSettings { recent, ..StoreSettings::default() },
        ..settings(datadir.path(), &wallets)
    };
    Bench::open(datadir, settings, wallets, Limits { response, ..Limits::default() })
}

/// Submits a transaction whose receipt has thousands of logs, and returns its hash.
fn emit(bench: &mut Bench, nonce: u64) -> String {
    emit_with(bench, nonce, GAS)
}

fn emit_with(bench: &mut Bench, nonce: u64, gas: u64) -> String {
    let code = Bytes::from_static(&EMITTER);
    let raw = bench.wallets[0].eip1559(nonce, TxKind::Create, U256::ZERO, gas, code, Fees::default());
    let hash = bench.submit(&raw);
    bench.tick();
    hash.to_string()
}

/// Returns the queries of the block of a transaction that have a large result.
fn large_queries(hash: &str, block: &str) -> Vec<(&'static str, String, bool)> {
    vec![
        ("eth_getTransactionReceipt", format!("[\"{hash}\"]"), true),
        ("eth_getBlockReceipts", format!("[\"{block}\"]"), true),
        ("eth_getLogs", format!("[{{\"fromBlock\":\"{block}\",\"toBlock\":\"{block}\"}}]"), true),
    ]
}

fn assert_rejected(bench: &Bench, hash: &str, block: &str) {
    for (method, params, has_logs) in large_queries(hash, block) {
        let error = bench.error(method, &params);
        assert_eq!(error.code, -32005, "{method} {params}: {error:?}");
        assert_eq!(data(&error), json!({"limit": "response", "max": LIMIT}), "{method}");
        assert_eq!(error.message.contains("foreseal_getLogs"), has_logs, "{method}: {}", error.message);
    }
}

#[test]
fn a_giant_receipt_is_rejected_while_pending_sealed_and_stored() {
    let mut bench = bench(LIMIT);
    let hash = emit(&mut bench, 0);
    assert_rejected(&bench, &hash, "pending");
    bench.seal();
    assert_rejected(&bench, &hash, "latest");
    let number = format!("{:#x}", bench.view().latest().number());
    for _ in 0..6 {
        bench.seal();
    }
    assert_rejected(&bench, &hash, &number);
    let range =
        bench.error("eth_getLogs", &format!("[{{\"fromBlock\":\"{number}\",\"toBlock\":\"latest\"}}]"));
    assert_eq!((range.code, data(&range)["limit"].clone()), (-32005, json!("response")));
    let before = bench.error("eth_getLogs", "[{\"fromBlock\":\"0x0\",\"toBlock\":\"latest\"}]");
    assert_eq!(data(&before)["toBlock"], json!("0x0"), "the blocks before it can be queried: {before:?}");
    assert_eq!(before.code, -32602);
    let start =
        format!("query exceeds max results {LIMIT}, retry with the range 0-0: the limit is {LIMIT} bytes. ");
    assert!(before.message.starts_with(&start), "{}", before.message);
}

#[test]
fn a_giant_receipt_is_served_within_the_limit_but_not_on_the_receiving_thread() {
    let mut bench = bench(Limits::default().response);
    let hash = emit(&mut bench, 0);
    for _ in 0..2 {
        for (method, params, _) in large_queries(&hash, "pending") {
            let view = bench.view();
            let row = table::method(method).unwrap();
            let attempt = bench.api.attempt(Some(&view), row, params.as_bytes());
            let is_left = matches!(attempt, InlineAttempt::TooLargeInline | InlineAttempt::TooSlowInline);
            assert!(is_left, "{method}");
            let answer = bench.api.call(Some(&view), method, params.as_bytes()).unwrap();
            assert!(answer.len() > 8 * MAX_ATTEMPT_BYTES, "{method}: {}", answer.len());
        }
    }
}

#[test]
fn pages_of_bounded_size_have_all_logs_of_a_giant_transaction() {
    let mut bench = bench(LIMIT);
    let hash = emit(&mut bench, 0);
    bench.seal();
    let block = bench.call("eth_getBlockByNumber", "[\"latest\",false]");
    assert_eq!(block["transactions"], json!([hash]));
    let count = bench.view().latest().block.receipts[0].logs.len();
    let number = block["number"].clone();
    for _ in 0..6 {
        bench.seal();
    }
    let by_hash = json!({"blockHash": block["hash"]});
    for filter in [json!({"fromBlock": number, "toBlock": number}), by_hash] {
        let (mut cursor, mut indexes, mut pages) = (Value::Null, Vec::new(), 0);
        loop {
            let query = json!([{"filter": filter, "cursor": cursor, "limit": "0x2710"}]).to_string();
            let answer = bench.api.call(Some(&bench.view()), "foreseal_getLogs", query.as_bytes()).unwrap();
            assert!(answer.len() <= LIMIT, "{}", answer.len());
            let page: Value = serde_json::from_slice(&answer).unwrap();
            let logs = page["logs"].as_array().unwrap();
            indexes.extend(logs.iter().map(|log| log["logIndex"].as_str().unwrap().to_owned()));
            (cursor, pages) = (page["cursor"].clone(), pages + 1);
            if cursor.is_null() {
                break;
            }
        }
        let expected: Vec<String> = (0..count).map(|index| format!("{index:#x}")).collect();
        assert!(pages > 2 && count > 8_000, "{pages} pages, {count} logs");
        assert_eq!(indexes, expected);
    }
}

#[test]
fn a_block_with_large_inputs_is_rejected_in_all_forms() {
    let mut bench = bench(LIMIT / 2);
    let wallet = bench.wallets[0].clone();
    for nonce in 0..5 {
        let input = Bytes::from(vec![1; 100_000]);
        let to = TxKind::Call(wallet.address);
        bench.submit(&wallet.eip1559(nonce, to, U256::ZERO, 5_000_000, input, Fees::default()));
    }
    let pool = bench.error("txpool_content", "[]");
    assert_eq!(data(&pool)["limit"], json!("response"));
    bench.tick();
    bench.seal();
    let limit = json!({"limit": "response", "max": LIMIT / 2});
    for (method, params) in
        [("eth_getBlockByNumber", "[\"latest\",true]"), ("debug_getRawBlock", "[\"latest\"]")]
    {
        let error = bench.error(method, params);
        assert_eq!((error.code, data(&error)), (-32005, limit.clone()), "{method}");
    }
    assert_eq!(
        bench.call("eth_getBlockByNumber", "[\"latest\",false]")["transactions"].as_array().unwrap().len(),
        5
    );
    assert!(bench.call("debug_getRawHeader", "[\"latest\"]").is_string());
}

#[test]
fn raw_receipts_traces_and_simulations_above_the_limit_are_rejected() {
    let mut bench = bench(MAX_ATTEMPT_BYTES);
    let hash = emit(&mut bench, 0);
    bench.seal();
    let call = json!({"from": bench.wallets[0].address, "input": format!("0x{}", hex::encode(EMITTER)), "gas": "0x3d0900"});
    let calls = json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}});
    for (method, params, limit) in [
        ("debug_getRawReceipts", json!(["latest"]), "response"),
        ("debug_traceTransaction", json!([hash]), "bytes"),
        ("debug_traceBlockByNumber", json!(["latest", calls]), "bytes"),
        ("eth_simulateV1", json!([{"blockStateCalls": [{"calls": [call]}]}]), "response"),
    ] {
        let error = bench.error(method, &params.to_string());
        assert_eq!((error.code, data(&error)["limit"].clone()), (-32005, json!(limit)), "{method}");
    }
}

#[test]
fn the_limit_of_a_single_block_is_exact() {
    let sizes = |response: usize| {
        let mut bench = bench(response);
        emit_with(&mut bench, 0, 600_000);
        let query = json!([{"fromBlock": "0x1", "toBlock": "pending"}]).to_string();
        let mut sizes = Vec::new();
        for _ in 0..8 {
            // The second call reads the cache.
            for _ in 0..2 {
                let answer = bench.api.call(Some(&bench.view()), "eth_getLogs", query.as_bytes());
                sizes.push(answer.map(|json| json.len()).map_err(|error| data(&error)["limit"].clone()));
            }
            if bench.view().latest().number() == 0 {
                bench.seal();
                continue;
            }
            bench.seal();
        }
        sizes
    };
    let unlimited = sizes(Limits::default().response);
    let size = *unlimited[0].as_ref().unwrap();
    assert!(size > MAX_ATTEMPT_BYTES, "{size}");
    assert_eq!(sizes(size), unlimited);
    assert!(sizes(size - 1).iter().all(|result| *result == Err(json!("response"))));
}

#[test]
fn the_range_of_a_large_query_can_be_queried() {
    let mut bench = bench(LIMIT);
    for nonce in 0..4 {
        emit_with(&mut bench, nonce, 600_000);
        bench.seal();
    }
    for _ in 0..8 {
        let error = bench.error("eth_getLogs", "[{\"fromBlock\":\"0x0\",\"toBlock\":\"latest\"}]");
        let details = data(&error);
        assert_eq!(
            (&details["limit"], &details["toBlock"]),
            (&json!("response"), &json!("0x2")),
            "{details}"
        );
        assert!(error.message.contains("foreseal_getLogs"), "{}", error.message);
        let query = json!([{"fromBlock": details["fromBlock"], "toBlock": details["toBlock"]}]);
        assert!(bench.call("eth_getLogs", &query.to_string()).as_array().unwrap().len() > 2_000);
        bench.seal();
    }
}

#[test]
fn filter_changes_above_the_size_of_a_page_come_in_several_polls() {
    let mut bench = bench(Limits::default().response);
    let id = bench.call("eth_newFilter", "[{}]");
    emit(&mut bench, 0);
    bench.seal();
    let count = bench.view().latest().block.receipts[0].logs.len();
    let (mut logs, mut polls) = (0, 0);
    loop {
        let params = json!([id]).to_string();
        let json = bench.api.call(Some(&bench.view()), "eth_getFilterChanges", params.as_bytes()).unwrap();
        assert!(json.len() <= 2 << 20, "{}", json.len());
        let changes: Vec<Value> = serde_json::from_slice(&json).unwrap();
        if changes.is_empty() {
            break;
        }
        (logs, polls) = (logs + changes.len(), polls + 1);
    }
    assert_eq!((logs, polls), (count, 2));
}
