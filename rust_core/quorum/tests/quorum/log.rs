//! Appends, takeovers and reads, each with one exact fault.

use std::{cell::Cell, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_journal::{Identity, Record};
use foreseal_quorum::{
    Acquired, AppendError, Fence, FenceError, KeyOperation, MemberEntry, Observation, Owner, PART_SIZE,
    QuorumAppend, QuorumKeys, QuorumLog, QuorumRecord, QuorumStore, QuorumStoreError, RecordLink, RunId,
    TailError, Wait, chain_hash,
};
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};

const LOST_ANSWERS: FaultRates =
    FaultRates { lost_request: 0, lost_answer: 1000, late: 0, doubled: 0, resent: 0 };
const LOST_REQUESTS: FaultRates =
    FaultRates { lost_request: 1000, lost_answer: 0, late: 0, doubled: 0, resent: 0 };
const LATE: FaultRates = FaultRates { lost_request: 0, lost_answer: 0, late: 1000, doubled: 0, resent: 0 };

pub fn keys() -> QuorumKeys {
    QuorumKeys::new("/test", &Identity { chain_id: 1, genesis: B256::ZERO })
}

fn start() -> (Arc<SimulatedStore>, QuorumLog) {
    let quorum = Arc::new(SimulatedStore::new(1, FaultRates::default()));
    (quorum.clone(), QuorumLog::new(quorum, keys()))
}

pub fn owner(run: u8, epoch: u64) -> Owner {
    Owner {
        run_id: RunId([run; 16]),
        epoch,
        name: format!("node-{run}"),
        feed: "10.0.0.1:9000".to_owned(),
        rpc: "10.0.0.1:8545".to_owned(),
        version: "1.0.0".to_owned(),
        successor: None,
        released: false,
    }
}

pub fn won(log: &QuorumLog, run: u8) -> Fence {
    let seen = log.observe().unwrap();
    match log.acquire(&seen, &owner(run, seen.next_epoch())).unwrap() {
        Acquired::Won(fence) => *fence,
        Acquired::Lost(observed) => panic!("{observed:?}"),
    }
}

/// Returns the append after the fence's head, with an imported block of this many bytes.
pub fn append_after(fence: &Fence, size: usize, fill: u8) -> QuorumAppend {
    let (sequence, previous) = fence.head().map_or((0, B256::ZERO), |head| (head.sequence + 1, head.hash));
    let hash = chain_hash(previous, B256::repeat_byte(fill));
    let records = [Record::Import { block: vec![fill; size].into() }];
    let record = QuorumRecord::encode(&RecordLink { sequence, previous, hash }, &records).into();
    QuorumAppend { sequence, hash, block: sequence, index: 3, record }
}

/// Appends, and stops after this many unanswered rounds.
pub fn append(fence: &mut Fence, append: &QuorumAppend, rounds: u32) -> Result<(), AppendError> {
    let left = Cell::new(rounds);
    let stop = || left.get() == 0;
    let on_wait = |_: &QuorumStoreError, _| left.set(left.get() - 1);
    fence.append(append, &Wait { stop: &stop, on_wait: &on_wait, clock: &|| Duration::ZERO })
}

pub fn append_many(fence: &mut Fence, count: usize, size: usize) {
    for _ in 0..count {
        let next = append_after(fence, size, 7);
        append(fence, &next, 1).unwrap();
    }
}

#[test]
fn appends_of_every_size_are_read_back() {
    let (_, log) = start();
    let mut fence = won(&log, 1);
    let sizes = [0, 1, PART_SIZE - 81, PART_SIZE, 3 * PART_SIZE + 5, 10];
    for size in sizes {
        let next = append_after(&fence, size, 7);
        append(&mut fence, &next, 1).unwrap();
    }
    for max_bytes in [1, PART_SIZE, usize::MAX] {
        let mut next = 0;
        while next < sizes.len() as u64 {
            let records = log.read_records(next, max_bytes).unwrap();
            for record in &records {
                assert_eq!(record.link.sequence, next);
                next += 1;
            }
            assert!(!records.is_empty() && (max_bytes > 1 || records.len() == 1));
        }
        assert_eq!(log.read_records(next, max_bytes).unwrap(), []);
    }
    assert_eq!(log.observe().unwrap().head.unwrap().head, *fence.head().unwrap());
}

#[test]
fn append_with_lost_answer_is_found() {
    let (quorum, log) = start();
    let mut fence = won(&log, 1);
    append_many(&mut fence, 1, 10);
    quorum.set_faults(LOST_ANSWERS);
    let next = append_after(&fence, 2 * PART_SIZE, 8);
    assert_eq!(append(&mut fence, &next, 1), Err(AppendError::Stopped));
    assert_eq!(append(&mut fence, &next, 4), Err(AppendError::Stopped));
    let other = append_after(&fence, 10, 9);
    quorum.set_faults(FaultRates::default());
    let unresolved = AppendError::Unresolved { sequence: 1, unresolved: 1 };
    assert_eq!(append(&mut fence, &other, 1), Err(unresolved));
    append(&mut fence, &next, 1).unwrap();
    append_many(&mut fence, 1, 10);
    assert_eq!(log.read_records(0, usize::MAX).unwrap().len(), 3);
}

#[test]
fn append_that_exists_under_a_former_owner_is_not_acknowledged() {
    let (quorum, log) = start();
    let mut first = won(&log, 1);
    quorum.set_faults(LOST_ANSWERS);
    let next = append_after(&first, 10, 8);
    assert_eq!(append(&mut first, &next, 1), Err(AppendError::Stopped));
    quorum.set_faults(FaultRates::default());
    let second = won(&log, 2);
    assert_eq!(second.head().unwrap().hash, next.hash);
    let result = append(&mut first, &next, 1);
    assert!(
        matches!(&result, Err(AppendError::Fenced { owner: Some(owner) }) if owner.epoch == 2),
        "{result:?}"
    );
}

#[test]
fn late_append_of_a_former_owner_has_no_effect() {
    let (quorum, log) = start();
    let mut first = won(&log, 1);
    append_many(&mut first, 1, 10);
    quorum.set_faults(LATE);
    let late = append_after(&first, 3 * PART_SIZE, 8);
    assert_eq!(append(&mut first, &late, 1), Err(AppendError::Stopped));
    quorum.set_faults(FaultRates::default());
    let mut second = won(&log, 2);
    let other = append_after(&second, 10, 9);
    append(&mut second, &other, 1).unwrap();
    quorum.deliver_late();
    let records = log.read_records(0, usize::MAX).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[1], QuorumRecord::decode(&other.record).unwrap());
}

#[test]
fn parts_of_an_abandoned_append_are_deleted() {
    let (quorum, log) = start();
    let mut first = won(&log, 1);
    let abandoned = append_after(&first, 3 * PART_SIZE, 8);
    quorum.set_faults(LOST_ANSWERS);
    assert_eq!(append(&mut first, &abandoned, 1), Err(AppendError::Stopped));
    quorum.set_faults(FaultRates::default());
    // The second part, as if the attempt had continued before the takeover.
    let key = keys().record_part(0, 1);
    let put = KeyOperation::Put { key: key.clone(), value: vec![1; 10].into() };
    let request = foreseal_quorum::QuorumRequest::Transaction {
        comparisons: Vec::new(),
        success: vec![put],
        failure: Vec::new(),
    };
    quorum.call(&request).unwrap();
    let mut second = won(&log, 2);
    append_many(&mut second, 2, 10);
    assert_eq!(log.read_records(0, usize::MAX).unwrap().len(), 2);
    let last = quorum.history().into_iter().rfind(|entry| entry.key == key).unwrap();
    assert_eq!(last.value, None);
}

#[test]
fn unanswered_takeover_is_resolved_by_observation() {
    let (quorum, log) = start();
    let seen = log.observe().unwrap();
    quorum.set_faults(LOST_REQUESTS);
    assert!(log.acquire(&seen, &owner(1, 1)).is_err_and(|error| error.is_transient()));
    quorum.set_faults(LATE);
    assert!(log.acquire(&seen, &owner(1, 1)).is_err_and(|error| error.is_transient()));
    quorum.set_faults(FaultRates::default());
    quorum.deliver_late();
    assert!(matches!(log.acquire(&seen, &owner(2, 1)), Ok(Acquired::Lost(_))));
    let Acquired::Won(mut fence) = log.acquire(&seen, &owner(1, 1)).unwrap() else { panic!("lost") };
    append_many(&mut fence, 2, 10);
}

#[test]
fn takeover_fails_after_any_change() {
    let (_, log) = start();
    let mut fence = won(&log, 1);
    let seen = log.observe().unwrap();
    fence.beat().unwrap();
    assert!(matches!(log.acquire(&seen, &owner(2, 2)), Ok(Acquired::Lost(_))));
    let seen = log.observe().unwrap();
    append_many(&mut fence, 1, 10);
    let Acquired::Lost(observed) = log.acquire(&seen, &owner(2, 2)).unwrap() else { panic!("won") };
    won(&log, 3);
    assert!(matches!(log.acquire(&observed, &owner(2, 2)), Ok(Acquired::Lost(_))));
    assert!(matches!(fence.beat(), Err(FenceError::Fenced { owner: Some(_) })));
}

#[test]
fn release_ends_appends_and_names_the_successor() {
    let (quorum, log) = start();
    let mut fence = won(&log, 1);
    append_many(&mut fence, 1, 10);
    quorum.set_faults(LOST_ANSWERS);
    let successor = Some(RunId([2; 16]));
    assert!(matches!(fence.release(successor), Err(FenceError::QuorumStore(_))));
    quorum.set_faults(FaultRates::default());
    fence.release(successor).unwrap();
    let next = append_after(&fence, 10, 8);
    let result = append(&mut fence, &next, 1);
    assert!(
        matches!(&result, Err(AppendError::Fenced { owner: Some(owner) }) if owner.released),
        "{result:?}"
    );
    let recorded = log.observe().unwrap().owner.unwrap().owner;
    assert_eq!((recorded.released, recorded.successor), (true, successor));
}

#[test]
fn late_release_by_the_same_process_is_no_acquisition() {
    let (_, log) = start();
    let Acquired::Won(mut fence) = log.acquire(&Observation::default(), &owner(1, 1)).unwrap() else {
        panic!("the chain has no owner");
    };
    let seen = log.observe().unwrap();
    // The request of an unanswered release arrives after the observation.
    fence.release(None).unwrap();
    assert!(matches!(log.acquire(&seen, &owner(1, 2)).unwrap(), Acquired::Lost(_)));
}

#[test]
fn append_waits_while_space_is_exhausted() {
    let (quorum, log) = start();
    let mut fence = won(&log, 1);
    quorum.exhaust_space();
    let next = append_after(&fence, 10, 8);
    let left = Cell::new(3);
    let on_wait = |error: &QuorumStoreError, _| {
        assert!(matches!(error, QuorumStoreError::NoSpace { .. }), "{error}");
        left.set(left.get() - 1);
        if left.get() == 0 {
            quorum.disarm();
        }
    };
    fence.append(&next, &Wait { stop: &|| false, on_wait: &on_wait, clock: &|| Duration::ZERO }).unwrap();
    assert_eq!(left.get(), 0);
}

#[test]
fn trimmed_records_are_too_old() {
    let (quorum, log) = start();
    let mut fence = won(&log, 1);
    append_many(&mut fence, 20, 10);
    fence.trim(15).unwrap();
    assert_eq!(log.read_records(9, 1).unwrap_err(), TailError::TooOld { wanted: 9, first: 15 });
    assert_eq!(log.read_records(15, usize::MAX).unwrap().len(), 5);
    // The head is never deleted, and a repeated trim is no error.
    fence.trim(100).unwrap();
    fence.trim(100).unwrap();
    assert_eq!(log.read_records(19, usize::MAX).unwrap().len(), 1);
    // A part that arrives after its record was deleted.
    let put = KeyOperation::Put { key: keys().record_part(18, 0), value: vec![1; 10].into() };
    let request = foreseal_quorum::QuorumRequest::Transaction {
        comparisons: Vec::new(),
        success: vec![put],
        failure: Vec::new(),
    };
    quorum.call(&request).unwrap();
    assert!(matches!(log.read_records(17, 1), Err(TailError::TooOld { wanted: 17, .. })));
}

#[test]
fn members_are_listed_until_they_leave() {
    let (_, log) = start();
    let member = |run: u8, next| MemberEntry {
        run_id: RunId([run; 16]),
        name: format!("node-{run}"),
        role: "standby".to_owned(),
        feed: String::new(),
        rpc: String::new(),
        version: "1".to_owned(),
        next,
        updated: 0,
    };
    log.register(&member(2, 5)).unwrap();
    log.register(&member(1, 5)).unwrap();
    log.register(&member(2, 9)).unwrap();
    assert_eq!(log.members().unwrap(), [member(1, 5), member(2, 9)]);
    log.unregister("node-1").unwrap();
    assert_eq!(log.members().unwrap(), [member(2, 9)]);
}

#[test]
fn restarted_member_replaces_its_entry() {
    let (_, log) = start();
    let member = |name: &str, run: u8| MemberEntry {
        run_id: RunId([run; 16]),
        name: name.to_owned(),
        role: "standby".to_owned(),
        feed: String::new(),
        rpc: String::new(),
        version: "1".to_owned(),
        next: 5,
        updated: 0,
    };
    log.register(&member("a", 1)).unwrap();
    log.register(&member("a", 2)).unwrap();
    // Without a name, each run has an entry of its own.
    log.register(&member("", 3)).unwrap();
    log.register(&member("", 4)).unwrap();
    let members = log.members().unwrap();
    let mut runs: Vec<u8> = members.iter().map(|member| member.run_id.0[0]).collect();
    runs.sort_unstable();
    assert_eq!(runs, [2, 3, 4]);
}
