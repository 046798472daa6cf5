//! Keys with revisions.

use std::{collections::BTreeMap, ops::Bound};

use bytes::Bytes;
use foreseal_quorum::{KeyComparison, KeyOperation, KeyRange, KeyValue, QuorumResponse};

/// One write in the history of a [`SimulatedStore`](crate::SimulatedStore).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    pub revision: u64,
    pub key: String,
    /// The value; `None` for a deletion.
    pub value: Option<Bytes>,
}

/// Keys with the revisions of their newest writes, and the history of all writes.
#[derive(Default)]
pub(crate) struct KeySpace {
    keys: BTreeMap<String, VersionedValue>,
    pub(crate) revision: u64,
    pub(crate) compaction: u64,
    pub(crate) history: Vec<HistoryEntry>,
}

struct VersionedValue {
    value: Bytes,
    revision: u64,
}

impl KeySpace {
    /// Executes a transaction. All its writes have the same new revision.
    pub(crate) fn transaction(
        &mut self,
        comparisons: &[KeyComparison],
        success: &[KeyOperation],
        failure: &[KeyOperation],
    ) -> QuorumResponse {
        let succeeded = comparisons.iter().all(|comparison| {
            self.keys.get(&comparison.key).map_or(0, |current| current.revision) == comparison.revision
        });
        let writes = self.history.len();
        let next = self.revision + 1;
        let operations = if succeeded { success } else { failure };
        let results = operations.iter().map(|operation| self.execute(operation, next)).collect();
        if self.history.len() > writes {
            self.revision = next;
        }
        QuorumResponse::Transaction { succeeded, revision: self.revision, results }
    }

    fn execute(&mut self, operation: &KeyOperation, revision: u64) -> Vec<KeyValue> {
        match operation {
            KeyOperation::Get { key } => {
                self.keys.get_key_value(key).map(|(key, value)| value.entry(key, false)).into_iter().collect()
            }
            KeyOperation::Range(range) => self.range(range).0,
            KeyOperation::Put { key, value } => {
                self.keys.insert(key.clone(), VersionedValue { value: value.clone(), revision });
                self.history.push(HistoryEntry { revision, key: key.clone(), value: Some(value.clone()) });
                Vec::new()
            }
            KeyOperation::Delete { from, to } => {
                for key in self.names(from, to) {
                    self.keys.remove(&key);
                    self.history.push(HistoryEntry { revision, key, value: None });
                }
                Vec::new()
            }
        }
    }

    fn names(&self, from: &str, to: &str) -> Vec<String> {
        self.between(from, to).map(|(key, _)| key.clone()).collect()
    }

    /// Returns the entries of a range, and `true` if the limit left keys out.
    pub(crate) fn range(&self, range: &KeyRange) -> (Vec<KeyValue>, bool) {
        let limit = if range.limit == 0 { usize::MAX } else { range.limit as usize };
        let mut matching = self.between(&range.from, &range.to);
        let entries = matching.by_ref().take(limit).map(|(key, value)| value.entry(key, range.keys_only));
        (entries.collect(), matching.next().is_some())
    }

    fn between(&self, from: &str, to: &str) -> impl Iterator<Item = (&String, &VersionedValue)> {
        let is_empty = from >= to;
        let to = if is_empty { from } else { to };
        let bounds = (Bound::Included(from), Bound::Excluded(to));
        // A map rejects a range that excludes its own start.
        (!is_empty).then(|| self.keys.range::<str, _>(bounds)).into_iter().flatten()
    }

    /// Returns a hash of all keys.
    pub(crate) fn hash(&self) -> u32 {
        let mut hasher = blake3::Hasher::new();
        for (key, value) in &self.keys {
            hasher.update(key.as_bytes()).update(&value.revision.to_be_bytes()).update(&value.value);
        }
        let [a, b, c, d, ..] = *hasher.finalize().as_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    /// Returns the bytes of all keys and values.
    pub(crate) fn bytes(&self) -> u64 {
        self.keys.iter().map(|(key, value)| (key.len() + value.value.len()) as u64).sum()
    }
}

impl VersionedValue {
    fn entry(&self, key: &str, keys_only: bool) -> KeyValue {
        let value = if keys_only { Bytes::new() } else { self.value.clone() };
        KeyValue { key: key.to_owned(), value, revision: self.revision }
    }
}
