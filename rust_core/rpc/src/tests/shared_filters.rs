//! Filters shared by several processes.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use alloy_primitives::B256;
use foreseal_primitives::wire::decode;
use foreseal_testkit::{Fees, TransactionKinds, Workload};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    Bench,
    log_pages::developing,
    processes::{call, changes, read_at_once, try_call},
};
use crate::{
    context::limits::Limits,
    request::api::Api,
    streams::filters::{backend::FilterClient, filter_protocol::FilterRequest},
};

/// Action that runs once, before the next request that advances a filter.
type Before = Box<dyn FnOnce() + Send>;

/// Client of the process that stores the filters.
struct FilterOwner {
    there: Api,
    away: AtomicBool,
    before_move: Mutex<Option<Before>>,
}

impl FilterClient for FilterOwner {
    fn query(&self, request: Vec<u8>) -> Option<Vec<u8>> {
        let moves = matches!(decode(&request), Ok(FilterRequest::Advance { .. }));
        if moves && let Some(before) = self.before_move.lock().take() {
            before();
        }
        if self.away.load(Ordering::Acquire) {
            return None;
        }
        self.there.answer_about_filters(&request)
    }
}

/// Creates another process that serves the same chain.
fn worker(bench: &Bench) -> (Arc<Api>, Arc<FilterOwner>) {
    let limits = Limits::default();
    let owner = Arc::new(FilterOwner {
        there: bench.api.with_limits(limits),
        away: AtomicBool::new(false),
        before_move: Mutex::default(),
    });
    let api = Api::new(bench.api.node().clone(), limits, B256::ZERO).with_filters_at(owner.clone());
    (Arc::new(api), owner)
}

fn filled() -> (Bench, Workload) {
    let bench = developing(4, Limits::default());
    let workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    (bench, workload)
}

fn fill(bench: &mut Bench, workload: &mut Workload) {
    for _ in 0..20 {
        bench.submit(&workload.next_transaction());
    }
    bench.seal();
}

#[test]
fn a_filter_of_one_process_is_polled_at_others() {
    let (mut bench, mut workload) = filled();
    let ((one, _), (two, _)) = (worker(&bench), worker(&bench));
    let logs = call(&one, "eth_newFilter", &json!([{"fromBlock":"0x0","toBlock":"pending"}]));
    let blocks = call(&two, "eth_newBlockFilter", &json!([]));
    let arrivals = call(&one, "eth_newPendingTransactionFilter", &json!([]));
    let (mut found_logs, mut found_blocks, mut found_arrivals, mut sent) = (vec![], vec![], vec![], vec![]);
    for round in 0..6 {
        for _ in 0..8 {
            sent.push(json!(bench.submit(&workload.next_transaction())));
        }
        if round % 3 == 2 {
            bench.seal();
        } else {
            bench.tick();
        }
        let api = [&one, &two, &one, &two][round % 4];
        found_logs.extend(changes(api, &logs));
        found_blocks.extend(changes(api, &blocks));
        found_arrivals.extend(changes(api, &arrivals));
    }
    let all = call(&two, "eth_getLogs", &json!([{"fromBlock":"0x0","toBlock":"pending"}]));
    assert!(!found_logs.is_empty());
    // The hash of a block changes when it is sealed.
    let summary = |log: &Value| json!([log["blockNumber"], log["logIndex"], log["removed"]]);
    let summaries = |logs: &[Value]| logs.iter().map(summary).collect::<Vec<_>>();
    assert_eq!(summaries(&found_logs), summaries(all.as_array().unwrap()));
    assert_eq!(call(&two, "eth_getFilterLogs", &json!([logs])), all);
    assert_eq!(found_blocks.len() as u64, bench.view().latest().number());
    assert_eq!(found_arrivals, sent);
    assert_eq!(call(&two, "eth_uninstallFilter", &json!([logs])), json!(true));
    assert_eq!(call(&one, "eth_uninstallFilter", &json!([logs])), json!(false));
    let error = try_call(&one, "eth_getFilterChanges", &json!([logs])).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32000, "filter not found"));
}

/// One process reads the filter, another one advances it first, and the first one's `Move` comes too late.
#[test]
fn a_page_of_another_process_is_not_returned_again() {
    let (mut bench, mut workload) = filled();
    let ((one, owner), (two, _)) = (worker(&bench), worker(&bench));
    let id = call(&one, "eth_newFilter", &json!([{"fromBlock":"0x0"}]));
    fill(&mut bench, &mut workload);
    let all = call(&one, "eth_getLogs", &json!([{"fromBlock":"0x0"}])).as_array().unwrap().clone();
    let returned = Arc::new(Mutex::new(Vec::new()));
    let (there, wanted) = (returned.clone(), id.clone());
    *owner.before_move.lock() = Some(Box::new(move || *there.lock() = changes(&two, &wanted)));
    let late = changes(&one, &id);
    assert_eq!((returned.lock().clone(), late), (all, vec![]));
    assert!(owner.before_move.lock().is_none());
}

/// The page contains the logs of the old chain; the next one removes the reorged ones.
#[test]
fn a_reorg_during_a_page_is_reported_by_the_next() {
    let (mut bench, mut workload) = filled();
    let (one, owner) = worker(&bench);
    let id = call(&one, "eth_newFilter", &json!([{"fromBlock":"0x0"}]));
    fill(&mut bench, &mut workload);
    let node = bench.api.node().clone();
    let reorg = move || node.develop(|development| development.reorg(&[Vec::new()])).unwrap();
    *owner.before_move.lock() = Some(Box::new(reorg));
    let (returned, removed) = (changes(&one, &id), changes(&one, &id));
    assert!(owner.before_move.lock().is_none());
    assert!(!removed.is_empty() && removed.iter().all(|log| log["removed"] == json!(true)));
    let name = |log: &Value| json!([log["blockHash"], log["logIndex"]]);
    let removed_names: Vec<_> = removed.iter().map(name).collect();
    let left: Vec<_> = returned.into_iter().filter(|log| !removed_names.contains(&name(log))).collect();
    assert_eq!(json!(left), call(&one, "eth_getLogs", &json!([{"fromBlock":"0x0"}])));
}

#[test]
fn concurrent_polls_return_every_log_once() {
    let (mut bench, mut workload) = filled();
    let workers = [worker(&bench).0, worker(&bench).0];
    read_at_once(&mut bench, [&workers[0], &workers[1]], |bench| {
        for _ in 0..8 {
            fill(bench, &mut workload);
        }
    });
}

#[test]
fn filters_lose_nothing_while_the_sequencer_is_away() {
    let mut bench = Bench::new(1);
    let (api, owner) = worker(&bench);
    let id = call(&api, "eth_newPendingTransactionFilter", &json!([]));
    let hash = bench.submit(&bench.wallets[0].transfer(0, bench.wallets[0].address, 1, Fees::default()));
    owner.away.store(true, Ordering::Release);
    for method in ["eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter"] {
        let error = try_call(&api, method, &json!([id])).unwrap_err();
        assert_eq!((error.code, error.message.contains("not reachable")), (-32002, true));
    }
    assert_eq!(try_call(&api, "eth_newBlockFilter", &json!([])).unwrap_err().code, -32002);
    bench.tick();
    owner.away.store(false, Ordering::Release);
    assert_eq!(changes(&api, &id), [json!(hash)]);
    assert!(api.answer_about_filters(&[0xc0]).is_none(), "the filters are elsewhere");
    assert!(bench.api.answer_about_filters(&[0xc0]).is_none(), "that is no question");
}
