//! Checks of the quorum store's history: one owner per append, and nothing acknowledged is lost or changed.

use std::collections::BTreeMap;

use alloy_primitives::B256;
use foreseal_quorum::{Observation, Owner, QuorumHead, QuorumKeys};
use foreseal_simulated_quorum::{HistoryEntry, SimulatedStore};

/// A successful takeover, with the observation on which it was based.
pub struct Takeover {
    pub seen: Observation,
    pub owner: Owner,
}

/// Returns the current owner, read without faults.
pub fn current_owner(quorum: &SimulatedStore, keys: &QuorumKeys) -> Option<Owner> {
    let history = quorum.history();
    let entry = history.iter().rev().find(|entry| entry.key == keys.owner())?;
    Some(serde_json::from_slice(entry.value.as_ref()?).unwrap())
}

/// Checks the writes of `owner` and `head`, and returns the hash of each append.
pub fn check_writes(history: &[HistoryEntry], keys: &QuorumKeys) -> BTreeMap<u64, B256> {
    let mut owner: Option<Owner> = None;
    let mut appends = BTreeMap::new();
    for entry in history {
        if entry.key == keys.owner() {
            let next: Owner = serde_json::from_slice(entry.value.as_ref().unwrap()).unwrap();
            if let Some(owner) = &owner {
                // A release, or a takeover whose answer was lost and that was written again.
                let is_same = !owner.released && next.run_id == owner.run_id && next.epoch == owner.epoch;
                assert!(is_same || next.epoch > owner.epoch, "{next:?} follows {owner:?}");
            }
            owner = Some(next);
        } else if entry.key == keys.head() {
            let head: QuorumHead = serde_json::from_slice(entry.value.as_ref().unwrap()).unwrap();
            let owner = owner.as_ref().expect("an owner precedes the first append");
            assert_eq!(head.epoch, owner.epoch, "append {} is not by the owner", head.sequence);
            assert!(!owner.released, "append {} follows a release", head.sequence);
            let expected = appends.last_key_value().map_or(0, |(sequence, _)| sequence + 1);
            assert_eq!(head.sequence, expected, "appends are not consecutive");
            appends.insert(head.sequence, head.hash);
        }
    }
    appends
}

/// Checks that owner, beat and head were unchanged between each observation and its takeover.
pub fn check_takeovers(history: &[HistoryEntry], keys: &QuorumKeys, takeovers: &[Takeover]) {
    for Takeover { seen, owner } in takeovers {
        let is_takeover = |entry: &&HistoryEntry| {
            entry.key == keys.owner()
                && serde_json::from_slice::<Owner>(entry.value.as_ref().unwrap()).unwrap() == *owner
        };
        let takeover = history.iter().find(is_takeover).expect("the takeover was written").revision;
        for (key, revision) in [
            (keys.owner(), seen.owner_revision()),
            (keys.beat(), seen.beat_revision),
            (keys.head(), seen.head_revision()),
        ] {
            let before = history.iter().filter(|entry| entry.key == key && entry.revision < takeover);
            let newest = before.map(|entry| entry.revision).max().unwrap_or(0);
            assert_eq!(newest, revision, "{key} changed before the takeover at {takeover}");
        }
    }
}
