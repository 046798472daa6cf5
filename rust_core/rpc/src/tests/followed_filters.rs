//! Filters through followers: created at one, polled at any of them, also concurrently.

use std::collections::BTreeSet;

use foreseal_node::{Development, Role, Settings};
use foreseal_replication::Phase;
use foreseal_testkit::{TransactionKinds, Wallet, Workload, wait_for};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};

use super::{
    Bench,
    processes::{call, changes, follower, read_at_once, try_call},
    settings,
};
use crate::{context::limits::Limits, request::api::Api};

/// Starts a sequencer and `count` followers.
fn followed(count: usize) -> (Bench, Vec<Api>) {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(4));
    let feed = datadir.path().join("feed.sock");
    let settings = settings(datadir.path(), &wallets);
    let role = Role::Sequencer { feed: Some(feed.clone()) };
    let development = Some(Development { snapshots: 10, mined: 5, ..Development::default() });
    let sequencer = Settings { role, development, ..settings.clone() };
    let bench = Bench::open(datadir, sequencer, wallets, Limits::default());
    let follow = |index: usize| follower(&bench, &settings, &feed, &format!("worker-{index}"));
    let followers: Vec<_> = (0..count).map(follow).collect();
    for api in &followers {
        wait_for("it follows", || api.node().status().phase == Phase::Following);
    }
    (bench, followers)
}

fn key(log: &Value) -> String {
    format!("{} {}", log["transactionHash"], log["logIndex"])
}

/// A client whose calls reach different followers receives exactly the logs of the chain, across unwinds too.
#[test]
fn a_client_polling_alternate_processes_gets_everything_once() {
    let (mut bench, followers) = followed(3);
    let mut random = StdRng::seed_from_u64(5);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    let logs = call(&followers[0], "eth_newFilter", &json!([{"fromBlock":"0x0","toBlock":"pending"}]));
    let blocks = call(&followers[1], "eth_newBlockFilter", &json!([]));
    let arrivals = call(&followers[2], "eth_newPendingTransactionFilter", &json!([]));
    let before = bench.api.node().pool().next_pending_sequence();
    let (mut present, mut returned, mut removed) = (BTreeSet::new(), Vec::new(), 0);
    let (mut arrived, mut sealed): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    for round in 0..120 {
        for _ in 0..random.random_range(0..4) {
            let _ = bench.api.node().submit(&workload.next_transaction());
        }
        bench.tick();
        if round % 24 == 23 {
            let height = bench.view().latest().number();
            bench.api.node().control(|writer| writer.unwind(height.saturating_sub(1))).unwrap();
        }
        let mut api = || &followers[random.random_range(0..followers.len())];
        returned.extend(changes(api(), &logs));
        sealed.extend(changes(api(), &blocks));
        arrived.extend(changes(api(), &arrivals));
    }
    // The last poll may have reached a follower that was one step behind.
    wait_for("the rest comes", || {
        let all = followers[0].node().view().unwrap().cursor() == bench.view().cursor();
        returned.extend(changes(&followers[0], &logs));
        sealed.extend(changes(&followers[0], &blocks));
        all
    });
    for log in returned {
        if log["removed"] == json!(true) {
            removed += 1;
            assert!(present.remove(&key(&log)), "{log} was never given");
        } else {
            assert!(present.insert(key(&log)), "{log} was given before");
        }
    }
    let now = call(&bench.api, "eth_getLogs", &json!([{"fromBlock":"0x0","toBlock":"pending"}]));
    let now: BTreeSet<_> = now.as_array().unwrap().iter().map(key).collect();
    assert_eq!((present, removed > 0, now.len() > 20), (now, true, true));
    let entered = bench.api.node().pool().pending_hashes_since(before, usize::MAX).transactions;
    assert_eq!(arrived, entered.iter().map(|hash| json!(hash)).collect::<Vec<_>>());
    for number in 1..=bench.view().latest().number() {
        let block = call(&bench.api, "eth_getBlockByNumber", &json!([format!("{number:#x}"), false]));
        assert_eq!(sealed.iter().filter(|hash| **hash == block["hash"]).count(), 1, "block {number}");
    }
}

#[test]
fn concurrent_polls_of_followers_return_everything_once() {
    let (mut bench, followers) = followed(2);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    read_at_once(&mut bench, [&followers[0], &followers[1]], |bench| {
        for _ in 0..6 {
            for _ in 0..20 {
                bench.submit(&workload.next_transaction());
            }
            bench.seal();
        }
        let cursor = bench.view().cursor();
        let there = || followers.iter().all(|api| api.node().view().unwrap().cursor() == cursor);
        wait_for("they have all of it", there);
    });
}

#[test]
fn followers_serve_a_sequencer_filter_until_the_sequencer_stops() {
    let (mut bench, followers) = followed(1);
    let id = call(&bench.api, "eth_newBlockFilter", &json!([]));
    bench.seal();
    let cursor = bench.view().cursor();
    wait_for("it has the block", || followers[0].node().view().unwrap().cursor() == cursor);
    assert_eq!(changes(&followers[0], &id).len(), 1);
    assert_eq!(changes(&bench.api, &id), Vec::<Value>::new());
    bench.api.node().stop();
    wait_for("it notices", || matches!(followers[0].node().status().phase, Phase::Disconnected(_)));
    let error = try_call(&followers[0], "eth_getFilterChanges", &json!([id])).unwrap_err();
    let message = "the sequencer is not reachable: filters wait until it is back";
    assert_eq!((error.code, error.message.as_str()), (-32002, message));
}
