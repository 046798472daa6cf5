//! The journal on the machine's own file system.

use std::{path::Path, sync::Arc};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, FixedBytes, U256};
use foreseal_journal::{
    DirLock, Identity, JournalError, JournalOptions, LocalJournal, LockError, OfflineError, OfflineJournal,
    RealDisk, Record, RecordSummary,
};
use foreseal_primitives::{
    Account, AccountDiff, Change, ChangedAccount, Flashblock, Override, StateDiff, Transaction,
};

const IDENTITY: Identity = Identity { chain_id: 31_337, genesis: B256::repeat_byte(7) };

fn options() -> JournalOptions {
    JournalOptions { segment_bytes: 4096, ..JournalOptions::new(IDENTITY, [9; 32]) }
}

fn open(dir: &Path) -> LocalJournal {
    let (journal, recovery) = LocalJournal::open(dir, Arc::new(RealDisk), options()).unwrap();
    assert_eq!((recovery.torn_tail, recovery.unfinished_segment), (None, None));
    journal
}

fn open_error(dir: &Path, options: JournalOptions) -> JournalError {
    LocalJournal::open(dir, Arc::new(RealDisk), options).err().expect("refused")
}

fn read(journal: &LocalJournal) -> Vec<Record> {
    journal.replay().unwrap().flat_map(|append| append.unwrap().records).collect()
}

fn import(length: usize) -> Record {
    Record::Import { block: vec![5; length].into() }
}

fn diff() -> Arc<StateDiff> {
    let account = Account { nonce: 3, balance: U256::from(5), ..Account::default() };
    let storage = vec![(U256::from(1), U256::MAX)];
    let diff = AccountDiff { account: Some(account), wiped: true, storage };
    let accounts = vec![ChangedAccount { address: Address::repeat_byte(2), diff }];
    Arc::new(StateDiff { accounts, codes: vec![] })
}

/// A step with one signed transaction (the example of EIP-155).
fn step() -> Arc<Flashblock> {
    let raw = "f86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a0\
               28ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a0\
               67cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83";
    let raw: Bytes = raw.parse().unwrap();
    let header = Header { number: 8, gas_used: 21_000, ..Header::default() };
    Arc::new(Flashblock {
        number: 8,
        index: 1,
        previous: B256::repeat_byte(1),
        hash: header.hash_slow(),
        header,
        time: 1_700_000_000_123,
        signature: Some(FixedBytes::repeat_byte(7)),
        transactions: vec![Arc::new(Transaction::decode(&raw).unwrap())],
        receipts: vec![],
        diff: diff(),
        end_of_block_diff: Arc::default(),
    })
}

#[test]
fn every_kind_of_record_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    let change = Override { address: Address::repeat_byte(9), change: Change::Nonce(3) };
    let records = [
        Record::Open { header: Box::new(Header { number: 8, ..Header::default() }) },
        Record::Step(step()),
        Record::Seal { number: 8, hash: B256::repeat_byte(3) },
        Record::Import { block: Bytes::from_static(b"\xc0") },
        Record::Override { change, step: step() },
        Record::Clock { offset: -5 },
        Record::Clock { offset: i64::MAX },
        Record::Unwind { number: 7, hash: B256::repeat_byte(4) },
        Record::Finality { safe: 7, finalized: 0, trails: true },
    ];
    let mut journal = open(dir.path());
    assert_eq!(journal.append(&records[..3]).unwrap(), 0);
    assert_eq!(journal.append(&records[3..]).unwrap(), 1);
    drop(journal);
    let read = read(&open(dir.path()));
    assert_eq!(format!("{read:?}"), format!("{records:?}"));
}

#[test]
fn appends_continue_after_reopening_and_replay_ends_at_opening() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).append(&[import(1)]).unwrap();
    let mut journal = open(dir.path());
    let replay = journal.replay().unwrap();
    assert_eq!(journal.append(&[import(2), import(3)]).unwrap(), 1);
    assert_eq!(replay.map(|a| a.unwrap().records.len()).collect::<Vec<_>>(), [1]);
    drop(journal);
    assert_eq!(read(&open(dir.path())).len(), 3);
}

#[test]
fn segments_roll_over_and_a_large_append_gets_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    let lengths = [3000, 10_000, 100, 3500, 400, 2_000_000, 0];
    for length in lengths {
        journal.append(&[import(length)]).unwrap();
    }
    drop(journal);
    let mut sizes: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().metadata().unwrap().len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [4096, 4096, 4096, 4096, 4608, 10_752, 2_000_896]);
    let read: Vec<_> = read(&open(dir.path()))
        .into_iter()
        .map(|r| match r {
            Record::Import { block } => block.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(read, lengths);
}

#[test]
fn removing_the_oldest_segments_leaves_a_valid_chain() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    for _ in 0..10 {
        journal.append(&[import(1200)]).unwrap(); // two in a segment
    }
    assert_eq!(journal.remove_segments_before(5).unwrap(), 2);
    assert_eq!(journal.first_sequence(), 4);
    drop(journal);
    let mut journal = open(dir.path());
    assert_eq!((journal.first_sequence(), journal.next_sequence()), (4, 10));
    let from = |sequence| -> Vec<u64> {
        journal.replay_from(sequence).unwrap().map(|append| append.unwrap().sequence).collect()
    };
    for sequence in 0..=4 {
        assert_eq!(from(sequence), [4, 5, 6, 7, 8, 9], "from the oldest that is kept");
    }
    assert_eq!((from(5), from(8), from(9), from(10)), (vec![5, 6, 7, 8, 9], vec![8, 9], vec![9], vec![]));
    assert_eq!(journal.remove_segments_before(u64::MAX).unwrap(), 2);
    assert_eq!(journal.first_sequence(), 8);
}

#[test]
fn replay_reads_the_opening_state_while_appends_continue() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path());
    for _ in 0..6 {
        journal.append(&[import(1200)]).unwrap(); // two in a segment
    }
    drop(journal);
    let mut journal = open(dir.path());
    let reader = journal.reader();
    for _ in 0..6 {
        journal.append(&[import(1200)]).unwrap();
    }
    let outlined = |last| {
        let mut seen = Vec::new();
        reader
            .summaries(last, &mut |sequence, outlines| {
                assert_eq!(outlines, [RecordSummary::Import]);
                seen.push(sequence);
            })
            .unwrap();
        seen
    };
    let read = |wanted: &[u64]| {
        let mut seen = Vec::new();
        let wanted = wanted.iter().copied().collect();
        reader.read(&wanted, &mut |append| seen.push((append.sequence, append.records.len()))).unwrap();
        seen
    };
    assert_eq!((outlined(u64::MAX), outlined(3)), (vec![0, 1, 2, 3, 4, 5], vec![0, 1, 2, 3]));
    assert_eq!(read(&[1, 5, 8]), [(1, 1), (5, 1)]);
    journal.remove_segments_before(4).unwrap();
    assert_eq!(outlined(u64::MAX), [4, 5], "segments that went are passed over");
    assert_eq!(read(&[1, 5]), [(5, 1)]);
    journal.remove_segments_before(u64::MAX).unwrap();
    assert_eq!(outlined(u64::MAX), [0; 0]);
}

#[test]
fn another_chain_is_rejected_by_name() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let other = Identity { chain_id: 1, ..IDENTITY };
    let error = open_error(dir.path(), JournalOptions::new(other, [0; 32]));
    assert!(
        matches!(error, JournalError::WrongChain { identity, expected } if (identity, expected) == (IDENTITY, other))
    );
    assert!(error.to_string().contains("found chain 31337 with genesis 0x0707"), "{error}");
}

#[test]
fn a_second_process_cannot_lock_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_owned();
    let lock = DirLock::acquire(&data).unwrap();
    let error = DirLock::acquire(&data).unwrap_err();
    assert!(matches!(error, LockError::DataDirInUse { pid, .. } if pid == Some(std::process::id())));
    let line = format!("data directory {} is in use by process {}", data.display(), std::process::id());
    assert_eq!(error.to_string(), line);
    drop(lock);
    DirLock::acquire(&data).unwrap();
}

#[test]
fn a_child_process_does_not_inherit_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let lock = DirLock::acquire(dir.path()).unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    drop(lock);
    let again = DirLock::acquire(dir.path());
    child.kill().unwrap();
    child.wait().unwrap();
    again.unwrap();
}

#[test]
fn a_segment_larger_than_any_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let options = JournalOptions { segment_bytes: u64::MAX, ..options() };
    assert!(matches!(open_error(dir.path(), options), JournalError::Io { action: "create", .. }));
    let (_, recovery) = LocalJournal::open(dir.path(), Arc::new(RealDisk), self::options()).unwrap();
    assert_eq!(recovery.unfinished_segment, Some(1));
}

#[test]
fn a_closed_journal_is_checked_and_repaired_under_lock() {
    let data = tempfile::tempdir().unwrap();
    let missing = OfflineJournal::lock(data.path()).unwrap_err();
    assert_eq!(missing.to_string(), format!("{} has no journal", data.path().display()));
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0, "nothing is left behind");

    let dir = data.path().join("journal");
    let mut journal = open(&dir);
    for length in [10, 20, 3000] {
        journal.append(&[import(length)]).unwrap();
    }
    drop(journal);
    let lock = DirLock::acquire(data.path()).unwrap();
    assert!(matches!(OfflineJournal::lock(data.path()).unwrap_err(), OfflineError::Lock(_)));
    drop(lock);

    let segment = dir.join("0000000001.segment");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[610] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let offline = OfflineJournal::lock(data.path()).unwrap();
    let (report, repair) = offline.plan_repair().unwrap();
    assert_eq!((report.appends, report.is_sound()), (0, false));
    assert_eq!(repair.as_ref().map(|repair| repair.loss().appends), Some(3));
    repair.unwrap().apply().unwrap();
    assert_eq!(offline.check().unwrap().to_string().lines().last(), Some("sound"));
    assert_eq!(read(&open(&dir)).len(), 0);
}
