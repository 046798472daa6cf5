//! What was told and then undone is told again with `removed`, the newest first.

use serde_json::{Value, json};

use super::{Streams, bytes, step, workload};
use crate::{Limits, tests::log_pages::developing};

/// `messages` as they are taken back.
fn taken_back(messages: &[Value]) -> Vec<Value> {
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
fn an_unwind_takes_back_steps_and_sealed_blocks_the_newest_first() {
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
    let begun = bench.view().place();
    let subscribed = everything.each_ref().map(|params| streams.subscribe(params));
    while bench.view().latest().number() < 3 {
        step(&mut bench, &mut streams, &mut workload, 4);
    }
    for _ in 0..3 {
        step(&mut bench, &mut streams, &mut workload, 4);
    }
    let told = |streams: &Streams| {
        subscribed.each_ref().map(|subscribed| {
            let messages = streams.messages(subscribed).into_iter();
            messages.filter(|message| message["heartbeat"].is_null()).collect::<Vec<_>>()
        })
    };
    let before = told(&streams);
    assert!(before.iter().all(|messages| messages.len() > 1));
    // Blocks 2 and 3 go. What was told of block 2 before the subscription began is taken back as well.
    bench.api.node().control(|writer| writer.unwind(1)).unwrap();
    streams.tell();
    let after = told(&streams);
    for (at, params) in everything.iter().enumerate() {
        let news = &after[at][before[at].len()..];
        if *params == json!(["newHeads"]) {
            assert_eq!(news, [] as [Value; 0]);
            continue;
        }
        let back = taken_back(&before[at]);
        assert!(news.len() >= back.len(), "{params}: {} of {}", news.len(), back.len());
        let (gone, _) = news.split_at(back.len());
        assert_eq!(gone, back, "{params}");
    }
    let feed = &after[5][before[5].len()..];
    let first_kept = feed.iter().position(|message| message["removed"] == json!(false)).unwrap_or(feed.len());
    let removed = &feed[..first_kept];
    assert!(
        bytes(&removed[removed.len() - 1]["number"]) == "0x2"
            && removed[removed.len() - 1]["index"] == json!("0x0")
    );
    assert!(removed.len() as u64 > begun.index, "also the steps before the subscription");

    // The next blocks are told as ever.
    let heads = streams.messages(&subscribed[6]).len();
    bench.seal();
    streams.tell();
    let sealed = bench.ask("eth_getBlockByNumber", r#"["latest",false]"#);
    let messages = streams.messages(&subscribed[6]);
    assert_eq!((messages.len(), &messages[heads]["hash"]), (heads + 1, &sealed["hash"]));
}
