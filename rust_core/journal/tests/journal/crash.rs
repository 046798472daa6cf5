//! Acknowledged appends survive a crash at every point, power loss, and a full or failing disk.

use crate::plan::{Blocks, dir, noise, open, plan, read, records};
use foreseal_journal::{JournalError, LocalJournal};
use foreseal_simulated_disk::{DiskFault, SimulatedDisk};
use proptest::prelude::*;

/// Appends the rest of the plan until an append fails. Returns the number of acknowledged appends of the
/// plan.
fn append_all(journal: &mut LocalJournal, plan: &[Blocks], mut done: usize) -> usize {
    for blocks in &plan[done..] {
        let Ok(sequence) = journal.append(&records(blocks)) else {
            assert_poisoned(journal);
            break;
        };
        assert_eq!(sequence, done as u64);
        done += 1;
    }
    done
}

fn assert_poisoned(journal: &mut LocalJournal) {
    let first = journal.failure().expect("an error poisons").to_owned();
    let again = journal.append(&records(&vec![vec![1]])).unwrap_err();
    assert!(matches!(again, JournalError::Poisoned { cause } if cause == first));
}

/// Opens the journal after a crash and checks it against the acknowledged appends. Returns the number of
/// appends found.
fn reopen(
    disk: &SimulatedDisk,
    plan: &[Blocks],
    acknowledged: usize,
    round: u8,
) -> Result<(LocalJournal, usize), TestCaseError> {
    let (journal, _) = open(disk, round).map_err(|e| TestCaseError::fail(e.to_string()))?;
    let there = read(&journal);
    // One more append may exist, complete: the one in progress.
    prop_assert!(
        there.len() == acknowledged || there.len() == acknowledged + 1,
        "{} of {acknowledged}",
        there.len()
    );
    prop_assert!(there == plan[..there.len()]);
    prop_assert_eq!(journal.next_sequence(), there.len() as u64);
    Ok((journal, there.len()))
}

/// Runs the plan on an empty disk. Returns the number of acknowledged appends.
fn run(disk: &SimulatedDisk, plan: &[Blocks]) -> usize {
    open(disk, 0).map_or(0, |(mut journal, _)| append_all(&mut journal, plan, 0))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn acknowledged_appends_survive_power_loss_at_every_point(plan in plan(1..7), seed in any::<u64>()) {
        let complete = SimulatedDisk::default();
        prop_assert_eq!(run(&complete, &plan), plan.len());
        for point in 0..complete.operations() {
            let disk = SimulatedDisk::default();
            disk.fail_at(point, DiskFault::Crash);
            let acknowledged = run(&disk, &plan);
            for outcome in 0..8 {
                let disk = disk.fork();
                disk.lose_power(seed.wrapping_add(outcome));
                let (mut journal, there) = reopen(&disk, &plan, acknowledged, 1)?;
                // Everything that replay returned must survive from now on, and production continues.
                let done = append_all(&mut journal, &plan, there);
                prop_assert_eq!(done, plan.len());
                disk.lose_power(seed.wrapping_add(outcome));
                reopen(&disk, &plan[..done], done, 2)?;
            }
        }
    }
}

/// Generates one lifetime of the process: the failing operation counted from its start, the fault, `true` if
/// the machine loses power with the process, and a seed.
fn life() -> impl Strategy<Value = (u64, DiskFault, bool, u64)> {
    let fault =
        prop::sample::select(vec![DiskFault::Crash, DiskFault::Full, DiskFault::Short, DiskFault::Broken]);
    (0..24u64, fault, any::<bool>(), any::<u64>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Successive lifetimes, each ended by a fault: in recovery, in an append, or during the creation of a
    /// segment.
    #[test]
    fn acknowledged_appends_survive_many_restarts_and_faults(plan in plan(8..16), lives in prop::collection::vec(life(), 1..12)) {
        let disk = SimulatedDisk::default();
        let mut committed = 0;
        for (round, (operation, fault, power, seed)) in (1..).zip(lives) {
            disk.fail_at(disk.operations() + operation, fault);
            match open(&disk, round) {
                Ok((mut journal, _)) => {
                    let there = read_or_down(&journal);
                    let there = there.unwrap_or(committed);
                    prop_assert!(there == committed || there == committed + 1, "{there} of {committed}");
                    committed = append_all(&mut journal, &plan, there);
                }
                Err(JournalError::Io { .. } | JournalError::ShortWrite { .. }) => {}
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
            if power { disk.lose_power(seed) } else { disk.kill() }
        }
        let (mut journal, there) = reopen(&disk, &plan, committed, 100)?;
        let done = append_all(&mut journal, &plan, there);
        prop_assert_eq!(done, plan.len());
        disk.lose_power(0);
        reopen(&disk, &plan, done, 101)?;
    }
}

/// Returns the number of appends that replay yields; `None` if the machine stopped just before.
fn read_or_down(journal: &LocalJournal) -> Option<usize> {
    let appends: Result<Vec<_>, _> = journal.replay().ok()?.collect();
    appends.ok().map(|appends| appends.len())
}

/// Returns a disk with two small appends, its journal and the plan of three appends.
fn two_appends() -> (SimulatedDisk, LocalJournal, Vec<Blocks>) {
    let disk = SimulatedDisk::default();
    let plan: Vec<Blocks> = (1..4).map(|seed| vec![noise(700, seed)]).collect();
    let (mut journal, _) = open(&disk, 0).unwrap();
    assert_eq!(append_all(&mut journal, &plan[..2], 0), 2);
    (disk, journal, plan)
}

#[test]
fn after_a_failure_the_journal_writes_nothing_more() {
    for fault in [DiskFault::Full, DiskFault::Short, DiskFault::Broken] {
        // The write, then the sync.
        for operation in 0..2 {
            let (disk, mut journal, plan) = two_appends();
            disk.fail_at(disk.operations() + operation, fault);
            let error = journal.append(&records(&plan[2])).unwrap_err();
            match (fault, operation) {
                (DiskFault::Short, 0) => {
                    assert!(matches!(error, JournalError::ShortWrite { wanted: 1024, .. }));
                }
                _ => assert!(matches!(error, JournalError::Io { .. })),
            }
            let operations = disk.operations();
            assert_poisoned(&mut journal);
            assert_poisoned(&mut journal);
            assert_eq!(disk.operations(), operations);
            assert_eq!(read(&journal), Vec::<Blocks>::new(), "replay gives what was there at opening");
        }
    }
}

#[test]
fn a_segment_that_cannot_be_created_stops_the_journal() {
    // Create, sync, write header, sync, sync directory.
    for operation in 0..5 {
        let (disk, mut journal, plan) = two_appends();
        disk.fail_at(disk.operations() + operation, DiskFault::Full);
        journal.append(&records(&vec![noise(4000, 9)])).unwrap_err();
        assert_poisoned(&mut journal);
        disk.kill();
        let (journal, recovery) = open(&disk, 1).unwrap();
        assert_eq!(read(&journal), plan[..2]);
        assert_eq!(recovery.unfinished_segment, (operation < 3).then_some(2));
    }
}

/// After a failed sync the kernel may return bytes that it never writes. Once a new process has read and
/// acknowledged them, they must be durable all the same.
#[test]
fn bytes_whose_sync_failed_are_written_again_at_opening() {
    let (disk, mut journal, plan) = two_appends();
    disk.fail_at(disk.operations() + 1, DiskFault::Broken);
    journal.append(&records(&plan[2])).unwrap_err();
    disk.kill();
    assert!(read(&open(&disk, 1).unwrap().0) == plan, "as the page cache shows it");
    for seed in 0..20 {
        let disk = disk.fork();
        disk.lose_power(seed);
        assert!(read(&open(&disk, 2).unwrap().0) == plan);
    }
}

/// A process is killed between write and sync: the next one finds the append complete, but in memory only.
#[test]
fn bytes_that_were_never_synced_are_synced_at_opening() {
    let (disk, mut journal, plan) = two_appends();
    disk.fail_at(disk.operations() + 1, DiskFault::Crash);
    journal.append(&records(&plan[2])).unwrap_err();
    disk.kill();
    assert!(read(&open(&disk, 1).unwrap().0) == plan);
    for seed in 0..20 {
        let disk = disk.fork();
        disk.lose_power(seed);
        assert!(read(&open(&disk, 2).unwrap().0) == plan);
    }
}

#[test]
fn a_torn_append_is_erased_before_the_next_append() {
    let disk = SimulatedDisk::default();
    let (mut journal, _) = open(&disk, 0).unwrap();
    disk.fail_at(disk.operations(), DiskFault::Broken);
    journal.append(&records(&vec![noise(3000, 5)])).unwrap_err();
    disk.kill();
    let (mut journal, recovery) = open(&disk, 1).unwrap();
    let torn = recovery.torn_tail.expect("half of the append was written");
    assert_eq!((torn.position.segment, torn.position.offset, torn.bytes), (1, 512, 3584 / 2));
    let after = disk.content(&dir().join("0000000001.segment")).unwrap();
    assert!(after[512..].iter().all(|&b| b == 0));
    journal.append(&records(&vec![vec![1]])).unwrap();
    drop(journal);
    let (journal, recovery) = open(&disk, 2).unwrap();
    assert_eq!((read(&journal), recovery.torn_tail), (vec![vec![vec![1]]], None));
}

#[test]
fn removing_segments_can_be_interrupted_anywhere() {
    let (original, plan) = crate::plan::written();
    let complete = original.fork();
    let (mut journal, _) = open(&complete, 1).unwrap();
    let start = complete.operations();
    assert_eq!(journal.remove_segments_before(6).unwrap(), 4);
    for point in start..complete.operations() {
        for seed in 0..8 {
            let disk = original.fork();
            let (mut journal, _) = open(&disk, 1).unwrap();
            disk.fail_at(point, DiskFault::Crash);
            journal.remove_segments_before(6).unwrap_err();
            disk.lose_power(seed);
            let (journal, _) = open(&disk, 2).unwrap();
            let first = journal.first_sequence();
            assert!(first <= 6 && read(&journal) == plan[usize::try_from(first).unwrap()..]);
        }
    }
}

/// Transactions come from outside: bytes that look like a later append must not turn a torn tail into
/// corruption.
#[test]
fn an_append_nested_in_an_append_is_not_recognized() {
    let (other, _) = crate::plan::written();
    let foreign = other.content(&dir().join("0000000001.segment")).unwrap();
    let disk = SimulatedDisk::default();
    let (mut journal, _) = open(&disk, 1).unwrap();
    // The record starts after 96 bytes of header, its kind and its length. Filler reaches the next sector;
    // appends follow.
    let mut block = vec![1; 512 - 96 - 4];
    block.extend_from_slice(&foreign[512..3072]);
    block.resize(3200, 1);
    disk.fail_at(disk.operations() + 1, DiskFault::Crash);
    journal.append(&records(&vec![block])).unwrap_err();
    disk.kill();
    let path = dir().join("0000000001.segment");
    let mut torn = disk.content(&path).unwrap();
    assert_eq!(torn[1024..1032], *b"FSEALAPP", "an append stands on a boundary");
    torn[600] ^= 1;
    disk.set_content(&path, &torn);
    let (journal, recovery) = open(&disk, 2).unwrap();
    assert!(recovery.torn_tail.is_some());
    assert_eq!(journal.next_sequence(), 0);
}
