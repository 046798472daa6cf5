//! Encoded appends: they equal the appended ones, from any starting point.

use crate::plan::{open, records};
use foreseal_journal::RawAppend;
use foreseal_simulated_disk::SimulatedDisk;

/// Enough for several segments.
const APPENDS: usize = 40;

#[test]
fn raw_bytes_read_back_equal_the_appended_bytes() {
    let disk = SimulatedDisk::default();
    let (mut journal, _) = open(&disk, 0).unwrap();
    assert_eq!(journal.newest(), None);
    let mut made: Vec<RawAppend> = Vec::new();
    for index in 0..APPENDS {
        let appended = records(&vec![vec![u8::try_from(index).unwrap(); 300 * (index % 9)]; 1 + index % 3]);
        journal.append(&appended).unwrap();
        let newest = journal.newest().unwrap();
        assert_eq!(newest.sequence, index as u64);
        assert_eq!(format!("{:?}", newest.decode().unwrap().records), format!("{appended:?}"));
        made.push(newest);
    }
    // At opening the journal was empty; `up_to` sets how far the reader may read.
    let reader = journal.reader();
    assert_eq!(reader.raw_appends(0).unwrap().count(), 0);
    for end in [1, 7, APPENDS] {
        let reader = reader.up_to(end as u64);
        for from in 0..=end {
            let read: Vec<RawAppend> = reader.raw_appends(from as u64).unwrap().map(Result::unwrap).collect();
            assert_eq!(read, made[from..end], "{from} to {end}");
        }
    }
    let (journal, _) = open(&disk, 1).unwrap();
    let again: Vec<RawAppend> = journal.reader().raw_appends(0).unwrap().map(Result::unwrap).collect();
    assert_eq!(again, made);
}

#[test]
fn after_removal_reading_begins_with_the_oldest_segment() {
    let disk = SimulatedDisk::default();
    let (mut journal, _) = open(&disk, 0).unwrap();
    for index in 0..APPENDS {
        journal.append(&records(&vec![vec![u8::try_from(index).unwrap(); 900]])).unwrap();
    }
    assert!(journal.remove_segments_before(30).unwrap() > 0);
    let (first, reader) = (journal.first_sequence(), journal.reader().up_to(APPENDS as u64));
    let read: Vec<u64> = reader.raw_appends(3).unwrap().map(|raw| raw.unwrap().sequence).collect();
    assert!(first > 3 && first <= 30);
    assert_eq!(read, (first..APPENDS as u64).collect::<Vec<_>>());
}

#[test]
fn journals_with_other_salts_hash_content_alike() {
    let newest = |round: u8, blocks: &[u8]| {
        let (mut journal, _) = open(&SimulatedDisk::default(), round).unwrap();
        journal.append(&records(&vec![vec![1]])).unwrap();
        journal.append(&records(&vec![blocks.to_vec()])).unwrap();
        journal.newest().unwrap()
    };
    let raw = newest(0, &[2, 3]);
    assert_eq!(raw, newest(1, &[2, 3]));
    assert_eq!(raw, RawAppend::encode(1, &records(&vec![vec![2, 3]])));
    assert_ne!(raw.hash, newest(0, &[2, 4]).hash);
}

#[test]
fn the_content_hash_covers_number_count_and_records() {
    let expected = blake3::hash(&[7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0xc0]);
    let hash = RawAppend::content_hash(7, 2, &[3, 0xc0]);
    assert_eq!(hash.as_slice(), expected.as_bytes());
    let raw = RawAppend { sequence: 7, hash, count: 2, records: vec![3, 0xc0] };
    assert!(raw.is_consistent());
    assert!(!RawAppend { sequence: 8, ..raw.clone() }.is_consistent());
    assert!(!RawAppend { count: 1, ..raw.clone() }.is_consistent());
    assert!(!RawAppend { records: vec![3, 0xc1], ..raw }.is_consistent());
}

#[test]
fn bytes_that_are_not_records_are_named() {
    let raw = RawAppend::new(7, 2, vec![3, 0xc0]);
    let error = raw.decode().unwrap_err();
    assert_eq!((error.sequence, error.index), (7, 0));
}
