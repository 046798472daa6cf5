//! Journals whose files were damaged.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_journal::{Identity, JournalError, JournalOptions, LocalJournal, Record, check, encode_records};
use foreseal_simulated_disk::SimulatedDisk;

use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "journal",
    longest: 64,
    memory: Memory { fixed: 16 << 20, each: 4096 },
    prepare: || {
        LazyLock::force(&WHOLE);
    },
    run,
};

const APPENDS: u64 = 6;
/// Size of a segment, which has room for two appends.
const SEGMENT_BYTES: u64 = 4 << 10;
const FOLDER: &str = "journal";

fn options() -> JournalOptions {
    let identity = Identity { chain_id: 7, genesis: B256::repeat_byte(7) };
    JournalOptions { segment_bytes: SEGMENT_BYTES, ..JournalOptions::new(identity, [9; 32]) }
}

fn records(append: u64) -> Vec<Record> {
    let header = Header { number: append, extra_data: vec![7; 900].into(), ..Header::default() };
    vec![Record::Open { header: Box::new(header) }, Record::Seal { number: append, hash: B256::ZERO }]
}

/// An undamaged journal with a few segments, and its files.
static WHOLE: LazyLock<(SimulatedDisk, Vec<PathBuf>)> = LazyLock::new(|| {
    let disk = SimulatedDisk::default();
    let (mut journal, _) = LocalJournal::open(Path::new(FOLDER), Arc::new(disk.clone()), options())
        .expect("a new journal opens");
    for append in 0..APPENDS {
        journal.append(&records(append)).expect("there is room");
    }
    let files = disk.files();
    assert!(files.len() >= 3, "{files:?}");
    (disk, files)
});

/// Checks that a damaged journal opens with consecutive appends, each as it was written, or reports where the
/// damage is.
///
/// Every five bytes of input are one change: the file, the offset (two bytes, big-endian), the kind of the
/// change and its operand.
fn run(input: &[u8]) {
    let (whole, files) = &*WHOLE;
    let disk = whole.fork();
    for change in input.as_chunks::<5>().0 {
        damage(&disk, files, *change);
    }
    let folder = Path::new(FOLDER);
    let report = check(folder, Arc::new(disk.fork()));
    match LocalJournal::open(folder, Arc::new(disk.clone()), options()) {
        Ok((journal, recovery)) => {
            let (first, kept) = read(&journal);
            assert_eq!((recovery.appends, first + kept), (kept, journal.next_sequence()));
            let report = report.expect("what opens can be checked");
            assert!(report.is_sound(), "{report:?}");
            assert_eq!(report.appends, kept);
            drop(journal);
            let (again, recovery) =
                LocalJournal::open(folder, Arc::new(disk), options()).expect("what was opened opens again");
            assert_eq!(
                (recovery.appends, recovery.torn_tail, recovery.unfinished_segment),
                (kept, None, None)
            );
            assert_eq!(read(&again), (first, kept));
        }
        Err(JournalError::Corrupt { reason, .. }) => assert!(!reason.is_empty()),
        Err(
            JournalError::WrongChain { .. }
            | JournalError::NewerFormat { .. }
            | JournalError::Missing { .. }
            | JournalError::OtherHistory { .. }
            | JournalError::EndDamaged { .. },
        ) => {}
        Err(other) => panic!("{other}"),
    }
}

fn damage(disk: &SimulatedDisk, files: &[PathBuf], [file, high, low, how, byte]: [u8; 5]) {
    let path = &files[usize::from(file) % files.len()];
    let Some(mut content) = disk.content(path) else { return };
    let at = usize::from(u16::from_be_bytes([high, low])) % content.len().max(1);
    match how % 8 {
        0 => content.truncate(at),
        1 => content.iter_mut().skip(at).for_each(|old| *old = 0),
        2 => content.iter_mut().skip(at).take(usize::from(byte) * 16).for_each(|old| *old = 0),
        3 => return disk.remove_file(path),
        4 => {
            let other = disk.content(&files[usize::from(byte) % files.len()]).unwrap_or_default();
            content.truncate(at);
            content.extend(other.get(at..).unwrap_or_default());
        }
        _ => content.iter_mut().skip(at).take(1).for_each(|old| *old ^= byte),
    }
    disk.set_content(path, &content);
}

/// Returns the sequence number of the first readable append and the number of readable appends. Each must be
/// equal to the append that was written with its sequence number.
fn read(journal: &LocalJournal) -> (u64, u64) {
    let first = journal.first_sequence();
    let mut count = 0;
    for append in journal.replay().expect("an open journal is read") {
        let append = append.expect("an open journal is whole");
        assert_eq!(append.sequence, first + count);
        let bytes = |records: &[Record]| {
            let mut out = Vec::new();
            encode_records(records, &mut out);
            out
        };
        assert_eq!(bytes(&append.records), bytes(&records(first + count)));
        count += 1;
    }
    (first, count)
}
