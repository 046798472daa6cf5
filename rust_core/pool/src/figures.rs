//! How much went through a pool.

use crate::DropReason;

/// What entered a pool since it was made, and what left it without being included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolFigures {
    pub added: u64,
    /// Outbid by another one with the same sender and nonce.
    pub replaced: u64,
    dropped: [u64; REASONS.len()],
}

/// Names of the reasons for which a transaction is dropped.
const REASONS: [&str; 6] = ["nonce too low", "evicted", "sender full", "refused", "requested", "rejected"];

impl PoolFigures {
    /// How many were dropped, by the reason's name.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        REASONS.into_iter().zip(self.dropped)
    }

    pub(crate) fn drop(&mut self, reason: &DropReason) {
        let place = match reason {
            DropReason::NonceTooLow => 0,
            DropReason::Evicted => 1,
            DropReason::SenderFull => 2,
            DropReason::Refused(_) => 3,
            DropReason::Requested => 4,
            DropReason::Rejected(_) => 5,
        };
        self.dropped[place] += 1;
    }
}
