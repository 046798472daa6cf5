//! The interface of a replicated key-value store with transactions on mod revisions.

use bytes::Bytes;

use crate::quorum_error::QuorumStoreError;

/// A replicated key-value store. All requests are linearizable.
pub trait QuorumStore: Send + Sync {
    /// Executes one request in one round over the endpoints. Blocks the calling thread for a bounded time.
    ///
    /// A transaction whose answer is lost may still be executed, also later and more than once. Callers rely
    /// on comparisons: an outdated or repeated transaction fails its own.
    ///
    /// # Errors Returns [`QuorumStoreError`]. A transient error leaves the outcome open. Any other error concerns this
    /// call only: an earlier call with the same request may still be executed.
    fn call(&self, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError>;
}

/// A request to an [`QuorumStore`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuorumRequest {
    /// Executes `success` if all comparisons hold, `failure` otherwise.
    Transaction {
        comparisons: Vec<KeyComparison>,
        success: Vec<KeyOperation>,
        failure: Vec<KeyOperation>,
    },
    Range(KeyRange),
    /// Removes the superseded values below this revision.
    Compact {
        revision: u64,
    },
    /// Reads the status of each endpoint.
    Status,
    /// Lists the members of the cluster.
    Members,
    /// Reads each endpoint's hash of all keys at this revision.
    HashKv {
        revision: u64,
    },
}

/// The condition that the mod revision of a key equals a number; 0 means that the key is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyComparison {
    pub key: String,
    pub revision: u64,
}

/// Keys from `from` up to but not including `to`, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    pub from: String,
    pub to: String,
    /// Maximum number of keys; 0 means all.
    pub limit: u32,
    /// `true` leaves the values empty.
    pub keys_only: bool,
}

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOperation {
    Get {
        key: String,
    },
    Range(KeyRange),
    Put {
        key: String,
        value: Bytes,
    },
    /// Deletes the keys from `from` up to but not including `to`.
    Delete {
        from: String,
        to: String,
    },
}

/// Response to an [`QuorumRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuorumResponse {
    Transaction {
        /// `true` if all comparisons held.
        succeeded: bool,
        /// Revision of the store; after a write, the mod revision of the keys written.
        revision: u64,
        /// Key values that each operation read, in order; empty for writes.
        results: Vec<Vec<KeyValue>>,
    },
    Range {
        entries: Vec<KeyValue>,
        /// `true` if the limit left keys out.
        more: bool,
    },
    Compacted,
    Status(Vec<EndpointStatus>),
    Members(Vec<QuorumMember>),
    HashKv(Vec<EndpointHash>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValue {
    pub key: String,
    pub value: Bytes,
    /// Revision of the newest write.
    pub revision: u64,
}

/// A member of the quorum store's cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumMember {
    pub id: u64,
    pub name: String,
    /// Addresses for clients.
    pub urls: Vec<String>,
    /// `true` for a member without a vote.
    pub is_learner: bool,
}

/// Status of the quorum store's member behind one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointStatus {
    /// Address in the form `host:port`.
    pub endpoint: String,
    pub status: Result<MemberStatus, QuorumStoreError>,
}

/// Status of a member of the quorum store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    pub member: u64,
    pub version: String,
    /// Member that leads the cluster; 0 if none does.
    pub leader: u64,
    pub revision: u64,
    /// Size of the database file.
    pub database_bytes: u64,
    /// Bytes of the database file that hold data.
    pub used_bytes: u64,
    /// Alarms and errors that the member reports.
    pub errors: Vec<String>,
}

/// Hash of the keys on the quorum store's member behind one endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointHash {
    /// Address in the form `host:port`.
    pub endpoint: String,
    pub hash: Result<HashReading, QuorumStoreError>,
}

/// Hash of all keys of a member. Two readings are comparable if their compaction is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashReading {
    pub member: u64,
    pub hash: u32,
    /// Revision of the newest compaction that the hash reflects.
    pub compaction: u64,
}
