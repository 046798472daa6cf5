//! Execution of a step, limits of the steps of a timed block, and the transactions that wait because of them.

use std::{sync::Arc, time::Duration};

use alloy_consensus::Transaction as _;
use alloy_primitives::{B256, map::B256HashSet};
use foreseal_builder::{BlockShare, BuiltStep, PendingBlock, StepControl, StepLimits};
use foreseal_chain::Recorded;
use foreseal_evm::RejectedTransaction;
use foreseal_journal::Record;
use foreseal_pool::DropReason;
use foreseal_primitives::{Flashblock, Transaction};

use crate::{
    errors::production_error::ProductionError,
    observe::writer_metrics::{StepStage, Stopwatch},
    produce::{
        block_producer::BlockProducer,
        slow_lane::{DroppedSlow, SlowResult, TimeLeft},
    },
    settings::mining::Mining,
};

/// Number of blocks for which the sender of a dropped slow transaction may have short ones only.
const RESTRICTED_BLOCKS: u64 = 150;
/// Maximum difference between the clocks of a driver and of the node.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(1);

impl BlockProducer {
    /// Stops each transaction of a step after this time. Without it, a step lasts as long as its transactions.
    pub(crate) fn limit_transaction_time(&mut self, limit: Duration) {
        self.transaction_time = Some(limit);
    }

    /// Executes the pool's best transactions as one step. Returns `true` if a step was made.
    pub(crate) fn step(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<bool, ProductionError> {
        let (clock, metrics) = (self.writer.shared.clock.clone(), self.writer.shared.metrics.clone());
        let mut stopwatch = Stopwatch::begin(&*clock);
        let limits = self.step_limits();
        let Some((block, flashblock)) = self.execute(limits, keep_going)? else { return Ok(false) };
        let step = self.stamp().stamp_and_sign(flashblock);
        let recorded = Recorded { step: step.clone(), change: None };
        stopwatch.lap();
        self.writer.append(&[Record::Step(step.clone())])?;
        metrics.stage(StepStage::Sync).add(stopwatch.lap());
        tracing::debug!(hash = %step.hash, transactions = step.transactions.len(), "step is durable");
        self.writer.chain.push_step(block, recorded);
        let view = Arc::new(self.view()?);
        self.writer.show(view);
        metrics.stage(StepStage::Publish).add(stopwatch.lap());
        self.writer.shared.pool.on_step(&step.transactions, &step.diff);
        metrics.stage(StepStage::Pool).add(stopwatch.lap());
        metrics.step.add(stopwatch.whole());
        metrics.stepped(&step);
        Ok(true)
    }

    /// Executes the pool's best transactions on the block being built, and drops those that no block can hold.
    /// Returns the block with their step; `None` if there is none to execute.
    pub(crate) fn execute(
        &mut self,
        limits: StepLimits,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Option<(PendingBlock, Flashblock)>, ProductionError> {
        let open = self.writer.chain.open_block().expect("a node that produces always has an open block");
        let (base_fee, blob_fee) = self.writer.chain.spec().base_fees(open.header());
        let (clock, metrics, pool) = (
            self.writer.shared.clock.clone(),
            self.writer.shared.metrics.clone(),
            self.writer.shared.pool.clone(),
        );
        let mut stopwatch = Stopwatch::begin(&*clock);
        self.deferred.retain_oversized(|hash| pool.hold(hash));
        let mut best = pool.best(base_fee, blob_fee);
        let taken = stopwatch.lap();
        let control =
            StepControl { limits, deferred: &mut self.deferred, keep_going, clock: &|| clock.monotonic() };
        let stepped = open.step_within(&mut best, self.writer.chain.hashes(), control);
        drop(best);
        self.release_unselected(stepped.as_ref().ok());
        let stepped = stepped?;
        for (hash, reason) in stepped.rejected {
            self.drop_rejected(&hash, &reason);
        }
        if stepped.step.is_some() {
            metrics.stage(StepStage::Select).add(taken + stepped.times.select);
            metrics.stage(StepStage::Execute).add(stepped.times.execute);
            metrics.stage(StepStage::Roots).add(stepped.times.roots);
        }
        Ok(stepped.step)
    }

    /// Lets submissions replace the transactions of the pool that the builder has selected and that neither the step
    /// nor the slow lane has.
    fn release_unselected(&self, built: Option<&BuiltStep>) {
        let included = built.and_then(|built| built.step.as_ref()).map(|(_, step)| &step.transactions);
        let included: B256HashSet =
            included.into_iter().flatten().map(|transaction| transaction.hash()).collect();
        self.writer.shared.pool.release_held(|hash| included.contains(hash) || self.deferred.is_slow(hash));
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
        StepLimits { share, result_bytes: StepLimits::RESULT_BYTES, transaction_time }
    }

    /// Returns the time until the block being built is sealed, and its whole time; `None` if it is not sealed by time.
    fn timed_block(&self) -> Option<(Duration, Duration)> {
        match self.mining {
            Mining::Interval { seconds } => {
                let left = self.slot?.due.saturating_sub(self.writer.shared.clock.monotonic());
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
        let timestamp = self.writer.chain.open_block()?.header().timestamp;
        let block_time = timestamp.saturating_sub(self.writer.chain.latest().block.header.timestamp);
        let block_time = Duration::from_secs(block_time);
        let (due, now) = (Duration::from_secs(timestamp), self.writer.shared.clock.now().unix);
        let left = due.saturating_sub(now);
        let is_current = left <= block_time + MAX_CLOCK_DIFFERENCE && now <= due + MAX_CLOCK_DIFFERENCE;
        is_current.then_some((left.min(block_time), block_time))
    }

    /// Passes the result of a slow transaction to the next step.
    pub(crate) fn collect_slow(&mut self) {
        use RejectedTransaction as R;
        // A development command may have taken the place of the step since the last result.
        if self.deferred.has_prepared() {
            return;
        }
        match self.slow_lane.poll() {
            None => {}
            Some(SlowResult::Prepared(prepared)) => self.deferred.add_prepared(*prepared),
            // A later block has room.
            Some(
                SlowResult::Failed(transaction)
                | SlowResult::Rejected(
                    transaction,
                    R::BlockGasExceeded { .. } | R::BlobGasExceeded { .. } | R::FootprintExceeded { .. },
                ),
            ) => self.deferred.release(&transaction.hash()),
            Some(SlowResult::Rejected(transaction, reason)) => {
                self.drop_slow(&transaction, &DroppedSlow::Rejected(reason));
            }
        }
    }

    /// Begins the execution of transactions that the last step has stopped, or could not add after their execution.
    /// Only blocks that are sealed by time stop any.
    pub(crate) fn execute_slow(&mut self) {
        let tip = self.tips();
        let mut dropped = Vec::new();
        for transaction in self.deferred.drain_interrupted() {
            tracing::debug!(hash = %transaction.hash(), "a transaction exceeds the time of a step");
            dropped.extend(self.slow_lane.push(transaction, &tip));
        }
        if let Some(transaction) = self.deferred.take_outdated() {
            dropped.extend(self.slow_lane.push_again(transaction, &tip));
        }
        for (transaction, reason) in dropped {
            self.drop_slow(&transaction, &reason);
        }
        match self.timed_block() {
            Some((left, block_time)) => {
                // A driver may leave less time in each block: its slow transactions must not wait for more.
                let block_time = if self.mining == Mining::Driver { left } else { block_time };
                self.slow_lane.begin_next(
                    &self.writer.chain,
                    &self.writer.shared.clock,
                    TimeLeft { left, block_time },
                    &tip,
                );
            }
            None => self.slow_lane.drain().for_each(|waiting| self.deferred.release(&waiting.hash())),
        }
    }

    /// Returns the tip of a transaction under the current base fee; zero if it cannot pay that.
    fn tips(&self) -> impl Fn(&Transaction) -> u128 + use<> {
        let base_fee = self
            .writer
            .chain
            .open_block()
            .and_then(|open| open.header().base_fee_per_gas)
            .unwrap_or_default();
        move |transaction| transaction.envelope().effective_tip_per_gas(base_fee).unwrap_or_default()
    }

    /// Drops a slow transaction. Its executions were for nothing, so that its sender may have short transactions only
    /// for a while.
    fn drop_slow(&mut self, transaction: &Transaction, reason: &DroppedSlow) {
        let hash = transaction.hash();
        self.deferred.release(&hash);
        let last = self.writer.chain.latest().block.header.number.saturating_add(RESTRICTED_BLOCKS);
        self.deferred.restrict(transaction.sender(), last);
        self.writer.shared.pool.discard(&hash, DropReason::Rejected(reason.to_string()));
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
        self.writer.shared.pool.discard(hash, drop_as);
    }
}
