//! One linearizable reading of owner, beat and head.

use serde::de::DeserializeOwned;

use crate::{
    owner::Owner,
    quorum_error::QuorumStoreError,
    quorum_head::QuorumHead,
    quorum_keys::QuorumKeys,
    quorum_store::{KeyComparison, KeyOperation, KeyValue},
};

/// The owner with the mod revision of its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerEntry {
    pub owner: Owner,
    pub revision: u64,
}

/// The head with the mod revision of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadEntry {
    pub head: QuorumHead,
    pub revision: u64,
}

/// Owner, beat and head at one revision of the quorum store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    pub owner: Option<OwnerEntry>,
    /// Mod revision of the beat; 0 if the key is absent.
    pub beat_revision: u64,
    pub head: Option<HeadEntry>,
}

impl Observation {
    /// Returns the mod revision of `owner`; 0 if the key is absent.
    pub fn owner_revision(&self) -> u64 {
        self.owner.as_ref().map_or(0, |entry| entry.revision)
    }

    /// Returns the mod revision of `head`; 0 if the key is absent.
    pub fn head_revision(&self) -> u64 {
        self.head.as_ref().map_or(0, |entry| entry.revision)
    }

    /// Returns the epoch of the next owner. An imported journal has a head without an owner.
    pub fn next_epoch(&self) -> u64 {
        let owner = self.owner.as_ref().map_or(0, |entry| entry.owner.epoch);
        let head = self.head.as_ref().map_or(0, |entry| entry.head.epoch);
        owner.max(head).saturating_add(1)
    }

    /// Returns the operations whose results [`Self::decode`] reads.
    pub(crate) fn reads(keys: &QuorumKeys) -> Vec<KeyOperation> {
        [keys.owner(), keys.beat(), keys.head()].map(|key| KeyOperation::Get { key }).to_vec()
    }

    /// Returns the conditions that owner, beat and head are unchanged.
    pub(crate) fn comparisons(&self, keys: &QuorumKeys) -> [KeyComparison; 3] {
        [
            KeyComparison { key: keys.owner(), revision: self.owner_revision() },
            KeyComparison { key: keys.beat(), revision: self.beat_revision },
            KeyComparison { key: keys.head(), revision: self.head_revision() },
        ]
    }

    pub(crate) fn decode(results: &[Vec<KeyValue>]) -> Result<Self, QuorumStoreError> {
        let [owner, beat, head] = results else {
            let reason = format!("expected the results of 3 operations, got {}", results.len());
            return Err(QuorumStoreError::invalid_response(reason));
        };
        let owner = owner.first().map(|entry| -> Result<_, QuorumStoreError> {
            Ok(OwnerEntry { owner: decode_json(entry)?, revision: entry.revision })
        });
        let head = head.first().map(|entry| -> Result<_, QuorumStoreError> {
            Ok(HeadEntry { head: decode_json(entry)?, revision: entry.revision })
        });
        Ok(Self {
            owner: owner.transpose()?,
            beat_revision: beat.first().map_or(0, |entry| entry.revision),
            head: head.transpose()?,
        })
    }
}

/// Decodes a value that is stored as JSON.
pub(crate) fn decode_json<T: DeserializeOwned>(entry: &KeyValue) -> Result<T, QuorumStoreError> {
    serde_json::from_slice(&entry.value)
        .map_err(|e| QuorumStoreError::InvalidValue { key: entry.key.clone(), reason: e.to_string() })
}
