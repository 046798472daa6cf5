//! Limits of the steps of a timed block, and the transactions that wait because of them.

use std::time::Duration;

use alloy_primitives::B256;
use foreseal_builder::{BlockShare, StepLimits};
use foreseal_evm::RejectedTransaction;
use foreseal_pool::DropReason;

use crate::{Mining, sequencer::Sequencer, slow_lane::SlowResult};

/// Maximum difference between the clocks of a driver and of the node.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(1);

impl Sequencer {
    /// Stops each transaction of a step after this time. Without it, a step lasts as long as its transactions.
    pub(crate) fn limit_transaction_time(&mut self, limit: Duration) {
        self.transaction_time = Some(limit);
    }

    /// Returns the limits of the next step.
    pub(crate) fn step_limits(&self) -> StepLimits {
        let (share, transaction_time) = match self.timed_block() {
            Some((left, block_time)) => {
                let step = self.settings.production.step;
                (BlockShare::for_step(left, step, block_time), self.transaction_time)
            }
            None => (BlockShare::ALL, None),
        };
        StepLimits {
            share,
            result_bytes: StepLimits::RESULT_BYTES,
            transaction_time,
            accepts_slow: self.slow_lane.has_room(),
        }
    }

    /// Returns the time until the block being built is sealed, and its whole time; `None` if it is not sealed by time.
    fn timed_block(&self) -> Option<(Duration, Duration)> {
        match self.mining {
            Mining::Interval { seconds } => {
                let left = self.slot?.due.saturating_sub(self.shared.clock.monotonic());
                Some((left, Duration::from_secs(seconds)))
            }
            Mining::Driver => self.timed_payload(),
            Mining::Automatic | Mining::Manual => None,
        }
    }

    /// Returns the time until a driver takes the payload being built, and its whole time. It takes it at the timestamp
    /// of the block. `None` for a block of another time, by more than [`MAX_CLOCK_DIFFERENCE`]: the driver catches up,
    /// and may take it at once.
    fn timed_payload(&self) -> Option<(Duration, Duration)> {
        let timestamp = self.chain.open_block()?.header().timestamp;
        let block_time = timestamp.saturating_sub(self.chain.latest().block.header.timestamp);
        let block_time = Duration::from_secs(block_time);
        let (due, now) = (Duration::from_secs(timestamp), self.shared.clock.now().unix);
        let left = due.saturating_sub(now);
        let is_current = left <= block_time + MAX_CLOCK_DIFFERENCE && now <= due + MAX_CLOCK_DIFFERENCE;
        is_current.then_some((left.min(block_time), block_time))
    }

    /// Passes the result of a slow transaction to the next step.
    pub(crate) fn collect_slow(&mut self) {
        match self.slow_lane.poll() {
            None => {}
            Some(SlowResult::Prepared(prepared)) => self.deferred.add_prepared(*prepared),
            Some(SlowResult::Failed(transaction)) => self.deferred.release(&transaction.hash()),
            Some(SlowResult::Rejected(transaction, reason)) => {
                self.deferred.release(&transaction.hash());
                self.drop_rejected(&transaction.hash(), &reason);
            }
        }
    }

    /// Begins the execution of transactions that the last step has stopped. Only blocks that are sealed by time stop
    /// any.
    pub(crate) fn execute_slow(&mut self) {
        for transaction in self.deferred.drain_interrupted() {
            tracing::debug!(hash = %transaction.hash(), "a transaction exceeds the time of a step");
            self.slow_lane.push(transaction);
        }
        match self.timed_block() {
            Some((left, block_time)) => {
                // A driver may leave less time in each block: its slow transactions must not wait for more.
                let block_time = if self.mining == Mining::Driver { left } else { block_time };
                self.slow_lane.begin_next(&self.chain, &self.shared.clock, left, block_time);
            }
            None => self.slow_lane.drain().for_each(|waiting| self.deferred.release(&waiting.hash())),
        }
    }

    /// Drops a rejected transaction that no later step could hold; other transactions stay in the pool.
    pub(crate) fn drop_rejected(&self, hash: &B256, reason: &RejectedTransaction) {
        use RejectedTransaction as R;
        let drop_as = match reason {
            R::NonceTooHigh { .. }
            | R::InsufficientFunds { .. }
            | R::BlockGasExceeded { .. }
            | R::BlobGasExceeded { .. }
            | R::FootprintExceeded { .. }
            | R::FeeTooLow { .. }
            | R::BlobFeeTooLow { .. } => return,
            R::NonceTooLow { .. } => DropReason::NonceTooLow,
            R::NonceOverflow
            | R::GasCapExceeded { .. }
            | R::IntrinsicGas { .. }
            | R::TipAboveFee
            | R::SenderHasCode
            | R::InitCodeTooLarge
            | R::ChainId
            | R::SignatureForm
            | R::UnsupportedType(_)
            | R::DepositLog
            | R::Other(_) => DropReason::Rejected(reason.to_string()),
        };
        self.shared.pool.discard(hash, drop_as);
    }
}
