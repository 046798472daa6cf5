//! Summaries of the journal, also while it is being written.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use alloy_consensus::Header;
use alloy_primitives::{B256, FixedBytes};
use foreseal_journal::{
    Disk, Identity, JournalError, JournalOptions, LocalJournal, OfflineError, RealDisk, Record, ShownAppend,
    journal_folder, show,
};
use foreseal_primitives::{BlockBytes, Flashblock};
use serde_json::{Value, json};

const IDENTITY: Identity = Identity { chain_id: 31_337, genesis: B256::repeat_byte(7) };

fn open(dir: &Path) -> LocalJournal {
    let options = JournalOptions { segment_bytes: 8192, ..JournalOptions::new(IDENTITY, [9; 32]) };
    LocalJournal::open(dir, Arc::new(RealDisk), options).unwrap().0
}

fn shown(dir: &Path, from: u64) -> Result<Vec<ShownAppend>, JournalError> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let mut appends = Vec::new();
    show(dir, &disk, from, &mut |append| {
        appends.push(append);
        ControlFlow::Continue(())
    })?;
    Ok(appends)
}

fn step(number: u64, index: u64) -> Arc<Flashblock> {
    let header = Header { number, gas_used: index, ..Header::default() };
    Arc::new(Flashblock {
        number,
        index,
        previous: B256::repeat_byte(1),
        hash: header.hash_slow(),
        header,
        time: 1_700_000_000_123,
        signature: (index == 1).then(|| FixedBytes::repeat_byte(2)),
        transactions: vec![],
        receipts: vec![],
        diff: Arc::default(),
        end_of_block_diff: Arc::default(),
    })
}

#[test]
fn every_append_is_shown_with_its_records() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    let (zero, one) = (step(8, 0), step(8, 1));
    let header = Header { number: 9, ..Header::default() };
    let block =
        BlockBytes { header: header.clone(), transactions: vec![], uncles: vec![], withdrawals: None };
    journal
        .append(&[Record::Open { header: Box::new(zero.header.clone()) }, Record::Step(zero.clone())])
        .unwrap();
    journal.append(&[Record::Step(one.clone())]).unwrap();
    journal.append(&[Record::Seal { number: 8, hash: one.hash }]).unwrap();
    journal.append(&[Record::Import { block: alloy_rlp::encode(block).into() }]).unwrap();
    let lines: Vec<Value> =
        shown(dir.path(), 0).unwrap().iter().map(|append| serde_json::to_value(append).unwrap()).collect();
    let of_step = |step: &Flashblock, signature: Value| {
        json!({"kind":"step","number":8,"index":step.index,"hash":step.hash,"previous":step.previous,
            "transactions":[],"time":1_700_000_000_123_u64,"signature":signature})
    };
    let signature = format!("0x{}", "02".repeat(65));
    let records = [
        json!([{"kind":"open","number":8,"parent":B256::ZERO}, of_step(&zero, Value::Null)]),
        json!([of_step(&one, signature.into())]),
        json!([{"kind":"seal","number":8,"hash":one.hash}]),
        json!([{"kind":"import","number":9,"hash":header.hash_slow(),"transactions":[]}]),
    ];
    let expected: Vec<Value> =
        (0..).zip(records).map(|(at, records): (u64, _)| json!({"sequence":at,"records":records})).collect();
    assert_eq!(lines, expected);
    let later: Vec<u64> = shown(dir.path(), 2).unwrap().iter().map(|append| append.sequence).collect();
    assert_eq!(later, [2, 3]);
    assert_eq!(shown(dir.path(), 4).unwrap(), []);
}

/// A concurrent reader sees a prefix of the journal, without gaps or errors, and in the end all of it.
#[test]
fn a_journal_is_shown_while_it_is_written() {
    const APPENDS: u64 = 600;
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    let done = AtomicBool::new(false);
    let polls = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for index in 0..APPENDS {
                // The reader polls during the writing, however slow it is.
                while index == APPENDS / 2 && polls.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                journal.append(&[Record::Step(step(1, index))]).unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        while !done.load(Ordering::SeqCst) {
            let appends = shown(dir.path(), 0).unwrap();
            polls.fetch_add(1, Ordering::SeqCst);
            assert!((0..).zip(&appends).all(|(at, append)| append.sequence == at));
        }
    });
    assert!(polls.into_inner() > 0);
    assert_eq!(shown(dir.path(), 0).unwrap().last().unwrap().sequence, APPENDS - 1);
}

#[test]
fn a_damaged_journal_is_shown_up_to_the_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    for index in 0..4 {
        journal.append(&[Record::Step(step(1, index))]).unwrap();
    }
    drop(journal);
    let path = dir.path().join("0000000001.segment");
    let mut content = std::fs::read(&path).unwrap();
    let second = 512 + shown_bytes();
    content[second + 120] ^= 1;
    std::fs::write(&path, content).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let mut seen = Vec::new();
    let error = show(dir.path(), &disk, 0, &mut |append| {
        seen.push(append.sequence);
        ControlFlow::Continue(())
    });
    assert!(matches!(error, Err(JournalError::Corrupt { .. })), "{error:?}");
    assert_eq!(seen, [0], "each is shown once");
}

/// Returns the size on disk of an append of one such step, in bytes.
fn shown_bytes() -> usize {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    journal.append(&[Record::Step(step(1, 0))]).unwrap();
    drop(journal);
    let content = std::fs::read(dir.path().join("0000000001.segment")).unwrap();
    content.iter().rposition(|byte| *byte != 0).map_or(0, |last| (last + 1).next_multiple_of(512) - 512)
}

#[test]
fn a_folder_without_a_journal_is_named() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(journal_folder(dir.path()), Err(OfflineError::Missing(_))));
    std::fs::create_dir(dir.path().join("journal")).unwrap();
    assert_eq!(journal_folder(dir.path()).unwrap(), dir.path().join("journal"));
}
