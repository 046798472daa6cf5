//! A journal on a simulated disk with predetermined appends.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_primitives::B256;
use foreseal_journal::{Identity, JournalError, JournalOptions, LocalJournal, Record, Recovery};
use foreseal_simulated_disk::SimulatedDisk;
use proptest::prelude::*;

pub const IDENTITY: Identity = Identity { chain_id: 31_337, genesis: B256::repeat_byte(7) };

/// The records of one append, as bytes.
pub type Blocks = Vec<Vec<u8>>;

pub fn dir() -> &'static Path {
    Path::new("data/journal")
}

pub fn path(segment: u64) -> PathBuf {
    dir().join(format!("{segment:010}.segment"))
}

/// Path of the recorded end of the journal.
pub fn end_path() -> PathBuf {
    PathBuf::from("data/journal.end")
}

pub fn damage(disk: &SimulatedDisk, segment: u64, change: impl FnOnce(&mut Vec<u8>)) {
    let mut content = disk.content(&path(segment)).unwrap();
    change(&mut content);
    disk.set_content(&path(segment), &content);
}

/// Opens with small segments; `round` makes the salts differ.
pub fn open(disk: &SimulatedDisk, round: u8) -> Result<(LocalJournal, Recovery), JournalError> {
    let options = JournalOptions { segment_bytes: 4096, ..JournalOptions::new(IDENTITY, [round; 32]) };
    LocalJournal::open(dir(), Arc::new(disk.clone()), options)
}

pub fn records(blocks: &Blocks) -> Vec<Record> {
    blocks.iter().map(|block| Record::Import { block: block.clone().into() }).collect()
}

pub fn read(journal: &LocalJournal) -> Vec<Blocks> {
    let appends = journal.replay().unwrap().map(|append| append.unwrap());
    let mut next = journal.first_sequence();
    appends
        .map(|append| {
            assert_eq!(append.sequence, next);
            next += 1;
            append.records.into_iter().map(block).collect()
        })
        .collect()
}

fn block(record: Record) -> Vec<u8> {
    match record {
        Record::Import { block } => block.to_vec(),
        other => panic!("{other:?} was never written"),
    }
}

/// Generates appends of one to three records: most are small, some larger than a segment.
pub fn plan(appends: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Blocks>> {
    let length = prop_oneof![4 => 0..400usize, 2 => 400..3000usize, 1 => 3000..9000usize];
    let block = (length, any::<u64>()).prop_map(|(length, seed)| noise(length, seed));
    prop::collection::vec(prop::collection::vec(block, 1..4), appends)
}

/// Returns bytes with few zeros, different for every seed.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(length)
    .collect()
}

/// Returns a fixed journal of nine appends in six segments. The fifth append has a segment of its own size;
/// the last segment holds one append of two sectors and one of four.
pub fn written() -> (SimulatedDisk, Vec<Blocks>) {
    let lengths = [900, 1500, 100, 3000, 3400, 8000, 2500, 800, 1700];
    let plan: Vec<Blocks> =
        lengths.iter().zip(1..).map(|(&length, seed)| vec![noise(length, seed)]).collect();
    let disk = SimulatedDisk::default();
    let (mut journal, _) = open(&disk, 0).unwrap();
    for blocks in &plan {
        journal.append(&records(blocks)).unwrap();
    }
    (disk, plan)
}
