//! Compares each kind of message with the result of the corresponding method.

use std::sync::Arc;

use foreseal_journal::RealDisk;
use foreseal_testkit::{Contract, Fees, Wallet};
use serde_json::{Value, json};

use super::{Streams, cursor, step, workload};
use crate::{
    Limits,
    tests::{Bench, settings},
};

type StepFn<'a> = &'a mut dyn FnMut(&mut Bench, &mut Streams);

/// Produces steps of a block with transactions of every type, and calls `test` for each.
fn each_step(test: &mut dyn FnMut(&mut Bench, &mut Streams, StepFn<'_>)) {
    let mut bench = Bench::new(4);
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 11);
    let mut next_step = |bench: &mut Bench, streams: &mut Streams| step(bench, streams, &mut workload, 7);
    test(&mut bench, &mut streams, &mut next_step);
}

fn last(messages: Vec<Value>) -> Value {
    messages.into_iter().next_back().unwrap()
}

#[test]
fn new_heads_are_the_headers_of_sealed_blocks() {
    each_step(&mut |bench, streams, next_step| {
        let heads = streams.subscribe(&json!(["newHeads"]));
        let mut sealed = Vec::new();
        for _ in 0..25 {
            let before = bench.view().latest().number();
            next_step(bench, streams);
            if bench.view().latest().number() > before {
                let mut block = bench.call("eth_getBlockByNumber", r#"["latest",false]"#);
                for field in ["size", "transactions", "uncles", "withdrawals"] {
                    assert!(block.as_object_mut().unwrap().remove(field).is_some());
                }
                sealed.push(block);
            }
        }
        assert!(sealed.len() > 1);
        assert_eq!(streams.messages(&heads), sealed);
    });
}

#[test]
fn logs_equal_get_logs_and_pending_logs_equal_their_step() {
    each_step(&mut |bench, streams, next_step| {
        let address = Contract::Logger.address();
        let filters =
            [json!({}), json!({"address": address}), json!({"topics": [[format!("{:#066x}", 0xaa)]]})];
        let subscribed: Vec<_> = filters
            .iter()
            .map(|filter| {
                let sealed = streams.subscribe(&json!(["logs", filter]));
                (sealed, streams.subscribe(&json!(["pendingLogs", filter])))
            })
            .collect();
        while bench.view().latest().number() < 2 {
            let before = streams.messages(&subscribed[0].1).len();
            next_step(bench, streams);
            let block = bench.call("eth_getBlockByNumber", r#"["pending",false]"#);
            for log in &streams.messages(&subscribed[0].1)[before..] {
                // At a seal, the last step of the previous block may have some, too.
                if log["blockNumber"] == block["number"] {
                    assert_eq!(log["blockHash"], block["hash"], "logs carry the hash of their step");
                }
            }
        }
        for (filter, (logs, pending)) in filters.iter().zip(&subscribed) {
            let mut range = filter.clone();
            (range["fromBlock"], range["toBlock"]) = (json!("0x1"), json!("0x2"));
            let mut expected = bench.call("eth_getLogs", &json!([range]).to_string());
            assert!(expected.as_array().unwrap().len() > 5, "{filter}");
            assert_eq!(json!(streams.messages(logs)), expected, "{filter}");
            let without_hash = |logs: &mut Value| {
                logs.as_array_mut().unwrap().iter_mut().for_each(|log| log["blockHash"] = Value::Null);
            };
            let mut steps = json!(streams.messages(pending));
            without_hash(&mut steps);
            without_hash(&mut expected);
            assert_eq!(steps, expected, "{filter}");
        }
    });
}

#[test]
fn flashblock_transactions_equal_the_method_results_at_their_step() {
    each_step(&mut |bench, streams, next_step| {
        let full = streams.subscribe(&json!(["newFlashblockTransactions", true]));
        let hashes = streams.subscribe(&json!(["newFlashblockTransactions"]));
        let also = streams.subscribe(&json!(["newFlashblockTransactions", false]));
        assert_eq!(also.channel, hashes.channel);
        let mut seen = 0;
        for _ in 0..6 {
            next_step(bench, streams);
            let messages = streams.messages(&full);
            for message in &messages[seen..] {
                let params = json!([message["hash"]]).to_string();
                let mut expected = bench.call("eth_getTransactionByHash", &params);
                let receipt = bench.call("eth_getTransactionReceipt", &params);
                for (field, value) in receipt.as_object().unwrap() {
                    let before = expected[field].clone();
                    assert!(before.is_null() || before == *value, "{field} is the same in both");
                    expected[field] = value.clone();
                }
                assert_eq!(*message, expected);
            }
            seen = messages.len();
        }
        assert!(seen > 20);
        let all: Vec<Value> = streams.messages(&full).iter().map(|message| message["hash"].clone()).collect();
        assert_eq!(streams.messages(&hashes), all);
    });
}

#[test]
fn flashblocks_carry_the_pending_block_and_the_feed_its_additions() {
    each_step(&mut |bench, streams, next_step| {
        let blocks = streams.subscribe(&json!(["newFlashblocks"]));
        let feed = streams.subscribe(&json!(["foreseal_feed"]));
        let mut previous = bench.call("eth_getBlockByNumber", r#"["pending",true]"#);
        let mut delivered = 0;
        for _ in 0..14 {
            next_step(bench, streams);
            let block = bench.call("eth_getBlockByNumber", r#"["pending",true]"#);
            let news = streams.messages(&feed)[delivered..].to_vec();
            delivered += news.len();
            let steps: Vec<&Value> = news.iter().filter(|m| m["heartbeat"].is_null()).collect();
            let newest = *steps.last().expect("every turn makes a step");
            assert_eq!(last(streams.messages(&blocks)), block);
            assert_eq!((&newest["number"], &newest["hash"]), (&block["number"], &block["hash"]));
            let first = steps[0];
            assert_eq!(first["parent"], previous["hash"]);
            assert_eq!(newest["index"], bench.call("foreseal_status", "[]")["index"]);
            let transactions = block["transactions"].as_array().unwrap();
            let added: Vec<Value> = steps
                .iter()
                .filter(|s| s["number"] == newest["number"])
                .flat_map(|s| s["transactions"].as_array().unwrap())
                .cloned()
                .collect();
            let hashes = |list: &[Value]| list.iter().map(|t| t["hash"].clone()).collect::<Vec<_>>();
            assert_eq!(hashes(&added), hashes(&transactions[transactions.len() - added.len()..]));
            let receipts = bench.call("eth_getBlockReceipts", r#"["pending"]"#);
            let count = newest["transactions"].as_array().unwrap().len();
            let receipts = receipts.as_array().unwrap();
            assert_eq!(newest["receipts"], json!(receipts[receipts.len() - count..]));
            for field in ["stateRoot", "receiptsRoot", "gasUsed", "hash", "parentHash"] {
                assert_eq!(newest["header"][field], block[field]);
            }
            assert_eq!(newest["removed"], json!(false));
            let beats: Vec<Value> =
                news.iter().map(|m| m["heartbeat"].clone()).filter(|b| !b.is_null()).collect();
            assert_eq!(beats, [cursor(newest)], "one a tick");
            previous = block;
        }
    });
}

#[test]
fn syncing_is_notified_once_per_subscriber() {
    let mut bench = Bench::new(1);
    let mut streams = Streams::new(&bench);
    let (first, second) = (streams.subscribe(&json!(["syncing"])), streams.subscribe(&json!(["syncing"])));
    bench.seal();
    streams.deliver_all();
    assert_eq!(
        (streams.messages(&first), streams.messages(&second)),
        (vec![json!(false)], vec![json!(false)])
    );
}

#[test]
fn equivalent_filters_share_a_channel() {
    let bench = Bench::new(1);
    let mut streams = Streams::new(&bench);
    let (a, b) = ("0x00000000000000000000000000000000000000Aa", "0x00000000000000000000000000000000000000bb");
    let topic = format!("{:#066x}", 0xaa);
    let mut channel = |params: Value| streams.subscribe(&params).channel;
    let one = channel(json!(["logs", {"address": [a, b], "topics": [topic, null]}]));
    for same in [
        json!({"address": [b.to_uppercase().replace("0X", "0x"), a.to_lowercase(), b], "topics": [[topic], []]}),
        json!({"topics": [[topic, topic], null], "address": [a, b], "fromBlock": "0x5", "toBlock": "pending"}),
    ] {
        assert_eq!(channel(json!(["logs", same])), one);
    }
    let others = [
        channel(json!(["pendingLogs", {"address": [a, b], "topics": [topic, null]}])),
        channel(json!(["logs", {"address": [a, b], "topics": [topic]}])),
        channel(json!(["logs", {"address": a}])),
        channel(json!(["logs"])),
    ];
    assert!(!others.contains(&one));
    assert_eq!(channel(json!(["logs", {"address": [a]}])), others[2]);
    assert_eq!([channel(json!(["logs", {}])), channel(json!(["logs", null]))], [others[3]; 2]);
}

#[test]
fn a_channel_without_subscribers_gets_no_notification() {
    let mut bench = Bench::new(1);
    let mut streams = Streams::new(&bench);
    let (first, second) = (streams.subscribe(&json!(["newHeads"])), streams.subscribe(&json!(["newHeads"])));
    streams.subscriptions.unsubscribe(first.channel);
    bench.seal();
    streams.deliver_all();
    assert_eq!(streams.messages(&second).len(), 1);
    streams.subscriptions.unsubscribe(second.channel);
    streams.subscriptions.unsubscribe(second.channel);
    bench.seal();
    streams.deliver_all();
    assert_eq!(streams.messages(&second).len(), 1);
    assert_ne!(streams.subscribe(&json!(["newHeads"])).channel, first.channel, "no id is used again");
}

#[test]
fn wrong_subscriptions_name_the_argument() {
    let bench = Bench::new(1);
    let mut streams = Streams::with_terms(&bench, 3);
    for (params, message) in [
        (json!([]), "missing argument 0 (subscription)"),
        (json!([5]), "invalid argument 0 (subscription): expected a string"),
        (json!(["heads"]), "invalid argument 0 (subscription): unknown subscription heads"),
        (json!(["newHeads", {}]), "invalid argument 1 (options): is not accepted by this subscription"),
        (json!(["syncing", true]), "invalid argument 1 (options): is not accepted by this subscription"),
        (json!(["newFlashblocks", 0]), "invalid argument 1 (options): is not accepted by this subscription"),
        (json!(["newPendingTransactions", "true"]), "invalid argument 1 (options): expected true or false"),
        (json!(["newFlashblockTransactions", {}]), "invalid argument 1 (options): expected true or false"),
        (json!(["logs", []]), "invalid argument 1 (options): expected an object"),
        (
            json!(["logs", {"address": "0x1"}]),
            "invalid argument 1 (options.address): hex data has an odd number of digits",
        ),
        (json!(["pendingLogs", {"topics": "0x"}]), "invalid argument 1 (options.topics): expected an array"),
        (json!(["foreseal_feed", "0x1"]), "invalid argument 1 (options): expected an object"),
        (
            json!(["foreseal_feed", {"block": "0x1", "index": 5}]),
            "invalid argument 1 (options.index): expected a string",
        ),
        (
            json!(["foreseal_feed", {"block": "0x1", "index": "0x0"}]),
            "invalid argument 1 (options.hash): is missing",
        ),
        (json!(["logs", {}, 1]), "invalid argument 2: eth_subscribe takes at most 2"),
    ] {
        let error = streams.try_subscribe(&params).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (-32602, message), "{params}");
    }
    let topic = format!("{:#066x}", 0xaa);
    let wide = |address: &str| json!(["logs", {"address": address, "topics": [topic, [topic, address.replace("0x", "0x000000000000000000000000")]]}]);
    let error = streams.try_subscribe(&wide("0x00000000000000000000000000000000000000aa")).unwrap();
    assert!(error.is_some(), "a topic that comes twice counts once");
    let error = streams.try_subscribe(&wide("0x00000000000000000000000000000000000000bb")).unwrap_err();
    assert_eq!((error.code, crate::tests::data(&error)), (-32005, json!({"limit": "terms", "max": 3})));
}

#[test]
fn subscribing_over_http_requires_a_websocket() {
    let bench = Bench::new(1);
    for (method, params) in [("eth_subscribe", json!(["newHeads"])), ("eth_unsubscribe", json!(["0xab"]))] {
        let error = bench.error(method, &params.to_string());
        assert_eq!(error.code, -32601);
        let start = format!("the method {method} does not exist/is not available: it needs a WebSocket");
        assert!(error.message.starts_with(&start), "{}", error.message);
    }
    assert_eq!(bench.error("eth_subscribe", r#"["heads"]"#).code, -32602);
}

#[test]
fn before_the_first_view_a_subscription_is_rejected() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let settings = settings(datadir.path(), &wallets);
    let mut bench = Bench::unstarted(Arc::new(RealDisk), datadir, settings, wallets, Limits::default());
    let mut streams = Streams::new(&bench);
    for params in [json!(["newHeads"]), json!(["newPendingTransactions"]), json!(["syncing"])] {
        let error = streams.try_subscribe(&params).unwrap_err();
        assert_eq!(error.code, -32002, "{error:?}");
    }
    bench.start();
    let feed = streams.subscribe(&json!(["foreseal_feed"]));
    bench.tick();
    streams.deliver_all();
    let transfer = bench.wallets[0].transfer(0, bench.wallets[0].address, 1, Fees::default());
    bench.submit(&transfer);
    bench.tick();
    streams.deliver_all();
    let steps: Vec<Value> =
        streams.messages(&feed).into_iter().filter(|m| m["heartbeat"].is_null()).collect();
    assert_eq!(steps.len(), 1, "{steps:?}");
    assert_eq!(steps[0]["transactions"].as_array().unwrap().len(), 1);
}
