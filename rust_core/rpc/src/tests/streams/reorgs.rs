//! Messages of reorged steps are sent again with `removed`, newest first.

use foreseal_chain::BlockWindow;
use foreseal_node::{Development, Settings, StoreSettings};
use foreseal_testkit::Wallet;
use serde_json::{Value, json};

use super::{Streams, bytes, step, workload};
use crate::{
    Limits,
    tests::{Bench, log_pages::developing, settings},
};

/// Returns `messages` in the form in which they are removed.
fn removals(messages: &[Value]) -> Vec<Value> {
    let remove = |message: &Value| {
        if message.is_string() {
            return json!({"hash": message, "removed": true});
        }
        let mut message = message.clone();
        message["removed"] = json!(true);
        for log in message.get_mut("logs").and_then(Value::as_array_mut).into_iter().flatten() {
            log["removed"] = json!(true);
        }
        message
    };
    messages.iter().rev().map(remove).collect()
}

#[test]
fn an_unwind_removes_steps_and_sealed_blocks_newest_first() {
    let mut bench = developing(4, Limits::default());
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 5);
    let everything = [
        json!(["logs"]),
        json!(["pendingLogs"]),
        json!(["newFlashblockTransactions", true]),
        json!(["newFlashblockTransactions", false]),
        json!(["newFlashblocks"]),
        json!(["foreseal_feed"]),
        json!(["newHeads"]),
    ];
    while bench.view().latest().number() < 1 {
        step(&mut bench, &mut streams, &mut workload, 4);
    }
    step(&mut bench, &mut streams, &mut workload, 4);
    let begun = bench.view().cursor();
    let subscribed = everything.each_ref().map(|params| streams.subscribe(params));
    while bench.view().latest().number() < 3 {
        step(&mut bench, &mut streams, &mut workload, 4);
    }
    for _ in 0..3 {
        step(&mut bench, &mut streams, &mut workload, 4);
    }
    let all_messages = |streams: &Streams| {
        subscribed.each_ref().map(|subscribed| {
            let messages = streams.messages(subscribed).into_iter();
            messages.filter(|message| message["heartbeat"].is_null()).collect::<Vec<_>>()
        })
    };
    let before = all_messages(&streams);
    assert!(before.iter().all(|messages| messages.len() > 1));
    // Blocks 2 and 3 are unwound. Steps of block 2 from before the subscription are removed as well.
    bench.api.node().control(|writer| writer.unwind(1)).unwrap();
    streams.deliver_all();
    let after = all_messages(&streams);
    for (at, params) in everything.iter().enumerate() {
        let news = &after[at][before[at].len()..];
        if *params == json!(["newHeads"]) {
            assert_eq!(news, [] as [Value; 0]);
            continue;
        }
        let back = removals(&before[at]);
        assert!(news.len() >= back.len(), "{params}: {} of {}", news.len(), back.len());
        let (first_removals, _) = news.split_at(back.len());
        assert_eq!(first_removals, back, "{params}");
    }
    let feed = &after[5][before[5].len()..];
    let first_added =
        feed.iter().position(|message| message["removed"] == json!(false)).unwrap_or(feed.len());
    let removed = &feed[..first_added];
    assert!(
        bytes(&removed[removed.len() - 1]["number"]) == "0x2"
            && removed[removed.len() - 1]["index"] == json!("0x0")
    );
    assert!(removed.len() as u64 > begun.index, "also the steps before the subscription");

    // The next blocks are delivered as usual.
    let heads = streams.messages(&subscribed[6]).len();
    bench.seal();
    streams.deliver_all();
    let sealed = bench.call("eth_getBlockByNumber", r#"["latest",false]"#);
    let messages = streams.messages(&subscribed[6]);
    assert_eq!((messages.len(), &messages[heads]["hash"]), (heads + 1, &sealed["hash"]));
}

/// The pump may read a view that an unwind has made unavailable: its blocks are no longer in the store.
#[test]
fn a_lagging_pump_reports_the_final_result() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(3));
    let recent = BlockWindow { blocks: 1, transactions: 0, ..BlockWindow::default() };
    let settings = Settings {
        store: StoreSettings { recent, ..StoreSettings::default() },
        development: Some(Development::default()),
        ..settings(datadir.path(), &wallets)
    };
    let mut bench = Bench::open(datadir, settings, wallets, Limits::default());
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 6);
    let hash = |message: &Value| bytes(&message["hash"]);
    let genesis =
        json!({"block": "0x0", "index": "0x0", "hash": bench.view().sealed(0).unwrap().unwrap().block.hash});
    let first = bench.call("foreseal_getFlashblocks", &json!([genesis]).to_string());
    let mut received: Vec<String> = first["flashblocks"].as_array().unwrap().iter().map(hash).collect();
    let feed = streams.subscribe(&json!(["foreseal_feed"]));
    for round in 0..4 {
        for _ in 0..6 {
            bench.submit(&workload.next_transaction());
            bench.tick();
            bench.seal();
        }
        bench.api.node().drain().unwrap();
        if round < 3 {
            let number = bench.view().latest().number() - 4;
            bench.api.node().control(|writer| writer.unwind(number)).unwrap();
        }
    }
    streams.deliver_all();
    for message in streams.messages(&feed).iter().filter(|message| message["heartbeat"].is_null()) {
        if message["removed"] == json!(true) {
            assert_eq!(received.pop(), Some(hash(message)));
        }
        let parent = received.last().cloned();
        if message["removed"] == json!(false) {
            assert!(bytes(&message["index"]) == "0x0" || parent == Some(bytes(&message["parent"])));
            received.push(hash(message));
        }
    }
    let expected = bench.call("foreseal_getFlashblocks", &json!([genesis]).to_string());
    let expected: Vec<String> = expected["flashblocks"].as_array().unwrap().iter().map(hash).collect();
    assert_eq!(received, expected);
}
