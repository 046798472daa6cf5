//! Changes of the feed in particular situations.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_chain::{BlockId, BlockWindow, Change, FeedError, StepCursor, SteppedClock, View, changes};
use foreseal_journal::RealDisk;
use foreseal_node::{Development, Settings, StoreSettings, import_chain};
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use support::{Bench, balance, open_node, settings, start};

/// Returns the changes in short notation: `+1.2` adds step 2 of block 1, `-1.2` removes it, `=1` seals block
/// 1 and `~1` unseals it.
fn changes_page(view: &View, after: StepCursor, page: usize) -> (String, StepCursor) {
    let mut emitted = Vec::new();
    let reached = changes(view, after, &mut |change, _| {
        emitted.push(match change {
            Change::Step(step) => format!("+{}.{}", step.block.header.number, step.index),
            Change::Removed(step) => format!("-{}.{}", step.block.header.number, step.index),
            Change::Sealed(block) => format!("={}", block.header.number),
            Change::Unsealed(block) => format!("~{}", block.header.number),
        });
        if emitted.len() < page { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let reached = reached.unwrap();
    (emitted.join(" "), reached)
}

fn all_changes(view: &View, after: StepCursor) -> String {
    let (emitted, reached) = changes_page(view, after, usize::MAX);
    assert_eq!(reached, view.cursor());
    emitted
}

fn first(view: &View) -> StepCursor {
    StepCursor { number: 0, index: 0, hash: view.sealed(0).unwrap().unwrap().block.hash }
}

fn write(bench: &Bench, wei: u64) {
    bench.node.develop(|development| development.write(&balance(wei))).unwrap();
}

fn mine(bench: &Bench) {
    bench.node.develop(|development| development.mine(1, None)).unwrap();
}

#[test]
fn changes_replay_blocks_step_by_step_from_genesis() {
    let (_datadir, _wallets, bench) = start();
    assert_eq!(all_changes(&bench.view(), first(&bench.view())), "=0 +1.0");
    write(&bench, 1);
    write(&bench, 2);
    mine(&bench);
    write(&bench, 3);
    let view = bench.view();
    assert_eq!(all_changes(&view, first(&view)), "=0 +1.0 +1.1 +1.2 =1 +2.0 +2.1");
    assert_eq!(all_changes(&view, view.cursor()), "");
    let (emitted, reached) = changes_page(&view, first(&view), 1);
    assert_eq!((emitted.as_str(), reached.number, reached.index), ("=0 +1.0", 1, 0), "the step comes along");
}

/// Steps that are rebuilt under the same header are the same; others are emitted from the first differing
/// step on.
#[test]
fn a_rebuilt_block_is_reported_from_its_first_difference() {
    let (_datadir, _wallets, bench) = start();
    write(&bench, 1);
    let snapshot = bench.node.develop(|development| development.snapshot()).unwrap();
    write(&bench, 2);
    write(&bench, 3);
    let before = bench.view();
    let base_fee = before.pending().block.header.base_fee_per_gas.unwrap();
    bench.node.develop(|development| development.set_base_fee(base_fee)).unwrap();
    assert!(!Arc::ptr_eq(&before, &bench.view()));
    assert_eq!(all_changes(&bench.view(), before.cursor()), "");
    bench.node.develop(|development| development.set_base_fee(base_fee + 1)).unwrap();
    assert_eq!(all_changes(&bench.view(), before.cursor()), "-1.3 -1.2 -1.1 -1.0 +1.0 +1.1 +1.2 +1.3");
    let timestamp = bench.view().pending().block.header.timestamp + 9;
    let before = bench.view();
    bench.node.develop(|development| development.set_next_timestamp(timestamp)).unwrap();
    assert_eq!(all_changes(&bench.view(), before.cursor()), "-1.3 -1.2 -1.1 -1.0 +1.0 +1.1 +1.2 +1.3");
    assert!(bench.node.develop(|development| development.revert(snapshot)).unwrap());
    assert_eq!(all_changes(&bench.view(), before.cursor()), "-1.3 -1.2 -1.1 -1.0 +1.0 +1.1");
}

#[test]
fn a_snapshot_reverts_later_changes() {
    let (_datadir, _wallets, bench) = start();
    let opened = bench.node.develop(|development| development.snapshot()).unwrap();
    write(&bench, 1);
    let ended = bench.node.develop(|development| development.snapshot()).unwrap();
    mine(&bench);
    write(&bench, 2);
    let before = bench.view();
    assert!(bench.node.develop(|development| development.revert(ended)).unwrap());
    // The block is rebuilt with the hash that it had when it was sealed.
    assert_eq!(all_changes(&bench.view(), before.cursor()), "-2.1 -2.0 ~1");
    let middle = bench.view();
    assert!(bench.node.develop(|development| development.revert(opened)).unwrap());
    assert_eq!(all_changes(&bench.view(), before.cursor()), "-2.1 -2.0 ~1 -1.1");
    assert_eq!(all_changes(&bench.view(), middle.cursor()), "-1.1");
}

/// A block that stays sealed is neither unsealed nor sealed again in the feed, unless the reader breaks at
/// that point.
#[test]
fn a_reorg_begins_after_the_last_common_block() {
    let (_datadir, wallets, mut bench) = start();
    let mut workload = Workload::new(wallets, TransactionKinds::Transfers, 3);
    for _ in 0..2 {
        mine(&bench);
    }
    bench.node.submit(&workload.next_transaction()).unwrap();
    bench.tick();
    let before = bench.view();
    let sealed: Vec<B256> =
        (1..=2).map(|number| before.sealed(number).unwrap().unwrap().block.hash).collect();
    bench.node.develop(|development| development.reorg(&[vec![]])).unwrap();
    // The transaction returned to the pool and is included in a step at once.
    assert_eq!(all_changes(&bench.view(), before.cursor()), "-3.1 -3.0 ~2 -2.0 +2.0 =2 +3.0 +3.1");
    assert_eq!(bench.view().sealed(1).unwrap().unwrap().block.hash, sealed[0]);
    let (emitted, reached) = changes_page(&bench.view(), before.cursor(), 4);
    assert_eq!((emitted.as_str(), reached.hash), ("-3.1 -3.0 ~2 -2.0 ~1", sealed[0]));
    assert_eq!(all_changes(&bench.view(), reached), "=1 +2.0 =2 +3.0 +3.1");
}

#[test]
fn imported_blocks_are_one_step_and_the_pending_block_none() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(3));
    let mut bench = Bench::new(datadir.path(), &wallets);
    let mut workload = Workload::new(wallets.clone(), TransactionKinds::Transfers, 2);
    let mut bytes = Vec::new();
    for _ in 0..3 {
        bench.node.submit(&workload.next_transaction()).unwrap();
        bench.tick();
        bench.seal();
        bench.view().latest().block.encode(&mut bytes);
    }
    let (elsewhere, file) = (tempfile::tempdir().unwrap(), datadir.path().join("chain.rlp"));
    std::fs::write(&file, bytes).unwrap();
    let settings = Settings { produce: false, ..settings(elsewhere.path(), &wallets) };
    import_chain(&settings, Arc::new(RealDisk), &file, &mut |_| true).unwrap();
    let node = open_node(settings).unwrap();
    node.start_stepped().unwrap();
    let view = node.view().unwrap();
    assert_eq!((view.cursor().number, view.cursor().hash), (3, view.latest().block.hash));
    assert_eq!(all_changes(&view, first(&view)), "=0 +1.0 =1 +2.0 =2 +3.0");
    let mut counts = Vec::new();
    changes(&view, first(&view), &mut |change, _| {
        if let Change::Step(step) = change {
            counts.push((step.first, step.block.transactions.len(), step.block.receipts.len()));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(counts, [(0, 1, 1); 3]);
    let possible = StepCursor { number: 4, index: 0, hash: view.pending().block.hash };
    let error = changes(&view, possible, &mut |_, _| panic!("nothing comes first")).unwrap_err();
    assert_eq!(error, FeedError::CursorGone { oldest: first(&view) });
}

/// An import replaces a block being built; a reader that has seen its first step receives the removal.
#[test]
fn an_import_reverts_the_open_block() {
    let wallets = Wallet::some(2);
    let (datadir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let later = Arc::new(SteppedClock::default());
    later.advance(Duration::from_mins(1));
    let mut other = Bench::open(settings(elsewhere.path(), &wallets), later, Arc::new(RealDisk)).unwrap();
    other.seal();
    other.seal();
    let mut bytes = Vec::new();
    for number in 1..=2 {
        other.view().sealed(number).unwrap().unwrap().block.encode(&mut bytes);
    }
    let settings = settings(datadir.path(), &wallets);
    let opened = Bench::open(settings.clone(), Arc::default(), Arc::new(RealDisk)).unwrap().view().cursor();
    assert_eq!((opened.number, opened.index), (1, 0));
    let file = elsewhere.path().join("chain.rlp");
    std::fs::write(&file, bytes).unwrap();
    import_chain(&settings, Arc::new(RealDisk), &file, &mut |_| true).unwrap();
    let bench = Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap();
    assert_eq!(all_changes(&bench.view(), opened), "-1.0 +1.0 =1 +2.0 =2 +3.0");
}

/// Steps of blocks that only the store has are emitted at any age, even if they can no longer be resolved by
/// name.
#[test]
fn old_blocks_are_replayed_step_by_step() {
    let (_datadir, _wallets, bench) = start();
    write(&bench, 1);
    write(&bench, 2);
    let early = bench.view().cursor();
    mine(&bench);
    bench.node.develop(|development| development.mine(1_100, None)).unwrap();
    bench.node.drain().unwrap();
    mine(&bench);
    let view = bench.view();
    assert!(view.resolve(BlockId::Hash { hash: early.hash, require_canonical: false }).is_ok());
    let (start, _) = changes_page(&view, first(&view), 7);
    assert_eq!(start, "=0 +1.0 +1.1 +1.2 =1 +2.0 =2 +3.0");
    let rest = all_changes(
        &view,
        StepCursor { index: 1, hash: view.sealed(1).unwrap().unwrap().steps[1].hash, ..early },
    );
    assert!(rest.starts_with("+1.2 =1 +2.0 =2 +3.0 =3"), "{}", &rest[..40]);
    assert!(rest.ends_with("=1101 +1102.0 =1102 +1103.0"), "{}", &rest[rest.len() - 40..]);
}

/// Blocks may stay in memory longer than their tables of steps; the store has those tables.
#[test]
fn blocks_without_steps_in_memory_are_reverted_step_by_step() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let recent = BlockWindow { blocks: 2_000, ..BlockWindow::default() };
    let settings = Settings {
        store: StoreSettings { recent, proofs: 4_096, ..StoreSettings::default() },
        development: Some(Development::default()),
        ..settings(datadir.path(), &wallets)
    };
    let bench = Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap();
    write(&bench, 1);
    write(&bench, 2);
    let early = bench.view().cursor();
    bench.node.develop(|development| development.mine(1_100, None)).unwrap();
    bench.node.drain().unwrap();
    assert!(bench.view().sealed(1).unwrap().unwrap().steps.is_empty());
    bench.node.control(|writer| writer.unwind(0)).unwrap();
    assert_eq!(all_changes(&bench.view(), early), "-1.2 -1.1 -1.0 +1.0");
}

/// Steps reorged before the start of the node and not replayed by it are found in the journal.
#[test]
fn a_cursor_remains_valid_across_a_restart() {
    let (datadir, wallets, bench) = start();
    mine(&bench);
    write(&bench, 1);
    mine(&bench);
    write(&bench, 2);
    let before = bench.view().cursor();
    bench.node.control(|writer| writer.unwind(1)).unwrap();
    let unwound = bench.view().cursor();
    for _ in 0..3 {
        mine(&bench);
    }
    bench.node.save().unwrap();
    let clock = bench.clock.clone();
    drop(bench);
    let settings =
        Settings { development: Some(Development::default()), ..settings(datadir.path(), &wallets) };
    let bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    let view = bench.view();
    assert_eq!(all_changes(&view, unwound), "=2 +3.0 =3 +4.0 =4 +5.0");
    let expected = "-3.1 -3.0 ~2 -2.1 -2.0 +2.0 =2 +3.0 =3 +4.0 =4 +5.0";
    assert_eq!(all_changes(&view, before), expected);
    changes(&view, before, &mut |change, _| {
        if let Change::Removed(step) = change {
            assert_eq!((step.time > 0, step.block.header.hash_slow()), (true, step.block.hash));
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    let never = StepCursor { hash: B256::repeat_byte(1), ..before };
    let error = changes(&view, never, &mut |_, _| panic!("nothing comes first")).unwrap_err();
    assert_eq!(error, FeedError::CursorGone { oldest: first(&view) });
}
