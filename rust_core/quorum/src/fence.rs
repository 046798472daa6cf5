//! Writes of the owner.

use std::time::Duration;

use alloy_primitives::B256;
use bytes::Bytes;

use crate::{
    append_error::{AppendError, FenceError},
    beat_sender::BeatSender,
    observation::{HeadEntry, Observation},
    owner::Owner,
    quorum_connection::{QuorumConnection, TransactionOutcome, encode_json},
    quorum_error::QuorumStoreError,
    quorum_head::QuorumHead,
    quorum_keys::{MAX_PARTS, MAX_RECORD_SIZE, PART_SIZE},
    quorum_store::{KeyComparison, KeyOperation, QuorumRequest},
    run_id::RunId,
};

/// Permission to append: the mod revision of the `owner` key that this process wrote.
///
/// Every write compares that revision, so a write that executes late or twice after a takeover has no effect.
/// An append without a definite answer can only be repeated; a process that gives up acquires the ownership
/// again, or restarts with a new run id.
pub struct Fence {
    connection: QuorumConnection,
    owner: Owner,
    owner_revision: u64,
    head: Option<HeadEntry>,
    /// The append that was sent and has no definite answer.
    pending: Option<PendingAppend>,
    beats: u64,
}

/// An append as the quorum store stores it.
#[derive(Clone, Debug)]
pub struct QuorumAppend {
    pub sequence: u64,
    /// Chain hash of the append.
    pub hash: B256,
    /// Block and step after this append.
    pub block: u64,
    pub index: u64,
    /// The encoded [`QuorumRecord`](crate::QuorumRecord).
    pub record: Bytes,
}

/// Control over the wait for a quorum store that does not answer.
pub struct Wait<'a> {
    /// Returns `true` to end the wait; checked before each round over the endpoints.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives the error of each round and the time since the append began.
    pub on_wait: &'a dyn Fn(&QuorumStoreError, Duration),
    /// Monotonic clock.
    pub clock: &'a dyn Fn() -> Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct PendingAppend {
    sequence: u64,
    hash: B256,
}

impl Fence {
    pub(crate) fn new(
        connection: QuorumConnection,
        owner: Owner,
        owner_revision: u64,
        head: Option<HeadEntry>,
    ) -> Self {
        Self { connection, owner, owner_revision, head, pending: None, beats: 0 }
    }

    /// Returns the owner as this process wrote it.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Returns a sender of beats under this fence, for another thread.
    pub fn beat_sender(&self) -> BeatSender {
        BeatSender::new(self.connection.clone(), self.owner_revision)
    }

    /// Returns the newest acknowledged append, including those of earlier owners.
    pub fn head(&self) -> Option<&QuorumHead> {
        self.head.as_ref().map(|entry| &entry.head)
    }

    /// Appends a record, and returns once a majority holds it. Repeats unanswered attempts until a definite
    /// answer.
    ///
    /// # Errors
    /// Returns [`AppendError`]; after each one the append must not become visible.
    pub fn append(&mut self, append: &QuorumAppend, wait: &Wait<'_>) -> Result<(), AppendError> {
        let parts = self.check(append)?;
        self.pending = Some(PendingAppend { sequence: append.sequence, hash: append.hash });
        let started = (wait.clock)();
        for index in 0..parts - 1 {
            let request = self.part_request(append, index);
            let outcome = send(&self.connection, &request, wait, started)?;
            if !outcome.succeeded {
                let observed = decode(&outcome)?;
                return Err(self.failed(append.sequence, observed));
            }
        }
        let head = QuorumHead {
            sequence: append.sequence,
            hash: append.hash,
            parts,
            block: append.block,
            index: append.index,
            epoch: self.owner.epoch,
        };
        let request = self.commit_request(append, &head);
        let outcome = send(&self.connection, &request, wait, started)?;
        let revision =
            if outcome.succeeded { outcome.revision } else { self.find_append(append, decode(&outcome)?)? };
        self.head = Some(HeadEntry { head, revision });
        self.pending = None;
        Ok(())
    }

    /// Writes the beat in one round, so that standbys see that this process is alive.
    ///
    /// # Errors
    /// Returns [`FenceError`]. A beat without an answer may still be written.
    pub fn beat(&mut self) -> Result<(), FenceError> {
        self.beats += 1;
        let put = KeyOperation::Put {
            key: self.connection.keys.beat(),
            value: Bytes::from(self.beats.to_string()),
        };
        self.write(vec![put]).map(|_| ())
    }

    /// Ends the ownership in one round: a standby takes over at once, preferably `successor`. Appends fail from
    /// then on. The call can be repeated after an error.
    ///
    /// # Errors
    /// Returns [`FenceError`]. A release without an answer may still be executed.
    pub fn release(&mut self, successor: Option<RunId>) -> Result<(), FenceError> {
        let released = Owner { successor, released: true, ..self.owner.clone() };
        let put = KeyOperation::Put { key: self.connection.keys.owner(), value: encode_json(&released) };
        match self.write(vec![put]) {
            // The answer of an earlier attempt was lost.
            Err(FenceError::Fenced { owner: Some(owner) }) if owner.released && *owner == released => Ok(()),
            // The comparisons of later writes fail, because they still have the revision before the release.
            result => result.map(|_| ()),
        }
    }

    /// Deletes the records below `first`, except that of the head, and compacts the quorum store.
    ///
    /// # Errors
    /// Returns [`FenceError`]. The call can be repeated after an error.
    pub fn trim(&mut self, first: u64) -> Result<(), FenceError> {
        let Some(head) = self.head else { return Ok(()) };
        let keys = &self.connection.keys;
        let delete = KeyOperation::Delete {
            from: keys.first_record(),
            to: keys.record_part(first.min(head.head.sequence), 0),
        };
        let revision = self.write(vec![delete])?;
        match self.connection.quorum.call(&QuorumRequest::Compact { revision }) {
            Ok(_) | Err(QuorumStoreError::Revision { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn write(&self, operations: Vec<KeyOperation>) -> Result<u64, FenceError> {
        self.connection.write_as_owner(self.owner_revision, operations)
    }

    /// Returns the number of parts of an append that may be sent.
    fn check(&self, append: &QuorumAppend) -> Result<u32, AppendError> {
        let (sequence, bytes) = (append.sequence, append.record.len());
        if bytes > MAX_RECORD_SIZE {
            return Err(AppendError::TooLarge { sequence, bytes, max: MAX_RECORD_SIZE });
        }
        let this = PendingAppend { sequence, hash: append.hash };
        if let Some(pending) = self.pending.filter(|pending| *pending != this) {
            return Err(AppendError::Unresolved { sequence, unresolved: pending.sequence });
        }
        if self.head().is_some_and(|head| head.sequence.checked_add(1) != Some(sequence)) {
            return Err(AppendError::Diverged { sequence, head: self.head().copied() });
        }
        Ok(u32::try_from(bytes.div_ceil(PART_SIZE)).unwrap_or(MAX_PARTS).max(1))
    }

    fn owner_comparison(&self) -> KeyComparison {
        KeyComparison { key: self.connection.keys.owner(), revision: self.owner_revision }
    }

    fn put_part(&self, append: &QuorumAppend, index: u32) -> KeyOperation {
        let key = self.connection.keys.record_part(append.sequence, index);
        KeyOperation::Put { key, value: chunk(&append.record, index as usize) }
    }

    fn part_request(&self, append: &QuorumAppend, index: u32) -> QuorumRequest {
        self.connection.guarded(vec![self.owner_comparison()], vec![self.put_part(append, index)])
    }

    /// Returns the transaction that makes the append exist.
    fn commit_request(&self, append: &QuorumAppend, head: &QuorumHead) -> QuorumRequest {
        let keys = &self.connection.keys;
        let revision = self.head.map_or(0, |entry| entry.revision);
        let comparisons = vec![self.owner_comparison(), KeyComparison { key: keys.head(), revision }];
        let success = vec![
            self.put_part(append, head.parts - 1),
            // An earlier owner may have left more parts of a record that never existed.
            KeyOperation::Delete {
                from: keys.record_part(append.sequence, head.parts),
                to: keys.record_end(append.sequence),
            },
            KeyOperation::Put { key: keys.head(), value: encode_json(head) },
        ];
        self.connection.guarded(comparisons, success)
    }

    /// Returns the revision of the head if it is this append: the answer of an earlier attempt was lost.
    fn find_append(&self, append: &QuorumAppend, observed: Observation) -> Result<u64, AppendError> {
        let is_owner = observed.owner_revision() == self.owner_revision;
        match observed.head {
            Some(HeadEntry { head, revision })
                if is_owner && head.sequence == append.sequence && head.hash == append.hash =>
            {
                Ok(revision)
            }
            _ => Err(self.failed(append.sequence, observed)),
        }
    }

    /// Returns the reason why the comparisons of an append failed.
    fn failed(&self, sequence: u64, observed: Observation) -> AppendError {
        if observed.owner_revision() == self.owner_revision {
            AppendError::Diverged { sequence, head: observed.head.map(|entry| entry.head) }
        } else {
            AppendError::Fenced { owner: observed.owner.map(|entry| Box::new(entry.owner)) }
        }
    }
}

fn chunk(record: &Bytes, index: usize) -> Bytes {
    let start = index * PART_SIZE;
    record.slice(start..record.len().min(start + PART_SIZE))
}

/// Returns the parts of a record.
pub(crate) fn split_parts(record: &Bytes) -> Vec<Bytes> {
    (0..record.len().div_ceil(PART_SIZE)).map(|index| chunk(record, index)).collect()
}

/// Sends a transaction until it has a definite answer.
fn send(
    connection: &QuorumConnection,
    request: &QuorumRequest,
    wait: &Wait<'_>,
    started: Duration,
) -> Result<TransactionOutcome, AppendError> {
    loop {
        if (wait.stop)() {
            return Err(AppendError::Stopped);
        }
        match connection.transaction(request) {
            Ok(outcome) => return Ok(outcome),
            Err(error) if error.is_transient() => {
                (wait.on_wait)(&error, (wait.clock)().saturating_sub(started));
            }
            Err(error) => return Err(AppendError::Rejected(error)),
        }
    }
}

fn decode(outcome: &TransactionOutcome) -> Result<Observation, AppendError> {
    Observation::decode(&outcome.results).map_err(AppendError::Rejected)
}
