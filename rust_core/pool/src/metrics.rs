//! Counters of a pool.

use crate::status::DropReason;

/// Counters of transactions that entered a pool since its creation, and of those that left without being
/// included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolMetrics {
    pub added: u64,
    /// Transactions outbid by another one with the same sender and nonce.
    pub replaced: u64,
    dropped: [u64; REASONS.len()],
}

/// Names of the drop reasons. `PoolMetrics::drop` indexes by the position here.
const REASONS: [&str; 7] =
    ["nonce too low", "evicted", "sender full", "refused", "requested", "rejected", "sequencer replaced"];

impl PoolMetrics {
    /// Returns the number of dropped transactions for each reason name.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        REASONS.into_iter().zip(self.dropped)
    }

    pub(crate) fn drop(&mut self, reason: &DropReason) {
        let place = match reason {
            DropReason::NonceTooLow => 0,
            DropReason::Evicted => 1,
            DropReason::SenderFull => 2,
            DropReason::NotReinjected(_) => 3,
            DropReason::Requested => 4,
            DropReason::Rejected(_) => 5,
            DropReason::SequencerReplaced => 6,
        };
        self.dropped[place] += 1;
    }
}
