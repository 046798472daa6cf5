//! Filters that a client creates and polls.

use std::time::Duration;

use foreseal_testkit::{Contract, Fees, TransactionKinds, Workload};
use serde_json::{Value, json};

use super::{Bench, data, log_pages::developing};
use crate::context::limits::Limits;

fn make(bench: &Bench, method: &str, params: &Value) -> String {
    bench.call(method, &params.to_string()).as_str().unwrap().to_owned()
}

fn changes(bench: &Bench, id: &str) -> Vec<Value> {
    bench.call("eth_getFilterChanges", &json!([id]).to_string()).as_array().unwrap().clone()
}

fn wait(bench: &Bench, time: Duration) {
    bench.clock.advance(time);
}

fn removed(logs: &[Value]) -> Vec<bool> {
    logs.iter().map(|log| log["removed"].as_bool().unwrap()).collect()
}

#[test]
fn a_log_filter_returns_new_logs_and_marks_removed_ones() {
    let mut bench = developing(4, Limits::default());
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    let mut fill = |bench: &mut Bench| {
        for _ in 0..30 {
            bench.submit(&workload.next_transaction());
        }
        bench.seal();
    };
    fill(&mut bench);
    let sealed = make(&bench, "eth_newFilter", &json!([{"fromBlock":"0x0"}]));
    let pending = make(&bench, "eth_newFilter", &json!([{"fromBlock":"0x0","toBlock":"pending"}]));
    assert_eq!(changes(&bench, &sealed), Vec::<Value>::new(), "what was there before is not new");
    assert_eq!(changes(&bench, &pending), Vec::<Value>::new());
    fill(&mut bench);
    let second = bench.call("eth_getLogs", r#"[{"fromBlock":"0x2","toBlock":"0x2"}]"#);
    assert!(second.as_array().unwrap().len() > 2);
    assert_eq!(Value::Array(changes(&bench, &sealed)), second);
    assert_eq!(changes(&bench, &sealed), Vec::<Value>::new(), "nothing occurs twice");
    assert_eq!(Value::Array(changes(&bench, &pending)), second);
    let all_logs = bench.call("eth_getLogs", r#"[{"fromBlock":"0x0"}]"#);
    assert_eq!(bench.call("eth_getFilterLogs", &json!([sealed]).to_string()), all_logs);

    bench.api.node().control(|writer| writer.unwind(1)).unwrap();
    let back = changes(&bench, &sealed);
    let mut reverted = second.as_array().unwrap().clone();
    reverted.reverse();
    assert_eq!(removed(&back), vec![true; reverted.len()]);
    for (back, reverted) in back.iter().zip(&reverted) {
        for field in ["address", "topics", "data", "blockHash", "transactionHash", "logIndex"] {
            assert_eq!(back[field], reverted[field]);
        }
    }
    // The transactions execute again at once: up to `pending`, their logs reappear after the removed ones.
    let again = changes(&bench, &pending);
    let current = again.iter().filter(|log| log["removed"] == json!(false)).count();
    assert_eq!(removed(&again)[..reverted.len()], vec![true; reverted.len()]);
    assert_eq!((current > 0, again.len()), (true, reverted.len() + current));
}

#[test]
fn a_large_change_is_returned_in_portions() {
    let mut bench = Bench::with_limits(4, Limits { logs: 3, ..Limits::default() });
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 5);
    let id = make(&bench, "eth_newFilter", &json!([{"fromBlock":"0x1"}]));
    for _ in 0..25 {
        bench.submit(&workload.next_transaction());
    }
    bench.seal();
    let all_logs = bench.call("eth_getLogs", r#"[{"fromBlock":"0x1","toBlock":"0x1"}]"#);
    let (mut logs, mut pages) = (Vec::new(), 0);
    loop {
        let page = changes(&bench, &id);
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        pages += 1;
        logs.extend(page);
    }
    assert!(pages > 1);
    assert_eq!(Value::Array(logs), all_logs);
}

#[test]
fn a_block_filter_returns_new_blocks_also_after_a_reorg() {
    let mut bench = developing(2, Limits::default());
    bench.seal();
    let id = make(&bench, "eth_newBlockFilter", &json!([]));
    assert_eq!(changes(&bench, &id), Vec::<Value>::new());
    let hash = |bench: &Bench, number: u64| {
        bench.call("eth_getBlockByNumber", &json!([format!("{number:#x}"), false]).to_string())["hash"]
            .clone()
    };
    for _ in 0..3 {
        bench.seal();
    }
    let expected =
        |bench: &Bench, from: u64, to: u64| (from..=to).map(|n| hash(bench, n)).collect::<Vec<_>>();
    assert_eq!(changes(&bench, &id), expected(&bench, 2, 4));
    bench.tick();
    assert_eq!(changes(&bench, &id), Vec::<Value>::new(), "a step is no block");
    bench.api.node().develop(|development| development.reorg(&[Vec::new(), Vec::new()])).unwrap();
    assert_eq!(changes(&bench, &id), expected(&bench, 3, 4));
    bench.api.node().control(|writer| writer.unwind(2)).unwrap();
    assert_eq!(changes(&bench, &id), Vec::<Value>::new());
    bench.seal();
    assert_eq!(changes(&bench, &id), expected(&bench, 3, 3));
}

#[test]
fn a_pending_filter_misses_no_transaction_executed_between_polls() {
    let mut bench = Bench::new(2);
    let id = make(&bench, "eth_newPendingTransactionFilter", &json!([]));
    let mut sent = Vec::new();
    for nonce in 0..6 {
        let raw = bench.wallets[0].transfer(nonce, bench.wallets[1].address, 7, Fees::default());
        sent.push(json!(bench.submit(&raw)));
        bench.tick();
        if nonce == 2 {
            assert_eq!(changes(&bench, &id), sent);
            sent.clear();
            bench.seal();
        }
    }
    assert_eq!(bench.api.node().pool().counts().pooled, 0, "none is in the pool any more");
    assert_eq!(changes(&bench, &id), sent);
    assert_eq!(changes(&bench, &id), Vec::<Value>::new());
}

#[test]
fn an_idle_or_uninstalled_filter_is_removed() {
    let bench = Bench::new(1);
    let not_found = |id: &str| {
        for method in ["eth_getFilterChanges", "eth_getFilterLogs"] {
            let error = bench.error(method, &json!([id]).to_string());
            assert_eq!((error.code, error.message.as_str()), (-32000, "filter not found"));
        }
        assert_eq!(bench.call("eth_uninstallFilter", &json!([id]).to_string()), json!(false));
    };
    not_found("0x1");
    let id = make(&bench, "eth_newBlockFilter", &json!([]));
    let error = bench.error("eth_getFilterLogs", &json!([id]).to_string());
    assert_eq!(error.message, "filter not found", "it has no logs");
    assert_eq!(bench.call("eth_uninstallFilter", &json!([id]).to_string()), json!(true));
    not_found(&id);

    let (polled, forgotten) = (
        make(&bench, "eth_newBlockFilter", &json!([])),
        make(&bench, "eth_newFilter", &json!([{"address":Contract::Erc20.address()}])),
    );
    assert_ne!(polled, forgotten);
    wait(&bench, Duration::from_secs(299));
    changes(&bench, &polled);
    wait(&bench, Duration::from_secs(1));
    not_found(&forgotten);
    changes(&bench, &polled);
}

#[test]
fn the_number_of_filters_is_limited() {
    let bench = Bench::with_limits(1, Limits { filters: 2, ..Limits::default() });
    let first = make(&bench, "eth_newBlockFilter", &json!([]));
    make(&bench, "eth_newPendingTransactionFilter", &json!([]));
    let error = bench.error("eth_newFilter", "[{}]");
    assert_eq!((error.code, data(&error)), (-32005, json!({"limit":"filters","max":2})));
    bench.call("eth_uninstallFilter", &json!([first]).to_string());
    make(&bench, "eth_newFilter", &json!([{}]));
}
