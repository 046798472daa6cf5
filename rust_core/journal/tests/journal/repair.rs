//! Reports of `check`, and the losses of a repair.

use std::sync::Arc;

use crate::plan::{Blocks, damage, dir, noise, open, path, read, records, written};
use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_journal::{
    JournalError, JournalPosition, JournalReport, LocalJournal, Record, check, plan_repair,
};
use foreseal_primitives::{BlockBytes, Flashblock};
use foreseal_simulated_disk::{DiskFault, SimulatedDisk};

fn report(disk: &SimulatedDisk) -> JournalReport {
    let operations = disk.operations();
    let report = check(dir(), Arc::new(disk.clone())).unwrap();
    assert_eq!(disk.operations(), operations, "check writes nothing");
    report
}

fn header(number: u64) -> Header {
    Header { number, ..Header::default() }
}

fn step(number: u64, index: u64) -> Record {
    let header = header(number);
    Record::Step(Arc::new(Flashblock {
        number,
        index,
        previous: B256::ZERO,
        hash: header.hash_slow(),
        header,
        time: 0,
        signature: None,
        transactions: vec![],
        receipts: vec![],
        diff: Arc::default(),
        end_of_block_diff: Arc::default(),
    }))
}

fn import(number: u64) -> Record {
    let block =
        BlockBytes { header: header(number), transactions: vec![], uncles: vec![], withdrawals: None };
    Record::Import { block: alloy_rlp::encode(block).into() }
}

fn journal(appends: &[Vec<Record>]) -> SimulatedDisk {
    let disk = SimulatedDisk::default();
    let (mut journal, _) = open(&disk, 0).unwrap();
    for records in appends {
        journal.append(records).unwrap();
    }
    disk
}

#[test]
fn the_report_names_head_and_step() {
    let hash = |number| header(number).hash_slow();
    let opened = |number| Record::Open { header: Box::new(header(number)) };
    let sealed = |number| Record::Seal { number, hash: hash(number) };
    let appends = [
        vec![import(1), import(2)],
        vec![opened(3), step(3, 0)],
        vec![step(3, 1)],
        vec![sealed(3), opened(4), step(4, 0)],
        vec![Record::Unwind { number: 2, hash: hash(2) }],
    ];
    let state = |appends: &[Vec<Record>]| {
        let report = report(&journal(appends));
        assert!(report.is_sound());
        assert_eq!(report.appends, appends.len() as u64);
        let head = report.head.map(|block| (block.number, block.hash));
        (head, report.step.map(|step| (step.number, step.index, step.hash)))
    };
    assert_eq!(state(&[]), (None, None));
    assert_eq!(state(&appends[..1]), (Some((2, hash(2))), None));
    assert_eq!(state(&appends[..3]), (Some((2, hash(2))), Some((3, 1, hash(3)))));
    assert_eq!(state(&appends[..4]), (Some((3, hash(3))), Some((4, 0, hash(4)))));
    assert_eq!(state(&appends), (Some((2, hash(2))), None));

    let report = report(&journal(&appends[..3]));
    assert_eq!((report.segments, report.appends, report.records), (2, 3, 5));
    let text = report.to_string();
    assert!(text.starts_with("chain 31337 with genesis 0x0707"), "{text}");
    assert!(text.contains("2 segments, 3 appends from 0 on, 5 records, 4096 bytes"), "{text}");
    assert!(text.ends_with(&format!("in progress: block 3, step 1 {}\nsound", hash(3))), "{text}");

    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["step"], serde_json::json!({"number": 3, "index": 1, "hash": hash(3)}));
    assert_eq!(json["fault"], serde_json::Value::Null);
}

#[test]
fn a_torn_tail_or_partial_segment_needs_no_repair() {
    for (operation, blocks, torn) in [(0, vec![noise(700, 1)], true), (0, vec![noise(5000, 1)], false)] {
        let disk = SimulatedDisk::default();
        let (mut journal, _) = open(&disk, 0).unwrap();
        journal.append(&records(&vec![vec![1]])).unwrap();
        disk.fail_at(disk.operations() + operation, DiskFault::Broken);
        journal.append(&records(&blocks)).unwrap_err();
        disk.kill();
        let (report, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
        assert!(repair.is_none() && report.is_sound());
        assert_eq!((report.torn_tail.is_some(), report.unfinished_segment.is_some()), (torn, !torn));
        assert_eq!(report.torn_tail, open(&disk, 1).unwrap().1.torn_tail);
    }
}

/// Repairs a damaged journal. Returns the number of remaining appends, and the number that the plan
/// discarded.
fn repaired(disk: &SimulatedDisk, plan: &[Blocks]) -> (usize, u64) {
    let (report, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
    let fault = report.fault.expect("damaged");
    match open(disk, 1).err().expect("refused") {
        JournalError::Corrupt { position, reason } => {
            assert_eq!((position, reason), (fault.position, fault.reason));
        }
        other => panic!("{other}"),
    }
    let repair = repair.expect("there is something to repair");
    let loss = repair.loss().clone();
    assert_eq!(loss.position, fault.position);
    assert!(loss.readable <= loss.appends && loss.records == loss.readable);
    repair.apply().unwrap();
    let (mut journal, recovery) = open(disk, 2).unwrap();
    assert_eq!(recovery.torn_tail, None);
    let there = read(&journal);
    assert!(there == plan[..there.len()]);
    assert_eq!(there.len() as u64, report.appends);
    // Production continues over a few segments.
    let more: Vec<Blocks> = (0..4).map(|seed| vec![noise(2000, seed)]).collect();
    for blocks in &more {
        journal.append(&records(blocks)).unwrap();
    }
    disk.lose_power(0);
    let (journal, _) = open(disk, 3).unwrap();
    assert!(read(&journal) == [&there, &more[..]].concat());
    (there.len(), loss.appends)
}

#[test]
fn a_repair_preserves_everything_before_the_damage() {
    let (original, plan) = written();
    let all = plan.len() as u64;
    // Segment, byte, appends before it, and the number of lost appends in the plan.
    for (segment, at, retained, lost) in [
        (1, 600, 0, all),
        (1, 1600, 1, all - 1),
        (2, 2000, 3, all - 3),
        (3, 4000, 4, all - 4),
        (4, 8000, 5, all - 5),
        // The appends behind the header cannot be read; the segments after it show their number.
        (1, 100, 0, all),
        (3, 300, 4, all - 4),
        // The recorded end shows the number.
        (6, 100, 7, 2),
    ] {
        let disk = original.fork();
        damage(&disk, segment, |content| content[at] ^= 4);
        assert_eq!(repaired(&disk, &plan), (retained, lost), "segment {segment}, byte {at}");
    }
}

#[test]
fn a_repair_after_lost_or_cut_segments_counts_the_loss() {
    let (original, plan) = written();
    let disk = original.fork();
    disk.remove_file(&path(3));
    assert_eq!(repaired(&disk, &plan), (4, 5));
    // Cut in an append, in its padding, between appends; in the zeros after the last one.
    for (length, retained, lost) in
        [(512, 7, 2), (1400, 7, 2), (1500, 8, 1), (1536, 8, 1), (3000, 8, 1), (3500, 9, 0), (3600, 9, 0)]
    {
        let disk = original.fork();
        damage(&disk, 6, |content| content.truncate(length));
        let (there, appends) = repaired(&disk, &plan);
        assert_eq!(there, retained, "{length}");
        assert_eq!(appends, lost, "{length}");
    }
}

#[test]
fn a_repair_can_be_interrupted_anywhere() {
    let (original, plan) = written();
    damage(&original, 2, |content| content[2000] ^= 4);
    let complete = original.fork();
    plan_repair(dir(), Arc::new(complete.clone())).unwrap().1.unwrap().apply().unwrap();
    for point in original.operations()..complete.operations() {
        for seed in 0..8 {
            let disk = original.fork();
            let (_, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
            disk.fail_at(point, DiskFault::Crash);
            repair.unwrap().apply().unwrap_err();
            disk.lose_power(seed);
            if let (_, Some(repair)) = plan_repair(dir(), Arc::new(disk.clone())).unwrap() {
                repair.apply().unwrap();
            }
            assert!(read(&open(&disk, 1).unwrap().0) == plan[..3]);
        }
    }
}

#[test]
fn the_reported_loss_lists_its_blocks() {
    let disk = journal(&[vec![import(1)], vec![import(2)], vec![import(3), import(4)], vec![step(5, 0)]]);
    // The second append is damaged; the two after it can be read.
    damage(&disk, 1, |content| content[512 + 1024 + 200] ^= 1);
    let (report, repair) = plan_repair(dir(), Arc::new(disk.clone())).unwrap();
    assert_eq!(report.head.map(|block| block.number), Some(1));
    let position = JournalPosition { segment: 1, offset: 1536 };
    let repair = repair.unwrap();
    let loss = repair.loss();
    assert_eq!((loss.position, loss.appends, loss.readable, loss.records), (position, 3, 2, 3));
    assert_eq!(loss.blocks, Some((3, 5)));
    let text = loss.to_string();
    assert!(
        text.starts_with("everything from 0000000001.segment, offset 1536 on: at least 3 appends"),
        "{text}"
    );
    assert!(text.contains("2 of them can be read, with 3 records of blocks 3 to 5"), "{text}");
}

#[test]
fn an_empty_or_missing_folder_is_reported() {
    let disk = SimulatedDisk::default();
    drop::<LocalJournal>(open(&disk, 0).unwrap().0);
    let report = report(&disk);
    assert_eq!((report.segments, report.appends, report.is_sound()), (1, 0, true));
    let missing = check(&dir().join("missing"), Arc::new(foreseal_journal::RealDisk)).unwrap_err();
    assert!(missing.to_string().starts_with("journal: cannot list data/journal/missing:"), "{missing}");
}
