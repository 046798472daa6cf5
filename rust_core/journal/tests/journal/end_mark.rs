//! The recorded end of the journal: the losses it proves, and the fencing of writers.

use std::{fs, path::Path, sync::Arc};

use crate::plan::{Blocks, IDENTITY, damage, dir, end_path, noise, open, path, read, records, written};
use foreseal_journal::{
    EndState, JournalError, JournalOptions, JournalPosition, LocalJournal, RealDisk, check, plan_acceptance,
    plan_repair,
};
use foreseal_simulated_disk::{DiskFault, SimulatedDisk};

/// The written journal, closed cleanly.
fn closed() -> (SimulatedDisk, Vec<Blocks>) {
    let (disk, plan) = written();
    open(&disk, 1).unwrap().0.close().unwrap();
    (disk, plan)
}

fn missing(disk: &SimulatedDisk) -> (u64, u64) {
    let operations = disk.operations();
    let error = open(disk, 2).err().expect("refused");
    assert_eq!(disk.operations(), operations + 1, "nothing but the folder is made");
    match &error {
        JournalError::Missing { next, mark, .. } => {
            let prefix = format!("journal has lost {} acknowledged appends at ", mark.next - next);
            assert!(error.to_string().starts_with(&prefix), "{error}");
            assert!(error.to_string().contains("`foreseal journal repair`"), "{error}");
            (*next, mark.next)
        }
        other => panic!("{other}"),
    }
}

/// Zeroes the last 40 % of the used bytes, over all segments.
fn zero_the_tail(disk: &SimulatedDisk) {
    let used = |segment| {
        let content = disk.content(&path(segment)).unwrap();
        content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
    };
    let mut left = (1..=6).map(used).sum::<usize>() * 4 / 10;
    for segment in (1..=6).rev() {
        let used = used(segment);
        let zeroed = left.min(used);
        damage(disk, segment, |content| content[used - zeroed..].fill(0));
        left -= zeroed;
    }
}

#[test]
fn a_zeroed_tail_is_rejected_after_stop_and_kill() {
    for disk in [closed().0, written().0] {
        zero_the_tail(&disk);
        match open(&disk, 2).err().expect("refused") {
            JournalError::Missing { mark, .. } => assert_eq!(mark.next, 9),
            JournalError::Corrupt { position, .. } => assert!(position.segment >= 4, "{position}"),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn missing_or_older_segments_are_detected() {
    for (original, plan) in [closed(), written()] {
        let disk = original.fork();
        disk.remove_file(&path(6));
        assert_eq!(missing(&disk), (7, 9));
        // An older copy of the newest segment, which holds only its first append.
        let disk = original.fork();
        damage(&disk, 6, |content| content[1536..].fill(0));
        assert_eq!(missing(&disk), (8, 9));
        // An older copy of the whole directory.
        let disk = original.fork();
        (4..=6).for_each(|segment| disk.remove_file(&path(segment)));
        assert_eq!(missing(&disk).1, 9);
        (1..=3).for_each(|segment| disk.remove_file(&path(segment)));
        assert_eq!(missing(&disk), (0, 9));
        assert!(read(&open(&original, 2).unwrap().0) == plan);
    }
}

#[test]
fn another_journal_of_the_same_length_is_rejected() {
    let (disk, plan) = written();
    let (mut other, _) = open(&SimulatedDisk::default(), 5).unwrap();
    for blocks in &plan {
        other.append(&records(blocks)).unwrap();
    }
    let foreign = SimulatedDisk::default();
    let (mut journal, _) = open(&foreign, 5).unwrap();
    for seed in 0..9 {
        journal.append(&records(&vec![noise(100, seed)])).unwrap();
    }
    (1..=6).for_each(|segment| disk.remove_file(&path(segment)));
    for file in foreign.files().iter().filter(|file| **file != end_path()) {
        disk.set_content(file, &foreign.content(file).unwrap());
    }
    assert!(matches!(open(&disk, 2), Err(JournalError::OtherHistory { .. })));
}

#[test]
fn a_stop_mark_is_cleared_before_the_next_append() {
    let (disk, plan) = closed();
    let before = disk.content(&end_path()).unwrap();
    let (mut journal, _) = open(&disk, 2).unwrap();
    journal.append(&records(&plan[0])).unwrap();
    journal.close().unwrap();
    let blocks = vec![noise(10, 1)];
    journal.append(&records(&blocks)).unwrap();
    disk.lose_power(3);
    assert_ne!(disk.content(&end_path()).unwrap(), before);
    let there = read(&open(&disk, 3).unwrap().0);
    assert!(there == [plan.clone(), vec![plan[0].clone(), blocks]].concat());
}

/// The newest mark did not reach the disk, or the directory is a restored backup, which has none.
#[test]
fn an_older_or_missing_mark_does_not_reject_the_journal() {
    let (disk, plan) = closed();
    let mark = disk.content(&end_path()).unwrap();
    let (mut journal, _) = open(&disk, 2).unwrap();
    journal.append(&records(&plan[0])).unwrap();
    drop(journal);
    disk.set_content(&end_path(), &mark);
    assert_eq!(open(&disk, 3).unwrap().0.next_sequence(), 10);
    disk.remove_file(&end_path());
    assert_eq!(open(&disk, 4).unwrap().0.next_sequence(), 10);
}

#[test]
fn only_an_unrecorded_torn_append_is_cut_after_a_crash() {
    let (disk, plan) = written();
    let (mut journal, _) = open(&disk, 2).unwrap();
    disk.fail_at(disk.operations(), DiskFault::Broken);
    journal.append(&records(&vec![noise(300, 3)])).unwrap_err();
    disk.kill();
    let (journal, recovery) = open(&disk, 3).unwrap();
    assert!(recovery.torn_tail.is_some());
    assert!(read(&journal) == plan);
    drop(journal);
    let end = path(6);
    let mut content = disk.content(&end).unwrap();
    content[1600] ^= 1;
    disk.set_content(&end, &content);
    assert_eq!(missing(&disk), (8, 9));
    // Without the recorded end, nothing on this disk distinguishes it from a torn append.
    disk.remove_file(&end_path());
    assert!(open(&disk, 4).unwrap().1.torn_tail.is_some());
}

#[test]
fn only_a_repair_continues_after_a_loss() {
    let (disk, plan) = closed();
    disk.remove_file(&path(6));
    let report = check(dir(), Arc::new(disk.clone())).unwrap();
    assert!(!report.is_sound() && report.missing.is_some());
    let (_, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
    let repair = repair.expect("something is lost");
    let loss = repair.loss();
    assert_eq!((loss.appends, loss.recorded, loss.readable), (2, Some(9), 0));
    assert_eq!(loss.position, JournalPosition { segment: 5, offset: 3584 });
    repair.apply().unwrap();
    let (mut journal, recovery) = open(&disk, 3).unwrap();
    assert!(recovery.loss_accepted && journal.discarded() == (7..9));
    assert!(read(&journal) == plan[..7]);
    journal.append(&records(&plan[0])).unwrap();
    drop(journal);
    let (journal, recovery) = open(&disk, 4).unwrap();
    assert!(!recovery.loss_accepted, "the journal has continued");
    assert_eq!(journal.discarded(), 7..9);
}

/// The disk loses acknowledged appends a second time.
#[test]
fn an_accepted_loss_expires_with_the_next_append() {
    let (disk, plan) = closed();
    disk.remove_file(&path(6));
    let (_, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
    repair.unwrap().apply().unwrap();
    let (mut journal, _) = open(&disk, 3).unwrap();
    let before = disk.content(&path(5)).unwrap();
    let files = disk.files();
    journal.append(&records(&plan[0])).unwrap();
    journal.append(&records(&plan[1])).unwrap();
    drop(journal);
    // The recorded end is durable with the first append.
    disk.lose_power(5);
    disk.files().iter().filter(|file| !files.contains(file)).for_each(|file| disk.remove_file(file));
    disk.set_content(&path(5), &before);
    assert!(open(&disk, 4).map(|_| ()).unwrap_err().to_string().contains("has lost"));
    let (_, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
    repair.unwrap().apply().unwrap();
    assert_eq!(open(&disk, 5).unwrap().0.discarded().start, 7);
}

#[test]
fn a_loss_that_another_record_proves_can_be_accepted() {
    let (disk, plan) = closed();
    assert!(!open(&disk, 2).unwrap().1.loss_accepted);
    plan_acceptance(dir(), Arc::new(disk.clone())).unwrap().apply().unwrap();
    let (journal, recovery) = open(&disk, 3).unwrap();
    assert!(recovery.loss_accepted);
    assert!(read(&journal) == plan);
}

#[test]
fn a_mark_without_an_intact_copy_needs_a_repair() {
    let (original, plan) = closed();
    for at in [9, 100, 520, 1000] {
        let disk = original.fork();
        let mut mark = disk.content(&end_path()).unwrap();
        mark[at] ^= 16;
        disk.set_content(&end_path(), &mark);
        let (_, recovery) = open(&disk, 2).unwrap();
        assert_eq!(recovery.damaged_end, Some(if at < 512 { 0 } else { 512 }));
        assert_eq!(open(&disk, 3).unwrap().1.damaged_end, None, "it was written again");
    }
    let disk = original.fork();
    disk.set_content(&end_path(), &[0; 1024]);
    assert!(matches!(open(&disk, 2), Err(JournalError::EndDamaged { .. })));
    plan_repair(dir(), Arc::new(disk.clone())).unwrap().1.unwrap().apply().unwrap();
    assert!(read(&open(&disk, 3).unwrap().0) == plan);
}

#[test]
fn a_writer_is_fenced_by_the_next_one() {
    let disk = SimulatedDisk::default();
    let (mut first, _) = open(&disk, 1).unwrap();
    first.append(&records(&vec![vec![1]])).unwrap();
    let (mut second, _) = open(&disk, 2).unwrap();
    assert_eq!((first.epoch(), second.epoch()), (1, 2));
    let error = first.append(&records(&vec![vec![2]])).unwrap_err();
    assert!(matches!(error, JournalError::Fenced { ours: 1, epoch: Some(2) }), "{error}");
    assert!(error.to_string().contains("fenced by another writer with epoch 2"), "{error}");
    assert!(matches!(first.append(&[]), Err(JournalError::Poisoned { .. })));
    assert!(matches!(first.close(), Err(JournalError::Poisoned { .. })));
    second.append(&records(&vec![vec![3]])).unwrap();
    assert!(read(&open(&disk, 3).unwrap().0) == vec![vec![vec![1]], vec![vec![3]]]);
}

#[test]
fn two_writers_with_the_same_entropy_are_distinguished() {
    let disk = SimulatedDisk::default();
    let (mut first, _) = open(&disk, 1).unwrap();
    let (_second, _) = open(&disk, 1).unwrap();
    assert!(matches!(first.append(&[]), Err(JournalError::Fenced { .. })));
}

fn open_real(data: &Path) -> LocalJournal {
    let options = JournalOptions { segment_bytes: 4096, ..JournalOptions::new(IDENTITY, [1; 32]) };
    LocalJournal::open(&data.join("journal"), Arc::new(RealDisk), options).unwrap().0
}

#[test]
fn a_journal_that_is_shortened_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = open_real(folder.path());
    journal.append(&records(&vec![vec![1]])).unwrap();
    let segment = folder.path().join("journal/0000000001.segment");
    fs::OpenOptions::new().write(true).open(&segment).unwrap().set_len(100).unwrap();
    let error = journal.append(&records(&vec![vec![2]])).unwrap_err();
    assert!(matches!(error, JournalError::Shortened { length: 100, .. }), "{error}");
    assert_eq!(fs::metadata(&segment).unwrap().len(), 100, "nothing was written");
    assert!(matches!(journal.append(&[]), Err(JournalError::Poisoned { .. })));
}

#[test]
fn a_journal_that_is_moved_or_replaced_is_not_written() {
    type Change = fn(&Path);
    let renamed: Change = |data| fs::rename(data, data.with_file_name("other")).unwrap();
    let replaced: Change = |data| {
        fs::rename(data.join("journal"), data.join("old")).unwrap();
        fs::create_dir(data.join("journal")).unwrap();
        for entry in fs::read_dir(data.join("old")).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), data.join("journal").join(entry.file_name())).unwrap();
        }
    };
    let removed: Change = |data| fs::remove_dir_all(data.join("journal")).unwrap();
    let unmarked: Change = |data| fs::remove_file(data.join("journal.end")).unwrap();
    for change in [renamed, replaced, removed, unmarked] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut journal = open_real(&data);
        journal.append(&records(&vec![vec![1]])).unwrap();
        change(&data);
        let error = journal.append(&records(&vec![vec![2]])).unwrap_err();
        assert!(matches!(error, JournalError::Moved { .. }), "{error}");
        assert!(matches!(journal.append(&[]), Err(JournalError::Poisoned { .. })));
    }
}

#[test]
fn the_end_mark_records_the_state_of_the_journal() {
    let disk = SimulatedDisk::default();
    let state = || foreseal_journal::recorded_end(dir(), &disk).unwrap().map(|mark| (mark.state, mark.next));
    assert_eq!(state(), None);
    let (mut journal, _) = open(&disk, 1).unwrap();
    assert_eq!(state(), Some((EndState::Open, 0)));
    journal.append(&records(&vec![vec![1]])).unwrap();
    assert_eq!(state(), Some((EndState::Open, 1)));
    journal.close().unwrap();
    assert_eq!(state(), Some((EndState::Closed, 1)));
    plan_acceptance(dir(), Arc::new(disk.clone())).unwrap().apply().unwrap();
    assert_eq!(state(), Some((EndState::Repaired, 1)));
}
