//! Checks of a quorum store: versions, number of members, and hashes that are read again.

use std::{cell::Cell, time::Duration};

use bytes::Bytes;
use foreseal_quorum::{
    AppendLatency, CheckMode, KeyOperation, QuorumFinding, QuorumReport, QuorumRequest, QuorumResponse,
    QuorumStore, QuorumStoreError, check_quorum_store, read_hashes,
};
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};
use parking_lot::Mutex;

use crate::log::keys;

fn check(quorum: &SimulatedStore) -> QuorumReport {
    let now = Cell::new(0);
    let clock = || {
        now.set(now.get() + 3);
        Duration::from_millis(now.get())
    };
    check_quorum_store(quorum, &keys(), &clock).unwrap()
}

#[test]
fn current_cluster_passes_and_its_appends_are_measured() {
    let report = check(&SimulatedStore::new(1, FaultRates::default()));
    let each = Duration::from_millis(3);
    assert_eq!(report.appends, AppendLatency { p50: each, p99: each, max: each });
    assert_eq!((report.members.len(), report.findings), (3, Vec::new()));
}

#[test]
fn old_version_is_rejected_unless_forced() {
    let quorum = SimulatedStore::new(1, FaultRates::default());
    quorum.set_versions(&["3.5.14", "3.5.13", "3.6.0-rc.1"]);
    let report = check(&quorum);
    let version = "3.5.13".to_owned();
    let finding = QuorumFinding::Version { endpoint: "simulated-1:2379".to_owned(), version };
    assert_eq!(report.rejections(CheckMode::Strict), [&finding]);
    assert!(report.rejections(CheckMode::Forced).is_empty());
}

#[test]
fn single_node_is_rejected_unless_forced() {
    let quorum = SimulatedStore::new(1, FaultRates::default());
    quorum.set_versions(&["3.6.0"]);
    let report = check(&quorum);
    assert_eq!(report.rejections(CheckMode::Strict), [&QuorumFinding::SingleNode]);
    assert!(report.rejections(CheckMode::Forced).is_empty());
}

/// A quorum store that is written to between all requests, with a member that lags behind at first.
struct LaggingStore {
    inner: SimulatedStore,
    /// Revisions of the requested hashes.
    revisions: Mutex<Vec<u64>>,
}

impl QuorumStore for LaggingStore {
    fn call(&self, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError> {
        let success = vec![KeyOperation::Put { key: "a".to_owned(), value: Bytes::new() }];
        let (comparisons, failure) = (Vec::new(), Vec::new());
        self.inner.call(&QuorumRequest::Transaction { comparisons, success, failure })?;
        let mut response = self.inner.call(request)?;
        if let (QuorumRequest::HashKv { revision }, QuorumResponse::HashKv(hashes)) = (request, &mut response)
        {
            self.revisions.lock().push(*revision);
            if self.revisions.lock().len() < 3 {
                let reason = "required revision is a future revision".to_owned();
                hashes[1].hash = Err(QuorumStoreError::Revision { endpoint: "b".to_owned(), reason });
            }
        }
        Ok(response)
    }
}

#[test]
fn each_round_reads_hashes_at_a_newer_revision() {
    let inner = SimulatedStore::new(1, FaultRates::default());
    let quorum = LaggingStore { inner, revisions: Mutex::default() };
    let hashes = read_hashes(&quorum).unwrap();
    assert!(hashes.iter().all(|hash| hash.hash.is_ok()));
    let revisions = quorum.revisions.lock();
    assert!(revisions.len() == 3 && revisions.is_sorted_by(|a, b| a < b), "{revisions:?}");
}
