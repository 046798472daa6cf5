//! The change of the leader: catch up with the quorum, acquire the ownership, produce; or give it up.

use alloy_primitives::B256;
use foreseal_quorum::{Acquired, Fence, Observation, Owner, QuorumHead, SilenceReason, chain_hash};
use foreseal_replication::Phase;

use crate::{
    cluster::{cluster_monitor::TakeoverRecord, member::ClusterMember},
    control::sequencer::Sequencer,
    errors::cluster_error::ClusterError,
};

/// Maximum bytes of records that are read at once.
const MAX_TAIL_READ: usize = 8 << 20;

impl ClusterMember {
    /// Executes the records of the quorum journal up to the one with number `last`.
    pub(crate) fn catch_up(&mut self, last: u64) -> Result<(), ClusterError> {
        loop {
            let next = self.parts.sequencer.lock().producer.writer.next_sequence();
            if next > last || self.parts.shared.stop.is_stopping() {
                return Ok(());
            }
            let records = self.parts.log.read_records(next, MAX_TAIL_READ)?;
            if records.is_empty() {
                return Ok(());
            }
            for record in records {
                let mut sequencer = self.parts.sequencer.lock();
                let _working = self.parts.shared.activity.work();
                // The feed may have delivered it meanwhile.
                if sequencer.producer.writer.next_sequence() == record.link.sequence {
                    sequencer.producer.writer.add_record(record)?;
                }
            }
        }
    }

    /// Tries to become the owner, and then continues the chain.
    pub(crate) fn take_over(
        &mut self,
        observed: &Observation,
        reason: SilenceReason,
    ) -> Result<(), ClusterError> {
        let began = self.parts.shared.clock.monotonic();
        let head = observed.head.map(|entry| entry.head);
        // A member that cannot reach the head must not become the owner.
        if !self.is_current(head)? {
            return Ok(());
        }
        if let Some(head) = head {
            self.catch_up(head.sequence)?;
        }
        if self.parts.shared.stop.is_stopping() {
            return Ok(());
        }
        let owner = Owner { epoch: observed.next_epoch(), ..self.parts.profile.clone() };
        let fence = match self.parts.log.acquire(observed, &owner)? {
            Acquired::Won(fence) => fence,
            Acquired::Lost(_) => return Ok(()),
        };
        let (fenced, owner) = (self.parts.shared.clock.monotonic(), fence.owner().clone());
        tracing::info!(reason = reason.code(), epoch = owner.epoch, "this process is the owner of the chain");
        self.parts.monitor.acquired(owner.clone());
        self.lead(*fence)?;
        let ready = self.parts.shared.clock.monotonic();
        let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let record = TakeoverRecord {
            reason: reason.code(),
            epoch: owner.epoch,
            at: ms(self.parts.shared.clock.now().unix),
            fence_ms: ms(fenced.saturating_sub(began)),
            ready_ms: ms(ready.saturating_sub(began)),
        };
        self.parts.monitor.took_over(record);
        Ok(())
    }

    /// Returns `false` if the journal here has appends that were made after the observation of `head`.
    pub(crate) fn is_current(&self, head: Option<QuorumHead>) -> Result<bool, ClusterError> {
        let Err(error) = self.check_position(head) else { return Ok(true) };
        // The feed of an owner that writes again may have delivered them. This observation is newer than them.
        let newest = self.parts.log.observe()?.head.map(|entry| entry.head);
        if newest == head { Err(error) } else { Ok(false) }
    }

    /// Checks that the journal here does not end after the quorum's.
    fn check_position(&self, head: Option<QuorumHead>) -> Result<(), ClusterError> {
        let next = self.parts.sequencer.lock().producer.writer.next_sequence();
        match head {
            Some(head) if next > head.sequence.saturating_add(1) => {
                Err(ClusterError::LocalAhead { next, head: head.sequence })
            }
            // Another member may have appends that this one lacks: the operator decides whose journal continues.
            None if next > 0 => Err(ClusterError::EmptyStore { next }),
            _ => Ok(()),
        }
    }

    /// Continues the chain under this fence. Gives the ownership up if that fails.
    fn lead(&mut self, fence: Fence) -> Result<(), ClusterError> {
        let head = fence.head().copied();
        let (next, hash) = match self.ready_to_lead(head) {
            Ok(ready) => ready,
            Err(error) => {
                let mut fence = fence;
                if let Err(error) = fence.release(None) {
                    tracing::warn!(%error, "cannot release the ownership of the chain");
                }
                return Err(error);
            }
        };
        // No frame of another process is applied from here on.
        self.parts.client.set_addresses(Vec::new());
        let begun = {
            let mut sequencer = self.parts.sequencer.lock();
            let _working = self.parts.shared.activity.work();
            self.parts.writer.lock().lead(fence, hash);
            if sequencer.producer.writer.next_sequence() == next {
                self.parts.shared.leadership.set_leads(true);
                sequencer.producer.lead().map_err(ClusterError::from)
            } else {
                Err(ClusterError::Overtaken { sequence: next })
            }
        };
        if let Err(error) = begun {
            self.resign(&error.to_string());
            return Err(error);
        }
        self.parts.shared.health.set_phase(Phase::Producing);
        Ok(())
    }

    /// Catches up with the head of the fence. Returns the sequence number of the next append, and the chain hash
    /// of the one before it.
    fn ready_to_lead(&mut self, head: Option<QuorumHead>) -> Result<(u64, B256), ClusterError> {
        if !self.is_current(head)? {
            return Err(Self::overtaken(head));
        }
        // The first owner of the chain in this quorum store: its journal is empty, as `is_current` has checked.
        let Some(head) = head else { return Ok((0, B256::ZERO)) };
        self.catch_up(head.sequence)?;
        let sequence = head.sequence;
        let link = self.parts.log.read_records(sequence, 1)?.first().map(|record| record.link);
        let (next, newest) = self.position()?;
        if next > sequence.saturating_add(1) {
            // The feed is faster than the answer of the acquisition was.
            return Err(Self::overtaken(Some(head)));
        }
        let agrees = match (link, newest) {
            (Some(link), Some(newest)) => {
                link.sequence == sequence && chain_hash(link.previous, newest) == head.hash
            }
            _ => false,
        };
        if agrees { Ok((next, head.hash)) } else { Err(ClusterError::Diverged { sequence }) }
    }

    fn overtaken(head: Option<QuorumHead>) -> ClusterError {
        ClusterError::Overtaken { sequence: head.map_or(0, |head| head.sequence.saturating_add(1)) }
    }

    /// Returns the sequence number of the next append here, and the content hash of the one before it; `None` if
    /// there is none.
    fn position(&self) -> Result<(u64, Option<B256>), ClusterError> {
        let sequencer = self.parts.sequencer.lock();
        let writer = &sequencer.producer.writer;
        let hash = writer
            .last_hash(&self.parts.journal_reader)
            .map_err(|error| ClusterError::Copy(foreseal_replication::CopyError::Failed(error)))?;
        Ok((writer.next_sequence(), hash))
    }

    /// Stops producing, and releases the ownership so that another member takes over at once.
    pub fn resign(&mut self, reason: &str) {
        // Not demoted by `Self::demote`, which drops the fence without a release.
        demote(&mut self.parts.sequencer.lock(), reason);
        if let Err(error) = self.parts.writer.lock().release(None) {
            tracing::warn!(%error, "cannot release the ownership of the chain");
        }
    }

    /// Stops producing and follows the owner from now on.
    pub fn demote(&mut self, reason: &str) {
        let mut sequencer = self.parts.sequencer.lock();
        demote(&mut sequencer, reason);
        self.parts.writer.lock().follow();
    }
}

/// Makes a sequencer follow another process.
pub(crate) fn demote(sequencer: &mut Sequencer, reason: &str) {
    tracing::warn!(reason, "this process no longer writes the chain");
    sequencer.producer.slot = None;
    sequencer.producer.writer.shared.leadership.set_leads(false);
    sequencer.producer.writer.shared.health.set_phase(Phase::Disconnected(reason.to_owned()));
}
