//! Removal of old records from the quorum store.

use std::time::Duration;

use crate::{
    append_error::FenceError, fence::Fence, member_positions::MemberPositions, quorum_log::QuorumLog,
    retention::Retention,
};

/// Delay after the first failed trim; each further failure doubles it.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Maximum delay after a failed trim.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);

/// Removes the records that neither the retention nor a member needs, under the fence of their owner.
#[derive(Debug, Default)]
pub(crate) struct RecordTrimmer {
    retention: Retention,
    positions: MemberPositions,
    /// Number of successive failures.
    failures: u32,
    /// Monotonic time before which a failed trim is not repeated.
    retry_at: Duration,
}

impl RecordTrimmer {
    /// Adds the record that was appended last.
    pub fn push(&mut self, sequence: u64, bytes: u64) {
        self.retention.push(sequence, bytes);
    }

    /// Returns the bytes of the retained records.
    pub fn bytes(&self) -> u64 {
        self.retention.bytes()
    }

    /// Removes old records if that is due at the monotonic time `now`. A failure of the quorum store is logged, and the
    /// trim repeated after a delay: the tick that calls this must not wait for it again and again.
    ///
    /// # Errors
    /// Returns [`FenceError::Fenced`] if another process is the owner.
    pub fn run(&mut self, log: &QuorumLog, fence: &mut Fence, now: Duration) -> Result<(), FenceError> {
        if now < self.retry_at || !self.retention.is_due() {
            return Ok(());
        }
        match self.trim(log, fence, now) {
            Ok(()) => self.failures = 0,
            Err(FenceError::QuorumStore(error)) => {
                let delay = MIN_RETRY_DELAY.saturating_mul(1 << self.failures.min(16)).min(MAX_RETRY_DELAY);
                (self.failures, self.retry_at) = (self.failures + 1, now.saturating_add(delay));
                tracing::warn!(%error, retry_s = delay.as_secs(), "cannot trim the quorum journal");
            }
            Err(error @ FenceError::Fenced { .. }) => return Err(error),
        }
        Ok(())
    }

    fn trim(&mut self, log: &QuorumLog, fence: &mut Fence, now: Duration) -> Result<(), FenceError> {
        if let Some(first) = self.retention.first_without_earlier() {
            self.retention.add_earlier(&log.list_records(first)?);
        }
        let positions = self.positions.update(log.members()?, fence.owner().run_id, now);
        match self.retention.first_retained(&positions) {
            Some(first) => {
                fence.trim(first)?;
                self.retention.trim(first);
            }
            // A member holds the records back: checked again after the next interval.
            None => self.retention.defer(),
        }
        Ok(())
    }
}
