//! Runs every suite on the archive. All cases must pass; the expected counts ensure that none is skipped.

use foreseal_conformance::{Counts, Suite, run, vectors};

fn check(suite: Suite, cases: usize) {
    let Some(archive) = vectors::find("ethereum-tests.tar.zst") else { return };
    let mut shown = 0;
    let counts = run(suite, &[archive], None, |case| {
        if !case.pass && shown < 40 {
            shown += 1;
            println!("{case:?}");
        }
        true
    })
    .expect("the archive can be read");
    println!("{suite:?}: {} cases, {} failed", counts.cases, counts.failed);
    assert_eq!(counts, Counts { cases, failed: 0 });
}

#[test]
fn state_tests() {
    check(Suite::State, 4803);
}

#[test]
fn blockchain_tests() {
    check(Suite::Blockchain, 173);
}

#[test]
fn transaction_tests() {
    check(Suite::Transaction, 2665);
}

#[test]
fn trie_tests() {
    check(Suite::Trie, 26);
}

#[test]
fn rlp_tests() {
    check(Suite::Rlp, 55);
}

#[test]
fn basic_tests() {
    check(Suite::Basic, 19);
}
