//! The quorum store together with the names of a chain's keys.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use crate::{
    append_error::FenceError,
    observation::Observation,
    quorum_error::QuorumStoreError,
    quorum_keys::QuorumKeys,
    quorum_store::{
        KeyComparison, KeyOperation, KeyRange, KeyValue, QuorumRequest, QuorumResponse, QuorumStore,
    },
};

/// The quorum store together with the names of a chain's keys.
#[derive(Clone)]
pub(crate) struct QuorumConnection {
    pub(crate) quorum: Arc<dyn QuorumStore>,
    pub(crate) keys: QuorumKeys,
}

/// Result of a transaction.
pub(crate) struct TransactionOutcome {
    pub(crate) succeeded: bool,
    pub(crate) revision: u64,
    pub(crate) results: Vec<Vec<KeyValue>>,
}

impl QuorumConnection {
    pub(crate) fn transaction(
        &self,
        request: &QuorumRequest,
    ) -> Result<TransactionOutcome, QuorumStoreError> {
        match self.quorum.call(request)? {
            QuorumResponse::Transaction { succeeded, revision, results } => {
                Ok(TransactionOutcome { succeeded, revision, results })
            }
            _ => Err(QuorumStoreError::invalid_response("expected the response of a transaction")),
        }
    }

    pub(crate) fn range(&self, range: KeyRange) -> Result<Vec<KeyValue>, QuorumStoreError> {
        match self.quorum.call(&QuorumRequest::Range(range))? {
            QuorumResponse::Range { entries, .. } => Ok(entries),
            _ => Err(QuorumStoreError::invalid_response("expected the response of a range")),
        }
    }

    /// Executes operations without a condition.
    pub(crate) fn execute(
        &self,
        operations: Vec<KeyOperation>,
    ) -> Result<TransactionOutcome, QuorumStoreError> {
        let (comparisons, failure) = (Vec::new(), Vec::new());
        self.transaction(&QuorumRequest::Transaction { comparisons, success: operations, failure })
    }

    pub(crate) fn observe(&self) -> Result<Observation, QuorumStoreError> {
        Observation::decode(&self.execute(Observation::reads(&self.keys))?.results)
    }

    /// Executes operations in one round if `owner` still has this mod revision. Returns the revision of the store.
    ///
    /// # Errors
    /// Returns [`FenceError`]. Without an answer, the operations may still be executed.
    pub(crate) fn write_as_owner(
        &self,
        owner_revision: u64,
        operations: Vec<KeyOperation>,
    ) -> Result<u64, FenceError> {
        let comparison = KeyComparison { key: self.keys.owner(), revision: owner_revision };
        let outcome = self.transaction(&self.guarded(vec![comparison], operations))?;
        if outcome.succeeded {
            return Ok(outcome.revision);
        }
        let observed = Observation::decode(&outcome.results)?;
        Err(FenceError::Fenced { owner: observed.owner.map(|entry| Box::new(entry.owner)) })
    }

    /// Returns a transaction that reads owner, beat and head if a comparison fails.
    pub(crate) fn guarded(
        &self,
        comparisons: Vec<KeyComparison>,
        success: Vec<KeyOperation>,
    ) -> QuorumRequest {
        QuorumRequest::Transaction { comparisons, success, failure: Observation::reads(&self.keys) }
    }
}

/// Encodes a value as JSON, so that `etcdctl get` shows it.
pub(crate) fn encode_json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).expect("values of the engine have only string keys").into()
}
