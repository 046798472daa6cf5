//! The store that a node keeps is whole, whatever happens.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use foreseal_testkit::{Kinds, Wallet, Workload};
use support::Bench;

/// Waits until the store has everything, and compares all of it with what follows from it.
fn assert_whole(bench: &Bench) {
    bench.node.drain().unwrap();
    let view = bench.view();
    let verified = bench.node.store().verify(&mut |_| {}).unwrap();
    assert_eq!(verified.faults, []);
    assert_eq!(verified.head.unwrap().hash, view.latest().block.hash);
}

/// What is read from the store again while the chain goes on fits the roots, and so does all that is written.
#[test]
fn a_chain_that_goes_on_keeps_a_whole_store() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(8);
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets, Kinds::WithoutBlobs, 5);
    for block in 0..120 {
        for turn in 0..3 {
            for _ in 0..(block + turn) % 7 {
                bench.node.submit(&workload.next_transaction()).unwrap();
            }
            bench.tick();
        }
        bench.seal();
    }
    assert_whole(&bench);
}
