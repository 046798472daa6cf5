//! Steps larger than a message: parts of flashblocks, and messages that are rendered in chunks.

use alloy_primitives::{B256, Bytes, TxKind, U256, hex};
use foreseal_chain::{BlockWindow, CacheSizes, FinalityDepth};
use foreseal_node::{Settings, StoreSettings};
use foreseal_testkit::{Fees, Wallet};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use super::{Streams, all_messages};
use crate::{
    Limits,
    tests::{Bench, data, log_pages::developing, settings},
};

/// Code that emits empty logs until 65,535 gas remain.
const LOGS: [u8; 12] = hex!("5b5f5fa061ffff5a115f5700");
/// Gas of one transaction with 30,000 logs, which leave room in their step.
const MUCH: u64 = 12_500_000;

/// Submits a creation whose code emits as many logs as `gas` buys.
fn submit_logs(bench: &Bench, wallet: usize, gas: u64) {
    let fees = Fees { max_fee: 20_000_000_000, tip: 1_000_000 };
    let raw =
        bench.wallets[wallet].eip1559(0, TxKind::Create, U256::ZERO, gas, Bytes::from(LOGS.to_vec()), fees);
    bench.submit(&raw);
}

/// Joins parts to steps, as a client does.
fn joined(messages: &[Value]) -> Vec<Value> {
    let (mut steps, mut expected) = (Vec::<Value>::new(), 0_u64);
    for message in messages {
        let Some(part) = message.get("part") else {
            assert_eq!(expected, 0, "the step before is complete");
            steps.push(message.clone());
            continue;
        };
        assert_eq!(part["index"], json!(format!("{expected:#x}")));
        if expected == 0 {
            let mut first = message.clone();
            first.as_object_mut().unwrap().remove("part");
            steps.push(first);
        } else {
            let step = steps.last_mut().unwrap();
            assert_eq!((&step["hash"], &step["removed"]), (&message["hash"], &message["removed"]));
            append(step, message);
        }
        expected = if part["last"] == json!(true) { 0 } else { expected + 1 };
    }
    assert_eq!(expected, 0, "the last step is complete");
    steps
}

fn append(step: &mut Value, part: &Value) {
    let items = |value: &Value, name: &str| value[name].as_array().unwrap().clone();
    step["transactions"].as_array_mut().unwrap().extend(items(part, "transactions"));
    let receipts = step["receipts"].as_array_mut().unwrap();
    for receipt in items(part, "receipts") {
        match receipts.last_mut() {
            Some(last) if last["transactionHash"] == receipt["transactionHash"] => {
                last["logs"].as_array_mut().unwrap().extend(items(&receipt, "logs"));
            }
            _ => receipts.push(receipt),
        }
    }
}

/// Reads all pages after a cursor.
fn pages(bench: &Bench, mut cursor: Value, limit: u64, bytes: u64) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let params = json!([cursor, format!("{limit:#x}"), format!("{bytes:#x}")]);
        let page = bench.call("foreseal_getFlashblocks", &params.to_string());
        let flashblocks = page["flashblocks"].as_array().unwrap();
        assert!(flashblocks.len() as u64 <= limit);
        all.extend(flashblocks.iter().cloned());
        cursor = page["cursor"].clone();
        if page["complete"] == json!(true) {
            assert_eq!(cursor.get("part"), None);
            return all;
        }
    }
}

fn newest(bench: &Bench) -> Value {
    bench.call("foreseal_getFlashblocks", "[null]")["cursor"].clone()
}

/// Asserts that the transactions and receipts of a step equal those of the methods.
fn assert_content(bench: &Bench, step: &Value, transactions: usize) {
    let shown = step["transactions"].as_array().unwrap();
    assert_eq!((shown.len(), step["receipts"].as_array().unwrap().len()), (transactions, transactions));
    for (transaction, receipt) in shown.iter().zip(step["receipts"].as_array().unwrap()) {
        let params = json!([transaction["hash"]]).to_string();
        assert!(*transaction == bench.call("eth_getTransactionByHash", &params));
        assert!(*receipt == bench.call("eth_getTransactionReceipt", &params), "{params}");
    }
}

#[test]
fn a_large_step_reaches_the_feed_in_parts() {
    let mut bench = Bench::new(2);
    let mut streams = Streams::new(&bench);
    let begin = newest(&bench);
    let feed = streams.subscribe(&json!(["foreseal_feed"]));
    submit_logs(&bench, 0, MUCH);
    submit_logs(&bench, 1, 100_000);
    bench.tick();
    streams.deliver_all();
    let texts = streams.texts(&feed);
    assert!(texts.iter().all(|text| text.len() < 2 << 20), "parts are bounded");
    let messages: Vec<Value> = streams.messages(&feed);
    let messages: Vec<Value> =
        messages.into_iter().filter(|message| message.get("heartbeat").is_none()).collect();
    assert!(messages.len() > 10, "{} parts", messages.len());
    let steps = joined(&messages);
    assert_eq!(steps.len(), 1);
    assert_content(&bench, &steps[0], 2);
    assert!(joined(&pages(&bench, begin, 1, 1 << 20)) == steps);
}

#[test]
fn parts_of_any_size_equal_the_whole() {
    let mut bench = Bench::new(9);
    let begin = newest(&bench);
    let mut transactions = 0;
    for (step, gas) in [[0, 70_000, 90_000], [500_000, 0, 66_000], [200_000, 130_000, 0]].iter().enumerate() {
        for (wallet, gas) in gas.iter().enumerate().filter(|(_, gas)| **gas > 0) {
            submit_logs(&bench, wallet + 3 * step, 60_000 + gas);
            transactions += 1;
        }
        bench.tick();
    }
    let steps = joined(&pages(&bench, begin.clone(), 100, u64::MAX));
    assert_eq!(steps.len(), 3);
    assert!(
        steps.iter().map(|step| step["receipts"].as_array().unwrap().len()).sum::<usize>() == transactions
    );
    TestRunner::default()
        .run(&(1_u64..60_000, 1_u64..6), |(bytes, limit)| {
            prop_assert!(joined(&pages(&bench, begin.clone(), limit, bytes)) == steps);
            Ok(())
        })
        .unwrap();
}

/// Starts a node that keeps one sealed block in memory and caches none.
fn with_small_memory(wallets: u64) -> Bench {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(wallets));
    let recent = BlockWindow { blocks: 1, ..BlockWindow::default() };
    let caches = CacheSizes { blocks: 0, ..CacheSizes::default() };
    let store = StoreSettings { recent, caches, ..StoreSettings::default() };
    let settings =
        Settings { store, finality: FinalityDepth::default(), ..settings(datadir.path(), &wallets) };
    Bench::open(datadir, settings, wallets, Limits::default())
}

#[test]
fn parts_of_a_stored_step_equal_those_in_memory() {
    let mut bench = with_small_memory(6);
    let begin = newest(&bench);
    for (step, gas) in [[70_000, 900_000], [30_000, 40_000], [400_000, 5_000]].iter().enumerate() {
        for (wallet, gas) in gas.iter().enumerate() {
            submit_logs(&bench, wallet + 2 * step, 60_000 + gas);
        }
        bench.tick();
    }
    let end = newest(&bench);
    let before = pages(&bench, begin.clone(), 1, 20_000);
    let steps = joined(&before);
    assert_eq!(steps.len(), 3);
    for _ in 0..4 {
        bench.seal();
        bench.tick();
    }
    bench.api.node().drain().unwrap();
    bench.seal();
    bench.tick();
    let stored = bench.view().sealed(1).unwrap().unwrap();
    assert!(stored.steps.iter().all(|step| step.state.is_none()), "the block has left memory");
    assert!(pages(&bench, begin.clone(), 1, 20_000)[..before.len()] == before, "the same parts");
    let until = |event: &Value| event["number"] == end["block"];
    TestRunner::default()
        .run(&(1_u64..60_000, 1_u64..6), |(bytes, limit)| {
            let shown = joined(&pages(&bench, begin.clone(), limit, bytes));
            prop_assert!(shown.into_iter().filter(until).collect::<Vec<_>>() == steps);
            Ok(())
        })
        .unwrap();
    let page = bench.call("foreseal_getFlashblocks", &json!([begin, "0x1", "0x4e20"]).to_string());
    for (name, wrong) in [("log", "0xffffff"), ("transaction", "0x2"), ("transaction", "0xffffffffffffffff")]
    {
        let mut cursor = page["cursor"].clone();
        cursor["part"][name] = json!(wrong);
        assert_eq!(bench.error("foreseal_getFlashblocks", &json!([cursor]).to_string()).code, -32001);
    }
    let mut unknown = page["cursor"].clone();
    unknown["hash"] = json!(format!("{:#x}", B256::repeat_byte(1)));
    assert_eq!(bench.error("foreseal_getFlashblocks", &json!([unknown]).to_string()).code, -32001);
}

#[test]
fn ten_thousand_logs_reach_their_subscribers_in_chunks() {
    let mut bench = Bench::new(1);
    let mut streams = Streams::new(&bench);
    let pending = streams.subscribe(&json!(["pendingLogs"]));
    let sealed = streams.subscribe(&json!(["logs", {}]));
    submit_logs(&bench, 0, MUCH);
    bench.tick();
    streams.deliver_all();
    let expected = bench.call("eth_getLogs", r#"[{"fromBlock":"pending"}]"#);
    assert!(expected.as_array().unwrap().len() > 10_000);
    assert!(Value::Array(streams.messages(&pending)) == expected);
    let notice = streams.notices.iter().find(|notice| notice.deferred.is_some()).unwrap();
    assert!(notice.deferred.as_ref().unwrap().render(1 << 20).is_none(), "chunks are read in order");
    assert_eq!(all_messages(notice).len(), expected.as_array().unwrap().len(), "and again by another reader");
    bench.seal();
    bench.tick();
    streams.deliver_all();
    let expected = bench.call("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x1"}]"#);
    assert!(Value::Array(streams.messages(&sealed)) == expected);
}

#[test]
fn a_reorged_large_step_is_removed_in_parts() {
    let mut bench = developing(2, Limits::default());
    let begin = newest(&bench);
    submit_logs(&bench, 0, MUCH);
    bench.tick();
    let inside = |cursor: &Value| {
        bench.call("foreseal_getFlashblocks", &json!([cursor, "0x1"]).to_string())["cursor"].clone()
    };
    let added = inside(&begin);
    assert!(added.get("part").is_some());
    let steps = joined(&pages(&bench, begin, 1, 1 << 20));
    let cursor = json!({"block": steps[0]["number"], "index": steps[0]["index"], "hash": steps[0]["hash"]});
    bench.seal();
    bench.api.node().control(|writer| writer.unwind(0)).unwrap();
    let removed = pages(&bench, cursor.clone(), 1, 1 << 20);
    assert!(removed.len() > 10, "{} parts", removed.len());
    let mut removed = joined(&removed);
    assert_eq!(removed[0]["removed"], json!(true));
    removed[0]["removed"] = json!(false);
    assert!(removed[0] == steps[0]);
    let error = bench.error("foreseal_getFlashblocks", &json!([added]).to_string());
    assert_eq!(error.code, -32001, "the step left the chain while it was read");
    assert!(data(&error).get("oldest").is_some());
    let mut invalid =
        bench.call("foreseal_getFlashblocks", &json!([cursor, "0x1"]).to_string())["cursor"].clone();
    assert_eq!(invalid["part"]["removed"], json!(true));
    invalid["part"]["log"] = json!("0xffffff");
    assert_eq!(bench.error("foreseal_getFlashblocks", &json!([invalid]).to_string()).code, -32001);
}
