//! One step of the builder: it selects transactions from the pool that fit, executes them and makes the
//! flashblock.

use std::{sync::Arc, time::Duration};

use alloy_consensus::Transaction as _;
use alloy_primitives::B256;
use foreseal_evm::{
    BlockGas, ExecutionError, Executor, PreparedTransaction, RejectedTransaction, TransactionLimits,
};
use foreseal_pool::BestTransactions;
use foreseal_primitives::{
    Flashblock, MAX_BLOCK_BYTES, Receipt, SpecId, StateDiff, Transaction, length_in_block, result_json_size,
};
use foreseal_state::BlockHashes;

use crate::{
    BlockShare, BuildError, DeferredTransactions, PendingBlock, StepLimits,
    body::blob_gas,
    pending_block::ExecutedStep,
    step_limits::{Budget, Room},
};

/// Intrinsic gas of the cheapest transaction.
const MIN_GAS: u64 = 21_000;
/// Bytes reserved for the header when the block size is checked (EIP-7934). A header is under 1 KiB.
const HEADER_RESERVE: usize = 2048;

/// Maximum size of a result as JSON, in bytes per 5 gas: no code writes more than an empty log, which has 440 bytes for
/// 375 gas.
const RESULT_BYTES_PER_5_GAS: u64 = 6;

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

/// Remaining budgets of the block and of the step.
struct RemainingBudgets {
    gas: Budget,
    blob_gas: Budget,
    bytes: Budget,
    /// Bytes of the step's results as JSON.
    result_bytes: usize,
}

impl RemainingBudgets {
    fn new(block: &PendingBlock, limits: &StepLimits) -> Self {
        let header = block.header();
        let blob_limit = block.spec.blob_params(header.timestamp).map_or(0, |p| p.max_blob_gas_per_block());
        let share = limits.share;
        // The driver of an OP chain bounds its blocks.
        let bytes = if block.fork().is_enabled_in(SpecId::OSAKA) && block.spec.optimism().is_none() {
            let used = block.body.transactions_length + HEADER_RESERVE;
            Budget::new(MAX_BLOCK_BYTES as u64, used as u64, share)
        } else {
            Budget::new(u64::MAX, 0, BlockShare::ALL)
        };
        Self {
            gas: Budget::new(header.gas_limit, block.body.gas_used(), share),
            blob_gas: Budget::new(blob_limit, block.body.blob_gas_used, share),
            bytes,
            result_bytes: limits.result_bytes,
        }
    }

    fn room(&self, transaction: &Transaction) -> Room {
        let needs = Needs::from_transaction(transaction);
        let gas = self.gas.room(needs.gas);
        gas.max(self.blob_gas.room(needs.blob_gas)).max(self.bytes.room(needs.bytes))
    }

    fn may_exceed_share(&self, transaction: &Transaction) -> bool {
        let needs = Needs::from_transaction(transaction);
        self.gas.may_exceed(needs.gas)
            && self.blob_gas.may_exceed(needs.blob_gas)
            && self.bytes.may_exceed(needs.bytes)
    }

    fn reserve(&mut self, transaction: &Transaction) {
        let needs = Needs::from_transaction(transaction);
        self.gas.reserve(needs.gas);
        self.blob_gas.reserve(needs.blob_gas);
        self.bytes.reserve(needs.bytes);
    }

    fn subtract(&mut self, transaction: &Transaction, receipt: &Receipt) {
        let needs = Needs::from_transaction(transaction);
        self.gas.subtract(receipt.gas_used);
        self.blob_gas.subtract(needs.blob_gas);
        self.bytes.subtract(needs.bytes);
        let result = result_json_size(transaction, &receipt.logs);
        self.result_bytes = self.result_bytes.saturating_sub(result);
    }
}

/// Resources that a transaction needs at most.
struct Needs {
    gas: u64,
    blob_gas: u64,
    bytes: u64,
}

impl Needs {
    fn from_transaction(transaction: &Transaction) -> Self {
        Self {
            gas: transaction.envelope().gas_limit(),
            blob_gas: blob_gas(transaction),
            bytes: length_in_block(transaction) as u64,
        }
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
        if deferred.is_held(&hash) {
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
        let limits = TransactionLimits { time: self.limits.transaction_time, result_bytes };
        self.execute(transaction, limits, deferred)
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
                deferred.interrupt(transaction.clone());
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn push(&mut self, transaction: Arc<Transaction>, receipt: Receipt) {
        self.remaining.subtract(&transaction, &receipt);
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

    /// Returns `true` if the results exceed the size of a step.
    fn is_oversized(&self) -> bool {
        let sizes = self.transactions.iter().zip(&self.receipts);
        let size = |(transaction, receipt): (&Arc<Transaction>, &Arc<Receipt>)| {
            result_json_size(transaction, &receipt.logs)
        };
        self.remaining.result_bytes == 0 && sizes.map(size).sum::<usize>() > self.limits.result_bytes
    }

    /// Begins the step with what earlier steps have deferred. Returns `false` if nothing else may be added.
    fn begin_with_deferred(&mut self, deferred: &mut DeferredTransactions) -> Result<bool, BuildError> {
        if let Some(prepared) = deferred.take_prepared() {
            self.add_prepared(&prepared, deferred)?;
        }
        if let Some(transaction) = deferred.take_unlimited() {
            deferred.forget_slow(&transaction.hash());
            if self.remaining.room(&transaction) != Room::LaterBlock {
                self.execute(&transaction, TransactionLimits::default(), deferred)?;
            }
        }
        if self.transactions.is_empty()
            && let Some(alone) = deferred.take_oversized()
            && self.remaining.may_exceed_share(&alone)
            && !deferred.is_held(&alone.hash())
        {
            let limits =
                TransactionLimits { time: self.limits.transaction_time, ..TransactionLimits::default() };
            self.execute(&alone, limits, deferred)?;
        }
        self.begun_with = self.transactions.iter().map(|transaction| transaction.hash()).collect();
        Ok(!self.is_oversized())
    }

    /// Adds a transaction that was executed on an earlier step; executes it again, without a time limit, if the state
    /// that it has read is another one now.
    fn add_prepared(
        &mut self,
        prepared: &PreparedTransaction,
        deferred: &mut DeferredTransactions,
    ) -> Result<(), BuildError> {
        deferred.forget_slow(&prepared.transaction().hash());
        match self.executor.add_prepared(prepared, &mut self.gas) {
            Ok(Ok(receipt)) => self.push(prepared.transaction().clone(), receipt),
            Ok(Err(changed)) => {
                tracing::debug!(address = %changed.address, "a slow transaction is executed again");
                self.execute(prepared.transaction(), TransactionLimits::default(), deferred)?;
            }
            Err(ExecutionError::Rejected(reason)) => {
                self.rejected.push((prepared.transaction().hash(), reason));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Adds a transaction that is above the share of a step or of results, if nothing else uses what it needs.
    fn end_with_deferred(&mut self, deferred: &mut DeferredTransactions) -> Result<(), BuildError> {
        if self.transactions.is_empty()
            && let Some(alone) = deferred.oversized_if_nothing_else()
            && self.remaining.may_exceed_share(&alone)
        {
            self.execute(&alone, TransactionLimits::default(), deferred)?;
        }
        let Some(transaction) = self.above_share.take() else { return Ok(()) };
        if self.remaining.may_exceed_share(&transaction) {
            let result_bytes =
                if self.transactions.is_empty() { usize::MAX } else { self.remaining.result_bytes };
            let limits = TransactionLimits { time: self.limits.transaction_time, result_bytes };
            self.execute(&transaction, limits, deferred)?;
        }
        Ok(())
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
        let (mut times, mut laps) = (StepTimes::default(), Stopwatch::begin(clock));
        let mut has_room = turn.begin_with_deferred(deferred)?;
        while has_room && turn.remaining.gas.share() >= MIN_GAS && keep_going() {
            if let Some(count) = turn.executor.lookahead() {
                let upcoming = best.upcoming(count);
                turn.executor.prefetch(upcoming.map(|pooled| pooled.transaction().as_ref()))?;
                laps.add_to(&mut times.execute);
            }
            let Some(pooled) = best.next() else { break };
            laps.add_to(&mut times.select);
            if turn.include_if_it_fits(pooled.transaction(), deferred)? {
                has_room = !turn.is_oversized();
            } else {
                best.skip_sender();
            }
            laps.add_to(&mut times.execute);
        }
        turn.end_with_deferred(deferred)?;
        deferred.finish_step(&turn.transactions, turn.is_oversized());
        turn.finish(self, hashes, times, &mut laps)
    }

    /// Executes a transaction on the newest step without a time limit, for a later step of this block.
    ///
    /// # Errors
    /// Returns the errors of [`Executor::transact`].
    pub fn prepare(
        &self,
        transaction: Arc<Transaction>,
        hashes: &dyn BlockHashes,
    ) -> Result<PreparedTransaction, ExecutionError> {
        Executor::new(&self.spec, &self.base, hashes, self.header()).prepare(transaction, self.totals())
    }

    fn totals(&self) -> BlockGas {
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
