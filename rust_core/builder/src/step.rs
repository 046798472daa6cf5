//! One step of the builder: it selects transactions from the pool that fit, executes them and makes the
//! flashblock.

use std::{sync::Arc, time::Duration};

use alloy_consensus::Transaction as _;
use alloy_primitives::B256;
use foreseal_evm::{BlockGas, ExecutionError, Executor, RejectedTransaction};
use foreseal_pool::BestTransactions;
use foreseal_primitives::{
    Flashblock, MAX_BLOCK_BYTES, Receipt, SpecId, StateDiff, Transaction, length_in_block,
};
use foreseal_state::BlockHashes;

use crate::{BuildError, PendingBlock, body::blob_gas, pending_block::ExecutedStep};

/// Intrinsic gas of the cheapest transaction.
const MIN_GAS: u64 = 21_000;
/// Bytes reserved for the header when the block size is checked (EIP-7934). A header is under 1 KiB.
const HEADER_RESERVE: usize = 2048;

/// Outcome of one step of the builder.
#[derive(Debug)]
pub struct BuiltStep {
    /// The block after the step and the flashblock; `None` if no transaction was added.
    pub step: Option<(PendingBlock, Flashblock)>,
    /// Transactions that execution rejected. The pool decides what to do with them.
    pub rejected: Vec<(B256, RejectedTransaction)>,
    pub times: StepTimes,
}

/// Durations of the phases of a step, measured by the caller's clock; zero without a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepTimes {
    /// Selection of transactions from the pool, in its order.
    pub select: Duration,
    pub execute: Duration,
    /// Tries, end-of-block processing and the header.
    pub roots: Duration,
}

/// Stopwatch that adds the time since its last reading to a phase.
struct Stopwatch<'a> {
    clock: &'a dyn Fn() -> Duration,
    last: Duration,
}

impl<'a> Stopwatch<'a> {
    fn begin(clock: &'a dyn Fn() -> Duration) -> Self {
        Self { clock, last: clock() }
    }

    fn add_to(&mut self, part: &mut Duration) {
        let now = (self.clock)();
        *part += now.saturating_sub(self.last);
        self.last = now;
    }
}

/// Remaining budgets of the block.
struct RemainingBudgets {
    gas: u64,
    blob_gas: u64,
    bytes: usize,
}

impl RemainingBudgets {
    fn new(block: &PendingBlock) -> Self {
        let header = block.header();
        let blob_limit = block.spec.blob_params(header.timestamp).map_or(0, |p| p.max_blob_gas_per_block());
        // The driver of an OP chain bounds its blocks.
        let bytes = if block.fork().is_enabled_in(SpecId::OSAKA) && block.spec.optimism().is_none() {
            MAX_BLOCK_BYTES.saturating_sub(block.body.transactions_length + HEADER_RESERVE)
        } else {
            usize::MAX
        };
        Self {
            gas: header.gas_limit.saturating_sub(block.body.gas_used()),
            blob_gas: blob_limit.saturating_sub(block.body.blob_gas_used),
            bytes,
        }
    }

    fn fits(&self, transaction: &Transaction) -> bool {
        transaction.envelope().gas_limit() <= self.gas
            && blob_gas(transaction) <= self.blob_gas
            && length_in_block(transaction) <= self.bytes
    }

    fn subtract(&mut self, transaction: &Transaction, gas_used: u64) {
        self.gas = self.gas.saturating_sub(gas_used);
        self.blob_gas = self.blob_gas.saturating_sub(blob_gas(transaction));
        self.bytes = self.bytes.saturating_sub(length_in_block(transaction));
    }
}

/// A step that is being filled.
struct StepInProgress<'a> {
    executor: Executor<'a>,
    remaining: RemainingBudgets,
    gas: BlockGas,
    transactions: Vec<Arc<Transaction>>,
    receipts: Vec<Arc<Receipt>>,
    rejected: Vec<(B256, RejectedTransaction)>,
}

impl<'a> StepInProgress<'a> {
    fn on(block: &'a PendingBlock, hashes: &'a dyn BlockHashes) -> Self {
        Self {
            executor: Executor::new(&block.spec, &block.base, hashes, block.header()),
            remaining: RemainingBudgets::new(block),
            gas: BlockGas {
                gas_used: block.body.gas_used(),
                blob_gas_used: block.body.blob_gas_used,
                log_count: block.body.log_count(),
            },
            transactions: Vec::new(),
            receipts: Vec::new(),
            rejected: Vec::new(),
        }
    }

    /// Executes a transaction if it fits. Returns `true` if the step now contains it.
    fn include_if_it_fits(&mut self, transaction: &Arc<Transaction>) -> Result<bool, BuildError> {
        if !self.remaining.fits(transaction) {
            return Ok(false);
        }
        match self.executor.transact(transaction, &mut self.gas) {
            Ok(receipt) => {
                self.remaining.subtract(transaction, receipt.gas_used);
                self.transactions.push(transaction.clone());
                self.receipts.push(Arc::new(receipt));
                Ok(true)
            }
            Err(ExecutionError::Rejected(reason)) => {
                self.rejected.push((transaction.hash(), reason));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn finish(
        mut self,
        block: &PendingBlock,
        hashes: &dyn BlockHashes,
        mut times: StepTimes,
        laps: &mut Stopwatch<'_>,
    ) -> Result<BuiltStep, BuildError> {
        let diff = Arc::new(self.executor.drain_diff());
        laps.add_to(&mut times.execute);
        let Self { transactions, receipts, rejected, gas, .. } = self;
        if transactions.is_empty() {
            return Ok(BuiltStep { step: None, rejected, times });
        }
        let executed = ExecutedStep { transactions, receipts, diff, blob_gas_used: gas.blob_gas_used };
        let step = block.next_step(executed, hashes)?;
        laps.add_to(&mut times.roots);
        Ok(BuiltStep { step: Some(step), rejected, times })
    }
}

impl PendingBlock {
    /// Executes transactions in the pool's order while they fit and `keep_going` returns `true`, and makes
    /// the next step from those that succeed. A transaction that does not fit waits, and so do its sender's
    /// later transactions.
    ///
    /// # Errors
    /// Returns an error only if the state cannot be read or a system contract fails, never because of a
    /// transaction.
    pub fn step(
        &self,
        best: &mut BestTransactions,
        hashes: &dyn BlockHashes,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<BuiltStep, BuildError> {
        self.step_timed(best, hashes, keep_going, &|| Duration::ZERO)
    }

    /// Does the same as [`Self::step`], and measures its phases by `clock`, which must be monotonic. The
    /// clock has no other effect.
    ///
    /// # Errors
    /// Returns the errors of [`Self::step`].
    pub fn step_timed(
        &self,
        best: &mut BestTransactions,
        hashes: &dyn BlockHashes,
        keep_going: &mut dyn FnMut() -> bool,
        clock: &dyn Fn() -> Duration,
    ) -> Result<BuiltStep, BuildError> {
        let mut turn = StepInProgress::on(self, hashes);
        let (mut times, mut laps) = (StepTimes::default(), Stopwatch::begin(clock));
        while turn.remaining.gas >= MIN_GAS && keep_going() {
            if let Some(count) = turn.executor.lookahead() {
                let upcoming = best.upcoming(count);
                turn.executor.prefetch(upcoming.map(|pooled| pooled.transaction().as_ref()))?;
                laps.add_to(&mut times.execute);
            }
            let Some(pooled) = best.next() else { break };
            laps.add_to(&mut times.select);
            if !turn.include_if_it_fits(pooled.transaction())? {
                best.skip_sender();
            }
            laps.add_to(&mut times.execute);
        }
        turn.finish(self, hashes, times, &mut laps)
    }

    /// Makes a step of these transactions, in this order, without those that do not fit or cannot be
    /// executed.
    ///
    /// # Errors
    /// Returns the errors of [`Self::step`].
    pub fn include(
        &self,
        transactions: &[Arc<Transaction>],
        hashes: &dyn BlockHashes,
    ) -> Result<BuiltStep, BuildError> {
        let mut turn = StepInProgress::on(self, hashes);
        for transaction in transactions {
            turn.include_if_it_fits(transaction)?;
        }
        turn.finish(self, hashes, StepTimes::default(), &mut Stopwatch::begin(&|| Duration::ZERO))
    }

    /// Makes a step without transactions that applies the writes of a development method to [`Self::base`].
    /// Returns `None` if they change nothing.
    ///
    /// # Errors
    /// Returns an error if the state cannot be read, or if a system contract fails on the written state.
    pub fn overridden(
        &self,
        diff: StateDiff,
        hashes: &dyn BlockHashes,
    ) -> Result<Option<(Self, Flashblock)>, BuildError> {
        let (transactions, receipts, diff) = (Vec::new(), Vec::new(), Arc::new(diff));
        let executed = ExecutedStep { transactions, receipts, diff, blob_gas_used: self.body.blob_gas_used };
        let (next, step) = self.next_step(executed, hashes)?;
        Ok((next.hash() != self.hash()).then_some((next, step)))
    }

    fn next_step(
        &self,
        executed: ExecutedStep,
        hashes: &dyn BlockHashes,
    ) -> Result<(Self, Flashblock), BuildError> {
        self.build_step(executed, hashes, self.hash(), self.index() + 1)
    }
}
