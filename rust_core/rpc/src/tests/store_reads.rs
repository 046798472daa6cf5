//! Pending equals sealed equals stored; and a view that an unwind makes unavailable reports so, or returns
//! the same results as before.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use foreseal_chain::{BlockWindow, Clock, FinalityDepth, View};
use foreseal_node::{Settings, StoreSettings};
use foreseal_testkit::{TransactionKinds, Wallet, Workload, wait_for};

use super::{
    Bench,
    pending::{answers, queries},
    settings,
};
use crate::{context::limits::Limits, errors::rpc_error::RpcError};

/// Number of blocks that stay in memory.
const RECENT: u64 = 3;
const BLOCKS: u64 = 16;
/// Methods that accept a step by its hash (EIP-1898) and do not read the pool.
const AT_STEPS: [&str; 7] = [
    "eth_getBalance",
    "eth_getCode",
    "eth_getStorageAt",
    "eth_getProof",
    "eth_call",
    "eth_estimateGas",
    "eth_createAccessList",
];

type Queries = Vec<(&'static str, String)>;

/// Starts a node that stores few blocks in memory.
fn start() -> (Bench, Workload) {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(4));
    let recent = BlockWindow { blocks: usize::try_from(RECENT).unwrap(), ..BlockWindow::default() };
    let settings = Settings {
        store: StoreSettings { recent, ..StoreSettings::default() },
        finality: FinalityDepth::default(),
        ..settings(datadir.path(), &wallets)
    };
    let workload = Workload::new(wallets.clone(), TransactionKinds::WithoutBlobs, 23);
    (Bench::open(datadir, settings, wallets, Limits::default()), workload)
}

/// Fills the pending block in several steps until the pool is empty. Returns the view at the step before the
/// last one.
fn fill(bench: &mut Bench, workload: &mut Workload, block: u64) -> Arc<View> {
    for round in 0..3 {
        for _ in 0..=(block + round) % 4 {
            bench.submit(&workload.next_transaction());
        }
        if block.is_multiple_of(9) && round == 1 {
            bench.submit(&workload.next_blob());
        }
        bench.tick();
    }
    while bench.api.node().pool().counts().pooled > 0 {
        bench.tick();
    }
    let before = bench.view();
    bench.submit(&workload.next_transaction());
    bench.tick();
    before
}

/// Returns `true` if a block is read from the store. A block in memory has the states of its steps.
fn is_stored(view: &View, number: u64) -> bool {
    let block = view.sealed(number).unwrap().unwrap();
    !block.steps.is_empty() && block.steps.iter().all(|step| step.state.is_none())
}

#[test]
fn results_from_the_store_equal_those_of_the_pending_block() {
    let (mut bench, mut workload) = start();
    let mut recorded: Vec<(u64, Queries, Vec<String>)> = Vec::new();
    let mut steps: Vec<(String, Queries, Vec<String>)> = Vec::new();
    let mut compared = 0;
    for block in 0..BLOCKS {
        let step = fill(&mut bench, &mut workload, block);
        let view = bench.view();
        let number = view.pending().number();
        let current_queries = queries(&bench.wallets, &view);
        let before = answers(&bench, &current_queries, "\"pending\"");
        if block % 6 == 0 {
            let mut of_step = queries(&bench.wallets, &step);
            of_step.retain(|(method, params)| AT_STEPS.contains(method) && params.contains("TAG"));
            let then = of_step.iter().map(|(method, params)| {
                let params = params.replace("TAG", "\"pending\"");
                format!("{:?}", bench.api.call(Some(&step), method, params.as_bytes()))
            });
            let then = then.collect();
            steps.push((format!("{{\"blockHash\":\"{}\"}}", step.pending().block.hash), of_step, then));
        }
        recorded.push((number, current_queries, before));
        bench.seal();
        bench.api.node().drain().unwrap();
        let old =
            recorded.iter().position(|(number, ..)| number + RECENT + 1 < bench.view().latest().number());
        let Some((number, queries, before)) = old.map(|old| recorded.remove(old)) else { continue };
        assert!(is_stored(&bench.view(), number));
        let after = answers(&bench, &queries, &format!("\"{number:#x}\""));
        for (before, after) in before.iter().zip(after) {
            assert_eq!(*before, after);
            compared += 1;
        }
    }
    for (name, queries, before) in &steps {
        for ((method, params), before) in queries.iter().zip(before) {
            let params = params.replace("TAG", name);
            let after = bench.api.call(Some(&bench.view()), method, params.as_bytes());
            assert_eq!(*before, format!("{after:?}"), "{method} {params}");
            compared += 1;
        }
    }
    assert!(compared > 3_000, "{compared} answers");
}

/// Returns calls about blocks in the store, in memory, and the pending one.
fn all_queries(bench: &Bench, view: &View) -> Queries {
    let mut all = Vec::new();
    for number in [2, 9, view.latest().number() - 1, view.pending().number()] {
        let block = view.at(number).unwrap().unwrap();
        let tag = if number == view.pending().number() {
            "\"pending\"".to_owned()
        } else {
            format!("\"{number:#x}\"")
        };
        let of_block = super::pending::queries_about(&bench.wallets, &block.block);
        all.extend(of_block.into_iter().map(|(method, params)| (method, params.replace("TAG", &tag))));
    }
    all
}

fn call(
    bench: &Bench,
    view: &Arc<View>,
    (method, params): &(&'static str, String),
) -> Result<Bytes, RpcError> {
    bench.api.call(Some(view), method, params.as_bytes())
}

/// Results of a reader that holds a view while the chain is unwound.
#[derive(Default)]
struct Found {
    right: AtomicU64,
    gone: AtomicU64,
}

impl Found {
    fn see(
        &self,
        query: &(&'static str, String),
        expected: &Result<Bytes, RpcError>,
        got: &Result<Bytes, RpcError>,
    ) {
        match got {
            Err(error) if error.code == -32001 && error.message == "view no longer available" => {
                self.gone.fetch_add(1, Ordering::SeqCst);
            }
            got => {
                assert_eq!(format!("{got:?}"), format!("{expected:?}"), "{query:?}");
                self.right.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

/// Two copies of a chain: a view of the second returns the results of the first, or reports that it is gone,
/// during any change of the second.
#[test]
fn a_view_overtaken_by_an_unwind_never_mixes_chains() {
    let ((mut first, mut workload), (mut second, mut again)) = (start(), start());
    for block in 0..16 {
        fill(&mut first, &mut workload, block);
        fill(&mut second, &mut again, block);
        if block < 15 {
            first.seal();
            second.seal();
        }
    }
    second.api.node().drain().unwrap();
    let (view, old) = (first.view(), second.view());
    assert_eq!(view.pending().block.hash, old.pending().block.hash);
    let queries = all_queries(&first, &view);
    let expected: Vec<_> = queries.iter().map(|query| call(&first, &view, query)).collect();
    let mut producer = second.producer.take().unwrap();
    let (done, tally) = (AtomicBool::new(false), Found::default());
    std::thread::scope(|scope| {
        let (second, done, tally, old) = (&second, &done, &tally, &old);
        let (queries, expected) = (&queries, &expected);
        for reader in 0..2 {
            scope.spawn(move || {
                for at in (0..queries.len()).cycle().skip(reader * queries.len() / 2) {
                    if done.load(Ordering::SeqCst) {
                        break;
                    }
                    tally.see(&queries[at], &expected[at], &call(second, old, &queries[at]));
                }
            });
        }
        wait_for("a reader has begun", || tally.right.load(Ordering::SeqCst) > 0);
        for to in [14, 12, 5, 1] {
            second.api.node().control(|writer| writer.unwind(to)).unwrap();
            // Other blocks replace the unwound ones.
            while second.view().latest().number() < to + 2 {
                second.clock.advance(Duration::from_millis(200));
                producer.tick(second.clock.now(), &mut || true).unwrap();
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    // Repeats all calls once more, now that the store holds another chain.
    let after = Found::default();
    for (query, expected) in queries.iter().zip(&expected) {
        after.see(query, expected, &call(&second, &old, query));
    }
    let (right, unavailable) = (after.right.into_inner(), after.gone.into_inner());
    assert!(right > 500 && unavailable > 500, "{right} right, {unavailable} gone");
    assert!(tally.right.into_inner() > 0);
}
