//! The writer of a quorum journal: positions, health and trims.

use std::{sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_chain::SteppedClock;
use foreseal_journal::{Identity, Journal, JournalOptions, LocalJournal, RealDisk, Record};
use foreseal_quorum::{
    BEAT_INTERVAL, MemberEntry, QuorumHealth, QuorumJournal, QuorumLog, QuorumWriter, RunId, TailError,
};
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};
use parking_lot::Mutex;

use crate::log::{append, append_after, keys, won};

/// A process with its own journal that owns the chain again and again.
struct Process {
    quorum: Arc<SimulatedStore>,
    log: QuorumLog,
    clock: Arc<SteppedClock>,
    writer: Arc<Mutex<QuorumWriter>>,
    journal: QuorumJournal,
    _folder: tempfile::TempDir,
}

impl Process {
    fn new() -> Self {
        let quorum = Arc::new(SimulatedStore::new(1, FaultRates::default()));
        let log = QuorumLog::new(quorum.clone(), keys());
        let clock = Arc::<SteppedClock>::default();
        let (stop, on_append) = (Box::new(|| false), Box::new(|_| {}));
        let writer = QuorumWriter::new(log.clone(), clock.clone(), stop, on_append);
        let writer = Arc::new(Mutex::new(writer));
        let folder = tempfile::tempdir().unwrap();
        let options = JournalOptions::new(Identity { chain_id: 1, genesis: B256::ZERO }, [7; 32]);
        let (local, _) = LocalJournal::open(folder.path(), Arc::new(RealDisk), options).unwrap();
        let journal = QuorumJournal::new(local, writer.clone());
        Self { quorum, log, clock, writer, journal, _folder: folder }
    }

    /// Acquires the ownership as another run of the process.
    fn lead(&self, run: u8) {
        let fence = won(&self.log, run);
        let hash = fence.head().map_or(B256::ZERO, |head| head.hash);
        self.writer.lock().lead(fence, hash);
    }

    fn append(&mut self, count: usize) {
        for _ in 0..count {
            self.journal.append(&[Record::Clock { offset: 1 }]).unwrap();
        }
    }

    fn beat_after(&mut self, time: Duration) -> bool {
        self.clock.advance(time);
        self.journal.beat().unwrap()
    }

    /// Returns the sequence number of the oldest record in the quorum store.
    fn oldest(&self) -> u64 {
        match self.log.read_records(0, 1) {
            Err(TailError::TooOld { first, .. }) => first,
            result => result.unwrap()[0].link.sequence,
        }
    }

    fn health(&self) -> QuorumHealth {
        self.writer.lock().health().lock().clone()
    }
}

fn member(next: u64) -> MemberEntry {
    MemberEntry {
        run_id: RunId([8; 16]),
        name: "standby".to_owned(),
        role: "standby".to_owned(),
        feed: String::new(),
        rpc: String::new(),
        version: String::new(),
        next,
        updated: 0,
    }
}

#[test]
fn append_without_step_has_the_position_of_the_head() {
    let mut process = Process::new();
    process.journal.local_mut().append(&[Record::Clock { offset: 1 }]).unwrap();
    let mut first = won(&process.log, 1);
    let next = append_after(&first, 10, 7);
    append(&mut first, &next, 1).unwrap();
    process.lead(2);
    process.append(1);
    let head = process.log.observe().unwrap().head.unwrap().head;
    assert_eq!((head.sequence, head.block, head.index), (1, 0, 3));
}

#[test]
fn answered_write_clears_the_error() {
    let mut process = Process::new();
    process.lead(1);
    process.quorum.lose_majority();
    assert!(!process.beat_after(BEAT_INTERVAL));
    assert!(process.health().last_error.is_some());
    process.quorum.restore_majority();
    assert!(process.beat_after(BEAT_INTERVAL));
    let health = process.health();
    assert_eq!((health.last_error, health.unanswered_since), (None, None));
    assert_eq!(health.unanswered_rounds, 1, "the count remains");
}

#[test]
fn records_of_earlier_owners_are_trimmed_and_count() {
    let mut process = Process::new();
    process.lead(1);
    process.append(300);
    process.lead(2);
    process.append(63);
    process.beat_after(BEAT_INTERVAL);
    assert_eq!(process.oldest(), 0);
    process.append(1);
    process.beat_after(BEAT_INTERVAL);
    assert_eq!(process.oldest(), 64, "300 records remain, most of them by the first owner");
}

#[test]
fn failed_trim_is_repeated_after_a_delay() {
    let mut process = Process::new();
    process.lead(1);
    process.append(400);
    process.quorum.lose_majority();
    process.beat_after(Duration::ZERO);
    process.quorum.restore_majority();
    process.beat_after(Duration::from_millis(900));
    assert_eq!(process.oldest(), 0);
    process.beat_after(Duration::from_millis(100));
    assert_eq!(process.oldest(), 100);
}

#[test]
fn member_without_updates_no_longer_holds_records_back() {
    let mut process = Process::new();
    process.lead(1);
    process.append(400);
    process.log.register(&member(40)).unwrap();
    process.beat_after(BEAT_INTERVAL);
    assert_eq!(process.oldest(), 40);
    process.append(64);
    process.beat_after(Duration::from_mins(9));
    assert_eq!(process.oldest(), 40);
    process.append(64);
    process.beat_after(Duration::from_mins(1));
    assert_eq!(process.oldest(), 228);
}
