//! Damage to synced data is reported with its position, never skipped, and never causes a panic.

use std::sync::Arc;

use crate::plan::{Blocks, damage, dir, end_path, noise, open, path, read, written};
use foreseal_journal::{Disk as _, JournalError, JournalPosition, plan_repair};
use foreseal_simulated_disk::SimulatedDisk;
use proptest::prelude::*;

/// Number of segments of the written journal; then the offset of its last append and the end of that append.
const SEGMENTS: u64 = 6;
const LAST_APPEND: u64 = 1536;
const LAST_END: u64 = 3584;

/// Opens a damaged journal. Returns the position if the journal is rejected; otherwise checks that all of it
/// is read.
fn verdict(disk: &SimulatedDisk, plan: &[Blocks]) -> Option<JournalPosition> {
    match open(disk, 1) {
        Ok((journal, recovery)) => {
            assert!(read(&journal) == plan);
            // A flipped bit in the free space after the end is reported and cut.
            let free = JournalPosition { segment: SEGMENTS, offset: LAST_END };
            assert!(recovery.torn_tail.is_none_or(|torn| torn.position == free));
            None
        }
        Err(JournalError::Corrupt { position, .. } | JournalError::Missing { position, .. }) => {
            Some(position)
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_written_journal_matches_the_format_description() {
    let (disk, plan) = written();
    assert_eq!(disk.files().len() as u64, SEGMENTS + 1, "and the recorded end");
    assert_eq!(disk.content(&path(4)).unwrap().len(), 8704);
    let last = disk.content(&path(SEGMENTS)).unwrap();
    let append = usize::try_from(LAST_APPEND).unwrap();
    assert_eq!(last[append..append + 8], *b"FSEALAPP");
    let end = usize::try_from(LAST_END).unwrap();
    assert!(last[end - 512..end].iter().any(|&b| b != 0) && last[end..].iter().all(|&b| b == 0));
    assert_eq!(verdict(&disk, &plan), None);
    assert!(read(&open(&disk, 1).unwrap().0) == plan);
}

/// Flips one bit of every byte of every segment.
#[test]
fn a_flipped_bit_is_named() {
    let (disk, plan) = written();
    let mut rejected = 0;
    for segment in 1..=SEGMENTS {
        let size = disk.content(&path(segment)).unwrap().len();
        for at in 0..size {
            let disk = disk.fork();
            damage(&disk, segment, |content| content[at] ^= 1 << (at % 8));
            let at = at as u64;
            match verdict(&disk, &plan) {
                Some(position) => {
                    rejected += 1;
                    assert_eq!(position.segment, segment);
                    assert!(position.offset <= at, "{position} for {at}");
                }
                // Padding has no meaning, as long as no append is lost with it.
                None => assert!(read(&open(&disk, 1).unwrap().0) == plan, "segment {segment}, byte {at}"),
            }
        }
    }
    assert!(rejected > 20_000, "{rejected}");
}

/// Flips bits before the last append of a journal whose recorded end is lost, so that only the scan can find them.
#[test]
fn a_flipped_bit_is_named_without_the_recorded_end() {
    let (disk, plan) = written();
    disk.remove(&end_path()).unwrap();
    for (segment, size) in [(SEGMENTS - 1, 4096), (SEGMENTS, LAST_APPEND)] {
        for at in 0..size {
            let disk = disk.fork();
            damage(&disk, segment, |content| content[usize::try_from(at).unwrap()] ^= 1 << (at % 8));
            if let Some(position) = verdict(&disk, &plan) {
                assert!(position.segment == segment && position.offset <= at, "{position} for {at}");
            }
        }
    }
}

#[test]
fn a_lost_sector_is_named() {
    let (disk, plan) = written();
    for segment in 1..=SEGMENTS {
        let size = disk.content(&path(segment)).unwrap().len();
        for at in (0..size).step_by(512) {
            let disk = disk.fork();
            damage(&disk, segment, |content| content[at..at + 512].fill(0));
            let verdict = verdict(&disk, &plan);
            assert!(
                verdict.is_none_or(|position| position.segment == segment && position.offset <= at as u64)
            );
            let zeros = segment == SEGMENTS && at as u64 >= LAST_END;
            assert!(verdict.is_some() || segment < SEGMENTS || zeros, "byte {at}");
        }
    }
}

/// The size of a segment is synced before its header is written. So a partial header alone is not a segment
/// in creation.
#[test]
fn a_segment_cut_inside_its_header_is_named() {
    let (original, plan) = written();
    for segment in 1..=SEGMENTS {
        for size in 1..512 {
            let disk = original.fork();
            damage(&disk, segment, |content| content.truncate(size));
            assert_eq!(verdict(&disk, &plan), Some(JournalPosition { segment, offset: 0 }), "{size} bytes");
        }
    }
}

/// The zeros of an older segment have no meaning: the next segment shows that no append is missing.
#[test]
fn garbage_at_the_end_of_an_older_segment_is_ignored() {
    let (disk, plan) = written();
    damage(&disk, 5, |content| content[3584..].copy_from_slice(&noise(512, 3)));
    assert_eq!(verdict(&disk, &plan), None);
    assert!(read(&open(&disk, 1).unwrap().0) == plan);
    let cut = disk.fork();
    // The exception: the header of the last segment is gone with all its content, so nothing proves it.
    damage(&disk, SEGMENTS, |content| content.fill(0));
    assert_eq!(verdict(&disk, &plan), Some(JournalPosition { segment: 5, offset: 3584 }));
    damage(&cut, 5, |content| content.truncate(3584));
    assert_eq!(verdict(&cut, &plan), None);
    damage(&cut, SEGMENTS, |content| content.fill(0));
    assert_eq!(verdict(&cut, &plan), Some(JournalPosition { segment: 5, offset: 3584 }));
}

#[test]
fn a_missing_last_append_of_an_older_segment_is_detected() {
    let (disk, plan) = written();
    // Segment 2 holds only one append.
    damage(&disk, 2, |content| content[512..].fill(0));
    assert_eq!(verdict(&disk, &plan), Some(JournalPosition { segment: 2, offset: 512 }));
}

#[test]
fn segments_missing_renamed_or_cut_are_named() {
    let (original, plan) = written();
    let at = |segment, offset| Some(JournalPosition { segment, offset });
    let disk = original.fork();
    disk.remove_file(&path(3));
    assert_eq!(verdict(&disk, &plan), at(3, 0));

    let disk = original.fork();
    let (second, third) = (disk.content(&path(2)).unwrap(), disk.content(&path(3)).unwrap());
    disk.set_content(&path(2), &third);
    disk.set_content(&path(3), &second);
    assert_eq!(verdict(&disk, &plan), at(2, 0));

    // The good appends before the cut are found, and the missing ones after them are detected.
    for (segment, offset) in [(1, 512), (2, 512), (3, 512), (4, 512), (5, 512), (SEGMENTS, 512)] {
        let disk = original.fork();
        damage(&disk, segment, |content| content.truncate(1024));
        assert_eq!(verdict(&disk, &plan), at(segment, offset));
    }
    let disk = original.fork();
    damage(&disk, SEGMENTS, |content| content.truncate(usize::try_from(LAST_END).unwrap()));
    assert_eq!(verdict(&disk, &plan), at(SEGMENTS, LAST_END), "zeros are missing, or appends: nobody knows");
}

#[test]
fn bytes_added_to_a_segment_are_ignored() {
    let (disk, plan) = written();
    for segment in 1..=SEGMENTS {
        damage(&disk, segment, |content| content.extend(noise(3000, segment)));
    }
    assert_eq!(verdict(&disk, &plan), None);
    assert!(read(&open(&disk, 1).unwrap().0) == plan);
}

#[test]
fn an_append_copied_over_another_is_named() {
    let (disk, plan) = written();
    damage(&disk, 1, |content| content.copy_within(512..1536, 1536));
    assert_eq!(verdict(&disk, &plan), Some(JournalPosition { segment: 1, offset: 1536 }));
}

/// Replaces magic and format number in the header of the first segment.
fn set_format(disk: &SimulatedDisk, magic: [u8; 8], format: u8) {
    damage(disk, 1, |content| {
        content[..8].copy_from_slice(&magic);
        content[8] = format;
        let check = crc32c::crc32c(&content[..508]);
        content[508..512].copy_from_slice(&check.to_le_bytes());
    });
}

#[test]
fn a_newer_format_is_rejected_as_newer() {
    let (disk, _) = written();
    set_format(&disk, *b"FSEGMENT", 2);
    let error = open(&disk, 1).err().unwrap();
    assert!(matches!(error, JournalError::NewerFormat { version: 2, supported: 1 }));
}

/// Opening and repair reject each format of such a program, and change nothing.
#[test]
fn a_journal_of_an_unreleased_program_is_rejected_unchanged() {
    for format in 1..=3 {
        let (disk, _) = written();
        set_format(&disk, *b"FSEALSEG", format);
        let files = |disk: &SimulatedDisk| -> Vec<_> {
            disk.files().into_iter().map(|file| (disk.content(&file), file)).collect()
        };
        let before = files(&disk);
        let opened = open(&disk, 1).err().unwrap();
        assert!(opened.to_string().contains("start with an empty data directory"), "{opened}");
        let planned = plan_repair(dir(), Arc::new(disk.clone())).err().unwrap();
        for error in [opened, planned] {
            assert!(matches!(error, JournalError::Unreleased { path: segment } if segment == path(1)));
        }
        assert!(files(&disk) == before);
    }
}

#[test]
fn files_of_other_names_are_left_alone() {
    let (disk, plan) = written();
    for name in ["notes.txt", "1.segment", "00000000001.segment", "+000000007.segment", ".segment"] {
        disk.set_content(&dir().join(name), b"other");
    }
    assert!(read(&open(&disk, 1).unwrap().0) == plan);
}

/// Generates a change to the files: bytes of one copied over another, or noise.
fn splice() -> impl Strategy<Value = (u64, prop::sample::Index, u64, prop::sample::Index, usize, u64)> {
    let position = || (1..=SEGMENTS, any::<prop::sample::Index>());
    let length = prop_oneof![Just(1usize), Just(512), Just(1024), 1..4096usize];
    (position(), position(), length, any::<u64>()).prop_map(|((s, i), (t, j), n, seed)| (s, i, t, j, n, seed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// No damage causes a panic, and the appends that are read, after a repair if needed, are a prefix of
    /// those written.
    #[test]
    fn garbage_is_rejected_or_truncated(splices in prop::collection::vec(splice(), 1..6)) {
        let (disk, plan) = written();
        for (from, i, to, j, length, seed) in splices {
            let source = if seed % 2 == 0 { disk.content(&path(from)).unwrap() } else { noise(length, seed) };
            let start = i.index(source.len()) / 512 * 512;
            let chunk = source[start..source.len().min(start + length)].to_vec();
            damage(&disk, to, |content| {
                let start = j.index(content.len()) / 512 * 512;
                let end = content.len().min(start + chunk.len());
                content[start..end].copy_from_slice(&chunk[..end - start]);
            });
        }
        match open(&disk, 1) {
            Ok((journal, _)) => {
                let there = read(&journal);
                prop_assert!(there == plan[..there.len()]);
            }
            Err(JournalError::Corrupt { .. } | JournalError::Missing { .. }) => {
                let (report, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
                repair.expect("corrupt").apply().unwrap();
                let there = read(&open(&disk, 1).unwrap().0);
                prop_assert!(there == plan[..there.len()] && there.len() as u64 == report.appends);
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }

    /// Files that never were a journal.
    #[test]
    fn noise_is_rejected_or_removed(files in prop::collection::vec((0..9000usize, any::<u64>()), 1..4)) {
        let disk = SimulatedDisk::default();
        for ((length, seed), segment) in files.into_iter().zip(1..) {
            disk.set_content(&path(segment), &noise(length, seed));
        }
        match open(&disk, 1) {
            Ok((journal, recovery)) => {
                prop_assert_eq!(journal.next_sequence(), 0);
                prop_assert_eq!(recovery.unfinished_segment, Some(1));
            }
            Err(error) => {
                let corrupt = matches!(error, JournalError::Corrupt { .. });
                prop_assert!(corrupt, "{error}");
            }
        }
    }
}
