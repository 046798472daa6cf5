//! Entries in the feed's queue, and entries that it drops or merges.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use foreseal_chain::{Change, Clock, Entry, EventKind, StepCursor, View, changes};
use foreseal_testkit::{TransactionKinds, Workload};
use support::{Bench, balance, start};

fn drain(bench: &Bench) -> Vec<Entry> {
    bench.node.feed().drain(Duration::ZERO)
}

/// Returns the kinds of the entries, in order.
fn kinds(entries: &[Entry]) -> String {
    let kind = |entry: &Entry| match entry.what {
        EventKind::View(_) => 'v',
        EventKind::Tick => 't',
        EventKind::Arrivals => 'a',
    };
    assert!(entries.is_sorted_by(|one, next| one.sequence < next.sequence));
    entries.iter().map(kind).collect()
}

fn views(entries: &[Entry]) -> Vec<&Arc<View>> {
    let view = |entry: &'_ Entry| matches!(entry.what, EventKind::View(_));
    let views = entries.iter().filter(|entry| view(entry));
    views
        .filter_map(|entry| if let EventKind::View(view) = &entry.what { Some(view) } else { None })
        .collect()
}

/// Returns the number of removed and of added steps along `views`, starting at `cursor`.
fn follow(views: &[&Arc<View>], mut cursor: StepCursor) -> (usize, usize, StepCursor) {
    let (mut removed, mut added) = (0, 0);
    for view in views {
        cursor = changes(view, cursor, &mut |change, _| {
            match change {
                Change::Removed(_) => removed += 1,
                Change::Step(_) => added += 1,
                Change::Sealed(_) | Change::Unsealed(_) => {}
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    (removed, added, cursor)
}

#[test]
fn only_the_newest_view_is_queued_without_a_reader() {
    let (_datadir, _wallets, mut bench) = start();
    bench.node.feed().want_arrivals(true);
    for _ in 0..30 {
        bench.tick();
    }
    let (sequence, newest) = bench.node.feed().newest().unwrap();
    let drained = drain(&bench);
    assert_eq!((kinds(&drained).as_str(), drained[0].sequence), ("v", sequence));
    assert!(Arc::ptr_eq(views(&drained)[0], &newest));
    assert!(Arc::ptr_eq(&newest, &bench.view()));
    assert_eq!(kinds(&drain(&bench)), "");
}

#[test]
fn entries_arrive_in_order_and_repeats_are_merged() {
    let (_datadir, wallets, mut bench) = start();
    let mut workload = Workload::new(wallets, TransactionKinds::Transfers, 1);
    drain(&bench);
    bench.node.submit(&workload.next_transaction()).unwrap();
    assert_eq!(kinds(&drain(&bench)), "", "nobody wants arrivals");
    bench.node.feed().want_arrivals(true);
    bench.tick();
    bench.tick();
    bench.tick();
    bench.node.submit(&workload.next_transaction()).unwrap();
    let (before, _) = bench.node.feed().newest().unwrap();
    bench.node.submit(&workload.next_transaction()).unwrap();
    let raw = workload.next_transaction();
    bench.node.send(bench.node.decode(&raw).unwrap().verify().unwrap(), true).unwrap();
    bench.tick();
    let (after, newest) = bench.node.feed().newest().unwrap();
    let drained = drain(&bench);
    assert_eq!(kinds(&drained), "vtavt");
    assert!(drained[2].sequence > before, "who began to listen in between is told of what came after");
    assert_eq!(drained[4].sequence, after);
    assert!(Arc::ptr_eq(views(&drained)[1], &newest));

    // Transactions that return to the pool count as arrivals.
    bench.node.control(|writer| writer.unwind(0)).unwrap();
    assert!(kinds(&drain(&bench)).starts_with("av"));
    bench.node.feed().want_arrivals(false);
    bench.node.submit(&workload.next_transaction()).unwrap();
    assert_eq!(kinds(&drain(&bench)), "");
}

#[test]
fn a_view_without_a_tick_is_an_entry() {
    let (_datadir, _wallets, bench) = start();
    drain(&bench);
    bench.node.develop(|development| development.write(&balance(1))).unwrap();
    bench.node.develop(|development| development.mine(2, None)).unwrap();
    bench.node.develop(|development| development.mine(1, None)).unwrap();
    assert_eq!(kinds(&drain(&bench)), "vvv", "blocks that were mined together come together");
}

/// A subscriber that is far behind sees every reorg, as long as there were not too many of them.
#[test]
fn a_slow_consumer_gets_fewer_views_but_every_change() {
    let (_datadir, _wallets, mut bench) = start();
    let base = views(&drain(&bench))[0].cursor();
    for round in 0..20 {
        let snapshot = bench.node.develop(|development| development.snapshot()).unwrap();
        for wei in 1..50 {
            bench.node.develop(|development| development.write(&balance(100 * round + wei))).unwrap();
            bench.producer.tick(bench.clock.now(), &mut || true).unwrap();
        }
        assert!(bench.node.develop(|development| development.revert(snapshot)).unwrap());
    }
    let drained = drain(&bench);
    let views = views(&drained);
    assert_eq!(views.len(), 256);
    assert!(drained.len() <= 2 * 256, "{}", drained.len());
    assert_eq!(follow(&views, base), (20 * 49, 20 * 49, base));
}

/// With more reorgs than queued views, the oldest views are dropped: the reader skips from its cursor to the
/// next view.
#[test]
fn above_the_queue_limit_reverted_views_are_skipped() {
    let (_datadir, _wallets, bench) = start();
    let base = views(&drain(&bench))[0].cursor();
    let snapshot = || bench.node.develop(|development| development.snapshot()).unwrap();
    let mut last = snapshot();
    for wei in 1..400 {
        bench.node.develop(|development| development.write(&balance(wei))).unwrap();
        assert!(bench.node.develop(|development| development.revert(last)).unwrap());
        last = snapshot();
    }
    let drained = drain(&bench);
    let views = views(&drained);
    assert_eq!(views.len(), 256);
    let (removed, added, cursor) = follow(&views, base);
    // The newest of them leads to the step to which all of them revert.
    assert_eq!((removed, added, cursor), (255, 255, base));
}

#[test]
fn a_wait_ends_on_wake() {
    let (_datadir, _wallets, bench) = start();
    drain(&bench);
    bench.node.feed().wake();
    let hour = Duration::from_hours(1);
    assert_eq!(kinds(&bench.node.feed().drain(hour)), "", "woken before it began to wait");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| bench.node.feed().drain(hour));
        bench.node.feed().wake();
        assert_eq!(kinds(&waiting.join().unwrap()), "");
        let waiting = scope.spawn(|| bench.node.feed().drain(hour));
        bench.node.develop(|development| development.mine(1, None)).unwrap();
        assert_eq!(kinds(&waiting.join().unwrap()), "v");
    });
}

/// A reader that gets the newest view during publication continues from it without a gap or a duplicate.
#[test]
fn the_newest_view_is_consistent_with_the_entries_after_it() {
    let (_datadir, _wallets, bench) = start();
    let feed = bench.node.feed();
    let mut entries = drain(&bench);
    let mut snapshots = Vec::new();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for wei in 1..200 {
                bench.node.develop(|development| development.write(&balance(wei))).unwrap();
            }
        });
        while !writing.is_finished() {
            snapshots.push(feed.newest().unwrap());
            entries.extend(feed.drain(Duration::ZERO));
            snapshots.dedup_by(|next, last| next.0 == last.0 && Arc::ptr_eq(&next.1, &last.1));
        }
        writing.join().unwrap();
    });
    entries.extend(drain(&bench));
    snapshots.push(feed.newest().unwrap());
    for (sequence, view) in snapshots {
        let at = entries.partition_point(|entry| entry.sequence <= sequence);
        assert!(views(&entries[..at]).last().is_some_and(|last| Arc::ptr_eq(last, &view)));
        let (removed, added, cursor) = follow(&views(&entries[at..]), view.cursor());
        assert_eq!((removed, added), (0, entries.len() - at));
        assert_eq!(cursor, bench.view().cursor());
    }
}
