//! A follower returns the same results as its sequencer, byte for byte, at every step.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use alloy_primitives::{Address, U256};
use foreseal_chain::View;
use foreseal_node::{Development, Node, Role, Settings};
use foreseal_primitives::{Change, Override};
use foreseal_replication::Phase;
use foreseal_testkit::{Fees, MAX_WAIT, TransactionKinds, Wallet, Workload, wait_for};
use serde_json::{Value, json};

use super::{Bench, data, pending::queries, processes::follower, raw_params, settings};
use crate::{
    context::limits::Limits,
    errors::rpc_error::RpcError,
    methods::method::Access,
    request::{api::Api, table::method},
    streams::wait::Reply,
};

/// Sequencer with a clock that the test controls, and its follower.
struct Pair {
    bench: Bench,
    follower: Api,
}

impl Pair {
    fn new(wallets: u64, development: Option<Development>) -> Self {
        let datadir = tempfile::tempdir().unwrap();
        let wallets = Wallet::some(wallets);
        let feed = datadir.path().join("feed.sock");
        let settings = settings(datadir.path(), &wallets);
        let role = Role::Sequencer { feed: Some(feed.clone()) };
        let sequencer = Settings { role, development, ..settings.clone() };
        let bench = Bench::open(datadir, sequencer, wallets, Limits::default());
        let follower = follower(&bench, &settings, &feed, "one");
        Self { bench, follower }
    }

    /// Returns the follower's view once the view and the pool match those of the sequencer.
    fn caught_up(&self) -> Arc<View> {
        let (wanted, node) = (self.bench.view(), self.follower.node());
        let pooled = |node: &Node| node.pool().all().iter().map(|one| one.hash()).collect::<Vec<_>>();
        let sequencer = self.bench.api.node();
        wait_for("the follower is up to date", || {
            node.status().phase == Phase::Following
                && node.view().is_some_and(|view| view.cursor() == wanted.cursor())
                && pooled(node) == pooled(sequencer)
        });
        node.view().unwrap()
    }

    /// Calls both about the pending block, by tag or number. Returns the results, which must be equal.
    fn compare(&self, tag: &str) -> Vec<String> {
        let theirs = self.caught_up();
        let ours = self.bench.view();
        let mut queries = queries(&self.bench.wallets, &ours);
        // A follower rejects these methods for any chain.
        queries.retain(|(name, _)| method(name).is_some_and(|row| row.access == Access::Everyone));
        let run_call = |api: &Api, view: &Arc<View>, (method, params): &(&str, String)| match api.call(
            Some(view),
            method,
            params.replace("TAG", tag).as_bytes(),
        ) {
            Ok(json) => format!("{method} {params}: {}", String::from_utf8_lossy(&json)),
            Err(error) => format!("{method} {params}: {error:?}"),
        };
        let answer = |query| {
            let answer = run_call(&self.bench.api, &ours, query);
            assert_eq!(run_call(&self.follower, &theirs, query), answer);
            answer
        };
        queries.iter().map(answer).collect()
    }
}

/// Calls a method that may have to wait, like the worker pool.
fn call(api: &Api, name: &str, params: &str) -> Result<Value, RpcError> {
    let (row, node) = (method(name).unwrap(), api.node());
    let begun = match api.begin(node.view().as_ref(), row, params.as_bytes())? {
        Reply::Verification(pending) => api.verify(row, *pending)?,
        begun => begun,
    };
    let wait = match begun {
        Reply::Ready(answer) => return Ok(serde_json::from_slice(&answer).unwrap()),
        Reply::Later(wait) => wait,
        Reply::Verification(_) => unreachable!("it is verified"),
    };
    let end = Instant::now() + MAX_WAIT;
    loop {
        let seen = node.changes().count();
        if let Some(answer) = api.poll(row, &wait)? {
            return Ok(serde_json::from_slice(&answer).unwrap());
        }
        assert!(Instant::now() < end, "{name} has no answer within {MAX_WAIT:?}");
        node.changes().wait(seen, Duration::from_secs(1));
    }
}

/// Invariants 3 and 4 of the view, through a follower: results at each step equal the sequencer's, and those
/// of the last step equal those of the sealed block.
#[test]
fn pending_equals_sealed_through_a_follower() {
    let mut pair = Pair::new(6, None);
    let mut workload = Workload::new(pair.bench.wallets.clone(), TransactionKinds::WithoutBlobs, 5);
    let mut compared = 0;
    for block in 0..24 {
        for tick in 0..3 {
            for _ in 0..(block + tick) % 5 {
                pair.bench.submit(&workload.next_transaction());
            }
            if block % 8 == 0 && tick == 1 {
                pair.bench.submit(&workload.next_blob());
            }
            pair.bench.tick();
            compared += pair.compare("\"pending\"").len();
        }
        while pair.bench.api.node().pool().counts().pooled > 0 {
            pair.bench.tick();
        }
        let number = pair.bench.view().pending().number();
        let before = pair.compare("\"pending\"");
        let mut selected = queries(&pair.bench.wallets, &pair.bench.view());
        selected.retain(|(name, _)| method(name).is_some_and(|row| row.access == Access::Everyone));
        pair.bench.seal();
        let view = pair.caught_up();
        for ((method, params), before) in selected.iter().zip(before) {
            let named = params.replace("TAG", &format!("\"{number:#x}\""));
            let after = match pair.follower.call(Some(&view), method, named.as_bytes()) {
                Ok(json) => format!("{method} {params}: {}", String::from_utf8_lossy(&json)),
                Err(error) => format!("{method} {params}: {error:?}"),
            };
            assert_eq!(after, before);
        }
    }
    println!("{compared} answers of a follower compared with the sequencer's");
}

#[test]
fn follower_and_sequencer_agree_over_unwinds_reorgs_and_overrides() {
    let mut pair = Pair::new(3, Some(Development::default()));
    let mut workload = Workload::new(pair.bench.wallets.clone(), TransactionKinds::WithoutBlobs, 7);
    for round in 0..24_u64 {
        for _ in 0..3 {
            // After an unwind or an override the pool may reject it.
            let _ = pair.bench.api.node().submit(&workload.next_transaction());
        }
        pair.bench.tick();
        let node = pair.bench.api.node().clone();
        let height = pair.bench.view().latest().number();
        match round % 6 {
            1 => pair.bench.seal(),
            2 => node.develop(|development| development.mine(4, None)).unwrap(),
            3 => node.control(|writer| writer.unwind(height.saturating_sub(2))).unwrap(),
            4 => {
                let change = Change::Balance(U256::from(round));
                node.develop(|development| development.write(&Override { address: Address::ZERO, change }))
                    .unwrap();
            }
            5 => node.develop(|development| development.reorg(&[Vec::new(), Vec::new()])).unwrap(),
            _ => {}
        }
        pair.compare("\"pending\"");
        pair.compare("\"latest\"");
    }
}

/// A submission through a follower has the same result as at the sequencer, and the follower has the
/// transaction by then.
#[test]
fn a_submission_returns_once_the_follower_has_it() {
    let mut pair = Pair::new(3, None);
    pair.caught_up();
    let wallet = pair.bench.wallets[0].clone();
    let transfer = |nonce| wallet.transfer(nonce, wallet.address, 1, Fees::default());
    let count = |pair: &Pair| {
        let params = format!("[\"{}\",\"pending\"]", wallet.address);
        call(&pair.follower, "eth_getTransactionCount", &params).unwrap()
    };
    for nonce in 0..200_u64 {
        let raw = transfer(nonce);
        let hash = call(&pair.follower, "eth_sendRawTransaction", &raw_params(&raw)).unwrap();
        assert_eq!(count(&pair), json!(format!("{:#x}", nonce + 1)));
        let status = call(&pair.follower, "foreseal_transactionStatus", &format!("[{hash}]")).unwrap();
        assert_ne!(status["status"], json!("unknown"));
        if nonce % 7 == 0 {
            pair.bench.tick();
        }
    }
    pair.bench.tick();
    pair.caught_up();
    let poor = Wallet::numbered(99);
    let rejected = [
        transfer(199),
        transfer(3),
        poor.transfer(0, wallet.address, 1, Fees::default()),
        wallet.set_code(3, &poor, 0, wallet.address),
        poor.set_code(0, &poor, 1, wallet.address),
    ];
    let mut messages = BTreeSet::new();
    for raw in &rejected {
        let ours = pair.bench.error("eth_sendRawTransaction", &raw_params(raw));
        let theirs = call(&pair.follower, "eth_sendRawTransaction", &raw_params(raw)).unwrap_err();
        assert_eq!(theirs, ours);
        messages.insert(ours.message);
    }
    assert!(messages.contains("nonce too low"), "{messages:?}");
    let list = wallet.set_code(200, &poor, 0, wallet.address);
    let hash = call(&pair.follower, "eth_sendRawTransaction", &raw_params(&list)).unwrap();
    let pooled = pair.bench.api.node().pool().get(&hash.as_str().unwrap().parse().unwrap()).unwrap();
    assert_eq!(pooled.transaction().authorities(), [Some(poor.address)]);
    let gap = call(&pair.follower, "eth_sendRawTransactionSync", &raw_params(&transfer(300))).unwrap_err();
    assert_eq!((gap.code, data(&gap)), (6, json!("0xc9")));
    let again = call(&pair.follower, "eth_sendRawTransactionSync", &raw_params(&transfer(0))).unwrap();
    assert_eq!(again["status"], json!("0x1"), "the receipt as the view has it");
}

#[test]
fn a_follower_waits_for_a_receipt_on_its_own_views() {
    let mut pair = Pair::new(2, None);
    pair.caught_up();
    let wallet = pair.bench.wallets[0].clone();
    let raw = wallet.transfer(0, wallet.address, 1, Fees::default());
    let row = method("eth_sendRawTransactionSync").unwrap();
    let node = pair.follower.node().clone();
    let begun = pair.follower.begin(node.view().as_ref(), row, raw_params(&raw).as_bytes()).unwrap();
    let Reply::Later(wait) = begun else { panic!("{begun:?}") };
    wait_for("the answer came", || node.answers() == 1);
    assert!(pair.follower.poll(row, &wait).unwrap().is_none(), "pooled only");
    pair.bench.tick();
    pair.caught_up();
    let receipt: Value = serde_json::from_slice(&pair.follower.poll(row, &wait).unwrap().unwrap()).unwrap();
    assert_eq!(receipt["status"], json!("0x1"));
}

#[test]
fn without_the_sequencer_submissions_fail_and_reads_continue() {
    let pair = Pair::new(2, None);
    let view = pair.caught_up();
    let Pair { bench, follower } = pair;
    let wallet = bench.wallets[0].clone();
    bench.api.node().stop();
    wait_for("it notices", || matches!(follower.node().status().phase, Phase::Disconnected(_)));
    let raw = wallet.transfer(0, wallet.address, 1, Fees::default());
    for name in ["eth_sendRawTransaction", "eth_sendRawTransactionSync"] {
        let error = call(&follower, name, &raw_params(&raw)).unwrap_err();
        let message = "the sequencer is not reachable: no transactions are accepted until it is back";
        assert_eq!((error.code, error.message.as_str()), (-32002, message));
    }
    assert_eq!(call(&follower, "eth_blockNumber", "[]").unwrap(), json!("0x0"));
    assert_eq!(follower.node().view().unwrap().cursor(), view.cursor());
    let status = call(&follower, "foreseal_status", "[]").unwrap();
    assert_eq!((&status["role"], &status["phase"]), (&json!("follower"), &json!("disconnected")));
}

/// Concurrent reads: a submitted transaction is always in the follower's pool or view.
#[test]
fn a_transaction_is_always_in_a_followers_pool_or_view() {
    let mut pair = Pair::new(4, None);
    pair.caught_up();
    let (submitted, over) = (Mutex::new(Vec::<Value>::new()), AtomicBool::new(false));
    let mut workload = Workload::new(pair.bench.wallets.clone(), TransactionKinds::Transfers, 11);
    let polls = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let follower = &pair.follower;
        let poller = scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                let hashes = submitted.lock().unwrap().iter().rev().take(8).cloned().collect::<Vec<_>>();
                for hash in hashes {
                    let status = call(follower, "foreseal_transactionStatus", &format!("[{hash}]")).unwrap();
                    let before = polls.fetch_add(1, Ordering::AcqRel);
                    assert_ne!(status["status"], json!("unknown"), "after {before} polls");
                }
            }
        });
        for round in 0..400 {
            for _ in 0..round % 4 {
                let raw = workload.next_transaction();
                let hash = call(follower, "eth_sendRawTransaction", &raw_params(&raw)).unwrap();
                submitted.lock().unwrap().push(hash);
            }
            pair.bench.clock.advance(Duration::from_millis(200));
            let now = foreseal_chain::Clock::now(&*pair.bench.clock);
            pair.bench.producer.as_mut().unwrap().tick(now, &mut || true).unwrap();
        }
        while polls.load(Ordering::Acquire) == 0 && !poller.is_finished() {
            std::thread::yield_now();
        }
        over.store(true, Ordering::Release);
        poller.join().unwrap();
    });
    assert!(polls.into_inner() > 0);
}
