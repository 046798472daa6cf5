//! Reads of the quorum journal, election, and registered members.

use std::sync::Arc;

use crate::{
    fence::Fence,
    member_entry::MemberEntry,
    observation::{Observation, decode_json},
    owner::Owner,
    quorum_connection::{QuorumConnection, encode_json},
    quorum_error::QuorumStoreError,
    quorum_keys::QuorumKeys,
    quorum_store::{KeyOperation, QuorumStore},
};

/// The journal of one chain in the quorum store.
#[derive(Clone)]
pub struct QuorumLog {
    pub(crate) connection: QuorumConnection,
}

/// Result of an attempt to become the owner.
pub enum Acquired {
    /// This process is the owner. The fence's head is the newest append.
    Won(Box<Fence>),
    /// Owner, beat or head changed since the observation.
    Lost(Box<Observation>),
}

/// Result of one attempt to write the owner.
enum Attempted {
    Written {
        revision: u64,
    },
    /// The comparisons failed, or the attempt was not answered and something changed.
    Observed(Box<Observation>),
}

impl QuorumLog {
    /// Returns the journal of a chain below these keys.
    pub fn new(quorum: Arc<dyn QuorumStore>, keys: QuorumKeys) -> Self {
        Self { connection: QuorumConnection { quorum, keys } }
    }

    /// Returns the names of the keys.
    pub fn keys(&self) -> &QuorumKeys {
        &self.connection.keys
    }

    /// Reads owner, beat and head in one linearizable transaction.
    pub fn observe(&self) -> Result<Observation, QuorumStoreError> {
        self.connection.observe()
    }

    /// Writes `owner` if owner, beat and head are unchanged since `seen`. An unanswered attempt is resolved by
    /// one more observation.
    ///
    /// An attempt without a result may still be executed. Then a later observation has this process as the
    /// owner, and the caller acquires the ownership again with that observation.
    ///
    /// # Errors
    /// Returns the quorum store's error if the outcome is unknown or the request was rejected.
    pub fn acquire(&self, seen: &Observation, owner: &Owner) -> Result<Acquired, QuorumStoreError> {
        let observed = match self.attempt(seen, owner)? {
            Attempted::Written { revision } => return Ok(self.won(owner, revision, seen)),
            Attempted::Observed(observed) => observed,
        };
        if !is_owned(&observed, owner) {
            return Ok(Acquired::Lost(observed));
        }
        // An earlier attempt succeeded, and its answer was lost; or the caller dropped a fence, whose late writes
        // may still arrive. A new mod revision of `owner` excludes them, with an epoch of its own.
        let next = Owner { epoch: observed.next_epoch(), ..owner.clone() };
        match self.attempt(&observed, &next)? {
            Attempted::Written { revision } => Ok(self.won(&next, revision, &observed)),
            Attempted::Observed(again) if is_owned(&again, &next) => {
                Ok(self.won(&next, again.owner_revision(), &again))
            }
            Attempted::Observed(again) => Ok(Acquired::Lost(again)),
        }
    }

    /// Makes one attempt to write `owner`. After an unanswered attempt, observes what changed.
    fn attempt(&self, seen: &Observation, owner: &Owner) -> Result<Attempted, QuorumStoreError> {
        let keys = &self.connection.keys;
        let comparisons = Vec::from(seen.comparisons(keys));
        let put = KeyOperation::Put { key: keys.owner(), value: encode_json(owner) };
        let observed = match self.connection.transaction(&self.connection.guarded(comparisons, vec![put])) {
            Ok(outcome) if outcome.succeeded => {
                return Ok(Attempted::Written { revision: outcome.revision });
            }
            Ok(outcome) => Observation::decode(&outcome.results)?,
            Err(error) if error.is_transient() => {
                let observed = self.observe()?;
                if observed == *seen {
                    return Err(error);
                }
                observed
            }
            Err(error) => return Err(error),
        };
        Ok(Attempted::Observed(Box::new(observed)))
    }

    fn won(&self, owner: &Owner, revision: u64, observed: &Observation) -> Acquired {
        Acquired::Won(Box::new(Fence::new(self.connection.clone(), owner.clone(), revision, observed.head)))
    }

    /// Writes the entry of a member.
    pub fn register(&self, member: &MemberEntry) -> Result<(), QuorumStoreError> {
        let key = self.connection.keys.member(&member.key_name());
        self.connection.execute(vec![KeyOperation::Put { key, value: encode_json(member) }]).map(|_| ())
    }

    /// Deletes the entry with this [`key_name`](MemberEntry::key_name), so that the retention no longer respects the
    /// position of the member.
    pub fn unregister(&self, name: &str) -> Result<(), QuorumStoreError> {
        let from = self.connection.keys.member(name);
        let to = format!("{from}\0");
        self.connection.execute(vec![KeyOperation::Delete { from, to }]).map(|_| ())
    }

    /// Lists the registered members by [`key_name`](MemberEntry::key_name).
    pub fn members(&self) -> Result<Vec<MemberEntry>, QuorumStoreError> {
        let entries = self.connection.range(self.connection.keys.members())?;
        entries.iter().map(decode_json).collect()
    }
}

/// Returns `true` if exactly this owner is recorded: a late release has the same run id and epoch.
fn is_owned(observed: &Observation, owner: &Owner) -> bool {
    observed.owner.as_ref().is_some_and(|entry| entry.owner == *owner)
}
