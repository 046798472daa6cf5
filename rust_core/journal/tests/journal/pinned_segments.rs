//! Copies of a journal while its writer appends and removes segments.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use alloy_primitives::B256;
use foreseal_journal::{
    Identity, JournalError, JournalOptions, LocalJournal, PinnedSegments, RealDisk, Record, check,
    segment_size,
};
use tempfile::tempdir;

const IDENTITY: Identity = Identity { chain_id: 5, genesis: B256::repeat_byte(3) };

fn open(dir: &Path) -> LocalJournal {
    let options = JournalOptions { segment_bytes: 8192, ..JournalOptions::new(IDENTITY, [1; 32]) };
    LocalJournal::open(dir, Arc::new(RealDisk), options).unwrap().0
}

/// Opens a journal of 100 appends.
fn filled(dir: &Path) -> LocalJournal {
    let mut journal = open(dir);
    for number in 0..100 {
        journal.append(&[record(number)]).unwrap();
    }
    journal
}

fn record(number: u64) -> Record {
    Record::Import { block: number.to_be_bytes().repeat(20).into() }
}

/// Copies the held segments, each to its full file size. Returns the first sequence number and the one after
/// the last append.
fn copy(pinned: &PinnedSegments, from: u64, to: &Path) -> (u64, u64) {
    let extent = pinned.verify_appends(IDENTITY, from).unwrap();
    for segment in &extent.segments {
        let mut bytes = Vec::new();
        pinned
            .copy(segment, &mut |chunk| {
                bytes.extend_from_slice(chunk);
                Ok(())
            })
            .unwrap();
        assert_eq!(bytes.len() as u64, segment.bytes);
        let size = segment_size(bytes[..512].try_into().unwrap()).unwrap();
        bytes.resize(usize::try_from(size).unwrap(), 0);
        fs::write(to.join(&segment.name), bytes).unwrap();
    }
    (extent.first, extent.next)
}

#[test]
fn a_copy_has_all_durable_appends_although_segments_are_removed() {
    let dir = tempdir().unwrap();
    let mut journal = filled(dir.path());
    let (stop, durable) = (AtomicBool::new(false), AtomicU64::new(journal.next_sequence()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Acquire) {
                let next = journal.append(&[record(1)]).unwrap() + 1;
                durable.store(next, Ordering::Release);
                journal.remove_segments_before(next.saturating_sub(60)).unwrap();
            }
        });
        for _ in 0..10 {
            // The writer removes no append of the last 60: the one before `began` is held if it wrote few meanwhile.
            let (began, pinned) = loop {
                let began = durable.load(Ordering::Acquire);
                let pinned = PinnedSegments::open(dir.path()).unwrap();
                if durable.load(Ordering::Acquire) < began + 10 {
                    break (began, pinned);
                }
            };
            let wait = durable.load(Ordering::Acquire) + 200;
            while durable.load(Ordering::Acquire) < wait {
                std::thread::yield_now();
            }
            pinned.refresh().unwrap();
            let to = tempdir().unwrap();
            let (first, next) = copy(&pinned, began - 1, to.path());
            assert!(first < began && began <= next, "{first} {began} {next}");
            let report = check(to.path(), Arc::new(RealDisk)).unwrap();
            assert_eq!((report.fault, report.torn_tail, report.unfinished_segment), (None, None, None));
            assert_eq!((report.first_sequence, report.first_sequence + report.appends), (first, next));
        }
        stop.store(true, Ordering::Release);
    });
}

#[test]
fn a_segment_removed_between_listing_and_opening_is_a_gap() {
    let dir = tempdir().unwrap();
    let _journal = filled(dir.path());
    let pinned = PinnedSegments::open(dir.path()).unwrap();
    let newest = pinned.verify_appends(IDENTITY, 0).unwrap().segments.pop().unwrap().name;
    let number: u64 = newest.strip_suffix(".segment").unwrap().parse().unwrap();
    // A dangling link is listed, but not found when it is opened.
    let next = dir.path().join(format!("{:010}.segment", number + 1));
    std::os::unix::fs::symlink(dir.path().join("removed"), next).unwrap();
    assert!(!pinned.refresh().unwrap());
    assert_eq!(pinned.verify_appends(IDENTITY, 0).unwrap().next, 100);
}

#[test]
fn a_segment_created_and_removed_during_a_copy_is_reported() {
    let dir = tempdir().unwrap();
    let mut journal = open(dir.path());
    journal.append(&[record(0)]).unwrap();
    let pinned = PinnedSegments::open(dir.path()).unwrap();
    assert!(pinned.refresh().unwrap());
    let newest = (1..100).map(|number| journal.append(&[record(number)]).unwrap()).last().unwrap();
    journal.remove_segments_before(newest).unwrap();
    assert!(!pinned.refresh().unwrap());
    let extent = pinned.verify_appends(IDENTITY, newest).unwrap();
    assert!(
        (extent.first..newest).contains(&extent.next),
        "what is held goes on from nothing as new as that"
    );
}

#[test]
fn a_torn_tail_is_left_out_and_damage_is_named() {
    let dir = tempdir().unwrap();
    let mut journal = open(dir.path());
    for number in 0..4 {
        journal.append(&[record(number)]).unwrap();
    }
    drop(journal);
    let path = dir.path().join("0000000001.segment");
    let complete = fs::read(&path).unwrap();
    let end = 512 + 4 * 512;
    let mut torn = complete.clone();
    torn[end..end + 5].copy_from_slice(b"FSEAL");
    fs::write(&path, &torn).unwrap();
    let pinned = PinnedSegments::open(dir.path()).unwrap();
    assert_eq!(pinned.verify_appends(IDENTITY, 0).unwrap().segments[0].bytes, end as u64);
    assert_eq!(pinned.verify_appends(IDENTITY, 9).unwrap().next, 4);

    let mut damaged = complete;
    damaged[512 + 512 + 100] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let error = pinned.verify_appends(IDENTITY, 0).unwrap_err();
    assert!(matches!(error, JournalError::Corrupt { .. }), "{error}");
    let other = Identity { chain_id: 6, ..IDENTITY };
    assert!(matches!(pinned.verify_appends(other, 0), Err(JournalError::WrongChain { .. })));
}

#[test]
fn a_new_journal_is_copied_as_its_header() {
    let dir = tempdir().unwrap();
    drop(open(dir.path()));
    let (pinned, to) = (PinnedSegments::open(dir.path()).unwrap(), tempdir().unwrap());
    assert_eq!(copy(&pinned, 0, to.path()), (0, 0));
    assert_eq!(check(to.path(), Arc::new(RealDisk)).unwrap().segments, 1);
}
