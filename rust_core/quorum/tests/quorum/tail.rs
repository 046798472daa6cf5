//! Reads of the newest records over a slow connection.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use foreseal_quorum::{
    KeyOperation, PART_SIZE, QuorumLog, QuorumRequest, QuorumResponse, QuorumStore, QuorumStoreError,
    TailError,
};
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};
use parking_lot::Mutex;

use crate::log::{append, append_after, append_many, keys, won};

/// A quorum store whose large answers do not arrive in time.
struct SlowStore {
    inner: SimulatedStore,
    max_bytes: Mutex<usize>,
    /// Number of the next answers with values that are lost.
    lost: AtomicU32,
    /// Limits of the requested ranges.
    limits: Mutex<Vec<u32>>,
}

impl SlowStore {
    fn new() -> Arc<Self> {
        let inner = SimulatedStore::new(1, FaultRates::default());
        let max_bytes = Mutex::new(usize::MAX);
        Arc::new(Self { inner, max_bytes, lost: AtomicU32::new(0), limits: Mutex::default() })
    }
}

impl QuorumStore for SlowStore {
    fn call(&self, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError> {
        let response = self.inner.call(request)?;
        if let QuorumRequest::Range(range) = request {
            self.limits.lock().push(range.limit);
        }
        let QuorumRequest::Transaction { success, .. } = request else { return Ok(response) };
        let QuorumResponse::Transaction { results, .. } = &response else { return Ok(response) };
        let is_read = success.iter().any(|operation| matches!(operation, KeyOperation::Range(_)));
        let bytes: usize = results.iter().flatten().map(|entry| entry.value.len()).sum();
        let is_lost = || {
            let left = |left: u32| left.checked_sub(1);
            self.lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
        };
        if is_read && (bytes > *self.max_bytes.lock() || is_lost()) {
            return Err(QuorumStoreError::Unanswered { reason: "too slow".to_owned() });
        }
        Ok(response)
    }
}

/// Reads all records, and returns the number of calls.
fn read_all(log: &QuorumLog, end: u64) -> u32 {
    let (mut next, mut calls) = (0, 0);
    while next < end {
        let records = log.read_records(next, usize::MAX).unwrap();
        assert_eq!(records[0].link.sequence, next);
        (next, calls) = (next + records.len() as u64, calls + 1);
    }
    calls
}

#[test]
fn slow_connection_reads_large_records_part_by_part() {
    let quorum = SlowStore::new();
    let log = QuorumLog::new(quorum.clone(), keys());
    let mut fence = won(&log, 1);
    for size in [10, 5 * PART_SIZE, 10, 3 * PART_SIZE, 10] {
        let next = append_after(&fence, size, 7);
        append(&mut fence, &next, 1).unwrap();
    }
    assert_eq!(read_all(&log, 5), 1);
    *quorum.max_bytes.lock() = PART_SIZE + 1000;
    let calls = read_all(&log, 5);
    assert!(calls <= 5, "{calls}");
}

#[test]
fn complete_records_are_returned_if_a_later_read_is_lost() {
    let quorum = SlowStore::new();
    let log = QuorumLog::new(quorum.clone(), keys());
    let mut fence = won(&log, 1);
    append_many(&mut fence, 3, 3 * PART_SIZE);
    quorum.lost.store(2, Ordering::Relaxed);
    assert_eq!(log.read_records(0, usize::MAX).unwrap().len(), 3, "the first reads are repeated");
    quorum.lost.store(3, Ordering::Relaxed);
    let error = log.read_records(0, usize::MAX).unwrap_err();
    assert!(matches!(error, TailError::QuorumStore(QuorumStoreError::Unanswered { .. })), "{error:?}");
}

#[test]
fn gap_is_explained_by_one_key() {
    let quorum = SlowStore::new();
    let log = QuorumLog::new(quorum.clone(), keys());
    let mut fence = won(&log, 1);
    append_many(&mut fence, 50, 10);
    fence.trim(20).unwrap();
    let too_old = TailError::TooOld { wanted: 7, first: 20 };
    assert_eq!(log.read_records(7, usize::MAX).unwrap_err(), too_old);
    let delete = KeyOperation::Delete { from: keys().record_part(30, 0), to: keys().record_part(31, 0) };
    let (comparisons, failure) = (Vec::new(), Vec::new());
    quorum.call(&QuorumRequest::Transaction { comparisons, success: vec![delete], failure }).unwrap();
    assert_eq!(log.read_records(20, usize::MAX).unwrap().len(), 10);
    let damaged = log.read_records(30, usize::MAX).unwrap_err();
    assert!(matches!(damaged, TailError::Damaged { sequence: 30, .. }), "{damaged:?}");
    assert_eq!(*quorum.limits.lock(), [1, 1]);
}
