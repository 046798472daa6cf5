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
    processes::{ask, changes, read_at_once, try_ask},
};
use crate::{Api, FilterClient, Limits, filters::filter_protocol::FilterRequest};

/// Action that runs once, before the next request that advances a filter.
type Before = Box<dyn FnOnce() + Send>;

/// Client of the process that stores the filters.
struct Keeper {
    there: Api,
    away: AtomicBool,
    before_move: Mutex<Option<Before>>,
}

impl FilterClient for Keeper {
    fn query(&self, question: Vec<u8>) -> Option<Vec<u8>> {
        let moves = matches!(decode(&question), Ok(FilterRequest::Advance { .. }));
        if moves && let Some(before) = self.before_move.lock().take() {
            before();
        }
        if self.away.load(Ordering::Acquire) {
            return None;
        }
        self.there.answer_about_filters(&question)
    }
}

/// Creates another process that serves the same chain.
fn worker(bench: &Bench) -> (Arc<Api>, Arc<Keeper>) {
    let limits = Limits::default();
    let keeper = Arc::new(Keeper {
        there: bench.api.with_limits(limits),
        away: AtomicBool::new(false),
        before_move: Mutex::default(),
    });
    let api = Api::new(bench.api.node().clone(), limits, B256::ZERO).with_filters_at(keeper.clone());
    (Arc::new(api), keeper)
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
    let logs = ask(&one, "eth_newFilter", &json!([{"fromBlock":"0x0","toBlock":"pending"}]));
    let blocks = ask(&two, "eth_newBlockFilter", &json!([]));
    let arrivals = ask(&one, "eth_newPendingTransactionFilter", &json!([]));
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
    let all = ask(&two, "eth_getLogs", &json!([{"fromBlock":"0x0","toBlock":"pending"}]));
    assert!(!found_logs.is_empty());
    // The hash of a block changes when it is sealed.
    let place = |log: &Value| json!([log["blockNumber"], log["logIndex"], log["removed"]]);
    let places = |logs: &[Value]| logs.iter().map(place).collect::<Vec<_>>();
    assert_eq!(places(&found_logs), places(all.as_array().unwrap()));
    assert_eq!(ask(&two, "eth_getFilterLogs", &json!([logs])), all);
    assert_eq!(found_blocks.len() as u64, bench.view().latest().number());
    assert_eq!(found_arrivals, sent);
    assert_eq!(ask(&two, "eth_uninstallFilter", &json!([logs])), json!(true));
    assert_eq!(ask(&one, "eth_uninstallFilter", &json!([logs])), json!(false));
    let error = try_ask(&one, "eth_getFilterChanges", &json!([logs])).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (-32000, "filter not found"));
}

/// One process reads the filter, another one advances it first, and the first one's `Move` comes too late.
#[test]
fn a_page_of_another_process_is_not_returned_again() {
    let (mut bench, mut workload) = filled();
    let ((one, keeper), (two, _)) = (worker(&bench), worker(&bench));
    let id = ask(&one, "eth_newFilter", &json!([{"fromBlock":"0x0"}]));
    fill(&mut bench, &mut workload);
    let all = ask(&one, "eth_getLogs", &json!([{"fromBlock":"0x0"}])).as_array().unwrap().clone();
    let given = Arc::new(Mutex::new(Vec::new()));
    let (there, wanted) = (given.clone(), id.clone());
    *keeper.before_move.lock() = Some(Box::new(move || *there.lock() = changes(&two, &wanted)));
    let late = changes(&one, &id);
    assert_eq!((given.lock().clone(), late), (all, vec![]));
    assert!(keeper.before_move.lock().is_none());
}

/// The page contains the logs of the old chain; the next one removes the reorged ones.
#[test]
fn a_reorg_during_a_page_is_reported_by_the_next() {
    let (mut bench, mut workload) = filled();
    let (one, keeper) = worker(&bench);
    let id = ask(&one, "eth_newFilter", &json!([{"fromBlock":"0x0"}]));
    fill(&mut bench, &mut workload);
    let node = bench.api.node().clone();
    let reorganise = move || node.control(|writer| writer.reorg(&[Vec::new()])).unwrap();
    *keeper.before_move.lock() = Some(Box::new(reorganise));
    let (given, taken_back) = (changes(&one, &id), changes(&one, &id));
    assert!(keeper.before_move.lock().is_none());
    assert!(!taken_back.is_empty() && taken_back.iter().all(|log| log["removed"] == json!(true)));
    let name = |log: &Value| json!([log["blockHash"], log["logIndex"]]);
    let gone: Vec<_> = taken_back.iter().map(name).collect();
    let left: Vec<_> = given.into_iter().filter(|log| !gone.contains(&name(log))).collect();
    assert_eq!(json!(left), ask(&one, "eth_getLogs", &json!([{"fromBlock":"0x0"}])));
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
    let (api, keeper) = worker(&bench);
    let id = ask(&api, "eth_newPendingTransactionFilter", &json!([]));
    let hash = bench.submit(&bench.wallets[0].transfer(0, bench.wallets[0].address, 1, Fees::default()));
    keeper.away.store(true, Ordering::Release);
    for method in ["eth_getFilterChanges", "eth_getFilterLogs", "eth_uninstallFilter"] {
        let error = try_ask(&api, method, &json!([id])).unwrap_err();
        assert_eq!((error.code, error.message.contains("not reachable")), (-32002, true));
    }
    assert_eq!(try_ask(&api, "eth_newBlockFilter", &json!([])).unwrap_err().code, -32002);
    bench.tick();
    keeper.away.store(false, Ordering::Release);
    assert_eq!(changes(&api, &id), [json!(hash)]);
    assert!(api.answer_about_filters(&[0xc0]).is_none(), "the filters are elsewhere");
    assert!(bench.api.answer_about_filters(&[0xc0]).is_none(), "that is no question");
}
