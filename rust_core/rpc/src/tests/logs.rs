//! `eth_getLogs` compared with a scan of all receipts; its ranges and limits.

use std::time::Duration;

use alloy_primitives::{B256, Bytes, U256};
use foreseal_testkit::{Contract, Fees, TransactionKinds, Wallet, Workload};
use serde_json::{Value, json};

use super::{Bench, data};
use crate::context::limits::Limits;

/// Signs a call that makes the test contract log `topic`.
fn log(wallet: &Wallet, nonce: u64, topic: u8) -> Bytes {
    let topic_bytes = Bytes::copy_from_slice(B256::with_last_byte(topic).as_slice());
    wallet.eip1559(
        nonce,
        Contract::Logger.address().into(),
        U256::ZERO,
        100_000,
        topic_bytes,
        Fees::default(),
    )
}

/// Creates one logging transaction in each of `blocks` sealed blocks and one in the pending block.
fn bench_with_logs(blocks: u64, limits: Limits) -> Bench {
    bench_with_many_logs(blocks, 1, limits)
}

/// Like [`bench_with_logs`], with `each` transactions per block.
fn bench_with_many_logs(blocks: u64, each: u64, limits: Limits) -> Bench {
    let mut bench = Bench::with_limits(1, limits);
    let wallet = bench.wallets[0].clone();
    for block in 0..=blocks {
        for nonce in block * each..(block + 1) * each {
            bench.submit(&log(&wallet, nonce, 1));
        }
        bench.tick();
        if block < blocks {
            bench.seal();
        }
    }
    bench
}

fn numbers(logs: &Value) -> Vec<&str> {
    logs.as_array().unwrap().iter().map(|log| log["blockNumber"].as_str().unwrap()).collect()
}

#[test]
fn ranges_accept_every_tag_and_only_pending_includes_unsealed_logs() {
    let bench = bench_with_logs(3, Limits::default());
    for (filter, want) in [
        ("{}", &["0x3"][..]),
        (r#"{"fromBlock":"earliest"}"#, &["0x1", "0x2", "0x3"]),
        (r#"{"fromBlock":"0x2","toBlock":"0x3"}"#, &["0x2", "0x3"]),
        (r#"{"fromBlock":"0x2","toBlock":"pending"}"#, &["0x2", "0x3", "0x4"]),
        (r#"{"fromBlock":"pending"}"#, &["0x4"]),
        (r#"{"fromBlock":"pending","toBlock":"pending"}"#, &["0x4"]),
        (r#"{"fromBlock":"latest","toBlock":"pending"}"#, &["0x3", "0x4"]),
        (r#"{"fromBlock":"0x4","toBlock":"pending"}"#, &["0x4"]),
        (r#"{"fromBlock":"earliest","toBlock":"safe"}"#, &["0x1"]),
        (r#"{"fromBlock":"0x4","toBlock":"latest"}"#, &[]),
        (r#"{"fromBlock":"0x3","toBlock":"finalized"}"#, &[]),
    ] {
        assert_eq!(numbers(&bench.call("eth_getLogs", &format!("[{filter}]"))), want, "{filter}");
    }
    for (filter, message) in [
        (r#"{"fromBlock":"0x3","toBlock":"0x2"}"#, "invalid block range params"),
        (r#"{"fromBlock":"pending","toBlock":"latest"}"#, "invalid block range params"),
        (r#"{"fromBlock":"0x1","toBlock":"0x4"}"#, "block range extends beyond current head block"),
        (r#"{"fromBlock":"0x9","toBlock":"0x9"}"#, "block range extends beyond current head block"),
    ] {
        let error = bench.error("eth_getLogs", &format!("[{filter}]"));
        assert_eq!((error.code, error.message.as_str()), (-32602, message), "{filter}");
    }
}

#[test]
fn a_block_hash_selects_blocks_and_steps_over_the_range() {
    let bench = bench_with_logs(1, Limits::default());
    for tag in ["latest", "pending"] {
        let block = bench.call("eth_getBlockByNumber", &format!("[\"{tag}\",false]"));
        let filter =
            format!("[{{\"blockHash\":{},\"fromBlock\":\"0x9\",\"toBlock\":\"0x1\"}}]", block["hash"]);
        let logs = bench.call("eth_getLogs", &filter);
        assert_eq!(numbers(&logs), [block["number"].as_str().unwrap()]);
        assert_eq!(logs[0]["blockHash"], block["hash"]);
        assert_eq!(logs[0]["blockTimestamp"], block["timestamp"]);
    }
    let error = bench.error("eth_getLogs", &format!("[{{\"blockHash\":\"{}\"}}]", B256::repeat_byte(1)));
    assert_eq!((error.code, error.message.as_str()), (-32001, "block not found"));
}

#[test]
fn a_limit_error_names_a_range_that_works() {
    let bench = bench_with_logs(5, Limits { logs: 2, ..Limits::default() });
    let logs = bench.error("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x4"}]"#);
    let message = "query exceeds max results 2, retry with the range 1-2: the limit is 2 logs. \
                   Try with this block range or a smaller one";
    assert_eq!((logs.code, logs.message.as_str()), (-32602, message));
    assert_eq!(data(&logs), json!({"limit":"logs","max":2,"fromBlock":"0x1","toBlock":"0x2"}));
    assert_eq!(
        numbers(&bench.call("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x2"}]"#)),
        ["0x1", "0x2"]
    );
}

#[test]
fn a_timed_out_query_names_the_range_it_searched() {
    // Two blocks have more logs than one search step covers, even if the store has them already.
    let bench = bench_with_many_logs(3, 520, Limits { log_time: Duration::ZERO, ..Limits::default() });
    let error = bench.error("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x3"}]"#);
    let start = "query exceeds max results 0, retry with the range 1-1: the limit is 0 ms. ";
    assert!(error.message.starts_with(start), "{}", error.message);
    assert_eq!(error.code, -32602);
    assert_eq!(data(&error), json!({"limit":"milliseconds","max":0,"fromBlock":"0x1","toBlock":"0x1"}));
}

#[test]
fn a_single_block_query_is_never_rejected() {
    let limits = Limits { logs: 1, log_time: Duration::ZERO, ..Limits::default() };
    let mut bench = Bench::with_limits(1, limits);
    let wallet = bench.wallets[0].clone();
    for nonce in 0..5 {
        bench.submit(&log(&wallet, nonce, 1));
    }
    bench.tick();
    for _ in 0..2 {
        assert_eq!(numbers(&bench.call("eth_getLogs", r#"[{"fromBlock":"pending"}]"#)).len(), 5);
    }
    bench.seal();
    assert_eq!(numbers(&bench.call("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x1"}]"#)).len(), 5);
}

/// Returns the expected result of a filter, from the receipts alone and without blooms.
fn scan(bench: &Bench, last: u64, addresses: &[Value], topics: &[Vec<Value>]) -> Vec<Value> {
    let mut logs = Vec::new();
    for number in 0..=last {
        let receipts = bench.call("eth_getBlockReceipts", &format!("[\"{number:#x}\"]"));
        for log in receipts.as_array().unwrap().iter().flat_map(|receipt| receipt["logs"].as_array().unwrap())
        {
            let has = log["topics"].as_array().unwrap();
            let topics_match = topics.len() <= has.len()
                && topics.iter().zip(has).all(|(any, topic)| any.is_empty() || any.contains(topic));
            if topics_match && (addresses.is_empty() || addresses.contains(&log["address"])) {
                logs.push(log.clone());
            }
        }
    }
    logs
}

#[test]
fn filters_find_what_a_scan_of_all_receipts_finds() {
    let mut bench = Bench::new(4);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 11);
    for _ in 0..6 {
        for _ in 0..25 {
            bench.submit(&workload.next_transaction());
        }
        bench.seal();
    }
    let last = bench.view().latest().number();
    let all = scan(&bench, last, &[], &[]);
    assert!(all.len() > 20);
    let topic = |log: &Value, index: usize| log["topics"].get(index).cloned();
    let mut filters: Vec<(Vec<Value>, Vec<Vec<Value>>)> = vec![
        (vec![], vec![]),
        (vec![json!(Contract::Erc20.address())], vec![]),
        (vec![json!(Contract::Erc20.address()), json!(Contract::Logger.address())], vec![vec![], vec![]]),
        (vec![json!(Contract::Counter.address())], vec![]),
        (vec![], vec![vec![], vec![], vec![]]),
        (vec![], vec![vec![], vec![], vec![], vec![]]),
    ];
    for pair in all.windows(2).step_by(3) {
        let firsts: Vec<Value> = pair.iter().filter_map(|log| topic(log, 0)).collect();
        filters.push((vec![pair[0]["address"].clone()], vec![firsts]));
        let seconds: Vec<Value> = pair.iter().filter_map(|log| topic(log, 1)).collect();
        filters.push((vec![], vec![vec![], seconds]));
    }
    for (addresses, topics) in filters {
        let filter = json!([{"fromBlock":"earliest","address":addresses,"topics":topics}]).to_string();
        let answer = bench.call("eth_getLogs", &filter);
        assert_eq!(answer, Value::Array(scan(&bench, last, &addresses, &topics)), "{filter}");
    }
}
