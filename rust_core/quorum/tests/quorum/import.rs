//! Disaster recovery: the newest appends of a journal are exported, and imported into a quorum store.

use std::{fs, path::Path, sync::Arc};

use alloy_primitives::B256;
use foreseal_journal::{Identity, JournalOptions, LocalJournal, OfflineJournal, RealDisk, Record};
use foreseal_quorum::{
    AppendSource, AppendSourceError, ImportError, ImportMode, JournalExport, JournalTail, KeyOperation,
    PART_SIZE, QuorumLog, QuorumRequest, QuorumStore, SourceAppends, import_journal, write_export,
};
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};

use crate::log::{append_many, keys, won};

/// Writes a journal with this many appends; every tenth append seals a block.
fn write_journal(datadir: &Path, appends: u64, fill: u8) {
    let folder = datadir.join("journal");
    fs::create_dir_all(&folder).unwrap();
    let identity = Identity { chain_id: 1, genesis: B256::ZERO };
    let options = JournalOptions { segment_bytes: 1 << 16, ..JournalOptions::new(identity, [7; 32]) };
    let (mut journal, _) = LocalJournal::open(&folder, Arc::new(RealDisk), options).unwrap();
    for sequence in journal.next_sequence()..appends {
        let record = if sequence % 10 == 9 {
            Record::Seal { number: sequence / 10, hash: B256::repeat_byte(fill) }
        } else {
            Record::Clock { offset: i64::from(fill) }
        };
        journal.append(&[record]).unwrap();
    }
    journal.close().unwrap();
}

fn tail(datadir: &Path) -> JournalTail {
    JournalTail::open(&OfflineJournal::lock(datadir).unwrap()).unwrap()
}

fn start() -> (Arc<SimulatedStore>, QuorumLog) {
    let quorum = Arc::new(SimulatedStore::new(1, FaultRates::default()));
    (quorum.clone(), QuorumLog::new(quorum, keys()))
}

#[test]
fn tail_has_300_appends_and_begins_with_a_sealed_block() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 25, 1);
    assert_eq!((tail(datadir.path()).first(), tail(datadir.path()).next()), (0, 25));
    write_journal(datadir.path(), 1005, 1);
    assert_eq!((tail(datadir.path()).first(), tail(datadir.path()).next()), (705, 1005));
}

#[test]
fn an_empty_store_gets_records_and_head_without_owner() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 405, 1);
    let (quorum, log) = start();
    let report = import_journal(&log, &tail(datadir.path()), ImportMode::OnlyEmpty).unwrap();
    assert_eq!((report.first, report.written, report.head.sequence), (105, 300, 404));
    let observed = log.observe().unwrap();
    assert_eq!((observed.owner, observed.head.unwrap().head), (None, report.head));
    let records = log.read_records(105, usize::MAX).unwrap();
    assert_eq!(records.len(), 300);
    let mut fence = won(&log, 1);
    append_many(&mut fence, 1, 10);
    drop(quorum);
}

#[test]
fn second_import_continues_only_if_forced() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 20, 1);
    let (_, log) = start();
    import_journal(&log, &tail(datadir.path()), ImportMode::OnlyEmpty).unwrap();
    let again = import_journal(&log, &tail(datadir.path()), ImportMode::Continue);
    assert!(matches!(again, Err(ImportError::QuorumAhead { head: 19, next: 20 })), "{again:?}");
    write_journal(datadir.path(), 30, 1);
    let strict = import_journal(&log, &tail(datadir.path()), ImportMode::OnlyEmpty);
    assert!(matches!(strict, Err(ImportError::NotEmpty { head: 19 })), "{strict:?}");
    let report = import_journal(&log, &tail(datadir.path()), ImportMode::Continue).unwrap();
    assert_eq!((report.first, report.written, report.head.sequence), (20, 10, 29));
    assert_eq!(log.read_records(0, usize::MAX).unwrap().len(), 30);
}

#[test]
fn other_history_is_rejected_even_if_forced() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_journal(one.path(), 20, 1);
    write_journal(other.path(), 30, 2);
    let (_, log) = start();
    import_journal(&log, &tail(one.path()), ImportMode::OnlyEmpty).unwrap();
    let result = import_journal(&log, &tail(other.path()), ImportMode::Continue);
    assert!(matches!(result, Err(ImportError::OtherHistory { head: 19 })), "{result:?}");
    write_journal(other.path(), 1000, 2);
    let result = import_journal(&log, &tail(other.path()), ImportMode::Continue);
    assert!(matches!(result, Err(ImportError::Gap { head: 19, first: 700 })), "{result:?}");
}

#[test]
fn import_with_lost_answers_is_complete() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 50, 1);
    let (quorum, log) = start();
    quorum.set_faults(FaultRates { lost_request: 100, lost_answer: 200, late: 0, doubled: 100, resent: 0 });
    let report = import_journal(&log, &tail(datadir.path()), ImportMode::OnlyEmpty).unwrap();
    quorum.set_faults(FaultRates::default());
    assert_eq!(log.observe().unwrap().head.unwrap().head, report.head);
    assert_eq!(log.read_records(0, usize::MAX).unwrap().len(), 50);
}

#[test]
fn late_repetitions_do_not_remove_imported_records() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 320, 1);
    let source = tail(datadir.path());
    for seed in 0..10 {
        let rates = FaultRates { doubled: 1000, ..FaultRates::default() };
        let quorum = Arc::new(SimulatedStore::new(seed, rates));
        let log = QuorumLog::new(quorum.clone(), keys());
        import_journal(&log, &source, ImportMode::OnlyEmpty).unwrap();
        quorum.set_faults(FaultRates::default());
        quorum.deliver_late();
        assert_eq!(log.read_records(20, usize::MAX).unwrap().len(), 300, "seed {seed}");
    }
}

#[test]
fn records_of_an_interrupted_import_are_removed() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 320, 1);
    let (quorum, log) = start();
    let stray = [0, 19, 320, 400]
        .map(|sequence| KeyOperation::Put { key: keys().record_part(sequence, 0), value: vec![1].into() });
    let (comparisons, failure) = (Vec::new(), Vec::new());
    quorum.call(&QuorumRequest::Transaction { comparisons, success: stray.to_vec(), failure }).unwrap();
    let report = import_journal(&log, &tail(datadir.path()), ImportMode::OnlyEmpty).unwrap();
    assert_eq!((report.first, report.head.sequence), (20, 319));
    let history = quorum.history();
    for sequence in [0, 19, 320, 400] {
        let key = keys().record_part(sequence, 0);
        assert_eq!(history.iter().rfind(|entry| entry.key == key).unwrap().value, None, "{sequence}");
    }
}

#[test]
fn export_imports_like_its_journal() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 405, 1);
    let file = datadir.path().join("export");
    assert_eq!(write_export(&tail(datadir.path()), &file).unwrap(), 300);
    assert!(write_export(&tail(datadir.path()), &file).is_err(), "the file exists");
    let export = JournalExport::open(&file).unwrap();
    let (_, of_journal) = start();
    let (_, of_export) = start();
    let expected = import_journal(&of_journal, &tail(datadir.path()), ImportMode::OnlyEmpty).unwrap();
    assert_eq!(import_journal(&of_export, &export, ImportMode::OnlyEmpty).unwrap(), expected);
    let records = |log: &QuorumLog| log.read_records(105, usize::MAX).unwrap();
    assert_eq!(records(&of_journal), records(&of_export));
}

/// A source whose reading fails after its first append.
struct FailingSource(JournalTail);

impl AppendSource for FailingSource {
    fn identity(&self) -> Identity {
        self.0.identity()
    }

    fn first(&self) -> u64 {
        self.0.first()
    }

    fn next(&self) -> u64 {
        self.0.next()
    }

    fn appends(&self, from: u64) -> Result<SourceAppends<'_>, AppendSourceError> {
        let failure = std::iter::once_with(|| Err(AppendSourceError::Damaged("a test".to_owned())));
        Ok(Box::new(self.0.appends(from)?.take(1).chain(failure)))
    }
}

#[test]
fn failed_export_leaves_no_file() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 20, 1);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export");
    // The rest of an export that was killed.
    fs::write(folder.path().join("export.partial"), [7; 5000]).unwrap();
    assert!(write_export(&FailingSource(tail(datadir.path())), &file).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    write_export(&tail(datadir.path()), &file).unwrap();
    JournalExport::open(&file).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn damaged_export_is_rejected() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 20, 1);
    let file = datadir.path().join("export");
    write_export(&tail(datadir.path()), &file).unwrap();
    let intact = fs::read(&file).unwrap();
    for length in (0..intact.len()).step_by(37) {
        fs::write(&file, &intact[..length]).unwrap();
        let result = JournalExport::open(&file);
        assert!(matches!(result, Err(AppendSourceError::Export(_))), "{length}");
    }
    for position in (0..intact.len()).step_by(11) {
        let mut flipped = intact.clone();
        flipped[position] ^= 1;
        fs::write(&file, &flipped).unwrap();
        assert!(matches!(JournalExport::open(&file), Err(AppendSourceError::Export(_))), "{position}");
    }
}

#[test]
fn append_of_several_parts_is_imported() {
    let datadir = tempfile::tempdir().unwrap();
    write_journal(datadir.path(), 3, 1);
    let folder = datadir.path().join("journal");
    let identity = Identity { chain_id: 1, genesis: B256::ZERO };
    let options = JournalOptions::new(identity, [8; 32]);
    let (mut journal, _) = LocalJournal::open(&folder, Arc::new(RealDisk), options).unwrap();
    journal.append(&[Record::Import { block: vec![3; 2 * PART_SIZE].into() }]).unwrap();
    journal.close().unwrap();
    drop(journal);
    let (_, log) = start();
    let report = import_journal(&log, &tail(datadir.path()), ImportMode::OnlyEmpty).unwrap();
    assert_eq!(report.head.parts, 3);
    assert_eq!(log.read_records(3, usize::MAX).unwrap().len(), 1);
}
