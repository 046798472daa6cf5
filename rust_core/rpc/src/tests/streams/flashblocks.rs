//! `foreseal_getFlashblocks`: replays the feed.

use std::sync::Arc;

use foreseal_chain::{BlockWindow, FinalityDepth, View};
use foreseal_node::{Settings, StoreSettings};
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use serde_json::{Value, json, value::RawValue};

use super::{Streams, step, workload};
use crate::{
    InlineAttempt, Limits, Reply,
    tests::{Bench, data, log_pages::developing, settings},
};

/// Reads a page with its flashblocks unparsed.
fn page(bench: &Bench, cursor: &Value, limit: u64) -> (Vec<String>, Value, bool) {
    #[derive(serde::Deserialize)]
    struct Page {
        flashblocks: Vec<Box<RawValue>>,
        cursor: Value,
        complete: bool,
    }
    let params = json!([cursor, format!("{limit:#x}")]).to_string();
    let answer = bench.api.call(Some(&bench.view()), "foreseal_getFlashblocks", params.as_bytes()).unwrap();
    let Page { flashblocks, cursor, complete } = serde_json::from_slice(&answer).unwrap();
    (flashblocks.iter().map(|text| text.get().to_owned()).collect(), cursor, complete)
}

/// Reads all pages after a cursor.
fn replay(bench: &Bench, mut cursor: Value, limit: u64) -> (Vec<String>, Value) {
    let mut all = Vec::new();
    loop {
        let (flashblocks, next, complete) = page(bench, &cursor, limit);
        assert!(flashblocks.len() as u64 <= limit && (complete || !flashblocks.is_empty()));
        all.extend(flashblocks);
        cursor = next;
        if complete {
            return (all, cursor);
        }
    }
}

fn genesis(bench: &Bench) -> Value {
    let block = bench.call("eth_getBlockByNumber", r#"["0x0",false]"#);
    json!({"block": "0x0", "index": "0x0", "hash": block["hash"]})
}

fn flashblocks(texts: Vec<String>) -> Vec<String> {
    texts.into_iter().filter(|text| !text.starts_with(r#"{"heartbeat""#)).collect()
}

fn replayed_equals_live(bench: &mut Bench, blocks: u64) {
    let mut streams = Streams::new(bench);
    let mut workload = workload(bench, 8);
    let feed = streams.subscribe(&json!(["foreseal_feed"]));
    while bench.view().latest().number() < blocks {
        step(bench, &mut streams, &mut workload, 2);
    }
    // Stored blocks may leave memory with the next block.
    bench.api.node().drain().unwrap();
    let sealed = bench.view().latest().number();
    while bench.view().latest().number() == sealed {
        step(bench, &mut streams, &mut workload, 2);
    }
    let live = flashblocks(streams.texts(&feed));
    assert!(live.len() as u64 > 5 * blocks);
    for limit in [1, 7, 1_000] {
        let (again, cursor) = replay(bench, genesis(bench), limit);
        // The first step existed before the subscription.
        assert!(again[1..] == live, "byte for byte, {limit} a page");
        assert_eq!(cursor, page(bench, &Value::Null, 1).1);
    }
    // From the middle.
    let from: Value = serde_json::from_str(&live[live.len() / 2]).unwrap();
    let (again, _) = replay(bench, super::cursor(&from), 5);
    assert!(again == live[live.len() / 2 + 1..]);
}

#[test]
fn a_replay_from_genesis_equals_the_live_feed() {
    replayed_equals_live(&mut Bench::new(4), 4);
}

/// Creates a node with two blocks in memory.
fn forgetful() -> Bench {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(4));
    let recent = BlockWindow { blocks: 2, ..BlockWindow::default() };
    let settings = Settings {
        store: StoreSettings { recent, ..StoreSettings::default() },
        finality: FinalityDepth::default(),
        ..settings(datadir.path(), &wallets)
    };
    Bench::open(datadir, settings, wallets, Limits::default())
}

#[test]
fn a_replay_from_the_store_equals_the_live_feed() {
    let mut bench = forgetful();
    replayed_equals_live(&mut bench, 9);
    let old = bench.view().sealed(1).unwrap().unwrap();
    assert!(!old.steps.is_empty() && old.steps.iter().all(|step| step.state.is_none()), "not in memory");
}

#[test]
fn a_page_reader_is_led_back_from_reorged_steps() {
    let mut bench = developing(3, Limits::default());
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 4);
    let mut fill = |bench: &mut Bench| {
        for _ in 0..6 {
            bench.submit(&workload.next_transaction());
            bench.tick();
        }
        bench.seal();
    };
    let mut received: Vec<Value> = Vec::new();
    let genesis = genesis(&bench);
    let mut cursor = genesis.clone();
    for round in 0..6 {
        fill(&mut bench);
        if round % 2 == 1 {
            let (texts, next) = replay(&bench, cursor, 3);
            cursor = next;
            for text in texts {
                let mut message: Value = serde_json::from_str(&text).unwrap();
                if message["removed"] == json!(true) {
                    message["removed"] = json!(false);
                    assert!(received.pop() == Some(message), "the newest first, and as it was");
                } else {
                    assert!(received.last().is_none_or(|last| last["hash"] == message["parent"]));
                    received.push(message);
                }
            }
        }
        if round == 3 {
            bench.api.node().control(|writer| writer.unwind(2)).unwrap();
        }
    }
    let (expected, _) = replay(&bench, genesis, 1_000);
    let expected: Vec<Value> = expected.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert!(received == expected, "{} of {}", received.len(), expected.len());
}

/// Asserts that calls which begin with a view of the chain before an unwind read the newest view, and that the fast
/// path leaves them to the slow one.
fn calls_read_again(bench: &Bench, old: &Arc<View>) {
    let newest = bench.view();
    for (name, params) in [
        ("eth_getBlockByNumber", r#"["0x2",false]"#),
        ("eth_getBlockReceipts", r#"["0x2"]"#),
        ("eth_getBlockTransactionCountByNumber", r#"["0x2"]"#),
        ("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x2"}]"#),
        ("debug_getRawHeader", r#"["0x2"]"#),
        ("debug_traceBlockByNumber", r#"["0x2"]"#),
    ] {
        let row = crate::method(name).unwrap();
        let read = |view| match bench.api.begin(Some(view), row, params.as_bytes()) {
            Ok(Reply::Ready(answer)) => answer,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(read(old), read(&newest), "{name}");
        let attempt = bench.api.attempt(Some(old), row, params.as_bytes());
        assert!(!matches!(attempt, InlineAttempt::Failed(_)), "{name}: {attempt:?}");
    }
}

#[test]
fn a_page_of_an_unwound_view_uses_the_newest_view() {
    let mut bench = forgetful();
    for _ in 0..12 {
        bench.seal();
    }
    bench.api.node().drain().unwrap();
    bench.seal();
    let old = bench.view();
    bench.api.node().control(|writer| writer.unwind(3)).unwrap();
    let params = json!([genesis(&bench), "0x64"]).to_string();
    let page_at =
        |view: &Arc<View>| bench.api.call(Some(view), "foreseal_getFlashblocks", params.as_bytes()).unwrap();
    let error = bench.api.call(Some(&old), "eth_getBlockByNumber", br#"["0x2",false]"#).unwrap_err();
    assert_eq!(error.message, "view no longer available");
    let newest = page_at(&bench.view());
    assert_eq!(page_at(&old), newest);
    calls_read_again(&bench, &old);
    let page: Value = serde_json::from_slice(&newest).unwrap();
    assert_eq!((page["complete"].clone(), page["cursor"]["block"].clone()), (json!(true), json!("0x4")));
}

#[test]
fn pages_end_at_their_limits() {
    let mut bench = Bench::with_limits(1, Limits { flashblocks: 5, ..Limits::default() });
    let begin = page(&bench, &Value::Null, 1).1;
    for _ in 0..40 {
        bench.seal();
    }
    let (by_count, _, complete) = page(&bench, &begin, u64::MAX);
    assert_eq!((by_count.len(), complete), (5, false));
    let limits = Limits { flashblock_bytes: 4_000, ..Limits::default() };
    let mut bench = Bench::with_limits(1, limits);
    let mut workload = workload(&bench, 1);
    let from = page(&bench, &Value::Null, 1).1;
    for _ in 0..4 {
        for _ in 0..8 {
            bench.submit(&workload.next_transaction());
        }
        bench.tick();
    }
    let (by_bytes, ..) = page(&bench, &from, 4);
    assert_eq!(by_bytes.len(), 1, "one is given however large it is: {}", by_bytes[0].len());
    assert!(by_bytes[0].len() > limits.flashblock_bytes);
}

#[test]
fn an_expired_cursor_is_rejected_and_the_oldest_one_named() {
    let mut bench = Bench::new(1);
    let genesis = genesis(&bench);
    bench.seal();
    let unknown = json!({"block": "0x1", "index": "0x1", "hash": format!("{:#066x}", 5)});
    let error = bench.error("foreseal_getFlashblocks", &json!([unknown]).to_string());
    assert_eq!((error.code, data(&error)), (-32001, json!({"oldest": genesis})));
    assert_eq!(bench.call("foreseal_getFlashblocks", &json!([genesis]).to_string())["complete"], json!(true));
}
