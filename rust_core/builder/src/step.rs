//! One step of the builder: it selects transactions from the pool that fit, executes them and makes the
//! flashblock.

use std::{sync::Arc, time::Duration};

use alloy_consensus::Transaction as _;
use alloy_primitives::B256;
use foreseal_evm::{BlockGas, ExecutionError, Executor, RejectedTransaction, TransactionLimits};
use foreseal_pool::BestTransactions;
use foreseal_primitives::{Flashblock, Receipt, StateDiff, Transaction, result_json_size};
use foreseal_state::BlockHashes;

use crate::{
    deferred::DeferredTransactions,
    errors::BuildError,
    pending_block::{ExecutedStep, PendingBlock},
    prepared_for_block::PreparedForBlock,
    remaining_budgets::{RemainingBudgets, Room},
    step_limits::StepLimits,
};

/// Maximum size of a result as JSON, in bytes per 5 gas: no code writes more than an empty log, which has 440 bytes for
/// 375 gas.
const RESULT_BYTES_PER_5_GAS: u64 = 6;

fn is_short(transaction: &Transaction) -> bool {
    transaction.envelope().gas_limit() <= StepLimits::SHORT_GAS
}

/// Decisions of the caller on a step.
pub struct StepControl<'a> {
    pub limits: StepLimits,
    pub deferred: &'a mut DeferredTransactions,
    /// Returns `false` once no more transactions are to be selected.
    pub keep_going: &'a mut dyn FnMut() -> bool,
    /// Monotonic clock that measures the phases. It has no other effect.
    pub clock: &'a dyn Fn() -> Duration,
}

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

/// A step that is being filled.
struct StepInProgress<'a> {
    executor: Executor<'a>,
    limits: StepLimits,
    remaining: RemainingBudgets,
    gas: BlockGas,
    transactions: Vec<Arc<Transaction>>,
    receipts: Vec<Arc<Receipt>>,
    rejected: Vec<(B256, RejectedTransaction)>,
    /// Hashes of the transactions that earlier steps have deferred: the pool's order returns them again.
    begun_with: Vec<B256>,
    /// First transaction that needs more than the share of any step.
    above_share: Option<Arc<Transaction>>,
    /// `true` if a result has exceeded the rest of the step: others that could are not executed any more.
    is_result_exceeded: bool,
    /// `true` if the step has a transaction whose result alone exceeds the size of a step.
    is_oversized: bool,
    /// `true` once only short transactions are executed.
    needs_short: bool,
    /// Number of the block.
    number: u64,
}

impl<'a> StepInProgress<'a> {
    fn on(block: &'a PendingBlock, hashes: &'a dyn BlockHashes, limits: StepLimits) -> Self {
        let mut executor = Executor::new(&block.spec, &block.base, hashes, block.header());
        if limits.transaction_time.is_some() {
            executor.enable_time_limits();
        }
        Self {
            executor,
            limits,
            remaining: RemainingBudgets::new(block, &limits),
            gas: block.totals(),
            transactions: Vec::new(),
            receipts: Vec::new(),
            rejected: Vec::new(),
            begun_with: Vec::new(),
            above_share: None,
            is_result_exceeded: false,
            is_oversized: false,
            needs_short: false,
            number: block.header().number,
        }
    }

    /// Executes a transaction if it fits. Returns `true` if the step now contains it.
    fn include_if_it_fits(
        &mut self,
        transaction: &Arc<Transaction>,
        deferred: &mut DeferredTransactions,
    ) -> Result<bool, BuildError> {
        let hash = transaction.hash();
        if self.begun_with.contains(&hash) {
            return Ok(true);
        }
        if deferred.is_held(transaction) || (self.needs_short && !is_short(transaction)) {
            return Ok(false);
        }
        if let Some(reason) = self.restriction(transaction, deferred) {
            self.rejected.push((hash, reason));
            return Ok(false);
        }
        match self.remaining.room(transaction) {
            Room::Fits => {}
            Room::Oversized => {
                if self.above_share.is_none() {
                    self.remaining.reserve(transaction);
                    self.above_share = Some(transaction.clone());
                }
                return Ok(false);
            }
            Room::LaterStep | Room::LaterBlock => return Ok(false),
        }
        let known = deferred.size(&hash);
        let may_be_alone = self.transactions.is_empty() && !deferred.is_after_oversized();
        if !may_be_alone {
            if let Some(size) = known.filter(|size| *size > self.remaining.result_bytes) {
                self.defer_large(transaction, size, deferred);
                return Ok(false);
            }
            if known.is_none() && self.is_result_exceeded && self.could_exceed(transaction) {
                return Ok(false);
            }
        }
        let result_bytes = if may_be_alone { usize::MAX } else { self.remaining.result_bytes };
        self.execute(transaction, self.transaction_limits(result_bytes), deferred)
    }

    /// Returns `true` if this step may still add a transaction that did not fit, or if it is executed outside of steps.
    fn may_add_later(&self, transaction: &Transaction, deferred: &DeferredTransactions) -> bool {
        let is_above_share =
            self.above_share.as_ref().is_some_and(|above| above.hash() == transaction.hash());
        is_above_share || deferred.is_slow(&transaction.hash())
    }

    /// Returns the reason for which a step that stops slow transactions does not begin one of a restricted sender.
    fn restriction(
        &self,
        transaction: &Transaction,
        deferred: &DeferredTransactions,
    ) -> Option<RejectedTransaction> {
        if self.limits.transaction_time.is_none() || is_short(transaction) {
            return None;
        }
        let last = deferred.restricted_until(&transaction.sender(), self.number)?;
        let reason = format!(
            "an earlier transaction of this sender took longer than a step and was dropped: up to block {last}, its \
             transactions may have at most {} gas",
            StepLimits::SHORT_GAS
        );
        Some(RejectedTransaction::Other(reason))
    }

    /// Executes a transaction within limits. Returns `true` if the step now contains it.
    fn execute(
        &mut self,
        transaction: &Arc<Transaction>,
        limits: TransactionLimits,
        deferred: &mut DeferredTransactions,
    ) -> Result<bool, BuildError> {
        match self.executor.transact_within(transaction, &mut self.gas, limits) {
            Ok(receipt) => {
                self.push(transaction.clone(), receipt);
                Ok(true)
            }
            Err(ExecutionError::Rejected(reason)) => {
                self.rejected.push((transaction.hash(), reason));
                Ok(false)
            }
            Err(ExecutionError::ResultTooLarge { size }) => {
                self.defer_large(transaction, size, deferred);
                Ok(false)
            }
            Err(ExecutionError::TimeLimit(_)) => {
                self.needs_short = true;
                deferred.interrupt(transaction.clone());
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn push(&mut self, transaction: Arc<Transaction>, receipt: Receipt) {
        let size = result_json_size(&transaction, &receipt.logs);
        self.is_oversized |= size > self.limits.result_bytes;
        self.remaining.subtract(&transaction, receipt.gas_used, size);
        self.transactions.push(transaction);
        self.receipts.push(Arc::new(receipt));
    }

    fn defer_large(
        &mut self,
        transaction: &Arc<Transaction>,
        size: usize,
        deferred: &mut DeferredTransactions,
    ) {
        self.is_result_exceeded = true;
        deferred.remember_size(transaction.hash(), size);
        if size > self.limits.result_bytes {
            deferred.set_oversized(transaction);
        }
    }

    /// Returns `true` if the result of a transaction could exceed the rest of the step.
    fn could_exceed(&self, transaction: &Transaction) -> bool {
        let gas = transaction.envelope().gas_limit();
        let bytes = gas.saturating_mul(RESULT_BYTES_PER_5_GAS) / 5;
        let least = result_json_size(transaction, &[]);
        usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(least) > self.remaining.result_bytes
    }

    /// Begins the step with what earlier steps have deferred. Returns `false` if nothing else may be added.
    fn begin_with_deferred(
        &mut self,
        block: &PendingBlock,
        deferred: &mut DeferredTransactions,
    ) -> Result<bool, BuildError> {
        if let Some(prepared) = deferred.take_prepared() {
            self.add_prepared(block, &prepared, deferred)?;
        }
        if !deferred.is_after_oversized() {
            self.include_alone(deferred)?;
        }
        self.begun_with = self.transactions.iter().map(|transaction| transaction.hash()).collect();
        Ok(!self.is_oversized)
    }

    /// Adds a transaction that was executed outside of steps. It is outdated if this block has no room for it, or if
    /// its block, its sender or the state that it has read is another one now.
    fn add_prepared(
        &mut self,
        block: &PendingBlock,
        prepared: &PreparedForBlock,
        deferred: &mut DeferredTransactions,
    ) -> Result<(), BuildError> {
        let transaction = prepared.transaction();
        let usable = prepared.for_block(block);
        let added = match usable.filter(|_| self.remaining.room(transaction) != Room::LaterBlock) {
            Some(prepared) => self.executor.add_prepared(prepared, &mut self.gas),
            None => Ok(None),
        };
        match added {
            Ok(Some(receipt)) => self.push(transaction.clone(), receipt),
            Ok(None) | Err(ExecutionError::Rejected(_)) => deferred.set_outdated(transaction),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Adds the transaction whose result is larger than a step, if the step has no other.
    fn include_alone(&mut self, deferred: &mut DeferredTransactions) -> Result<(), BuildError> {
        if self.transactions.is_empty()
            && !self.needs_short
            && let Some(alone) = deferred.take_oversized()
            && self.remaining.may_exceed_share(&alone)
            && !deferred.is_held(&alone)
        {
            self.execute(&alone, self.transaction_limits(usize::MAX), deferred)?;
        }
        Ok(())
    }

    /// Adds a transaction that is above the share of a step or of results, if nothing else uses what it needs.
    fn end_with_deferred(&mut self, deferred: &mut DeferredTransactions) -> Result<(), BuildError> {
        self.include_alone(deferred)?;
        let Some(transaction) = self.above_share.take().filter(|_| !self.needs_short) else { return Ok(()) };
        if self.remaining.may_exceed_share(&transaction) {
            let is_first = self.transactions.is_empty();
            let result_bytes = if is_first { usize::MAX } else { self.remaining.result_bytes };
            self.execute(&transaction, self.transaction_limits(result_bytes), deferred)?;
        }
        Ok(())
    }

    fn transaction_limits(&self, result_bytes: usize) -> TransactionLimits {
        TransactionLimits { time: self.limits.transaction_time, result_bytes }
    }

    fn finish(
        mut self,
        block: &PendingBlock,
        hashes: &dyn BlockHashes,
        mut times: StepTimes,
        stopwatch: &mut Stopwatch<'_>,
    ) -> Result<BuiltStep, BuildError> {
        let diff = Arc::new(self.executor.drain_diff());
        stopwatch.add_to(&mut times.execute);
        let Self { transactions, receipts, rejected, gas, .. } = self;
        if transactions.is_empty() {
            return Ok(BuiltStep { step: None, rejected, times });
        }
        let executed = ExecutedStep { transactions, receipts, diff, blob_gas_used: gas.blob_gas_used };
        let step = block.next_step(executed, hashes)?;
        stopwatch.add_to(&mut times.roots);
        Ok(BuiltStep { step: Some(step), rejected, times })
    }
}

impl PendingBlock {
    /// Executes transactions in the pool's order while they fit and `keep_going` returns `true`, and makes
    /// the next step from those that succeed. A transaction that does not fit waits, and so do its sender's
    /// later transactions. The pool holds those of the step ([`foreseal_pool::Pool::hold`]) until the caller has
    /// applied it.
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
        let control = StepControl {
            limits: StepLimits::default(),
            deferred: &mut DeferredTransactions::default(),
            keep_going,
            clock: &|| Duration::ZERO,
        };
        self.step_within(best, hashes, control)
    }

    /// Does the same as [`Self::step`], within limits: see [`StepControl`].
    ///
    /// # Errors
    /// Returns the errors of [`Self::step`].
    pub fn step_within(
        &self,
        best: &mut BestTransactions,
        hashes: &dyn BlockHashes,
        control: StepControl<'_>,
    ) -> Result<BuiltStep, BuildError> {
        let StepControl { limits, deferred, keep_going, clock } = control;
        let mut turn = StepInProgress::on(self, hashes, limits);
        let (mut times, mut stopwatch) = (StepTimes::default(), Stopwatch::begin(clock));
        let mut has_room = turn.begin_with_deferred(self, deferred)?;
        while has_room && turn.remaining.has_gas() && keep_going() {
            if let Some(count) = turn.executor.lookahead() {
                let upcoming = best.upcoming(count);
                turn.executor.prefetch(upcoming.map(|pooled| pooled.transaction().as_ref()))?;
                stopwatch.add_to(&mut times.execute);
            }
            let Some(pooled) = best.next_held() else { break };
            stopwatch.add_to(&mut times.select);
            if turn.include_if_it_fits(pooled.transaction(), deferred)? {
                has_room = !turn.is_oversized;
            } else if turn.may_add_later(pooled.transaction(), deferred) {
                best.skip_sender();
            } else {
                best.release_and_skip_sender();
            }
            stopwatch.add_to(&mut times.execute);
        }
        turn.end_with_deferred(deferred)?;
        deferred.finish_step(&turn.transactions, turn.is_oversized);
        turn.finish(self, hashes, times, &mut stopwatch)
    }

    pub(crate) fn totals(&self) -> BlockGas {
        BlockGas {
            gas_used: self.body.gas_used(),
            blob_gas_used: self.body.blob_gas_used,
            log_count: self.body.log_count(),
        }
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
        let mut turn = StepInProgress::on(self, hashes, StepLimits::default());
        let mut deferred = DeferredTransactions::default();
        for transaction in transactions {
            turn.include_if_it_fits(transaction, &mut deferred)?;
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
